"""The measure against the cut: each value is the definition's, each quota is met where it says."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from everypair.app.comparison.typed_measure import parse_measure
from everypair.app.report.at_cuts import at_cuts, what_is_drawn
from everypair.app.report.cuts import Cuts
from everypair.rows import Rows


def _ranking(seed: int, n_rows: int, decimals: int, weighted: bool):
    rng = np.random.default_rng(seed)
    y = rng.random(n_rows) < rng.choice([0.1, 0.4])
    y[:2] = [True, False]
    scores = np.round(y + rng.standard_normal(n_rows), decimals)
    weight = rng.integers(1, 9, n_rows).astype(float) if weighted else None
    return y, scores, weight


ranking = st.builds(
    _ranking,
    st.integers(0, 2**32 - 1),
    st.sampled_from([5, 60, 700]),
    st.sampled_from([0, 1, 8]),
    st.booleans(),
)


def drawn(typed, y, scores, weight):
    rows = Rows.of(y, weight)
    measure = parse_measure(typed)
    exact = measure.of(rows)
    cuts = Cuts.of(rows, rows.scores(scores), 0.3, exact)
    return cuts, at_cuts(measure, exact, rows, cuts), exact


def counts(cut, y, scores, weight):
    mass = np.ones(y.size) if weight is None else weight
    above = scores > cut
    return [mass[part].sum() for part in (above & y, above & ~y, ~above & y, ~above & ~y)]


FREE = {
    "f1": lambda tp, fp, fn, tn: 2 * tp / (2 * tp + fp + fn),
    "cost=1:5": lambda tp, fp, fn, tn: (fp + 5 * fn) / (tp + fp + fn + tn),
    "informedness": lambda tp, fp, fn, tn: tp / (tp + fn) - fp / (fp + tn),
}
QUOTAS = {
    "recall@fpr=0.2": (lambda tp, fp, fn, tn: tp / (tp + fn),
                       lambda tp, fp, fn, tn: 0.2 - fp / (fp + tn)),
    "fpr@recall=0.7": (lambda tp, fp, fn, tn: fp / (fp + tn),
                       lambda tp, fp, fn, tn: tp / (tp + fn) - 0.7),
    "recall@top=30%": (lambda tp, fp, fn, tn: tp / (tp + fn),
                       lambda tp, fp, fn, tn: 0.3 - (tp + fp) / (tp + fp + fn + tn)),
    "precision@recall=0.5": (lambda tp, fp, fn, tn: tp / (tp + fp) if tp + fp else 1.0,
                             lambda tp, fp, fn, tn: tp / (tp + fn) - 0.5),
    "recall@precision=0.6": (lambda tp, fp, fn, tn: tp / (tp + fn),
                             lambda tp, fp, fn, tn: tp / (tp + fp) - 0.6 if tp else -1.0),
}  # fmt: skip


@pytest.mark.parametrize("typed", FREE)
@given(ranking=ranking)
def test_a_free_measure_is_the_tables_at_each_cut(typed, ranking):
    cuts, shown, _ = drawn(typed, *ranking)
    wanted = [FREE[typed](*counts(cut, *ranking)) for cut in cuts.threshold]
    np.testing.assert_allclose(shown["value"], wanted, atol=1e-5)
    assert all(shown["met"])
    best = shown["value"][cuts.standard["measure"]]
    assert best == (min if typed.startswith("cost") else max)(shown["value"])


@pytest.mark.parametrize("typed", QUOTAS)
@settings(max_examples=30)
@given(ranking=ranking)
def test_a_quota_is_met_where_the_line_is_not_pale(typed, ranking):
    cuts, shown, exact = drawn(typed, *ranking)
    value, room = QUOTAS[typed]
    table = [counts(cut, *ranking) for cut in cuts.threshold]
    np.testing.assert_allclose(shown["value"], [value(*row) for row in table], atol=1e-5)
    for met, row in zip(shown["met"], table, strict=True):
        if abs(room(*row)) > 1e-9:
            assert met == (room(*row) > 0)
    best = cuts.standard["measure"]
    rows = Rows.of(ranking[0], ranking[2])
    assert cuts.threshold[best] == exact.best_cut(rows, rows.scores(ranking[1]))
    if any(shown["met"]):
        assert shown["met"][best]


def test_the_words_say_what_is_drawn_and_under_which_condition():
    rows = Rows.of(np.arange(200) % 4 == 0)
    said = {
        "mcc": ("Matthews correlation", ""),
        "recall@fpr=0.01": ("Recall", "at most 1% false positives"),
        "fpr@recall=0.9": ("False positive rate", "at least 90% recall"),
        "precision@top=50": ("Precision", "at most 25% of the rows"),
        "recall@precision=0.9": ("Recall", "at least 90% precision"),
        "pauc@fpr=0.05": ("Recall", "at most 5% false positives"),
        "average-precision": ("Precision", ""),
    }
    for typed, (axis, condition) in said.items():
        measure = parse_measure(typed)
        words = what_is_drawn(measure, measure.of(rows))
        assert (words["axis"], words["condition"]) == (axis, condition)
