"""What the metrics are tested against, and the data they are tested on."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

# WFNS grade (1 to 5) of the patients of pROC's aSAH data, by outcome: a 2 x 5 table.
WFNS = {0: [37, 20, 3, 8, 4], 1: [2, 12, 1, 8, 18]}


def wfns():
    y = np.repeat([0, 1], [sum(WFNS[0]), sum(WFNS[1])])
    s = np.concatenate([np.repeat(np.arange(1, 6), WFNS[label]) for label in (0, 1)])
    return y, s


@st.composite
def rankings(draw, least_of_class=1):
    """``y, s, weight``: any imbalance, ties, zero and wild weights."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n = draw(st.integers(2 * least_of_class, 120))
    n_positive = draw(st.integers(least_of_class, n - least_of_class))
    y = rng.permutation(np.arange(n) < n_positive)
    s = rng.standard_normal(n) + y
    if draw(st.booleans()):
        s = np.round(2 * s)
    weight = None
    kind = draw(st.sampled_from(["none", "uniform", "wild", "zeros"]))
    if kind != "none":
        weight = {
            "uniform": rng.random(n) + 0.01,
            "wild": 10.0 ** rng.uniform(-4, 4, n),
            "zeros": rng.integers(0, 3, n).astype(float),
        }[kind]
        for label in (False, True):
            weight[np.flatnonzero(y == label)[:least_of_class]] = 1.0
    return y, s, weight


def pair_values(y, s):
    gap = s[y][:, None] - s[~y][None, :]
    return (gap > 0) + 0.5 * (gap == 0)
