"""Few pairs, summed one by one, against the definition and against the boxes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from strategies import ranked_data

from everypair.pairs import LOSSES, few
from everypair.pairs.brute import BrutePoint
from everypair.pairs.few import FewPairs
from everypair.pairs.point import extent
from everypair.rows import Rows
from everypair.solvers.rank_statistic import AllPairsStatistic


@given(ranked_data(max_rows=60, scales=(1e-3, 1.0, 30.0)))
def test_sums_of_few_pairs_are_those_of_the_definition(data):
    pairs, scores, _ = data
    summed, ends = FewPairs(pairs), extent(scores)
    if not summed.pays(*ends):
        return
    value, gradient = summed.at(scores, *ends)
    brute = BrutePoint(LOSSES["sigmoid"], pairs, scores)
    assert value == pytest.approx(brute.value(), rel=1e-12)
    np.testing.assert_allclose(gradient, brute.gradient(), rtol=1e-11, atol=1e-300)


@pytest.mark.parametrize("share", [0.1, 0.9])
@pytest.mark.parametrize("size", [3.0, 30.0])
def test_one_by_one_and_in_boxes_is_the_same(share, size, monkeypatch):
    rng = np.random.default_rng(0)
    weight = np.where(rng.random(900) < 0.3, 0.0, rng.random(900))  # some rows are held out
    positive = rng.random(900) < share
    pairs = Rows.uncut(positive, weight)
    statistic = AllPairsStatistic(pairs)
    scores = size * (rng.standard_normal(900) + positive) + 1e3
    assert FewPairs(pairs).pays(*extent(scores))
    one_by_one = statistic.at(scores)
    for name in ("PAIRS", "PAIRS_PER_ROW", "PAIRS_PER_BOX"):
        monkeypatch.setattr(few, name, 0)
    assert not FewPairs(pairs).pays(*extent(scores))
    in_boxes = statistic.at(scores)
    assert one_by_one.loss == pytest.approx(in_boxes.loss, rel=1e-11)
    atol = 1e-11 * abs(in_boxes.gradient).max()
    np.testing.assert_allclose(one_by_one.gradient, in_boxes.gradient, atol=atol)


def test_pairs_are_summed_one_by_one_only_where_that_pays():
    few_pairs = FewPairs(Rows.uncut(np.arange(4000) < 20))
    many = FewPairs(Rows.uncut(np.arange(4000) < 2000))
    assert few_pairs.pays(-10.0, 10.0)
    assert not many.pays(-10.0, 10.0)
    assert not few_pairs.pays(-1000.0, 1000.0)  # no exponential reaches so far
    assert not few_pairs.pays(0.0, np.inf)
    assert not few_pairs.pays(np.nan, 1.0)
