"""Workers that die: the answer stays, or a sentence says why there is none."""

from __future__ import annotations

import os
import signal
import threading
import time

import numpy as np
import pytest

from everypair import AUCClassifier

da = pytest.importorskip("dask.array")
distributed = pytest.importorskip("distributed")

from everypair.dask import DaskAUCClassifier, engine  # noqa: E402


def test_workers_killed_in_the_middle_change_nothing(client, data):
    X, y, _ = data
    wanted = AUCClassifier().fit(X, y).coef_
    dX, dy = da.from_array(X, chunks=(4000, 5)), da.from_array(y, chunks=4000)
    rng, run, kills = np.random.default_rng(), engine.DaskBlocks.run, []

    def dangerous(self, job):
        if len(kills) < 3 and rng.random() < 0.3:
            pids = [of["pid"] for of in client.run(_about_me).values()]
            delay = rng.uniform(0, 0.1)
            threading.Timer(delay, os.kill, (int(rng.choice(pids)), signal.SIGKILL)).start()
            kills.append(job.name)
        return run(self, job)

    engine.DaskBlocks.run = dangerous
    try:
        while not kills:
            model = DaskAUCClassifier(client=client).fit(dX, dy)
            np.testing.assert_allclose(model.coef_, wanted, rtol=1e-9)
    finally:
        engine.DaskBlocks.run = run
    client.wait_for_workers(2, timeout=60)


def _about_me():
    return {"pid": os.getpid()}


def test_all_workers_gone_is_an_error_and_not_a_hang(data, monkeypatch):
    X, y, _ = data
    monkeypatch.setattr(engine, "NO_WORKER_SECONDS", 1.0)
    run = engine.DaskBlocks.run
    with (
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        dX, dy = da.from_array(X, chunks=(10_000, 5)), da.from_array(y, chunks=10_000)

        def then_alone(self, job):
            if job.name == "first-look":
                cluster.scale(0)
                while client.nthreads():
                    time.sleep(0.05)
            return run(self, job)

        monkeypatch.setattr(engine.DaskBlocks, "run", then_alone)
        with pytest.raises(RuntimeError, match="no worker for 1 seconds: start workers"):
            DaskAUCClassifier(client=client).fit(dX, dy)
