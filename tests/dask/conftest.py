"""One cluster of two processes for all tests of `everypair.dask`."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("distributed")
pytest.importorskip("dask.array")


@pytest.fixture(scope="session")
def client():
    from distributed import Client, LocalCluster

    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        yield client


@pytest.fixture(scope="session")
def data():
    rng = np.random.default_rng(0)
    n, p = 20_000, 5
    X = rng.standard_normal((n, p)) + np.linspace(-2, 4, p)
    y = (X @ rng.standard_normal(p) + 2 * rng.logistic(size=n) > 5).astype(int)
    return X, y, rng.uniform(0, 2, n).round(1)
