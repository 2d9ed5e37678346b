"""Sums over coefficients of an elastic net and of its conjugate (`penalties.ElasticNet`)."""

from __future__ import annotations

from everypair._compiled.compiling import compiled


@compiled
def elastic_net_value(w, l1, l2):
    total = 0.0
    for k in range(w.size):
        size = abs(w[k])
        total += size * (l1[k] + l2[k] / 2 * size)
    return total


@compiled
def _conjugate(size, w, l1, l2, unit):
    """Of one coefficient, at a feasible u of this size; not penalised, it lies in its box."""
    if l2 > 0.0:
        over = size - l1
        return over * over / (2 * l2) if not over <= 0.0 else 0.0
    return (2 * abs(w) + unit) * size if l1 == 0.0 else 0.0


@compiled
def elastic_net_conjugate(u, w, l1, l2, unit):
    total = 0.0
    for k in range(w.size):
        total += _conjugate(abs(u[k]), w[k], l1[k], l2[k], unit[k])
    return total


@compiled
def elastic_net_young(w, u, error, l1, l2, unit, roundoff):
    """``Omega(w) + Omega*(-u) + w.u``, at most, where u is known up to ``error``."""
    total = 0.0
    for k in range(w.size):
        size = abs(w[k])
        term = size * (l1[k] + l2[k] / 2 * size) + w[k] * u[k]
        term += _conjugate(abs(u[k]) + error[k], w[k], l1[k], l2[k], unit[k])
        if not term <= 0.0:  # a NaN stays one
            total += term
        total += roundoff * abs(w[k] * u[k]) + size * error[k]
    return total


@compiled
def elastic_net_scales(u, l1, l2):
    """``l1 / |u|`` at least, of the coefficients without l2 and of all that have l1; at most 1."""
    sharp = inner = 1.0
    for k in range(u.size):
        size = abs(u[k])
        if l1[k] > 0.0 and not size <= l1[k]:
            share = l1[k] / size
            if not share >= inner:
                inner = share
            if l2[k] == 0.0 and not share >= sharp:
                sharp = share
    return sharp, inner
