"""A cluster of two threads for the tests of `everypair.dask`, and one of two processes."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("distributed")
pytest.importorskip("dask.array")


def cluster_of_two(**options):
    from distributed import Client, LocalCluster

    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None, **options}
    with LocalCluster(**options) as cluster, Client(cluster) as client:
        yield client


# An idle cluster takes a twentieth of a core: it ends with the module that uses it.
@pytest.fixture(scope="module")
def client():
    """Workers in threads, which cost a fraction of processes."""
    yield from cluster_of_two(processes=False)


@pytest.fixture(scope="module")
def processes():
    """Workers in processes: for what is about messages, memory and death."""
    yield from cluster_of_two()


@pytest.fixture(scope="session")
def data():
    rng = np.random.default_rng(0)
    n, p = 20_000, 5
    X = rng.standard_normal((n, p)) + np.linspace(-2, 4, p)
    y = (X @ rng.standard_normal(p) + 2 * rng.logistic(size=n) > 5).astype(int)
    return X, y, rng.uniform(0, 2, n).round(1)
