"""The dual of the hinge, row by row (`solvers.dual_ascent`, `pairs.projected`)."""

from __future__ import annotations

import numpy as np

from everypair._compiled.compiling import compiled

ROUNDING = 1e-15
"""A cut that gains less than this share of what it weighs is none."""


@compiled
def project_rows(x, a, y, b, stiff_x, stiff_y, low_x, high_x, low_y, high_y, tie_x, tie_y, levels):
    """The least ``sum a_i b_j max(0, q_j - p_i) + stiff/2 (weighted squares of p - x and q - y)``.

    x (positives) and y (negatives) descend, a and b are their weights. A group of rows that are
    next to each other has one level where no cut of it, some of either class above the rest,
    gains; otherwise the best cut makes two groups of it. Fills the level of each group with both
    classes, its number by row (-1 for a row without one), and between which bounds the multiplier
    of each row lies: pairs of a positive below with a negative above count as a whole, those of a
    tie up to that. Returns how many ties there are; those with higher levels come first.
    """
    n, m = x.size, y.size
    mass_x, sum_x = np.zeros(n + 1), np.zeros(n + 1)
    mass_y, sum_y = np.zeros(m + 1), np.zeros(m + 1)
    for i in range(n):
        mass_x[i + 1], sum_x[i + 1] = mass_x[i] + a[i], sum_x[i] + a[i] * x[i]
    for j in range(m):
        mass_y[j + 1], sum_y[j + 1] = mass_y[j] + b[j], sum_y[j] + b[j] * y[j]
    largest = max(abs(x[0]), abs(x[n - 1]), abs(y[0]), abs(y[m - 1]))
    stack = np.empty((n + m + 1, 4), dtype=np.int64)
    stack[0, 0], stack[0, 1], stack[0, 2], stack[0, 3] = 0, n, 0, m
    n_stack, n_ties = 1, 0
    while n_stack > 0:
        n_stack -= 1
        i0, i1 = stack[n_stack, 0], stack[n_stack, 1]
        j0, j1 = stack[n_stack, 2], stack[n_stack, 3]
        # What the pairs with other groups weigh: positives below, negatives above.
        below, above = mass_x[n] - mass_x[i1], mass_y[j0]
        of_x, of_y = mass_x[i1] - mass_x[i0], mass_y[j1] - mass_y[j0]
        cut_i, cut_j, level = -1, -1, 0.0
        if i1 > i0 and j1 > j0:
            stiff = stiff_x * of_x + stiff_y * of_y
            level = stiff_x * (sum_x[i1] - sum_x[i0]) + stiff_y * (sum_y[j1] - sum_y[j0])
            level = (level - (of_y * below - of_x * above)) / stiff if stiff > 0.0 else 0.0
            least = -ROUNDING * (of_x + of_y + stiff * largest)
            j = j0
            for i in range(i0, i1 + 1):
                rest = mass_x[i1] - mass_x[i]
                while j < j1 and stiff_y * (y[j] - level) > below + rest:
                    j += 1
                got_x, got_y = mass_x[i] - mass_x[i0], mass_y[j] - mass_y[j0]
                cost = got_y * (rest + below) - got_x * above
                cost -= stiff_x * (sum_x[i] - sum_x[i0] - level * got_x)
                cost -= stiff_y * (sum_y[j] - sum_y[j0] - level * got_y)
                inside = (i > i0 or j > j0) and (i < i1 or j < j1)
                if inside and cost < least:
                    least, cut_i, cut_j = cost, i, j
        if cut_i >= 0:
            stack[n_stack, 0], stack[n_stack, 1] = cut_i, i1
            stack[n_stack, 2], stack[n_stack, 3] = cut_j, j1
            stack[n_stack + 1, 0], stack[n_stack + 1, 1] = i0, cut_i
            stack[n_stack + 1, 2], stack[n_stack + 1, 3] = j0, cut_j
            n_stack += 2
            continue
        tie = -1
        if i1 > i0 and j1 > j0:
            tie = n_ties
            levels[tie] = level
            n_ties += 1
        for i in range(i0, i1):
            tie_x[i], low_x[i], high_x[i] = tie, -a[i] * (above + of_y), -a[i] * above
        for j in range(j0, j1):
            tie_y[j], low_y[j], high_y[j] = tie, b[j] * below, b[j] * (below + of_x)
    return n_ties


@compiled
def ascend_rows(
    data, indices, indptr, squares, margin, alpha, stiffness, tie, lower, upper,
    most, share, rows, state, levels, pulled, gradient
):  # fmt: skip
    """Sweeps of coordinate ascent over the multipliers of some ``rows``, in a random order.

    Each multiplier goes where its row's score, less its ``margin``, is at the level of its tie, or
    to the bound on the way. A level gives way to what the multipliers of its tie sum to beyond what
    they must, by ``stiffness``, and after each sweep once more by as much (the method of
    multipliers): without that, some of it would be left however many sweeps there are.
    ``pulled`` is ``X'c``, c the ``gradient``, and ``-pulled / alpha`` the coefficients. A row at a
    bound that the last sweep's largest distance would not bring back is left out from then on.
    Ends after ``most`` sweeps, or where the largest distance is this ``share`` of the first.
    Returns how many rows were read. ``state`` is that of the random numbers.
    """
    n, n_read = rows.size, 0
    seed = state[0]
    first, last = -1.0, np.inf
    excess = np.zeros(levels.size)
    for _ in range(most):
        for k in range(n - 1, 0, -1):
            seed = seed * np.uint64(6364136223846793005) + np.uint64(1442695040888963407)
            other = np.int64((seed >> np.uint64(33)) % np.uint64(k + 1))
            rows[k], rows[other] = rows[other], rows[k]
        largest, k = 0.0, 0
        while k < n:
            i = rows[k]
            begin, end = np.uint64(indptr[i]), np.uint64(indptr[i + 1])
            even = odd = 0.0
            at = begin
            while at + np.uint64(1) < end:
                even += data[at] * pulled[np.uint64(indices[at])]
                odd += data[at + np.uint64(1)] * pulled[np.uint64(indices[at + np.uint64(1)])]
                at += np.uint64(2)
            if at < end:
                even += data[at] * pulled[np.uint64(indices[at])]
            n_read += 1
            off = -(even + odd) / alpha - margin[i] - levels[tie[i]]
            c = gradient[i]
            if (c <= lower[i] and off < -last) or (c >= upper[i] and off > last):
                n -= 1
                rows[k], rows[n] = rows[n], rows[k]
                continue
            new = c + off / (squares[i] / alpha + stiffness)
            new = min(max(new, lower[i]), upper[i])
            if new != c:
                largest = max(largest, abs(off))
                gradient[i] = new
                change = new - c
                levels[tie[i]] += stiffness * change
                excess[tie[i]] += change
                for at in range(begin, end):
                    pulled[np.uint64(indices[at])] += change * data[at]
            k += 1
        for t in range(levels.size):
            levels[t] += stiffness * excess[t]
        last = largest
        if first < 0.0:
            first = largest
        if largest <= share * first:
            break
    state[0] = seed
    return n_read
