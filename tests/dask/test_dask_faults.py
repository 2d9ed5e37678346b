"""Workers in processes, and those that die: the answer stays, or a sentence says why not."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import ExitStack, contextmanager

import numpy as np
import pytest

from everypair import AUCClassifier

da = pytest.importorskip("dask.array")
distributed = pytest.importorskip("distributed")

from everypair.dask import DaskAUCClassifier, engine  # noqa: E402


def test_groups_in_other_processes_give_the_local_fit(processes, data):
    X, y, weight = (values[:1500] for values in data)
    within = np.arange(1500) % 70
    # The square loss: the processes of a cluster would each compile the sums of the logistic one.
    local = AUCClassifier("square", alpha=0.01, tol=1e-12).fit(X, y, weight, within=within)
    blocks = [
        da.from_array(values, chunks=(500, *values.shape[1:])) for values in (X, y, weight, within)
    ]
    model = DaskAUCClassifier(loss="square", alpha=0.01, tol=1e-12, client=processes)
    model.fit(*blocks[:3], within=blocks[3])
    size = np.abs(local.coef_).max()
    np.testing.assert_allclose(model.coef_, local.coef_, rtol=0, atol=1e-9 * size)


def test_workers_use_freed_memory_again(processes):
    """Dask's nanny asks them not to: each vector would then cost new pages."""
    X = np.random.default_rng(6).standard_normal((2000, 2))
    dX, dy = da.from_array(X, chunks=(500, 2)), da.from_array(X[:, 0] > 1, chunks=500)
    DaskAUCClassifier(client=processes).fit(dX, dy)

    def pages():
        from resource import RUSAGE_SELF, getrusage

        np.ones(2**18)
        before = getrusage(RUSAGE_SELF).ru_minflt
        for _ in range(20):
            np.ones(2**18)  # 2 MB: 512 pages
        return getrusage(RUSAGE_SELF).ru_minflt - before

    for new in processes.run(pages).values():
        assert new < 5 * 512


@pytest.mark.parametrize("n_killed", [1, pytest.param(3, marks=pytest.mark.slow)])
def test_workers_killed_in_the_middle_change_nothing(processes, data, monkeypatch, n_killed):
    client, (X, y, _) = processes, data
    wanted = AUCClassifier().fit(X, y).coef_
    dX, dy = da.from_array(X, chunks=(4000, 5)), da.from_array(y, chunks=4000)
    rng, run, jobs, killed, deadly = np.random.default_rng(), engine.DaskBlocks.run, [], [], set()

    def dangerous(self, job):
        jobs.append(job.name)
        if len(jobs) - 1 not in deadly:
            return run(self, job)
        timer = threading.Timer(rng.uniform(0, 0.05), kill, rng.permutation(alive()).tolist())
        timer.start()
        try:
            return run(self, job)
        finally:
            timer.join()  # the worker is dead before the next job

    def alive():
        client.wait_for_workers(2, timeout=60)  # who died before has a successor
        while True:
            try:
                return [*client.run(os.getpid).values()]
            except OSError:  # one is dead, and the scheduler has yet to notice
                time.sleep(0.1)

    def kill(*workers):
        for pid in workers:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:  # dead already
                continue
            killed.append(pid)
            return

    monkeypatch.setattr(engine.DaskBlocks, "run", dangerous)
    DaskAUCClassifier(client=client).fit(dX, dy)  # as many jobs as the next fit
    # Some of them lose a worker, at a random moment.
    deadly |= set(rng.choice(len(jobs), n_killed, replace=False).tolist())
    jobs.clear()
    model = DaskAUCClassifier(client=client).fit(dX, dy)
    np.testing.assert_allclose(model.coef_, wanted, rtol=1e-9)
    assert len(killed) == n_killed, (sorted(deadly), jobs)
    client.wait_for_workers(2, timeout=60)


@contextmanager
def started(*command):
    process = subprocess.Popen([sys.executable, "-m", "dask", *command], stderr=subprocess.DEVNULL)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


@pytest.fixture
def real_cluster(tmp_path):
    """A scheduler and two workers, each a process of its own that nobody starts again: the recipe
    of docs/blocks.md with files and ports that are free."""
    address = str(tmp_path / "scheduler.json")
    with ExitStack() as stack:
        stack.enter_context(
            started("scheduler", "--port", "0", "--no-dashboard", "--scheduler-file", address)
        )
        options = ("--scheduler-file", address, "--nthreads", "1", "--no-dashboard", "--no-nanny")
        here = ("--local-directory", str(tmp_path))
        workers = [stack.enter_context(started("worker", *options, *here)) for _ in range(2)]
        for _ in range(600):
            if os.path.exists(address):
                break
            time.sleep(0.1)
        client = stack.enter_context(distributed.Client(scheduler_file=address))
        client.wait_for_workers(2, timeout=60)
        yield client, workers


def test_without_workers_there_is_an_error(data, monkeypatch):
    X, y, _ = data
    options = {"n_workers": 0, "processes": False, "dashboard_address": None}
    monkeypatch.setattr(engine, "NO_WORKER_SECONDS", 0.5)
    with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster) as client:
        model = DaskAUCClassifier(client=client)
        with pytest.raises(RuntimeError, match=r"no worker for 0\.5 seconds: start workers"):
            model.fit(da.from_array(X, chunks=(10_000, 5)), da.from_array(y, chunks=10_000))


@pytest.mark.slow
def test_a_real_cluster_fits_and_when_all_workers_are_killed_there_is_an_error(
    real_cluster, data, monkeypatch
):
    X, y, _ = data
    client, workers = real_cluster
    dX, dy = da.from_array(X, chunks=(10_000, 5)), da.from_array(y, chunks=10_000)
    model = DaskAUCClassifier(client=client).fit(dX, dy)
    np.testing.assert_allclose(model.coef_, AUCClassifier().fit(X, y).coef_, rtol=1e-9)
    run = engine.DaskBlocks.run

    def then_alone(self, job):
        if job.name == "pull-back":
            for worker in workers:
                worker.kill()
        return run(self, job)

    monkeypatch.setattr(engine, "NO_WORKER_SECONDS", 1.0)
    monkeypatch.setattr(engine.DaskBlocks, "run", then_alone)
    began = time.monotonic()
    with pytest.raises(RuntimeError, match="no worker for 1 seconds: start workers"):
        DaskAUCClassifier(client=client).fit(dX, dy)
    assert time.monotonic() - began < 60
