"""The areas: the definition over all pairs, then scikit-learn and pROC."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ranking_definitions import pair_values, rankings, wfns
from sklearn.metrics import roc_auc_score

from everypair.metrics import auc_score, gini, swapped_pairs


@settings(deadline=None, derandomize=True)
@given(rankings())
def test_auc_is_the_weighted_share_of_pairs_won(data):
    y, s, weight = data
    w = np.ones(y.size) if weight is None else weight
    pairs = w[y][:, None] * w[~y][None, :]
    won = float(np.sum(pairs * pair_values(y, s)) / pairs.sum())
    assert auc_score(y, s, weight) == pytest.approx(won, abs=1e-13)
    assert gini(y, s, weight) == pytest.approx(2 * won - 1, abs=1e-13)
    lost = float(np.sum(pairs * (1 - pair_values(y, s))))
    assert swapped_pairs(y, s, weight) == pytest.approx(lost, rel=1e-12, abs=1e-12)
    assert auc_score(y, s, weight) == pytest.approx(roc_auc_score(y, s, sample_weight=weight))


@settings(deadline=None, derandomize=True)
@given(rankings(), st.floats(0.01, 1.0))
def test_partial_area_equals_scikit_learns(data, max_fpr):
    y, s, weight = data
    ours = auc_score(y, s, weight, max_fpr)
    assert ours == pytest.approx(roc_auc_score(y, s, sample_weight=weight, max_fpr=max_fpr))


@settings(deadline=None, derandomize=True)
@given(rankings(), st.lists(st.floats(0.02, 0.98), min_size=1, max_size=4, unique=True))
def test_partial_areas_of_a_partition_add_up_to_the_whole(data, edges):
    y, s, weight = data
    edges = [0.0, *sorted(edges), 1.0]
    parts = [
        auc_score(y, s, weight, high, low, standardize=False)
        for low, high in pairwise(edges)
        if high > low
    ]
    assert sum(parts) == pytest.approx(auc_score(y, s, weight), abs=1e-12)


def test_mcclish_makes_chance_a_half_and_perfect_one():
    y, tied = np.repeat([0, 1], 10), np.zeros(20)
    for low, high in ((0, 0.1), (0.2, 0.4), (0.7, 1.0)):
        assert auc_score(y, tied, None, high, low) == pytest.approx(0.5)
        assert auc_score(y, y, None, high, low) == pytest.approx(1.0)


def test_areas_are_those_of_proc():
    """Values of pROC's own tests for `auc(outcome, wfns)`, whole and partial."""
    y, s = wfns()
    assert auc_score(y, s) == pytest.approx(0.823678861788618, abs=1e-14)
    for low, high, value in (
        (0.0, 0.1, 0.0334417344173442),
        (0.1, 0.2, 0.0598373983739837),
        (0.5, 1.0, 0.488134475939354),
    ):
        ours = auc_score(y, s, None, high, low, standardize=False)
        assert ours == pytest.approx(value, abs=1e-14)


def test_a_perfect_weighted_ranking_has_exactly_one():
    y = np.repeat([0, 1], 50)
    weight = np.random.default_rng(0).random(100)
    assert auc_score(y, np.arange(100), weight) == 1.0
    assert swapped_pairs(y, np.arange(100), weight) == 0.0


@pytest.mark.parametrize("labels", [(0, 1), (-1, 1), ("a", "b"), (False, True), (2.5, 7.0)])
def test_the_second_sorted_label_is_positive_unless_told(labels):
    y = np.array(labels)[[0, 0, 1, 1, 0]]
    s = np.array([1.0, 2.0, 3.0, 4.0, 5.0])
    expected = 4 / 6
    assert auc_score(y, s) == pytest.approx(expected)
    assert auc_score(y, s, pos_label=labels[1]) == pytest.approx(expected)
    assert auc_score(y, s, pos_label=labels[0]) == pytest.approx(1 - expected)
    assert auc_score(list(y), list(s)) == pytest.approx(expected)
    assert auc_score(pd.Series(y), pd.Series(s)) == pytest.approx(expected)
    assert auc_score(pl.Series(y.tolist()), pl.Series(s)) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("y", "s", "options", "says"),
    [
        ([1, 1], [0, 1], {}, "only one class, .*1"),
        (["x", "x"], [0, 1], {}, "only one class"),
        ([0, 1, 2], [0, 1, 2], {}, "3 classes"),
        ([0, 1], [0, np.nan], {}, "nan in row 1"),
        ([0, 1], [0, np.inf], {}, "inf in row 1"),
        ([0, 1, np.nan], [0, 1, 2], {}, "NaN"),
        (["a", None], [0, 1], {}, "cannot be sorted"),
        ([0, 1], [0, 1, 2], {}, "3 values for 2 rows"),
        ([0, 1], ["a", "b"], {}, "not numeric"),
        ([0, 1], ["1", "2"], {}, "not numeric"),
        ([0, 1], np.array(["1", 2], dtype=object), {}, "not numeric"),
        ([0, 1], [1j, 2], {}, "not numeric"),
        ([0, 1], [0, 1], {"max_fpr": "a"}, "max_fpr='a' is not a range"),
        ([[0, 1]], [0, 1], {}, "shape"),
        ([], [], {}, "empty"),
        ([0, 1], [0, 1], {"sample_weight": [1, -1]}, "negative value -1"),
        ([0, 1], [0, 1], {"sample_weight": [0, 0]}, "Every sample_weight is zero"),
        ([0, 1], [0, 1], {"sample_weight": [1, 0]}, "only one class"),
        ([0, 1], [0, 1], {"max_fpr": 0}, "range of false positive rates"),
        ([0, 1], [0, 1], {"max_fpr": 0.2, "min_fpr": 0.3}, "range of false positive rates"),
        ([0, 1], [0, 1], {"max_fpr": np.nan}, "range of false positive rates"),
        ([0, 1], [0, 1], {"pos_label": 3}, "pos_label=3 is not a label"),
    ],
)
def test_bad_input_gets_a_clear_error(y, s, options, says):
    with pytest.raises(ValueError, match=says):
        auc_score(y, s, **options)


@pytest.mark.parametrize("weights", [(1e300, 1e-100), (1e-100, 1e300), (1e200, 1e200)])
def test_the_scale_of_a_classs_weights_does_not_matter(weights):
    y, s = np.array([0, 0, 1, 1]), np.array([1.0, 3, 2, 4])
    weight = np.where(y == 1, weights[1], weights[0]) * np.array([1, 2, 3, 4])
    plain = np.array([1.0, 2, 3, 4])
    assert auc_score(y, s, weight) == pytest.approx(auc_score(y, s, plain))
    assert auc_score(y, s, weight, 0.5) == pytest.approx(auc_score(y, s, plain, 0.5))
    assert swapped_pairs(y, np.arange(4), weight) == 0.0
    assert not np.isnan(swapped_pairs(y, s, weight))


@pytest.mark.parametrize("spread", [1, 30, 10**9])
def test_the_curve_of_many_rows_is_that_of_few(spread, monkeypatch):
    from everypair.metrics import curve
    from everypair.rows import Rows

    rng = np.random.default_rng(spread)
    y = rng.random(500) < 0.3
    s = rng.integers(-spread, spread, 500).astype(float)
    of_few = curve.Curve.of(Rows.of(y), s)
    monkeypatch.setattr(curve, "COMPILED_ROWS", 1)
    of_many = curve.Curve.of(Rows.of(y), s)
    for name in ("levels", "tp", "fp"):
        np.testing.assert_array_equal(getattr(of_many, name), getattr(of_few, name))
    cuts = of_few.cuts(np.float32)
    assert [of_many.cut(k, np.float32) for k in range(cuts.size)] == cuts.tolist()
