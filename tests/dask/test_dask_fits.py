"""A fit on a cluster is the local fit; what is wrong with a block is said with its number."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

from everypair import AUCRLS, AUCClassifier, MeasureOpt, RankOpt, metrics
from everypair.metrics import auc_score as local_auc
from everypair.metrics import threshold_for

da = pytest.importorskip("dask.array")
wait = pytest.importorskip("distributed").wait

import everypair.dask as on_dask  # noqa: E402
from everypair.dask import (  # noqa: E402
    DaskAUCClassifier,
    DaskAUCRLS,
    DaskMeasureOpt,
    DaskRankOpt,
    auc_score,
    engine,
)


def in_chunks(values, n_blocks):
    sizes = [
        len(values) * (k + 1) // n_blocks - len(values) * k // n_blocks for k in range(n_blocks)
    ]
    return da.from_array(values, chunks=(tuple(sizes), *[-1] * (values.ndim - 1)))


def close(found, wanted, rtol=1e-9):
    np.testing.assert_allclose(found, wanted, rtol=0, atol=rtol * np.abs(wanted).max())


@pytest.mark.parametrize("n_blocks", [1, 2, 5, 17])
def test_any_number_of_blocks_gives_the_local_fit(client, data, n_blocks):
    X, y, _ = data
    local = AUCClassifier().fit(X, y)
    model = DaskAUCClassifier(client=client).fit(in_chunks(X, n_blocks), in_chunks(y, n_blocks))
    close(model.coef_, local.coef_)
    close(model.intercept_, local.intercept_)
    assert model.n_iter_ == local.n_iter_
    assert model.dual_gap_ <= 1e-6
    assert model.n_passes_ <= 12
    assert abs(model.train_score_ - local.train_score_) <= 5e-6
    assert isinstance(model.coef_, np.ndarray)


@pytest.mark.parametrize("loss", ["square", "exponential"])
def test_empty_blocks_blocks_of_one_class_and_weights(client, data, loss):
    X, y, weight = data
    order = np.argsort(y, kind="stable")
    X, y, weight = X[order], y[order], weight[order]
    first = int(np.searchsorted(y, 1))
    rows = (0, 5000, 0, first - 5000, len(y) - first, 0)
    chunks = (da.from_array(v, chunks=(rows, *[-1] * (v.ndim - 1))) for v in (X, y, weight))
    close(DaskAUCClassifier(loss).fit(*chunks).coef_, AUCClassifier(loss).fit(X, y, weight).coef_)


def test_sparse_penalties_on_a_cluster(client, data):
    X, y, _ = data
    local = AUCClassifier(penalty="l1", alpha=0.1).fit(X, y)
    model = DaskAUCClassifier(penalty="l1", alpha=0.1).fit(in_chunks(X, 2), in_chunks(y, 2))
    assert np.array_equal(model.coef_ != 0, local.coef_ != 0)
    close(model.coef_, local.coef_)


@pytest.mark.parametrize(
    ("loss", "setting"),
    [
        pytest.param("hinge", {"penalty": "l1"}, marks=pytest.mark.slow),
        pytest.param("hinge", {"bounds": (0, 0.3)}, marks=pytest.mark.slow),
        ("squared_hinge", {"penalty": "l1"}),
        ("squared_hinge", {"bounds": (0, 0.3)}),
    ],
    ids=str,
)
def test_hinges_on_a_cluster_take_every_penalty(client, data, loss, setting):
    X, y, weight = (of[::4].copy() for of in data)
    settings = {"loss": loss, "alpha": 0.05, "tol": 1e-8, **setting}
    local = AUCClassifier(**settings).fit(X, y, weight)
    chunks = (in_chunks(of, 2) for of in (X, y, weight))
    model = DaskAUCClassifier(**settings, client=client).fit(*chunks)
    close(model.coef_, local.coef_)
    assert model.dual_gap_ <= 1e-8


@pytest.mark.parametrize("setting", [{}, {"penalty": "l1", "alpha": 0.1}], ids=str)
def test_vectors_that_were_lost_are_made_again(client, data, monkeypatch, setting):
    X, y, _ = data
    local = AUCClassifier(**setting).fit(X, y)
    run, jobs, parts, again = engine.DaskBlocks.run, [], engine.DaskBlocks._parts, []

    def forgetful(self, job):
        jobs.append(job.name)
        if len(jobs) % 2:  # the scores of a point are lost, or those of a step
            wait(client.map(lambda block: block.vectors.clear(), self._blocks, pure=False))
        return run(self, job)

    def watched(self, job, lost=()):
        again.extend(lost)
        return parts(self, job, lost)

    monkeypatch.setattr(engine.DaskBlocks, "run", forgetful)
    monkeypatch.setattr(engine.DaskBlocks, "_parts", watched)
    model = DaskAUCClassifier(client=client, **setting).fit(in_chunks(X, 2), in_chunks(y, 2))
    close(model.coef_, local.coef_)
    assert model.n_iter_ == local.n_iter_
    assert any(past.before for past in again)


def test_blocks_forget_what_nobody_asks_for(client, data, monkeypatch):
    X, y, _ = data
    run, most = engine.DaskBlocks.run, []

    def watched(self, job):
        found = run(self, job)
        counted = client.map(lambda block: len(block.vectors), self._blocks, pure=False)
        most.extend(client.gather(counted))
        return found

    monkeypatch.setattr(engine.DaskBlocks, "run", watched)
    DaskAUCClassifier(alpha=1e-5, tol=1e-10, client=client).fit(in_chunks(X, 2), in_chunks(y, 2))
    assert 2 <= max(most) <= 5


def test_bounds_on_a_cluster(client, data):
    X, y, _ = data
    bounds = (np.zeros(5), np.full(5, 0.3))
    local = AUCClassifier(bounds=bounds).fit(X, y)
    model = DaskAUCClassifier(bounds=bounds, client=client).fit(in_chunks(X, 2), in_chunks(y, 2))
    close(model.coef_, local.coef_)
    assert model.coef_.min() >= 0
    assert model.to_local().bounds is bounds


def test_closed_form_and_climb_on_a_cluster(client, data):
    X, y, _ = data
    dX, dy = in_chunks(X, 2), in_chunks(y, 2)
    model = DaskAUCRLS().fit(dX, dy)
    close(model.coef_, AUCRLS().fit(X, y).coef_)
    assert model.n_passes_ == 1
    cut = {"fpr": 0.1}
    wanted = AUCRLS(threshold=cut).fit(X, y)
    close(DaskAUCRLS(threshold=cut).fit(dX, dy).intercept_, wanted.intercept_)
    close(DaskRankOpt().fit(dX, dy).coef_, RankOpt().fit(X, y).coef_)


def test_predictions_are_lazy_and_those_of_the_local_model(client, data):
    X, y, _ = data
    dX, dy = in_chunks(X, 4), in_chunks(np.where(y, "yes", "no"), 4)
    model = DaskAUCClassifier(client=client).fit(dX, dy)
    local = model.to_local()
    assert type(local) is AUCClassifier
    assert "client" not in local.get_params()
    for method in ("decision_function", "predict"):
        lazy = getattr(model, method)(dX)
        assert isinstance(lazy, da.Array)
        np.testing.assert_array_equal(lazy.compute(), getattr(local, method)(X))
        np.testing.assert_array_equal(getattr(model, method)(X[:9]), getattr(local, method)(X[:9]))
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(X[:9]), local.predict(X[:9]))
    assert clone(model).client is client


def test_frames_with_unknown_sizes(client, data):
    dd = pytest.importorskip("dask.dataframe")
    pd = pytest.importorskip("pandas")
    X, y, weight = data
    names = [f"x{k}" for k in range(X.shape[1])]
    frame = dd.from_pandas(pd.DataFrame(X, columns=names).assign(y=y, w=weight), npartitions=3)
    frame = frame[frame["x0"] > -3.0]
    there = X[:, 0] > -3.0
    model = DaskAUCClassifier().fit(frame[names], frame["y"], frame["w"])
    close(model.coef_, AUCClassifier().fit(X[there], y[there], weight[there]).coef_)
    assert list(model.feature_names_in_) == names
    scores = model.decision_function(frame[names]).compute()
    np.testing.assert_allclose(scores, X[there] @ model.coef_[0] + model.intercept_[0])
    with pytest.raises(ValueError, match="call compute_chunk_sizes"):
        DaskAUCClassifier().fit(frame[names].to_dask_array(), in_chunks(y[there], 2))


@pytest.mark.parametrize("weighted", [False, True])
def test_the_interval_of_the_area_holds_it_and_narrows_to_it(client, weighted):
    rng = np.random.default_rng(1)
    scores = rng.standard_normal(40_000)
    scores[::3] = scores[::3].round(1)
    y = scores + rng.standard_normal(40_000) > 1
    weight = rng.integers(0, 3, 40_000).astype(float) if weighted else None
    given = [in_chunks(v, 2) for v in (y, scores)]
    given += [] if weight is None else [in_chunks(weight, 2)]
    exact = local_auc(y, scores, weight)
    for width in (1e-3, 0.0):
        found = auc_score(*given, width=width)
        assert found.low - 1e-12 <= exact <= found.high + 1e-12
        assert found.high - found.low <= width
    assert found.area == pytest.approx(exact, abs=1e-12)
    if not weighted:
        assert found.area == exact


def test_cuts_on_a_cluster_are_those_of_the_sorted_scores(client, data):
    X, y, _ = data
    scores = np.round(X @ [1, 0, 0, 1, 0], 2)
    from everypair.dask.engine import DaskBlocks
    from everypair.estimators._block_training import BlockTraining

    blocks = DaskBlocks(client, in_chunks(X, 2), in_chunks(y, 2), None, "it")
    vector = blocks.spread(scores)

    def cut(rule):
        return BlockTraining(AUCClassifier(threshold=rule), blocks, "logistic").cut(vector)

    for rule in ("balanced", "accuracy", "f1", "midpoint"):
        assert cut(rule) == pytest.approx(threshold_for(y, scores, rule), abs=1e-12)
    for rule in ({"fpr": 0.01}, {"recall": 0.9}, {"cost": (1, 5)}, {"top": 0.1}):
        assert cut(rule) == pytest.approx(threshold_for(y, scores, **rule), abs=1e-12)


def test_what_is_wrong_with_a_block_names_it(client, data):
    X, y, _ = data

    def fit(X, y, *weight):
        DaskAUCClassifier(client=client).fit(X, y, *weight)

    broken = X.copy()
    broken[15_000, 1] = np.nan
    with pytest.raises(ValueError, match="Column 1 of block 3 has NaN"):
        fit(in_chunks(broken, 4), in_chunks(y, 4))
    wide = da.map_blocks(
        lambda x, block_info=None: x[:, :3] if block_info[0]["chunk-location"][0] == 2 else x,
        in_chunks(X, 4), dtype=float, chunks=in_chunks(X, 4).chunks,
    )  # fmt: skip
    with pytest.raises(ValueError, match=r"Block \d: X is a sparse csr_array: give dense blocks"):
        fit(in_chunks(X, 4).map_blocks(sparse.csr_array), in_chunks(y, 4))
    with pytest.raises(ValueError, match="Block 2 has 3 columns, but block 0 has 5"):
        fit(wide, in_chunks(y, 4))
    with pytest.raises(ValueError, match="y has 19999 values, but X has 20000"):
        fit(in_chunks(X, 4), in_chunks(y[:-1], 4))
    with pytest.raises(ValueError, match=r"y is a ndarray: give a dask.array"):
        fit(in_chunks(X, 4), y)
    with pytest.raises(ValueError, match="two classes, but y has 1"):
        fit(in_chunks(X, 4), in_chunks(np.zeros(len(y)), 4))
    weight = np.ones(len(y))
    weight[6000] = -2
    with pytest.raises(ValueError, match="Block 1: sample_weight has the negative value -2"):
        fit(in_chunks(X, 4), in_chunks(y, 4), in_chunks(weight, 4))
    with pytest.raises(ValueError, match="width=2"):
        auc_score(in_chunks(y, 2), in_chunks(X[:, 0], 2), width=2)


def test_probabilities_on_a_cluster_are_the_local_ones_and_lazy(client, data):
    X, y, weight = data
    local = AUCClassifier(calibration="sigmoid", cv=2, tol=1e-8).fit(X, y, weight)
    model = DaskAUCClassifier(calibration="sigmoid", cv=2, tol=1e-8, client=client)
    model.fit(*(in_chunks(values, 2) for values in (X, y, weight)))
    close(model.intercept_, local.intercept_, 1e-5)  # the fits of the folds end at a gap of tol
    found = model.predict_proba(in_chunks(X, 2))
    assert isinstance(found, da.Array)
    assert found.shape == (len(y), 2)
    np.testing.assert_allclose(found.compute(), local.predict_proba(X), atol=1e-5)
    frames = pytest.importorskip("dask.dataframe")
    table = frames.from_dask_array(in_chunks(X, 2)).rename(columns=str)
    named = DaskAUCClassifier(calibration="sigmoid", cv=2, tol=1e-8, client=client)
    labels = frames.from_dask_array(in_chunks(y, 2))
    named.fit(table, labels)
    assert list(named.predict_proba(table).columns) == ["0", "1"]
    assert named.predict_proba(table).compute().shape == (len(y), 2)
    with pytest.raises(AttributeError, match="only with a calibration"):
        _ = DaskAUCClassifier(client=client).predict_proba


def test_measure_climbed_on_a_cluster_is_the_local_climb(client, data):
    X, y, _ = data
    settings = {"measure": "tpr_at_fpr", "fpr": 0.1, "saturation": 0.5}
    local = MeasureOpt(**settings).fit(X, y)
    model = DaskMeasureOpt(**settings, client=client).fit(in_chunks(X, 2), in_chunks(y, 2))
    close(model.coef_, local.coef_)
    assert model.train_score_ == pytest.approx(local.train_score_, abs=1e-12)
    assert type(model.to_local()) is MeasureOpt
    np.testing.assert_array_equal(model.to_local().predict(X), model.predict(X))


def test_thresholds_of_scores_on_a_cluster_are_those_of_arrays(client, data):
    X, y, weight = data
    scores = np.round(X @ [1, 0, 0, 1, 0], 2)
    given = [in_chunks(values, 4) for values in (y, scores)]
    for asked in ({"rule": "f1"}, {"fpr": 0.05}, {"recall": 0.8}, {"cost": (1, 3)}):
        wanted = threshold_for(y, scores, **asked, sample_weight=weight)
        found = on_dask.threshold_for(*given, **asked, sample_weight=in_chunks(weight, 4))
        assert found == pytest.approx(wanted, abs=1e-12)
    with pytest.raises(ValueError, match="give one of a rule"):
        on_dask.threshold_for(*given, "f1", fpr=0.1)


def test_intervals_and_gains_on_a_cluster_are_those_of_arrays(client, data):
    X, y, _ = data
    scores = np.round(X @ [1, 0, 0, 1, 0], 2)
    given = [in_chunks(values, 4) for values in (y, scores)]
    wanted = metrics.auc_confidence_interval(y, scores)
    found = on_dask.auc_confidence_interval(*given)
    assert found.auc == pytest.approx(wanted.auc, abs=5e-5)
    assert (found.low, found.high) == pytest.approx((wanted.low, wanted.high), abs=6e-5)
    assert found.se == pytest.approx(wanted.se, rel=1e-4)
    for k in (100, 0.05):
        of_k, exact = on_dask.gain_at_k(*given, k), metrics.gain_at_k(y, scores, k)
        assert (of_k.gain, of_k.low, of_k.lift) == pytest.approx(
            (exact.gain, exact.low, exact.lift)
        )
    curve = on_dask.gain_curve(*given, [0.1, 0.2])
    exact = metrics.gain_curve(y, scores, [0.1, 0.2]).gain
    np.testing.assert_allclose(curve.gain, exact, atol=2e-4)
    with pytest.raises(ValueError, match="k=0 means 0 of 20000 rows"):
        on_dask.gain_at_k(*given, 0)


def test_intervals_and_gains_of_weighted_rows_on_a_cluster(client, data):
    X, y, weight = data
    scores = np.round(X @ [1, 0, 0, 1, 0], 2)
    given, dw = [in_chunks(values, 4) for values in (y, scores)], in_chunks(weight, 4)
    wanted = metrics.auc_confidence_interval(y, scores, sample_weight=weight)
    found = on_dask.auc_confidence_interval(*given, sample_weight=dw)
    assert found.auc == pytest.approx(wanted.auc, abs=5e-5)
    assert (found.low, found.high) == pytest.approx((wanted.low, wanted.high), abs=6e-5)
    assert (found.se, found.df) == pytest.approx((wanted.se, wanted.df), rel=1e-4)
    of_k = on_dask.gain_at_k(*given, 0.05, sample_weight=dw)
    exact = metrics.gain_at_k(y, scores, 0.05, sample_weight=weight)
    assert (of_k.gain, of_k.low, of_k.lift) == pytest.approx((exact.gain, exact.low, exact.lift))
    curve = on_dask.gain_curve(*given, [0.1, 0.2], sample_weight=dw)
    exact = metrics.gain_curve(y, scores, [0.1, 0.2], sample_weight=weight)
    np.testing.assert_allclose(curve.gain, exact.gain, atol=2e-4)
    cut = on_dask.threshold_for(*given, fpr=0.1, sample_weight=dw)
    assert cut == threshold_for(y, scores, fpr=0.1, sample_weight=weight)
    with pytest.raises(ValueError, match="with sample_weight give a share"):
        on_dask.gain_at_k(*given, 100, sample_weight=dw)
