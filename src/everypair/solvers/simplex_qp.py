"""A small concave QP over a simplex, by active sets: exact, and quick from a good start.

    maximise  b . x - 1/2 x' H x   over  x >= 0, sum(x) = 1

Few of the x are above zero at the solution, and from one cut to the next only some of them
change: each move is one Cholesky factorisation of that small part of H.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import dpotrf, dpotrs

Array = NDArray[np.float64]

RIDGE = 1e-13
"""Share of the largest diagonal added to it: cuts may depend on each other linearly."""

ACCURACY = 1e-12
"""Of ``max(gradient) - gradient . x``, which bounds how far x is from the maximum."""

MOVES_PER_VARIABLE = 20


def simplex_qp(H: Array, b: Array, start: Array) -> Array:
    """The x that maximises; ``start`` is a point of the simplex, its support the first guess.

    Always a point of the simplex, whatever rounding does: then the best that was reached.
    """
    x = start.copy()
    support: list[int] = np.flatnonzero(x > 0).tolist()
    ridge = max(RIDGE * float(H.diagonal().max()), np.finfo(float).tiny)
    gradient = b - H @ x
    repeated = False
    for _ in range(MOVES_PER_VARIABLE * b.size):
        rows = np.array(support)
        now = x[rows]
        step = _step(H[np.ix_(rows, rows)], gradient[rows], int(np.argmax(now)), ridge)
        if step is None:
            break
        falling = now + step < 0
        if np.any(falling):
            # As far as the first one that reaches zero, which then leaves.
            share = now[falling] / -step[falling]
            first = int(np.flatnonzero(falling)[np.argmin(share)])
            now = np.maximum(now + share.min() * step, 0.0)
            now[first] = 0.0
            del support[first]
        else:
            now = now + step
        x[rows] = now / now.sum()
        gradient = b - H @ x
        if np.any(falling):
            continue
        best, level = int(np.argmax(gradient)), float(gradient @ x)
        if gradient[best] - level <= ACCURACY * (abs(level) + float(np.abs(b) @ x)):
            break
        if best not in support:
            support.append(best)
            repeated = False
        elif repeated:
            break
        else:
            # The ridge has held the step back: once more from here.
            repeated = True
    return x


def _step(H: Array, gradient: Array, base: int, ridge: float) -> Array | None:
    """The step to the maximum among these variables, signs free, their sum kept.

    In differences from the ``base`` variable: what the gradients have in common, often
    most of them, drops out before anything is solved. None where H does not factor.
    """
    others = np.arange(gradient.size) != base
    across = H[base, others]
    reduced = H[np.ix_(others, others)] - across - across[:, None] + H[base, base]
    reduced[np.diag_indices_from(reduced)] += ridge
    step = np.zeros(gradient.size)
    if gradient.size > 1:
        factor, failed = dpotrf(reduced, lower=1, overwrite_a=1)
        if failed:
            return None
        step[others], _ = dpotrs(factor, gradient[others] - gradient[base], lower=1)
        step[base] = -step[others].sum()
    return step if np.all(np.isfinite(step)) else None
