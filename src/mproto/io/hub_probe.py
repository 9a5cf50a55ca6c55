"""Ask the Hugging Face hub one short question before anything is fetched from it.

Without it, the hub's library would retry for half a minute for every file.
"""

from __future__ import annotations

TIMEOUT = 3.0  # seconds
_TRANSPORTS = {"httpcore", "httpx", "httpx2", "requests", "urllib3"}
_SERVER_ERROR = 500  # the lowest status of an answer that says that the hub itself is out of order


def hub_answers(name: str, revision: str | None = None, token: str | bool | None = None) -> bool:
    """Ask the hub about a repository; return whether it can be reached.

    Raises:
        Exception: an error of the hub's library: it answers, but does not give the repository.
    """
    import huggingface_hub

    try:
        huggingface_hub.HfApi(token=token).model_info(name, revision=revision, timeout=TIMEOUT)
    except Exception as error:
        if is_no_connection(error) or status_of(error) >= _SERVER_ERROR:
            return False
        raise
    return True


def is_no_connection(error: BaseException | None) -> bool:
    """Return whether this is a network error.

    The hub's library passes on the errors of the library below it.
    """
    return isinstance(error, ConnectionError) or type(error).__module__.partition(".")[0] in _TRANSPORTS


def status_of(error: BaseException) -> int:
    """Return the HTTP status of an error answer; 0 for other errors."""
    from huggingface_hub.errors import HfHubHTTPError

    return error.response.status_code if isinstance(error, HfHubHTTPError) else 0
