"""Coordinate descent on a Gram matrix (`solvers.prox_newton`)."""

from __future__ import annotations

import numpy as np

from everypair._compiled.compiling import compiled


@compiled
def descend_coordinates(hessian, l1, l2, lower, upper, w, gradient, max_epochs, tolerance):
    """Minimise ``g.d + d'Hd / 2 + sum_k l1_k |w_k| + l2_k / 2 w_k^2`` over w, d its change.

    Every w_k stays between its bounds.
    ``w`` and ``gradient`` (the quadratic's own, at w) are updated in place. An epoch's largest
    move is measured by ``sqrt(h_kk) |step_k|``, which no change of a feature's unit alters.
    Ends when it is at most ``tolerance`` of the first; returns that share.
    """
    first, share = 0.0, 0.0
    for epoch in range(max_epochs):
        largest = 0.0
        for k in range(w.size):
            h = hessian[k, k] + l2[k]
            if not h > 0.0:
                continue
            pull = hessian[k, k] * w[k] - gradient[k]
            new = 0.0
            if pull > l1[k]:
                new = (pull - l1[k]) / h
            elif pull < -l1[k]:
                new = (pull + l1[k]) / h
            new = min(max(new, lower[k]), upper[k])
            step = new - w[k]
            if step != 0.0:
                w[k] = new
                row = hessian[k]
                for j in range(w.size):
                    gradient[j] += step * row[j]
                largest = max(largest, np.sqrt(h) * abs(step))
        if epoch == 0:
            first = largest
        share = largest / first if first > 0.0 else 0.0
        if share <= tolerance:
            break
    return share
