"""Every sum inside groups against the sum written out over pairs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit
from test_sums_equal_definition import (
    CASES,
    assert_close,
    both,
    check,
    curvature_scale,
    scales_of,
)

from everypair._compiled import smooth_groups as compiled
from everypair._compiled.exponential import exponential
from everypair._compiled.group_series import (
    CHANNELS_OF_SWEEP,
    SERIES_COEFFICIENTS,
    SWEEP,
    series_slopes,
)
from everypair._compiled.logarithm import log_one_plus
from everypair.linalg import group_blocks, order
from everypair.linalg.dense import DenseMatrix
from everypair.linalg.threads import thread_limit
from everypair.pairs import auc, smooth_groups
from everypair.pairs import brute as definition
from everypair.pairs.smooth import LOGISTIC_KERNELS, SIGMOID_KERNELS
from everypair.rows import Rows

WEIGHTS = ("pairs", "rows", "equal")


@st.composite
def grouped_data(draw, max_groups: int = 30, scales: tuple[float, ...] = (1.0,)):
    """Groups of 1, 2 and more rows, some of one class alone; ties, weights, offsets by group."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    sizes = rng.choice([1, 1, 2, 2, 3, 7, 20, 60], draw(st.integers(1, max_groups)))
    sizes[0] = max(sizes[0], 2)
    codes = np.repeat(np.arange(sizes.size), sizes)
    positive = rng.random(codes.size) < draw(st.sampled_from([0.1, 0.5, 0.9]))
    positive[:2] = True, False
    scores = rng.standard_normal(codes.size) + positive * draw(st.sampled_from([0.0, 1.0, 8.0]))
    if draw(st.booleans()):
        scores = np.round(scores * 2) / 2
    scores *= draw(st.sampled_from(scales))
    if draw(st.booleans()):
        scores += 100 * rng.standard_normal(sizes.size)[codes]
    weights = {
        "none": None,
        "uniform": rng.random(codes.size),
        "some zero": rng.integers(0, 3, codes.size).astype(float),
        "many magnitudes": 10.0 ** rng.uniform(-6, 6, codes.size),
    }[draw(st.sampled_from(["none", "uniform", "some zero", "many magnitudes"]))]
    if weights is not None:
        weights[:2] = 1.0
    shuffled = rng.permutation(codes.size)
    weights = None if weights is None else weights[shuffled]
    weighting = draw(st.sampled_from(WEIGHTS))
    pairs = Rows.uncut(positive[shuffled], weights, codes[shuffled], weighting)
    return pairs, scores[shuffled], rng


@pytest.mark.parametrize("case", CASES)
@settings(max_examples=12, deadline=None)
@given(data=st.data())
def test_sums_inside_groups_equal_the_definition(case, data):
    check(case, *data.draw(grouped_data(scales=scales_of(case))))


@pytest.mark.parametrize("case", CASES)
def test_a_group_of_every_row_is_no_group(case):
    rng = np.random.default_rng(3)
    positive, scores = rng.random(90) < 0.3, rng.standard_normal(90)
    weight = rng.random(90)
    grouped, _ = both(case, Rows.uncut(positive, weight, np.zeros(90)), scores)
    plain, _ = both(case, Rows.uncut(positive, weight), scores)
    assert grouped.value() == pytest.approx(plain.value(), rel=1e-13)
    np.testing.assert_allclose(grouped.gradient(), plain.gradient(), rtol=0, atol=1e-14)


@pytest.mark.parametrize("spread", [0.01, 1.0, 1e3])
@pytest.mark.parametrize("case", ["logistic", "sigmoid"])
def test_groups_of_every_size_equal_the_definition(case, spread, monkeypatch):
    """By the definition, by boxes, and as large groups are summed."""
    monkeypatch.setattr(smooth_groups, "LARGE_GROUP", 700)
    rng = np.random.default_rng(4)
    sizes = np.array([3, 80, 200, 500, 800])
    codes = rng.permutation(np.repeat(np.arange(5), sizes))
    positive = rng.random(codes.size) < 0.3
    scores = spread * rng.standard_normal(codes.size) + codes
    check(case, Rows.uncut(positive, rng.random(codes.size), codes, "rows"), scores, rng)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("spread", [1e-3, 1.0, 45.0, 52.0, 400.0])
@pytest.mark.parametrize("case", ["logistic", "sigmoid"])
def test_each_way_to_sum_a_group_equals_the_definition(case, spread, weighted):
    """A few pairs; tiles of one or several; logarithms shared or not; scores too far apart for
    factors (52 times +-3 is past `WIDEST_SCORE_RANGE`); one row of a class alone beside many."""
    rng = np.random.default_rng(9)
    sizes = np.array([2, 5, 17, 40, 90, 260, 700, 700])
    codes = np.repeat(np.arange(sizes.size), sizes)
    positive = rng.random(codes.size) < 0.4
    for group, alone in ((6, True), (7, False)):
        rows = np.flatnonzero(codes == group)
        positive[rows] = not alone
        positive[rows[3]] = alone
    scores = spread * np.clip(rng.standard_normal(codes.size), -3, 3) + codes
    weight = rng.random(codes.size) if weighted else None
    pairs = Rows.uncut(positive, weight, codes, "equal")
    fast, slow = both(case, pairs, scores)
    assert fast.value() == pytest.approx(slow.value(), rel=1e-12)
    vector = rng.standard_normal(codes.size)
    scale = curvature_scale(case, slow, pairs, scores, vector)
    assert_close(fast.product(vector), slow.product(vector), scale)
    expected = slow.gradient()
    np.testing.assert_allclose(fast.gradient(), expected, rtol=1e-11, atol=1e-300)


def test_pairs_that_are_won_by_far_keep_their_digits():
    """A product of ``1 + e`` would lose every e below 1e-16."""
    positive, codes = np.tile([True, False], 12), np.repeat([0, 1], 12)
    scores = np.where(positive, 50.0, 0.0) + np.arange(24) / 10
    fast, slow = both("logistic", Rows.uncut(positive, None, codes), scores)
    assert slow.value() < 1e-20
    assert fast.value() == pytest.approx(slow.value(), rel=1e-12)
    np.testing.assert_allclose(fast.gradient(), slow.gradient(), rtol=1e-12)


@pytest.mark.parametrize("level", range(len(SERIES_COEFFICIENTS)))
@pytest.mark.parametrize("sizes", [(40, 9), (300, 520)])
@pytest.mark.parametrize("kind", [0, 1])
def test_one_series_meets_every_row_of_a_group(kind, sizes, level):
    """Rows at both ends of the width; weights of many magnitudes, which show small pairs."""
    kernels = (LOGISTIC_KERNELS, SIGMOID_KERNELS)[kind]
    widths, loss, slope = smooth_groups._series(kernels)
    rng = np.random.default_rng(level)
    ends = 7.0 + widths[level] / 2 * np.array([-1, 1])
    x, y = (np.concatenate([ends, rng.uniform(*ends, n - 2)]) for n in sizes)
    a, b = (10 ** rng.uniform(-6 if kind == 0 else -1, 0, n) for n in sizes)
    a, b = a / a.sum(), b / b.sum()
    of_x, of_y = (np.empty(n + 16) for n in sizes)
    room = np.empty((2, CHANNELS_OF_SWEEP * SWEEP)), np.empty((5, SERIES_COEFFICIENTS[-1]))
    value, exact = series_slopes(
        kind, x, a, of_x, x.size, y, b, of_y, y.size, 7.0, level, widths, loss, slope, *room
    )
    z = x[:, None] - y[None, :]
    t = expit(-z)
    losses, slopes = (np.logaddexp(0, -z), t) if kind == 0 else (t, t * expit(z))
    assert exact
    assert value == pytest.approx(a @ losses @ b, rel=2e-13)
    np.testing.assert_allclose(of_x[: x.size], slopes @ b, rtol=2e-13)
    np.testing.assert_allclose(of_y[: y.size], a @ slopes, rtol=2e-13)
    if kind == 1:  # a positive row far above the negatives
        one, ten = np.ones(1), np.full(10, 0.1)
        above = (1, 8 + 3 * one, one, of_x, 1, 40 * ten, ten, of_y, 10, 8.0)
        assert not series_slopes(*above, 5, widths, loss, slope, *room)[1]


def test_sigmoid_slopes_that_are_tiny_keep_their_digits():
    """The series of such a group is given up for another way."""
    rng = np.random.default_rng(11)
    codes = np.repeat(np.arange(4), 400)
    positive = rng.random(codes.size) < 0.3
    scores = 8.0 * positive + rng.uniform(-1, 1, codes.size)
    fast, slow = both("sigmoid", Rows.uncut(positive, None, codes), scores)
    assert fast.value() == pytest.approx(slow.value(), rel=1e-12)
    np.testing.assert_allclose(fast.gradient(), slow.gradient(), rtol=1e-12)


def test_the_exponential_is_right_to_the_last_digits():
    z = np.concatenate([[0.0], np.random.default_rng(7).uniform(-700, 700, 50_000)])
    got = np.array([exponential(value) for value in z])
    np.testing.assert_allclose(got, np.exp(z), rtol=5e-16, atol=0)


def test_a_series_serves_groups_where_it_costs_less():
    assert compiled.series_pays(150, 150, 3, compiled.PAIR_COST)
    assert compiled.series_pays(30, 70, 2, compiled.PAIR_COST + compiled.LOG_COST)
    assert not compiled.series_pays(10, 10, 0, compiled.PAIR_COST)
    assert not compiled.series_pays(3000, 7000, 4, compiled.PAIR_COST)
    assert not compiled.series_pays(500, 500, len(SERIES_COEFFICIENTS), compiled.PAIR_COST)


def test_boxes_serve_groups_where_they_cost_less():
    assert compiled.boxes_pay(500, 500, -3.0, 3.0, 0.5, 5, compiled.PAIR_COST)
    assert not compiled.boxes_pay(5, 5, -3.0, 3.0, 0.5, 5, compiled.PAIR_COST)
    assert not compiled.boxes_pay(100, 100, -3e3, 3e3, 0.5, 5, compiled.PAIR_COST)


@pytest.mark.parametrize("case", CASES)
def test_threads_and_blocks_change_nothing(case, monkeypatch):
    monkeypatch.setattr("everypair.linalg.threads.OPERATIONS_PER_THREAD", 100)
    monkeypatch.setattr("everypair.linalg.threads.OPERATIONS_OF_A_FINE_BLOCK", 100)
    monkeypatch.setattr("everypair.linalg.order.ROWS_OF_A_BUCKET", 20)
    monkeypatch.setattr(group_blocks, "BLOCK_BYTES", 2000)
    monkeypatch.setattr(order, "ROWS_FOR_KEYS", 30)
    monkeypatch.setattr(order, "SAMPLED_VALUES", 1)
    rng = np.random.default_rng(6)
    codes = rng.integers(0, 40, 1500) ** 2 // 100
    positive = rng.random(1500) < 0.3
    with thread_limit(3):
        check(case, Rows.uncut(positive, rng.random(1500), codes, "equal"),
              3 * rng.standard_normal(1500), rng)  # fmt: skip


def test_one_plus_logarithm_is_right_to_the_last_digits():
    e = np.concatenate([[0.0], 10.0 ** np.random.default_rng(7).uniform(-300, 250, 100_000)])
    e = np.concatenate([e, np.linspace(0, 4, 100_001)])
    got = np.array([log_one_plus(value, 1 / (1 + value)) for value in e])
    np.testing.assert_allclose(got, np.log1p(e), rtol=5e-16, atol=0)


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_the_area_inside_groups_equals_the_definition(data):
    pairs, scores, _ = data.draw(grouped_data())
    assert auc(pairs, scores) == pytest.approx(definition.auc(pairs, scores), abs=1e-13)


def test_a_column_that_is_constant_inside_groups_has_no_curvature():
    rng = np.random.default_rng(8)
    codes = np.repeat(np.arange(20), 10)
    positive = rng.random(200) < 0.4
    X = np.column_stack([rng.standard_normal(200), 1e6 * rng.standard_normal(20)[codes]])
    for case in ("logistic", "sigmoid", "square", "exponential"):
        point, _ = both(case, Rows.uncut(positive, None, codes), X[:, 0].copy())
        hessian = point.hessian(DenseMatrix(X))
        assert not hessian[1].any()
        assert hessian[0, 0] != 0


@pytest.mark.parametrize("weighting", WEIGHTS)
def test_the_weights_of_the_groups_are_those_of_their_name(weighting):
    positive = np.array([1, 1, 0, 1, 0, 0, 0, 1, 0], dtype=bool)
    within = np.array(list("aaabbbbcd"))
    weight = np.array([1.0, 2.0, 3.0, 4.0, 1.0, 1.0, 0.0, 9.0, 9.0])
    paired = Rows.uncut(positive, weight, within, weighting).paired
    expected = {"pairs": [3 * 3, 4 * 2], "rows": [6, 6], "equal": [1, 1]}[weighting]
    np.testing.assert_allclose(paired.weight, np.array(expected) / sum(expected), rtol=1e-14)
    assert paired.n_without_pairs == 2
    assert paired.n_pairs == 2 * 1 + 1 * 2


def test_groups_without_any_pair_are_one_clear_error():
    with pytest.raises(ValueError, match="none of the 2 groups has a pair"):
        Rows.uncut([True, False], None, ["a", "b"]).paired  # noqa: B018
    with pytest.raises(ValueError, match="3 values for 2 rows"):
        Rows.uncut([True, False], None, [1, 2, 3])
    with pytest.raises(ValueError, match="within has NaN or None"):
        Rows.uncut([True, False], None, [1.0, np.nan])
    with pytest.raises(ValueError, match="within_weight='users'"):
        Rows.uncut([True, False], None, [1, 1], "users")
