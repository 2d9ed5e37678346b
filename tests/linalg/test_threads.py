"""Both cores where that pays, and never more threads than BLAS is allowed."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import joblib
import numpy as np
import pytest
from counting import rows
from joblib import Parallel, delayed
from scipy import sparse
from threadpoolctl import threadpool_limits

from everypair import AUCRLS, AUCClassifier, MeasureSVM, RankOpt, auc_path
from everypair.linalg import class_moments, dense, order, threads
from everypair.pairs import pair_point, ranked_classes
from everypair.rows import Rows

TALL, WIDER = (60_000, 20), (60_000, 60)


class WatchedPool(ThreadPoolExecutor):
    """Knows how many blocks of rows were handed out together, the caller's own among them.

    A block counts until its result is taken, not until it ends: quick ones overlap by chance.
    """

    def __init__(self, max_workers):
        super().__init__(max_workers)
        self.busiest, self._out = 1, 0

    def submit(self, work, /, *args, **kwargs):
        self._out += 1
        self.busiest = max(self.busiest, self._out + 1)
        future = super().submit(work, *args, **kwargs)
        take, cancel = future.result, future.cancel

        def result(timeout=None):
            self._out -= 1
            return take(timeout)

        def cancelled():
            if not cancel():
                return False
            self._out -= 1
            return True

        future.result, future.cancel = result, cancelled
        return future


@pytest.fixture
def pool(monkeypatch):
    """A machine of eight cores, as far as the library can see."""
    monkeypatch.setattr(threads, "_cores", lambda: 8)
    with WatchedPool(7) as pool:
        monkeypatch.setattr(threads, "_pool", lambda: pool)
        yield pool


def as_csr(shape):
    X, y = rows(*shape)
    X[np.abs(X) < 1] = 0
    return sparse.csr_matrix(X), y


FITS = {
    "logistic": lambda: AUCClassifier().fit(*rows(*TALL)),
    "squared hinge": lambda: AUCClassifier("squared_hinge").fit(*rows(*TALL)),
    "hinge": lambda: AUCClassifier("hinge", tol=1e-3).fit(*rows(*TALL)),
    "logistic, CSR": lambda: AUCClassifier(tol=1e-3).fit(*as_csr(WIDER)),
    "RLS": lambda: AUCRLS().fit(*rows(*TALL)),
    "L1 path": lambda: auc_path(*rows(*TALL), n_alphas=3, eps=0.1, tol=1e-3),
    "MeasureSVM, CSR": lambda: MeasureSVM("roc_area", C=1e-4).fit(*as_csr(WIDER)),
    "RankOpt": lambda: RankOpt(max_iter=3).fit(*rows(*TALL)),
}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("allowed", [1, 3])
@pytest.mark.parametrize("fit", FITS)
def test_hot_loops_use_every_thread_that_blas_may_and_none_beyond(fit, allowed, pool):
    with threadpool_limits(allowed, user_api="blas"):
        FITS[fit]()
    assert pool.busiest == allowed


def test_no_thread_sorts_or_walks_most_of_the_rows(monkeypatch):
    """Whatever a class is as large as, its rows are sorted in buckets and walked in blocks."""
    monkeypatch.setattr(order, "ROWS_OF_A_BUCKET", 1000)
    monkeypatch.setattr(threads, "OPERATIONS_PER_THREAD", 10_000)
    monkeypatch.setattr(threads, "OPERATIONS_OF_A_FINE_BLOCK", 10_000)
    largest = {"mend_order": 0, "growing_sum": 0}

    def watch(home, name, size):
        plain = getattr(home, name)

        def watched(*args):
            largest[name] = max(largest[name], size(args))
            return plain(*args)

        monkeypatch.setattr(home, name, watched)

    watch(order, "mend_order", lambda args: args[1].size)
    watch(ranked_classes, "growing_sum", lambda args: args[8] - args[7])
    X, y = rows(*TALL)
    with threads.thread_limit(3):
        point = pair_point("squared_hinge", Rows.uncut(y == 1), X[:, 0].copy())
        point.value(), point.gradient()
    n_larger = max(np.count_nonzero(y == 1), np.count_nonzero(y != 1))
    assert 0 < largest["mend_order"] < n_larger / 10
    assert 0 < largest["growing_sum"] < n_larger / 10


def test_small_work_stays_on_one_thread(pool, imbalanced):
    with threadpool_limits(3, user_api="blas"):
        AUCClassifier().fit(*imbalanced)
    assert pool.busiest == 1


def test_blas_has_one_thread_where_the_rows_are_split(pool, monkeypatch):
    seen = []

    def watch(home, name):
        plain = getattr(home, name)

        def watched(*args, **kwargs):
            seen.append(threads._blas_threads())
            return plain(*args, **kwargs)

        monkeypatch.setattr(home, name, watched)

    watch(dense, "add_weighted_gram")
    watch(class_moments.np, "matmul")
    with threadpool_limits(3, user_api="blas"):
        FITS["logistic"]()
        FITS["RLS"]()
        assert threads.available_threads() == 3
    assert len(seen) > 3
    assert set(seen) == {1}


def test_a_split_inside_a_split_stays_on_its_thread(monkeypatch):
    """With a pool that is busy, an inner split would wait for ever."""

    def outer(start, stop):
        return sum(threads.over_rows(lambda lo, hi: hi - lo, stop - start, 10**9))

    def split():
        with threads.thread_limit(2):
            return sum(threads.over_rows(outer, 100, 10**9))

    with ThreadPoolExecutor(1) as only, ThreadPoolExecutor(1) as watch:
        monkeypatch.setattr(threads, "_pool", lambda: only)
        assert watch.submit(split).result(timeout=30) == 100


def test_nobody_waits_for_a_thread_that_is_busy_elsewhere(monkeypatch):
    """The blocks that it would have taken are done by the thread that asked."""
    busy = threading.Event()
    with ThreadPoolExecutor(1) as only:
        monkeypatch.setattr(threads, "_pool", lambda: only)
        only.submit(busy.wait)
        try:
            with threads.thread_limit(2):
                blocks = threads.over_rows(lambda *rows: rows, 100, 10**9, finely=True)
        finally:
            busy.set()
    assert len(blocks) == 2 * threads.FINE_BLOCKS
    assert [start for start, _ in blocks] == [0, *(stop for _, stop in blocks[:-1])]
    assert blocks[-1][1] == 100


@pytest.mark.parametrize("at_fault", [0, 99])
def test_an_error_in_a_block_is_raised_and_the_rest_left_undone(at_fault):
    def work(start, stop):
        if start <= at_fault < stop:
            raise ValueError("here")

    with threads.thread_limit(2), pytest.raises(ValueError, match="here"):
        threads.over_rows(work, 100, 10**9)


def test_a_fit_goes_on_after_the_main_thread_has_ended():
    """Python waits for the thread that fits, but its pools of threads take no more work."""
    script = """
import threading
import numpy as np
from everypair.linalg import threads

def work():
    threading.main_thread().join()
    with threads.thread_limit(2):
        print(sum(threads.over_rows(lambda start, stop: stop - start, 100, 10**9)))

with threads.thread_limit(2):
    threads.over_rows(lambda start, stop: stop - start, 100, 10**9)
threading.Thread(target=work).start()
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False, timeout=60
    )
    assert (done.stdout, done.stderr) == ("100\n", "")


def test_an_interrupt_anywhere_in_a_fit_leaves_blas_as_it_was():
    """Raised at each line of `one_blas_thread` in turn; the next fit makes good what is left."""
    code = threads.one_blas_thread.__wrapped__.__code__
    before, tracer = threads._blas_threads(), sys.gettrace()
    lines = {line for _, _, line in code.co_lines() if line is not None}
    for line in sorted(lines - {code.co_firstlineno}):

        def trace(frame, event, _, line=line):
            if frame.f_code is code and event == "line" and frame.f_lineno == line:
                sys.settrace(None)
                raise KeyboardInterrupt
            return trace

        sys.settrace(trace)
        with contextlib.suppress(KeyboardInterrupt), threads.one_blas_thread():
            pass
        sys.settrace(tracer)  # coverage has one
        with threads.one_blas_thread():
            assert threads.available_threads() == before
        assert threads._blas_threads() == before, line
        assert threads.available_threads() == before


def test_a_limit_that_ends_in_another_thread_than_it_began_is_lifted():
    """threadpoolctl lets only the thread that set a limit change it as long as it lives."""
    before = threads.available_threads()
    with ThreadPoolExecutor(1) as first, ThreadPoolExecutor(1) as second:
        inner, outer = threads.one_blas_thread(), threads.one_blas_thread()
        first.submit(inner.__enter__).result()
        second.submit(outer.__enter__).result()
        assert {library.num_threads for library in threads._blas().lib_controllers} == {1}
        first.submit(inner.__exit__, None, None, None).result()
        second.submit(outer.__exit__, None, None, None).result()
        assert threads.available_threads() == before
        with threadpool_limits(1):
            assert threads.available_threads() == 1
        assert threads.available_threads() == before


def test_workers_of_joblib_share_the_cores():
    n_cores = joblib.cpu_count()
    allowed = Parallel(n_jobs=2)(delayed(threads.available_threads)() for _ in range(2))
    assert max(allowed) <= max(1, n_cores // 2)
