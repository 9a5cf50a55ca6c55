"""Dynamic batching: texts of several requests are tagged in one call of the model.

Tagging thirty short texts takes little longer than tagging one. Requests put their texts into a
queue, one thread takes a batch from it, and each request gets the entities of its own texts. While
the model is busy, the queue fills up with the next batch. Only a text that arrives while the model
is idle waits for others (`Limits.wait`).
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections import deque
from typing import TYPE_CHECKING, Any, NamedTuple

from mproto.service.problems import ProblemError, not_ready

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from mproto.service.limits import Limits

    Entities = list[dict[str, Any]]
    Tag = Callable[[list[str]], list[Entities]]

MOST_PADDING = 300
"""The maximum padding in a call of the model, in characters. It costs about as much as one call."""
WINDOW = 2000
"""The approximate length of an encoder's window, in characters. Longer texts are split, so they do
not need more padding."""


class ModelError(Exception):
    """The model failed on a text of the request. The message does not contain the text."""


class Job:
    """A request in the queue: its texts and their entities."""

    def __init__(self, texts: Sequence[str]) -> None:
        self.texts = texts
        self.since = time.monotonic()
        self.found: list[Entities] = [[] for _ in texts]
        self.missing = len(texts)
        self.error: BaseException | None = None
        self.loop = asyncio.get_running_loop()
        self.answer: asyncio.Future[list[Entities]] = self.loop.create_future()

    @property
    def is_wanted(self) -> bool:
        """Whether the client still waits, and no text has failed."""
        return self.error is None and not self.answer.cancelled()

    def settle(self) -> None:
        """Set the result of the future. Must run in the thread of the event loop."""
        if self.answer.done():
            return
        if self.error is not None:
            self.answer.set_exception(self.error)
        else:
            self.answer.set_result(self.found)


class Item(NamedTuple):
    """A text of a request.

    Attributes:
        job: the request.
        place: the index of the text in the request.
        text: the text.
    """

    job: Job
    place: int
    text: str


class Batcher:
    """A queue of texts, and one thread that tags them with the model.

    Args:
        tag: the model, from texts to the entities of each. Only the batcher's thread calls it.
        limits: the limits of the queue and of a batch.
        observe: called before each call of the model, with its number of texts.
        on_error: called with the exception if the model fails on a single text.
    """

    def __init__(
        self,
        tag: Tag,
        limits: Limits,
        *,
        observe: Callable[[int], object] = id,
        on_error: Callable[[BaseException], object] = id,
    ) -> None:
        self._tag, self._limits, self._observe, self._on_error = tag, limits, observe, on_error
        self._queue: deque[Item] = deque()
        self._characters = 0
        self._closing = False
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._work, name="mproto-model", daemon=True)
        self._thread.start()

    @property
    def waiting(self) -> int:
        """The number of texts in the queue."""
        return len(self._queue)

    def submit(self, texts: Sequence[str]) -> asyncio.Future[list[Entities]]:
        """Put the texts of a request into the queue.

        Must be called in an event loop. Cancel the future to remove the texts from the queue.

        Returns:
            A future with the entities of each text, or with `ModelError` if the model fails on one
            of them.

        Raises:
            ProblemError: the queue is full, or the service is stopping.
        """
        job = Job(texts)
        items = [Item(job, index, text) for index, text in enumerate(texts)]
        if not items:
            job.settle()
            return job.answer
        characters = sum(map(len, texts))
        with self._changed:
            if self._closing:
                raise not_ready("stopping")
            self._check_room(len(items), characters)
            was_empty = not self._queue
            self._queue.extend(items)
            self._characters += characters
            if was_empty or self._is_full:  # otherwise the thread would only wait again
                self._changed.notify()
        return job.answer

    def close(self) -> None:
        """Refuse new requests, answer the waiting ones, and end the thread."""
        with self._changed:
            self._closing = True
            self._changed.notify()
        self._thread.join()

    def _check_room(self, texts: int, characters: int) -> None:
        limits = self._limits
        waiting = len(self._queue)
        if waiting and (waiting + texts > limits.queue or self._characters + characters > limits.queue_characters):
            raise ProblemError(
                429,
                f"The queue is full: {waiting} texts with {self._characters} characters are waiting, and the limits are "
                f"{limits.queue} texts and {limits.queue_characters} characters; try again in a moment.",
                {"Retry-After": "1"},
            )

    @property
    def _is_full(self) -> bool:
        return len(self._queue) >= self._limits.batch or self._characters >= self._limits.batch_characters

    def _work(self) -> None:
        while batch := self._next():
            for part in split_by_length(batch):
                self._run(part)

    def _next(self) -> list[Item]:
        """Wait for the next batch. Return an empty list when the service stops."""
        with self._changed:
            while True:
                while not self._queue:
                    if self._closing:
                        return []
                    self._changed.wait()
                enough = self._queue[0].job.since + self._limits.wait / 1000
                while not self._is_full and not self._closing and (left := enough - time.monotonic()) > 0:
                    self._changed.wait(left)
                if batch := self._take():
                    return batch

    def _take(self) -> list[Item]:
        """Take a batch of texts from the front of the queue.

        Texts of cancelled requests are dropped.
        """
        batch: list[Item] = []
        room = self._limits.batch_characters
        while self._queue and len(batch) < self._limits.batch:
            item = self._queue[0]
            if item.job.is_wanted:
                if batch and len(item.text) > room:
                    break
                batch.append(item)
                room -= len(item.text)
            self._queue.popleft()
            self._characters -= len(item.text)
        return batch

    def _run(self, items: list[Item]) -> None:
        """Tag texts in one call.

        If it fails, tag each text separately, so that only the bad one fails.
        """
        self._observe(len(items))
        try:
            found = self._tag([item.text for item in items])
            if len(found) != len(items):
                raise ValueError(f"the model returned {len(found)} results for {len(items)} texts")
        except Exception as error:
            if len(items) > 1:
                for item in items:
                    if item.job.is_wanted:
                        self._run([item])
                return
            self._on_error(error)
            items[0].job.error = ModelError(type(error).__name__)
            _settle([items[0].job])
            return
        for item, entities in zip(items, found, strict=True):
            item.job.found[item.place] = entities
            item.job.missing -= 1
        _settle(list({id(item.job): item.job for item in items if not item.job.missing}.values()))


def split_by_length(items: Sequence[Item]) -> Iterator[list[Item]]:
    """Split a batch into calls with little padding: texts of similar length, the shortest first."""
    part: list[Item] = []
    total = 0
    for item in sorted(items, key=lambda item: len(item.text)):
        length = min(len(item.text), WINDOW)
        if length * len(part) - total > MOST_PADDING:
            yield part
            part, total = [], 0
        part.append(item)
        total += length
    if part:
        yield part


def _settle(jobs: list[Job]) -> None:
    """Settle jobs in the thread of their event loop, which is woken up once for all of its jobs."""
    loops = {id(job.loop): job.loop for job in jobs}
    for loop in loops.values():
        own = [job for job in jobs if job.loop is loop]
        if not loop.is_closed():
            loop.call_soon_threadsafe(_settle_all, own)


def _settle_all(jobs: list[Job]) -> None:
    for job in jobs:
        job.settle()
