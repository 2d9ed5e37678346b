"""Hessians of windows over rows in blocks, against their definition."""

from __future__ import annotations

import numpy as np
import pytest

from everypair.linalg import block_windows
from everypair.linalg.block_matrix import BlockMatrix
from everypair.linalg.blocks import LocalBlocks
from everypair.linalg.row_sums import Windows

LENGTHS = [7, 1, 30, 22]


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((sum(LENGTHS), 3)) * [1, 10, 0.1] + [0, 100, 5]
    return X, rng.random(len(X)) < 0.4, rng.standard_normal(len(X))


def in_blocks(X, positive):
    ends = np.cumsum(LENGTHS)[:-1]

    def read(columns):
        for k, part in enumerate(np.split(X, ends)):
            yield f"block {k}", np.asfortranarray(part[:, columns])

    return BlockMatrix(LocalBlocks(read, np.split(positive, ends), None, X.shape[1], 8))


def windows_and_hessian(X, positive, scores):
    """Of the pairs with ``0 < 1 - (s_i - s_j) < 0.8``, weighted."""
    rng = np.random.default_rng(1)
    weight = rng.integers(0, 4, len(X)).astype(float)
    targets, sources = (
        rows[np.argsort(-scores[rows], kind="stable")]
        for rows in (np.flatnonzero(positive), np.flatnonzero(~positive))
    )
    short = 1 - (scores[targets][:, None] - scores[sources])
    inside = (short > 0) & (short < 0.8)
    held = np.flatnonzero(inside.any(axis=1))
    low, high = np.argmax(inside, axis=1)[held], (short > 0).sum(axis=1)[held]
    hessian = np.zeros((3, 3))
    for k, l in zip(*np.nonzero(inside), strict=True):
        apart = X[targets[k]] - X[sources[l]]
        hessian += weight[targets[k]] * weight[sources[l]] * np.outer(apart, apart)
    found = Windows(targets[held], weight[targets[held]], sources, weight[sources], low, high)
    return found, hessian


def test_a_hessian_is_exact_where_every_row_has_a_box(rows):
    X, positive, scores = rows
    windows, wanted = windows_and_hessian(X, positive, scores)
    found = in_blocks(X, positive).gram_of_windows(windows)
    np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-12 * np.abs(wanted).max())


@pytest.mark.parametrize("most", [1, 2, 5, 11])
def test_a_hessian_in_few_boxes_stays_a_sum_of_squares_of_the_same_weight(rows, most, monkeypatch):
    X, positive, scores = rows
    monkeypatch.setattr(block_windows, "BOX_NUMBERS", 1)
    monkeypatch.setattr(block_windows, "LEAST_BOXES", most)
    windows, wanted = windows_and_hessian(X, positive, scores)
    found = in_blocks(X, positive).gram_of_windows(windows)
    values = np.linalg.eigvalsh(found)
    assert values[0] > 0
    # Pairs that are near each other in score: X does not depend on it here.
    assert np.trace(found) == pytest.approx(np.trace(wanted), rel=0.5)
    boxes = block_windows.WindowBoxes(windows, 3)
    sums = [
        factor[box] @ weight
        for factor, box, weight in zip(
            boxes.factors, (boxes.of_targets, boxes.of_sources), (boxes._a, boxes._b), strict=True
        )
    ]
    reached = np.append(0.0, np.cumsum(windows.source_weights))
    mass = windows.target_weights @ (reached[windows.high] - reached[windows.low])
    np.testing.assert_allclose(sums, mass, rtol=1e-12)


def test_blocks_that_hold_whole_windows_add_up(rows):
    X, positive, scores = rows
    starts = np.concatenate([[0], np.cumsum(LENGTHS)])
    block = np.searchsorted(starts, np.arange(len(X)), side="right") - 1
    apart = scores - 100.0 * block  # pairs of two blocks are never in a window
    windows, wanted = windows_and_hessian(X, positive, apart)
    matrix = in_blocks(X, positive)
    matrix.blocks.grouped = True
    found = matrix.gram_of_windows(windows)
    np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-12 * np.abs(wanted).max())


def test_no_pair_in_any_window_is_no_curvature(rows):
    X, positive, _ = rows
    nothing = np.empty(0, dtype=np.intp)
    negatives = np.flatnonzero(~positive)
    windows = Windows(nothing, np.empty(0), negatives, np.ones(negatives.size), nothing, nothing)
    assert not in_blocks(X, positive).gram_of_windows(windows).any()
