"""Statuses of pairs and their counts."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import ranked_data

from everypair.metrics import count_pair_statuses, pair_multipliers, pair_status


@given(data=ranked_data(max_rows=80), width=st.sampled_from([1e-6, 0.25, 1.0, 3.0]))
def test_counts_equal_the_statuses_of_all_pairs(data, width):
    pairs, scores, _ = data
    scores = np.round(scores * 4) / 4  # exact in binary: ties at both ends of the margin
    status = pair_status(
        scores[pairs.positives][:, None], scores[pairs.negatives][None, :], 1.0, width
    )
    counted = count_pair_statuses(pairs.positive, scores, 1.0, width)
    for name in ("satisfied", "on_margin", "violated"):
        assert getattr(counted, name) == np.sum(status == name)


def test_counts_and_statuses_agree_where_subtraction_rounds():
    scores = np.round(np.random.default_rng(0).normal(size=60), 1)
    positive = np.arange(60) < 25
    for margin, width in ((0.2, 0.1), (0.3, 0.1), (0.7, 1e-9), (1e-17, 1e-20)):
        status = pair_status(scores[:25, None], scores[None, 25:], margin, width)
        counted = count_pair_statuses(positive, scores, margin, width)
        for name, count in counted._asdict().items():
            assert count == np.sum(status == name)


def test_zeros_and_ones_count_as_booleans_and_lists_as_arrays():
    scores = [2.0, 0.999, 0.0]
    expected = count_pair_statuses(np.array([True, True, False]), np.array(scores), 1.0, 0.01)
    assert count_pair_statuses([1, 1, 0], scores, 1.0, 0.01) == expected
    assert count_pair_statuses(["b", "b", "a"], scores, 1.0, 0.01) == expected
    assert count_pair_statuses(["a", "a", "b"], scores, 1.0, 0.01, pos_label="a") == expected
    with pytest.raises(ValueError, match="3 classes"):
        count_pair_statuses([2, 1, 0], scores, 1.0, 0.01)
    with pytest.raises(ValueError, match="nan in row 1"):
        count_pair_statuses([1, 1, 0], [2.0, np.nan, 0.0], 1.0, 0.01)
    with pytest.raises(ValueError, match="NaN or infinite"):
        pair_status([np.nan], [0.0], 1.0, 0.01)
    with pytest.raises(ValueError, match=r"width=0\.0 must be > 0"):
        pair_multipliers([1.0], [0.0], 1.0, 0.0, 1.0)


def test_statuses_are_those_of_the_multipliers():
    z = np.linspace(-1, 3, 4001)
    status = pair_status(z, 0.0, 1.5, 0.01)
    multipliers = pair_multipliers(z, 0.0, 1.5, 0.01, C=7.0)
    np.testing.assert_array_equal(status == "satisfied", multipliers == 0)
    np.testing.assert_array_equal(status == "violated", multipliers == 7)
    np.testing.assert_array_equal(status == "on_margin", (multipliers > 0) & (multipliers < 7))


def test_a_million_rows_are_counted_in_seconds():
    rng = np.random.default_rng(0)
    positive, scores = rng.random(10**6) < 0.1, rng.standard_normal(10**6)
    counted = count_pair_statuses(positive, scores, 1.0, 0.1)
    assert sum(counted) == int(positive.sum()) * int((~positive).sum())
    # z of two standard normals is normal with variance 2: P(z > 1) = 0.2398
    assert counted.satisfied / sum(counted) == pytest.approx(0.2398, abs=2e-3)
