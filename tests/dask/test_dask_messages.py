"""What goes between the client and the workers: few rounds, and little in each."""

from __future__ import annotations

import asyncio
import pickle

import numpy as np
import pytest

da = pytest.importorskip("dask.array")
pytest.importorskip("distributed")

from everypair.dask import DaskAUCClassifier, auc_score, engine  # noqa: E402
from everypair.dask.held_rows import held  # noqa: E402


@pytest.fixture
def messages(monkeypatch):
    """The name of each round, and the bytes that it sends to a worker and gets back from one."""
    said, dumps, run = [], engine.task_pickle.dumps, engine.DaskBlocks.run
    sent = []

    def weighed(*args, **options):
        sent.append(dumps(*args, **options))
        return sent[-1]

    def counted(self, job):
        sent.clear()
        found = run(self, job)
        said.append((job.name, sum(map(len, sent)), len(pickle.dumps(found))))
        return found

    monkeypatch.setattr(engine.task_pickle, "dumps", weighed)
    monkeypatch.setattr(engine.DaskBlocks, "run", counted)
    return said


def test_an_evaluation_is_two_rounds_of_small_messages(client, messages):
    rng = np.random.default_rng(4)
    X = rng.standard_normal((60_000, 20))
    y = X @ rng.standard_normal(20) + 4 * rng.logistic(size=len(X)) > 8
    dX, dy = da.from_array(X, chunks=(20_000, 20)), da.from_array(y, chunks=20_000)
    DaskAUCClassifier(client=client).fit(dX, dy)
    names = [name for name, _, _ in messages]
    end = names.index("histogram")
    # Of each point: the moments up, the fields down. The sample comes with the first look.
    climb = ["box-moments", "pull-back"] * (end // 2)
    assert names == ["first-look", *climb, *["histogram"] * (len(names) - end)]
    assert names.count("histogram") <= 3
    small = [(down, up) for name, down, up in messages if name != "first-look"]
    assert max(map(max, small)) < 10**6
    (sample,) = (up for name, _, up in messages if name == "first-look")
    assert sample < 1.1 * 8 * 20 * 22_000  # the rows of the first solve come once


def test_rounds_of_an_exact_area_are_small(client, messages):
    rng = np.random.default_rng(5)
    scores = rng.standard_normal(25_000)
    y = scores + rng.standard_normal(25_000) > 1
    found = auc_score(
        da.from_array(y, chunks=9_000), da.from_array(scores, chunks=9_000), width=0,
        client=client,
    )  # fmt: skip
    assert found.low == found.high
    assert found.n_rounds > 1
    assert max(max(down, up) for _, down, up in messages) < 10**6


def test_a_transfer_longer_than_the_time_between_looks_is_begun_once(client, monkeypatch):
    gather, begun = client.gather, []

    async def slow(futures, asynchronous):
        begun.append(futures)
        assert len(begun) == 1
        await asyncio.sleep(0.5)
        return await gather(futures, asynchronous=asynchronous)

    monkeypatch.setattr(client, "gather", slow)
    monkeypatch.setattr(engine, "LOOK_SECONDS", 0.1)
    blocks = object.__new__(engine.DaskBlocks)
    blocks.client = client
    assert blocks._results([client.submit(int, "7")]) == [7]


def _rows(seed, of):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((2000, 5))
    return X if of == "X" else X[:, 0] + rng.standard_normal(2000) > 1


@pytest.mark.parametrize("step", [1, -1])
def test_x_stays_on_its_worker_in_fit_after_fit(client, step):
    workers = list(client.scheduler_info()["workers"])[::step]

    def chunks(of, shape, dtype):
        made = [client.submit(_rows, k, of, workers=[w], pure=False) for k, w in enumerate(workers)]
        return da.concatenate([da.from_delayed(each, shape, dtype) for each in made])

    dX, dy = client.persist([chunks("X", (2000, 5), float), chunks("y", (2000,), bool)])
    # What a fit leaves behind may wait for the garbage collector.
    alive = [engine.DaskBlocks(client, dX, dy, None, "a test") for _ in range(5)]
    assert {len(holders) for holders in client.who_has(dX).values()} == {1}
    assert len(alive) == 5


def test_rows_from_another_worker_are_aligned():
    sent = np.frombuffer(bytearray(8 * 30 + 1), np.uint8)[1:].view(np.float64).reshape(10, 3)
    assert not sent.flags.aligned
    assert held(0, sent, np.arange(10)).X.flags.aligned
