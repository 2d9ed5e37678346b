"""Smooth losses over the pairs of many groups (`pairs.smooth_groups`): each group by the definition
or by boxes, whichever costs less.

Group g has the positive scores ``x[x_edges[g]:x_edges[g + 1]]`` with weights a, and the negative
scores y with weights b. A pair's loss is a function of ``e = exp(-(x_i - y_j))``, a product of two
factors, one a row: no pair needs an exponential of its own. With ``t = e / (1 + e)`` and
``r = 1 / (1 + e)``

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

PAIR_COST, ROW_COST, BOX_COST = 1.0, 10.0, 16.0
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
def fill_pieces(outer, inner, e_outer, e_inner, sign, wide, lost, won):
    """``t`` and ``r`` of one row with every row of the other class.

    ``sign``: 1 where the one row is the positive of each pair.
    """
    if not wide:
        for j in range(inner.size):
            e = e_outer * e_inner[j]
            r = 1.0 / (1.0 + e)
            won[j] = r
            lost[j] = e * r
        return
    for j in range(inner.size):
        z = sign * (outer - inner[j])
        e = np.exp(-abs(z))
        small, large = e / (1.0 + e), 1.0 / (1.0 + e)
        won[j], lost[j] = (large, small) if z >= 0 else (small, large)


@divides_freely
def group_slopes(kind, outer, inner, of_outer, of_inner, e_outer, e_inner, w_outer, w_inner, sign,
                 wide, lost, won):  # fmt: skip
    """The loss of a group by the definition, and every row's sum of ``-phi'`` over its pairs."""
    n = inner.size
    total = 0.0
    of_inner[:] = 0.0
    for i in range(outer.size):
        fill_pieces(outer[i], inner, e_outer[i], e_inner, sign, wide, lost, won)
        value = 0.0
        if kind == 1:
            for j in range(n):
                value += w_inner[j] * lost[j]
                lost[j] *= won[j]
        elif wide:
            for j in range(n):
                z = sign * (outer[i] - inner[j])
                value += w_inner[j] * (max(0.0, -z) + np.log1p(np.exp(-abs(z))))
        else:
            for j in range(n):
                won[j] = log_one_plus(e_outer[i] * e_inner[j])
            for j in range(n):
                value += w_inner[j] * won[j]
        weight, slope = w_outer[i], 0.0
        for j in range(n):
            of_inner[j] += weight * lost[j]
        for j in range(n):
            slope += w_inner[j] * lost[j]
        of_outer[i] = slope
        total += weight * value
    return total


@divides_freely
def group_curvatures(kind, outer, inner, of_outer, of_inner, e_outer, e_inner, w_outer, w_inner,
                     v_outer, v_inner, differ, sign, wide, lost, won):  # fmt: skip
    """Every row's sum of ``phi''`` over its pairs by the definition; where they ``differ``, of
    ``phi'' (v_i - v_j)`` instead."""
    n = inner.size
    of_inner[:] = 0.0
    for i in range(outer.size):
        fill_pieces(outer[i], inner, e_outer[i], e_inner, sign, wide, lost, won)
        if kind == 0:
            for j in range(n):
                lost[j] *= won[j]
        else:
            for j in range(n):
                lost[j] *= won[j] * (won[j] - lost[j])
        weight, curvature = w_outer[i], 0.0
        if differ:
            v = v_outer[i]
            for j in range(n):
                lost[j] *= v - v_inner[j]
            for j in range(n):
                of_inner[j] -= weight * lost[j]
        else:
            for j in range(n):
                of_inner[j] += weight * lost[j]
        for j in range(n):
            curvature += w_inner[j] * lost[j]
        of_outer[i] = curvature


@divides_freely
def prepare(x, y, e_x, e_y):
    """The factors of the pairs' exponentials; whether the scores lie too far apart for them."""
    low, high = min(x.min(), y.min()), max(x.max(), y.max())
    if high - low > 2 * WIDEST:
        return True
    middle = low + (high - low) / 2
    for i in range(x.size):
        e_x[i] = np.exp(middle - x[i])
    for j in range(y.size):
        e_y[j] = np.exp(y[j] - middle)
    return False


@compiled
def boxes_pay(x, y, per_unit, pair_cost):
    """Whether boxes cost less than the definition, a pair of which costs so much."""
    n_rows = x.size + y.size
    n_pairs = float(x.size) * float(y.size)
    if pair_cost * n_pairs <= ROW_COST * n_rows:
        return False
    low, high = min(x.min(), y.min()), max(x.max(), y.max())
    n_boxes = min((high - low) * per_unit + 1.0, float(n_rows))
    beside = n_boxes * min(n_boxes, 2.0 * REACH + 1.0)
    return pair_cost * n_pairs > ROW_COST * n_rows + BOX_COST * beside


@compiled
def lay_boxes(x, y, per_unit, x_slots, y_slots):
    """The ids of the group's boxes, and each row's slot in them (`boxes.box_slots`)."""
    first = np.floor(min(x.min(), y.min()) * per_unit)
    last = np.floor(max(x.max(), y.max()) * per_unit)
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
def smooth_group_slopes(kind, x, y, a, b, x_edges, y_edges, first, last, most, per_unit, width,
                        value_near, value_far, slope_near, slope_far, back_near, back_far, exp_up,
                        exp_down, of_x, of_y, values):  # fmt: skip
    """The loss of each of the groups ``first:last`` and every row's sum of ``-phi'``.

    Groups of ``most`` rows and more are left out. ``slope`` is the kernel of phi' seen from the
    positives, ``back`` the one seen from the negatives.
    """
    longest = longest_of(x_edges, y_edges, first, last, most)
    e_x, e_y, lost, won = np.empty((4, longest))
    x_slots, y_slots = np.empty((2, longest), np.int32)
    reach = value_near.shape[0] // 2
    for g in range(first, last):
        X, Y = slice(x_edges[g], x_edges[g + 1]), slice(y_edges[g], y_edges[g + 1])
        xs, ys, wa, wb, ox, oy = x[X], y[Y], a[X], b[Y], of_x[X], of_y[Y]
        if xs.size + ys.size >= most:
            continue
        if boxes_pay(xs, ys, per_unit, PAIR_COST):
            ids = lay_boxes(xs, ys, per_unit, x_slots, y_slots)
            of_positives = moments_of(xs, wa, x_slots, per_unit, ids.size)
            of_negatives = moments_of(ys, wb, y_slots, per_unit, ids.size)
            with_positives, with_negatives = of_positives[:, 0] > 0, of_negatives[:, 0] > 0
            fields = fields_of(ids, with_positives, with_negatives, of_negatives, value_near,
                               value_far, exp_up, exp_down, reach, width)  # fmt: skip
            total = 0.0
            for box in range(ids.size):
                for k in range(COEFFICIENTS):
                    total += of_positives[box, k] * fields[box, k]
            values[g] = total
            fields = fields_of(ids, with_positives, with_negatives, of_negatives, slope_near,
                               slope_far, exp_up, exp_down, reach, width)  # fmt: skip
            evaluate(xs, x_slots, per_unit, fields, -1.0, ox)
            fields = fields_of(ids, with_negatives, with_positives, of_positives, back_near,
                               back_far, exp_up, exp_down, reach, width)  # fmt: skip
            evaluate(ys, y_slots, per_unit, fields, -1.0, oy)
            continue
        wide = prepare(xs, ys, e_x, e_y)
        # The longer class inside: its rows are done several at once.
        if xs.size <= ys.size:
            values[g] = group_slopes(kind, xs, ys, ox, oy, e_x, e_y, wa, wb, 1.0, wide, lost, won)
        else:
            values[g] = group_slopes(kind, ys, xs, oy, ox, e_y, e_x, wb, wa, -1.0, wide, lost, won)


@compiled
def smooth_group_curvatures(kind, x, y, a, b, x_edges, y_edges, v_x, v_y, d_x, d_y, differ, first,
                            last, most, per_unit, width, near, far, back_near, back_far, exp_up,
                            exp_down, of_x, of_y):  # fmt: skip
    """Every row's sum of ``phi''``, or of ``phi'' (v_i - v_j)``, with d the former."""
    longest = longest_of(x_edges, y_edges, first, last, most)
    e_x, e_y, lost, won = np.empty((4, longest))
    x_slots, y_slots = np.empty((2, longest), np.int32)
    reach = near.shape[0] // 2
    for g in range(first, last):
        X, Y = slice(x_edges[g], x_edges[g + 1]), slice(y_edges[g], y_edges[g + 1])
        xs, ys, wa, wb, ox, oy = x[X], y[Y], a[X], b[Y], of_x[X], of_y[Y]
        vx, vy = v_x[X], v_y[Y]
        if xs.size + ys.size >= most:
            continue
        if boxes_pay(xs, ys, per_unit, PAIR_COST):
            ids = lay_boxes(xs, ys, per_unit, x_slots, y_slots)
            of_positives = moments_of(xs, wa * vx, x_slots, per_unit, ids.size)
            of_negatives = moments_of(ys, wb * vy, y_slots, per_unit, ids.size)
            with_positives, with_negatives = np.zeros((2, ids.size), np.bool_)
            for i in range(xs.size):
                with_positives[x_slots[i]] = True
            for j in range(ys.size):
                with_negatives[y_slots[j]] = True
            fields = fields_of(ids, with_positives, with_negatives, of_negatives, near, far,
                               exp_up, exp_down, reach, width)  # fmt: skip
            evaluate(xs, x_slots, per_unit, fields, 1.0, ox)
            fields = fields_of(ids, with_negatives, with_positives, of_positives, back_near,
                               back_far, exp_up, exp_down, reach, width)  # fmt: skip
            evaluate(ys, y_slots, per_unit, fields, 1.0, oy)
            if differ:
                dx, dy = d_x[X], d_y[Y]
                for i in range(xs.size):
                    ox[i] = dx[i] * vx[i] - ox[i]
                for j in range(ys.size):
                    oy[j] = dy[j] * vy[j] - oy[j]
            continue
        wide = prepare(xs, ys, e_x, e_y)
        if xs.size <= ys.size:
            group_curvatures(kind, xs, ys, ox, oy, e_x, e_y, wa, wb, vx, vy, differ, 1.0, wide,
                             lost, won)  # fmt: skip
        else:
            group_curvatures(kind, ys, xs, oy, ox, e_y, e_x, wb, wa, vy, vx, differ, -1.0, wide,
                             lost, won)  # fmt: skip


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

    ``near`` has as many coefficients as are enough.
    """
    n_columns, n_coef = rows.shape[1], near.shape[1]
    n_groups = x_edges.size - 1
    longest = longest_of(x_edges, y_edges, 0, n_groups, np.iinfo(np.int64).max)
    e_x, e_y, lost, won = np.empty((4, longest))
    x_slots, y_slots = np.empty((2, longest), np.int32)
    reach = near.shape[0] // 2
    for g in range(n_groups):
        X, Y = slice(x_edges[g], x_edges[g + 1]), slice(y_edges[g], y_edges[g + 1])
        xs, ys, wb, sources, targets = x[X], y[Y], b[Y], rows[Y], out[X]
        targets[:] = 0.0
        if boxes_pay(xs, ys, per_unit, PAIR_COST * 0.5):
            ids = lay_boxes(xs, ys, per_unit, x_slots, y_slots)
            moments = np.zeros((ids.size, n_coef, n_columns))
            add_row_moments(sources, ys, wb, y_slots, per_unit, moments)
            held, wanted = np.zeros((2, ids.size), np.bool_)
            for j in range(ys.size):
                held[y_slots[j]] = True
            for i in range(xs.size):
                wanted[x_slots[i]] = True
            fields = np.zeros_like(moments)
            box_near_rows(ids, held, wanted, moments, near, fields)
            if ids[-1] - ids[0] > reach:
                box_far(ids, wanted, moments, reach, width, far, exp_up, exp_down, fields)
            evaluate_rows(xs, x_slots, per_unit, fields, targets)
            continue
        wide = prepare(xs, ys, e_x, e_y)
        for i in range(xs.size):
            fill_pieces(xs[i], ys, e_x[i], e_y, 1.0, wide, lost, won)
            target = targets[i]
            for j in range(ys.size):
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
