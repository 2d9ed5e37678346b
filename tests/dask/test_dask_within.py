"""Pairs inside groups on a cluster: the answer is the local one."""

from __future__ import annotations

import numpy as np
import pytest

from everypair import AUCRLS, AUCClassifier, MeasureOpt, RankOpt
from everypair.metrics import precision_at_k

da = pytest.importorskip("dask.array")

from dask import compute, delayed  # noqa: E402

from everypair.dask import (  # noqa: E402
    DaskAUCClassifier,
    DaskAUCRLS,
    DaskMeasureOpt,
    DaskRankOpt,
    auc_score,
    engine,
)
from everypair.dask.held_rows import placed, whole_groups  # noqa: E402
from everypair.linalg.block_folds import FoldsOfGroups  # noqa: E402
from everypair.linalg.block_shard import Shard, Shares  # noqa: E402
from everypair.linalg.blocks import Blocks  # noqa: E402


@pytest.fixture(scope="module")
def grouped():
    """Groups of 1 to 40 rows whose rows lie anywhere; a column that misleads between groups."""
    rng = np.random.default_rng(0)
    n_groups = 150
    within = rng.permutation(np.repeat(np.arange(n_groups), rng.integers(1, 41, n_groups)))
    level, own = 2 * rng.standard_normal(n_groups)[within], rng.standard_normal(within.size)
    X = np.column_stack([own - level, rng.standard_normal((within.size, 3)) + 5, level])
    y = (1.5 * own + level + X[:, 1] + rng.logistic(size=within.size) > 5.5).astype(int)
    weight = rng.uniform(0, 2, within.size).round(1)
    return X, y, weight, np.array([f"user {k}" for k in range(n_groups)])[within]


def in_blocks(values, rows=1600):
    """Two blocks, one for each worker: a task costs more than what it computes here."""
    return da.from_array(values, chunks=(rows, *values.shape[1:]))


def both(model, client, grouped, rows=1600, **options):
    """The fit on the cluster and the local one."""
    X, y, weight, within = grouped
    local = model._local(**options).fit(X, y, weight, within=within)
    blocks = [in_blocks(values, rows) for values in grouped]
    there = model(**options, client=client).fit(*blocks[:3], within=blocks[3])
    return there, local


@pytest.mark.parametrize(
    ("loss", "rule"),
    [
        ("logistic", "pairs"),
        pytest.param("logistic", "rows", marks=pytest.mark.slow),
        ("square", "equal"),
        pytest.param("exponential", "rows", marks=pytest.mark.slow),
    ],
)
def test_the_solution_is_the_local_one(client, grouped, loss, rule):
    there, local = both(
        DaskAUCClassifier, client, grouped, 1100,
        loss=loss, alpha=0.01, within_weight=rule, tol=1e-12,
    )  # fmt: skip
    assert there.objective_ == pytest.approx(local.objective_, rel=1e-10)
    np.testing.assert_allclose(there.coef_, local.coef_, atol=1e-9 * np.abs(local.coef_).max())
    assert there.train_score_ == pytest.approx(local.train_score_, abs=1e-9)
    assert there.n_groups_without_pairs_ == local.n_groups_without_pairs_ > 0
    np.testing.assert_allclose(there.intercept_, local.intercept_, atol=1e-6)
    if rule != "pairs":
        return
    everywhere = DaskAUCClassifier(loss, alpha=0.01, client=client)
    everywhere.fit(*(in_blocks(values) for values in grouped[:3]))
    assert np.abs(everywhere.coef_ - there.coef_).max() > 0.1


@pytest.mark.parametrize(
    "options",
    [
        {"penalty": "l1", "alpha": 0.02},
        pytest.param({"penalty": "elasticnet", "alpha": 0.02}, marks=pytest.mark.slow),
        pytest.param({"loss": "sigmoid", "alpha": 1e-3}, marks=pytest.mark.slow),
        pytest.param(
            {"loss": "hinge", "alpha": 0.05, "solver": "newton-cg"}, marks=pytest.mark.slow
        ),
        pytest.param(
            {"loss": "squared_hinge", "alpha": 0.05, "solver": "newton-cg"}, marks=pytest.mark.slow
        ),
        pytest.param(
            {"loss": "squared_hinge", "penalty": "l1", "alpha": 0.02}, marks=pytest.mark.slow
        ),
    ],
    ids=str,
)
def test_other_penalties_and_losses_take_the_same_steps(client, grouped, options):
    """Too few rows for a first solve on a sample, which holds other groups on a cluster."""
    there, local = both(DaskAUCClassifier, client, grouped, **options)
    assert there.n_iter_ == local.n_iter_
    assert there.objective_ == pytest.approx(local.objective_, rel=1e-12)
    np.testing.assert_allclose(there.coef_, local.coef_, atol=1e-10 * np.abs(local.coef_).max())
    assert abs(there.coef_[0, 4]) < 1e-9  # the level of a group, which no pair sees


def test_a_hinge_has_the_local_minimum(client, grouped):
    """Its steps are by products with X there, by the Hessian here."""
    there, local = both(
        DaskAUCClassifier, client, grouped, loss="squared_hinge", alpha=0.05, tol=1e-12
    )
    assert there.objective_ == pytest.approx(local.objective_, rel=1e-12)
    np.testing.assert_allclose(there.coef_, local.coef_, atol=1e-9 * np.abs(local.coef_).max())


@pytest.mark.parametrize("rule", ["pairs", pytest.param("equal", marks=pytest.mark.slow)])
def test_the_closed_form_and_the_climb_are_the_local_ones(client, grouped, rule):
    there, local = both(DaskAUCRLS, client, grouped, alpha=0.01, within_weight=rule)
    assert there.objective_ == pytest.approx(local.objective_, rel=1e-10)
    np.testing.assert_allclose(there.coef_, local.coef_, atol=1e-9 * np.abs(local.coef_).max())
    with pytest.raises(ValueError, match="do not add up over"):
        there.to_local().partial_fit(*grouped[:2])
    there, local = both(DaskRankOpt, client, grouped, saturation=0.5, within_weight=rule)
    assert there.train_score_ == pytest.approx(local.train_score_, abs=1e-3)


def test_the_best_of_each_group_are_climbed(client, grouped):
    X, y, _, within = grouped
    options = {"measure": "precision_at_k", "k": 3}
    local = MeasureOpt(**options).fit(X, y, within=within)
    blocks = [in_blocks(values) for values in grouped]
    there = DaskMeasureOpt(**options, client=client).fit(*blocks[:2], within=blocks[3])
    scores = X @ there.coef_[0]
    assert there.train_score_ == pytest.approx(precision_at_k(y, scores, 3, within=within))
    assert there.train_score_ == pytest.approx(local.train_score_, abs=0.01)
    assert there.start_score_ == pytest.approx(local.start_score_, abs=0.01)
    assert there.n_groups_without_pairs_ == local.n_groups_without_pairs_


def test_cuts_and_probabilities_come_from_folds_of_whole_groups(client, grouped):
    blocks = [in_blocks(values) for values in grouped]
    model = DaskAUCClassifier(alpha=0.01, threshold="f1", calibration="sigmoid", cv=2)
    model.set_params(client=client).fit(*blocks[:3], within=blocks[3])
    probability = model.to_local().predict_proba(grouped[0])[:, 1]
    assert np.all((probability > 0) & (probability < 1))


def test_the_area_inside_groups_is_exact(client, grouped):
    from everypair.metrics import auc_score as local_score

    X, y, weight, within = grouped
    dX, dy, dw, dg = (in_blocks(values) for values in grouped)
    found = auc_score(dy, dX[:, 0], dw, within=dg, client=client)
    expected = local_score(y, X[:, 0], sample_weight=weight, within=within)
    assert found.area == found.low == found.high == pytest.approx(expected, abs=1e-12)


def test_wrong_groups_are_told(client, grouped):
    X, y, _, within = grouped
    dX, dy, dg = in_blocks(X), in_blocks(y), in_blocks(within)
    model = DaskAUCClassifier(client=client)
    with pytest.raises(ValueError, match="within has 100 values"):
        model.fit(dX, dy, within=dg[:100])
    with pytest.raises(ValueError, match="give a dask"):
        model.fit(dX, dy, within=within)
    missing = np.where(np.arange(y.size) == 7, np.nan, 1.0)
    with pytest.raises(ValueError, match="within"):
        model.fit(dX, dy, within=in_blocks(missing))
    alone = in_blocks(np.arange(y.size))
    with pytest.raises(ValueError, match="groups has a pair"):
        model.fit(dX, dy, within=alone)
    with pytest.raises(ValueError, match="groups needs arrays"):
        model.fit(dX, dy, groups=dg)
    for local in (AUCClassifier(), AUCRLS(), RankOpt(), MeasureOpt()):
        from everypair.blocks import ArrayRows

        with pytest.raises(ValueError, match="within needs arrays"):
            local.fit(ArrayRows(X, y), within=within)


def test_an_empty_block_is_skipped(client, grouped):
    X, y, _, within = grouped
    given = [
        da.from_array(values[:900], chunks=((500, 0, 400), *values.shape[1:]))
        for values in (X, y, within)
    ]
    model = DaskAUCClassifier(alpha=0.01, client=client).fit(given[0], given[1], within=given[2])
    wanted = AUCClassifier(alpha=0.01).fit(X[:900], y[:900], within=within[:900])
    np.testing.assert_allclose(model.coef_, wanted.coef_, rtol=1e-5, atol=1e-8)
    assert model.classes_.tolist() == [0, 1]


def test_the_type_of_an_empty_block_does_not_matter():
    nothing = np.empty(0, dtype=object)
    groups = 2**53 + np.array([0, 1, 1, 0])
    pieces = [
        placed(0, 1, np.ones((4, 1)), np.array([0, 1, 0, 1]), groups),
        placed(1, 1, np.ones((0, 1)), nothing, nothing),
        placed(2, 1, np.ones((0, 1)), nothing, np.empty(0)),
    ]
    block = whole_groups(0, *pieces)
    assert block.y.tolist() == [0, 1, 1, 0]
    assert block.groups.tolist() == [0, 0, 1, 1]
    with pytest.raises(ValueError, match="within has 4 values for 0 rows"):
        placed(1, 1, np.ones((0, 1)), nothing, groups)


@pytest.mark.parametrize("n_blocks", [2, 5, 9, 17])
def test_many_blocks_bring_groups_together_in_two_steps(n_blocks, monkeypatch):
    rng = np.random.default_rng(n_blocks)
    rows = rng.standard_normal((200, 2)), rng.integers(0, 2, 200), rng.random(200)
    ends = np.sort(rng.integers(0, 201, n_blocks - 1))  # some blocks are empty
    parts = list(
        zip(*(np.split(of, ends) for of in (*rows, rng.integers(0, 30, 200))), strict=True)
    )

    def blocks():
        found = engine._brought_together(parts)
        assert len(found) == n_blocks
        tasks = [delayed(whole_groups)(k, *some) for k, some in enumerate(found)]
        n_tasks = len({key for task in tasks for key in task.dask})
        return n_tasks, compute(*tasks, scheduler="sync")

    monkeypatch.setattr(engine, "DIRECT_BLOCKS", n_blocks)
    directly, wanted = blocks()
    monkeypatch.setattr(engine, "DIRECT_BLOCKS", 1)
    in_two_steps, found = blocks()
    for one, other in zip(wanted, found, strict=True):
        for first, second in zip(one, other, strict=True):
            np.testing.assert_array_equal(first, second)
    assert sum(len(block.y) for block in found) == 200
    if n_blocks == 17:
        assert in_two_steps < directly


@pytest.mark.parametrize("rows", [10, 30])
def test_whole_groups_are_dealt_to_the_folds_in_turn(rows):
    class InBlocks(Blocks):
        def run(self, job):
            return [part for shard in shards for part in job.work(shard)]

    positive = np.arange(rows) % 2 == 0
    codes = np.arange(rows) // 10  # groups of 10 rows
    shards = [
        Shard("", rows * k, positive, None, Shares(1, 1), groups=codes.astype(np.intp))
        for k in range(8)
    ]
    folds = FoldsOfGroups.over(InBlocks(), 5)
    found = np.concatenate([folds.of(shard)[::10] for shard in shards])
    np.testing.assert_array_equal(found, np.arange(found.size) % 5)


@pytest.mark.slow
def test_few_groups_in_blocks_of_their_size_are_calibrated(client):
    rng = np.random.default_rng(1)
    X = rng.standard_normal((800, 2))
    y = (X[:, 0] + rng.logistic(size=800) > 0).astype(int)
    blocks = [in_blocks(values, 100) for values in (X, y, np.repeat(np.arange(8), 100))]
    model = DaskAUCClassifier(alpha=0.01, calibration="isotonic", cv=2, client=client)
    model.fit(*blocks[:2], within=blocks[2])
    assert np.ptp(model.to_local().predict_proba(X)[:, 1]) > 0.3


@pytest.mark.parametrize("rule", ["pairs", "rows", "equal"])
@pytest.mark.parametrize("scale", [1e160, 1e-165])
def test_weights_of_any_size_have_an_area_inside_groups(client, grouped, scale, rule):
    from everypair.metrics import auc_score as local_score

    X, y, weight, within = grouped
    blocks = [in_blocks(values) for values in (y, X[:, 0], scale * weight, within)]
    found = auc_score(*blocks[:3], within=blocks[3], within_weight=rule, client=client)
    options = {"sample_weight": weight, "within": within, "within_weight": rule}
    assert found.area == pytest.approx(local_score(y, X[:, 0], **options), abs=1e-12)


@pytest.mark.parametrize("missing", [None, np.nan])
def test_a_missing_label_is_told_with_its_block(client, missing):
    y = np.array(["a", "b"] * 10, dtype=object)
    y[15] = missing
    X, within = in_blocks(np.ones((20, 1)), 10), in_blocks(np.arange(20) // 4, 10)
    for more in ({}, {"within": within}):
        with pytest.raises(ValueError, match="Block 1: y has NaN or None: leave out the rows"):
            DaskAUCClassifier(client=client).fit(X, in_blocks(y, 10), **more)
