"""Walks along sorted scores (`pairs.sorted`).

Targets and sources lie group by group: those of group g are ``target_edges[g]:target_edges[g + 1]``
and ``source_edges[g]:source_edges[g + 1]``. Without groups there is one of all rows. Windows of
sources never reach into another group, so `window_sum` and `window_rows` need no edges: a window
that has moved past itself begins anew.
"""

from __future__ import annotations

import numpy as np

from everypair._compiled.compiling import compiled


@compiled
def end_of_short(target, sources, begin, end, least):
    """Where the sources ``begin:end`` that fall short of a target end, by halving."""
    while begin < end:
        middle = (begin + end) // 2
        if 1.0 - (target - sources[middle]) >= least:
            begin = middle + 1
        else:
            end = middle
    return begin


@compiled
def count_short(targets, sources, target_edges, source_edges, least, start, stop, counts):
    """The end of the sources that fall short of each target: ``u = 1 - (x - y) >= least``.

    Targets and sources descend. The comparison is the one that the definition makes, on
    the rounded margin itself, so ties at the corner of a loss fall the same way.
    """
    g = np.searchsorted(target_edges, start, side="right") - 1
    while g < target_edges.size - 1 and target_edges[g] < stop:
        j, end = source_edges[g], source_edges[g + 1]
        first, last = max(start, target_edges[g]), min(stop, target_edges[g + 1])
        if target_edges[g] < first < last:  # amid a group
            j = end_of_short(targets[first], sources, j, end, least)
        for i in range(first, last):
            while j < end and 1.0 - (targets[i] - sources[j]) >= least:
                j += 1
            counts[i] = j
        g += 1


@compiled
def weight_outside(
    targets, sources, target_edges, source_edges, weights, mass, least, most, start, stop
):
    """The weight of the pairs of some targets with ``1 - (x - y) < least`` or ``>= most``, compared
    as above.

    ``mass[j]``: what the sources before j weigh.
    """
    total = 0.0
    g = np.searchsorted(target_edges, start, side="right") - 1
    while g < target_edges.size - 1 and target_edges[g] < stop:
        begin, end = source_edges[g], source_edges[g + 1]
        first, last = max(start, target_edges[g]), min(stop, target_edges[g + 1])
        j = k = begin
        if target_edges[g] < first < last:
            j = end_of_short(targets[first], sources, begin, end, most)
            k = end_of_short(targets[first], sources, begin, end, least)
        for i in range(first, last):
            while j < end and 1.0 - (targets[i] - sources[j]) >= most:
                j += 1
            while k < end and 1.0 - (targets[i] - sources[k]) >= least:
                k += 1
            total += weights[i] * ((mass[j] - mass[begin]) + (mass[end] - mass[k]))
        g += 1
    return total


@compiled
def two_sum(a, b):
    """``a + b`` rounded, and what rounding took off (Knuth 1969).

    Sums of many terms of one size round the same way each time, so what was taken off is summed
    as well. It costs no time: the additions do not wait for it.
    """
    total = a + b
    of_b = total - a
    return total, (a - (total - of_b)) + (b - of_b)


@compiled
def compensated_sum(values):
    """Their sum as if in twice the precision."""
    even, odd, left = 0.0, 0.0, 0.0
    for i in range(0, values.size - 1, 2):  # two sums do not wait for each other
        even, of_even = two_sum(even, values[i])
        odd, of_odd = two_sum(odd, values[i + 1])
        left += of_even + of_odd
    if values.size % 2:
        even, of_even = two_sum(even, values[-1])
        left += of_even
    total, of_total = two_sum(even, odd)
    return total + (left + of_total)


@compiled
def grown_by(targets, sources, weights, target_edges, source_edges, high, start, stop, state):
    """What the targets ``start:stop`` add to the sums of `growing_sum`, at the last of them: of the
    sources that none of its group before ``start`` has. True where that is all of its group's."""
    g = np.searchsorted(target_edges, stop - 1, side="right") - 1
    whole = start <= target_edges[g]
    x = targets[stop - 1]
    mass, first, second, mass_left, first_left = 0.0, 0.0, 0.0, 0.0, 0.0
    for j in range(source_edges[g] if whole else high[start - 1], high[stop - 1]):
        u = 1.0 - (x - sources[j])
        mass, left = two_sum(mass, weights[j])
        mass_left += left
        first, left = two_sum(first, weights[j] * u)
        first_left += left
        second += weights[j] * (u * u)
    state[0], state[1], state[2] = mass, first, second
    state[3], state[4] = mass_left, first_left
    return whole


@compiled
def grown_on(state, step, gain):
    """The sums ``state`` at a target ``step`` lower, and those of other sources there: to ``gain``.

    What `growing_sum` does from one target to the next.
    """
    moved = step * (state[0] + state[3])
    first, left = two_sum(state[1], moved)
    first_left = state[4] + left
    mass, of_mass = two_sum(gain[0], state[0])
    first, of_first = two_sum(gain[1], first)
    gain[2] += state[2] + step * (2.0 * state[1] + moved)
    gain[0], gain[3] = mass, gain[3] + state[3] + of_mass
    gain[1], gain[4] = first, gain[4] + first_left + of_first


@compiled
def growing_sum(
    targets, sources, weights, target_edges, source_edges, high, moment, start, stop, state, sums
):
    """For each target x: ``sum w_j u_j^moment``, moment 0, 1 or 2, over its group's sources up to
    ``high``.

    Here ``u = 1 - (x - y) > 0``. Moving to the next lower target adds ``step`` to every u, and
    new sources bring positive u, so the sums only grow by positive terms: no prefix sums of
    large scores are ever subtracted. ``state`` has the sums at the target before ``start``.
    """
    g = np.searchsorted(target_edges, start, side="right") - 1
    while g < target_edges.size - 1 and target_edges[g] < stop:
        mass, first, second = 0.0, 0.0, 0.0
        mass_left, first_left = 0.0, 0.0
        begin, j = target_edges[g], source_edges[g]
        if begin < start:
            mass, first, second = state[0], state[1], state[2]
            mass_left, first_left = state[3], state[4]
            j = high[start - 1]
        for i in range(max(begin, start), min(stop, target_edges[g + 1])):
            x = targets[i]
            if i > begin:
                step = targets[i - 1] - x
                moved = step * (mass + mass_left)
                second += step * (2.0 * first + moved)
                first, left = two_sum(first, moved)
                first_left += left
            while j < high[i]:
                u = 1.0 - (x - sources[j])
                mass, left = two_sum(mass, weights[j])
                mass_left += left
                first, left = two_sum(first, weights[j] * u)
                first_left += left
                second += weights[j] * (u * u)
                j += 1
            if moment == 2:
                sums[i] = second
            else:
                sums[i] = mass + mass_left if moment == 0 else first + first_left
        g += 1


@compiled
def scatter_products(values, weights, factor, rows, start, stop, out):
    """``out[rows[k]] = factor * values[k] * weights[k]``."""
    for k in range(start, stop):
        out[rows[k]] = values[k] * weights[k] * factor


@compiled
def window_sum(targets, sources, weights, low, high, moment, sums):
    """For each target x: ``sum w_j u_j^moment``, moment 0, 1 or 2, over ``sources[low:high]``.

    Here ``u = 1 - (x - y)``; weights may have any sign. Windows move one way (``low`` and
    ``high`` never fall). Each sum is split at an anchor
    inside the window: the part before it comes from sums accumulated backwards from the
    anchor, the part after it grows forwards; when the window leaves the anchor behind, the
    next anchor is its end. Every source is added at most twice and none is ever subtracted,
    so a sparse window after a dense one keeps all its digits.
    """
    head = np.zeros((sources.size + 1, moment + 1))
    anchor, at = 0, 0.0
    tail0, tail1, tail2 = 0.0, 0.0, 0.0
    left0, left1 = 0.0, 0.0
    seen = 0
    for i in range(targets.size):
        lo, hi = low[i], high[i]
        if hi <= lo:
            sums[i] = 0.0
            continue
        if lo >= anchor:
            anchor = hi
            at = sources[hi - 1]
            head[hi] = 0.0
            tail0, tail1, tail2 = 0.0, 0.0, 0.0
            left0, left1 = 0.0, 0.0
            for j in range(hi - 1, lo - 1, -1):
                u = sources[j] - at
                tail0, left = two_sum(tail0, weights[j])
                left0 += left
                head[j, 0] = tail0 + left0
                if moment > 0:
                    tail1, left = two_sum(tail1, weights[j] * u)
                    left1 += left
                    head[j, 1] = tail1 + left1
                if moment > 1:
                    head[j, 2] = head[j + 1, 2] + weights[j] * (u * u)
            tail0, tail1, tail2 = 0.0, 0.0, 0.0
            left0, left1 = 0.0, 0.0
            seen = hi
        while seen < hi:
            u = sources[seen] - at
            tail0, left = two_sum(tail0, weights[seen])
            left0 += left
            tail1, left = two_sum(tail1, weights[seen] * u)
            left1 += left
            tail2 += weights[seen] * (u * u)
            seen += 1
        m0 = head[lo, 0] + (tail0 + left0)
        if moment == 0:
            sums[i] = m0
            continue
        m1 = head[lo, 1] + (tail1 + left1)
        shift = 1.0 - (targets[i] - at)
        if moment == 1:
            sums[i] = m1 + shift * m0
        else:
            sums[i] = head[lo, 2] + tail2 + shift * (2.0 * m1 + shift * m0)


@compiled
def rounded_hinge_walk(
    targets, sources, weights, target_edges, source_edges, width, low, high, head, sums
):
    """All sums of the hinge rounded over ``0 < u < width``, in one walk.

    For each target: in ``low`` the end of the sources with ``u >= width``, in ``high`` of those
    with ``u > 0``; in ``sums`` the loss, its slope without the sign, and the mass of the window.
    The sources before ``low`` are summed as in `growing_sum`, those up to ``high`` as in
    `window_sum`; ``head`` has room for three moments of a window.
    """
    anchor, seen, at = 0, 0, 0.0
    tail0, tail1, tail2, left0, left1 = 0.0, 0.0, 0.0, 0.0, 0.0
    for g in range(target_edges.size - 1):
        mass, mass_left, first, first_left = 0.0, 0.0, 0.0, 0.0
        begin, end = target_edges[g], source_edges[g + 1]
        lo, hi = source_edges[g], source_edges[g]
        for i in range(begin, target_edges[g + 1]):
            x = targets[i]
            if i > begin:
                first, left = two_sum(first, (targets[i - 1] - x) * (mass + mass_left))
                first_left += left
            while lo < end and 1.0 - (x - sources[lo]) >= width:
                mass, left = two_sum(mass, weights[lo])
                mass_left += left
                first, left = two_sum(first, weights[lo] * (1.0 - (x - sources[lo])))
                first_left += left
                lo += 1
            hi = max(hi, lo)
            while hi < end and 1.0 - (x - sources[hi]) > 0.0:
                hi += 1
            low[i], high[i] = lo, hi
            m0, m1, m2 = 0.0, 0.0, 0.0
            if hi > lo:
                if lo >= anchor:
                    anchor, seen, at = hi, hi, sources[hi - 1]
                    head[hi] = 0.0
                    tail0, tail1, tail2, left0, left1 = 0.0, 0.0, 0.0, 0.0, 0.0
                    for j in range(hi - 1, lo - 1, -1):
                        u = sources[j] - at
                        tail0, left = two_sum(tail0, weights[j])
                        left0 += left
                        tail1, left = two_sum(tail1, weights[j] * u)
                        left1 += left
                        tail2 += weights[j] * (u * u)
                        head[j, 0], head[j, 1], head[j, 2] = tail0 + left0, tail1 + left1, tail2
                    tail0, tail1, tail2, left0, left1 = 0.0, 0.0, 0.0, 0.0, 0.0
                while seen < hi:
                    u = sources[seen] - at
                    tail0, left = two_sum(tail0, weights[seen])
                    left0 += left
                    tail1, left = two_sum(tail1, weights[seen] * u)
                    left1 += left
                    tail2 += weights[seen] * (u * u)
                    seen += 1
                shift = 1.0 - (x - at)
                m0 = head[lo, 0] + (tail0 + left0)
                m1 = head[lo, 1] + (tail1 + left1)
                m2 = head[lo, 2] + tail2 + shift * (2.0 * m1 + shift * m0)
                m1 += shift * m0
            before = mass + mass_left
            sums[0, i] = (first + first_left) - before * (width / 2) + m2 / (2 * width)
            sums[1, i] = before + m1 / width
            sums[2, i] = m0


@compiled
def hinge_total(targets, sources, target_weights, weights, target_edges, source_edges, stretch):
    """``sum_ij a_i b_j max(0, 1 - t (x_i - y_j))`` for a stretch t, as in `growing_sum`."""
    total, total_left = 0.0, 0.0
    for g in range(target_edges.size - 1):
        mass, mass_left, first, first_left = 0.0, 0.0, 0.0, 0.0
        j, end = source_edges[g], source_edges[g + 1]
        before = stretch * targets[target_edges[g]]
        for i in range(target_edges[g], target_edges[g + 1]):
            x = stretch * targets[i]
            first, left = two_sum(first, (before - x) * (mass + mass_left))
            first_left += left
            while j < end and 1.0 - (x - stretch * sources[j]) > 0.0:
                mass, left = two_sum(mass, weights[j])
                mass_left += left
                first, left = two_sum(first, weights[j] * (1.0 - (x - stretch * sources[j])))
                first_left += left
                j += 1
            total, left = two_sum(total, target_weights[i] * (first + first_left))
            total_left += left
            before = x
    return total + total_left


@compiled
def window_mass(weights, low, high, head, sums):
    """For each window: the sum of ``weights[low:high]``, which is not empty.

    As in `window_sum` each is split at an anchor, and nothing is subtracted; ``head`` has room for
    the sums before it.
    """
    anchor, seen, tail = 0, 0, 0.0
    for i in range(low.size):
        lo, hi = low[i], high[i]
        if lo >= anchor:
            anchor, seen, tail = hi, hi, 0.0
            head[hi] = 0.0
            for j in range(hi - 1, lo - 1, -1):
                head[j] = head[j + 1] + weights[j]
        while seen < hi:
            tail += weights[seen]
            seen += 1
        sums[i] = head[lo] + tail


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
