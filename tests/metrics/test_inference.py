"""Variances against the quadratic definition and pROC; coverage of the intervals."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ranking_definitions import pair_values, rankings, wfns
from scipy.special import ndtri
from scipy.stats import beta, t

from everypair.metrics import auc_confidence_interval, auc_score
from everypair.metrics.placements import covariance, influence
from everypair.rows import Rows


def quadratic_delong(y, rankings, weight=None):
    """Covariance of the areas by its definition, from the matrix of all pairs."""
    w = np.ones(y.size) if weight is None else weight
    kept = w > 0
    y, w, rankings = y[kept], w[kept], [s[kept] for s in rankings]
    a, b = w[y] / w[y].sum(), w[~y] / w[~y].sum()
    rows, columns = [], []
    for s in rankings:
        psi = pair_values(y, s)
        auc = a @ psi @ b
        rows.append(a * (psi @ b - auc))
        columns.append(b * (a @ psi - auc))
    rows, columns = np.array(rows), np.array(columns)
    return rows / (1 - a) @ rows.T + columns / (1 - b) @ columns.T


def quadratic_obuchowski(y, s, groups):
    """Obuchowski (1997), as printed: sums of placements over clusters."""
    psi = pair_values(y, s)
    m, n = psi.shape
    auc = psi.mean()
    v10, v01 = psi.mean(axis=1), psi.mean(axis=0)
    ids = np.unique(groups)
    x = np.array([np.sum(v10[groups[y] == g] - auc) for g in ids])
    z = np.array([np.sum(v01[groups[~y] == g] - auc) for g in ids])
    i10, i01, i = np.unique(groups[y]).size, np.unique(groups[~y]).size, ids.size
    s10 = i10 / ((i10 - 1) * m) * np.sum(x**2)
    s01 = i01 / ((i01 - 1) * n) * np.sum(z**2)
    s11 = i / (i - 1) * np.sum(x * z)
    return s10 / m + s01 / n + 2 * s11 / (m * n)


@settings(deadline=None, derandomize=True)
@given(rankings(least_of_class=2))
def test_fast_delong_equals_the_quadratic_definition(data):
    y, s, weight = data
    other = np.round(s + np.random.default_rng(0).standard_normal(s.size))
    rows = Rows.of(y, weight)
    parts = [influence(rows, rows.scores(r)) for r in (s, other)]
    ours = covariance(np.column_stack([u for _, u in parts]), rows)
    np.testing.assert_allclose(ours, quadratic_delong(y, [s, other], weight), rtol=0, atol=1e-12)
    assert parts[0][0] == pytest.approx(auc_score(y, s, weight), abs=1e-12)


def test_unweighted_variance_is_delongs_s10_and_s01():
    rng = np.random.default_rng(3)
    y = rng.random(60) < 0.4
    s = np.round(rng.standard_normal(60) * 2) + y
    psi = pair_values(y, s)
    m, n = psi.shape
    textbook = psi.mean(axis=1).var(ddof=1) / m + psi.mean(axis=0).var(ddof=1) / n
    assert auc_confidence_interval(y, s).se ** 2 == pytest.approx(textbook, abs=1e-14)


def test_variance_is_that_of_proc_and_the_interval_takes_students_t():
    """`var` of pROC for aSAH's outcome and wfns; its `ci.auc` is AUC +- 1.96 se."""
    y, s = wfns()
    ours = auc_confidence_interval(y, s, logit=False)
    assert ours.se**2 == pytest.approx(0.00146991470882363, abs=1e-16)
    assert ours.df == pytest.approx(degrees_by_definition(y == 1, [s]), rel=1e-12)
    reach = t.ppf(0.975, ours.df) * ours.se
    assert (ours.low, ours.high) == pytest.approx((ours.auc - reach, ours.auc + reach), abs=1e-13)


def degrees_by_definition(y, rankings, weight=None):
    """Satterthwaite's, from the matrix of all pairs; of a difference where there are two rankings.

    A class has n - 1 degrees; weights add to 1 / (n - 1) what they add to sum u^4 / (sum u^2)^2.
    """
    w = np.ones(y.size) if weight is None else weight
    psi = pair_values(y, rankings[0]) - (pair_values(y, rankings[1]) if len(rankings) > 1 else 0)
    a, b = w[y] / w[y].sum(), w[~y] / w[~y].sum()
    variances, degrees = [], []
    for share, deviation in ((a, psi @ b - a @ psi @ b), (b, a @ psi - a @ psi @ b)):
        u = share * deviation
        variances.append(np.sum(u**2 / (1 - share)))
        more = np.sum(u**4) / np.sum(u**2) ** 2
        more -= np.sum(deviation**4) / np.sum(deviation**2) ** 2
        degrees.append(max(1.0, 1 / (1 / (share.size - 1) + max(0.0, more))))
    return sum(variances) ** 2 / sum(v**2 / df for v, df in zip(variances, degrees, strict=True))


@pytest.mark.parametrize("spread", [0.0, 1e-9, 0.3, 2.0])
def test_degrees_of_freedom_are_those_of_the_definition(spread):
    """Weights that differ by rounding alone change nothing: there is no jump."""
    rng = np.random.default_rng(21)
    y = np.arange(40) < 8
    s = rng.standard_normal(40) + y
    weight = np.exp(spread * rng.standard_normal(40))
    plain = auc_confidence_interval(y, s)
    ours = auc_confidence_interval(y, s, sample_weight=weight)
    assert plain.df == pytest.approx(degrees_by_definition(y, [s]), rel=1e-12)
    assert ours.df == pytest.approx(degrees_by_definition(y, [s], weight), rel=1e-12)
    assert 7 <= plain.df <= 38
    if spread < 1e-6:
        for name in ("df", "low", "high"):
            assert getattr(ours, name) == pytest.approx(getattr(plain, name), rel=1e-6)
    else:
        assert ours.df < plain.df


def test_few_positives_are_covered():
    """By the normal distribution 91 % of the intervals cover here."""
    rng = np.random.default_rng(22)
    y = np.repeat([1, 0], [5, 100])
    ends = [auc_confidence_interval(y, simulate(rng, 0.7, 5, 100)) for _ in range(1500)]
    assert np.mean([end.low <= 0.7 <= end.high for end in ends]) >= 0.935


@settings(deadline=None, derandomize=True)
@given(rankings(least_of_class=3), st.integers(0, 2**32 - 1))
def test_clustered_variance_equals_obuchowskis_formula(data, seed):
    y, s, _ = data
    groups = np.random.default_rng(seed).integers(0, max(3, y.size // 3), y.size)
    if min(np.unique(groups[y]).size, np.unique(groups[~y]).size) < 2:
        return
    rows = Rows.of(y)
    _, u = influence(rows, s)
    ours = covariance(u[:, None], rows, rows.groups(groups))[0, 0]
    assert ours == pytest.approx(quadratic_obuchowski(y, s, groups), abs=1e-12)
    assert ours >= 0


def test_groups_of_one_row_change_nothing():
    rng = np.random.default_rng(0)
    y, s, w = rng.random(80) < 0.3, rng.standard_normal(80), rng.random(80)
    for weight in (None, w):
        alone = auc_confidence_interval(y, s, sample_weight=weight)
        grouped = auc_confidence_interval(y, s, sample_weight=weight, groups=np.arange(80))
        assert grouped.se == pytest.approx(alone.se, rel=1e-12)
        assert grouped.low == pytest.approx(alone.low, rel=1e-12)


def test_doubling_every_row_as_groups_changes_nothing():
    rng = np.random.default_rng(1)
    y, s = rng.random(70) < 0.5, rng.standard_normal(70)
    twice = np.concatenate([np.arange(70)] * 2)
    alone = auc_confidence_interval(y, s)
    grouped = auc_confidence_interval(y[twice], s[twice], groups=twice)
    assert grouped.se == pytest.approx(alone.se, rel=1e-12)


def test_rows_of_weight_zero_are_absent():
    rng = np.random.default_rng(2)
    y, s = rng.random(50) < 0.5, rng.standard_normal(50)
    weight = (np.arange(50) < 30).astype(float)
    for method in ("delong", "hanley-mcneil", "bootstrap"):
        options = {"method": method, "random_state": 0, "n_bootstrap": 50}
        with_zeros = auc_confidence_interval(y, s, sample_weight=weight, **options)
        without = auc_confidence_interval(y[:30], s[:30], **options)
        assert with_zeros.auc == pytest.approx(without.auc)
        assert with_zeros.se == pytest.approx(without.se)
        assert with_zeros.low == pytest.approx(without.low)


def test_hanley_mcneil_is_the_formula():
    """AUC 0.8 with 2 positives and 5 negatives, worked by hand: Q1 = 2/3, Q2 = 1.28 / 1.8."""
    y, s = [1, 1, 0, 0, 0, 0, 0], [5.5, 3.5, 1, 2, 3, 4, 5]
    ours = auc_confidence_interval(y, s, "hanley-mcneil")
    assert ours.auc == pytest.approx(0.8)
    variance = (0.16 + 1 * (2 / 3 - 0.64) + 4 * (1.28 / 1.8 - 0.64)) / 10
    assert ours.se**2 == pytest.approx(variance, rel=1e-13)


def test_bootstrap_agrees_with_delong_on_many_rows():
    rng = np.random.default_rng(4)
    y = rng.random(1000) < 0.3
    s = rng.standard_normal(1000) + y
    exact = auc_confidence_interval(y, s)
    drawn = auc_confidence_interval(y, s, "bootstrap", random_state=0)
    assert drawn.auc == pytest.approx(exact.auc)
    assert drawn.se == pytest.approx(exact.se, rel=0.06)
    assert drawn.low == pytest.approx(exact.low, abs=0.1 * exact.se)
    groups = np.arange(1000) // 2
    exact = auc_confidence_interval(y, s, groups=groups)
    drawn = auc_confidence_interval(y, s, "bootstrap", groups=groups, random_state=0)
    assert drawn.se == pytest.approx(exact.se, rel=0.06)


def test_bootstrap_of_a_partial_area_is_about_that_area():
    rng = np.random.default_rng(5)
    y = rng.random(400) < 0.5
    s = rng.standard_normal(400) + y
    drawn = auc_confidence_interval(y, s, "bootstrap", max_fpr=0.2, random_state=0)
    assert drawn.auc == auc_score(y, s, max_fpr=0.2)
    assert drawn.low < drawn.auc < drawn.high
    again = auc_confidence_interval(y, s, "bootstrap", max_fpr=0.2, random_state=0)
    assert again == drawn


def simulate(rng, auc, n_positive, n_negative):
    s = rng.standard_normal(n_positive + n_negative)
    s[:n_positive] += np.sqrt(2) * ndtri(auc)
    return s


@pytest.mark.parametrize(
    ("auc", "n_positive", "n_negative"),
    [
        (0.8, 30, 300),
        *(
            pytest.param(auc, *rows, marks=pytest.mark.slow)
            for auc, *rows in (
                (0.6, 30, 300),
                (0.95, 30, 300),
                (0.6, 200, 200),
                (0.8, 200, 200),
                (0.95, 200, 200),
            )
        ),
    ],
)
def test_the_interval_covers_as_often_as_it_says(auc, n_positive, n_negative):
    rng = np.random.default_rng(11)
    y = np.repeat([1, 0], [n_positive, n_negative])
    hits, repeats = 0, 2500
    for _ in range(repeats):
        ours = auc_confidence_interval(y, simulate(rng, auc, n_positive, n_negative))
        hits += ours.low <= auc <= ours.high
    assert 0.93 <= hits / repeats <= 0.97


@pytest.mark.parametrize(
    ("n_positive", "n_negative"),
    [(30, 300), pytest.param(200, 200, marks=pytest.mark.slow), (10, 10)],
)
def test_near_one_the_interval_still_covers(n_positive, n_negative):
    """The textbook interval covers 79 % of the time at 30/300 and AUC 0.99."""
    rng = np.random.default_rng(12)
    y = np.repeat([1, 0], [n_positive, n_negative])
    hits = 0
    for _ in range(1000):
        ours = auc_confidence_interval(y, simulate(rng, 0.99, n_positive, n_negative))
        hits += ours.low <= 0.99 <= ours.high
    assert hits / 1000 >= 0.93


def test_clustered_interval_covers_where_the_plain_one_does_not():
    rng = np.random.default_rng(13)
    groups = np.repeat(np.arange(60), 10)
    shift = 0.9
    truth_rng = np.random.default_rng(14)
    spread = np.sqrt(2)  # group effect and row noise, each of variance one
    truth = float(
        np.mean(truth_rng.normal(shift, spread, 2_000_000) > truth_rng.normal(0, spread, 2_000_000))
    )
    hits = {"grouped": 0, "plain": 0}
    for _ in range(600):
        y = np.repeat(rng.random(60) < 0.5, 10)  # outcome of a patient, ten images each
        s = np.repeat(rng.standard_normal(60), 10) + rng.standard_normal(600) + shift * y
        for name, given_groups in (("grouped", groups), ("plain", None)):
            ours = auc_confidence_interval(y, s, groups=given_groups)
            hits[name] += ours.low <= truth <= ours.high
    assert hits["grouped"] / 600 >= 0.92
    assert hits["plain"] / 600 < 0.75


def test_separated_classes_get_the_exact_bound():
    y = np.repeat([0, 1], [20, 5])
    for method in ("delong", "bootstrap", "hanley-mcneil"):
        ours = auc_confidence_interval(y, np.arange(25), method)
        assert (ours.auc, ours.high, ours.se) == (1.0, 1.0, 0.0)
        assert ours.low == pytest.approx(0.025 ** (1 / 5))
        below = auc_confidence_interval(y, -np.arange(25), method)
        assert (below.auc, below.low) == (0.0, 0.0)
        assert below.high == pytest.approx(1 - 0.025 ** (1 / 5))
    grouped = auc_confidence_interval(y, np.arange(25), groups=np.arange(25) // 5)
    assert grouped.low == pytest.approx(0.025)  # one group of positives: one independent pair


@pytest.mark.parametrize(
    ("y", "s", "options", "says"),
    [
        ([0, 1, 0, 1], [2, 2, 2, 2], {}, "single value 2: equal scores rank nothing"),
        ([0, 1, 0, 1], [2, 2, 2, 2], {"method": "bootstrap"}, "equal scores rank nothing"),
        ([0, 0, 0, 1], [1, 2, 3, 2.5], {}, "only one positive row"),
        ([0, 0, 0, 1], [1, 2, 3, 2.5], {"method": "bootstrap"}, "only one positive row"),
        (
            [0, 0, 1, 1],
            [1, 3, 2, 4],
            {"groups": [1, 1, 2, 2], "method": "bootstrap"},
            "only one group with positives",
        ),
        ([0, 0, 1, 1], [1, 3, 2, 4], {"groups": ["a", None, "b", "c"]}, "NaN or None"),
        ([0, 0, 1, 1], [1, 3, 2, 4], {"method": "wald"}, "method='wald' is not known"),
        ([0, 0, 1, 1], [1, 3, 2, 4], {"level": 95}, "level=95"),
        ([0, 0, 1, 1], [1, 3, 2, 4], {"max_fpr": 0.1}, "use method='bootstrap'"),
        ([0, 0, 1, 1], [1, 3, 2, 4], {"groups": [1, 1, 1, 1]}, "single value"),
        ([0, 0, 1, 1], [1, 3, 2, 4], {"groups": [1, 2, 3]}, "3 values for 4 rows"),
        ([0, 0, 1, 1], [1, 3, 2, 4], {"groups": [1, 2, 3, np.nan]}, "groups has NaN or None"),
        (
            [0, 0, 1, 1],
            [1, 3, 2, 4],
            {"groups": [1, 2, 3, 4], "method": "hanley-mcneil"},
            "independent",
        ),
        ([0, 0, 1, 1], [1, 3, 2, 4], {"method": "bootstrap", "n_bootstrap": 0}, "n_bootstrap=0"),
        (
            [0, 0, 1, 1],
            [1, 2, 3, 4],
            {"method": "bootstrap", "max_fpr": 0.5},
            "the same partial area",
        ),
    ],
)
def test_what_has_no_interval_says_so(y, s, options, says):
    with pytest.raises(ValueError, match=says):
        auc_confidence_interval(y, s, **options)


@pytest.mark.parametrize("method", ["delong", "hanley-mcneil"])
@pytest.mark.parametrize(("n_positive", "n_negative"), [(30, 300), (12, 12), (5000, 5000)])
def test_the_low_end_does_not_jump_as_pairs_are_swapped(method, n_positive, n_negative):
    """None swapped, one, two, ...: the interval starts from that of separated classes."""
    y = np.repeat([0, 1], [n_negative, n_positive])
    ends = []
    for swaps in range(8):
        s = np.arange(y.size, dtype=float)
        s[n_negative] -= swaps + 0.5 if swaps else 0
        ends.append(auc_confidence_interval(y, s, method).low)
        if method == "delong":
            mirrored = auc_confidence_interval(y, -s)
            assert mirrored.high == pytest.approx(1 - ends[-1])
    assert np.max(np.abs(np.diff(ends))) <= 0.02 + 0.05 * (1 - ends[0])


@settings(deadline=None, derandomize=True)
@given(rankings(least_of_class=2))
def test_the_logit_interval_is_within_that_of_disjoint_pairs(data):
    y, s, _ = data
    if s.min() == s.max():
        return
    ours, k = auc_confidence_interval(y, s), min(y.sum(), (~y).sum())
    lost, won = np.ceil(k * (1 - ours.auc) - 1e-9), np.ceil(k * ours.auc - 1e-9)
    assert ours.low >= (beta.ppf(0.025, k - lost, lost + 1) if lost < k else 0) - 1e-12
    assert ours.high <= (beta.ppf(0.975, won + 1, k - won) if won < k else 1) + 1e-12
    assert ours.low <= ours.auc <= ours.high


def test_no_interval_is_a_point():
    """Groups that are copies of each other say se = 0 of an area of 1/2."""
    y, s = np.array([1, 0, 0] * 2), np.array([2.0, 1, 3] * 2)
    groups = [0, 0, 0, 1, 1, 1]
    for options in ({}, {"logit": False}, {"method": "bootstrap", "random_state": 0}):
        ours = auc_confidence_interval(y, s, groups=groups, **options)
        assert ours.se == 0
        assert ours.high - ours.low > 0.9  # two groups make one pair


@pytest.mark.parametrize("method", ["delong", "hanley-mcneil", "bootstrap"])
def test_an_area_that_weights_round_to_one_has_an_interval(method):
    y, s = np.array([0, 0, 1, 1]), np.array([1.0, 3, 2, 4])
    ours = auc_confidence_interval(y, s, method, sample_weight=[1, 1e-20, 1e-20, 1], random_state=0)
    assert ours.auc == 1.0
    assert ours.low <= 0.03
    assert ours.high == 1.0
