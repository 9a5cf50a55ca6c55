"""The model behind the service, from the moment its loading begins to the last answer."""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING, Any, Literal

from mproto.service.batching import Batcher
from mproto.service.logs import log, where
from mproto.service.metrics import Metrics
from mproto.service.problems import not_ready
from mproto.version import __version__

if TYPE_CHECKING:
    from collections.abc import Callable

    from mproto.recognizer import Recognizer
    from mproto.service.limits import Limits

State = Literal["loading", "ready", "stopping"]


class Served:
    """A model that is loaded while the service already answers questions about its health.

    Args:
        load: gives the model; called once, in a thread of its own.
        name: of the model, for callers.
        limits: of the service.
        on_failure: called, in that thread, if the model cannot be loaded; `failure` has the error.
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
        """Begin to load the model."""
        self._thread.start()

    def wait(self) -> None:
        """Until it is loaded, or cannot be."""
        self._thread.join()

    def stop(self) -> None:
        """Answer what waits, and take nothing more."""
        self.state = "stopping"
        if self._thread.ident is not None:
            self._thread.join()  # an import cannot be left half done
        if self._batcher is not None:
            self._batcher.close()

    @property
    def batcher(self) -> Batcher:
        """The queue before the model.

        Raises:
            ProblemError: the model is not ready.
        """
        if self._batcher is None or self.state != "ready":
            raise not_ready(self.state)
        return self._batcher

    @property
    def labels(self) -> tuple[str, ...]:
        """The types that it finds; none while it is loaded."""
        return () if self._recognizer is None else tuple(self._recognizer.labels)

    def info(self) -> dict[str, Any]:
        """What is known of the model.

        Raises:
            ProblemError: nothing is, yet.
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
            recognizer(["one text, so that the first caller does not wait for what is made on first use"])
        except BaseException as error:  # whatever it is, the main thread tells it
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
        found: list[list[dict[str, Any]]] = recognizer(texts)  # several texts give several lists
        return found

    return tag


def _log_failure(error: BaseException) -> None:
    log("the model failed on a text", logging.ERROR, **where(error))
