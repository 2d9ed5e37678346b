"""Products with a matrix that lies by columns, in single precision, and sums of one vector."""

from __future__ import annotations

import numpy as np

from everypair._compiled.compiling import compiled
from everypair._compiled.walks import compensated_sum

STRIP_ROWS = 2048
"""Rows whose sums stay in a core's nearest cache while the columns go by."""

LANES = 64
"""Sums of a column that do not wait for each other. A constant, so that loops over it unroll."""


@compiled
def columns_dot(columns, vector, start, stop, out):
    """``out[i] = sum_j vector[j] columns[j, i]`` over the rows ``start:stop``, four columns at a
    time."""
    n_columns = columns.shape[0]
    for begin in range(start, stop, STRIP_ROWS):
        end = min(begin + STRIP_ROWS, stop)
        for i in range(begin, end):
            out[i] = 0.0
        j = 0
        while j + 4 <= n_columns:
            first, second, third, fourth = vector[j], vector[j + 1], vector[j + 2], vector[j + 3]
            for i in range(begin, end):
                out[i] += (first * columns[j, i] + second * columns[j + 1, i]) + (
                    third * columns[j + 2, i] + fourth * columns[j + 3, i]
                )
            j += 4
        while j < n_columns:
            for i in range(begin, end):
                out[i] += vector[j] * columns[j, i]
            j += 1


@compiled
def columns_look(columns, start, stop, sums, squares, largest):
    """Adds each column's sum and sum of squares over the rows ``start:stop``, raises ``largest`` to
    the largest absolute value, and returns the largest sum of squares of a row.

    A value that is NaN is seen in ``sums`` alone.
    """
    of_rows, longest = np.empty(STRIP_ROWS), 0.0
    totals, lanes = np.empty(LANES), np.empty(LANES)
    tops = np.empty(LANES)
    for begin in range(start, stop, STRIP_ROWS):
        end = min(begin + STRIP_ROWS, stop)
        whole = (end - begin) // LANES * LANES
        of_rows[:] = 0.0
        for j in range(columns.shape[0]):
            totals[:], lanes[:], tops[:] = 0.0, 0.0, 0.0
            for i in range(0, whole, LANES):
                for k in range(LANES):
                    value = np.float64(columns[j, begin + i + k])
                    square = value * value
                    totals[k] += value
                    lanes[k] += square
                    of_rows[i + k] += square
                    tops[k] = max(tops[k], abs(value))
            for i in range(whole, end - begin):
                value = np.float64(columns[j, begin + i])
                square = value * value
                totals[0] += value
                lanes[0] += square
                of_rows[i] += square
                tops[0] = max(tops[0], abs(value))
            for k in range(LANES):
                sums[j] += totals[k]
                squares[j] += lanes[k]
                largest[j] = max(largest[j], tops[k])
        for i in range(end - begin):
            longest = max(longest, of_rows[i])
    return longest


@compiled
def columns_add_rows(columns, weights, start, stop, out):
    """``out[j] += sum_i weights[i] columns[j, i]`` over the rows ``start:stop``."""
    sums = np.empty(LANES)
    for begin in range(start, stop, STRIP_ROWS):
        end = min(begin + STRIP_ROWS, stop)
        whole = begin + (end - begin) // LANES * LANES
        for j in range(columns.shape[0]):
            sums[:] = 0.0
            for i in range(begin, whole, LANES):
                some, values = weights[i : i + LANES], columns[j, i : i + LANES]
                for k in range(LANES):
                    sums[k] += some[k] * values[k]
            total = 0.0
            for k in range(LANES):
                total += sums[k]
            for i in range(whole, end):
                total += weights[i] * columns[j, i]
            out[j] += total


@compiled
def vector_sums(values, positive):
    """The sum, and the sums of squares, of absolute values, and of the positive rows."""
    sums = np.zeros((3, LANES))
    whole = values.size // LANES * LANES
    for i in range(0, whole, LANES):
        for k in range(LANES):
            value = values[i + k]
            sums[0, k] += value * value
            sums[1, k] += abs(value)
            sums[2, k] += value * positive[i + k]
    for i in range(whole, values.size):
        sums[0, 0] += values[i] * values[i]
        sums[1, 0] += abs(values[i])
        sums[2, 0] += values[i] * positive[i]
    return compensated_sum(values), sums[0].sum(), sums[1].sum(), sums[2].sum()
