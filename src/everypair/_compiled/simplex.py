"""A small quadratic program over the simplex (`solvers.simplex_qp`)."""

from __future__ import annotations

import numpy as np

from everypair._compiled.compiling import compiled


@compiled
def _factor_append(gram, shift, ridge, support, size, new, factor):
    """The Cholesky factor of the support's matrix with one more row and column at its end."""
    left = gram[new, new] + shift + ridge
    for i in range(size):
        total = gram[new, support[i]] + shift
        for j in range(i):
            total -= factor[i, j] * factor[size, j]
        factor[size, i] = total / factor[i, i]
        left -= factor[size, i] * factor[size, i]
    factor[size, size] = np.sqrt(max(left, ridge))


@compiled
def _factor_delete(size, gone, factor):
    """The factor without row and column ``gone``: the rows below move up, rotated back."""
    for i in range(gone, size - 1):
        for j in range(i + 2):
            factor[i, j] = factor[i + 1, j]
    for c in range(gone, size - 1):
        radius = np.hypot(factor[c, c], factor[c, c + 1])
        cosine, sine = factor[c, c] / radius, factor[c, c + 1] / radius
        for i in range(c, size - 1):
            one, two = factor[i, c], factor[i, c + 1]
            factor[i, c] = cosine * one + sine * two
            factor[i, c + 1] = cosine * two - sine * one


@compiled
def _factor_solve(factor, size, vector):
    """Solve in place with the factor and its transpose."""
    for i in range(size):
        total = vector[i]
        for j in range(i):
            total -= factor[i, j] * vector[j]
        vector[i] = total / factor[i, i]
    for i in range(size - 1, -1, -1):
        vector[i] /= factor[i, i]
        for j in range(i):
            vector[j] -= factor[i, j] * vector[i]


@compiled
def simplex_ascent(
    gram, offsets, scale, shift, ridge, accuracy, max_moves, x, support, size, factor
):
    """Maximise ``offsets . x - scale/2 x' gram x`` over the simplex, from x; see `simplex_qp`.

    ``support[:size]`` are the x above zero, ``factor`` the Cholesky factor of
    ``gram + shift + ridge I`` among them; both are kept up to date. Returns the new size.
    """
    n_planes = offsets.size
    gradient = np.empty(n_planes)
    step = np.empty(n_planes)
    ones = np.empty(n_planes)
    stalled, first = 0, -1
    for _ in range(max_moves):
        for t in range(n_planes):
            total = 0.0
            for i in range(size):
                total += gram[t, support[i]] * x[support[i]]
            gradient[t] = offsets[t] - scale * total
        if first < 0:
            best, level, terms = 0, 0.0, 0.0
            for t in range(n_planes):
                if gradient[t] > gradient[best]:
                    best = t
            present = False
            for i in range(size):
                level += gradient[support[i]] * x[support[i]]
                terms += abs(offsets[support[i]]) * x[support[i]]
                present = present or support[i] == best
            if gradient[best] - level <= accuracy * (abs(level) + terms):
                break
            if not present:
                _factor_append(gram, shift, ridge, support, size, best, factor)
                support[size] = best
                size += 1
                stalled = 0
            else:
                # Step again among the same; then from a fresh factor; but not for ever.
                stalled += 1
                if stalled > 3:
                    break
                if stalled > 1:
                    for i in range(size):
                        _factor_append(gram, shift, ridge, support, i, support[i], factor)

        # The common part of the gradients is not a direction on the simplex: it is removed first.
        mean = 0.0
        for i in range(size):
            mean += gradient[support[i]] / size
        for i in range(size):
            step[i] = gradient[support[i]] - mean
            ones[i] = 1.0
        _factor_solve(factor, size, step)
        _factor_solve(factor, size, ones)
        across = step[:size].sum() / ones[:size].sum()
        share, first = 1.0, -1
        for i in range(size):
            step[i] = (step[i] - across * ones[i]) / scale
            if x[support[i]] + step[i] < 0.0 and x[support[i]] < -share * step[i]:
                share, first = -x[support[i]] / step[i], i
        total = 0.0
        for i in range(size):
            s = support[i]
            x[s] = 0.0 if i == first else max(0.0, x[s] + share * step[i])
            total += x[s]
        for i in range(size):
            x[support[i]] /= total
        if first >= 0:
            _factor_delete(size, first, factor)
            for i in range(first, size - 1):
                support[i] = support[i + 1]
            size -= 1
    return size
