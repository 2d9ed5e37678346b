"""Smooth losses over the pairs of many groups (`pairs.smooth_groups`): each group by the definition
or by boxes, whichever costs less.

Group g has the positive rows ``x_rows[x_edges[g]:x_edges[g + 1]]`` with weights a, and the negative
rows of ``y_rows`` with weights b. A pair's loss is a function of ``e = exp(-(x_i - y_j))``, a
product of two factors, one a row: no pair needs an exponential of its own. With ``t = e / (1 + e)``
and ``r = 1 / (1 + e)``

    kind 0, logistic   log(1 + e)   slope -t     curvature t r
    kind 1, sigmoid    t            slope -t r   curvature t r (r - t)
"""

from __future__ import annotations

import numpy as np

from everypair._compiled.boxes import COEFFICIENTS, box_far, box_near, box_near_rows
from everypair._compiled.compiling import compiled, divides_freely

WIDEST = 300.0
"""Scores so far from the middle of their group have exponentials within float64, and products of
two of them as well."""

PAIR_COST, ROW_COST, BOX_COST = 1.0, 5.0, 13.0
"""Of a pair by the definition; of a row and of two boxes beside each other, by boxes."""

REACH = 24
LAST_WHOLE_NUMBER = 2.0**52

LN2_HIGH, LN2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
ONE, ROOT_OF_HALF, MANTISSA = (
    np.int64(0x3FF),
    np.int64(0x3FE6A09E00000000),
    np.int64(0xFFFFF00000000),
)
"""Bits of a float64: those of one's exponent, of the root of a half, of what is not exponent."""
MAGIC, TWO_52 = np.int64(0x4330000000000000), 2.0**52


@divides_freely
def log_one_plus(e):
    """``log(1 + e)`` for e >= 0 to two units in the last place, without a branch.

    As in fdlibm (Sun Microsystems 1993): ``1 + e = 2^k (1 + f)``, and log(1 + f) is a series in
    ``s = f / (2 + f)``; what rounding took off ``1 + e`` comes back at the end.
    """
    y = 1.0 + e
    lost = (e - (y - 1.0)) / y
    bits = np.float64(y).view(np.int64)
    # The exponent such that 1 + f lies between the roots of a half and of two.
    k_bits = (bits - ROOT_OF_HALF + (ONE << np.int64(52))) >> np.int64(52)
    k = np.int64(k_bits | MAGIC).view(np.float64) - (LAST_WHOLE_NUMBER + 1023.0)
    scaled = np.int64(bits - ((k_bits - ONE) << np.int64(52))).view(np.float64)
    f = scaled - 1.0
    s = f / (2.0 + f)
    z = s * s
    w = z * z
    odd = w * (
        3.999999999940941908e-01 + w * (2.222219843214978396e-01 + w * 1.531383769920937332e-01)
    )
    even = z * (6.666666666666735130e-01 + w * (2.857142874366239149e-01
                + w * (1.818357216161805012e-01 + w * 1.479819860511658591e-01)))  # fmt: skip
    half_square = 0.5 * f * f
    return k * LN2_HIGH - (
        (half_square - (s * (half_square + odd + even) + (k * LN2_LOW + lost))) - f
    )


@divides_freely
def fill_pieces(outer, e_outer, inner, e_inner, n, sign, wide, lost, won):
    """``t`` and ``r`` of one row with each of n rows of the other class.

    ``sign``: 1 where the one row is the positive of each pair.
    """
    if not wide:
        for j in range(n):
            e = e_outer * e_inner[j]
            r = 1.0 / (1.0 + e)
            won[j] = r
            lost[j] = e * r
        return
    for j in range(n):
        z = sign * (outer - inner[j])
        e = np.exp(-abs(z))
        small, large = e / (1.0 + e), 1.0 / (1.0 + e)
        won[j], lost[j] = (large, small) if z >= 0 else (small, large)


@compiled
def dot(weights, values, n):
    """Four sums do not wait for each other."""
    first = second = third = fourth = 0.0
    j = 0
    while j + 4 <= n:
        first += weights[j] * values[j]
        second += weights[j + 1] * values[j + 1]
        third += weights[j + 2] * values[j + 2]
        fourth += weights[j + 3] * values[j + 3]
        j += 4
    while j < n:
        first += weights[j] * values[j]
        j += 1
    return (first + second) + (third + fourth)


@divides_freely
def group_slopes(kind, outer, e_outer, w_outer, of_outer, m, inner, e_inner, w_inner, of_inner, n,
                 sign, wide, lost, won):  # fmt: skip
    """The loss of a group by the definition, and every row's sum of ``-phi'`` over its pairs."""
    total = 0.0
    for j in range(n):
        of_inner[j] = 0.0
    for i in range(m):
        fill_pieces(outer[i], e_outer[i], inner, e_inner, n, sign, wide, lost, won)
        if kind == 1:
            value = dot(w_inner, lost, n)
            for j in range(n):
                lost[j] *= won[j]
        elif wide:
            value = 0.0
            for j in range(n):
                z = sign * (outer[i] - inner[j])
                value += w_inner[j] * (max(0.0, -z) + np.log1p(np.exp(-abs(z))))
        else:
            e = e_outer[i]
            for j in range(n):
                won[j] = log_one_plus(e * e_inner[j])
            value = dot(w_inner, won, n)
        weight = w_outer[i]
        for j in range(n):
            of_inner[j] += weight * lost[j]
        of_outer[i] = dot(w_inner, lost, n)
        total += weight * value
    return total


@divides_freely
def group_curvatures(kind, outer, e_outer, w_outer, v_outer, of_outer, m, inner, e_inner, w_inner,
                     v_inner, of_inner, n, differ, sign, wide, lost, won):  # fmt: skip
    """Every row's sum of ``phi''`` over its pairs by the definition; where they ``differ``, of
    ``phi'' (v_i - v_j)`` instead."""
    for j in range(n):
        of_inner[j] = 0.0
    for i in range(m):
        fill_pieces(outer[i], e_outer[i], inner, e_inner, n, sign, wide, lost, won)
        if kind == 0:
            for j in range(n):
                lost[j] *= won[j]
        else:
            for j in range(n):
                lost[j] *= won[j] * (won[j] - lost[j])
        weight = w_outer[i]
        if differ:
            v = v_outer[i]
            for j in range(n):
                lost[j] *= v - v_inner[j]
            for j in range(n):
                of_inner[j] -= weight * lost[j]
        else:
            for j in range(n):
                of_inner[j] += weight * lost[j]
        of_outer[i] = dot(w_inner, lost, n)


@compiled
def ends(x, m, y, n):
    """The least and the largest of m and n values."""
    low = high = x[0]
    for i in range(1, m):
        low, high = min(low, x[i]), max(high, x[i])
    for j in range(n):
        low, high = min(low, y[j]), max(high, y[j])
    return low, high


@divides_freely
def prepare(x, m, y, n, low, high, e_x, e_y):
    """The factors of the pairs' exponentials; whether the scores lie too far apart for them."""
    if high - low > 2 * WIDEST:
        return True
    middle = low + (high - low) / 2
    for i in range(m):
        e_x[i] = np.exp(middle - x[i])
    for j in range(n):
        e_y[j] = np.exp(y[j] - middle)
    return False


@compiled
def boxes_pay(m, n, low, high, per_unit, pair_cost):
    """Whether boxes cost less than the definition, a pair of which costs so much."""
    n_pairs, n_rows = pair_cost * m * n, m + n
    if n_pairs <= ROW_COST * n_rows:
        return False
    n_boxes = min((high - low) * per_unit + 1.0, float(n_rows))
    beside = n_boxes * min(n_boxes, 2.0 * REACH + 1.0)
    return n_pairs > ROW_COST * n_rows + BOX_COST * beside


@compiled
def lay_boxes(x, y, low, high, per_unit, x_slots, y_slots):
    """The ids of the group's boxes, and each row's slot in them (`boxes.box_slots`)."""
    first, last = np.floor(low * per_unit), np.floor(high * per_unit)
    if last - first < 4 * (x.size + y.size) and max(-first, last) < LAST_WHOLE_NUMBER:
        for i in range(x.size):
            x_slots[i] = np.int32(np.floor(x[i] * per_unit) - first)
        for j in range(y.size):
            y_slots[j] = np.int32(np.floor(y[j] * per_unit) - first)
        return first + np.arange(int(last - first) + 1)
    ids = np.unique(np.floor(np.concatenate((x, y)) * per_unit))
    for i in range(x.size):
        x_slots[i] = np.searchsorted(ids, np.floor(x[i] * per_unit))
    for j in range(y.size):
        y_slots[j] = np.searchsorted(ids, np.floor(y[j] * per_unit))
    return ids


@compiled
def moments_of(scores, weights, slots, per_unit, n_boxes):
    """``w_i T_k(t_i)`` added up in each box, some rows before the blocks of them."""
    moments = np.zeros((n_boxes, COEFFICIENTS))
    part = np.zeros((n_boxes, COEFFICIENTS))
    block = max(int(np.sqrt(scores.size)), 8 * n_boxes)
    for begin in range(0, scores.size, block):
        for i in range(begin, min(begin + block, scores.size)):
            x = scores[i] * per_unit
            t = 2.0 * (x - np.floor(x)) - 1.0
            m = part[slots[i]]
            before = weights[i]
            now = before * t
            m[0] += before
            m[1] += now
            for k in range(2, COEFFICIENTS):
                before, now = now, 2.0 * t * now - before
                m[k] += now
        moments += part
        part[:] = 0.0
    return moments


@compiled
def fields_of(ids, wanted, held, moments, near, far, exp_up, exp_down, reach, width):
    fields = np.zeros_like(moments)
    box_near(ids, held, wanted, moments, near, fields)
    if ids[-1] - ids[0] > reach:
        shape = (ids.size, COEFFICIENTS, 1)
        box_far(ids, wanted, moments.reshape(shape), reach, width, far, exp_up, exp_down,
                fields.reshape(shape))  # fmt: skip
    return fields


@compiled
def evaluate(scores, slots, per_unit, fields, sign, out):
    for i in range(scores.size):
        x = scores[i] * per_unit
        t = 2.0 * (x - np.floor(x)) - 1.0
        f = fields[slots[i]]
        now = 0.0
        after = 0.0
        for k in range(COEFFICIENTS - 1, 0, -1):
            now, after = f[k] + (2.0 * t * now - after), now
        out[i] = sign * (f[0] + (t * now - after))


@compiled
def smooth_group_slopes(kind, scores, x_rows, y_rows, a, b, omega, x_edges, y_edges, first, last,
                        most, per_unit, width, value_near, value_far, slope_near, slope_far,
                        back_near, back_far, exp_up, exp_down, values, gradient):  # fmt: skip
    """The loss of each of the groups ``first:last`` and the gradient at their rows.

    Groups of ``most`` rows and more are left out. ``slope`` is the kernel of phi' seen from the
    positives, ``back`` the one seen from the negatives.
    """
    longest = longest_of(x_edges, y_edges, first, last, most)
    x, y, e_x = np.empty(longest), np.empty(longest), np.empty(longest)
    e_y, of_x, of_y = np.empty(longest), np.empty(longest), np.empty(longest)
    w_x, w_y, lost = np.empty(longest), np.empty(longest), np.empty(longest)
    won = np.empty(longest)
    x_slots, y_slots = np.empty(longest, np.int32), np.empty(longest, np.int32)
    reach = value_near.shape[0] // 2
    for g in range(first, last):
        p, q = x_edges[g], y_edges[g]
        m, n = x_edges[g + 1] - p, y_edges[g + 1] - q
        if m + n >= most:
            continue
        for i in range(m):
            x[i], w_x[i] = scores[x_rows[p + i]], a[p + i]
        for j in range(n):
            y[j], w_y[j] = scores[y_rows[q + j]], b[q + j]
        low, high = ends(x, m, y, n)
        if boxes_pay(m, n, low, high, per_unit, PAIR_COST):
            xs, ys = x[:m], y[:n]
            ids = lay_boxes(xs, ys, low, high, per_unit, x_slots, y_slots)
            of_positives = moments_of(xs, w_x, x_slots, per_unit, ids.size)
            of_negatives = moments_of(ys, w_y, y_slots, per_unit, ids.size)
            with_positives, with_negatives = of_positives[:, 0] > 0, of_negatives[:, 0] > 0
            fields = fields_of(ids, with_positives, with_negatives, of_negatives, value_near,
                               value_far, exp_up, exp_down, reach, width)  # fmt: skip
            values[g] = np.sum(of_positives * fields)
            fields = fields_of(ids, with_positives, with_negatives, of_negatives, slope_near,
                               slope_far, exp_up, exp_down, reach, width)  # fmt: skip
            evaluate(xs, x_slots, per_unit, fields, -1.0, of_x)
            fields = fields_of(ids, with_negatives, with_positives, of_positives, back_near,
                               back_far, exp_up, exp_down, reach, width)  # fmt: skip
            evaluate(ys, y_slots, per_unit, fields, -1.0, of_y)
        else:
            wide = prepare(x, m, y, n, low, high, e_x, e_y)
            # The longer class inside: its rows are done several at once.
            if m <= n:
                values[g] = group_slopes(kind, x, e_x, w_x, of_x, m, y, e_y, w_y, of_y, n, 1.0,
                                         wide, lost, won)  # fmt: skip
            else:
                values[g] = group_slopes(kind, y, e_y, w_y, of_y, n, x, e_x, w_x, of_x, m, -1.0,
                                         wide, lost, won)  # fmt: skip
        weight = omega[g]
        for i in range(m):
            gradient[x_rows[p + i]] = -(weight * w_x[i]) * of_x[i]
        for j in range(n):
            gradient[y_rows[q + j]] = (weight * w_y[j]) * of_y[j]


@compiled
def smooth_group_curvatures(kind, scores, x_rows, y_rows, a, b, omega, x_edges, y_edges, vector,
                            curvature, differ, first, last, most, per_unit, width, near, far,
                            back_near, back_far, exp_up, exp_down, out):  # fmt: skip
    """Every row's weighted sum of ``phi''``, or of ``phi'' (v_i - v_j)`` given the former."""
    longest = longest_of(x_edges, y_edges, first, last, most)
    x, y, e_x = np.empty(longest), np.empty(longest), np.empty(longest)
    e_y, of_x, of_y = np.empty(longest), np.empty(longest), np.empty(longest)
    w_x, w_y, v_x = np.empty(longest), np.empty(longest), np.empty(longest)
    v_y, lost, won = np.empty(longest), np.empty(longest), np.empty(longest)
    x_slots, y_slots = np.empty(longest, np.int32), np.empty(longest, np.int32)
    reach = near.shape[0] // 2
    for g in range(first, last):
        p, q = x_edges[g], y_edges[g]
        m, n = x_edges[g + 1] - p, y_edges[g + 1] - q
        if m + n >= most:
            continue
        for i in range(m):
            row = x_rows[p + i]
            x[i], w_x[i], v_x[i] = scores[row], a[p + i], vector[row]
        for j in range(n):
            row = y_rows[q + j]
            y[j], w_y[j], v_y[j] = scores[row], b[q + j], vector[row]
        low, high = ends(x, m, y, n)
        by_boxes = boxes_pay(m, n, low, high, per_unit, PAIR_COST)
        if by_boxes:
            xs, ys = x[:m], y[:n]
            ids = lay_boxes(xs, ys, low, high, per_unit, x_slots, y_slots)
            of_positives = moments_of(xs, w_x * v_x, x_slots, per_unit, ids.size)
            of_negatives = moments_of(ys, w_y * v_y, y_slots, per_unit, ids.size)
            with_positives = np.zeros(ids.size, np.bool_)
            with_negatives = np.zeros(ids.size, np.bool_)
            for i in range(m):
                with_positives[x_slots[i]] = True
            for j in range(n):
                with_negatives[y_slots[j]] = True
            fields = fields_of(ids, with_positives, with_negatives, of_negatives, near, far,
                               exp_up, exp_down, reach, width)  # fmt: skip
            evaluate(xs, x_slots, per_unit, fields, 1.0, of_x)
            fields = fields_of(ids, with_negatives, with_positives, of_positives, back_near,
                               back_far, exp_up, exp_down, reach, width)  # fmt: skip
            evaluate(ys, y_slots, per_unit, fields, 1.0, of_y)
        else:
            wide = prepare(x, m, y, n, low, high, e_x, e_y)
            if m <= n:
                group_curvatures(kind, x, e_x, w_x, v_x, of_x, m, y, e_y, w_y, v_y, of_y, n,
                                 differ, 1.0, wide, lost, won)  # fmt: skip
            else:
                group_curvatures(kind, y, e_y, w_y, v_y, of_y, n, x, e_x, w_x, v_x, of_x, m,
                                 differ, -1.0, wide, lost, won)  # fmt: skip
        weight = omega[g]
        for i in range(m):
            row, value = x_rows[p + i], weight * w_x[i] * of_x[i]
            out[row] = curvature[row] * v_x[i] - value if differ and by_boxes else value
        for j in range(n):
            row, value = y_rows[q + j], weight * w_y[j] * of_y[j]
            out[row] = curvature[row] * v_y[j] - value if differ and by_boxes else value


@compiled
def longest_of(x_edges, y_edges, first, last, most):
    """The most rows of one class in a group that is not left out."""
    longest = 0
    for g in range(first, last):
        n_x, n_y = x_edges[g + 1] - x_edges[g], y_edges[g + 1] - y_edges[g]
        if n_x + n_y < most:
            longest = max(longest, n_x, n_y)
    return longest


@compiled
def smooth_group_rows(kind, x, y, b, x_edges, y_edges, rows, per_unit, width, near, far, exp_up,
                      exp_down, out):  # fmt: skip
    """``out_i = sum_j b_j phi''(x_i - y_j) rows_j`` of each positive i over its group's negatives.

    x and y hold the scores group by group. ``near`` has as many coefficients as are enough.
    """
    n_columns, n_coef = rows.shape[1], near.shape[1]
    n_groups = x_edges.size - 1
    longest = longest_of(x_edges, y_edges, 0, n_groups, np.iinfo(np.int64).max)
    e_x, e_y, lost = np.empty(longest), np.empty(longest), np.empty(longest)
    won = np.empty(longest)
    x_slots, y_slots = np.empty(longest, np.int32), np.empty(longest, np.int32)
    reach = near.shape[0] // 2
    for g in range(n_groups):
        X, Y = slice(x_edges[g], x_edges[g + 1]), slice(y_edges[g], y_edges[g + 1])
        xs, ys, wb, sources, targets = x[X], y[Y], b[Y], rows[Y], out[X]
        m, n = xs.size, ys.size
        low, high = ends(xs, m, ys, n)
        if boxes_pay(m, n, low, high, per_unit, PAIR_COST):
            ids = lay_boxes(xs, ys, low, high, per_unit, x_slots, y_slots)
            moments = np.zeros((ids.size, n_coef, n_columns))
            add_row_moments(sources, ys, wb, y_slots, per_unit, moments)
            held, wanted = np.zeros(ids.size, np.bool_), np.zeros(ids.size, np.bool_)
            for j in range(n):
                held[y_slots[j]] = True
            for i in range(m):
                wanted[x_slots[i]] = True
            fields = np.zeros_like(moments)
            box_near_rows(ids, held, wanted, moments, near, fields)
            if ids[-1] - ids[0] > reach:
                box_far(ids, wanted, moments, reach, width, far, exp_up, exp_down, fields)
            evaluate_rows(xs, x_slots, per_unit, fields, targets)
            continue
        wide = prepare(xs, m, ys, n, low, high, e_x, e_y)
        for i in range(m):
            fill_pieces(xs[i], e_x[i], ys, e_y, n, 1.0, wide, lost, won)
            target = targets[i]
            target[:] = 0.0
            for j in range(n):
                curvature = lost[j] * won[j]
                if kind == 1:
                    curvature *= won[j] - lost[j]
                weight = wb[j] * curvature
                for k in range(n_columns):
                    target[k] += weight * sources[j, k]


@compiled
def add_row_moments(rows, scores, weights, slots, per_unit, moments):
    """Add ``w_i T_k(t_i) rows_i`` to ``moments[box, k]``."""
    n_coef, n_columns = moments.shape[1], moments.shape[2]
    for i in range(scores.size):
        x = scores[i] * per_unit
        t = 2.0 * (x - np.floor(x)) - 1.0
        box = moments[slots[i]]
        before, now = 0.0, weights[i]
        for k in range(n_coef):
            for j in range(n_columns):
                box[k, j] += now * rows[i, j]
            before, now = now, (t * now if k == 0 else 2.0 * t * now - before)


@compiled
def evaluate_rows(scores, slots, per_unit, fields, out):
    """``out_i = sum_k fields[box, k] T_k(t_i)``, for every column."""
    n_coef, n_columns = fields.shape[1], fields.shape[2]
    for i in range(scores.size):
        x = scores[i] * per_unit
        t = 2.0 * (x - np.floor(x)) - 1.0
        box = fields[slots[i]]
        target = out[i]
        target[:] = 0.0
        before, now = 0.0, 1.0
        for k in range(n_coef):
            for j in range(n_columns):
                target[j] += now * box[k, j]
            before, now = now, (t * now if k == 0 else 2.0 * t * now - before)
