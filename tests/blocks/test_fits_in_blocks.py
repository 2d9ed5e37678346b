"""A fit over blocks is the fit over arrays, whatever the blocks are."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone

import everypair
from everypair import AUCRLS, AUCClassifier, MeasureOpt, RankOpt
from everypair.blocks import ArrayRows, RowBlocks
from everypair.blocks import source as sources
from everypair.blocks.source import Target
from everypair.boosting import AUCBoostingClassifier
from everypair.linalg.block_ranking import area_of
from everypair.metrics import auc_score, threshold_for

SMOOTH = ("logistic", "square", "exponential", "sigmoid")


class InPieces(RowBlocks):
    """Arrays cut at given places; empty pieces are left out, as every source does."""

    def __init__(self, X, y, weight, cuts):
        self.pieces = [
            (X[a:b], y[a:b], None if weight is None else weight[a:b])
            for a, b in zip([0, *cuts], [*cuts, len(y)], strict=True)
        ]
        self.n_features_in_, self.dtype = X.shape[1], X.dtype

    def targets(self):
        for k, (_, y, weight) in enumerate(self.pieces):
            if y.size:
                yield f"piece {k}", Target(y, weight)

    def rows(self, columns=slice(None)):
        for k, (X, _, _) in enumerate(self.pieces):
            if len(X):
                yield f"piece {k}", X[:, columns]


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    n, p = 20_000, 6
    X = rng.standard_normal((n, p)) * np.geomspace(0.3, 3, p) + np.linspace(-3, 5, p)
    signal = X @ rng.standard_normal(p) + 3 * rng.logistic(size=n)
    y = np.where(signal > np.quantile(signal, 0.9), "yes", "no")
    return X, y, rng.uniform(0.0, 2, n).round(1)


def close(found, wanted, share=1e-9):
    scale = np.abs(wanted).max()
    np.testing.assert_allclose(found, wanted, rtol=0, atol=share * scale)


@pytest.mark.parametrize("n_blocks", [1, 2, 5, 17])
@pytest.mark.parametrize("loss", SMOOTH)
def test_any_number_of_blocks_gives_the_fit_in_memory(data, loss, n_blocks):
    X, y, weight = data
    model = AUCClassifier(loss)
    cuts = [len(y) * k // n_blocks for k in range(1, n_blocks)]
    for w in (None, weight) if n_blocks == 5 else (None,):
        local = AUCClassifier(loss).fit(X, y, w)
        blocked = model.fit(InPieces(X, y, w, cuts))
        close(blocked.coef_, local.coef_)
        close(blocked.intercept_, local.intercept_)
        assert blocked.n_iter_ == local.n_iter_
        assert blocked.train_score_ == pytest.approx(local.train_score_, abs=1e-12)
        assert list(blocked.classes_) == ["no", "yes"]
        if loss != "sigmoid":
            assert blocked.dual_gap_ <= 1e-6


@pytest.mark.parametrize("n_blocks", [1, 2, 5, 17])
@pytest.mark.parametrize(
    "model",
    [AUCRLS(), RankOpt(), MeasureOpt("f1"), MeasureOpt("tpr_at_fpr", fpr=0.1, saturation=0.5)],
)
def test_closed_form_and_climbs_in_any_number_of_blocks(data, model, n_blocks):
    X, y, _ = data
    cuts = [len(y) * k // n_blocks for k in range(1, n_blocks)]
    local = clone(model).fit(X, y)
    blocked = clone(model).fit(InPieces(X, y, None, cuts))
    # The steps of a climb enlarge what sums in another order round: 1.5e-9 with AVX-512.
    share = 1e-9 if isinstance(model, AUCRLS) else 3e-9
    close(blocked.coef_, local.coef_, share)
    close(blocked.intercept_, local.intercept_, share)


@pytest.mark.parametrize("penalty", ["l1", "elasticnet"])
@pytest.mark.parametrize("loss", ["logistic", "square", "exponential"])
def test_sparse_penalties_choose_the_same_features(data, loss, penalty):
    X, y, _ = data
    model = AUCClassifier(loss, penalty=penalty, alpha=0.1)
    local = AUCClassifier(loss, penalty=penalty, alpha=0.1).fit(X, y)
    blocked = model.fit(ArrayRows(X, y, block_rows=6000))
    assert 0 < np.count_nonzero(local.coef_) < X.shape[1]
    assert np.array_equal(local.coef_ != 0, blocked.coef_ != 0)
    close(blocked.coef_, local.coef_)
    assert blocked.kkt_residual_ <= 1e-6


@pytest.mark.parametrize("penalty", ["l2", "l1"])
def test_bounds_hold_over_blocks_as_over_arrays(data, penalty):
    X, y, _ = data
    free = AUCClassifier(alpha=0.1).fit(X, y).coef_[0]
    bounds = np.where(free > 0, -np.inf, 0.0), np.full(X.shape[1], 0.8 * free.max())
    settings = {"penalty": penalty, "alpha": 0.1, "bounds": bounds}
    local = AUCClassifier(**settings).fit(X, y)
    blocked = AUCClassifier(**settings).fit(ArrayRows(X, y, block_rows=6000))
    close(blocked.coef_, local.coef_)
    assert np.any(free < 0)
    assert np.all(blocked.coef_ >= np.minimum(bounds[0], 0))
    assert blocked.coef_.max() == bounds[1][0]
    assert blocked.dual_gap_ <= 1e-6


def test_a_constant_column_stays_out_of_a_sparse_fit(data):
    X, y, _ = data
    X = np.column_stack([X, np.full(len(y), 7.3), np.zeros(len(y))])
    blocked = AUCClassifier(penalty="l1", alpha=0.03).fit(ArrayRows(X, y, block_rows=6000))
    close(blocked.coef_, AUCClassifier(penalty="l1", alpha=0.03).fit(X, y).coef_)
    assert not blocked.coef_[0, -2:].any()


HINGE_PENALTIES = [
    {"alpha": 0.01},
    {"penalty": "l1", "alpha": 0.02},
    {"penalty": "elasticnet", "alpha": 0.02},
    {"alpha": 0.01, "bounds": (0, np.inf)},
    {"penalty": "l1", "alpha": 0.02, "bounds": (-0.1, 0.2)},
]


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("setting", HINGE_PENALTIES)
def test_hinges_gather_their_scores(data, loss, setting):
    X, y, weight = (of[::5].copy() for of in data)
    blocks = ArrayRows(X, y, sample_weight=weight, block_rows=1500)
    local = AUCClassifier(loss, tol=1e-8, **setting).fit(X, y, weight)
    blocked = AUCClassifier(loss, tol=1e-8, **setting).fit(blocks)
    np.testing.assert_array_equal(blocked.coef_ == 0, local.coef_ == 0)
    close(blocked.coef_, local.coef_)
    assert blocked.dual_gap_ <= 1e-8


@pytest.mark.parametrize("penalty", ["l2", "l1"])
def test_hinges_need_few_passes_where_boxes_hold_many_rows(data, penalty, monkeypatch):
    X, y, _ = data
    monkeypatch.setattr("everypair.linalg.block_windows.BOX_NUMBERS", 1000)
    settings = {"loss": "squared_hinge", "penalty": penalty, "alpha": 0.01, "tol": 1e-9}
    blocked = AUCClassifier(**settings).fit(ArrayRows(X, y, block_rows=6000))
    local = AUCClassifier(**settings).fit(X, y)
    close(blocked.coef_, local.coef_)
    assert blocked.dual_gap_ <= 1e-9
    assert blocked.n_passes_ <= 40


def test_hinges_are_refused_above_the_stated_memory(data, monkeypatch):
    X, y, _ = data
    monkeypatch.setattr("everypair.blocks.source.MOST_GATHERED_BYTES", 2**20)
    with pytest.raises(ValueError, match=r"scores of all 20000 rows .* use loss='logistic'"):
        AUCClassifier("hinge").fit(ArrayRows(X, y))


@pytest.mark.parametrize("loss", ["logistic", "square", "exponential"])
def test_empty_blocks_and_blocks_of_one_class_change_nothing(data, loss):
    X, y, weight = data
    order = np.argsort(y, kind="stable")
    X, y, weight = X[order], y[order], weight[order]
    weight[:500] = 0.0
    first = int(np.searchsorted(y, "yes"))
    local = AUCClassifier(loss).fit(X, y, weight)
    cuts = [0, 400, 400, 401, first, first, len(y)]
    close(AUCClassifier(loss).fit(InPieces(X, y, weight, cuts)).coef_, local.coef_)


def test_single_precision_columns_far_from_zero_and_huge_ones_keep_their_digits(data):
    X, y, _ = data
    for moved in (X + 1e4, X * 1e-4, X * np.geomspace(1e-3, 1e3, X.shape[1])):
        narrow = np.asfortranarray(moved.astype(np.float32))
        # alpha in proportion, so that each has a solution of its own
        alpha = 1e-3 * float(moved.var())
        local = AUCClassifier(alpha=alpha).fit(np.ascontiguousarray(narrow), y)
        blocked = AUCClassifier(alpha=alpha).fit(ArrayRows(narrow, y, block_rows=7001))
        close(blocked.coef_, local.coef_)


def test_the_logistic_fit_takes_at_most_twelve_passes(data):
    rng = np.random.default_rng(1)
    X = rng.standard_normal((200_000, 20)).astype(np.float32)
    y = X @ rng.standard_normal(20) + 4 * rng.logistic(size=len(X)) > 8
    model = AUCClassifier().fit(ArrayRows(X, y, block_rows=50_000))
    assert model.dual_gap_ <= 1e-6
    assert model.n_passes_ <= 12
    X, y, _ = data
    assert AUCClassifier().fit(ArrayRows(X, y, block_rows=5000)).n_passes_ <= 12


def test_mapped_files_are_the_arrays(data, tmp_path):
    X, y, weight = data
    for name, values in (("X", X), ("y", y == "yes"), ("w", weight)):
        np.save(tmp_path / f"{name}.npy", values)
    paths = (tmp_path / f"{name}.npy" for name in "Xyw")
    model = AUCClassifier().fit(ArrayRows(*paths, block_rows=3000))
    close(model.coef_, AUCClassifier().fit(X, y == "yes", weight).coef_)


def test_predictions_take_blocks_too(data):
    X, y, _ = data
    model = AUCClassifier().fit(X, y)
    blocks = ArrayRows(X, y, block_rows=3000)
    np.testing.assert_array_equal(model.decision_function(blocks), model.decision_function(X))
    np.testing.assert_array_equal(model.predict(blocks), model.predict(X))


def test_warm_starts_go_on_from_blocks(data):
    X, y, _ = data
    model = AUCClassifier(warm_start=True).fit(ArrayRows(X, y))
    first = model.n_passes_
    assert model.fit(ArrayRows(X, y)).n_passes_ < first
    assert not hasattr(model.fit(X, y), "n_passes_")


@pytest.mark.parametrize("weighted", [None, "numbers", "a fold", "one in some blocks"])
def test_ranges_of_scores_have_the_area_and_boxes_the_cuts_of_all(monkeypatch, weighted):
    monkeypatch.setattr("everypair.linalg.block_ranking.RANGE_ROWS", 300)
    rng = np.random.default_rng(3)
    scores = rng.standard_normal(2000).round(2)  # with ties
    y = scores + rng.standard_normal(2000) > 1
    weight = None
    if weighted is not None:
        weight = rng.integers(0, 2 if weighted == "a fold" else 4, 2000).astype(float)
        weight[: 540 if weighted == "one in some blocks" else 0] = 1.0
    engine, _ = ArrayRows(scores[:, None], y, weight, block_rows=270).engine("it")
    vector = engine.spread(scores)
    # Whole numbers are exact in blocks; `auc_score` rounds its weights.
    assert area_of(vector) == pytest.approx(auc_score(y, scores, weight), abs=3e-15)
    from everypair.estimators._block_training import BlockTraining

    rates = [
        {"fpr": 0.1},
        {"fpr": 0.0},
        {"fpr": 1.0},
        {"recall": 0.8},
        {"recall": 1.0},
        {"recall": 0.0},
    ]
    costs = [{"cost": (1, 20)}, {"cost": (1, 0)}, {"cost": (0, 1)}]
    rules = ["balanced", "accuracy", "f1", "midpoint", *rates, *costs, 0.3]
    for rule in rules:
        if isinstance(rule, dict):
            wanted = threshold_for(y, scores, **rule, sample_weight=weight)
        else:
            wanted = rule if rule == 0.3 else threshold_for(y, scores, rule, sample_weight=weight)
        found = BlockTraining(AUCClassifier(threshold=rule), engine, "logistic").cut(vector)
        assert found == pytest.approx(wanted, abs=1e-12), rule


def test_the_area_looks_at_the_scores_sixteen_times_however_many_they_are(monkeypatch):
    monkeypatch.setattr("everypair.linalg.block_ranking.RANGE_ROWS", 10)
    rng = np.random.default_rng(4)
    scores = rng.standard_normal(3000).round(2)
    y = scores + rng.standard_normal(3000) > 1
    engine, _ = ArrayRows(scores[:, None], y, block_rows=270).engine("it")
    jobs, run = [], type(engine).run
    monkeypatch.setattr(type(engine), "run", lambda self, job: jobs.append(job) or run(self, job))
    assert area_of(engine.spread(scores)) == auc_score(y, scores)
    assert len(jobs) == 1 + 16  # a sample, and the ranges


def test_what_is_wrong_with_a_block_is_said_with_its_place(data):
    X, y, weight = data

    def fit(*args, **options):
        AUCClassifier().fit(ArrayRows(*args, block_rows=1000, **options))

    broken = X.copy()
    broken[4321, 2] = np.nan
    with pytest.raises(ValueError, match=r"Column 2 of rows 4000 to 4999 has NaN: fill in"):
        fit(broken, y)
    broken[4321, 2] = np.inf
    with pytest.raises(ValueError, match=r"has an infinite value"):
        fit(broken, y)
    with pytest.raises(ValueError, match=r"of rows 5000 to 5999 has the negative value -1"):
        fit(X, y, np.where(np.arange(len(y)) == 5555, -1.0, weight))
    third = y.astype(object)
    third[7000] = "maybe"
    with pytest.raises(ValueError, match=r"rows 7000 to 7999 the target has a third label"):
        fit(X, third.astype(str))
    with pytest.raises(ValueError, match="only one class"):
        fit(X[:10], np.zeros(10))
    with pytest.raises(ValueError, match="no positive row with weight"):
        fit(X, y, np.where(y == "yes", 0.0, 1.0))
    with pytest.raises(ValueError, match="y was given beside ArrayRows"):
        AUCClassifier().fit(ArrayRows(X, y), y)
    with pytest.raises(ValueError, match="continuous"):
        fit(X[:4], np.array([0.5, 0.1, 0.5, 0.1]))
    with pytest.raises(ValueError, match=r"not a readable .npy"):
        fit("nowhere.npy", y)


def test_reading_ahead_passes_errors_on():
    def items():
        yield 1
        raise OSError("the disk is gone")

    ahead = sources.read_ahead(items)
    assert next(ahead) == 1
    with pytest.raises(OSError, match="the disk is gone"):
        next(ahead)


def test_closed_form_and_climb_over_blocks(data):
    X, y, weight = data
    rows = ArrayRows(X, y, weight, block_rows=3000)
    model = AUCRLS().fit(rows)
    close(model.coef_, AUCRLS().fit(X, y, weight).coef_)
    close(model.intercept_, AUCRLS().fit(X, y, weight).intercept_)
    assert model.n_passes_ == 1
    cut = AUCRLS(threshold="f1").fit(X, y, weight).intercept_
    close(AUCRLS(threshold="f1").fit(rows).intercept_, cut)
    climbed = RankOpt().fit(rows)
    wanted = RankOpt().fit(X, y, weight)
    close(climbed.coef_, wanted.coef_)
    assert climbed.n_passes_ > 0
    broken = X.copy()
    broken[3500, 1] = np.nan
    with pytest.raises(ValueError, match="Column 1 of rows 3000 to 5999 has NaN"):
        AUCRLS().fit(ArrayRows(broken, y, block_rows=3000))
    with pytest.raises(ValueError, match="blocks need kernel='linear'"):
        AUCRLS(kernel="rbf").fit(rows)
    with pytest.raises(ValueError, match="pairs='linear' needs arrays"):
        RankOpt(pairs="linear").fit(rows)


def test_other_estimators_say_that_they_need_arrays():
    X = np.array([[0.0], [1.0], [2.0], [3.0]])
    rows, refused = ArrayRows(X, [0, 1, 0, 1]), []
    for kind in (*(getattr(everypair, name) for name in everypair.__all__), AUCBoostingClassifier):
        if isinstance(kind, type) and not kind._takes_blocks:
            words = rf"{kind.__name__}.fit needs arrays .* use fit of AUCClassifier\(CV\), AUCRLS"
            for given in ((rows,), (rows, [0, 1, 0, 1])):
                with pytest.raises(ValueError, match=words):
                    kind().fit(*given)
            refused.append(kind.__name__)
    assert {"AUCRLSCV", "ROCSVM", "AUCTree", "AUCBoostingClassifier"} < set(refused)
    with pytest.raises(ValueError, match=r"AUCRLS.partial_fit needs arrays .* ArrayRows"):
        AUCRLS().partial_fit(rows)


@pytest.mark.parametrize("most_kept", [1, 3])
def test_a_fit_keeps_no_more_vectors_of_scores_than_it_may(data, monkeypatch, most_kept):
    from everypair.linalg import blocks as engines

    X, y, _ = data
    most, run = [], engines.LocalBlocks.run

    def watched(self, job):
        found = run(self, job)
        most.append(len(self.stored()))
        return found

    assert engines.LocalBlocks.most_kept == 3
    monkeypatch.setattr(engines.LocalBlocks, "most_kept", most_kept)
    monkeypatch.setattr(engines.LocalBlocks, "run", watched)
    model = AUCClassifier(alpha=1e-5, tol=1e-10).fit(ArrayRows(X, y, block_rows=4000))
    assert max(most) == most_kept
    close(model.coef_, AUCClassifier(alpha=1e-5, tol=1e-10).fit(X, y).coef_)


@pytest.mark.parametrize("loss", ["logistic", "sigmoid", "exponential", "square"])
def test_scores_of_a_fit_are_gone_when_it_ends(data, loss):
    """At once: the next fits of a large table need their memory."""
    import gc

    from everypair.blocks.source import EngineRows

    X, y, _ = data
    engine, classes = ArrayRows(X, y, block_rows=4000).engine("it")
    view = engine.for_a_fit()
    gc.collect()
    gc.disable()
    try:
        model = AUCClassifier(loss=loss).fit(EngineRows(view, classes, None))
        assert view.stored() == []
    finally:
        gc.enable()
    assert model.n_passes_ > 0


@pytest.mark.parametrize("loss", ["logistic", "sigmoid", "exponential"])
def test_vectors_made_again_are_those_that_were_forgotten(loss, monkeypatch):
    """Heavy tails and a start at zero: steps are tried more than once, at scores forgotten."""
    from everypair.linalg import blocks as engines

    rng = np.random.default_rng(0)
    X = rng.standard_t(1.5, size=(8000, 12))
    y = X @ rng.standard_normal(12) + rng.logistic(size=8000) > 1
    found = []
    for most in (1, 9):
        monkeypatch.setattr(engines.LocalBlocks, "most_kept", most)
        model = AUCClassifier(loss=loss, alpha=1e-6).fit(ArrayRows(X, y, block_rows=3000))
        found.append((model.coef_, model.train_score_, model.intercept_, model.n_passes_))
    few, many = found
    for ours, wanted in zip(few[:3], many[:3], strict=True):
        np.testing.assert_array_equal(ours, wanted)
    assert many[3] < few[3] <= 1.2 * many[3]


@pytest.mark.parametrize("kind", ["smooth", "ties", "huge", "one edge", "no edge", "equal"])
def test_rows_are_counted_in_the_boxes_that_a_sort_finds(kind):
    from everypair._compiled import count_in_boxes

    rng = np.random.default_rng(6)
    scores = rng.standard_normal(3000)
    if kind == "ties":
        scores = scores.round(1)
    elif kind == "huge":
        scores = np.exp(40 * scores) * np.sign(rng.standard_normal(3000))
        scores[:2] = -1.7e308, 1.7e308  # their distance is not a number
    elif kind == "equal":
        scores[:] = 0.1
    edges = np.unique(rng.choice(scores, {"one edge": 1, "no edge": 0}.get(kind, 200)))
    edges = np.unique(np.concatenate([edges, np.nextafter(edges[:50], np.inf)]))
    positive, weight = rng.random(3000) < 0.3, rng.integers(0, 3, 3000).astype(float)
    low, high = np.quantile(scores, [0.1, 0.95])
    for w in (weight, np.empty(0)):
        counts, ends = np.zeros((2, edges.size + 1)), np.full((2, edges.size + 1), np.nan)
        ends[0], ends[1] = np.inf, -np.inf
        count_in_boxes(scores, positive, w, edges, low, high, counts, *ends)
        there = (scores >= low) & (scores <= high) & ((w > 0) if w.size else True)
        slots = np.searchsorted(edges, scores, side="right")
        for side in (0, 1):
            rows = there & (positive == bool(side))
            of_rows = w[rows] if w.size else None
            wanted = np.bincount(slots[rows], of_rows, edges.size + 1)
            np.testing.assert_array_equal(counts[side], wanted)
        for k in np.unique(slots[there]):
            members = scores[there & (slots == k)]
            assert (ends[0, k], ends[1, k]) == (members.min(), members.max())
