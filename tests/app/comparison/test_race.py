"""`fit --method auto`: everything that compare tries, the simplest of the best, little work."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest
from sklearn.metrics import f1_score, roc_curve

pytest.importorskip("pyarrow")

from everypair.app.comparison import race as choosing
from everypair.app.comparison.budget import Budget
from everypair.app.comparison.candidate import COMPLEXITY, Candidate
from everypair.app.comparison.models import CANDIDATES, FAST, catalogue
from everypair.app.comparison.race import choose
from everypair.app.comparison.recommend import recommended
from everypair.app.comparison.search import Tried, fit_candidate, inner_splits, values_of_fold
from everypair.app.comparison.typed_measure import parse_measure
from everypair.app.comparison.yardstick import ByMeasure
from everypair.metrics import auc_score
from everypair.rows import Rows

FOLDS = np.array([0.0, 0.01, -0.01])


def rows(n, rule, seed=0, p=3):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    return X, rule(X) + 0.3 * rng.logistic(size=n) > 0


@pytest.mark.parametrize(
    ("rule", "forms"),
    [
        pytest.param(
            lambda X: X[:, 0] - 0.5 * X[:, 1], {"few features", "linear"}, marks=pytest.mark.slow
        ),
        (lambda X: 3 * X[:, 0] * X[:, 1], {"kernel", "trees"}),
        pytest.param(
            lambda X: 4 * ((X > 0).sum(axis=1) - 2) + 4 * (abs(X[:, 0]) < 0.7),
            {"additive", "trees"},
            marks=pytest.mark.slow,
        ),
    ],
    ids=["a sum", "a product", "steps"],
)
def test_the_form_of_the_data_is_found(rule, forms):
    X, y = rows(600, rule)
    found = choose(list(CANDIDATES.values()), X, y)
    assert found.candidate.form in forms


def test_every_candidate_runs_and_a_simpler_one_wins_a_tie():
    X, y = rows(240, lambda X: X[:, 0])
    begun = []
    found = choose(list(CANDIDATES.values()), X, y, notify=begun.append)
    assert all(areas.size == 3 for areas in found.fold_values.values())
    forms = [CANDIDATES[name].form for name in found.fold_values]
    assert max(map(forms.count, forms)) == 2  # the best of each form after the first fold
    assert found.candidate.name == recommended(found.fold_values)
    assert COMPLEXITY[found.candidate.form] <= 1
    assert [line.split(", ")[1] for line in begun[: len(CANDIDATES)]] == list(CANDIDATES)


def test_recommended_is_the_simplest_within_one_standard_error_of_the_best():
    error = FOLDS.std(ddof=1) / np.sqrt(3)
    best = np.full(3, 0.9)
    near, far = best + FOLDS - 0.99 * error, best + FOLDS - 1.01 * error
    assert recommended({"boosting": best, "auc": near, "auc-l1": far}) == "auc"
    assert recommended({"boosting": best, "auc": near, "auc-l1": near}) == "auc-l1"
    assert recommended({"boosting": best, "auc": far}) == "boosting"
    assert recommended({"auc": best, "boosting": near}) == "auc"
    assert recommended({"auc": near, "logistic": best}) == "logistic"  # no simpler than each other
    assert recommended({"cpauc": near, "logistic": best}) == "logistic"  # of a sample of the rows


@pytest.mark.parametrize("name", ["auc-l1", "auc-rls", "rankopt", "auc-rls-rbf", "boosting"])
def test_areas_of_a_fold_are_those_of_the_model_fitted_at_the_settings(name):
    """What a path or a search inside the model says of a fold is what refitting would."""
    X, y = rows(240, lambda X: X[:, 0] - X[:, 1])
    train, test = fold = inner_splits(y, None, 0)[0]
    found = values_of_fold(CANDIDATES[name], X, y, None, fold)
    assert len(found) > 1
    for settings, area, _ in (found[0], found[len(found) // 2]):
        model = fit_candidate(CANDIDATES[name], X[train], y[train], settings=settings).model
        scores = model.decision_function(X[test])
        assert auc_score(y[test], scores) == pytest.approx(area, abs=0.004)


def test_settings_given_are_fitted_without_a_search(monkeypatch):
    X, y = rows(120, lambda X: X[:, 0])
    for name in ("auc", "auc-l1", "auc-rls", "rankopt", "auc-rls-rbf"):
        whole = fit_candidate(CANDIDATES[name], X, y)
        with monkeypatch.context() as patch:
            patch.setattr(
                "everypair.app.comparison.search.inner_splits", lambda *a: pytest.fail("searched")
            )
            again = fit_candidate(CANDIDATES[name], X, y, settings=whole.settings)
        assert again.settings == whole.settings
        # A search cuts by its folds, a plain fit by its training rows: scores differ by a constant.
        scores = [fit.scores(X) - fit.scores(X).mean() for fit in (again, whole)]
        np.testing.assert_allclose(*scores, rtol=1e-3, atol=1e-3)


def test_laggards_do_not_see_the_large_folds():
    """On many rows those far behind on a sample are dropped, and one of a form goes to the end."""
    X, y = rows(2500, lambda X: 3 * X[:, 0] * X[:, 1])
    begun = []
    candidates = [CANDIDATES[name] for name in ("auc", "logistic", "roc-svm", "boosting")]
    found = choose(candidates, X, y, notify=begun.append)
    assert {line for line in begun if line.endswith((" auc", " logistic"))} == {
        "sample, auc",
        "sample, logistic",
    }
    assert set(found.fold_values) <= {"roc-svm", "boosting"}
    # Those of one form run side by side on the sample and the first fold only.
    X, y = rows(2500, lambda X: X[:, 0])
    found = choose([CANDIDATES[n] for n in ("auc", "logistic", "linear-svm")], X, y)
    assert len(found.fold_values) == 1


def test_no_fold_more_where_nothing_is_left_to_choose():
    X, y = rows(2500, lambda X: 3 * X[:, 0] * X[:, 1])
    begun = []
    one = replace(CANDIDATES["boosting"], grid={"max_leaf_nodes": (31,)})
    found = choose([CANDIDATES["auc"], one], X, y, notify=begun.append)
    assert begun == ["sample, auc", "sample, boosting", "fold 1 of 3, boosting"]
    assert found.settings == {"max_leaf_nodes": 31}


def test_settings_of_a_sample_are_searched_anew_where_they_do_not_carry_over(monkeypatch):
    monkeypatch.setattr("everypair.app.comparison.search.SEARCH_ROWS", 200)
    X, y = rows(400, lambda X: X[:, 0])
    assert choose([CANDIDATES["auc-rls"]], X, y).settings is None  # its grid is of the rows seen
    assert choose([CANDIDATES["auc"]], X, y).settings is not None


def test_a_candidate_that_fails_is_passed_over():
    def broken(**settings):
        raise RuntimeError("out of paper")

    X, y = rows(90, lambda X: X[:, 0])
    bad = Candidate("broken", "everypair", "linear", "fails", broken)
    assert choose([bad, CANDIDATES["auc"]], X, y).candidate.name == "auc"
    with pytest.raises(RuntimeError, match="out of paper"):
        choose([bad], X, y)


def path_of(monkeypatch, *folds):
    """rankopt's saturations and their AUC on one fold after another, instead of its own."""
    left = list(folds)

    def areas(candidate, *arguments):
        if candidate.own is None:
            return values_of_fold(candidate, *arguments)
        return [Tried({"saturation": share}, area) for share, area in left.pop(0).items()]

    monkeypatch.setattr(choosing, "values_of_fold", areas)


def test_a_path_that_ends_before_the_best_of_the_first_fold_is_judged_by_what_is_common(
    monkeypatch,
):
    short = {0.1: 0.6, 0.5: 0.7}
    path_of(monkeypatch, {**short, 0.9: 0.99}, short, short)
    X, y = rows(90, lambda X: X[:, 0])
    found = choose([CANDIDATES["rankopt"]], X, y)
    assert found.settings == {"saturation": 0.5}
    assert found.fold_values["rankopt"] == pytest.approx([0.7, 0.7, 0.7])


def test_a_candidate_without_a_setting_common_to_the_folds_is_passed_over(monkeypatch):
    X, y = rows(90, lambda X: X[:, 0])
    path_of(monkeypatch, {0.5: 0.9}, {0.1: 0.9})  # near enough to auc to go on beside it
    found = choose([CANDIDATES["rankopt"], CANDIDATES["auc"]], X, y)
    assert list(found.fold_values) == ["auc"]
    path_of(monkeypatch, {0.5: 0.99, 0.9: 0.99}, {0.1: 0.99})
    with pytest.raises(ValueError, match="no setting of it was measured on every fold"):
        choose([CANDIDATES["rankopt"]], X, y)


def test_only_warnings_about_convergence_are_kept_from_the_caller(monkeypatch):
    from sklearn.exceptions import ConvergenceWarning

    class Complains(CANDIDATES["auc"].build().__class__):
        def fit(self, X, y, sample_weight=None):
            warnings.warn("the disk is full", stacklevel=1)
            warnings.warn("not there yet", ConvergenceWarning, stacklevel=1)
            return super().fit(X, y, sample_weight=sample_weight)

    X, y = rows(90, lambda X: X[:, 0])
    candidate = replace(CANDIDATES["auc"], build=Complains)
    for work in (lambda: choose([candidate], X, y), lambda: fit_candidate(candidate, X, y)):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            found = work()
        assert {str(w.message) for w in caught} == {"the disk is full"}
    assert found.remarks == ["stopped before its tolerance was reached"]


class Clock:
    """Time that passes only where it is told to."""

    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


@pytest.mark.parametrize(("seconds", "folds"), [(1e6, 3), (25, 1)])
def test_budget_bounds_the_choice_and_names_what_was_not_measured(seconds, folds, monkeypatch):
    clock = Clock()

    def ten_seconds(candidate, *arguments):
        clock.now += 10
        return values_of_fold(candidate, *arguments)

    monkeypatch.setattr(choosing, "values_of_fold", ten_seconds)
    monkeypatch.setattr(choosing.time, "perf_counter", clock)
    X, y = rows(90, lambda X: X[:, 0])
    found = choose(
        [CANDIDATES[name] for name in ("auc", "logistic", "rankboost", "boosting")],
        X, y, budget=Budget(seconds, clock),
    )  # fmt: skip
    assert {areas.size for areas in found.fold_values.values()} == {folds}
    assert clock.now <= max(seconds, 30)
    if folds == 1:
        assert found.not_run == ["boosting"]
        assert "boosting" not in found.fold_values
        assert "not measured within the budget of 25 s: boosting." in found.sentences(
            Budget(seconds)
        )


def test_fast_has_a_model_of_most_forms():
    assert {CANDIDATES[name].form for name in FAST} == set(COMPLEXITY) - {"few features"}
    assert {CANDIDATES[name].kind for name in FAST} == {"everypair", "baseline"}


def test_the_race_goes_by_the_measure():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 2))
    y = np.where(X[:, 1] > 1.5, 4.0, X[:, 0] - 2.0) + 0.3 * rng.logistic(size=1500) > 0
    names = ("rankboost", "boosting", "logistic")
    by = ByMeasure.of(parse_measure("recall@fpr=0.01"), Rows.of(y))
    found = choose([CANDIDATES[name] for name in names], X, y, by=by)
    assert found.by is by
    assert found.candidate.name == recommended(found.fold_values)
    assert found.sentences(Budget(None))[0].startswith(f"{found.candidate.name} is the simplest")
    for train, test in inner_splits(y, None, 0)[:1]:
        (tried,) = values_of_fold(
            CANDIDATES["logistic"], X, y, None, (train, test), [{"C": 1.0}], by=by
        )
        scores = fit_candidate(CANDIDATES["logistic"], X[train], y[train], settings={"C": 1.0})
        fpr, tpr, _ = roc_curve(y[test], scores.scores(X[test]), drop_intermediate=False)
        assert tried.value == pytest.approx(tpr[np.searchsorted(fpr, 0.01, "right") - 1], abs=0.02)


def test_a_free_cut_of_the_race_comes_from_the_other_half():
    y = np.array([0, 0, 0, 0, 1, 1, 1, 1], bool)
    scores = np.array([0.0, 1, 2, 3, 2.5, 4, 5, 6])
    by = ByMeasure(parse_measure("f1"), 0.5)
    even, odd = np.arange(8) % 2 == 0, np.arange(8) % 2 == 1
    exact = by.measure.of(Rows.of(y))
    called = np.zeros(8, bool)
    for half, other in ((even, odd), (odd, even)):
        called[half] = scores[half] > exact.best_cut(Rows.of(y[other]), scores[other])
    assert by.value(y, scores, None) == pytest.approx(f1_score(y, called))
    assert by.error(0.5, y, scores, None) > 0


def test_a_model_with_a_search_of_its_own_is_searched_among_the_training_rows():
    X, y = rows(300, lambda X: X[:, 0] - X[:, 1])
    measure = parse_measure("f1")
    by, fold = ByMeasure.of(measure, Rows.of(y)), inner_splits(y, None, 0)[0]
    for candidate in (catalogue(measure)["measure-opt"], CANDIDATES["auc-l1"]):
        (tried,) = values_of_fold(candidate, X, y, None, fold, by=by)
        assert tried.settings == {}
        assert 0.5 < tried.value <= 1
        found = choose([candidate], X, y, by=by)
        assert found.settings is None
