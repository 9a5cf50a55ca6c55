"""The model of the service and its state: loading, ready, or stopping."""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING, Any, Literal

from mproto.service.batching import Batcher
from mproto.service.logs import error_fields, log
from mproto.service.metrics import Metrics
from mproto.service.problems import not_ready
from mproto.version import __version__

if TYPE_CHECKING:
    from collections.abc import Callable

    from mproto.recognizer import Recognizer
    from mproto.service.limits import Limits

State = Literal["loading", "ready", "stopping"]


class ServedModel:
    """A model that is loaded in the background, while the service already answers health checks.

    Args:
        load: loads the model. It is called once, in a separate thread.
        name: the name of the model in responses.
        limits: the limits of the service.
        on_failure: called in that thread if loading fails.

    Attributes:
        state: `loading`, `ready` or `stopping`.
        failure: the exception, if loading failed.
        metrics: the metrics of the service.
    """

    def __init__(
        self,
        load: Callable[[], Recognizer],
        name: str,
        limits: Limits,
        on_failure: Callable[[], object] = lambda: None,
    ) -> None:
        self.name, self.limits = name, limits
        self.state: State = "loading"
        self.failure: BaseException | None = None
        self.metrics = Metrics(lambda: self._batcher.waiting if self._batcher else 0)
        self._load, self._on_failure = load, on_failure
        self._recognizer: Recognizer | None = None
        self._batcher: Batcher | None = None
        self._thread = threading.Thread(target=self._start, name="mproto-loading", daemon=True)

    def start(self) -> None:
        """Start loading the model."""
        self._thread.start()

    def wait(self) -> None:
        """Wait until the model is loaded, or loading has failed."""
        self._thread.join()

    def stop(self) -> None:
        """Refuse new requests, and answer the waiting ones."""
        self.state = "stopping"
        if self._thread.ident is not None:
            self._thread.join()  # do not exit in the middle of an import
        if self._batcher is not None:
            self._batcher.close()

    @property
    def batcher(self) -> Batcher:
        """The queue of the model.

        Raises:
            ProblemError: the model is not ready.
        """
        if self._batcher is None or self.state != "ready":
            raise not_ready(self.state)
        return self._batcher

    @property
    def labels(self) -> tuple[str, ...]:
        """The entity types; empty while the model is loading."""
        return () if self._recognizer is None else tuple(self._recognizer.labels)

    def info(self) -> dict[str, Any]:
        """Return the content of `ModelInfo`.

        Raises:
            ProblemError: the model is not loaded yet.
        """
        if self._recognizer is None:
            raise not_ready(self.state)
        config = self._recognizer.config
        return {
            "name": self.name,
            "labels": list(self.labels),
            "method": config.method,
            "encoder": config.encoder,
            "card": self._recognizer.card,
            "version": __version__,
            "limits": vars(self.limits),
        }

    def _start(self) -> None:
        try:
            recognizer = self._load()
            recognizer(["A first text, so that the first client does not wait for lazy initialisation."])
        except BaseException as error:  # also SystemExit: the main thread reports it
            self.failure = error
            self._on_failure()
            return
        self._recognizer = recognizer
        self._batcher = Batcher(_tagger(recognizer), self.limits, observe=self.metrics.batch, on_error=_log_failure)
        if self.state == "loading":
            self.state = "ready"
            log("ready", model=self.name, labels=list(recognizer.labels))


def _tagger(recognizer: Recognizer) -> Callable[[list[str]], list[list[dict[str, Any]]]]:
    def tag(texts: list[str]) -> list[list[dict[str, Any]]]:
        found: list[list[dict[str, Any]]] = recognizer(texts)  # the type is that of a list of texts
        return found

    return tag


def _log_failure(error: BaseException) -> None:
    log("the model failed on a text", logging.ERROR, **error_fields(error))
