"""Tests between models: pROC's values, the size under the null, and Holm."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from ranking_definitions import pair_values
from scipy.special import ndtr, ndtri
from scipy.stats import f as f_distribution
from scipy.stats import t
from test_inference import degrees_by_definition, quadratic_delong

from everypair.metrics import auc_confidence_interval, compare_auc, compare_models, holm


def two_models(rng, n=200, auc=0.75, correlation=0.5):
    """Scores of two equally good models on the same rows."""
    y = np.arange(n) < n // 2
    shared = rng.standard_normal(n)
    return y, *(
        np.sqrt(correlation) * shared
        + np.sqrt(1 - correlation) * rng.standard_normal(n)
        + np.sqrt(2) * ndtri(auc) * y
        for _ in range(2)
    )


def test_paired_standard_error_is_that_of_the_quadratic_covariance():
    rng = np.random.default_rng(0)
    y, s1, s2 = two_models(rng, 90)
    s2 = np.round(s2)
    weight = rng.random(90)
    for w in (None, weight):
        cov = quadratic_delong(y, [s1, s2], w)
        test = compare_auc(y, s1, s2, sample_weight=w)
        assert test.se**2 == pytest.approx(cov[0, 0] + cov[1, 1] - 2 * cov[0, 1], abs=1e-13)
        assert test.z == pytest.approx(test.difference / test.se)
    swapped = compare_auc(y, s2, s1)
    straight = compare_auc(y, s1, s2)
    assert swapped.z == pytest.approx(-straight.z)
    assert swapped.p == pytest.approx(straight.p)


def test_unpaired_variances_add():
    rng = np.random.default_rng(1)
    y, s1, s2 = two_models(rng, 100)
    y1, y2 = y[::2], y[1::2]
    test = compare_auc((y1, y2), s1[::2], s2[1::2], paired=False)
    alone = [auc_confidence_interval(a, b) for a, b in ((y1, s1[::2]), (y2, s2[1::2]))]
    assert test.se**2 == pytest.approx(sum(one.se**2 for one in alone))
    assert test.difference == pytest.approx(alone[0].auc - alone[1].auc)
    drawn = compare_auc(
        (y1, y2), s1[::2], s2[1::2], paired=False, method="bootstrap", random_state=0
    )
    assert drawn.se == pytest.approx(test.se, rel=0.1)


@pytest.mark.slow  # its standard error and its distribution are checked by their definitions
def test_paired_test_rejects_a_true_null_as_often_as_it_says():
    rng = np.random.default_rng(2)
    rejected = {"paired": 0, "covered": 0}
    repeats = 2000
    for _ in range(repeats):
        test = compare_auc(*two_models(rng))
        rejected["paired"] += test.p < 0.05
        rejected["covered"] += test.low <= 0 <= test.high
    assert 0.035 <= rejected["paired"] / repeats <= 0.065
    assert rejected["covered"] == repeats - rejected["paired"]


def few_positives(rng, n_positive, n_negative):
    """Two equally good models, AUC 0.75."""
    y = np.arange(n_positive + n_negative) < n_positive
    return y, *(rng.standard_normal((2, y.size)) + np.sqrt(2) * ndtri(0.75) * y)


@pytest.mark.slow  # the next test has the distribution by its definition
@pytest.mark.parametrize(("n_positive", "n_negative"), [(5, 100), (10, 200)])
def test_few_positives_do_not_make_the_test_reject(n_positive, n_negative):
    """The normal distribution rejects 8 % here."""
    rng = np.random.default_rng(21)
    tests = [compare_auc(*few_positives(rng, n_positive, n_negative)) for _ in range(1500)]
    assert np.mean([test.p < 0.05 for test in tests]) <= 0.062
    assert np.mean([2 * ndtr(-abs(test.z)) < 0.05 for test in tests]) >= 0.065


@pytest.mark.parametrize("spread", [0.0, 1e-9, 1.0])
def test_p_and_interval_are_of_students_t_over_the_two_classes(spread):
    rng = np.random.default_rng(22)
    y, s1, s2 = few_positives(rng, 9, 30)
    weight = np.exp(spread * rng.standard_normal(y.size))
    test = compare_auc(y, s1, s2, sample_weight=weight)
    df = degrees_by_definition(y, [s1, s2], weight)
    assert test.df == pytest.approx(df, rel=1e-12)
    assert test.p == pytest.approx(2 * t.sf(abs(test.z), df), rel=1e-12)
    assert test.high - test.difference == pytest.approx(t.ppf(0.975, df) * test.se, rel=1e-12)
    if spread < 1e-6:
        assert test.p == pytest.approx(compare_auc(y, s1, s2).p, rel=1e-6)
    once, again = (auc_confidence_interval(y, s, sample_weight=weight) for s in (s1, s2))
    apart = compare_auc((y, y), s1, s2, paired=False, sample_weight=(weight, weight))
    doubt = once.se**4 / once.df + again.se**4 / again.df
    assert apart.df == pytest.approx((once.se**2 + again.se**2) ** 2 / doubt)


@pytest.mark.parametrize("spread", [0.0, 1.0])
def test_all_models_at_once_have_the_degrees_of_nel_and_van_der_merwe(spread):
    """From the quadratic covariances of the classes; a class loses to weights as for one model."""
    rng = np.random.default_rng(23)
    y, s1, s2 = few_positives(rng, 25, 40)
    s3 = rng.standard_normal(y.size) + y
    w = np.exp(spread * rng.standard_normal(y.size))
    result = compare_models(y, {"a": s1, "b": s2, "c": s3}, sample_weight=w)
    psi = np.array([pair_values(y, s1) - pair_values(y, other) for other in (s2, s3)])
    a, b = w[y] / w[y].sum(), w[~y] / w[~y].sum()
    gaps = a @ psi @ b
    classes = ((a, psi @ b - gaps[:, None]), (b, a @ psi - gaps[:, None]))
    covariances = [(share**2 / (1 - share) * d) @ d.T for share, d in classes]
    inverse = np.linalg.inv(sum(covariances))
    doubt = 0.0
    for (share, d), own in zip(classes, covariances, strict=True):
        q = np.einsum("ki,kl,li->i", d, inverse, d)
        more = np.sum((share**2 * q) ** 2) / np.sum(share**2 * q) ** 2 - np.sum(q**2) / q.sum() ** 2
        m = own @ inverse
        loss = 1 / (share.size - 1) + max(0.0, more)
        doubt += (np.trace(m @ m) + np.trace(m) ** 2) * loss
    nu = (2 + 4) / doubt
    assert result.chi2 == pytest.approx(gaps @ inverse @ gaps)
    statistic = (nu - 1) / (2 * nu) * result.chi2
    assert result.p == pytest.approx(f_distribution.sf(statistic, 2, nu - 1), rel=1e-10)


def test_the_test_finds_a_real_difference():
    rng = np.random.default_rng(3)
    y, s1, s2 = two_models(rng, 400)
    assert compare_auc(y, s1 + y, s2).p < 0.01


def test_bootstrap_agrees_with_delong_and_does_partial_areas():
    rng = np.random.default_rng(4)
    y, s1, s2 = two_models(rng, 600)
    exact = compare_auc(y, s1, s2)
    drawn = compare_auc(y, s1, s2, method="bootstrap", random_state=0)
    assert drawn.difference == pytest.approx(exact.difference)
    assert drawn.se == pytest.approx(exact.se, rel=0.08)
    partial = compare_auc(y, s1 + y, s2, method="bootstrap", max_fpr=0.2, random_state=0)
    assert partial.p < 0.01
    assert partial.low <= partial.difference <= partial.high


def test_models_that_rank_alike_do_not_differ():
    rng = np.random.default_rng(5)
    y, s, _ = two_models(rng, 60)
    test = compare_auc(y, s, np.exp(s))
    assert (test.z, test.p, test.difference) == (0.0, 1.0, 0.0)
    several = compare_models(y, {"a": s, "b": np.exp(s), "c": s**3})
    assert several.df == 0
    assert several.p == 1.0


def test_several_models_are_their_pairs_with_holm():
    rng = np.random.default_rng(6)
    y, s1, s2 = two_models(rng, 150)
    scores = {"one": s1, "two": s2, "three": s1 + 0.5 * y, "four": rng.standard_normal(150)}
    result = compare_models(y, scores)
    assert len(result.pairs) == 6
    for (first, second), test in zip(result.pairs, result.comparisons, strict=True):
        alone = compare_auc(y, scores[first], scores[second])
        assert test.p == pytest.approx(alone.p)
        assert test.se == pytest.approx(alone.se)
    np.testing.assert_allclose(result.p_holm, holm([test.p for test in result.comparisons]))
    cov = quadratic_delong(y, list(scores.values()))
    np.testing.assert_allclose(result.covariance, cov, atol=1e-13)
    contrast = np.array([[1, -1, 0, 0], [0, 1, -1, 0], [0, 0, 1, -1]])
    gap = contrast @ result.auc
    chi2 = gap @ np.linalg.solve(contrast @ cov @ contrast.T, gap)
    assert result.chi2 == pytest.approx(chi2)
    assert result.df == 3


def test_two_models_at_once_are_one_paired_test():
    rng = np.random.default_rng(7)
    y, s1, s2 = two_models(rng, 80)
    both, pair = compare_models(y, {"a": s1, "b": s2}), compare_auc(y, s1, s2)
    assert both.chi2 == pytest.approx(pair.z**2)
    assert both.p == pytest.approx(pair.p)


def test_holm_by_hand():
    """0.01 x 4, 0.02 x 3, 0.03 x 2 = 0.06 (kept), 0.6 x 1; back in the given order."""
    np.testing.assert_allclose(holm([0.03, 0.01, 0.6, 0.02]), [0.06, 0.04, 0.6, 0.06])
    np.testing.assert_allclose(holm([0.5, 0.9]), [1.0, 1.0])
    with pytest.raises(ValueError, match="between 0 and 1"):
        holm([0.5, np.nan])


def test_grouped_difference_is_wider_where_rows_repeat():
    rng = np.random.default_rng(8)
    y, s1, s2 = two_models(rng, 100)
    twice = np.tile(np.arange(100), 2)
    grouped = compare_auc(y[twice], s1[twice], s2[twice], groups=twice)
    assert grouped.se == pytest.approx(compare_auc(y, s1, s2).se)
    assert grouped.se > 1.3 * compare_auc(y[twice], s1[twice], s2[twice]).se


@pytest.mark.parametrize(
    ("arguments", "options", "says"),
    [
        (([0, 1, 0, 1], [1, 2, 3, 4], [2, 2, 2, 2]), {}, "y_score2 has the single value 2"),
        (
            ([0, 1, 0, 1], [1, 2, 3, 4], [1, 2, 3, np.nan]),
            {},
            "y_score2 has the value nan in row 3",
        ),
        (([0, 1, 0, 1], [1, 2, 3, 4], [4, 1, 2, 3]), {"paired": False}, "give y_true as a pair"),
        (([0, 1, 0, 1], [1, 2, 3, 4], [4, 1, 2, 3]), {"max_fpr": 0.2}, "method='bootstrap'"),
        (([0, 1, 0, 1], [1, 2, 3, 4], [4, 1, 2, 3]), {"method": "venkatraman"}, "not known"),
        (([0, 0, 1, 1], [1, 2, 3, 4], [4, 3, 2, 1]), {}, "no standard error"),
    ],
)
def test_what_cannot_be_compared_says_so(arguments, options, says):
    with pytest.raises(ValueError, match=says):
        compare_auc(*arguments, **options)


def test_one_model_is_no_comparison():
    with pytest.raises(ValueError, match="at least two models"):
        compare_models([0, 1], {"a": [0, 1]})


def test_paired_tests_are_those_of_proc():
    """`roc.test` of pROC on its aSAH data (GPL; lab/notes/metrics.md: how to get it)."""
    import pandas as pd

    file = Path(os.environ.get("EVERYPAIR_DATA", "")) / "aSAH" / "aSAH.csv"
    if not file.is_file():
        pytest.skip("aSAH.csv is not among the data")
    data = pd.read_csv(file)
    for first, second, z, p, low, high, unpaired in (
        ("wfns", "s100b", 2.20898359144091, 0.0271757822291882, 0.0104061769564846,
         0.174214419249478, 1.43490640926908),
        ("wfns", "ndka", 2.79777591868904, 0.00514557970691098, 0.0634011709339876,
         0.3600405634833566, 3.10125096778969),
        ("ndka", "s100b", -1.39077002573558, 0.164295175223054, -0.2876917446341914,
         0.0488706064228094, -1.55995743389685),
    ):  # fmt: skip
        test = compare_auc(data.outcome, data[first], data[second])
        assert (test.z, 2 * ndtr(-abs(test.z))) == pytest.approx((z, p), rel=1e-12)
        assert test.p > p  # Student's t where pROC takes the normal distribution
        reach = ndtri(0.975) * test.se
        ends = test.difference - reach, test.difference + reach
        assert ends == pytest.approx((low, high), rel=1e-12)
        y = data.outcome.to_numpy()
        test = compare_auc((y, y), data[first], data[second], paired=False)
        assert test.z == pytest.approx(unpaired, rel=1e-12)
    for name, variance in (("ndka", 0.0031908105493913), ("s100b", 0.00266868245717244)):
        ours = auc_confidence_interval(data.outcome, data[name])
        assert ours.se**2 == pytest.approx(variance, rel=1e-12)


@pytest.mark.parametrize("method", ["delong", "bootstrap"])
@pytest.mark.parametrize("paired", [True, False])
def test_two_perfect_models_on_few_rows_may_still_differ(method, paired):
    """se = 0, but three rows of each class cannot say that the areas are equal."""
    y = np.array([0, 0, 0, 1, 1, 1])
    s1, s2 = np.arange(6.0), np.array([0.0, 2, 1, 4, 3, 5])
    test = compare_auc(
        y if paired else (y, y), s1, s2, paired, method=method, n_bootstrap=20, random_state=0
    )
    assert (test.difference, test.se, test.z, test.p) == (0.0, 0.0, 0.0, 1.0)
    bound = 0.0125 ** (1 / 3)
    assert (test.low, test.high) == pytest.approx((bound - 1, 1 - bound))
    if paired and method == "delong":
        (inside,) = compare_models(y, {"a": s1, "b": s2}).comparisons
        assert (inside.low, inside.high) == (test.low, test.high)
        alike = compare_auc(y, s1, np.exp(s1))
        assert (alike.low, alike.high) == (0.0, 0.0)


def test_equal_groups_are_said_to_have_no_spread():
    y, s = np.array([1, 0, 0] * 2), np.array([2.0, 1, 3] * 2)
    with pytest.raises(ValueError, match="give more rows or groups"):
        compare_auc(y, s, [5, 1, 3] * 2, groups=[0, 0, 0, 1, 1, 1])


def test_models_come_as_a_data_frame_too():
    import pandas as pd
    import polars as pl

    rng = np.random.default_rng(9)
    y, s1, s2 = two_models(rng, 60)
    expected = compare_models(y, {"a": s1, "b": s2})
    for frame in (pd.DataFrame({"a": s1, "b": s2}), pl.DataFrame({"a": s1, "b": s2})):
        result = compare_models(y, frame)
        assert result.names == ("a", "b")
        assert result.p == expected.p


@pytest.mark.parametrize("third", [[2, 1, 3, 4], np.array([2, 1, 3, 4]), 1])
def test_a_third_model_is_sent_to_compare_models(third):
    with pytest.raises(ValueError, match="compare_models"):
        compare_auc([0, 1, 0, 1], [1, 2, 3, 4], [2, 1, 3, 4], third)
