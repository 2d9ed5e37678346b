"""`everypair.linalg.order`: the order of a sort, whatever the numbers look like."""

from __future__ import annotations

import numpy as np
import pytest

import everypair.linalg.order
from everypair.linalg.order import ROWS_FOR_KEYS, descending

rng = np.random.default_rng(0)
N = 2 * ROWS_FOR_KEYS
NUMBERS = {
    "normal": rng.normal(size=N),
    "far from zero": 1e6 + rng.normal(size=N),
    "ties": rng.integers(-20, 20, N).astype(float),
    "heavy tails": rng.standard_cauchy(N) ** 5,
    "both zeros": np.where(rng.random(N) < 0.5, 0.0, -0.0),
    "huge": rng.normal(size=N) * 1e299,
    "subnormal": rng.normal(size=N) * 5e-320,
    # Their leading bits say little, so that neighbours are put right, or all sorted anew.
    "two far clusters": np.where(rng.random(N) < 0.5, 1e12, 0.0) + rng.normal(size=N),
    "a few bits apart": 1
    + rng.integers(0, 3000, N) * 2.0**-52
    + np.where(np.arange(N) < 9, 1e3, 0),
    "equal": np.ones(N),
    "sorted": np.sort(rng.normal(size=N)),
}


@pytest.mark.parametrize("name", NUMBERS)
@pytest.mark.parametrize("share", [1.0, 0.7, 0.01])
def test_rows_come_by_their_values(name, share):
    values = NUMBERS[name]
    rows = np.flatnonzero(np.random.default_rng(1).random(N) < share)
    order, ranked = descending(values, rows)
    np.testing.assert_array_equal(np.sort(order), rows)
    np.testing.assert_array_equal(ranked, values[order])
    np.testing.assert_array_equal(ranked, np.sort(values[rows])[::-1])


@pytest.mark.parametrize(
    ("name", "by_keys"), [("normal", True), ("ties", True), ("two far clusters", False)]
)
def test_most_numbers_are_sorted_by_their_leading_bits(name, by_keys, monkeypatch):
    mended = []
    mend = everypair.linalg.order.mend_order
    monkeypatch.setattr(
        everypair.linalg.order,
        "mend_order",
        lambda *given: mended.append(mend(*given)) or mended[-1],
    )
    descending(NUMBERS[name], np.arange(N))
    assert mended == [by_keys]


def test_too_many_rows_leave_no_bits_for_the_scores(monkeypatch):
    monkeypatch.setattr(everypair.linalg.order, "MOST_BITS", 10)
    monkeypatch.setattr(everypair.linalg.order, "order_keys", lambda *given: pytest.fail("packed"))
    descending(NUMBERS["normal"], np.arange(N))
