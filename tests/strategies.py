"""Scores, labels and weights of every awkward kind."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from everypair.rows import Rows

SCALES = (1e-8, 1e-3, 1.0, 30.0, 1e3, 1e8)


@st.composite
def ranked_data(draw, max_rows: int = 300, scales: tuple[float, ...] = SCALES):
    """``(pairs, scores, rng)``: any imbalance, ties, zero weights, offsets, wild scales."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n_rows = draw(st.integers(2, max_rows))
    n_positive = draw(st.sampled_from([1, 2, n_rows // 10, n_rows // 2, n_rows - 1]))
    positive = np.zeros(n_rows, dtype=bool)
    positive[rng.permutation(n_rows)[: np.clip(n_positive, 1, n_rows - 1)]] = True
    scores = rng.standard_normal(n_rows) + positive * draw(st.sampled_from([0.0, 1.0, 8.0]))
    if draw(st.booleans()):
        scores = np.round(scores * 2) / 2
    scores *= draw(st.sampled_from(scales))
    scores += draw(st.sampled_from([0.0, 0.0, 1e3]))
    weights = {
        "none": None,
        "uniform": rng.random(n_rows),
        "some zero": rng.integers(0, 3, n_rows).astype(float),
        "many magnitudes": 10.0 ** rng.uniform(-6, 6, n_rows),
    }[draw(st.sampled_from(["none", "uniform", "some zero", "many magnitudes"]))]
    if weights is not None:
        weights[np.flatnonzero(positive)[0]] = weights[np.flatnonzero(~positive)[0]] = 1.0
    return Rows.uncut(positive, weights), scores, rng
