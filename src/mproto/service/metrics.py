"""Prometheus metrics.

Each service has its own registry, so that one process can run several services.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector, generate_latest

if TYPE_CHECKING:
    from collections.abc import Callable

SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)
TEXTS = (1, 2, 4, 8, 16, 32, 64, 128)


class Metrics:
    """The metrics of a service.

    Args:
        waiting: returns the number of texts in the queue.
    """

    def __init__(self, waiting: Callable[[], int]) -> None:
        self._registry = CollectorRegistry()
        ProcessCollector(registry=self._registry)
        own = self._registry
        paths, codes = ("path",), ("path", "code")
        self._requests = Counter("mproto_requests", "Requests, by path and status code", codes, registry=own)
        self._seconds = Histogram(
            "mproto_request_seconds", "Seconds until the response was sent", paths, buckets=SECONDS, registry=own
        )
        self._batches = Histogram("mproto_batch_texts", "Texts in a call of the model", buckets=TEXTS, registry=own)
        self._texts = Counter("mproto_texts", "Tagged texts", registry=own)
        self._characters = Counter("mproto_characters", "Characters of the tagged texts", registry=own)
        self._entities = Counter("mproto_entities", "Returned entities", registry=own)
        Gauge("mproto_queue_texts", "Texts in the queue", registry=own).set_function(waiting)

    def batch(self, texts: int) -> None:
        """Count a call of the model."""
        self._batches.observe(texts)

    def request(self, path: str, code: int, seconds: float) -> None:
        """Count a request.

        `path` must be a path of the service, or `other`: each new path would be a new time series.
        """
        self._requests.labels(path, str(code)).inc()
        self._seconds.labels(path).observe(seconds)

    def tagged(self, texts: int, characters: int, entities: int) -> None:
        """Count the texts of a request."""
        self._texts.inc(texts)
        self._characters.inc(characters)
        self._entities.inc(entities)

    def page(self) -> bytes:
        """Return all metrics in Prometheus' text format."""
        return generate_latest(self._registry)
