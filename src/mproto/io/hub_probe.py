"""Send one short request to the Hugging Face hub before anything is fetched from it.

If the hub cannot be reached, its library would otherwise retry for half a minute for every file.
"""

from __future__ import annotations

TIMEOUT = 3.0  # seconds
_TRANSPORTS = {"httpcore", "httpx", "httpx2", "requests", "urllib3"}
_SERVER_ERROR = 500  # the lowest HTTP status of a server error


def hub_answers(name: str, revision: str | None = None, token: str | bool | None = None) -> bool:
    """Request a repository's metadata from the hub; return whether the hub answers.

    Raises:
        Exception: an error of the hub's library, if the hub answers but refuses the request.
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

    The hub's library does not wrap the errors of its HTTP library.
    """
    return isinstance(error, ConnectionError) or type(error).__module__.partition(".")[0] in _TRANSPORTS


def status_of(error: BaseException) -> int:
    """Return the HTTP status of an error response; 0 for other errors."""
    from huggingface_hub.errors import HfHubHTTPError

    return error.response.status_code if isinstance(error, HfHubHTTPError) else 0
