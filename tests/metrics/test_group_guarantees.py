"""Guarantees where rows come in groups: bets on whole groups."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy.stats import norm

from everypair import AUCClassifier, AUCClassifierCV
from everypair.metrics import cut_for, threshold_for
from everypair.metrics.curve import Curve
from everypair.metrics.group_guarantees import STAKES, ScoredGroups, best_share, capital
from everypair.rows import Rows


def grouped(rng, n_groups=80, size=5, shift=1.5):
    """Scores and labels that depend on each other inside a group."""
    codes = np.repeat(np.arange(n_groups), rng.integers(1, 2 * size, n_groups))
    shared = rng.standard_normal((2, n_groups))[:, codes]
    own = rng.standard_normal((2, codes.size))
    latent, noise = np.sqrt(0.5) * shared + np.sqrt(0.5) * own
    y = latent > 0.5
    return y, noise + shift * y, codes


def test_the_mean_capital_is_one_where_the_mean_win_is_zero():
    """Over all 2^6 outcomes of six groups that win 0.3 or lose 0.7; a lower mean win, less."""
    wins = np.array([0.3, -0.7])
    for chance, mean in ((0.7, 1.0), (0.65, None)):
        total = 0.0
        for outcome in product((0, 1), repeat=6):
            weight = np.prod([chance if k == 0 else 1 - chance for k in outcome])
            total += weight * capital(wins[list(outcome)], 0.7)
        assert total == pytest.approx(1.0) if mean else total < 0.95


def test_capital_is_the_mean_over_stakes_of_products():
    wins = np.array([0.1, -0.4, 0.2])
    by_hand = np.mean([np.prod([1 + b * w / 0.5 for w in wins]) for b in STAKES])
    assert capital(wins, 0.5) == pytest.approx(by_hand)


@pytest.mark.parametrize(
    ("name", "wanted"), [("fpr", 0.3), ("top", 0.4), ("recall", 0.6)], ids=["fpr", "top", "recall"]
)
def test_the_guaranteed_cut_is_the_furthest_whose_evidence_suffices(name, wanted):
    y, s, codes = grouped(np.random.default_rng(1))
    groups = ScoredGroups(codes, s, y)
    cuts = Curve.of(Rows.of(y), s).cuts()
    enough = [groups.evidence(cut, name, wanted) >= 1 / 0.1 for cut in cuts]
    rule = "specificity" if name == "recall" else None
    found = threshold_for(y, s, rule, guarantee=0.9, groups=codes, **{name: wanted})
    furthest = cuts[enough].max() if name == "recall" else cuts[enough].min()
    assert found == furthest
    # One step further it does not: the search has found the end.
    next_cut = np.flatnonzero(cuts == furthest)[0] + (-1 if name == "recall" else 1)
    assert not enough[next_cut]


def test_shares_are_of_the_group_not_of_its_rows():
    y = np.array([0, 0, 0, 0, 1, 0, 1]) > 0
    s = np.array([3.0, 1.0, 1.0, 1.0, 5.0, 2.0, 0.0])
    groups = ScoredGroups(np.array([0, 0, 0, 0, 0, 1, 1]), s, y)
    assert groups.shares_at(1.5, "fpr") == pytest.approx([0.25, 1.0])
    assert groups.shares_at(1.5, "precision") == pytest.approx([0.5, 0.0])
    assert groups.shares_at(1.5, "npv") == pytest.approx([1.0, 0.0])
    assert groups.shares_at(4.0, "precision") == pytest.approx([1.0])  # one group has rows there


@pytest.mark.parametrize("asked", [{"fpr": 0.3}, {"recall": 0.7}, {"precision": 0.5}, {"npv": 0.6}])
def test_copies_of_rows_promise_nothing_more(asked):
    rng = np.random.default_rng(2)
    y = rng.random(150) < 0.4
    s = rng.standard_normal(150) + 1.5 * y
    patients = np.arange(150)
    alone = cut_for(y, s, guarantee=0.9, groups=patients, **asked)
    assert alone == cut_for(y, s, guarantee=0.9, **asked)  # groups of one row are rows
    twice, often = (
        cut_for(
            np.repeat(y, k), np.repeat(s, k), guarantee=0.9, groups=np.repeat(patients, k), **asked
        ).threshold
        for k in (2, 20)
    )
    # Which cuts are tested for a precision depends on rounded numbers of rows.
    assert twice == (pytest.approx(often, abs=0.1) if {"precision", "npv"} & set(asked) else often)


def test_rows_taken_as_independent_break_the_promise_that_groups_keep():
    """Every patient has eight rows with the same score and label."""
    rng = np.random.default_rng(3)
    kept = np.zeros(2)
    for _ in range(100):
        y = np.repeat(rng.random(60) < 0.4, 8)
        s = np.repeat(rng.standard_normal(60), 8) + 1.5 * y
        for k, groups in enumerate((None, np.repeat(np.arange(60), 8))):
            cut = threshold_for(y, s, fpr=0.2, guarantee=0.9, groups=groups)
            kept[k] += norm.sf(cut) <= 0.2
    assert kept[0] < 80
    assert kept[1] >= 90


def test_too_few_groups_say_what_they_can_promise():
    y, s, codes = grouped(np.random.default_rng(4), n_groups=20)
    with pytest.raises(ValueError, match=r"groups guarantee no less than 0\.\d+"):
        threshold_for(y, s, fpr=0.01, guarantee=0.95, groups=codes)
    with pytest.raises(ValueError, match=r"groups guarantee at most 0\.\d+"):
        threshold_for(y, s, recall=0.99, guarantee=0.95, groups=codes)
    for at_least in (True, False):
        best = best_share(20, 0.05, at_least)
        off = 1 - best if at_least else best
        assert (
            capital(np.full(20, 1.001 * off), 1 - off) >= 20 > capital(np.full(20, 0.99 * off), 1)
        )


def test_groups_are_for_guarantees_and_take_no_weights_of_classes():
    y, s, codes = grouped(np.random.default_rng(5))
    with pytest.raises(ValueError, match="give guarantee="):
        threshold_for(y, s, fpr=0.1, groups=codes)
    with pytest.raises(ValueError, match="leave out sample_weight"):
        threshold_for(y, s, precision=0.5, guarantee=0.9, groups=codes, sample_weight=1.0 + y)


@pytest.mark.parametrize("model", [AUCClassifier, AUCClassifierCV])
def test_an_estimator_heeds_groups_in_its_guarantee(model):
    rng = np.random.default_rng(6)
    y = np.repeat(rng.random(60) < 0.5, 5)
    X = np.repeat(rng.standard_normal((60, 2)), 5, axis=0) + y[:, None]
    X += 0.01 * rng.standard_normal(X.shape)
    patients = np.repeat(np.arange(60), 5)
    asked = {"fpr": 0.25, "guarantee": 0.9}
    cuts = []
    for threshold in (asked, {"fpr": 0.25}):
        fitted = model(threshold=threshold, cv=5).fit(X, y, groups=patients)
        cuts.append(-fitted.intercept_[0])
    independent = threshold_for(y, X @ fitted.coef_[0], fpr=0.25, guarantee=0.9)
    assert cuts[0] > independent > cuts[1] - 0.5
    assert cuts[0] > cuts[1]
