"""L-BFGS: the latest steps and what they say of the Hessian (`solvers.lbfgs`)."""

from __future__ import annotations

import numpy as np

from everypair._compiled.compiling import divides_freely


@divides_freely
def two_loops(steps, changes, out):
    """``out <- H out`` for these steps and changes of the gradient, rows, the oldest first."""
    n_steps, size = steps.shape
    along, shares = np.zeros(n_steps), np.zeros(n_steps)
    for k in range(n_steps - 1, -1, -1):
        product = 0.0
        for j in range(size):
            product += steps[k, j] * out[j]
            along[k] += steps[k, j] * changes[k, j]
        shares[k] = product / along[k]
        for j in range(size):
            out[j] -= shares[k] * changes[k, j]
    square = 0.0
    for j in range(size):
        square += changes[n_steps - 1, j] ** 2
    for j in range(size):
        out[j] *= along[n_steps - 1] / square
    for k in range(n_steps):
        product = 0.0
        for j in range(size):
            product += changes[k, j] * out[j]
        share = shares[k] - product / along[k]
        for j in range(size):
            out[j] += share * steps[k, j]
