"""Texts of many requests in one call of the model.

A network reads thirty short texts in little more time than one. So texts wait in a queue, one thread takes as many as it may,
and each request gets its own back. While the model is busy the next batch gathers by itself; only a text that finds it idle
waits a moment for company.
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

FILLING = 300
"""Characters that a call may read in vain, since texts are filled up to its longest; about what another call would cost."""
WINDOW = 2000
"""Longer texts are read in parts of about so many characters, so that filling grows no further."""


class ModelError(Exception):
    """The model failed on a text of this request. It holds no word of the text."""


class Job:
    """A request in the queue: its texts, and what is found in them."""

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
        """Whether somebody still waits for it, and it can still be answered."""
        return self.error is None and not self.answer.cancelled()

    def settle(self) -> None:
        """Hand the answer over; in the thread of the loop."""
        if self.answer.done():
            return
        if self.error is not None:
            self.answer.set_exception(self.error)
        else:
            self.answer.set_result(self.found)


class Item(NamedTuple):
    """A text of a request."""

    job: Job
    place: int
    text: str


class Batcher:
    """One thread that runs the model, and the queue before it.

    Args:
        tag: the model: the entities of each text. Only this object's thread calls it.
        limits: of the queue and of a batch.
        observe: called with the number of texts of each call of the model.
        on_error: called with what the model raised on a text of its own.
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
        """Texts in the queue."""
        return len(self._queue)

    def submit(self, texts: Sequence[str]) -> asyncio.Future[list[Entities]]:
        """The entities of each text, when they are found; `ModelError` if the model fails on one of them.

        To be called in an event loop. Whoever needs them no longer cancels the future.

        Raises:
            ProblemError: the queue is full, or the service stops.
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
            if was_empty or self._is_full:  # in between, the thread has nothing to do but wait on
                self._changed.notify()
        return job.answer

    def close(self) -> None:
        """Take no more requests, answer those that wait, and end the thread."""
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
                f"The queue is full: {waiting} texts with {self._characters} characters wait, of at most {limits.queue} "
                f"and {limits.queue_characters}; try again in a moment.",
                {"Retry-After": "1"},
            )

    @property
    def _is_full(self) -> bool:
        return len(self._queue) >= self._limits.batch or self._characters >= self._limits.batch_characters

    def _work(self) -> None:
        while batch := self._next():
            for part in alike(batch):
                self._run(part)

    def _next(self) -> list[Item]:
        """The next batch, as soon as there is one; nothing when the service has stopped."""
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
        """Texts from the front of the queue, as many as fit; those that nobody waits for any more are dropped."""
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
        """Tag texts together; if that fails, each by itself, so that a bad one fails alone."""
        self._observe(len(items))
        try:
            found = self._tag([item.text for item in items])
            if len(found) != len(items):
                raise ValueError(f"the model gave {len(found)} answers to {len(items)} texts")
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


def alike(items: Sequence[Item]) -> Iterator[list[Item]]:
    """Parts of a batch that do not fill short texts up to the length of much longer ones; the shortest come first."""
    part: list[Item] = []
    total = 0
    for item in sorted(items, key=lambda item: len(item.text)):
        length = min(len(item.text), WINDOW)
        if length * len(part) - total > FILLING:
            yield part
            part, total = [], 0
        part.append(item)
        total += length
    if part:
        yield part


def _settle(jobs: list[Job]) -> None:
    """Answer requests, in the thread of their loop; waking it once for all of them."""
    loops = {id(job.loop): job.loop for job in jobs}
    for loop in loops.values():
        own = [job for job in jobs if job.loop is loop]
        if not loop.is_closed():
            loop.call_soon_threadsafe(_settle_all, own)


def _settle_all(jobs: list[Job]) -> None:
    for job in jobs:
        job.settle()
