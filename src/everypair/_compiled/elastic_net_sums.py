"""Sums over coefficients of an elastic net with bounds and its conjugate (`penalties`)."""

from __future__ import annotations

import numpy as np

from everypair._compiled.compiling import compiled


@compiled
def elastic_net_value(w, l1, l2):
    total = 0.0
    for k in range(w.size):
        size = abs(w[k])
        total += size * (l1[k] + l2[k] / 2 * size)
    return total


@compiled
def _conjugate(u, w, l1, l2, unit, lower, upper):
    """``sup_v u v - l1 |v| - l2 / 2 v^2`` of one coefficient over its bounds, where that is finite;
    not penalised, it lies within ``2 |w| + unit`` as well."""
    over, best = abs(u) - l1, 0.0
    if not over <= 0.0:
        best = over / l2 if l2 > 0.0 else np.inf
        if l1 == 0.0 and l2 == 0.0:
            best = 2 * abs(w) + unit
        if u < 0.0:
            best = -best
    v = min(max(best, lower), upper)
    if v != best:
        return v * u - abs(v) * (l1 + l2 / 2 * abs(v))
    if over <= 0.0 or abs(best) == np.inf:
        return 0.0  # the multipliers are scaled until no coefficient without bound is past l1
    return over * over / (2 * l2) if l2 > 0.0 else best * u


@compiled
def elastic_net_conjugate(u, error, w, l1, l2, unit, lower, upper):
    """``Omega*(-u)``, at most, where u is known up to ``error``: convex, so largest at an end."""
    total = 0.0
    for k in range(w.size):
        total += max(
            _conjugate(-u[k] - error[k], w[k], l1[k], l2[k], unit[k], lower[k], upper[k]),
            _conjugate(-u[k] + error[k], w[k], l1[k], l2[k], unit[k], lower[k], upper[k]),
        )
    return total


@compiled
def elastic_net_young(w, u, error, l1, l2, unit, lower, upper, roundoff):
    """``Omega(w) + Omega*(-u) + w.u``, at most, where u is known up to ``error``."""
    total = 0.0
    for k in range(w.size):
        size = abs(w[k])
        term = size * (l1[k] + l2[k] / 2 * size) + w[k] * u[k]
        term += max(
            _conjugate(-u[k] - error[k], w[k], l1[k], l2[k], unit[k], lower[k], upper[k]),
            _conjugate(-u[k] + error[k], w[k], l1[k], l2[k], unit[k], lower[k], upper[k]),
        )
        if not term <= 0.0:  # a NaN stays one
            total += term
        total += roundoff * abs(w[k] * u[k]) + size * error[k]
    return total


@compiled
def elastic_net_scales(u, error, l1, l2, lower, upper):
    """``l1 / |u|`` at least, of the coefficients without l2 and of all that have l1; at most 1.

    A coefficient that -u pushes against a bound needs no scaling.
    """
    sharp = inner = 1.0
    for k in range(u.size):
        size = abs(u[k]) + error[k]
        if l1[k] > 0.0 and not size <= l1[k]:
            up = upper[k] == np.inf and not error[k] - u[k] <= l1[k]
            down = lower[k] == -np.inf and not error[k] + u[k] <= l1[k]
            if not (up or down):
                continue
            share = l1[k] / size
            if not share >= inner:
                inner = share
            if l2[k] == 0.0 and not share >= sharp:
                sharp = share
    return sharp, inner
