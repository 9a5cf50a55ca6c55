"""The limits of the service, with their defaults."""

from __future__ import annotations

from dataclasses import dataclass, fields

from mproto.errors import InputError


@dataclass(frozen=True)
class Limits:
    """The limits of a service. A request that exceeds one gets a 4xx response that names the limit.

    Attributes:
        body: bytes in the body of a request.
        texts: texts in a request.
        characters: characters in a text.
        queue: texts in the queue.
        queue_characters: characters in the queue. An empty queue accepts any request.
        batch: texts in a batch.
        batch_characters: characters in a batch. A longer text forms its own batch.
        wait: milliseconds that a text waits for others while the model is idle.
        body_seconds: seconds that the body of a request may take to arrive.
        stop_seconds: seconds to answer the waiting requests when the service stops.
    """

    body: int = 1_048_576
    texts: int = 256
    characters: int = 20_000
    queue: int = 1024
    queue_characters: int = 1_000_000
    batch: int = 32
    batch_characters: int = 16_000
    wait: float = 2.0
    body_seconds: float = 30.0
    stop_seconds: float = 30.0

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            least = 0 if field.name == "wait" else 1
            if not least <= value < float("inf"):
                hint = f"give {least} or more"
                raise InputError(f"{option(field.name)} {value} is not a valid limit", hint=hint)
        if self.texts > self.queue:
            problem = (
                f"a request of {self.texts} texts ({option('texts')}) would never fit into a queue of {self.queue}"
            )
            raise InputError(problem, hint=f"give {option('queue')} {self.texts} or more")


OPTIONS = {
    "batch": "--batch-size",
    "wait": "--batch-wait",
    "body_seconds": "--body-seconds",
    "stop_seconds": "--stop-seconds",
}


def option(name: str) -> str:
    """Return the command-line option that sets a limit."""
    return OPTIONS.get(name, f"--max-{name.replace('_', '-')}")
