"""Products with compressed rows (`matrix`)."""

from __future__ import annotations

import numpy as np

from everypair._kernels._compiled import compiled


@compiled
def csr_dot(data, indices, indptr, vector, start, stop, out):
    """``out[i] = sum_k data[k] vector[indices[k]]`` over the rows ``start:stop``."""
    for i in range(start, stop):
        total = 0.0
        for k in range(indptr[i], indptr[i + 1]):
            total += data[k] * vector[indices[k]]
        out[i] = total


@compiled
def csr_add_rows(data, indices, indptr, weights, start, stop, out):
    """``out += sum_i weights[i] x_i`` over the rows ``start:stop``."""
    for i in range(start, stop):
        w = weights[i]
        if w != 0.0:
            for k in range(indptr[i], indptr[i + 1]):
                out[indices[k]] += w * data[k]


@compiled
def csr_add_squares(data, indices, indptr, weights, start, stop, out):
    """``out += sum_i weights[i] x_i^2``, column by column, over the rows ``start:stop``."""
    for i in range(start, stop):
        w = weights[i]
        if w != 0.0:
            for k in range(indptr[i], indptr[i + 1]):
                value = np.float64(data[k])
                out[indices[k]] += w * (value * value)


@compiled
def csr_dot_squares(data, indices, indptr, vector, start, stop, out):
    """``out[i] = sum_k data[k]^2 vector[indices[k]]`` over the rows ``start:stop``."""
    for i in range(start, stop):
        total = 0.0
        for k in range(indptr[i], indptr[i + 1]):
            value = np.float64(data[k])
            total += value * value * vector[indices[k]]
        out[i] = total
