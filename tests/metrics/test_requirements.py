"""Cuts under a requirement: every cut tried one by one; guarantees beside their definitions."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ranking_definitions import rankings
from scipy.stats import binom, norm
from sklearn.metrics import precision_score, recall_score

from everypair import AUCClassifier
from everypair.metrics import cut_for, threshold_for
from everypair.metrics.guarantees import (
    binomial_test,
    fewest,
    highest_share,
    lowest_share,
    most,
    precise,
)


def tables(y, s, weight):
    """``(a, b, c, d, n)`` for each cut, highest first: hits, false alarms, misses, the rest, and
    how many rows are above."""
    w = np.ones(y.size) if weight is None else weight
    for t in [np.inf, *np.unique(s[w > 0])[::-1] - 1e-9]:
        called = s > t
        a, b = w[y & called].sum(), w[~y & called].sum()
        c, d = w[y & ~called].sum(), w[~y & ~called].sum()
        yield a, b, c, d, np.count_nonzero(called & (w > 0))


def ratio(part, whole):
    return part / whole if whole > 0 else -1.0


VALUES = {
    "precision": lambda a, b, c, d: ratio(a, a + b),
    "recall": lambda a, b, c, d: a / (a + c),
    "npv": lambda a, b, c, d: ratio(d, c + d),
    "specificity": lambda a, b, c, d: d / (b + d),
    "fpr": lambda a, b, c, d: b / (b + d),
    "f1": lambda a, b, c, d: 2 * a / (2 * a + b + c),
    "accuracy": lambda a, b, c, d: (a + d) / (a + b + c + d),
}
COUNTERPART = {"precision": "recall", "recall": "precision", "npv": "specificity"}


@settings(deadline=None, derandomize=True)
@given(
    rankings(),
    st.sampled_from(["precision", "recall", "npv"]),
    st.floats(0.01, 0.99),
    st.sampled_from([None, "f1", "accuracy", "specificity", "recall"]),
)
def test_of_the_cuts_that_meet_a_floor_the_best_is_taken(data, floor, wanted, rule):
    y, s, weight = data
    cuts = [table[:4] for table in tables(y, s, weight)]
    goal = VALUES[rule or COUNTERPART[floor]]
    allowed = [goal(*cut) for cut in cuts if VALUES[floor](*cut) >= wanted]
    if not allowed:
        with pytest.raises(ValueError, match="highest that a cut reaches") as caught:
            threshold_for(y, s, rule, sample_weight=weight, **{floor: wanted})
        best = max(VALUES[floor](*cut) for cut in cuts)
        assert f"reaches is {best:.3g}." in str(caught.value)
        return
    cut = cut_for(y, s, rule, sample_weight=weight, **{floor: wanted})
    w = np.ones(y.size) if weight is None else weight
    called = s > cut.threshold
    ours = (
        w[y & called].sum(), w[~y & called].sum(), w[y & ~called].sum(), w[~y & ~called].sum()
    )  # fmt: skip
    assert VALUES[floor](*ours) >= wanted - 1e-9
    assert goal(*ours) >= max(allowed) - 1e-9
    for name in ("recall", "fpr", "precision", "npv"):
        assert getattr(cut, name) == pytest.approx(max(0, VALUES[name](*ours)), abs=1e-9)
    assert cut.share == pytest.approx((ours[0] + ours[1]) / w.sum())


@settings(deadline=None, derandomize=True)
@given(rankings(), st.integers(1, 130), st.floats(0.001, 1))
def test_top_takes_as_many_rows_as_allowed(data, count, share):
    y, s, weight = data
    kept = np.ones(y.size, dtype=bool) if weight is None else weight > 0
    cuts = list(tables(y, s, weight))
    above = np.count_nonzero((s > threshold_for(y, s, top=count, sample_weight=weight)) & kept)
    assert above == max(n for *_, n in cuts if n <= count)
    cut = cut_for(y, s, top=share, sample_weight=weight)
    shares = [(a + b) / (a + b + c + d) for a, b, c, d, _ in cuts]
    assert cut.share <= share + 1e-9
    assert cut.share >= max(q for q in shares if q <= share - 1e-9) - 1e-9


def test_requirements_by_hand():
    y, s = [0, 0, 1, 0, 1, 1], [1, 2, 3, 4, 5, 6]
    assert threshold_for(y, s, precision=1.0) == 4.5
    assert threshold_for(y, s, precision=0.7) == 2.5
    assert threshold_for(y, s, npv=1.0) == 2.5
    assert threshold_for(y, s, npv=0.7) == 4.5
    assert threshold_for(y, s, top=2) == 4.5
    assert threshold_for(y, s, top=1 / 3) == 4.5
    assert threshold_for(y, [1, 2, 3, 4, 5, 5], top=1) > 5
    assert threshold_for(y, s, "f1", recall=0.9) == 2.5
    assert threshold_for(y, s, recall=0.3, cost=(100, 1)) == 4.5
    assert threshold_for(y, s, "recall", fpr=0.4) == threshold_for(y, s, fpr=0.4) == 2.5
    text = str(cut_for(y, s, precision=0.7))
    assert text == (
        "threshold 2.5: recall 1.000, false positive rate 0.333, precision 0.750, 66.7% of the rows"
    )
    text = str(cut_for(y * 50, s * 50, precision=0.7, guarantee=0.9))
    assert text.endswith("; precision at least 0.700 on new rows, with 90 % confidence")


def test_estimators_take_requirements():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((600, 3))  # rows for training scores to make the cut
    y = X[:, 0] + rng.standard_normal(600) > 0.5
    for threshold in (
        {"precision": 0.8},
        {"recall": 0.9, "rule": "f1"},
        {"top": 0.1},
        {"npv": 0.9},
    ):
        model = AUCClassifier(threshold=threshold).fit(X, y)
        scores = model.decision_function(X) - model.intercept_[0]
        t = threshold_for(y, scores, **threshold)
        assert np.array_equal(model.predict(X), scores > t)
    strict = AUCClassifier(threshold={"precision": 0.8}).fit(X, y).predict(X)
    assert precision_score(y, strict) >= 0.8
    assert recall_score(y, strict) > 0.2


@settings(deadline=None, derandomize=True)
@given(st.integers(1, 400), st.floats(0.001, 0.999), st.floats(0.001, 0.5))
def test_order_statistics_are_the_binomial_tail(n, share, risk):
    k = most(n, share, risk)
    assert k < 0 or binom.cdf(k, n, share) <= risk + 1e-12
    assert binom.cdf(k + 1, n, share) > risk - 1e-12
    if k >= 0:
        bound = highest_share(k, n, risk)
        assert bound <= share + 1e-12
        assert binom.cdf(k, n, bound) == pytest.approx(risk, abs=1e-9)
    k = fewest(n, share, risk)
    assert k > n or binom.sf(k - 1, n, share) <= risk + 1e-12
    assert binom.sf(k - 2, n, share) > risk - 1e-12
    if k <= n:
        bound = lowest_share(k, n, risk)
        assert bound >= share - 1e-12
        assert binom.sf(k - 1, n, bound) == pytest.approx(risk, abs=1e-9)


def test_a_guaranteed_precision_passes_the_binomial_test_at_its_cut():
    rng = np.random.default_rng(3)
    for ties in (False, True):
        y = rng.random(1500) < 0.3
        s = rng.normal(size=1500) + 1.5 * y
        s = np.round(s * 2) if ties else s
        cut = cut_for(y, s, precision=0.6, guarantee=0.9)
        above = s > cut.threshold
        assert binom.sf(np.sum(y & above) - 1, above.sum(), 0.6) <= 0.1
        assert cut.bound == 0.6
        assert cut.recall > 0.3
        mirrored = cut_for(~y, -s, npv=0.6, guarantee=0.9)
        assert np.array_equal(-s <= mirrored.threshold, above)


@settings(deadline=None, derandomize=True, max_examples=50)
@given(st.integers(0, 2**32 - 1), st.floats(0.05, 0.95), st.floats(0.02, 0.3))
def test_the_sequence_looks_at_counts_only_and_never_back(seed, precision, risk):
    """Labels of rows that only cuts with more rows contain cannot change whether a cut passes."""
    rng = np.random.default_rng(seed)
    n = 600
    y = rng.random(n) < np.linspace(1, 0, n)
    above = np.arange(n + 1.0)
    test = binomial_test(above, np.concatenate([[0], np.cumsum(y)]))
    passed = precise(above, test, precision, risk)
    split = int(rng.integers(1, n))
    y[split:] = rng.random(n - split) < 0.5
    test = binomial_test(above, np.concatenate([[0], np.cumsum(y)]))
    other = precise(above, test, precision, risk)
    np.testing.assert_array_equal(passed[: split + 1], other[: split + 1])


@pytest.mark.parametrize(
    ("asked", "best"),
    [
        ({"fpr": 0.01}, r"100 rows guarantee no less than 0.0295"),
        ({"recall": 0.99}, r"50 positive rows guarantee at most 0.942"),
        ({"top": 0.01}, r"150 rows guarantee no less than 0.0198"),
        ({"precision": 0.99}, r"cuts of these rows guarantee at most 0\.\d+\."),
        ({"npv": 1.0}, r"cuts of these rows guarantee at most 0\.\d+\."),
    ],
)
def test_the_best_attainable_is_named_and_can_be_asked_for(asked, best):
    rng = np.random.default_rng(1)
    y = np.arange(150) < 50
    s = rng.normal(size=150) + 1.5 * y
    with pytest.raises(ValueError, match=r"with 95 % confidence: " + best) as caught:
        threshold_for(y, s, guarantee=0.95, **asked)
    said = float(str(caught.value).split("is ")[-1].split(". ")[0]) if "is 0" in best else None
    if said is not None:
        (name,) = asked
        threshold_for(y, s, guarantee=0.95, **{name: said})
        with pytest.raises(ValueError, match="No cut has"):
            threshold_for(y, s, guarantee=0.95, **{name: said + 0.002})


def test_weights_of_whole_classes_keep_the_guarantee_and_others_are_refused():
    """Negatives of weight 3 are as three times as many: an odds of 3 on the precision."""
    rng = np.random.default_rng(4)
    y = rng.random(2000) < 0.4
    s = rng.normal(size=2000) + 2 * y
    weight = np.where(y, 1.0, 3.0)
    plain = threshold_for(y, s, precision=0.75, guarantee=0.9)
    assert threshold_for(y, s, precision=0.5, guarantee=0.9, sample_weight=weight) == plain
    plain = threshold_for(y, s, npv=0.75, guarantee=0.9)
    assert threshold_for(y, s, npv=0.9, guarantee=0.9, sample_weight=weight) == plain
    for rate in ({"fpr": 0.1}, {"recall": 0.8}):
        plain = threshold_for(y, s, guarantee=0.9, **rate)
        assert threshold_for(y, s, "f1", guarantee=0.9, sample_weight=weight, **rate) is not None
        assert threshold_for(
            y, s, "specificity", recall=0.8, guarantee=0.9, sample_weight=weight
        ) == threshold_for(y, s, "specificity", recall=0.8, guarantee=0.9)
    with pytest.raises(ValueError, match="the same weight for all rows of a class"):
        threshold_for(y, s, fpr=0.1, guarantee=0.9, sample_weight=rng.random(2000))
    with pytest.raises(ValueError, match="needs rows of equal weight"):
        threshold_for(y, s, top=0.1, guarantee=0.9, sample_weight=weight)
    with pytest.raises(ValueError, match="give a share"):
        threshold_for(y, s, top=100, guarantee=0.9)


def shares_kept(asked, guarantee, n, prevalence, shift, discrete, repetitions, seed):
    """In which share of samples the requirement holds in the population of normal scores."""
    rng = np.random.default_rng(seed)
    kept = 0
    for _ in range(repetitions):
        y = rng.random(n) < prevalence
        s = rng.normal(size=n) + shift * y
        s = np.round(2 * s) / 2 if discrete else s
        try:
            t = threshold_for(y, s, guarantee=guarantee, **asked)
        except ValueError:
            kept += 1
            continue
        edge = (np.floor(2 * t) + 0.5) / 2 if discrete else t
        tpr, fpr = norm.sf(edge - shift), norm.sf(edge)
        hits, alarms = prevalence * tpr, (1 - prevalence) * fpr
        misses, rest = prevalence - hits, 1 - prevalence - alarms
        value = {
            "fpr": fpr, "recall": tpr, "precision": hits / (hits + alarms),
            "npv": rest / (rest + misses), "top": hits + alarms,
        }  # fmt: skip
        ((name, wanted),) = asked.items()
        kept += value[name] <= wanted if name in ("fpr", "top") else value[name] >= wanted
    return kept / repetitions


@pytest.mark.parametrize("discrete", [False, pytest.param(True, marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    "asked",
    [
        {"fpr": 0.1},
        pytest.param({"recall": 0.7}, marks=pytest.mark.slow),
        {"precision": 0.5},
        pytest.param({"npv": 0.9}, marks=pytest.mark.slow),
        {"top": 0.2},
    ],
    ids=str,
)
def test_the_requirement_holds_on_new_rows_as_often_as_promised(asked, discrete):
    kept = shares_kept(asked, 0.9, 400, 0.25, 1.2, discrete, 400, seed=11)
    assert kept > 0.9 - 3 * np.sqrt(0.09 / 400)
