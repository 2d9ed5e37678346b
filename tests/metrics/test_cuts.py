"""Thresholds, F-beta, the measures at k and of Table 1: every cut tried one by one."""

from __future__ import annotations

import itertools
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ranking_definitions import rankings
from sklearn.metrics import accuracy_score, fbeta_score, precision_score

from everypair import AUCClassifier
from everypair.metrics import (
    accuracy_from_rates,
    f_from_rates,
    fbeta_max,
    prbep,
    precision_at_k,
    precision_from_rates,
    recall_at_k,
    threshold_for,
    wracc_from_rates,
)


def every_cut(y, s, weight):
    """``(threshold, tp, fp, fn)`` of a cut below, between and above all scores."""
    w = np.ones(y.size) if weight is None else weight
    levels = np.unique(s[w > 0])
    cuts = [levels[0] - 1, *((levels[1:] + levels[:-1]) / 2), levels[-1]]
    for t in cuts:
        called = s > t
        yield t, w[y & called].sum(), w[~y & called].sum(), w[y & ~called].sum()


@settings(deadline=None, derandomize=True)
@given(rankings(), st.sampled_from(["accuracy", "balanced", "f1", "cost"]))
def test_no_cut_is_better_than_the_chosen_one(data, rule):
    y, s, weight = data
    w = np.ones(y.size) if weight is None else weight
    n_positive, n_negative = w[y].sum(), w[~y].sum()

    def worth(tp, fp, fn):
        return {
            "accuracy": (tp - fp) / (n_positive + n_negative),
            "balanced": tp / n_positive - fp / n_negative,
            "f1": 2 * tp / (2 * tp + fp + fn),
            "cost": -(2.0 * fp + 5.0 * fn) / (n_positive + n_negative),
        }[rule]

    if rule == "cost":
        t = threshold_for(y, s, cost=(2, 5), sample_weight=weight)
    else:
        t = threshold_for(y, s, rule, sample_weight=weight)
    called = s > t
    ours = worth(w[y & called].sum(), w[~y & called].sum(), w[y & ~called].sum())
    best = max(worth(tp, fp, fn) for _, tp, fp, fn in every_cut(y, s, weight))
    assert ours == pytest.approx(best, abs=1e-9)


@settings(deadline=None, derandomize=True)
@given(rankings(), st.floats(0, 1))
def test_rates_asked_for_are_kept_and_no_cut_does_better(data, share):
    y, s, weight = data
    w = np.ones(y.size) if weight is None else weight
    positive, negative = w[y].sum(), w[~y].sum()
    t = threshold_for(y, s, fpr=share, sample_weight=weight)
    tpr, fpr = w[y & (s > t)].sum() / positive, w[~y & (s > t)].sum() / negative
    assert fpr <= share + 1e-9
    allowed = [tp for _, tp, fp, _ in every_cut(y, s, weight) if fp / negative <= share - 1e-9]
    assert all(tp / positive <= tpr + 1e-9 for tp in allowed)
    t = threshold_for(y, s, "specificity", recall=share, sample_weight=weight)
    tpr, fpr = w[y & (s > t)].sum() / positive, w[~y & (s > t)].sum() / negative
    assert tpr >= share - 1e-9
    allowed = [fp for _, tp, fp, _ in every_cut(y, s, weight) if tp / positive >= share + 1e-9]
    assert all(fp / negative >= fpr - 1e-9 for fp in allowed)


def test_thresholds_by_hand():
    y, s = [0, 0, 1, 0, 1, 1], [1, 2, 3, 4, 5, 6]
    assert threshold_for(y, s, "accuracy") == 4.5
    assert threshold_for(y, s, fpr=0.0) == 4.5
    assert threshold_for(y, s, fpr=0.34) == 2.5
    assert threshold_for(y, s, fpr=1 / 3) == 2.5
    assert threshold_for(y, s, recall=0.5) == 4.5
    assert threshold_for(y, s, cost=(10, 1)) == 4.5
    assert 6.0 < threshold_for(y, s, cost=(1, 0)) < 6.1
    assert threshold_for(["b" if v else "a" for v in y], s, "f1") == 2.5
    # The other label as positive: its highest scores are the wrong end.
    assert 6.0 < threshold_for(y, s, "accuracy", pos_label=0) < 6.1


def test_a_cut_between_neighbouring_floats_still_separates():
    low = 1.0
    high = np.nextafter(low, 2)
    t = threshold_for([0, 1], [low, high], "accuracy")
    assert not low > t
    assert high > t


@pytest.mark.parametrize(
    ("rule", "options"),
    [
        (None, {}),
        ("best", {}),
        ("midpoint", {"fpr": 0.1}),
        ("recall", {}),
        ("f1", {"cost": (1, 2)}),
        ("f1", {"guarantee": 0.9}),
        (None, {"guarantee": 0.9}),
        (None, {"precision": 1.5}),
        (None, {"top": 0}),
        (None, {"top": 1.5}),
        (None, {"top": True}),
        (None, {"npv": "0.5"}),
        (None, {"fpr": 0.1, "recall": 0.9}),
        (None, {"fpr": 1.5}),
        (None, {"recall": -0.1}),
        (None, {"cost": (1, -1)}),
        (None, {"cost": (0, 0)}),
        (None, {"cost": 3}),
        ({"fpr": 0.1}, {}),
        (0.5, {}),
    ],
)
def test_a_wrong_rule_is_named_in_the_error(rule, options):
    wrong = repr(rule) if rule is not None else ""
    wrong = ", ".join(f"{name}={value!r}" for name, value in options.items()) or wrong
    with pytest.raises(ValueError, match=f"{re.escape(wrong)}.*(give|use|such as)"):
        threshold_for([0, 1], [0, 1], rule, **options)


@pytest.mark.parametrize(
    ("parameter", "call"),
    [
        ("f1", {"rule": "f1"}),
        ({"fpr": 0.05}, {"fpr": 0.05}),
        ({"recall": 0.9}, {"recall": 0.9}),
        ({"cost": (1, 9)}, {"cost": (1, 9)}),
    ],
)
def test_estimators_cut_where_threshold_for_does(parameter, call):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((600, 3))  # rows for training scores to make the cut
    y = np.where(X[:, 0] + rng.standard_normal(600) > 0.5, "yes", "no")
    model = AUCClassifier(threshold=parameter).fit(X, y)
    scores = model.decision_function(X) - model.intercept_[0]
    t = threshold_for(y, scores, **call)
    assert np.array_equal(model.predict(X) == "yes", scores > t)


def test_an_estimators_cut_leaves_out_rows_of_weight_zero():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((80, 3))
    y = X[:, 0] + rng.standard_normal(80) > 0
    weight = np.repeat([1.0, 0.0], 40)
    with_zeros = AUCClassifier(threshold="accuracy").fit(X, y, weight)
    without = AUCClassifier(threshold="accuracy").fit(X[:40], y[:40])
    assert with_zeros.intercept_ == pytest.approx(without.intercept_, abs=1e-4)


@settings(deadline=None, derandomize=True)
@given(rankings(), st.sampled_from([0.5, 1.0, 2.0]))
def test_fbeta_max_is_the_best_of_all_cuts_and_its_threshold_reaches_it(data, beta):
    y, s, weight = data
    ours = fbeta_max(y, s, beta, sample_weight=weight)
    best = max(
        (1 + beta**2) * tp / ((1 + beta**2) * tp + beta**2 * fn + fp)
        for _, tp, fp, fn in every_cut(y, s, weight)
    )
    assert ours.value == pytest.approx(best, abs=1e-12)
    reached = fbeta_score(y, s > ours.threshold, beta=beta, sample_weight=weight, zero_division=0)
    assert reached == pytest.approx(ours.value, abs=1e-12)


@settings(deadline=None, derandomize=True)
@given(st.integers(0, 2**32 - 1), st.integers(2, 7))
def test_at_k_is_the_mean_over_every_way_to_break_ties(seed, n):
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(n) < rng.integers(1, n))
    s = rng.integers(0, 3, n).astype(float)
    k = int(rng.integers(1, n + 1))
    hits = []
    for order in itertools.permutations(range(n)):
        ranked = sorted(order, key=lambda i: -s[i])
        hits.append(y[ranked[:k]].sum())
    assert precision_at_k(y, s, k) == pytest.approx(np.mean(hits) / k)
    assert recall_at_k(y, s, k) == pytest.approx(np.mean(hits) / y.sum())


def test_k_is_a_count_a_share_or_a_multiple_of_the_positives():
    y, s = np.array([1, 0, 1, 0, 0, 0, 1, 0, 0, 0]), -np.arange(10.0)
    assert precision_at_k(y, s, 2) == precision_at_k(y, s, 0.2) == 0.5
    assert recall_at_k(y, s, "p") == recall_at_k(y, s, 3) == pytest.approx(2 / 3)
    assert recall_at_k(y, s, "2p") == recall_at_k(y, s, 6) == pytest.approx(2 / 3)
    assert recall_at_k(y, s, "0.5p") == recall_at_k(y, s, 2)
    assert recall_at_k(y, s, 1.0) == 1.0
    assert precision_at_k(y, s, np.int64(10)) == pytest.approx(0.3)
    assert prbep(y, s) == precision_at_k(y, s, "p") == recall_at_k(y, s, "p")
    assert precision_at_k(y, s, 1, pos_label=0) == 0.0


@pytest.mark.parametrize(
    "k", [0, -1, 11, 0.0, 1.5, -0.1, "4p", "p2", "", "0", True, None, float("nan")]
)
def test_k_out_of_range_is_a_clear_error(k):
    y, s = np.array([1, 0, 1, 0, 0, 0, 1, 0, 0, 0]), -np.arange(10.0)
    with pytest.raises(ValueError, match="k="):
        precision_at_k(y, s, k)


@settings(deadline=None, derandomize=True)
@given(st.integers(0, 2**32 - 1))
def test_table_1_equals_the_measures_of_the_labels(seed):
    """Rakotomamonjy (2004), Table 1, beside scikit-learn on the labels themselves."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(4, 60))
    y = rng.permutation(np.arange(n) < rng.integers(1, n))
    called = rng.random(n) < 0.5
    tpr, fpr = called[y].mean(), called[~y].mean()
    skew = (~y).sum() / y.sum()
    assert accuracy_from_rates(tpr, fpr, skew) == pytest.approx(accuracy_score(y, called))
    precision = precision_score(y, called, zero_division=0)
    assert precision_from_rates(tpr, fpr, skew) == pytest.approx(precision)
    assert f_from_rates(tpr, fpr, skew) == pytest.approx(
        fbeta_score(y, called, beta=1, zero_division=0)
    )
    # WRAcc by its definition: P(called) (precision - P(positive)), times 4.
    wracc = 4 * (np.mean(called & y) - called.mean() * y.mean())
    assert wracc_from_rates(tpr, fpr, skew) == pytest.approx(wracc)


def test_rates_broadcast_and_are_checked():
    rates = np.linspace(0, 1, 5)
    assert accuracy_from_rates(rates[:, None], rates, 2).shape == (5, 5)
    for function in (accuracy_from_rates, precision_from_rates, f_from_rates, wracc_from_rates):
        with pytest.raises(ValueError, match=r"tpr has the value 1\.2"):
            function(1.2, 0, 1)
        with pytest.raises(ValueError, match="skew"):
            function(1, 0, 0)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_a_cut_of_rounded_scores_keeps_its_promise(dtype):
    """NumPy rounds a number to float32 before it compares float32 with it."""
    rng = np.random.default_rng(2)
    small = np.array([1, 0, 1, 0, 1]), np.array([0.1, 0.2, 0.3, 0.4, 0.5])
    tight = np.array([1, 0] * 4), 1 + np.arange(8) * float(np.finfo(dtype).eps)
    wild = rng.random(300) < 0.5, rng.random(300)
    for labels, scores in (small, tight, wild):
        y, s = labels.astype(bool), scores.astype(dtype)
        assert np.all((s > threshold_for(y, s, recall=1.0))[y])
        assert not np.any(s > threshold_for(y, s, cost=(1, 0)))
        assert np.mean((s > threshold_for(y, s, fpr=0.3))[~y]) <= 0.3
        best = fbeta_max(y, s, 2.0)
        assert fbeta_score(y, s > best.threshold, beta=2) == pytest.approx(best.value)


def test_of_equally_good_cuts_the_highest_is_taken():
    """0.1 - 0 and 0.8 - 0.7 differ in their last bit, 1 x 10 and 8 x 10 - 7 x 10 do not."""
    y = np.array([1] + [0] * 7 + [1] * 7 + [0] * 3 + [1] * 2)
    assert threshold_for(y, -np.arange(20.0), "balanced") == -0.5
    weight = np.full(20, 3.0)
    assert threshold_for(y, -np.arange(20.0), "balanced", sample_weight=weight) == -0.5


@pytest.mark.filterwarnings("error")
def test_cuts_of_the_largest_scores_do_not_overflow():
    s = [-1.5e308, 1.5e308]
    assert threshold_for([0, 1], s, "accuracy") == 0.0
    assert 1.5e308 < threshold_for([0, 1], s, cost=(1, 0)) < np.inf
    assert -np.inf < threshold_for([1, 0], s, recall=1.0) < -1.5e308


def test_costs_come_in_an_array_too():
    y, s = [0, 0, 1, 0, 1, 1], [1, 2, 3, 4, 5, 6]
    assert threshold_for(y, s, cost=np.array([1, 10])) == threshold_for(y, s, cost=(1, 10))
    with pytest.raises(ValueError, match="costs >= 0"):
        threshold_for(y, s, cost=("1", "10"))


def test_the_error_names_what_the_caller_can_write():
    for rule, options, said in (
        ("youden", {}, r"The rule 'youden' is not known: use .*'balanced' \(Youden"),
        (None, {"fpr": 5}, r"^fpr=5: give a share between 0 and 1\.$"),
        (None, {"recal": 0.8}, "unexpected keyword"),
        (None, {"recall": 0.5, "npv": 0.5}, "recall=0.5, npv=0.5 are 2 requirements: give one"),
        (None, {"guarantee": 0.9}, "guarantee=0.9 is the confidence of a requirement: give"),
        (None, {"recall": 0.5, "guarantee": 1}, "guarantee=1: give a confidence between 0 and 1"),
        (None, {"top": 0}, "top=0: give a count of rows of at least 1, or a share"),
        (None, {"top": 5, "guarantee": 0.9}, "top=5 counts these rows"),
        (None, {"cost": (1, -2)}, r"cost=\(1, -2\): give two costs >= 0"),
        ("f1", {"cost": (1, 2)}, r"The rule 'f1' and cost=\(1, 2\) are two rules"),
        ("recall", {}, "The rule 'recall' needs a requirement beside it, such as"),
        ("midpoint", {"recall": 0.8}, "'midpoint' does not go with recall=0.8: use 'accuracy'"),
        (None, {}, "needs something to go by: give a rule"),
    ):
        with pytest.raises((ValueError, TypeError), match=said):
            threshold_for([0, 1], [0, 1], rule, **options)
    with pytest.raises(
        ValueError, match=r"threshold=\{'fpr': 5\} is not a rule: .*\{'recall': 0.8\}"
    ):
        AUCClassifier(threshold={"fpr": 5}).fit([[0], [1]], [0, 1])


@pytest.mark.parametrize("rule", ["accuracy", "balanced", "f1"])
def test_classes_of_extreme_weights_are_still_cut(rule):
    y, s = [0, 0, 1, 1], [1, 3, 2, 4]
    for a, b in ((1e300, 1e-100), (1e-100, 1e300)):
        t = threshold_for(y, s, rule, sample_weight=[a, a, b, b])
        assert t in (0.5, 1.5, 2.5, 3.5) or 4 < t < 4.1
        assert threshold_for(y, s, recall=1.0, sample_weight=[a, a, b, b]) == 1.5
        assert 0 <= fbeta_max(y, s, sample_weight=[a, a, b, b]).value <= 1
    heavy = threshold_for(y, s, "accuracy", sample_weight=[1e300, 1e300, 1e-100, 1e-100])
    assert heavy == 3.5  # no negative above, and of those cuts the most positives
