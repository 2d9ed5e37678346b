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

    ``far[side] = (constant, linear, e1, e2, ...)``: side 0 for targets above their sources, where
    the kernel is ``constant + linear u + sum_m e_m exp(-m |u|)``. ``exp_up[m - 1]`` and
    ``exp_down[m - 1]`` are the coefficients of ``exp(+-m width t / 2)``. Where the sources weigh
    nothing negative the running sums only grow by terms of one sign: nothing cancels.
    """
    n_boxes, n_coef = moments.shape
    n_terms = exp_up.shape[0]
    half = 0.5 * width
    running = np.zeros(n_terms)
    for side in range(2):
        sign = 1.0 if side == 0 else -1.0
        leave = exp_up if side == 0 else exp_down
        arrive = exp_down if side == 0 else exp_up
        mass, lever = 0.0, 0.0
        running[:] = 0.0
        source = 0
        for step in range(n_boxes):
            a = step if side == 0 else n_boxes - 1 - step
            if step > 0 and source > 0:
                moved = sign * (ids[a] - ids[a - int(sign)]) * width
                lever += mass * moved
                fade = np.exp(-moved)
                power = 1.0
                for m in range(n_terms):
                    power *= fade
                    running[m] *= power
            while source < n_boxes:
                b = source if side == 0 else n_boxes - 1 - source
                gap = sign * (ids[a] - ids[b])
                if gap <= reach:
                    break
                gap *= width
                mass += moments[b, 0]
                lever += moments[b, 0] * gap - sign * half * moments[b, 1]
                fade = np.exp(-gap)
                power = 1.0
                for m in range(n_terms):
                    power *= fade
                    total = 0.0
                    for k in range(n_coef):
                        total += leave[m, k] * moments[b, k]
                    running[m] += power * total
                source += 1
            if source > 0:
                fields[a, 0] += far[side, 0] * mass + far[side, 1] * sign * lever
                fields[a, 1] += far[side, 1] * half * mass
                for m in range(n_terms):
                    strength = far[side, 2 + m] * running[m]
                    for k in range(n_coef):
                        fields[a, k] += strength * arrive[m, k]


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


# --- metrics --------------------------------------------------------------------------


@compiled
def doubled_wins(positives, negatives):
    """Twice the pairs won plus the pairs tied, as an integer; both ascend."""
    total = 0
    below, not_above = 0, 0
    for i in range(positives.size):
        x = positives[i]
        while below < negatives.size and negatives[below] < x:
            below += 1
        not_above = max(not_above, below)
        while not_above < negatives.size and negatives[not_above] <= x:
            not_above += 1
        total += below + not_above
    return total


@compiled
def mass_below(targets, sources, cumulative, out):
    """Weight of the sources below each target plus half of those level; both ascend.

    ``cumulative[k]``: weight of the k lowest sources.
    """
    below, not_above = 0, 0
    for i in range(targets.size):
        x = targets[i]
        while below < sources.size and sources[below] < x:
            below += 1
        not_above = max(not_above, below)
        while not_above < sources.size and sources[not_above] <= x:
            not_above += 1
        out[i] = 0.5 * (cumulative[below] + cumulative[not_above])


# --- rows left out --------------------------------------------------------------------


@compiled
def left_out_pairs_won(
    T, V_p, V_n, filters, fixed, shared, y_p, y_n, sides_p, sides_n, noise, start, stop
):
    """For each lam the pairs won plus half of those tied, by models that never saw the two rows.

    For positives ``start:stop`` and every negative: the sign of ``f_i - f_j`` from the 2 x 2
    system ``R_HH f = right side`` of `rls.spectrum`, whose determinant is positive. First with the
    nearby ``T[lam, i - start, j]``; where its slack leaves the sign open, with
    ``T_ij = sum_k filters[k] V_ik V_jk - fixed``. A difference within ``noise`` of the terms it is
    made of is a tie. ``R_ij = T_ij - shared``. The rows of a class have the same weight, so
    ``y_p = -y_n = sqrt(D)`` up to class are scalars. ``sides``: diagonal of R, beta, magnitude and
    slack of the rows, for each lam.
    """
    n_lams, (n_columns, n_vectors) = T.shape[0], V_n.shape
    whole = n_vectors - n_vectors % 4
    won = np.zeros(n_lams)
    open_ = np.empty(n_columns, dtype=np.uint8)
    scale_p, scale_n = 1.0 / y_p, 1.0 / y_n
    for i in range(start, stop):
        for l in range(n_lams):
            R_i, beta_i, size_i, slack_i = sides_p[l, :, i]
            R_n, beta_n, size_n, slack_n = sides_n[l]
            near = T[l, i - start]
            uu, rounding = shared[l], noise[l]
            count = 0
            for j in range(n_columns):
                t, R_j = np.float64(near[j]), R_n[j]
                cross = t - uu
                wide = abs(cross)
                right_i = beta_i - t * y_n
                right_j = beta_n[j] + t * y_p
                d = (R_j * right_i - cross * right_j) * scale_p
                d -= (R_i * right_j - cross * right_i) * scale_n
                level = (R_j * scale_p + wide * scale_n) * size_i
                level += (R_i * scale_n + wide * scale_p) * size_n[j]
                # The difference is quadratic in T: its slope and its bend times the slack.
                slope = abs(R_j * y_n + right_j + cross * y_p) * scale_p
                slope += abs(R_i * y_p - right_i + cross * y_n) * scale_n
                slack = slack_i * slack_n[j]
                doubt = rounding * level + slack * (slope + 2.0 * slack)
                open_[j] = abs(d) <= doubt
                count += d > doubt
            won[l] += count
            for j in range(n_columns):
                if open_[j] == 0:
                    continue
                # Four sums at a time: one would wait for its last addition at every step.
                t0, t1, t2, t3 = 0.0, 0.0, 0.0, 0.0
                for k in range(0, whole, 4):
                    t0 += filters[l, k] * V_p[i, k] * V_n[j, k]
                    t1 += filters[l, k + 1] * V_p[i, k + 1] * V_n[j, k + 1]
                    t2 += filters[l, k + 2] * V_p[i, k + 2] * V_n[j, k + 2]
                    t3 += filters[l, k + 3] * V_p[i, k + 3] * V_n[j, k + 3]
                for k in range(whole, n_vectors):
                    t0 += filters[l, k] * V_p[i, k] * V_n[j, k]
                t = (t0 + t1) + (t2 + t3) - fixed[l]
                cross = t - uu
                wide = abs(cross)
                right_i = beta_i - t * y_n
                right_j = beta_n[j] + t * y_p
                d = (R_n[j] * right_i - cross * right_j) * scale_p
                d -= (R_i * right_j - cross * right_i) * scale_n
                level = (R_n[j] * scale_p + wide * scale_n) * size_i
                level += (R_i * scale_n + wide * scale_p) * size_n[j]
                if abs(d) <= rounding * level:
                    won[l] += 0.5
                elif d > 0.0:
                    won[l] += 1.0
    return won


# --- coordinate descent -----------------------------------------------------------------


@compiled
def descend_coordinates(hessian, l1, l2, w, gradient, max_epochs, tolerance):
    """Minimise ``g.d + d'Hd / 2 + sum_k l1_k |w_k| + l2_k / 2 w_k^2`` over w, d its change.

    ``w`` and ``gradient`` (the quadratic's own, at w) are updated in place. An epoch's largest
    move is measured by ``sqrt(h_kk) |step_k|``, which no change of a feature's unit alters.
    Ends when it is at most ``tolerance`` of the first; returns that share.
    """
    first, share = 0.0, 0.0
    for epoch in range(max_epochs):
        largest = 0.0
        for k in range(w.size):
            h = hessian[k, k] + l2[k]
            if not h > 0.0:
                continue
            pull = hessian[k, k] * w[k] - gradient[k]
            new = 0.0
            if pull > l1[k]:
                new = (pull - l1[k]) / h
            elif pull < -l1[k]:
                new = (pull + l1[k]) / h
            step = new - w[k]
            if step != 0.0:
                w[k] = new
                row = hessian[k]
                for j in range(w.size):
                    gradient[j] += step * row[j]
                largest = max(largest, np.sqrt(h) * abs(step))
        if epoch == 0:
            first = largest
        share = largest / first if first > 0.0 else 0.0
        if share <= tolerance:
            break
    return share


# --- measures of a labelling ----------------------------------------------------------


@compiled
def best_f_beta_table(positive_gain, negative_gain, negatives, scale, floor):
    """The a and b with the largest ``gains - scale a / (floor + a + b)``.

    ``negatives`` descend. For fixed a the sum is concave in b, so b moves while a step pays,
    from where the last a left it.
    """
    best, best_a, best_b = -np.inf, 0, 0
    b = 0
    for a in range(positive_gain.size):
        share = scale * a
        size = floor + a
        while b < negatives.size and (
            share / ((size + b) * (size + b + 1.0)) + 2.0 * negatives[b] > 0.0
        ):
            b += 1
        while b > 0 and share / ((size + b - 1.0) * (size + b)) + 2.0 * negatives[b - 1] <= 0.0:
            b -= 1
        total = positive_gain[a] + negative_gain[b] - share / (size + b)
        if total > best:
            best, best_a, best_b = total, a, b
    return best_a, best_b


# --- a small QP over the simplex ------------------------------------------------------


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

        # The gradients' common part is no direction on the simplex: it goes before the solve.
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
