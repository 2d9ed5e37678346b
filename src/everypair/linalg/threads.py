"""Rows split over threads: the compiled kernels release the GIL, so plain threads do."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from functools import cache
from threading import Lock
from typing import Any, TypeVar

import joblib
from threadpoolctl import ThreadpoolController

Result = TypeVar("Result")

OPERATIONS_PER_THREAD = 200_000
"""Below this much work (about 0.1 ms) another thread costs more to wake than it saves."""

FINE_BLOCKS, OPERATIONS_OF_A_FINE_BLOCK = 4, 1_000_000
"""Blocks per thread where they may be fine, and the least work in one (about 0.5 ms)."""

_blas_lock = Lock()
_blas_users = 0
_blas_saved: int | None = None
_blas_limit: Any = None

_limit: ContextVar[int | None] = ContextVar("everypair_threads", default=None)
_inside: ContextVar[bool] = ContextVar("everypair_one_blas_thread", default=False)


@cache
def _blas() -> ThreadpoolController:
    return ThreadpoolController().select(user_api="blas")


def _take_blas() -> None:
    """Let this thread set the threads of BLAS, whichever did so last.

    From threadpoolctl 3.7 on only one thread at a time can, until it ends or is made to yield; what
    another one sets is ignored. A limit of this library may begin in one thread and end in another.
    """
    for library in _blas().lib_controllers:
        if hasattr(library, "clear_controlling_thread"):
            library.clear_controlling_thread(force=True)


def _restore_blas(limit: Any) -> None:
    _take_blas()
    limit.restore_original_limits()
    _take_blas()  # for any other thread


def available_threads() -> int:
    """Threads that BLAS is allowed just now, and never more than joblib counts cores.

    So `threadpoolctl.threadpool_limits`, OMP_NUM_THREADS and joblib's workers, which
    limit BLAS, limit this library as well.
    """
    with _blas_lock:
        return _blas_threads() if _blas_saved is None else _blas_saved


def _blas_threads() -> int:
    allowed = (library.num_threads for library in _blas().lib_controllers)
    return max(1, min([_cores(), *allowed]))


@cache
def _cores() -> int:
    """Counted once: it takes the operating system longer than little work."""
    return int(joblib.cpu_count())


@contextmanager
def thread_limit(n_threads: int | None = None) -> Iterator[None]:
    """Fix the number of threads of the sums inside; read from BLAS once when None."""
    token = _limit.set(available_threads() if n_threads is None else n_threads)
    try:
        yield
    finally:
        _limit.reset(token)


@cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(max(1, _cores() - 1), thread_name_prefix="everypair")


def _begin_anew() -> None:
    """A forked child inherits the pool but not its threads, and would wait for them for ever; and
    what its parent's other threads had entered, nobody would leave."""
    global _blas_lock, _blas_users, _blas_saved, _blas_limit  # noqa: PLW0603
    _pool.cache_clear()
    _cores.cache_clear()
    _blas_lock, _blas_users, _blas_saved = Lock(), 0, None
    if _blas_limit is not None:
        _restore_blas(_blas_limit)
        _blas_limit = None


def _before_fork() -> None:
    """Wait until no thread of ours is inside threadpoolctl: its lock would stay closed in the
    child."""
    _blas_lock.acquire()


def _after_fork() -> None:
    _blas_lock.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before_fork, after_in_parent=_after_fork, after_in_child=_begin_anew
    )


@contextmanager
def own_threads() -> Iterator[None]:
    """Threads of this library's own inside, as many as BLAS may have now, and BLAS on one.

    A BLAS thread that has done its part spins for a while before it sleeps; a fit whose many
    small products woke one would wait for its own threads to get a core.
    """
    with thread_limit(), one_blas_thread():
        yield


def used_threads() -> int:
    """At most this many blocks of rows run at a time."""
    limit = _limit.get()
    return available_threads() if limit is None else limit


def over_rows(
    work: Callable[[int, int], Result], n_rows: int, operations: int, finely: bool = False
) -> list[Result]:
    """``[work(start, stop), ...]`` over contiguous blocks of rows, in their order.

    ``operations``: a rough count of the work in all rows together. There is one block per thread,
    or several where they may be taken ``finely``, because what comes back from a block is small: a
    thread that is late, or has lost its core, leaves them to the others.
    """
    most = min(n_rows, operations // OPERATIONS_PER_THREAD)
    # To ask how many threads there are takes longer than little work.
    n_threads = min(used_threads(), most) if most > 1 else 1
    if n_threads == 1:
        return [work(0, n_rows)]
    n_blocks = n_threads
    if finely:
        fine = min(n_rows, FINE_BLOCKS * n_threads, operations // OPERATIONS_OF_A_FINE_BLOCK)
        n_blocks = max(n_threads, fine)
    edges = [n_rows * k // n_blocks for k in range(n_blocks + 1)]
    shared = _Shared(work, edges)
    others = [future for _ in range(1, n_threads) if (future := _started(shared)) is not None]
    try:
        shared.run()
    finally:
        shared.left.clear()
    for future in others:
        # One that has not begun finds nothing left to do: nobody waits for it.
        if not future.cancel():
            future.result()
    return shared.results


class _Shared:
    """Blocks of rows that threads take one by one."""

    def __init__(self, work: Callable[[int, int], Any], edges: list[int]):
        self._work, self._edges = work, edges
        self.left = deque(range(len(edges) - 1))
        self.results: list[Any] = [None] * len(self.left)

    def run(self) -> None:
        """Blocks until none is left. What a block splits in turn stays on its thread, or it would
        wait for threads that wait for it."""
        with thread_limit(1):
            while True:
                try:
                    k = self.left.popleft()
                except IndexError:
                    return
                self.results[k] = self._work(self._edges[k], self._edges[k + 1])


def _started(shared: _Shared) -> Future[None] | None:
    """Another thread that takes blocks; None once the main thread has ended, when Python starts
    no threads."""
    try:
        # In a copy of this thread's context: floating-point error handling comes along.
        return _pool().submit(copy_context().run, shared.run)
    except RuntimeError:
        return None


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """BLAS on one thread inside: the rows are split over ours, each calling it on its own.

    The limit is the process', so fits in several threads share it: the first to enter sets
    it, the last to leave restores what was there before. A limit that an interrupt has left
    behind is taken over by the next to enter.
    """
    global _blas_users, _blas_saved, _blas_limit  # noqa: PLW0603
    if _inside.get():
        yield
        return
    entered = False
    token = _inside.set(True)
    try:
        with _blas_lock:
            if _blas_limit is None:
                _blas_saved = _blas_threads()
                _take_blas()
                _blas_limit = _blas().limit(limits=1)
            entered = True
            _blas_users += 1
        yield
    finally:
        _inside.reset(token)
        if entered:
            with _blas_lock:
                _blas_users = max(0, _blas_users - 1)
                if _blas_users == 0 and _blas_limit is not None:
                    _restore_blas(_blas_limit)
                    _blas_saved = _blas_limit = None
