"""The rank statistics against their definitions (Herschtal & Raskutti 2004, section 2)."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from scipy.special import expit
from strategies import ranked_data

from everypair._compiled import weight_outside
from everypair.pairs import LOSSES
from everypair.pairs.brute import BrutePoint
from everypair.rows import Rows
from everypair.solvers.rank_statistic import SATURATED_MARGIN, AllPairsStatistic, RandomOrder

MILD = (1e-3, 1.0, 30.0)


def every_offset(order):
    return [order.statistic(offset) for offset in range(order.n_offsets)]


@given(ranked_data(max_rows=60, scales=MILD))
def test_mean_over_all_offsets_is_the_statistic_of_every_pair(data):
    pairs, scores, _ = data
    order = RandomOrder.draw(pairs, np.random.RandomState(0))
    points = [statistic.at(scores) for statistic in every_offset(order)]
    brute = BrutePoint(LOSSES["sigmoid"], pairs, scores)
    every = AllPairsStatistic(pairs).at(scores)
    assert np.mean([point.loss for point in points]) == pytest.approx(brute.value(), rel=1e-9)
    assert every.loss == pytest.approx(brute.value(), rel=1e-9)
    mean = np.mean([point.gradient for point in points], axis=0)
    atol = 1e-9 * np.abs(brute.gradient()).max()
    np.testing.assert_allclose(mean, brute.gradient(), atol=atol)
    np.testing.assert_allclose(every.gradient, brute.gradient(), atol=atol)


@given(ranked_data(max_rows=60, scales=MILD))
def test_no_two_offsets_share_a_pair_and_each_row_of_the_larger_class_is_used_once(data):
    pairs, _, _ = data
    order = RandomOrder.draw(pairs, np.random.RandomState(1))
    seen = [
        pair
        for statistic in every_offset(order)
        for pair in zip(statistic.positives.tolist(), statistic.negatives.tolist(), strict=True)
    ]
    assert len(set(seen)) == len(seen) == order.smaller.size * order.larger.size
    first = order.statistic(0)
    larger = first.negatives if order.pairs.positive[order.smaller[0]] else first.positives
    assert np.array_equal(np.sort(larger), np.sort(order.larger))


def test_without_weights_the_linear_statistic_is_equation_2():
    rng = np.random.default_rng(0)
    positive = np.arange(25) % 5 == 0
    scores = rng.standard_normal(25)
    order = RandomOrder.draw(Rows.uncut(positive), np.random.RandomState(0))
    by_hand = np.mean(
        [expit(scores[order.smaller[k % 5]] - scores[order.larger[k]]) for k in range(20)]
    )
    assert 1 - order.statistic(0).loss(scores) == pytest.approx(by_hand, rel=1e-12)


@pytest.mark.parametrize("share", [0.3, 0.8])
def test_gradient_is_that_of_finite_differences(share):
    rng = np.random.default_rng(0)
    positive = rng.random(40) < share
    scores, pairs = rng.standard_normal(40), Rows.uncut(positive, rng.random(40))
    order = RandomOrder.draw(pairs, np.random.RandomState(0))
    for statistic in (order.statistic(3), AllPairsStatistic(pairs)):
        step = 1e-5
        differences = [
            (statistic.loss(scores + step * e) - statistic.loss(scores - step * e)) / (2 * step)
            for e in np.eye(40)
        ]
        np.testing.assert_allclose(statistic.at(scores).gradient, differences, atol=1e-9)
        assert statistic.loss(scores) == statistic.at(scores).loss


@pytest.mark.parametrize("share", [0.001, 0.1, 0.5, 0.75, 0.99])
@pytest.mark.parametrize("positives", [0.05, 0.5, 0.9])
def test_radius_saturates_the_asked_share_within_one_of_q(share, positives):
    rng = np.random.default_rng(1)
    positive = rng.random(500) < positives
    scores = 1e3 + 7 * rng.standard_normal(500) + positive
    pairs = Rows.uncut(positive)
    order = RandomOrder.draw(pairs, np.random.RandomState(0))
    one_of_q = 1 / order.larger.size
    linear = order.statistic(0)
    saturated = np.abs(linear.radius(scores, share) * linear.margins(scores)) > SATURATED_MARGIN
    assert abs(saturated.mean() - share) <= one_of_q + 1e-12
    margins = scores[positive][:, None] - scores[~positive]
    saturated = np.abs(AllPairsStatistic(pairs).radius(scores, share) * margins) > SATURATED_MARGIN
    assert abs(saturated.mean() - share) <= one_of_q + 1e-12


@given(ranked_data(max_rows=60, scales=MILD))
def test_radius_saturates_the_asked_weight_with_weights_and_ties(data):
    """The least radius that the definition allows; where ties forbid the share, all but them."""
    pairs, scores, _ = data
    linear = RandomOrder.draw(pairs, np.random.RandomState(0)).statistic(0)
    positives, negatives = (
        rows[pairs.share[rows] > 0] for rows in (pairs.positives, pairs.negatives)
    )
    every = (scores[positives][:, None] - scores[negatives]).ravel()
    products = np.outer(pairs.share[positives], pairs.share[negatives]).ravel()
    written_out = [
        (linear, linear.margins(scores), linear.weight / linear.weight.sum()),
        (AllPairsStatistic(pairs), every, products),
    ]
    for statistic, margins, weight in written_out:
        sizes = np.abs(margins)
        untied = weight @ (sizes > 1e-9 * sizes.max())
        for share in (0.1, 0.5, 0.9, 0.99):
            reached = sizes * statistic.radius(scores, share)
            if untied <= share:
                assert weight @ (reached > SATURATED_MARGIN) == pytest.approx(untied, abs=1e-11)
            else:
                assert weight @ (reached > (1 + 1e-9) * SATURATED_MARGIN) <= share + 1e-11
                assert weight @ (reached >= (1 - 1e-9) * SATURATED_MARGIN) > share


@given(ranked_data(max_rows=60, scales=MILD))
def test_radius_of_one_positive_is_the_same_for_linear_and_for_all_pairs(data):
    """One positive row: the pairs of one offset are every pair."""
    pairs, scores, _ = data
    positive = np.arange(scores.size) == np.argmax(pairs.share)
    pairs = Rows.uncut(positive, np.where(positive, 1.0, pairs.share))
    linear = RandomOrder.draw(pairs, np.random.RandomState(0)).statistic(0)
    for share in (0.1, 0.5, 0.9, 0.99):
        radius = AllPairsStatistic(pairs).radius(scores, share)
        assert linear.radius(scores, share) == pytest.approx(radius, rel=1e-6)


def test_where_most_pairs_are_tied_the_smallest_other_margin_sets_the_radius():
    scores = np.array([0.0] * 9 + [0.5, 3.0, 0.0])
    pairs = Rows.uncut(np.arange(12) == 11)
    for statistic in (AllPairsStatistic(pairs), RandomOrder.draw(pairs, np.random).statistic(0)):
        assert statistic.radius(scores, 0.9) == pytest.approx(SATURATED_MARGIN / 0.25)


def test_a_row_without_weight_has_no_say_in_the_radius():
    rng = np.random.default_rng(0)
    scores, positive = np.round(rng.standard_normal(60), 1), np.arange(60) % 4 == 0
    weight = np.where(np.arange(60) < 50, 1.0, 0.0)
    plain = AllPairsStatistic(Rows.uncut(positive[:50])).radius(scores[:50], 0.999)
    scores[50:] = [1e3, 1e-5, *rng.standard_normal(8)]
    heeded = AllPairsStatistic(Rows.uncut(positive, weight)).radius(scores, 0.999)
    assert heeded == pytest.approx(plain, rel=1e-9)


def test_radius_of_scores_without_a_difference_is_finite():
    pairs = Rows.uncut(np.arange(6) % 2 == 0)
    for statistic in (AllPairsStatistic(pairs), RandomOrder.draw(pairs, np.random).statistic(0)):
        assert statistic.radius(np.ones(6), 0.5) == 1.0
        assert np.isfinite(statistic.radius(np.array([0.0, 0, 0, 0, 0, 1]), 0.9))


def efficiency_loss(n_positive, n_negative, radius, repeats=3000):
    """var(R_l) / var(R) over fresh samples of two normal classes (section 2.2)."""
    rng = np.random.default_rng(0)
    positive = np.arange(n_positive + n_negative) < n_positive
    pairs = Rows.uncut(positive)
    values = []
    for _ in range(repeats):
        scores = radius * (rng.standard_normal(positive.size) + positive)
        margins = scores[:n_positive, None] - scores[n_positive:]
        order = RandomOrder.draw(pairs, np.random.RandomState(0))
        values.append((order.statistic(0).loss(scores), expit(-margins).mean()))
    linear, every = np.var(values, axis=0)
    return linear / every


@pytest.mark.slow
def test_efficiency_loss_is_between_1_and_2_when_balanced_and_near_1_when_not():
    assert 1.3 < efficiency_loss(40, 40, radius=20.0) < 2.0  # saturated
    assert efficiency_loss(40, 40, radius=0.05) == pytest.approx(1.0, abs=0.02)  # linear
    assert 0.95 < efficiency_loss(10, 300, radius=20.0) < 1.2  # heavily imbalanced


@pytest.mark.parametrize("share", [0.001, 0.1, 0.5, 0.9, 0.9999])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_radius_of_a_few_pairs_is_found_whichever_wins(share, sign):
    """The widest pair alone may weigh more than the share that is asked for."""
    for scores in ([-1.0, 1.0, 0.0], [0.1, 0.7, 0.30000000000000004], [-3.0, 1e-3, 2.9]):
        pairs = Rows.uncut(np.array([True, False, False]))
        radius = AllPairsStatistic(pairs).radius(sign * np.array(scores), share)
        assert np.isfinite(radius)
        assert radius > 0


@pytest.mark.parametrize("cut", [0, 1, 5, 11, 12, 20, 29])
def test_a_walk_that_begins_anywhere_weighs_what_the_definition_does(cut):
    rng = np.random.default_rng(4)
    x_edges, y_edges = np.array([0, 12, 12, 29]), np.array([0, 20, 26, 57])
    x, y = rng.integers(-6, 7, 29) / 2, rng.integers(-6, 7, 57) / 2
    for values, edges in ((x, x_edges), (y, y_edges)):
        for begin, end in itertools.pairwise(edges):
            values[begin:end] = np.sort(values[begin:end])[::-1]
    a, b = rng.random(29), rng.random(57)
    mass = np.concatenate([[0.0], np.cumsum(b)])
    least, most = 0.5, 2.0
    walk = x, y, x_edges, y_edges, a, mass, least, most
    found = weight_outside(*walk, 0, cut) + weight_outside(*walk, cut, 29)
    groups = [np.repeat(np.arange(3), np.diff(edges)) for edges in (x_edges, y_edges)]
    short = 1.0 - (x[:, None] - y)
    outside = ((short < least) | (short >= most)) & (groups[0][:, None] == groups[1])
    assert found == pytest.approx(a @ outside @ b, rel=1e-12)
