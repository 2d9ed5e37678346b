"""The objective on several workers is that of one process, whatever rows each worker has."""

import sys
import threading
from enum import IntEnum
from types import SimpleNamespace

import numpy as np
import pytest

from everypair.boosting import auc_metric, pair_objective
from everypair.metrics import auc_score


class Operation(IntEnum):
    MAX = 0
    SUM = 2


class Workers:
    """XGBoost's communication among threads; a worker that calls less often breaks the barrier."""

    def __init__(self, n_workers):
        self.n_workers, self.barrier = n_workers, threading.Barrier(n_workers, timeout=20)
        self.ranks, self.sent, self.calls = {}, [None] * n_workers, [0] * n_workers
        self.collective = SimpleNamespace(
            Op=Operation,
            allreduce=self.allreduce,
            get_rank=lambda: self.ranks.get(threading.get_ident(), 0),
            get_world_size=lambda: n_workers if threading.get_ident() in self.ranks else 1,
        )

    def allreduce(self, data, operation):
        rank = self.ranks[threading.get_ident()]
        self.calls[rank] += 1
        self.sent[rank] = (data.copy(), operation)
        self.barrier.wait()
        assert len({of for _, of in self.sent}) == 1
        assert len({values.dtype for values, _ in self.sent}) == 1
        merge = np.sum if operation == Operation.SUM else np.max
        merged = merge([values.ravel() for values, _ in self.sent], axis=0).astype(data.dtype)
        self.barrier.wait()
        return merged

    def run(self, work, parts):
        """``work(part)`` on a worker each; results in order, or exceptions."""
        out = [None] * self.n_workers

        def alone(rank):
            self.ranks[threading.get_ident()] = rank
            try:
                out[rank] = work(parts[rank])
            except Exception as error:
                out[rank] = error
            del self.ranks[threading.get_ident()]

        threads = [threading.Thread(target=alone, args=(k,)) for k in range(self.n_workers)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return out


@pytest.fixture
def workers(monkeypatch):
    def of(n_workers):
        made = Workers(n_workers)
        monkeypatch.setitem(sys.modules, "xgboost.collective", made.collective)
        return made

    return of


def rows(n=400, seed=0, spread=1.0):
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < 0.2).astype(float)
    y[:2] = 0, 1
    scores = (spread * (rng.standard_normal(n) + y)).astype(np.float32)
    return y, scores, rng.integers(0, 4, n) + 0.5 * y


def shared_out(y, kind):
    """Rows of each of four workers: even parts, one without positives, one without any row."""
    if kind == "even":
        return np.array_split(np.arange(y.size), 4)
    positives, negatives = np.flatnonzero(y == 1), np.flatnonzero(y == 0)
    third = np.array_split(negatives, 3)
    return [third[0], np.empty(0, dtype=int), positives, np.concatenate(third[1:])]


CASES = [("logistic", 1), ("logistic", 3), ("square", 1), ("exponential", 1)]


@pytest.mark.parametrize("kind", ["even", "uneven"])
@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("spread", [1.0, 300.0])
@pytest.mark.parametrize(("loss", "push"), CASES)
def test_derivatives_are_those_of_one_process(workers, loss, push, weighted, kind, spread):
    if loss == "exponential" and spread > 1:
        spread = 20.0  # beyond that it overflows, in one process too
    y, scores, weight = rows(spread=spread)
    wanted = pair_objective(loss, push)(y, scores, weight if weighted else None)
    parts, cluster = shared_out(y, kind), workers(4)

    def work(part):
        objective = pair_objective(loss, push)
        given = weight[part] if weighted else None
        twice = [objective(y[part], scores[part], given) for _ in range(2)]
        np.testing.assert_array_equal(*twice)
        return twice[0]

    found = cluster.run(work, parts)
    assert len(set(cluster.calls)) == 1
    for part, of_part in zip(parts, found, strict=True):
        for ours, one in zip(of_part, wanted, strict=True):
            np.testing.assert_allclose(ours, one[part], rtol=1e-9, atol=1e-13 * abs(one).max())


def test_rows_that_change_on_one_worker_are_seen_by_all(workers):
    y, scores, weight = rows()
    parts, cluster = shared_out(y, "even"), workers(4)
    other = weight.copy()
    other[parts[2]] *= 2

    def work(part):
        objective = pair_objective()
        objective(y[part], scores[part], weight[part])
        return objective(y[part], scores[part], other[part])[0]

    wanted = pair_objective()(y, scores, other)[0]
    np.testing.assert_allclose(np.concatenate(cluster.run(work, parts)), wanted, atol=1e-12)


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda y, s, w: (y, s, np.where(np.arange(w.size) == 3, -1.0, w)), "sample_weight"),
        (lambda y, s, w: (np.where(np.arange(y.size) == 3, 7.0, y), s, w), "more than two"),
        (lambda y, s, w: (y, np.where(np.arange(y.size) == 3, np.nan, s), w), "y_pred"),
    ],
)
def test_a_trouble_of_one_worker_is_raised_on_all_and_nobody_waits(workers, spoil, words):
    y, scores, weight = spoil(*rows())
    parts, cluster = shared_out(y, "even"), workers(4)
    found = cluster.run(lambda k: pair_objective()(y[k], scores[k], weight[k]), parts)
    assert all(isinstance(error, ValueError) for error in found)
    assert any(words in str(error) for error in found)
    assert len(set(cluster.calls)) == 1


@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("kind", ["even", "uneven"])
def test_the_metric_is_the_auc_of_all_workers_rows(workers, weighted, kind):
    y, scores, weight = rows()
    parts, cluster = shared_out(y, kind), workers(4)
    metric = auc_metric("xgboost")
    found = cluster.run(lambda k: metric(y[k], scores[k], weight[k] if weighted else None), parts)
    wanted = auc_score(y, scores, weight if weighted else None)
    assert found == [pytest.approx(wanted, abs=1e-14)] * 4


def test_what_a_cluster_cannot_do_is_refused_on_every_worker(workers):
    y, scores, _ = rows(40)
    parts, cluster = np.array_split(np.arange(40), 2), workers(2)
    for objective, words in (
        (pair_objective("squared_hinge"), "'squared_hinge' needs all scores in one place"),
        (pair_objective(within=np.arange(40) % 4), "train in one process, or without within"),
    ):
        found = cluster.run(lambda k, o=objective: o(y[k], scores[k]), parts)
        assert all(words in str(error) for error in found)


def test_lightgbm_on_several_machines_is_refused():
    lightgbm = pytest.importorskip("lightgbm")
    y, scores, _ = rows(60)
    data = lightgbm.Dataset(scores[:, None], y)
    from lightgbm import engine

    # As `engine.train` calls an objective, without waiting for a second machine.
    called = {**vars(engine), "objective": pair_objective(), "y": y, "scores": scores}
    exec("def train(params):\n    return objective(y, scores)", called)
    with pytest.raises(ValueError, match="LightGBM trains on 2 machines"):
        called["train"]({"num_machines": 2})
    assert called["train"]({"num_machines": 1})
    settings = {"objective": pair_objective().for_train, "verbosity": -1, "num_threads": 1}
    assert lightgbm.train(settings, data, 2).num_trees() == 2


def grid_table(n=3000, seed=0):
    """Columns of few values: quantiles do not depend on where the rows are."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 60, (n, 5)) / 10.0
    signal = X[:, 0] * X[:, 1] / 10 + X[:, 2] + rng.logistic(size=n)
    return X, (signal > np.quantile(signal, 0.9)).astype(int), rng.integers(1, 4, n) * 1.0


@pytest.mark.slow
@pytest.mark.parametrize("push", [1, 3])
def test_on_dask_xgboost_grows_the_trees_of_one_process(push):
    xgboost = pytest.importorskip("xgboost")
    on_dask = pytest.importorskip("xgboost.dask")
    da = pytest.importorskip("dask.array")
    distributed = pytest.importorskip("distributed")
    X, y, weight = grid_table()
    order = np.argsort(y, kind="stable")  # the positives are on one worker alone
    X, y, weight = X[order], y[order], weight[order]
    settings = {
        "max_depth": 4, "learning_rate": 0.3, "base_score": 0.0, "nthread": 1, "tree_method": "hist"
    }  # fmt: skip
    alone = xgboost.QuantileDMatrix(X, y, weight=weight)
    wanted = xgboost.train(settings, alone, 10, obj=pair_objective(push=push).for_train)
    chunks = (1000, 1000, 0, 1000)
    with (
        distributed.LocalCluster(
            n_workers=3, threads_per_worker=1, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        data = on_dask.DaskQuantileDMatrix(
            client,
            da.from_array(X, (chunks, (5,))),
            da.from_array(y, (chunks,)),
            weight=da.from_array(weight, (chunks,)),
        )
        found = on_dask.train(
            client, settings, data, 10, obj=pair_objective(push=push).for_train,
            evals=[(data, "train")], custom_metric=auc_metric("xgboost").for_train,
        )  # fmt: skip
    margins, of_one = (
        model.predict(xgboost.DMatrix(X), output_margin=True)
        for model in (found["booster"], wanted)
    )
    np.testing.assert_allclose(margins, of_one, atol=2e-5)
    curve = found["history"]["train"]["auc_exact"]
    assert curve[-1] == pytest.approx(auc_score(y, of_one, weight), abs=1e-6)


@pytest.mark.slow
def test_the_libraries_own_classes_on_dask():
    """XGBoost's takes the objective as it is, weights included; LightGBM's refuses it."""
    xgboost = pytest.importorskip("xgboost")
    on_dask = pytest.importorskip("xgboost.dask")
    lightgbm = pytest.importorskip("lightgbm")
    da = pytest.importorskip("dask.array")
    distributed = pytest.importorskip("distributed")
    X, y, weight = grid_table()
    settings = {"n_estimators": 10, "max_depth": 4, "learning_rate": 0.3, "n_jobs": 1}
    alone = xgboost.XGBClassifier(objective=pair_objective(), tree_method="hist", **settings)
    of_one = alone.fit(X, y, sample_weight=weight).predict(X, output_margin=True)
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        workers = list(client.scheduler_info()["workers"])
        parts = [
            da.concatenate(
                [
                    client.persist(da.from_array(half, chunks=-1), workers=[worker])
                    for half, worker in zip((a[:1500], a[1500:]), workers, strict=True)
                ]
            )
            for a in (X, y, weight)
        ]
        model = on_dask.DaskXGBClassifier(
            objective=pair_objective(), tree_method="hist", **settings
        )
        model.client = client
        model.fit(*parts[:2], sample_weight=parts[2])
        margins = model.get_booster().predict(xgboost.DMatrix(X), output_margin=True)
        refused = lightgbm.DaskLGBMClassifier(
            client=client, objective=pair_objective(), n_estimators=2
        )
        with pytest.raises(ValueError, match="LightGBM trains on 2 machines"):
            refused.fit(*parts[:2])
    np.testing.assert_allclose(margins - margins[0], of_one - of_one[0], atol=2e-5)
