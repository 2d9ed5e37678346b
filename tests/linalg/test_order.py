"""`everypair.linalg.order`: the order of a sort, whatever the numbers look like."""

from __future__ import annotations

import numpy as np
import pytest

import everypair.linalg.order
from everypair._compiled import doubled_wins
from everypair.linalg import threads
from everypair.linalg.order import ROWS_FOR_KEYS, descending, pairs_won_twice

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


@pytest.fixture
def in_buckets(monkeypatch):
    """Many small buckets, on three threads."""
    monkeypatch.setattr(everypair.linalg.order, "ROWS_OF_A_BUCKET", 100)
    monkeypatch.setattr(threads, "OPERATIONS_OF_A_FINE_BLOCK", 1000)
    with threads.thread_limit(3):
        yield


@pytest.mark.parametrize("name", NUMBERS)
@pytest.mark.parametrize("share", [1.0, 0.7, 0.01])
def test_rows_come_by_their_values(name, share):
    values = NUMBERS[name]
    rows = np.flatnonzero(np.random.default_rng(1).random(N) < share)
    with threads.thread_limit(1):
        check_order(values, rows)


@pytest.mark.parametrize("name", NUMBERS)
def test_rows_in_buckets_come_by_their_values(name, in_buckets):
    check_order(NUMBERS[name], np.flatnonzero(np.random.default_rng(1).random(N) < 0.7))


def test_buckets_are_about_equally_full(in_buckets):
    """Otherwise threads would wait for the one that has the fullest."""
    tails = np.random.default_rng(3).standard_t(3, N)
    for values in (NUMBERS["normal"], tails, NUMBERS["far from zero"], NUMBERS["huge"]):
        seen = everypair.linalg.order._sample(values, np.arange(N))
        buckets = everypair.linalg.order._Buckets(seen, 16 * 100)
        shares = everypair.linalg.order._Shares(values, np.arange(N), buckets)
        counts = sum(part.counts for part in shares._parts)
        assert counts.size == 16
        assert counts.max() < 0.1 * N


@pytest.mark.parametrize("name", NUMBERS)
@pytest.mark.parametrize("n_threads", [1, 3])
def test_pairs_won_are_counted_bucket_by_bucket(name, n_threads, in_buckets):
    positive = np.random.default_rng(2).random(N) < 0.2
    positives, negatives = np.flatnonzero(positive), np.flatnonzero(~positive)
    values = NUMBERS[name]
    expected = doubled_wins(np.sort(values[positives]), np.sort(values[negatives]))
    with threads.thread_limit(n_threads):
        assert pairs_won_twice(values, positives, negatives) == expected


def check_order(values, rows):
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
    monkeypatch.setattr(
        everypair.linalg.order, "scatter_keys", lambda *given: pytest.fail("packed")
    )
    descending(NUMBERS["normal"], np.arange(N))
