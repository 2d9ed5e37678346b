"""Smooth losses over the pairs of one group, by the definition.

The pairs are those of ``outer`` rows (the shorter class) with ``inner`` rows. A loss is a function
of ``e = exp(-(s_i - s_j))``, a product of two factors, one per row: no pair needs an exponential of
its own. With ``t = e / (1 + e)`` and ``r = 1 / (1 + e)``

    kind 0, logistic   log(1 + e)   slope -t     curvature t r
    kind 1, sigmoid    t            slope -t r   curvature t r (r - t)

Two outer rows at once share a division: with ``c = e1 e2`` and ``q = e1 + e2 + c``,
``t1 = (e1 + c) / (1 + q)`` and ``r1 = (1 + e2) / (1 + q)``. Where all outer rows weigh the same,
their losses share a logarithm: ``1 + p = prod (1 + e)`` grows by ``p <- p + (q + p q)``, whose
terms are all positive, so that a loss of 1e-200 keeps its digits.

Inner rows stand in a *tile*: one array with a channel for each quantity at a constant offset, so
that the compiler knows that no two channels overlap. They are filled up to a multiple of eight with
rows of weight and factor zero, which add nothing. An odd outer class gets such a row as well.
"""

from __future__ import annotations

import numpy as np

from everypair._compiled.compiling import adds_freely, compiled, divides_freely
from everypair._compiled.exponential import exponential
from everypair._compiled.logarithm import log_one_plus

WIDEST_SCORE_RANGE = 300.0
"""Within this range of scores, exponentials and the products of two are float64 numbers."""

LARGEST_LOG, LOG_OF_TWO = 690.0, 0.6932

ROWS_AT_ONCE = 16
"""Fewer exponentials are made one by one."""

TILE = 256
(FACTOR, WEIGHT, SUM, PRODUCT, LOST, LOST_2, WON, WON_2, VECTOR) = (k * TILE for k in range(9))
CHANNELS = 9


@compiled
def ends(x, m, y, n):
    """The least and the largest of m and n values."""
    low = high = x[0]
    for i in range(1, m):
        low, high = min(low, x[i]), max(high, x[i])
    for j in range(n):
        low, high = min(low, y[j]), max(high, y[j])
    return low, high


@compiled
def all_equal(values, n):
    for i in range(1, n):  # noqa: SIM110
        if values[i] != values[0]:
            return False
    return True


@divides_freely
def factors(x, m, sign, middle, e):
    """``exp(-sign (x - middle))``, and a row past the last that adds nothing."""
    if m < ROWS_AT_ONCE:
        for i in range(m):
            e[i] = np.exp(sign * (middle - x[i]))
    else:
        for i in range(m):
            e[i] = exponential(sign * (middle - x[i]))
    e[m] = 0.0


@compiled
def lay_tile(tile, e, w, begin, n):
    """The inner rows from ``begin`` on; how many rows the tile has with those that fill it up."""
    size = min(TILE, n - begin)
    filled = (size + 7) // 8 * 8
    for j in range(size):
        tile[FACTOR + j], tile[WEIGHT + j] = e[begin + j], w[begin + j]
    for j in range(size, filled):
        tile[FACTOR + j] = tile[WEIGHT + j] = 0.0
    for j in range(filled):
        tile[SUM + j] = tile[PRODUCT + j] = 0.0
    return size, filled


@adds_freely
def dot(tile, channel, n):
    """Of a channel and the weights."""
    total = 0.0
    for j in range(n):
        total += tile[WEIGHT + j] * tile[channel + j]
    return total


@adds_freely
def logistic_slopes_of_two(tile, n, first, second, w_first, w_second):
    """t of two outer rows with each inner row, in their sums and products as well; the weighted
    sums of t over the inner rows."""
    lost = lost_2 = 0.0
    for j in range(n):
        factor = tile[FACTOR + j]
        e1, e2 = first * factor, second * factor
        both = e1 * e2
        t1, t2 = e1 + both, e2 + both
        q = t1 + e2
        share = 1.0 / (1.0 + q)
        t1 *= share
        t2 *= share
        product = tile[PRODUCT + j]
        tile[PRODUCT + j] = product + (q + product * q)
        tile[SUM + j] += w_first * t1 + w_second * t2
        tile[LOST + j] = t1
        tile[LOST_2 + j] = t2
        lost += tile[WEIGHT + j] * t1
        lost_2 += tile[WEIGHT + j] * t2
    return lost, lost_2


@adds_freely
def sigmoid_slopes_of_two(tile, n, first, second, w_first, w_second):
    """The weighted sum of t over the pairs of two outer rows, and the sums of ``t r`` of each; the
    latter in the sums of the inner rows as well."""
    lost = lost_2 = slope = slope_2 = 0.0
    for j in range(n):
        factor, weight = tile[FACTOR + j], tile[WEIGHT + j]
        e1, e2 = first * factor, second * factor
        both = e1 * e2
        share = 1.0 / (1.0 + ((e1 + both) + e2))
        t1, t2 = (e1 + both) * share, (e2 + both) * share
        lost += weight * t1
        lost_2 += weight * t2
        t1 *= (1.0 + e2) * share
        t2 *= (1.0 + e1) * share
        tile[SUM + j] += w_first * t1 + w_second * t2
        slope += weight * t1
        slope_2 += weight * t2
    return w_first * lost + w_second * lost_2, slope, slope_2


@divides_freely
def pieces_of_two(tile, n, first, second):
    """t and r of two outer rows with each inner row."""
    for j in range(n):
        factor = tile[FACTOR + j]
        e1, e2 = first * factor, second * factor
        both = e1 * e2
        share = 1.0 / (1.0 + ((e1 + both) + e2))
        tile[LOST + j] = (e1 + both) * share
        tile[LOST_2 + j] = (e2 + both) * share
        tile[WON + j] = (1.0 + e2) * share
        tile[WON_2 + j] = (1.0 + e1) * share


@divides_freely
def logs_of_two(tile, n, first, second):
    """The losses of two outer rows with each inner row, whose t are there."""
    for j in range(n):
        tile[WON + j] = log_one_plus(first * tile[FACTOR + j], 1.0 - tile[LOST + j])
        tile[WON_2 + j] = log_one_plus(second * tile[FACTOR + j], 1.0 - tile[LOST_2 + j])


@divides_freely
def log_of_products(tile, n):
    """The weighted sum of ``log(1 + p)``; the products begin anew."""
    for j in range(n):
        tile[WON + j] = log_one_plus(tile[PRODUCT + j], 1.0 / (1.0 + tile[PRODUCT + j]))
        tile[PRODUCT + j] = 0.0
    return dot(tile, WON, n)


@divides_freely
def group_slopes(kind, e_outer, w_outer, of_outer, m, e_inner, w_inner, of_inner, n, spread,
                 tile):  # fmt: skip
    """The loss of a group, and every row's sum of ``-phi'`` over its pairs.

    ``spread``: how far the scores reach. The outer arrays hold a row past the last.
    """
    total = 0.0
    w_outer[m] = 0.0
    for i in range(m + 1):
        of_outer[i] = 0.0
    rows_per_log = max(2, int(LARGEST_LOG / (LOG_OF_TWO + spread)) // 2 * 2)
    alike = all_equal(w_outer, m)
    for begin in range(0, n, TILE):
        size, filled = lay_tile(tile, e_inner, w_inner, begin, n)
        for i in range(0, m, 2):
            first, second = e_outer[i], e_outer[i + 1]
            w_first, w_second = w_outer[i], w_outer[i + 1]
            if kind == 1:
                value, slope, slope_2 = sigmoid_slopes_of_two(
                    tile, filled, first, second, w_first, w_second
                )
                total += value
            else:
                slope, slope_2 = logistic_slopes_of_two(
                    tile, filled, first, second, w_first, w_second
                )
                if not alike:
                    logs_of_two(tile, filled, first, second)
                    total += w_first * dot(tile, WON, filled) + w_second * dot(tile, WON_2, filled)
                elif (i + 2) % rows_per_log == 0 or i + 2 >= m:
                    total += w_first * log_of_products(tile, filled)
            of_outer[i] += slope
            of_outer[i + 1] += slope_2
        for j in range(size):
            of_inner[begin + j] = tile[SUM + j]
    return total


@divides_freely
def few_slopes(kind, e_x, a, of_x, m, e_y, b, of_y, n):
    """`group_slopes` of a few pairs, one after the other."""
    total = 0.0
    for j in range(n):
        of_y[j] = 0.0
    for i in range(m):
        value = slope = product = 0.0
        for j in range(n):
            e = e_x[i] * e_y[j]
            r = 1.0 / (1.0 + e)
            t = e * r
            if kind == 1:
                value += b[j] * t
                t *= r
            elif b[j] == b[0]:
                product += e + product * e
            else:
                value += b[j] * log_one_plus(e, r)
            slope += b[j] * t
            of_y[j] += a[i] * t
        of_x[i] = slope
        total += a[i] * (value + b[0] * log_one_plus(product, 1.0 / (1.0 + product)))
    return total


@divides_freely
def group_curvatures(kind, e_outer, w_outer, v_outer, of_outer, m, e_inner, w_inner, v_inner,
                     of_inner, n, differ, tile):  # fmt: skip
    """Every row's sum of ``phi''`` over its pairs; where they ``differ``, of ``phi'' (v_i - v_j)``
    instead."""
    w_outer[m] = v_outer[m] = 0.0
    for i in range(m + 1):
        of_outer[i] = 0.0
    for begin in range(0, n, TILE):
        size, filled = lay_tile(tile, e_inner, w_inner, begin, n)
        for j in range(filled):
            tile[VECTOR + j] = v_inner[begin + j] if j < size else 0.0
        for i in range(0, m, 2):
            pieces_of_two(tile, filled, e_outer[i], e_outer[i + 1])
            if kind == 1:
                for j in range(filled):
                    tile[LOST + j] *= tile[WON + j] - tile[LOST + j]
                    tile[LOST_2 + j] *= tile[WON_2 + j] - tile[LOST_2 + j]
            for j in range(filled):
                tile[LOST + j] *= tile[WON + j]
                tile[LOST_2 + j] *= tile[WON_2 + j]
            w_first, w_second = w_outer[i], w_outer[i + 1]
            if differ:
                v_first, v_second = v_outer[i], v_outer[i + 1]
                w_first, w_second = -w_first, -w_second
                for j in range(filled):
                    tile[LOST + j] *= v_first - tile[VECTOR + j]
                    tile[LOST_2 + j] *= v_second - tile[VECTOR + j]
            for j in range(filled):
                tile[SUM + j] += w_first * tile[LOST + j] + w_second * tile[LOST_2 + j]
            of_outer[i] += dot(tile, LOST, filled)
            of_outer[i + 1] += dot(tile, LOST_2, filled)
        for j in range(size):
            of_inner[begin + j] = tile[SUM + j]


@divides_freely
def pieces(margin):
    """t and r of one pair, however large its margin."""
    e = np.exp(-abs(margin))
    small, large = e / (1.0 + e), 1.0 / (1.0 + e)
    return (small, large) if margin >= 0 else (large, small)


@divides_freely
def wide_group_slopes(kind, x, a, of_x, m, y, b, of_y, n):
    """`group_slopes` of scores too far apart for factors: positives x, negatives y."""
    total = 0.0
    for j in range(n):
        of_y[j] = 0.0
    for i in range(m):
        of_x[i] = value = 0.0
        for j in range(n):
            z = x[i] - y[j]
            t, r = pieces(z)
            value += b[j] * (t if kind == 1 else max(0.0, -z) + np.log1p(np.exp(-abs(z))))
            slope = t * r if kind == 1 else t
            of_x[i] += b[j] * slope
            of_y[j] += a[i] * slope
        total += a[i] * value
    return total


@divides_freely
def wide_group_curvatures(kind, x, a, v_x, of_x, m, y, b, v_y, of_y, n, differ):
    """`group_curvatures` of scores too far apart for factors: positives x, negatives y."""
    for j in range(n):
        of_y[j] = 0.0
    for i in range(m):
        of_x[i] = 0.0
        for j in range(n):
            t, r = pieces(x[i] - y[j])
            curvature = t * r * (r - t) if kind == 1 else t * r
            on_x = curvature * (v_x[i] - v_y[j]) if differ else curvature
            of_x[i] += b[j] * on_x
            of_y[j] += a[i] * (-on_x if differ else on_x)
