"""Models judged by a measure: cuts from other folds, a paired bootstrap, the verdict on it."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("pyarrow")

from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import f1_score

from everypair.app.comparison.by_measure import difference, judge
from everypair.app.comparison.models import (
    CANDIDATES,
    Candidate,
    candidates_of,
    catalogue,
    measure_opt,
)
from everypair.app.comparison.own_cut import own_cut
from everypair.app.comparison.recommend import recommendation
from everypair.app.comparison.refits import Refits
from everypair.app.comparison.run import compare_methods, n_steps
from everypair.app.comparison.search import fit_candidate, splits_of
from everypair.app.comparison.typed_measure import parse_measure
from everypair.app.comparison.yardstick import ByMeasure
from everypair.metrics import threshold_for
from everypair.rows import Rows


def far_out(n_rows, seed):
    """A third of the positives lies far out in one feature, where the others are below average."""
    rng = np.random.default_rng(seed)
    y = rng.random(n_rows) < 0.15
    far = y & (rng.random(n_rows) < 0.35)
    one = rng.normal(size=n_rows) + y
    two = np.where(far, rng.normal(3.2, 0.5, n_rows), rng.normal(size=n_rows) - 1.2 * (y & ~far))
    return np.column_stack([one, two]), y


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4))
    return X, X[:, 0] - 0.5 * X[:, 1] + rng.logistic(size=300) > 1.5


@pytest.fixture(scope="module")
def scores(data):
    X, y = data
    rng = np.random.default_rng(1)
    splits = [splits_of(y, None, 3, seed) for seed in (0, 1)]
    return splits, {
        name: [X[:, 0] + spread * rng.normal(size=y.size) for _ in splits]
        for name, spread in (("good", 0.5), ("bad", 3.0))
    }


@pytest.mark.slow
@pytest.mark.usefixtures("whole_searches")
def test_the_verdict_is_on_the_measure_where_it_and_the_auc_disagree():
    X, y = far_out(1500, 0)
    models = ["measure-opt", "rankopt", "logistic"]
    options = {"models": models, "n_folds": 4, "n_repeats": 1}
    found = compare_methods(X, y, measure="recall@fpr=0.02", **options)
    by_name = {model.name: model for model in found.models}
    ours, base = by_name["measure-opt"], by_name["logistic"]
    assert ours.value > base.value + 0.1
    assert ours.auc < base.auc - 0.1
    assert found.models[0] is ours
    assert found.verdict.startswith(
        "measure-opt is better than the best baseline, logistic: recall at 2% false positives"
    )
    assert f"interval of the difference {ours.difference_low:+.3f}" in found.verdict
    assert found.recommended == "measure-opt"
    assert "the best mean recall@fpr=0.02 over the folds" in recommendation(found)
    assert ours.value_low < ours.value < ours.value_high
    assert 0 < ours.difference_low < ours.difference < ours.difference_high
    assert ours.difference == pytest.approx(ours.value - base.value)


def test_by_auc_the_same_table_has_another_winner():
    X, y = far_out(500, 0)
    found = compare_methods(X, y, models=["rankopt", "logistic"], n_folds=2, n_repeats=1)
    assert found.measure is None
    assert all(model.value is None for model in found.models)
    assert "AUC" in found.verdict


@pytest.mark.parametrize(
    "typed", ["cost=1:5", pytest.param("fpr@recall=0.8", marks=pytest.mark.slow)]
)
def test_where_lower_is_better_the_lowest_comes_first(data, typed):
    X, y = data
    found = compare_methods(
        X, y, models=["auc-rls", "logistic"], n_folds=3, n_repeats=1, measure=typed
    )
    values = [model.value for model in found.models]
    assert values == sorted(values)
    assert min(values) > 0
    for model in found.models:
        assert model.value_low <= model.value <= model.value_high
        if model.difference is not None:
            assert model.difference_low <= model.difference <= model.difference_high
    gap = next(m for m in found.models if m.kind == "everypair").difference
    if abs(gap) > 1e-12:
        assert ("better than it" if gap < 0 else "worse than it") in found.verdict


def test_the_cut_of_a_fold_comes_from_the_other_folds(data, scores):
    """By hand: the best F1 of the rows outside a fold cuts the rows inside."""
    _, y = data
    splits, by_model = scores
    found = judge(parse_measure("f1").of(Rows.of(y)), y, splits, by_model)["good"]
    values = []
    for repeat, folds in enumerate(splits):
        called = np.zeros(y.size, dtype=bool)
        for train, test in folds:
            s = by_model["good"][repeat]
            called[test] = s[test] > threshold_for(y[train], s[train], "f1")
        values.append(f1_score(y, called))
        if repeat == 0:
            np.testing.assert_array_equal(found.called, called)
            first = [f1_score(y[test], called[test]) for _, test in folds]
            np.testing.assert_allclose(found.by_fold[:3], first)
    assert found.value == pytest.approx(np.mean(values))


@pytest.mark.parametrize("typed", ["f1", "recall@fpr=0.1", "precision@top=5%", "average-precision"])
def test_models_are_drawn_together(data, scores, typed):
    """The same samples for both: a model has no difference to itself, and a clear one to noise."""
    _, y = data
    splits, by_model = scores
    both = {**by_model, "same": by_model["good"]}
    found = judge(parse_measure(typed).of(Rows.of(y)), y, splits, both)
    same = difference(found["same"], found["good"], 2, int(y.sum()))
    assert (same.difference, same.low, same.high, same.p) == (0, 0, 0, 1)
    other = difference(found["good"], found["bad"], 2, int(y.sum()))
    back = difference(found["bad"], found["good"], 2, int(y.sum()))
    assert other.difference == -back.difference
    assert other.p == back.p
    assert (other.low > 0) == (other.p < 0.05)
    low, high = found["good"].interval()
    assert low <= found["good"].value <= high


def test_a_value_without_spread_has_no_interval_and_a_difference_is_never_certain(data, scores):
    """A perfect model and its reverse, whose recall is 1 and 0 in every sample."""
    _, y = data
    splits = scores[0][:1]
    perfect = y + np.linspace(0, 0.1, y.size)
    found = judge(
        parse_measure("recall@fpr=0.1").of(Rows.of(y)), y, splits,
        {"best": [perfect], "worst": [-perfect]},
    )  # fmt: skip
    assert [found[name].value for name in ("best", "worst")] == [1, 0]
    assert np.isnan(found["best"].interval()).all()
    gap = difference(found["best"], found["worst"], 1, int(y.sum()))
    assert gap.difference == 1
    assert 0 < gap.p < 1e-6
    assert gap.low < 1 < gap.high


def test_a_perfect_model_is_compared_and_written(tmp_path):
    from everypair.app.report import write_report

    y = np.arange(120) % 4 == 0
    X = np.column_stack([y + np.linspace(0, 0.1, 120), np.cos(np.arange(120.0))])
    found = compare_methods(
        X, y, models=["auc", "logistic"], n_folds=3, n_repeats=1, measure="recall@fpr=0.2"
    )
    assert [model.value for model in found.models] == [1, 1]
    assert "ties with it" in found.verdict
    page = write_report(found, tmp_path / "r.html").read_text()
    assert "nan" not in page.split("<script")[0].lower()


@pytest.mark.usefixtures("whole_searches")
def test_groups_are_drawn_whole(data, scores):
    """Two copies of every row, as groups, say no more than the rows once."""
    _, y = data
    splits, by_model = scores
    once = judge(parse_measure("f1").of(Rows.of(y)), y, splits[:1], {"m": by_model["good"][:1]})[
        "m"
    ]
    twice = [[(np.append(a, a + y.size), np.append(b, b + y.size)) for a, b in splits[0]]]
    doubled = {"m": [np.tile(by_model["good"][0], 2)]}
    y2, groups = np.tile(y, 2), np.tile(np.arange(y.size), 2)
    measure = parse_measure("f1").of(Rows.of(y2))
    apart = judge(measure, y2, twice, doubled)["m"].drawn.std()
    whole = judge(measure, y2, twice, doubled, groups=groups)["m"].drawn.std()
    assert whole == pytest.approx(once.drawn.std(), rel=0.25)
    assert apart < 0.85 * whole


def test_rows_of_weight_zero_and_whole_weights_count_as_they_should(data):
    X, y = data
    options = {"models": ["logistic"], "n_folds": 3, "n_repeats": 1, "measure": "f1"}
    plain = compare_methods(X, y, **options).models[0]
    ones = compare_methods(X, y, sample_weight=np.ones(y.size), **options).models[0]
    assert plain.value == pytest.approx(ones.value)
    weight = np.where(np.arange(y.size) % 7 == 0, 0.0, 2.0)
    some = compare_methods(X, y, sample_weight=weight, **options).models[0]
    assert some.failure is None
    assert 0 < some.value < 1


def test_measure_opt_is_a_model_only_where_there_is_a_measure():
    measure = parse_measure("f1")
    assert "measure-opt" not in catalogue()
    assert list(catalogue(measure)) == ["measure-opt", *CANDIDATES]
    assert "measure-opt" in [c.name for c in candidates_of(["everypair"], measure)]
    with pytest.raises(ValueError, match="measure-opt needs a measure, such as --measure f1"):
        candidates_of(["measure-opt"])
    calls = []
    X, y = far_out(200, 1)
    names = ["measure-opt", "logistic"]
    found = compare_methods(
        X, y, models=names, n_folds=3, n_repeats=1, measure="f1", progress=calls.append
    )
    assert len(calls) == n_steps(names, 3, 1, "f1")
    assert [model.failure for model in found.models] == [None, None]


def test_a_count_of_rows_is_one_of_the_whole_table(data):
    X, y = data
    options = {"models": ["auc-rls", "logistic"], "n_folds": 2, "n_repeats": 1}
    count = compare_methods(X, y, measure="precision@top=30", **options)
    share = compare_methods(X, y, measure="precision@top=10%", **options)
    assert [m.value for m in count.models] == [m.value for m in share.models]
    with pytest.raises(ValueError, match=r"more rows than there are \(300\)"):
        compare_methods(X, y, measure="precision@top=301", **options)


def test_a_measure_that_rests_on_few_rows_says_so(data):
    X, y = data
    found = compare_methods(
        X, y, models=["logistic"], n_folds=3, n_repeats=1, measure="recall@fpr=0.01"
    )
    assert any("only about 2." in note and "recall@fpr=0.01" in note for note in found.notes)


@pytest.mark.parametrize("seed", [0, 3])
def test_measure_opt_at_the_settings_of_its_search_is_the_same_model(seed):
    """A climb with seed 0; the start itself with seed 3, on a table that one line separates."""
    X, y = far_out(900, 0) if seed == 0 else (np.random.default_rng(3).normal(size=(300, 3)), None)
    y = X[:, 0] + np.random.default_rng(4).logistic(size=300) > 1 if y is None else y
    candidate = measure_opt(parse_measure("recall@fpr=0.05" if seed == 0 else "f1"))
    searched = fit_candidate(candidate, X, y, seed=seed)
    assert candidate.knows(searched.settings)
    assert (searched.settings["saturation"] != "none") == (seed == 0)
    again = fit_candidate(candidate, X, y, seed=seed, settings=searched.settings)
    np.testing.assert_allclose(again.scores(X), searched.scores(X), rtol=1e-2, atol=1e-2)
    assert again.settings == searched.settings
    for strange in ({}, {"alpha": 1}, {"alpha": 0, "saturation": "0.5"},
                    {"alpha": 1, "saturation": "1.0"}, {"alpha": "1", "saturation": "0.5"},
                    {"alpha": 1, "saturation": 0.5}, {"alpha": 1, "saturation": ""}):  # fmt: skip
        assert not candidate.knows(strange)


@pytest.mark.parametrize("name", ["logistic", "boosting", "auc-l1"])
def test_a_model_of_any_kind_is_cut_for_the_measure(data, name):
    """On new rows its F1 is near the best there, where its own cut at zero may be far from it."""
    X, y = data
    rng = np.random.default_rng(9)
    new = rng.normal(size=(4000, 4))
    truth = new[:, 0] - 0.5 * new[:, 1] + rng.logistic(size=4000) > 1.5
    fitted = fit_candidate(CANDIDATES[name], X, y)
    found = own_cut(
        parse_measure("f1"),
        Refits.of(CANDIDATES[name], fitted, X, y, None, None, 0),
        y,
        None,
        None,
        0,
    )
    assert found.low <= found.value <= found.high
    scores = fitted.scores(new)
    best = f1_score(truth, scores > threshold_for(truth, scores, "f1"))
    assert f1_score(truth, scores > found.cut) > best - 0.05


def test_models_that_disagree_widen_the_interval(data):
    """Scores of the other folds' models: the same, and of nothing but noise."""
    X, y = data
    rng = np.random.default_rng(2)
    splits = [splits_of(y, None, 3, 0)]
    scores = {"m": [X[:, 0] + rng.normal(size=y.size)]}
    exact = parse_measure("f1").of(Rows.of(y))
    alike = judge(exact, y, splits, scores, seen=scores)["m"]
    assert alike.kappa == pytest.approx(0, abs=1e-9)
    apart = judge(exact, y, splits, scores, seen={"m": [rng.normal(size=y.size)]})["m"]
    assert 0.3 < apart.kappa <= 1 + 0.3 / 4
    by_area = judge(exact, y, splits, scores, seen=scores, kappas={"m": 0.5})["m"]
    assert by_area.kappa == 0.5
    for wider in (apart, by_area):
        for end, other in zip(alike.interval(), wider.interval(), strict=True):
            assert other - alike.value == pytest.approx(
                np.sqrt(1 + wider.kappa) * (end - alike.value)
            )


@pytest.mark.parametrize(
    ("typed", "bounds"),
    [("f1", (0, 1)), ("mcc", (-1, 1)), ("cost=1:5", (-5, 0)), ("recall@fpr=0.1", (0, 1)),
     ("fpr@recall=0.9", (-1, 0))],
)  # fmt: skip
def test_no_interval_leaves_the_range_of_its_measure(typed, bounds):
    rng = np.random.default_rng(0)
    y = np.arange(60) % 2 == 0
    scores = [1.5 * y + rng.normal(size=60)]
    exact = parse_measure(typed).of(Rows.of(y))
    found = judge(exact, y, [splits_of(y, None, 3, 0)], {"m": scores}, kappas={"m": 50.0})["m"]
    low, high = found.interval()
    assert bounds[0] <= low < found.value < high <= bounds[1]


class OneColumn(ClassifierMixin, BaseEstimator):
    """Ranks by one column: the simplest model with a setting."""

    def __init__(self, column):
        self.column = column

    def fit(self, X, y):
        self.classes_ = np.array([False, True])
        return self

    def decision_function(self, X):
        return X[:, self.column]


def two_tastes(n_rows=600):
    """The AUC of column 0 is higher; column 1 has half the positives above every negative."""
    rng = np.random.default_rng(2)
    y = np.arange(n_rows) % 5 == 0
    first = rng.normal(size=n_rows) + 1.5 * y
    second = np.where(y & (np.arange(n_rows) % 10 == 0), 4.0, rng.normal(size=n_rows).clip(-2, 2))
    return np.column_stack([first, second]), y


ONE_COLUMN = Candidate("one", "baseline", "linear", "", OneColumn, {"column": (0, 1)})


@pytest.mark.parametrize("typed", ["recall@fpr=0.01", "f1", "precision@top=30"])
def test_settings_are_searched_by_the_measure_asked_for(typed):
    X, y = two_tastes()
    by = ByMeasure.of(parse_measure(typed), Rows.of(y))
    assert fit_candidate(ONE_COLUMN, X, y).settings == {"column": 0}
    assert fit_candidate(ONE_COLUMN, X, y, by=by).settings == {"column": 1}
    options = {"models": ["auc", "logistic"], "n_folds": 2, "n_repeats": 1}
    found = compare_methods(X[:200], y[:200], measure=typed, **options)
    assert not any("by AUC" in note for note in found.notes)


def test_the_cut_of_a_search_comes_from_the_other_folds():
    X, y = two_tastes()
    folds = splits_of(y, None, 3, 0)
    by = ByMeasure.of(parse_measure("f1"), Rows.of(y))
    called = np.zeros(y.size, bool)
    for _, test in folds:
        apart = np.setdiff1d(np.arange(y.size), test)
        cut = by.measure.of(Rows.of(y)).best_cut(Rows.of(y[apart]), X[apart, 0])
        called[test] = X[test, 0] > cut
    value = by.over_folds(y, None, folds, [0.0] * 3, [X[test, 0] for _, test in folds])
    assert value == pytest.approx(f1_score(y, called))


def test_a_sample_with_more_positives_is_weighted_to_the_share_of_all_rows():
    X, y = two_tastes(3000)
    rare = np.flatnonzero(~y | (np.arange(y.size) % 50 == 0))  # positives: one in eleven
    by = ByMeasure.of(parse_measure("precision@recall=0.5"), Rows.of(y[rare]))
    whole = np.arange(y.size)
    odds = [(np.setdiff1d(whole, fold), fold) for fold in (whole,)]
    sampled = by.over_folds(y, None, odds, [0.0], [X[:, 0]])
    weight = np.where(y, y[rare].sum() / y.sum(), 1.0)
    exact = by.measure.of(Rows.of(y, weight)).value(Rows.of(y, weight), X[:, 0])
    assert sampled == pytest.approx(exact)
    assert sampled < 0.8 * by.measure.of(Rows.of(y)).value(Rows.of(y), X[:, 0])


@pytest.mark.parametrize("name", ["auc-l1", "auc-rls", "rankopt"])
def test_a_model_that_searches_by_auc_says_so(name, data):
    X, y = data
    said = "chooses its settings by AUC, not by the measure"
    by = ByMeasure.of(parse_measure("f1"), Rows.of(y))
    assert fit_candidate(CANDIDATES[name], X, y, by=by).remarks == [said]
    assert fit_candidate(CANDIDATES[name], X, y).remarks == []
