"""``sum_j b_j phi''(s_i - s_j) x_j`` over the pairs of many groups, for their Hessians.

Rows have many columns, so that boxes are narrow and have few coefficients (`boxes`): a moment costs
a row of numbers here.
"""

from __future__ import annotations

import numpy as np

from everypair._compiled.box_sums import box_far, box_near_rows
from everypair._compiled.compiling import compiled, divides_freely
from everypair._compiled.group_boxes import lay_boxes
from everypair._compiled.group_pairs import WIDEST_SCORE_RANGE, ends, factors, pieces
from everypair._compiled.smooth_groups import longest_of

PAIR_COST, ROW_COST, BESIDE_COST = 1.0, 5.0, 13.0
"""Of a pair by the definition; of a row and of two boxes beside each other, by boxes."""


@compiled
def narrow_boxes_pay(m, n, low, high, per_unit, reach):
    n_pairs, n_rows = PAIR_COST * m * n, m + n
    n_boxes = min((high - low) * per_unit + 1.0, float(n_rows))
    beside = n_boxes * min(n_boxes, 2.0 * reach + 1.0)
    return n_pairs > ROW_COST * n_rows + BESIDE_COST * beside


@divides_freely
def smooth_group_rows(kind, x, y, b, x_edges, y_edges, rows, per_unit, width, near, far, exp_up,
                      exp_down, out):  # fmt: skip
    """``out_i = sum_j b_j phi''(x_i - y_j) rows_j`` of each positive i over its group's negatives.

    x and y hold the scores group by group. ``near`` has as many coefficients as are enough.
    """
    n_columns, n_coef = rows.shape[1], near.shape[1]
    n_groups = x_edges.size - 1
    longest = longest_of(x_edges, y_edges, 0, n_groups, np.iinfo(np.int64).max)
    e_x, e_y = np.empty(longest + 1), np.empty(longest + 1)
    x_slots, y_slots = np.empty(longest, np.int32), np.empty(longest, np.int32)
    reach = near.shape[0] // 2
    for g in range(n_groups):
        X, Y = slice(x_edges[g], x_edges[g + 1]), slice(y_edges[g], y_edges[g + 1])
        xs, ys, wb, sources, targets = x[X], y[Y], b[Y], rows[Y], out[X]
        m, n = xs.size, ys.size
        low, high = ends(xs, m, ys, n)
        if narrow_boxes_pay(m, n, low, high, per_unit, reach):
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
        wide = high - low > WIDEST_SCORE_RANGE
        if not wide:
            middle = low + (high - low) / 2
            factors(xs, m, 1.0, middle, e_x)
            factors(ys, n, -1.0, middle, e_y)
        for i in range(m):
            target = targets[i]
            target[:] = 0.0
            for j in range(n):
                if wide:
                    t, r = pieces(xs[i] - ys[j])
                else:
                    e = e_x[i] * e_y[j]
                    r = 1.0 / (1.0 + e)
                    t = e * r
                weight = wb[j] * (t * r * (r - t) if kind == 1 else t * r)
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
