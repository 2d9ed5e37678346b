"""The cuts a slider stops at are few, and their counts are the definition's."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from everypair.app.report.cuts import N_ALONG, N_HEAD, Cuts
from everypair.metrics import threshold_for
from everypair.rows import Rows


def _ranking(seed: int, n_rows: int, decimals: int, weighted: bool = False):
    rng = np.random.default_rng(seed)
    y = rng.random(n_rows) < rng.choice([0.05, 0.3, 0.9])
    y[:2] = [True, False]
    scores = np.round(y + rng.standard_normal(n_rows), decimals)
    weight = rng.integers(1, 9, n_rows).astype(float) if weighted else None
    return y, scores, weight


ranking = st.builds(
    _ranking,
    st.integers(0, 2**32 - 1),
    st.sampled_from([2, 5, 60, 900]),
    st.sampled_from([0, 1, 8]),
    st.booleans(),
)


def _cuts(y, scores, weight, own=0.3):
    rows = Rows.of(y, weight)
    return Cuts.of(rows, rows.scores(scores), own)


@given(ranking)
def test_counts_are_the_weight_above_each_threshold(drawn):
    y, scores, weight = drawn
    cuts = _cuts(y, scores, weight)
    mass = np.ones(y.size) if weight is None else weight
    for threshold, tp, fp in zip(cuts.threshold, cuts.tp, cuts.fp, strict=True):
        above = scores > threshold
        assert tp == pytest.approx(mass[above & y].sum(), abs=1e-9)
        assert fp == pytest.approx(mass[above & ~y].sum(), abs=1e-9)
    assert np.all(np.diff(cuts.threshold) <= 0)


@given(ranking, st.floats(-4, 4))
def test_standard_cuts_are_those_of_threshold_for(drawn, own):
    y, scores, weight = drawn
    cuts = _cuts(y, scores, weight, own)
    assert cuts.threshold[cuts.standard["own"]] == own
    for rule in ("f1", "balanced"):
        wanted = threshold_for(y, scores, rule, sample_weight=weight)
        assert cuts.threshold[cuts.standard[rule]] == wanted
    tenth = threshold_for(y, scores, top=0.1, sample_weight=weight)
    if np.any(scores > tenth):
        assert cuts.threshold[cuts.standard["top"]] == tenth
    else:
        assert "top" not in cuts.standard


@given(ranking, st.tuples(st.integers(0, 40), st.integers(1, 40)))
def test_least_cost_over_the_cuts_is_least_over_all(drawn, costs):
    y, scores, weight = drawn
    cuts = _cuts(y, scores, weight)
    of_cut = costs[1] * cuts.tp - costs[0] * cuts.fp
    best = threshold_for(y, scores, cost=costs, sample_weight=weight)
    mass = np.ones(y.size) if weight is None else weight
    above = scores > best
    wanted = costs[1] * mass[above & y].sum() - costs[0] * mass[above & ~y].sum()
    assert of_cut.max() == pytest.approx(wanted, abs=1e-9)


def test_a_long_ranking_has_few_cuts_also_near_its_head():
    y, scores, _ = _ranking(0, 100_000, 12)
    cuts = _cuts(y, scores, None)
    assert cuts.threshold.size <= 400
    called = cuts.tp + cuts.fp
    assert np.all(np.isin(np.arange(1, 6), called))
    along = cuts.tp / cuts.tp[-1] + cuts.fp / cuts.fp[-1]
    assert np.max(np.diff(along)) < 2.5 / N_ALONG


def test_every_cut_of_a_short_ranking_is_kept():
    y, scores, _ = _ranking(1, N_ALONG + N_HEAD - 1, 12)
    assert _cuts(y, scores, None).threshold.size == y.size + 2


def test_an_infinite_own_threshold_is_left_out():
    y, scores, _ = _ranking(2, 50, 2)
    assert "own" not in _cuts(y, scores, None, np.inf).standard
