"""Statuses of pairs and their counts."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import ranked_data
from hypothesis import given
from hypothesis import strategies as st

from everypair.metrics.pair_status import count_pair_statuses, pair_multipliers, pair_status


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
