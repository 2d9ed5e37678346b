"""Products with a matrix that lies by columns, in single precision, and sums of one vector."""

from __future__ import annotations

import numpy as np

from everypair._compiled.compiling import adds_freely, compiled
from everypair._compiled.walks import compensated_sum

STRIP_ROWS = 2048
"""Rows whose sums stay in a core's nearest cache while the columns go by."""


@compiled
def columns_dot(columns, vector, start, stop, out):
    """``out[i] = sum_j vector[j] columns[j, i]`` over the rows ``start:stop``, four columns at a
    time.

    Loops run over slices from 0 on: an index that may be negative is tested each time.
    """
    n_columns = columns.shape[0]
    for begin in range(start, stop, STRIP_ROWS):
        end = min(begin + STRIP_ROWS, stop)
        sums = out[begin:end]
        sums[:] = 0.0
        j = 0
        while j + 4 <= n_columns:
            first, second, third, fourth = vector[j], vector[j + 1], vector[j + 2], vector[j + 3]
            a, b = columns[j, begin:end], columns[j + 1, begin:end]
            c, d = columns[j + 2, begin:end], columns[j + 3, begin:end]
            for i in range(sums.size):
                sums[i] += (first * a[i] + second * b[i]) + (third * c[i] + fourth * d[i])
            j += 4
        while j < n_columns:
            a = columns[j, begin:end]
            for i in range(sums.size):
                sums[i] += vector[j] * a[i]
            j += 1


@adds_freely
def columns_look(columns, bits, start, stop, sums, squares, largest):
    """Adds each column's sum and sum of squares over the rows ``start:stop``, raises ``largest`` to
    the bits of the largest absolute value, and returns the largest sum of squares of a row.

    ``bits``: the columns as whole numbers of the same size. Without their sign they are in the
    order of the absolute values, NaN above infinity, and several are compared at once.
    """
    of_rows, longest = np.empty(STRIP_ROWS), 0.0
    no_sign = np.iinfo(bits.dtype).max
    for begin in range(start, stop, STRIP_ROWS):
        end = min(begin + STRIP_ROWS, stop)
        squares_of_rows = of_rows[: end - begin]
        squares_of_rows[:] = 0.0
        for j in range(columns.shape[0]):
            values, patterns = columns[j, begin:end], bits[j, begin:end]
            total, total_squares = 0.0, 0.0
            for i in range(values.size):
                value = np.float64(values[i])
                square = value * value
                total += value
                total_squares += square
                squares_of_rows[i] += square
            sums[j] += total
            squares[j] += total_squares
            top = largest[j]
            for i in range(patterns.size):
                top = max(top, patterns[i] & no_sign)
            largest[j] = top
        for i in range(squares_of_rows.size):
            longest = max(longest, squares_of_rows[i])
    return longest


@adds_freely
def columns_add_rows(columns, weights, start, stop, out):
    """``out[j] += sum_i weights[i] columns[j, i]`` over the rows ``start:stop``, four columns at a
    time."""
    n_columns = columns.shape[0]
    for begin in range(start, stop, STRIP_ROWS):
        end = min(begin + STRIP_ROWS, stop)
        some = weights[begin:end]
        j = 0
        while j + 4 <= n_columns:
            a, b = columns[j, begin:end], columns[j + 1, begin:end]
            c, d = columns[j + 2, begin:end], columns[j + 3, begin:end]
            first, second, third, fourth = 0.0, 0.0, 0.0, 0.0
            for i in range(some.size):
                first += some[i] * a[i]
                second += some[i] * b[i]
                third += some[i] * c[i]
                fourth += some[i] * d[i]
            out[j] += first
            out[j + 1] += second
            out[j + 2] += third
            out[j + 3] += fourth
            j += 4
        while j < n_columns:
            a, total = columns[j, begin:end], 0.0
            for i in range(some.size):
                total += some[i] * a[i]
            out[j] += total
            j += 1


@adds_freely
def vector_sums(values, positive):
    """The sum, and the sums of squares, of absolute values, and of the positive rows."""
    squares, sizes, of_positives = 0.0, 0.0, 0.0
    for i in range(values.size):
        squares += values[i] * values[i]
        sizes += abs(values[i])
        of_positives += values[i] * positive[i]
    return compensated_sum(values), squares, sizes, of_positives
