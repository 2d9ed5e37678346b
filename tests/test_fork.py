"""A forked process fits, whatever the other threads of its parent were doing."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")

PRELUDE = """
import multiprocessing, threading, time
import numpy as np
import everypair.pairs  # a child cannot finish an import that a thread has begun
from everypair import AUCClassifier, AUCRLS

rng = np.random.default_rng(0)
X = rng.standard_normal((60_000, 5))
y = X[:, 0] + rng.standard_normal(len(X)) > 1

def fit(rows=400, loss="logistic"):
    AUCClassifier(loss).fit(X[:rows], y[:rows])

def forked(work, *args):
    child = multiprocessing.get_context("fork").Process(target=work, args=args)
    child.start()
    return child

def ends(child):
    child.join(60)
    if child.exitcode is None:
        child.kill()
    assert child.exitcode == 0, f"exit code {child.exitcode}"
"""


def run(script, **environment):
    """In an interpreter of its own, whose threads and locks no other test has touched."""
    done = subprocess.run(
        [sys.executable, "-c", PRELUDE + script],
        capture_output=True, text=True, check=False, timeout=150,
        env={**os.environ, **environment},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "Exception ignored" not in done.stderr, done.stderr


def test_a_fork_while_a_thread_computes_a_cached_attribute_does_not_stop_the_child():
    run("""
fit()
flatnonzero, reached, leave = np.flatnonzero, threading.Event(), threading.Event()

def slow_in_the_thread(rows):
    if threading.current_thread() is thread:
        reached.set()
        leave.wait()
    return flatnonzero(rows)

np.flatnonzero = slow_in_the_thread
thread = threading.Thread(target=fit)
thread.start()
reached.wait()
child = forked(fit)
try:
    ends(child)
finally:
    leave.set()
""")


def test_a_fork_while_a_thread_loads_numba_does_not_stop_the_child():
    run("""
import sys

thread = threading.Thread(target=fit, args=(3000,))
thread.start()
while "numba" not in sys.modules:
    time.sleep(0.001)
assert not hasattr(sys.modules["everypair._compiled.kept_code"], "dispatcher_of")
ends(forked(fit, 3000))
thread.join()
""")


def test_a_fork_that_waited_for_numba_waits_for_its_compiler_too():
    run("""
from everypair._compiled import compiling
from numba.core.compiler_lock import global_compiler_lock as lock

loads, compiles = threading.Event(), threading.Event()

def load():
    with compiling._loading:
        loads.set()
        compiles.wait()
        from everypair._compiled import kept_code

def compile_for_a_while():
    with lock:
        compiles.set()
        time.sleep(0.5)

def takes_the_lock():
    assert lock._lock.acquire(timeout=10)

threads = [threading.Thread(target=load), threading.Thread(target=compile_for_a_while)]
threads[0].start()
loads.wait()
threads[1].start()
ends(forked(takes_the_lock))
""")


@pytest.mark.slow
def test_a_fork_while_a_thread_compiles_does_not_stop_the_child(tmp_path):
    """The cache is empty, so that both really compile."""
    script = """
from numba.core.compiler_lock import global_compiler_lock

thread = threading.Thread(target=fit, args=(3000,))
thread.start()
lock = global_compiler_lock._lock
while thread.is_alive() and lock.acquire(blocking=False):
    lock.release()
    time.sleep(0.001)
assert thread.is_alive()
ends(forked(fit, 400, "squared_hinge"))
thread.join()
"""
    run(script, NUMBA_CACHE_DIR=str(tmp_path))


@pytest.mark.slow
def test_forks_under_load_all_end():
    """Threads fit without a pause, the splits of rows among them; children do the same."""
    run("""
over = threading.Event()

def load(rows):
    while not over.is_set():
        fit(rows)
        AUCRLS().fit(X[:rows], y[:rows])

fit(60_000)
threads = [threading.Thread(target=load, args=(rows,)) for rows in (400, 60_000)]
for thread in threads:
    thread.start()
try:
    for rows in (400, 60_000) * 8:
        ends(forked(fit, rows))
finally:
    over.set()
""")


@pytest.mark.slow
def test_joblib_forks_workers_that_fit():
    run("""
from joblib import Parallel, delayed

fit(60_000)  # the parent's threads are awake; the workers inherit none of them
with multiprocessing.get_context("fork").Pool(2) as pool:
    pool.map_async(fit, [60_000] * 4).get(60)
Parallel(n_jobs=2, backend="multiprocessing", timeout=60)(delayed(fit)(60_000) for _ in range(4))
""")
