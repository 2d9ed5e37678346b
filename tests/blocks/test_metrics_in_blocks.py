"""Metrics from counts in boxes are those of the sorted scores."""

from __future__ import annotations

import numpy as np
import pytest

from everypair.blocks import ArrayRows
from everypair.linalg import block_histogram
from everypair.linalg.block_histogram import Ranking
from everypair.metrics import auc_confidence_interval, gain_at_k, gain_curve
from everypair.metrics.streamed import gains_of_ranking, interval_of_ranking


def ranking(y, scores, weight=None):
    engine, _ = ArrayRows(scores[:, None], y, weight, block_rows=1700).engine("it")
    return Ranking.of(engine.spread(scores))


@pytest.fixture(params=["smooth", "ties"])
def rows(request):
    rng = np.random.default_rng(7)
    scores = rng.standard_normal(30_000)
    y = scores + 1.5 * rng.standard_normal(30_000) > 2
    return y, scores.round(1) if request.param == "ties" else scores


def weights_of(kind, n):
    """None; a few sizes, zero among them; or such that a few rows have most of the weight."""
    rng = np.random.default_rng(3)
    kinds = {"even": None, "sizes": rng.integers(0, 4, n), "heavy": rng.pareto(1.5, n)}
    return kinds[kind]


@pytest.mark.parametrize("kind", ["even", "sizes", "heavy"])
@pytest.mark.parametrize("n_boxes", [2**14, 600])
def test_confidence_interval_is_that_of_the_sorted_scores(rows, monkeypatch, n_boxes, kind):
    monkeypatch.setattr(block_histogram, "MOST_BOXES", n_boxes)
    y, scores = rows
    weight = weights_of(kind, len(y))
    for logit in (True, False):
        wanted = auc_confidence_interval(y, scores, logit=logit, sample_weight=weight)
        found = interval_of_ranking(ranking(y, scores, weight), 0.95, logit)
        assert found.auc == pytest.approx(wanted.auc, abs=5e-5)
        assert found.se == pytest.approx(wanted.se, rel=1e-4)
        assert found.low == pytest.approx(wanted.low, abs=6e-5)
        assert found.high == pytest.approx(wanted.high, abs=6e-5)
        assert found.df == pytest.approx(wanted.df, rel=1e-3)


def test_interval_of_a_perfect_ranking_and_of_one_without_order():
    y = np.arange(40) >= 25
    wanted = auc_confidence_interval(y, np.arange(40.0))
    found = interval_of_ranking(ranking(y, np.arange(40.0)), 0.95, True)
    assert (found.auc, found.low, found.high, found.se) == (1.0, wanted.low, 1.0, 0.0)
    with pytest.raises(ValueError, match="single value"):
        interval_of_ranking(ranking(y, np.ones(40)), 0.95, True)


@pytest.mark.parametrize("kind", ["even", "sizes", "heavy"])
def test_gains_are_those_of_the_sorted_scores(rows, monkeypatch, kind):
    y, scores = rows
    weight = weights_of(kind, len(y))
    monkeypatch.setattr(block_histogram, "MOST_BOXES", 500)
    for k in (1, 77, 0.01, 0.3, "2p") if weight is None else (0.01, 0.3):
        wanted = gain_at_k(y, scores, k, sample_weight=weight)
        counted = ranking(y, scores, weight)
        found = gains_of_ranking(counted, np.array([wanted.share]), 0.95, split=True)
        assert found.gain[0] == pytest.approx(wanted.gain, abs=1e-12)
        # The slope of the curve comes from the boxes, which heavy rows make uneven.
        little = 5e-3 if kind == "heavy" else 2e-3
        assert found.low[0] == pytest.approx(wanted.low, abs=little)
        assert found.high[0] == pytest.approx(wanted.high, abs=little)
    monkeypatch.undo()
    shares = np.array([0.01, 0.1, 0.5, 0.9])
    wanted = gain_curve(y, scores, shares, sample_weight=weight)
    found = gains_of_ranking(ranking(y, scores, weight), shares, 0.95, split=False)
    np.testing.assert_allclose(found.gain, wanted.gain, atol=2e-4)
    np.testing.assert_allclose(found.low, wanted.low, atol=4e-4)
