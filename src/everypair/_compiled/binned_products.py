"""Sums over rows whose columns are given as numbers of bins (`linalg.binned`)."""

from __future__ import annotations

from everypair._compiled.compiling import compiled


@compiled
def binned_dot(codes, values, first, start, stop, out):
    """``out_i = sum_j values[first_j + codes_ji]`` over the rows ``start:stop``."""
    for i in range(start, stop):
        out[i] = 0.0
    for j in range(codes.shape[0]):
        column, base = codes[j], first[j]
        for i in range(start, stop):
            out[i] += values[base + column[i]]


@compiled
def binned_sums(codes, weights, first, start, stop, out):
    """Add the weights of the rows of each bin to ``out[first_j + bin]``."""
    for j in range(codes.shape[0]):
        column, base = codes[j], first[j]
        for i in range(start, stop):
            out[base + column[i]] += weights[i]


@compiled
def binned_rows(codes, tables, first, places, widths, rows, out):
    """Write ``tables[first_j + code]``, a line of ``widths_j`` values, of each of these rows.

    The values of column j stand at ``places_j`` in a row of ``out``; ``tables`` has a line per bin
    of every column, as wide as the widest.
    """
    for k in range(rows.size):
        i = rows[k]
        for j in range(codes.shape[0]):
            line = first[j] + codes[j, i]
            place = places[j]
            for c in range(widths[j]):
                out[k, place + c] = tables[line, c]
