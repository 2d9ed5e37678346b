"""Smooth losses over the pairs of one group through one Chebyshev series (`pairs.boxes`).

Scores that lie close together are one wide box: no row is sorted, and rows are done several at
once. But the logistic slope falls from 1 to 1e-5 over a width of 12, and a series meets it to
1e-16 of the largest. So exponentials are taken out first: with ``u = s_i - s_j``

    slope   -exp(-u / 2) (1 / (2 cosh(u / 2)))
    loss     exp(-u / 2) (exp(u / 2) log(1 + exp(-u)))

whose first factor is a product of one number per row, and whose second falls to 2e-3. Every pair is
met to 2e-13 of itself. The slope of the sigmoid falls to both sides, and nothing can be taken out:
there the sums of all rows have to be large enough (`LEAST_SIGMOID_SLOPE`).
"""

from __future__ import annotations

from everypair._compiled.compiling import adds_freely, compiled
from everypair._compiled.exponential import exponential
from everypair._compiled.group_pairs import ends

SERIES_COEFFICIENTS = (32, 40, 48, 56, 64, 72)
"""Coefficients of each *level*: the further scores reach, the more. Multiples of eight, because
eight are done at once."""

LEAST_SIGMOID_SLOPE = 0.0025
"""A smaller mean of slopes would not be met to 2e-13 of itself."""

MOST_COEFFICIENTS = SERIES_COEFFICIENTS[-1]
HALF = MOST_COEFFICIENTS // 2

SWEEP = 256
"""Rows whose polynomials are made at once; they stay in the first cache."""
TWICE, FIRST, SECOND, FACTOR = (k * SWEEP for k in range(4))
"""Where in one array, as in `group_pairs`: twice the position, two terms of a recurrence, and
``exp(+-s / 2)``."""
CHANNELS_OF_SWEEP = 4


@compiled
def series_level(low, high, widths):
    """The first level whose width holds scores from low to high; past the last where none does."""
    level = 0
    while level < widths.size and high - low > widths[level]:
        level += 1
    return level


@compiled
def lay_sweep(sweep, scores, weights, begin, n, sign, middle, width):
    """Rows from ``begin`` on: twice their position in [-1, 1], ``exp(sign (s - middle) / 2)``, and
    the first two terms of ``w exp() T_k``. How many rows there are, and with those of weight zero
    that fill up the last sixteen."""
    size, per_width = min(SWEEP, n - begin), 4.0 / width
    filled = (size + 7) // 8 * 8
    for j in range(size):
        sweep[TWICE + j], sweep[FIRST + j] = scores[begin + j] - middle, weights[begin + j]
    for j in range(size, filled):
        sweep[TWICE + j] = sweep[FIRST + j] = 0.0
    for j in range(filled):
        centred = sweep[TWICE + j]
        double = per_width * centred
        e = exponential(0.5 * sign * centred)
        weighted = sweep[FIRST + j] * e
        sweep[TWICE + j], sweep[FACTOR + j] = double, e
        sweep[FIRST + j], sweep[SECOND + j] = weighted, 0.5 * double * weighted
    return size, filled


@adds_freely
def next_moments(sweep, n, moments, k):
    """Add ``w_i T_k(t_i)`` and the seven after it to the moments, and go on to the next eight."""
    m0 = m1 = m2 = m3 = m4 = m5 = m6 = m7 = 0.0
    for j in range(n):
        double, t0, t1 = sweep[TWICE + j], sweep[FIRST + j], sweep[SECOND + j]
        t2 = double * t1 - t0
        t3 = double * t2 - t1
        t4 = double * t3 - t2
        t5 = double * t4 - t3
        t6 = double * t5 - t4
        t7 = double * t6 - t5
        m0 += t0
        m1 += t1
        m2 += t2
        m3 += t3
        m4 += t4
        m5 += t5
        m6 += t6
        m7 += t7
        t8 = double * t7 - t6
        sweep[FIRST + j], sweep[SECOND + j] = t8, double * t8 - t7
    moments[k] += m0
    moments[k + 1] += m1
    moments[k + 2] += m2
    moments[k + 3] += m3
    moments[k + 4] += m4
    moments[k + 5] += m5
    moments[k + 6] += m6
    moments[k + 7] += m7


@compiled
def series_moments(sweep, scores, weights, n, sign, middle, width, count, moments):
    """``w_i exp(sign (s_i - middle) / 2) T_k(t_i)`` added up."""
    for k in range(count):
        moments[k] = 0.0
    for begin in range(0, n, SWEEP):
        _, filled = lay_sweep(sweep, scores, weights, begin, n, sign, middle, width)
        for k in range(0, count, 8):
            next_moments(sweep, filled, moments, k)


@compiled
def next_terms(sweep, n, field, k):
    """Eight steps down of Clenshaw's recurrence, from ``k + 7`` to ``k``."""
    f0, f1, f2, f3 = field[k], field[k + 1], field[k + 2], field[k + 3]
    f4, f5, f6, f7 = field[k + 4], field[k + 5], field[k + 6], field[k + 7]
    for j in range(n):
        double, b8, b9 = sweep[TWICE + j], sweep[FIRST + j], sweep[SECOND + j]
        b7 = f7 + (double * b8 - b9)
        b6 = f6 + (double * b7 - b8)
        b5 = f5 + (double * b6 - b7)
        b4 = f4 + (double * b5 - b6)
        b3 = f3 + (double * b4 - b5)
        b2 = f2 + (double * b3 - b4)
        b1 = f1 + (double * b2 - b3)
        sweep[FIRST + j], sweep[SECOND + j] = f0 + (double * b1 - b2), b1


@compiled
def series_evaluate(sweep, scores, weights, n, sign, middle, width, count, laid, field, out):
    """``exp(sign (s_i - middle) / 2) sum_k field_k T_k(t_i)``; ``laid``: the sweep has the rows."""
    for begin in range(0, n, SWEEP):
        if laid:
            size = n
            filled = (size + 7) // 8 * 8
        else:
            size, filled = lay_sweep(sweep, scores, weights, begin, n, sign, middle, width)
        for j in range(filled):
            sweep[FIRST + j] = sweep[SECOND + j] = 0.0
        for k in range(count - 8, -8, -8):
            next_terms(sweep, filled, field, k)
        for j in range(filled):
            # The last step took 2 t where T_1 has t.
            value = sweep[FIRST + j] - 0.5 * sweep[TWICE + j] * sweep[SECOND + j]
            sweep[FIRST + j] = sweep[FACTOR + j] * value
        for j in range(size):
            out[begin + j] = sweep[FIRST + j]


@compiled
def series_fields(of_positives, of_negatives, count, loss, slope, room, on_positives, on_negatives):
    """The loss of a group, and the series of the slopes at its positives and at its negatives.

    The kernel of the slopes is even: its coefficients of ``T_k T_l`` with ``k + l`` odd are zero,
    and those of each parity stand in a table of their own.
    """
    half = count // 2
    for k in range(count):
        room[k] = 0.0
    for l in range(0, count, 4):
        m0, m1, m2, m3 = (of_negatives[l], of_negatives[l + 1], of_negatives[l + 2],
                          of_negatives[l + 3])  # fmt: skip
        for k in range(count):
            room[k] += (m0 * loss[l, k] + m1 * loss[l + 1, k]) + (
                m2 * loss[l + 2, k] + m3 * loss[l + 3, k]
            )
    total = 0.0
    for k in range(count):
        total += of_positives[k] * room[k]
    for parity in range(2):
        table = slope[parity]
        for k in range(half):
            room[k] = room[HALF + k] = 0.0
        for l in range(0, half, 2):
            place = 2 * l + parity
            m0, m1 = of_negatives[place], of_negatives[place + 2]
            n0, n1 = of_positives[place], of_positives[place + 2]
            for k in range(half):
                first, second = table[l, k], table[l + 1, k]
                room[k] += m0 * first + m1 * second
                room[HALF + k] += n0 * first + n1 * second
        for k in range(half):
            on_positives[2 * k + parity], on_negatives[2 * k + parity] = room[k], room[HALF + k]
    return total


@compiled
def series_slopes(kind, x, a, of_x, m, y, b, of_y, n, middle, level, widths, loss, slope, sweeps,
                  series):  # fmt: skip
    """The loss of a group, every row's sum of ``-phi'`` over its pairs, and whether they are exact.

    ``loss[level, l, k]`` and ``slope[level, parity, l, k]`` are the tables of the second factors;
    ``sweeps`` and ``series`` are room for a sweep of each class and for five series.
    """
    of_positives, of_negatives, room = series[0], series[1], series[2]
    on_positives, on_negatives = series[3], series[4]
    width, count, sign = widths[level], SERIES_COEFFICIENTS[level], 1.0 if kind == 0 else 0.0
    series_moments(sweeps[0], x, a, m, -sign, middle, width, count, of_positives)
    series_moments(sweeps[1], y, b, n, sign, middle, width, count, of_negatives)
    total = series_fields(of_positives, of_negatives, count, loss[level], slope[level], room,
                          on_positives, on_negatives)  # fmt: skip
    # Rows of one sweep are still there.
    series_evaluate(sweeps[0], x, a, m, -sign, middle, width, count, m <= SWEEP, on_positives, of_x)
    series_evaluate(sweeps[1], y, b, n, sign, middle, width, count, n <= SWEEP, on_negatives, of_y)
    if kind == 0:
        return total, True
    least, _ = ends(of_x, m, of_y, n)
    return total, least >= LEAST_SIGMOID_SLOPE
