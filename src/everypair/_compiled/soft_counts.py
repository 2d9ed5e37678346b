"""Smooth counts above a cut (`solvers.soft_measure`)."""

from __future__ import annotations

from math import exp

from everypair._compiled.compiling import compiled


@compiled
def soft_counts(scores, shares, positive, cut, start, stop):
    """Of each class: the weight above the cut, ``sum w sigma(s - c)``, and ``sum w sigma'``."""
    above_p = above_n = slope_p = slope_n = 0.0
    for k in range(start, stop):
        small = exp(-abs(scores[k] - cut))
        high = 1.0 / (1.0 + small)
        slope = shares[k] * small * high * high
        above = shares[k] * (high if scores[k] >= cut else small * high)
        if positive[k]:
            above_p += above
            slope_p += slope
        else:
            above_n += above
            slope_n += slope
    return above_p, above_n, slope_p, slope_n


@compiled
def add_soft_slopes(scores, shares, positive, cut, of_positives, of_negatives, start, stop, out):
    """``out_k += lambda_k w_k sigma'(s_k - c)``, lambda by class."""
    for k in range(start, stop):
        small = exp(-abs(scores[k] - cut))
        high = 1.0 / (1.0 + small)
        lam = of_positives if positive[k] else of_negatives
        out[k] += lam * shares[k] * small * high * high
