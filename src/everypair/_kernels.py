"""Every compiled loop of the library: arrays and scalars in, arrays out.

Nothing here allocates per row or knows of estimators. Each kernel works on the rows
``start:stop`` of its arrays or on all of them, releases the GIL, and is split over
threads from outside (`everypair.threads`). `COEFFICIENTS` is a module constant so that
the compiler unrolls the loops over it.
"""

from __future__ import annotations

import numpy as np
from numba import njit

COEFFICIENTS = 8
"""Chebyshev coefficients per box; with boxes of width 1/4 every kernel of `smooth`
is met to 1e-11 of its largest value in the worst pair (see `boxes`)."""

compiled = njit(cache=True, nogil=True)


# --- Chebyshev boxes ----------------------------------------------------------------


@compiled
def box_slots(scores, per_unit, first, start, stop, slots):
    """Slot of each score on the grid of boxes ``[k, k + 1) / per_unit``, from ``first``."""
    for i in range(start, stop):
        slots[i] = np.int32(np.floor(scores[i] * per_unit) - first)


@compiled
def box_moments(scores, weights, positive, slots, per_unit, start, stop, moments):
    """Add ``w_i T_k(t_i)`` to ``moments[class, box, k]``, t in [-1, 1] inside the box.

    ``x - floor(x)`` is exact in floating point, so t is right to the last bit whatever
    the size of the scores: the grid is absolute, never shifted by a rounded origin.
    """
    for i in range(start, stop):
        x = scores[i] * per_unit
        t = 2.0 * (x - np.floor(x)) - 1.0
        m = moments[np.uint8(positive[i]), slots[i]]
        before = weights[i]
        now = before * t
        m[0] += before
        m[1] += now
        for k in range(2, COEFFICIENTS):
            before, now = now, 2.0 * t * now - before
            m[k] += now


@compiled
def box_evaluate(scores, weights, positive, slots, per_unit, fields, start, stop, out):
    """``out_i = w_i sum_k fields[class, box, k] T_k(t_i)`` by Clenshaw's recurrence."""
    for i in range(start, stop):
        x = scores[i] * per_unit
        t = 2.0 * (x - np.floor(x)) - 1.0
        f = fields[np.uint8(positive[i]), slots[i]]
        now = 0.0
        after = 0.0
        for k in range(COEFFICIENTS - 1, 0, -1):
            now, after = f[k] + (2.0 * t * now - after), now
        out[i] = weights[i] * (f[0] + (t * now - after))


@compiled
def box_near(ids, held, moments, near, fields):
    """Add to ``fields[a, k]`` the sources of ``moments[b, l]`` up to the reach of ``near``.

    ``ids``: box numbers, ascending; ``held``: which of them hold a source; ``near[d, l, k]``:
    the kernel at box distance ``d - reach`` (`boxes.BoxKernel`).
    """
    reach = near.shape[0] // 2
    low = 0
    for a in range(ids.size):
        while ids[a] - ids[low] > reach:
            low += 1
        for b in range(low, ids.size):
            distance = ids[a] - ids[b]
            if distance < -reach:
                break
            if not held[b]:
                continue
            table = near[int(distance) + reach]
            for l in range(COEFFICIENTS):
                m = moments[b, l]
                for k in range(COEFFICIENTS):
                    fields[a, k] += table[l, k] * m


@compiled
def box_near_rows(ids, held, wanted, moments, near, fields):
    """`box_near` for ``moments[b, l, column]`` with few coefficients and many columns.

    Boxes that hold no source or are wanted by no target are passed over.
    """
    n_coef, n_columns = moments.shape[1], moments.shape[2]
    reach = near.shape[0] // 2
    low = 0
    for a in range(ids.size):
        while ids[a] - ids[low] > reach:
            low += 1
        if not wanted[a]:
            continue
        for b in range(low, ids.size):
            distance = ids[a] - ids[b]
            if distance < -reach:
                break
            if not held[b]:
                continue
            table = near[int(distance) + reach]
            for k in range(n_coef):
                for l in range(n_coef):
                    t = table[l, k]
                    for j in range(n_columns):
                        fields[a, k, j] += t * moments[b, l, j]


@compiled
def box_far(ids, moments, reach, width, far, exp_up, exp_down, fields):
    """Add to ``fields[a, k]`` the sources of ``moments[b, l]`` past the reach.

    ``far[side] = (constant, linear, e1, e2)``: side 0 for targets above their sources, where the
    kernel is ``constant + linear u + e1 exp(-|u|) + e2 exp(-2|u|)``. ``exp_up[m - 1]`` and
    ``exp_down[m - 1]`` are the coefficients of ``exp(+-m width t / 2)``. The running sums only
    ever add terms of one sign, so nothing cancels.
    """
    n_boxes, n_coef = moments.shape
    half = 0.5 * width
    for side in range(2):
        constant, linear, e1, e2 = far[side]
        sign = 1.0 if side == 0 else -1.0
        leave = exp_up if side == 0 else exp_down
        arrive = exp_down if side == 0 else exp_up
        mass, lever, x1, x2 = 0.0, 0.0, 0.0, 0.0
        source = 0
        for step in range(n_boxes):
            a = step if side == 0 else n_boxes - 1 - step
            if step > 0:
                moved = sign * (ids[a] - ids[a - int(sign)]) * width
                lever += mass * moved
                x1 *= np.exp(-moved)
                x2 *= np.exp(-2.0 * moved)
            while True:
                b = source if side == 0 else n_boxes - 1 - source
                gap = sign * (ids[a] - ids[b])
                if gap <= reach:
                    break
                gap *= width
                s1, s2 = 0.0, 0.0
                for k in range(n_coef):
                    s1 += leave[0, k] * moments[b, k]
                    s2 += leave[1, k] * moments[b, k]
                mass += moments[b, 0]
                lever += moments[b, 0] * gap - sign * half * moments[b, 1]
                x1 += np.exp(-gap) * s1
                x2 += np.exp(-2.0 * gap) * s2
                source += 1
            fields[a, 0] += constant * mass + linear * sign * lever
            fields[a, 1] += linear * half * mass
            for k in range(n_coef):
                fields[a, k] += e1 * x1 * arrive[0, k] + e2 * x2 * arrive[1, k]


@compiled
def box_row_moments(X, offset, scores, weights, positive, slots, per_unit, rows):
    """Add ``w_i T_k(t_i) x_i`` to ``rows[class, box, k]``.

    ``X`` is a block of rows that begins at row ``offset`` of the other arrays.
    """
    n_coef, n_columns = rows.shape[2], rows.shape[3]
    for r in range(X.shape[0]):
        i = offset + r
        x = scores[i] * per_unit
        t = 2.0 * (x - np.floor(x)) - 1.0
        box = rows[np.uint8(positive[i]), slots[i]]
        before, now = 0.0, weights[i]
        for k in range(n_coef):
            for j in range(n_columns):
                box[k, j] += now * X[r, j]
            before, now = now, (t * now if k == 0 else 2.0 * t * now - before)


# --- sorted scores ------------------------------------------------------------------


@compiled
def count_short(targets, sources, least, counts):
    """How many sources fall short of each target: ``u = 1 - (x - y) >= least``.

    Targets and sources descend. The comparison is the one that the definition makes, on
    the rounded margin itself, so ties at the corner of a loss fall the same way.
    """
    j = 0
    for i in range(targets.size):
        while j < sources.size and 1.0 - (targets[i] - sources[j]) >= least:
            j += 1
        counts[i] = j


@compiled
def growing_sums(targets, sources, weights, high, sums):
    """For each target x: ``sum w_j u_j^m``, m = 0, 1, 2, over ``sources[:high]``, ``u > 0``.

    Here ``u = 1 - (x - y)``. Moving to the next lower target adds ``step`` to every u, and
    new sources bring positive u, so the sums only grow by positive terms: no prefix sums of
    large scores are ever subtracted.
    """
    mass, first, second = 0.0, 0.0, 0.0
    j = 0
    for i in range(targets.size):
        x = targets[i]
        if i > 0:
            step = targets[i - 1] - x
            second += step * (2.0 * first + step * mass)
            first += step * mass
        while j < high[i]:
            u = 1.0 - (x - sources[j])
            mass += weights[j]
            first += weights[j] * u
            second += weights[j] * (u * u)
            j += 1
        sums[i, 0] = mass
        sums[i, 1] = first
        sums[i, 2] = second


@compiled
def window_sums(targets, sources, weights, low, high, sums):
    """For each target x: ``sum w_j u_j^m``, m = 0, 1, 2, over ``sources[low:high]``.

    Here ``u = 1 - (x - y)``; weights may have any sign. Windows move one way (``low`` and
    ``high`` never fall). Each sum is split at an anchor
    inside the window: the part before it comes from sums accumulated backwards from the
    anchor, the part after it grows forwards; when the window leaves the anchor behind, the
    next anchor is its end. Every source is added at most twice and none is ever subtracted,
    so a sparse window after a dense one keeps all its digits.
    """
    head = np.zeros((sources.size + 1, 3))
    anchor, at = 0, 0.0
    tail0, tail1, tail2 = 0.0, 0.0, 0.0
    seen = 0
    for i in range(targets.size):
        lo, hi = low[i], high[i]
        if hi <= lo:
            sums[i, 0] = sums[i, 1] = sums[i, 2] = 0.0
            continue
        if lo >= anchor:
            anchor = hi
            at = sources[hi - 1]
            head[hi] = 0.0
            for j in range(hi - 1, lo - 1, -1):
                u = sources[j] - at
                head[j, 0] = head[j + 1, 0] + weights[j]
                head[j, 1] = head[j + 1, 1] + weights[j] * u
                head[j, 2] = head[j + 1, 2] + weights[j] * (u * u)
            tail0, tail1, tail2 = 0.0, 0.0, 0.0
            seen = hi
        while seen < hi:
            u = sources[seen] - at
            tail0 += weights[seen]
            tail1 += weights[seen] * u
            tail2 += weights[seen] * (u * u)
            seen += 1
        m0 = head[lo, 0] + tail0
        m1 = head[lo, 1] + tail1
        shift = 1.0 - (targets[i] - at)
        sums[i, 0] = m0
        sums[i, 1] = m1 + shift * m0
        sums[i, 2] = head[lo, 2] + tail2 + shift * (2.0 * m1 + shift * m0)


@compiled
def window_rows(X, centre, rows, weights, low, high, begin, running, state, out):
    """``out[r] = sum_j w_j (x_j - centre)`` over the rows ``rows[low:high]`` of target begin + r.

    ``running`` and ``state = (low, high)`` carry the window from one block of targets to
    the next; it restarts from zero whenever the window is empty or has moved past itself.
    """
    n_columns = X.shape[1]
    lo, hi = state[0], state[1]
    for r in range(out.shape[0]):
        new_lo, new_hi = low[begin + r], high[begin + r]
        if new_lo >= hi:
            running[:] = 0.0
            lo = hi = new_lo
        for position in range(hi, new_hi):
            w, i = weights[position], rows[position]
            if w != 0.0:
                for j in range(n_columns):
                    running[j] += w * (X[i, j] - centre[j])
        for position in range(lo, new_lo):
            w, i = weights[position], rows[position]
            if w != 0.0:
                for j in range(n_columns):
                    running[j] -= w * (X[i, j] - centre[j])
        lo, hi = new_lo, max(hi, new_hi)
        for j in range(n_columns):
            out[r, j] = running[j]
    state[0], state[1] = lo, hi


@compiled
def auc_pairs(positives, negatives, positive_weights, negative_weights):
    """Weighted share of pairs won plus half of those tied; scores descend.

    Lost pairs are summed as well, from the top, so that a perfect ranking gives exactly 1.
    """
    higher = np.zeros(negatives.size + 1)
    for j in range(negatives.size):
        higher[j + 1] = higher[j] + negative_weights[j]
    won, tied, lost, below = 0.0, 0.0, 0.0, 0.0
    i = positives.size - 1
    j = negatives.size - 1
    while i >= 0:
        x = positives[i]
        while j >= 0 and negatives[j] < x:
            below += negative_weights[j]
            j -= 1
        level = 0.0
        k = j
        while k >= 0 and negatives[k] == x:
            level += negative_weights[k]
            k -= 1
        while i >= 0 and positives[i] == x:
            won += positive_weights[i] * below
            tied += positive_weights[i] * level
            lost += positive_weights[i] * higher[k + 1]
            i -= 1
    return (won + 0.5 * tied) / (won + tied + lost)


# --- rows of X ------------------------------------------------------------------------


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
