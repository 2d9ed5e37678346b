"""Passes over rows that are read again each time. Fits side by side share them.

Reading is what a pass over rows on disk costs most. Where several fits run at once, as in the folds
of a cross-validation, each in a thread of its own, a pass waits until every one of them asks for
one, and serves them all.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from contextvars import copy_context
from functools import partial, reduce
from threading import Condition, Lock
from typing import Any, Protocol, TypeVar

from numpy.typing import NDArray

from everypair.linalg.block_jobs import either

Item = TypeVar("Item")
Read = Callable[[Any], Generator[tuple[str, NDArray[Any]], None, None]]


class Running(Protocol):
    """A job over blocks that come one after the other."""

    reads: Any

    @property
    def n_blocks(self) -> int: ...
    def work(self, name: str, X: NDArray[Any], reads: Any) -> None: ...
    def finish(self) -> None: ...


class Passes:
    """The reader of the blocks, and how often it has read them."""

    def __init__(self, read: Read):
        self._read, self.n = read, 0
        self.one_at_a_time = Lock()
        """For what fits that run side by side do without a pass, and with much memory."""
        self._turn = Condition()
        self._fits = 0
        """That run side by side just now; 0: one by itself, in the calling thread."""
        self._waiting: list[Running] = []
        self._done: set[int] = set()
        self._failed: BaseException | None = None
        self._own_failures: dict[int, Exception] = {}
        """Of jobs that failed by themselves: the others of the pass went on."""

    def run(self, job: Running) -> None:
        """The job over all blocks, together with those of the other fits."""
        if self._fits == 0:
            self._pass([job])
        else:
            self._take_part(job)
        if (error := self._own_failures.pop(id(job), None)) is not None:
            raise error

    def _take_part(self, job: Running) -> None:
        with self._turn:
            self._waiting.append(job)
            self._turn.notify_all()
            while id(job) not in self._done:
                if self._failed is not None:
                    raise RuntimeError("another fold failed") from self._failed
                if len(self._waiting) == self._fits:
                    jobs, self._waiting = self._waiting, []
                    try:
                        self._pass(jobs)
                    except BaseException as error:
                        self._failed = error
                        raise
                    finally:
                        self._done.update(map(id, jobs))
                        self._turn.notify_all()
                else:
                    self._turn.wait()
            self._done.discard(id(job))
            if self._failed is not None:
                raise RuntimeError("another fold failed") from self._failed

    def _pass(self, jobs: Sequence[Running]) -> None:
        columns = reduce(either, (job.reads for job in jobs))
        self.n += 1
        at_work = list(jobs)
        with closing(self._read(columns)) as blocks:
            for _ in range(jobs[0].n_blocks):
                if self._failed is not None:  # an interrupt: a pass may be long
                    raise RuntimeError("interrupted") from self._failed
                name, X = next(blocks)
                for job in tuple(at_work):
                    try:
                        job.work(name, X, columns)
                    except Exception as error:
                        self._own_failures[id(job)] = error
                        at_work.remove(job)
                if not at_work:
                    return
        for job in at_work:
            job.finish()

    def share(self, tasks: Sequence[Callable[[], Item]], at_once: int) -> list[Item]:
        """The results of the tasks, ``at_once`` of them side by side, in threads."""
        if at_once <= 1 or len(tasks) <= 1:
            return [task() for task in tasks]
        found: list[Item] = []
        for first in range(0, len(tasks), at_once):
            found += self._together(tasks[first : first + at_once])
        return found

    def _together(self, tasks: Sequence[Callable[[], Item]]) -> list[Item]:
        self._fits, self._waiting, self._done, self._failed = len(tasks), [], set(), None
        with ThreadPoolExecutor(len(tasks), thread_name_prefix="everypair-fold") as pool:
            try:
                # In a copy of this thread's context: floating-point error handling comes along.
                futures = [
                    pool.submit(copy_context().run, partial(self._one, task)) for task in tasks
                ]
                for future in futures:
                    future.exception()
            except BaseException as error:  # an interrupt: the others end at their next pass
                with self._turn:
                    self._failed = error
                    self._turn.notify_all()
                raise
        failed, self._failed = self._failed, None
        if failed is not None:
            raise failed
        return [future.result() for future in futures]

    def _one(self, task: Callable[[], Item]) -> Item:
        try:
            return task()
        except BaseException as error:
            with self._turn:
                self._failed = self._failed or error
            raise
        finally:
            with self._turn:
                self._fits -= 1
                self._turn.notify_all()
