"""Coverage and level, a few data sets of each table of lab/benchmarks/intervals.py."""

from __future__ import annotations

import pytest

from lab.benchmarks import intervals


@pytest.mark.parametrize(
    "case",
    [
        (120, 0.5, 10, "normal", 0.0, "logistic", (5, 1)),
        pytest.param((100, 0.1, 3, "skewed", 0.0, "logistic", (5, 1)), marks=pytest.mark.slow),
        pytest.param((120, 0.5, 6, "normal", 0.7, "logistic", (5, 2)), marks=pytest.mark.slow),
    ],
)
def test_the_cross_validated_area_is_covered(case):
    *_, before, now, _ = intervals.area_coverage(300, *case, seed=3)
    assert before < 91.5
    assert now > 92


@pytest.mark.parametrize("folds", [(2, 1), pytest.param((5, 1), marks=pytest.mark.slow)])
def test_equal_models_are_rarely_told_apart(folds):
    *_, better, worse = intervals.differences(300, 80, 0.5, "normal", 0.0, folds, seed=4)
    assert better + worse < 8


@pytest.mark.slow
def test_the_best_of_four_baselines_is_not_taken_for_better():
    *_, better, worse = intervals.differences(
        200, 80, 0.5, "normal", 0.5, (5, 1), n_baselines=4, seed=5
    )
    assert better + worse < 8


def test_weights_that_go_with_the_scores_are_covered():
    before, now = intervals.weighted_coverage(600, 50, 50, 1.0, 0.9, 0.75, seed=6)
    assert before < 91
    assert now > 92.5


def test_ten_groups_reject_as_often_as_they_say():
    before, now = intervals.grouped_level(800, 10, 10, 0.5, True, False, seed=7)
    assert before > 7.3
    assert now < 7.3


@pytest.mark.parametrize(
    "case", [(10, 60, 6, 0.75), pytest.param((15, 15, 8, 0.75), marks=pytest.mark.slow)]
)
def test_several_equal_models_are_rarely_told_apart(case):
    before, now = intervals.several_level(400, *case, seed=8)
    assert before > 8.5
    assert now < 6


@pytest.mark.slow
@pytest.mark.parametrize("case", [*intervals.AREA, *intervals.OTHER])
def test_every_area_of_the_page_is_covered(case):
    *_, now, _ = intervals.area_coverage(400, *case, seed=9)
    assert now > 91.5


@pytest.mark.slow
@pytest.mark.parametrize("case", intervals.DIFFERENCES)
def test_every_difference_of_the_page_keeps_its_level(case):
    *_, better, worse = intervals.differences(600, *case, seed=10)
    assert better + worse < 7.7
