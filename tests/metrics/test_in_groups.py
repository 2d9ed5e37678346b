"""Rankings inside groups: areas, intervals, comparisons, gains, ranks."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import make_scorer, ndcg_score, roc_auc_score
from sklearn.model_selection import cross_validate

from everypair.metrics import (
    auc_by_group,
    auc_confidence_interval,
    auc_score,
    compare_auc,
    mean_reciprocal_rank,
    ndcg_at_k,
)
from everypair.rows import NoSpread


def simulated(rng, n_groups=60, mean_size=12, tied=True):
    """Groups of different sizes and difficulty."""
    sizes = 1 + rng.poisson(mean_size - 1, n_groups)
    within = np.repeat(np.arange(n_groups), sizes)
    ease = np.exp(0.7 * rng.standard_normal(n_groups))[within]
    y = rng.random(within.size) < 0.3
    score = ease * y + rng.standard_normal(within.size) + 3 * rng.standard_normal(n_groups)[within]
    return y, np.round(score, 1) if tied else score, within


@pytest.fixture(scope="module")
def data():
    return simulated(np.random.default_rng(0))


@pytest.mark.parametrize("weighting", ["pairs", "rows", "equal"])
def test_the_area_is_the_weighted_mean_of_scikit_learns(data, weighting):
    y, s, within = data
    areas, weights = [], []
    for g in range(60):
        own = within == g
        if np.unique(y[own]).size == 2:
            areas.append(roc_auc_score(y[own], s[own]))
            pairs = y[own].sum() * (~y[own]).sum()
            weights.append({"pairs": pairs, "rows": own.sum(), "equal": 1}[weighting])
    expected = np.average(areas, weights=weights)
    options = {"within": within, "within_weight": weighting}
    assert auc_score(y, s, **options) == pytest.approx(expected, abs=1e-12)
    table = auc_by_group(y, s, within, within_weight=weighting)
    np.testing.assert_allclose(table.auc, areas, atol=1e-12)
    assert table.weight @ table.auc == pytest.approx(expected)
    assert table.group.size < 60
    interval = auc_confidence_interval(y, s, **options)
    assert interval.auc == pytest.approx(expected)
    assert interval.low < expected < interval.high


def test_whole_weights_are_repeated_rows(data):
    y, s, within = data
    weight = np.random.default_rng(1).integers(0, 3, y.size)
    repeated = [np.repeat(values, weight) for values in (y, s, within)]
    for weighting in ("pairs", "rows", "equal"):
        expected = auc_score(*repeated[:2], within=repeated[2], within_weight=weighting)
        got = auc_score(y, s, weight, within=within, within_weight=weighting)
        assert got == pytest.approx(expected, abs=1e-12)


def test_an_area_does_not_see_the_levels_of_the_groups(data):
    y, s, within = data
    moved = s + 1000.0 * within
    assert auc_score(y, moved, within=within) == pytest.approx(
        auc_score(y, s, within=within), abs=1e-12
    )
    assert auc_score(y, y.astype(float) + within, within=within) == 1
    assert auc_score(y, within - y.astype(float), within=within) == 0


def test_equal_groups_have_the_error_of_a_mean(data):
    y, s, within = data
    areas = auc_by_group(y, s, within, within_weight="equal").auc
    interval = auc_confidence_interval(y, s, within=within, within_weight="equal")
    assert interval.se == pytest.approx(areas.std(ddof=1) / np.sqrt(areas.size), rel=1e-9)
    assert interval.df == pytest.approx(areas.size - 1)


@pytest.mark.parametrize("weighting", ["pairs", "equal"])
def test_the_delta_method_agrees_with_a_bootstrap_of_groups(data, weighting):
    y, s, within = data
    options = {"within": within, "within_weight": weighting}
    delta = auc_confidence_interval(y, s, logit=False, **options)
    drawn = auc_confidence_interval(y, s, "bootstrap", random_state=0, **options)
    assert delta.se == pytest.approx(drawn.se, rel=0.1)
    assert delta.low == pytest.approx(drawn.low, abs=0.02)
    other = s + np.random.default_rng(2).standard_normal(y.size)
    delta = compare_auc(y, s, other, **options)
    drawn = compare_auc(y, s, other, method="bootstrap", random_state=0, **options)
    assert delta.difference == pytest.approx(drawn.difference)
    assert delta.se == pytest.approx(drawn.se, rel=0.1)
    assert delta.p < 0.05


@pytest.mark.parametrize("weighting", ["pairs", pytest.param("equal", marks=pytest.mark.slow)])
def test_the_interval_covers_the_area_of_the_population(weighting):
    rng = np.random.default_rng(3)
    truth = auc_score(*(big := simulated(rng, 100_000, tied=False))[:2], within=big[2],
                      within_weight=weighting)  # fmt: skip
    covered = []
    for _ in range(400):
        y, s, within = simulated(rng, 40, tied=False)
        got = auc_confidence_interval(y, s, within=within, within_weight=weighting)
        covered.append(got.low <= truth <= got.high)
    assert 0.92 <= np.mean(covered) <= 0.985


def test_equal_models_are_told_apart_as_often_as_the_level_says():
    rng, rejected = np.random.default_rng(4), []
    for _ in range(400):
        y, s, within = simulated(rng, 30, tied=False)
        noise = rng.standard_normal((2, y.size))
        rejected.append(compare_auc(y, s + noise[0], s + noise[1], within=within).p < 0.05)
    assert np.mean(rejected) <= 0.08


def test_larger_units_hold_whole_groups(data):
    y, s, within = data
    plain = auc_confidence_interval(y, s, within=within)
    units = auc_confidence_interval(y, s, within=within, groups=within // 3)
    assert units.auc == plain.auc
    assert units.df < plain.df
    with pytest.raises(ValueError, match="lies in several groups"):
        auc_confidence_interval(y, s, within=within, groups=np.arange(y.size))


def test_what_has_no_answer_is_refused(data):
    y, s, within = data
    with pytest.raises(NoSpread, match="only one group"):
        auc_confidence_interval(y, s, within=np.zeros(y.size))
    with pytest.raises(ValueError, match="leave them out with within"):
        auc_score(y, s, within=within, max_fpr=0.1)
    with pytest.raises(ValueError, match="hanley-mcneil"):
        auc_confidence_interval(y, s, "hanley-mcneil", within=within)
    with pytest.raises(ValueError, match="paired=True"):
        compare_auc((y, y), s, s, paired=False, within=(within, within))
    with pytest.raises(ValueError, match="groups has a pair"):
        auc_score(y, s, within=np.arange(y.size))
    with pytest.raises(ValueError, match="k=0"):
        ndcg_at_k(y, s, within, k=0)
    perfect = auc_confidence_interval(y, y.astype(float), within=within)
    assert perfect.auc == perfect.high == 1 > perfect.low > 0.5


def test_gains_and_ranks_are_those_of_each_group(data):
    y, s, within = data
    gains, ranks = [], []
    for g in range(60):
        own = within == g
        if y[own].any():
            best = s[own][y[own]].max()
            ranks.append(1 / np.sum(s[own] >= best))
            if own.sum() > 1:
                gains.append(ndcg_score([y[own]], [s[own]], k=3))
    assert ndcg_at_k(y, s, within, k=3) == pytest.approx(np.mean(gains))
    assert mean_reciprocal_rank(y, s, within) == pytest.approx(np.mean(ranks))


def test_a_scorer_gets_within_by_routing(data):
    from sklearn import config_context

    y, s, within = data
    with config_context(enable_metadata_routing=True):
        scorer = make_scorer(auc_score, response_method="decision_function")
        scorer.set_score_request(within=True)
        found = cross_validate(LogisticRegression(), s[:, None], y, scoring=scorer, cv=3,
                               params={"within": within})  # fmt: skip
    assert np.all(found["test_score"] > 0.5)
