"""The comparison: same folds, no peeking, failures in their line, an honest sentence."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("pyarrow")

from scipy import sparse
from sklearn.metrics import roc_auc_score

from everypair.app.comparison import models as catalogue
from everypair.app.comparison.candidate import Candidate
from everypair.app.comparison.judge import area_over_folds, verdict_of
from everypair.app.comparison.models import CANDIDATES, candidates_of
from everypair.app.comparison.records import ModelResult
from everypair.app.comparison.run import compare_methods, n_steps
from everypair.app.comparison.search import splits_of, stratified_sample
from everypair.app.comparison.typed_measure import parse_measure
from everypair.metrics.held_out import held_out_difference


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 4))
    return X, X[:, 0] - 0.5 * X[:, 1] + rng.logistic(size=150) > 0.8


def test_every_method_runs_beside_every_baseline(data):
    X, y = data
    calls = []
    found = compare_methods(X, y, n_folds=2, n_repeats=1, path=True, progress=calls.append)
    assert {model.name for model in found.models} == set(CANDIDATES)
    assert [model.failure for model in found.models] == [None] * len(CANDIDATES)
    areas = [model.auc for model in found.models]
    assert areas == sorted(areas, reverse=True)
    assert all(model.low < model.auc < model.high for model in found.models)
    assert len(calls) == n_steps(None, 2, 1)
    base = next(model for model in found.models if model.name == found.best_baseline)
    assert base.p_value is None
    assert base.kind == "baseline"
    assert found.path.coef.shape == (found.path.alphas.size, 4)
    linear = next(model for model in found.models if model.name == "auc")
    assert set(linear.coefficients) == {"x0", "x1", "x2", "x3"}


def test_pure_noise_beats_nothing():
    """Settings and encoder are chosen on training rows alone: chance stays chance."""
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(120, 40)), np.arange(120) % 3 == 0
    found = compare_methods(X, y, models=["auc-rls", "logistic"], n_folds=4, n_repeats=1)
    assert all(0.3 < model.auc < 0.68 for model in found.models)
    assert found.verdict.startswith("Nothing here beats the best baseline")


def test_folds_are_the_same_for_all_and_again_with_the_seed(data):
    X, y = data
    one = compare_methods(X, y, models=["auc", "logistic"], n_folds=2, n_repeats=2, seed=4)
    two = compare_methods(X, y, models=["logistic"], n_folds=2, n_repeats=2, seed=4)
    again = {model.name: model for model in one.models}["logistic"]
    np.testing.assert_allclose(again.fold_auc, two.models[0].fold_auc)
    np.testing.assert_allclose(again.scores, two.models[0].scores)
    assert again.fold_auc.size == 4


def test_the_models_own_counts_are_those_of_each_folds_own_cut(data):
    """Where folds choose different settings, no common cut of their scores is that of each."""
    from everypair.app.comparison.search import fit_candidate
    from everypair.app.encode import TableEncoder
    from everypair.app.report.drawn import drawn
    from everypair.app.tables import arrow_table, take_rows

    X, y = data
    table = arrow_table({f"x{k}": column for k, column in enumerate(X.T)})
    called, settings = np.zeros(y.size, dtype=bool), set()
    for train, test in splits_of(y, None, 5, 3):
        encoder = TableEncoder().fit(take_rows(table, train))
        encoded, held_out = (encoder.transform(take_rows(table, rows)) for rows in (train, test))
        fitted = fit_candidate(CANDIDATES["logistic"], encoded, y[train], seed=3)
        settings.add(fitted.settings["C"])
        called[test] = fitted.model.predict(held_out)
    assert len(settings) > 1
    options = {"models": ["logistic"], "n_folds": 5, "n_repeats": 1, "seed": 3}
    weight = np.arange(y.size) % 3 + 0.5
    for weights in (None, np.ones(y.size)):
        comparison = compare_methods(X, y, sample_weight=weights, **options)
        found = comparison.models[0]
        np.testing.assert_array_equal(found.called, called)
        assert np.count_nonzero(found.scores > found.threshold) == np.count_nonzero(called)
        shown = drawn(comparison)["models"][0]
        assert shown["own"] == {"tp": np.sum(called & y), "fp": np.sum(called & ~y)}
        # The curve drawn is that of the scores whose area the table has.
        n_positive, n_negative = np.sum(y), np.sum(~y)
        area = np.trapezoid(np.array(shown["tp"]) / n_positive, np.array(shown["fp"]) / n_negative)
        assert area == pytest.approx(roc_auc_score(y, found.scores), abs=1e-9)
        assert abs(area - found.auc) < 0.02
    shown = drawn(replace(comparison, weights=weight))["models"][0]["own"]
    assert shown["tp"] == pytest.approx(np.sum(weight[called & y]))
    assert shown["fp"] == pytest.approx(np.sum(weight[called & ~y]))


def test_failing_model_is_a_line_and_not_the_end(data, monkeypatch):
    X, y = data

    def broken(**settings):
        raise RuntimeError("out of\npaper")

    candidate = Candidate("broken", "everypair", "linear", "fails", broken)
    monkeypatch.setitem(catalogue.CANDIDATES, "broken", candidate)
    found = compare_methods(X, y, models=["broken", "logistic"], n_folds=3, n_repeats=1)
    assert found.models[-1].name == "broken"
    assert found.models[-1].failure == "out of paper"
    assert found.models[0].failure is None


def test_sparse_rows_are_not_written_out(data):
    X, y = data
    found = compare_methods(
        sparse.csr_matrix(X), y, models=["auc", "boosting", "logistic"], n_folds=3, n_repeats=1
    )
    by_name = {model.name: model for model in found.models}
    assert by_name["auc"].failure is None
    assert "dense" in by_name["boosting"].failure


def test_groups_stay_on_one_side():
    rng = np.random.default_rng(0)
    groups = rng.integers(0, 12, 200)
    y = rng.random(200) < 0.4
    for train, test in splits_of(y, groups, 3, 0):
        assert not set(groups[train]) & set(groups[test])


def test_group_that_gives_the_answer_away_does_not_help():
    """With one label a group, rows of a group in both parts would give an AUC near 1."""
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(30), 6)
    y = (np.arange(30) % 2 == 0)[groups]
    X = rng.normal(size=(30, 60))[groups] + 0.01 * rng.normal(size=(180, 60))
    options = {"models": ["auc"], "n_folds": 3, "n_repeats": 1}
    apart = compare_methods(X, y, groups=groups, **options).models[0].auc
    mixed = compare_methods(X, y, **options).models[0].auc
    assert mixed > 0.95
    assert apart < 0.75


def test_weight_zero_is_absence(data):
    X, y = data
    weight = np.ones(y.size)
    strange = y.copy()
    weight[::5] = 0
    strange[::5] = ~strange[::5]
    # Labels of rows that weigh nothing decide the strata, so folds differ; areas hardly do.
    one = compare_methods(X, y, sample_weight=weight, models=["logistic"], n_folds=3)
    two = compare_methods(X, strange, sample_weight=weight, models=["logistic"], n_folds=3)
    assert abs(one.models[0].auc - two.models[0].auc) < 0.05


def test_table_difference_interval_and_p_are_of_one_quantity(data):
    """AUC, difference, its interval and p all come from the mean of the areas of the folds."""
    X, y = data
    rng = np.random.default_rng(2)
    weight = rng.random(y.size) + 0.2
    for seed, weights in ((0, None), (1, weight)):
        noisy = np.where(rng.random(y.size) < 0.5, y, rng.random(y.size) < 0.3)
        found = compare_methods(
            X, noisy, models=["auc-rls", "linear-svm", "logistic"], n_folds=3, seed=seed,
            n_repeats=1 + seed, sample_weight=weights,
        )  # fmt: skip
        base = next(model for model in found.models if model.name == found.best_baseline)
        for model in found.models:
            assert model.auc == pytest.approx(np.mean(model.fold_auc), abs=1e-12)
            if model is base:
                continue
            assert model.difference == pytest.approx(model.auc - base.auc, abs=1e-12)
            assert model.difference_low <= model.difference <= model.difference_high
            assert (model.p_value < 0.05) == (model.difference_low * model.difference_high > 0)


def fold_areas(rng, n_rows=60, n_folds=2, gap=0.0, n_repeats=1):
    """Two sets of made-up scores on the same folds."""
    y = np.arange(n_rows) % 2 == 0
    splits = [splits_of(y, None, n_folds, r) for r in range(n_repeats)]
    out = []
    for shift in (1 + gap, 1):
        scores = [rng.standard_normal(n_rows) + shift * y for _ in splits]
        out.append(area_over_folds(y, splits, scores, scores, None, None))
    return out


def test_folds_with_equal_differences_are_not_certain():
    """Two folds that differ alike have no spread between them: that is luck and not proof."""
    rng = np.random.default_rng(0)
    equal = 0
    for _ in range(300):
        one, other = fold_areas(rng, 20)
        gaps = one.fold_auc - other.fold_auc
        if abs(gaps[0] - gaps[1]) < 1e-12 and 0 < abs(gaps[0]) < 0.2:
            equal += 1
            assert held_out_difference(one, other).p > 0.05
    assert equal > 5


def test_the_difference_to_itself_is_nothing_and_to_chance_is_clear():
    one, other = fold_areas(np.random.default_rng(1), 200, gap=1.5)
    same = held_out_difference(one, one)
    assert (same.difference, same.low, same.high, same.p) == (0, 0, 0, 1)
    assert held_out_difference(one, other).p < 1e-3
    back = held_out_difference(other, one)
    assert back.p == pytest.approx(held_out_difference(one, other).p)
    chosen = held_out_difference(other, one, n_rivals=4)
    assert chosen.p == pytest.approx(min(1, 4 * back.p))  # the best of four looks better
    assert held_out_difference(one, other, n_rivals=4).p == held_out_difference(one, other).p


def test_one_positive_in_a_fold_still_has_an_interval():
    rng = np.random.default_rng(3)
    y = np.arange(100) < 5
    scores = rng.standard_normal(100) + y
    folds = splits_of(y, None, 5, 0)
    found = area_over_folds(y, [folds], [scores], [scores], None, None)
    low, high = found.interval(0.95)
    assert 0 < low < found.auc < high <= 1
    assert high - low > 0.15
    expected = [roc_auc_score(y[test], scores[test]) for _, test in folds]
    np.testing.assert_allclose(found.fold_auc, expected)


def line(name, kind, auc, p=None, difference=None):
    empty = np.array([])
    return ModelResult(
        name, kind, auc, auc, auc, empty, 0.1, empty, 0.0, {}, difference=difference, p_value=p
    )


def test_every_estimator_is_compared_and_documented():
    import inspect
    import re
    from pathlib import Path

    import everypair

    page = Path(__file__).parents[3] / "docs" / "command_line.md"
    if not page.exists():
        pytest.skip("the documentation is not here")
    table = page.read_text().split("| `--models` |")[1].split("\n\n")[0]
    known = catalogue.catalogue(parse_measure("f1"))
    assert set(known) <= set(re.findall(r"`([a-z0-9-]+)`", table))
    built = {type(candidate.build()).__name__ for candidate in known.values()}
    estimators = {name for name in everypair.__all__ if inspect.isclass(getattr(everypair, name))}
    # Two are there as RankOptCV and MeasureOptCV, which choose their radius; the search of the
    # comparison chooses C of MeasureSVM. AUCAdditive is there with its search; single trees are for
    # Python alone.
    apart = {"AUCAdditive", "AUCTree"}
    assert estimators - built == {"RankOpt", "MeasureOpt", "MeasureSVMCV"} | apart


def test_one_comparison_is_not_corrected_for_and_small_gaps_are_words():
    base = line("logistic", "baseline", 0.8)
    one = verdict_of([line("auc", "everypair", 0.8001, 0.4, 0.0001), base], "logistic")
    assert "correction" not in one
    assert "less than 0.001 above" in one
    tie = verdict_of([line("auc", "everypair", 0.8, 1.0, 0.0), base], "logistic")
    assert tie.endswith("logistic (AUC 0.800): auc ties with it.")
    two = verdict_of([line("auc", "everypair", 0.81, 0.4, 0.01)] * 2 + [base], "logistic")
    assert "after correction for 2 comparisons" in two


def test_verdict_says_what_the_table_says():
    base = line("logistic", "baseline", 0.80)
    clear = verdict_of([line("auc", "everypair", 0.85, 1e-4, 0.05), base], "logistic")
    assert clear.startswith("auc ranks better than the best baseline")
    chance = verdict_of([line("auc", "everypair", 0.81, 0.4, 0.01), base], "logistic")
    assert chance.startswith("Nothing here beats the best baseline")
    assert "chance" in chance
    many = [line(f"m{k}", "everypair", 0.81, 0.03, 0.01) for k in range(5)]
    assert "chance" in verdict_of([*many, base], "logistic")  # five tries, one p of 0.03 is luck
    worse = verdict_of([base, line("auc", "everypair", 0.70, 1e-4, -0.1)], "logistic")
    assert "0.100 below" in worse
    assert "No baseline" in verdict_of([many[0]], "")


def test_sample_keeps_the_rarer_class():
    y = np.arange(10_000) % 100 == 0
    rows = stratified_sample(y, 400, 0)
    assert rows.size == 400
    assert np.count_nonzero(y[rows]) == 100
    assert np.unique(rows).size == rows.size


def test_unknown_model_is_named():
    with pytest.raises(ValueError, match="there is no model 'nope'"):
        candidates_of(["nope"])
    assert {c.kind for c in candidates_of(["baselines"])} == {"baseline"}


def test_too_few_rows_for_the_folds_are_counted():
    with pytest.raises(ValueError, match="the rarer class has 2 rows"):
        splits_of(np.arange(20) < 2, None, 5, 0)


def test_the_table_is_checked_before_the_folds():
    rng = np.random.default_rng(0)
    y = rng.random(150) < 0.4
    table = {
        "row": np.arange(150), "x": rng.normal(size=150) + y, "told": y.astype(float),
        "job": rng.choice(["a", "b"], 150),
    }  # fmt: skip
    found = compare_methods(table, y, models=["auc-rls"], n_folds=3, n_repeats=1)
    assert [f.kind for f in found.findings] == ["leak", "left out"]
    assert not any("row" in name for name in found.models[0].coefficients)
    assert [column.name for column in found.columns] == ["row", "x", "told", "job"]
