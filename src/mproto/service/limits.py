"""What the service takes on, and how much of it at once. Every limit is here, with its default."""

from __future__ import annotations

from dataclasses import dataclass, fields

from mproto.errors import InputError


@dataclass(frozen=True)
class Limits:
    """The limits of a service; whoever goes beyond gets a 4xx that names the limit.

    Attributes:
        body: bytes of a request.
        texts: texts of a request.
        characters: characters of a text.
        queue: texts that may wait for the model.
        queue_characters: their characters; a request is always taken while nothing waits.
        batch: texts that the model reads together.
        batch_characters: their characters; a longer text goes alone.
        wait: milliseconds that a text waits for company, while the model has nothing else to do.
        body_seconds: how long the body of a request may take to arrive.
        stop_seconds: how long requests may take to be answered once the service stops.
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
                raise InputError(f"{option(field.name)} {value} is not a limit", hint=hint)
        if self.texts > self.queue:
            problem = f"a request of {self.texts} texts ({option('texts')}) never fits a queue of {self.queue}"
            raise InputError(problem, hint=f"give {option('queue')} {self.texts} or more")


OPTIONS = {
    "batch": "--batch-size",
    "wait": "--batch-wait",
    "body_seconds": "--body-seconds",
    "stop_seconds": "--stop-seconds",
}


def option(name: str) -> str:
    """The option of the command that sets a limit."""
    return OPTIONS.get(name, f"--max-{name.replace('_', '-')}")
