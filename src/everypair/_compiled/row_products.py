"""Products with compressed rows, and with rows in single precision (`matrix`)."""

from __future__ import annotations

import numpy as np

from everypair._compiled.compiling import adds_freely, compiled

STRIP_ROWS, STRIP_COLUMNS = 64, 1024
"""Rows, and sums of columns, that stay in a core's nearest cache."""


@adds_freely
def rows_dot(X, vector, start, stop, out):
    """``out[i] = x_i . vector`` over the rows ``start:stop``, widened as they are read."""
    for i in range(start, stop):
        row, total = X[i], 0.0
        for j in range(vector.size):
            total += row[j] * vector[j]
        out[i] = total


@compiled
def dense_add_rows(X, weights, start, stop, out):
    """``out += sum_i weights[i] x_i`` over the rows ``start:stop``, four of them at a time."""
    i = start
    while i + 4 <= stop:
        first, second, third, fourth = weights[i], weights[i + 1], weights[i + 2], weights[i + 3]
        for j in range(X.shape[1]):
            out[j] += (first * X[i, j] + second * X[i + 1, j]) + (
                third * X[i + 2, j] + fourth * X[i + 3, j]
            )
        i += 4
    while i < stop:
        for j in range(X.shape[1]):
            out[j] += weights[i] * X[i, j]
        i += 1


@compiled
def dense_add_chosen_rows(X, weights, rows, start, stop, block, out):
    """``out += sum_i weights[i] x_i`` over ``rows[start:stop]``, ``block`` of them before these are
    added up, and of each so many columns at a time that the sums stay in the nearest cache."""
    for left in range(0, X.shape[1], STRIP_COLUMNS):
        right = min(left + STRIP_COLUMNS, X.shape[1])
        sums = np.empty(right - left)
        for begin in range(start, stop, block):
            end = min(begin + block, stop)
            sums[:] = 0.0
            k = begin
            while k + 4 <= end:
                a, b, c, d = rows[k], rows[k + 1], rows[k + 2], rows[k + 3]
                first, second, third, fourth = weights[a], weights[b], weights[c], weights[d]
                # Four rows by themselves: with two numbers in the brackets the compiler would not
                # add several columns at once, because either may count from the end.
                of_a, of_b, of_c, of_d = (
                    X[a, left:right], X[b, left:right], X[c, left:right], X[d, left:right]
                )  # fmt: skip
                for j in range(sums.size):
                    sums[j] += (first * of_a[j] + second * of_b[j]) + (
                        third * of_c[j] + fourth * of_d[j]
                    )
                k += 4
            while k < end:
                for j in range(sums.size):
                    sums[j] += weights[rows[k]] * X[rows[k], left + j]
                k += 1
            for j in range(sums.size):
                out[left + j] += sums[j]


@compiled
def dense_add_rows_in_blocks(X, weights, start, stop, block, out):
    """`dense_add_rows`, ``block`` rows added up before the blocks are."""
    part = np.zeros_like(out)
    for begin in range(start, stop, block):
        dense_add_rows(X, weights, begin, min(begin + block, stop), part)
        for j in range(out.size):
            out[j] += part[j]
            part[j] = 0.0


@compiled
def dense_add_moments(X, start, stop, out):
    """``out[k - 1] += sum_i x_i^k``, k = 1, 2, over the rows ``start:stop``, four at a time."""
    sums, squares = out[0], out[1]
    i = start
    while i + 4 <= stop:
        for j in range(X.shape[1]):
            first, second = np.float64(X[i, j]), np.float64(X[i + 1, j])
            third, fourth = np.float64(X[i + 2, j]), np.float64(X[i + 3, j])
            sums[j] += (first + second) + (third + fourth)
            squares[j] += (first * first + second * second) + (third * third + fourth * fourth)
        i += 4
    while i < stop:
        for j in range(X.shape[1]):
            value = np.float64(X[i, j])
            sums[j] += value
            squares[j] += value * value
        i += 1


@adds_freely
def rows_look(X, start, stop, sums, squares, largest):
    """`columns_look` of rows that lie one after the other, four of them at a time."""
    n_columns, longest = X.shape[1], 0.0
    of_values, of_squares = np.zeros(n_columns), np.zeros(n_columns)
    for begin in range(start, stop, STRIP_ROWS):
        end = min(begin + STRIP_ROWS, stop)
        of_values[:], of_squares[:] = 0.0, 0.0
        i = begin
        while i + 4 <= end:
            for j in range(n_columns):
                first, second = np.float64(X[i, j]), np.float64(X[i + 1, j])
                third, fourth = np.float64(X[i + 2, j]), np.float64(X[i + 3, j])
                of_values[j] += (first + second) + (third + fourth)
                of_squares[j] += (first * first + second * second) + (
                    third * third + fourth * fourth
                )
                top = max(abs(first), abs(second), abs(third), abs(fourth))
                largest[j] = max(largest[j], top)
            i += 4
        for row in range(i, end):
            for j in range(n_columns):
                value = np.float64(X[row, j])
                of_values[j] += value
                of_squares[j] += value * value
                largest[j] = max(largest[j], abs(value))
        for row in range(begin, end):
            of_row = 0.0
            for j in range(n_columns):
                value = np.float64(X[row, j])
                of_row += value * value
            longest = max(longest, of_row)
        for j in range(n_columns):
            sums[j] += of_values[j]
            squares[j] += of_squares[j]
    return longest


@compiled
def csr_dot(data, indices, indptr, vector, start, stop, out):
    """``out[i] = sum_k data[k] vector[indices[k]]`` over the rows ``start:stop``.

    Unsigned places need no look at whether they count from the end, and two sums do not wait for
    each other.
    """
    one, two = np.uint64(1), np.uint64(2)
    for i in range(start, stop):
        even = odd = 0.0
        k, end = np.uint64(indptr[i]), np.uint64(indptr[i + 1])
        while k + one < end:
            even += data[k] * vector[np.uint64(indices[k])]
            odd += data[k + one] * vector[np.uint64(indices[k + one])]
            k += two
        if k < end:
            even += data[k] * vector[np.uint64(indices[k])]
        out[i] = even + odd


@compiled
def csr_add_rows(data, indices, indptr, weights, start, stop, out):
    """``out += sum_i weights[i] x_i`` over the rows ``start:stop``."""
    for i in range(start, stop):
        w = weights[i]
        if w != 0.0:
            for k in range(np.uint64(indptr[i]), np.uint64(indptr[i + 1])):
                out[np.uint64(indices[k])] += w * data[k]


@compiled
def csr_add_rows_in_blocks(data, indices, indptr, weights, start, stop, block, out):
    """As `csr_add_rows`; ``block`` rows are added up before the blocks are, for less rounding."""
    part = np.zeros_like(out)
    for begin in range(start, stop, block):
        csr_add_rows(data, indices, indptr, weights, begin, min(begin + block, stop), part)
        out += part
        part[:] = 0.0


@compiled
def csr_add_moments(data, indices, indptr, weights, start, stop, out):
    """``out[:, k - 1] += sum_i weights[i] x_i^k``, k = 1, 2, over the rows ``start:stop``."""
    for i in range(start, stop):
        w = weights[i]
        if w != 0.0:
            for k in range(np.uint64(indptr[i]), np.uint64(indptr[i + 1])):
                value, column = np.float64(data[k]), np.uint64(indices[k])
                out[column, 0] += w * value
                out[column, 1] += w * (value * value)


@compiled
def csr_dot_and_moments(data, indices, indptr, vector, start, stop, out, moments):
    """`csr_dot`, and `csr_add_moments` with weights of one, in one pass."""
    for i in range(start, stop):
        total = 0.0
        for k in range(np.uint64(indptr[i]), np.uint64(indptr[i + 1])):
            value, column = np.float64(data[k]), np.uint64(indices[k])
            total += value * vector[column]
            moments[column, 0] += value
            moments[column, 1] += value * value
        out[i] = total


@compiled
def csr_dot_moments(data, indices, indptr, vector, start, stop, out):
    """``out[i] = sum_k vector[indices[k]] (data[k], data[k]^2)`` over the rows ``start:stop``."""
    for i in range(start, stop):
        total = squares = 0.0
        for k in range(np.uint64(indptr[i]), np.uint64(indptr[i + 1])):
            value, weight = np.float64(data[k]), vector[np.uint64(indices[k])]
            total += value * weight
            squares += value * value * weight
        out[i, 0], out[i, 1] = total, squares


@compiled
def csr_add_gram(data, indices, indptr, centre, weights, start, stop, out):
    """``out += sum_i weights[i] x_i x_i'`` over the rows ``start:stop``, the lower triangle.

    x holds the entries less their column's centre, which is zero where a column has zeros.
    Indices may come in any order, and twice: each pair of entries is added once, below the
    diagonal, and on it a product of two different entries twice.
    """
    for i in range(start, stop):
        w = weights[i]
        if w != 0.0:
            for k in range(indptr[i], indptr[i + 1]):
                row = indices[k]
                entry = data[k] - centre[row]
                value = w * entry
                out[row, row] += value * entry
                for l in range(indptr[i], k):
                    column = indices[l]
                    product = value * (data[l] - centre[column])
                    if column < row:
                        out[row, column] += product
                    elif column > row:
                        out[column, row] += product
                    else:
                        out[row, row] += 2.0 * product


@compiled
def csr_window_cross(
    data, indices, indptr, centre, targets, target_weights, sources, source_weights, low, high, out
):
    """``out += sum_i w_i x_i r_i'``, with r_i the sum of ``w_j x_j`` over ``sources[low:high]``.

    x holds the entries less their column's centre (`csr_add_gram`). The window of the targets'
    sources moves one way; it restarts from zero whenever it is empty or has moved past itself, as
    in `walks.window_rows`.
    """
    n_columns = out.shape[1]
    running = np.zeros(n_columns)
    lo, hi = 0, 0
    for t in range(targets.size):
        new_lo, new_hi = low[t], high[t]
        if new_lo >= hi:
            running[:] = 0.0
            lo = hi = new_lo
        for position in range(hi, new_hi):
            w, i = source_weights[position], sources[position]
            for k in range(indptr[i], indptr[i + 1]):
                running[indices[k]] += w * (data[k] - centre[indices[k]])
        for position in range(lo, new_lo):
            w, i = source_weights[position], sources[position]
            for k in range(indptr[i], indptr[i + 1]):
                running[indices[k]] -= w * (data[k] - centre[indices[k]])
        lo, hi = new_lo, max(hi, new_hi)
        w, i = target_weights[t], targets[t]
        if w != 0.0 and hi > lo:
            for k in range(indptr[i], indptr[i + 1]):
                value = w * (data[k] - centre[indices[k]])
                row = out[indices[k]]
                for j in range(n_columns):
                    row[j] += value * running[j]


@compiled
def csr_has_duplicates(indices, indptr, last_seen):
    """Whether a compressed row holds a place twice; ``last_seen`` has a -1 for each place."""
    for i in range(indptr.size - 1):
        for k in range(indptr[i], indptr[i + 1]):
            if last_seen[indices[k]] == i:
                return True
            last_seen[indices[k]] = i
    return False
