"""Smooth losses over the pairs of many groups (`pairs.smooth_groups`): each group by the definition
(`group_pairs`), by one series (`group_series`) or by boxes (`group_boxes`), whichever costs less.

Group g has the positive rows ``x_rows[x_edges[g]:x_edges[g + 1]]`` with weights a, and the negative
rows of ``y_rows`` with weights b.
"""

from __future__ import annotations

import numpy as np

from everypair._compiled.compiling import compiled
from everypair._compiled.group_boxes import (
    WIDE_COEFFICIENTS,
    lay_boxes,
    order_by_box,
    wide_evaluate,
    wide_far,
    wide_moments,
    wide_near,
)
from everypair._compiled.group_pairs import (
    CHANNELS,
    LARGEST_LOG,
    LOG_OF_TWO,
    TILE,
    WIDEST_SCORE_RANGE,
    all_equal,
    ends,
    factors,
    few_slopes,
    group_curvatures,
    group_slopes,
    wide_group_curvatures,
    wide_group_slopes,
)
from everypair._compiled.group_series import (
    CHANNELS_OF_SWEEP,
    MOST_COEFFICIENTS,
    SERIES_COEFFICIENTS,
    SWEEP,
    series_level,
    series_slopes,
)

PAIR_COST, LOG_COST, FAR_PAIR_COST = 0.6, 3.0, 20.0
"""Nanoseconds, about, by the definition: of a pair, of its logarithm where rows weigh differently,
of a pair in a group whose scores lie far apart."""

ROW_COST, BOX_COST, BESIDE_COST, FAR_COST = 20.0, 500.0, 200.0, 3000.0
"""The same by boxes: of a row, of a box, of two boxes within reach, of a box where some are not."""

TERM_COST, TABLE_COST = 0.3, 0.4
"""The same by one series: of a row and a coefficient, of two coefficients of the two classes."""

LARGEST_SERIES = 3000
"""Rows of a group up to which one series costs less than boxes, which have fewer coefficients."""

FEW_PAIRS = 120
"""So few pairs are summed one after the other."""


@compiled
def boxes_pay(m, n, low, high, per_unit, reach, pair_cost):
    """Whether boxes cost less than the definition, a pair of which costs so much."""
    if high - low > WIDEST_SCORE_RANGE:
        pair_cost = FAR_PAIR_COST
    n_rows = m + n
    by_pairs = pair_cost * m * n - ROW_COST * n_rows
    if by_pairs <= BOX_COST:
        return False
    n_boxes = min((high - low) * per_unit + 1.0, float(n_rows))
    far = FAR_COST if (high - low) * per_unit > reach else 0.0
    beside = min(n_boxes, 2.0 * reach + 1.0)
    return by_pairs > n_boxes * (BOX_COST + BESIDE_COST * beside + far)


@compiled
def series_pays(m, n, level, pair_cost):
    """Whether one series costs less than the definition, a pair of which costs so much."""
    rows = m + n
    if level == len(SERIES_COEFFICIENTS) or rows > LARGEST_SERIES:
        return False
    count = SERIES_COEFFICIENTS[level]
    return pair_cost * m * n > count * (TERM_COST * rows + TABLE_COST * count)


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
def smooth_group_slopes(kind, scores, x_rows, y_rows, a, b, omega, x_edges, y_edges, first, last,
                        most, per_unit, near, near_back, value_far, slope_far, back_far, exp_up,
                        exp_down, series_widths, series_loss, series_slope, values,
                        gradient):  # fmt: skip
    """The loss of each of the groups ``first:last`` and the gradient at their rows.

    Groups of ``most`` rows and more are left out. ``near`` has the coefficients of phi and of phi'
    seen from the positives, ``near_back`` those of phi' seen from the negatives.
    """
    longest = longest_of(x_edges, y_edges, first, last, most) + 1
    floats = np.empty((6, longest))
    x, y, e_x, e_y, of_x, of_y = floats[0], floats[1], floats[2], floats[3], floats[4], floats[5]
    w_x, w_y = np.empty(longest), np.empty(longest)
    tile = np.empty(CHANNELS * TILE)
    sweeps, series = np.empty((2, CHANNELS_OF_SWEEP * SWEEP)), np.empty((5, MOST_COEFFICIENTS))
    x_slots, y_slots = np.empty(longest, np.int32), np.empty(longest, np.int32)
    reach, width = near.shape[0] // 2, 1.0 / per_unit
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
        alike = kind == 1 or all_equal(w_x if m <= n else w_y, min(m, n))
        pair_cost = PAIR_COST if alike else PAIR_COST + LOG_COST
        middle = low + (high - low) / 2
        level = series_level(low, high, series_widths)
        done = series_pays(m, n, level, pair_cost)
        if done:
            values[g], done = series_slopes(
                kind, x, w_x, of_x, m, y, w_y, of_y, n, middle, level, series_widths, series_loss,
                series_slope, sweeps, series,
            )  # fmt: skip
        if done:
            pass  # unless the slopes of the sigmoid are too small for a series
        elif boxes_pay(m, n, low, high, per_unit, reach, pair_cost):
            ids = lay_boxes(x[:m], y[:n], low, high, per_unit, x_slots, y_slots)
            n_boxes = ids.size
            x_places, x_order, t_x, b_x = order_by_box(x, w_x, x_slots, m, n_boxes, per_unit)
            y_places, y_order, t_y, b_y = order_by_box(y, w_y, y_slots, n, n_boxes, per_unit)
            of_positives = wide_moments(x_places, t_x, b_x)
            of_negatives = wide_moments(y_places, t_y, b_y)
            fields = np.zeros((n_boxes, 2 * WIDE_COEFFICIENTS))
            wide_near(ids, x_places, y_places, of_negatives, near, fields)
            value_fields = np.empty((n_boxes, WIDE_COEFFICIENTS))
            slope_fields = np.empty((n_boxes, WIDE_COEFFICIENTS))
            for box in range(n_boxes):
                for k in range(WIDE_COEFFICIENTS):
                    value_fields[box, k] = fields[box, k]
                    slope_fields[box, k] = fields[box, WIDE_COEFFICIENTS + k]
            wide_far(ids, x_places, of_negatives, reach, width, value_far, exp_up, exp_down,
                     value_fields)  # fmt: skip
            wide_far(ids, x_places, of_negatives, reach, width, slope_far, exp_up, exp_down,
                     slope_fields)  # fmt: skip
            total = 0.0
            for box in range(n_boxes):
                for k in range(WIDE_COEFFICIENTS):
                    total += of_positives[box, k] * value_fields[box, k]
            values[g] = total
            wide_evaluate(x_places, x_order, t_x, slope_fields, -1.0, of_x)
            fields = np.zeros((n_boxes, WIDE_COEFFICIENTS))
            wide_near(ids, y_places, x_places, of_positives, near_back, fields)
            wide_far(ids, y_places, of_positives, reach, width, back_far, exp_up, exp_down, fields)
            wide_evaluate(y_places, y_order, t_y, fields, -1.0, of_y)
        elif high - low > WIDEST_SCORE_RANGE:
            values[g] = wide_group_slopes(kind, x, w_x, of_x, m, y, w_y, of_y, n)
        else:
            factors(x, m, 1.0, middle, e_x)
            factors(y, n, -1.0, middle, e_y)
            # The longer class inside: its rows are done several at once.
            if m * n <= FEW_PAIRS and n * (LOG_OF_TWO + high - low) < LARGEST_LOG:
                values[g] = few_slopes(kind, e_x, w_x, of_x, m, e_y, w_y, of_y, n)
            elif m <= n:
                values[g] = group_slopes(kind, e_x, w_x, of_x, m, e_y, w_y, of_y, n, high - low,
                                         tile)  # fmt: skip
            else:
                values[g] = group_slopes(kind, e_y, w_y, of_y, n, e_x, w_x, of_x, m, high - low,
                                         tile)  # fmt: skip
        weight = omega[g]
        for i in range(m):
            gradient[x_rows[p + i]] = -(weight * w_x[i]) * of_x[i]
        for j in range(n):
            gradient[y_rows[q + j]] = (weight * w_y[j]) * of_y[j]


@compiled
def smooth_group_curvatures(kind, scores, x_rows, y_rows, a, b, omega, x_edges, y_edges, vector,
                            curvature, differ, first, last, most, per_unit, near, near_back, far,
                            back_far, exp_up, exp_down, out):  # fmt: skip
    """Every row's weighted sum of ``phi''``, or of ``phi'' (v_i - v_j)`` given the former."""
    longest = longest_of(x_edges, y_edges, first, last, most) + 1
    floats = np.empty((6, longest))
    x, y, e_x, e_y, of_x, of_y = floats[0], floats[1], floats[2], floats[3], floats[4], floats[5]
    w_x, w_y, v_x, v_y = (np.empty(longest), np.empty(longest), np.empty(longest),
                          np.empty(longest))  # fmt: skip
    tile = np.empty(CHANNELS * TILE)
    x_slots, y_slots = np.empty(longest, np.int32), np.empty(longest, np.int32)
    reach, width = near.shape[0] // 2, 1.0 / per_unit
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
        by_boxes = boxes_pay(m, n, low, high, per_unit, reach, PAIR_COST)
        if by_boxes:
            ids = lay_boxes(x[:m], y[:n], low, high, per_unit, x_slots, y_slots)
            n_boxes = ids.size
            for i in range(m):
                e_x[i] = w_x[i] * v_x[i]
            for j in range(n):
                e_y[j] = w_y[j] * v_y[j]
            x_places, x_order, t_x, b_x = order_by_box(x, e_x, x_slots, m, n_boxes, per_unit)
            y_places, y_order, t_y, b_y = order_by_box(y, e_y, y_slots, n, n_boxes, per_unit)
            of_positives = wide_moments(x_places, t_x, b_x)
            of_negatives = wide_moments(y_places, t_y, b_y)
            fields = np.zeros((n_boxes, WIDE_COEFFICIENTS))
            wide_near(ids, x_places, y_places, of_negatives, near, fields)
            wide_far(ids, x_places, of_negatives, reach, width, far, exp_up, exp_down, fields)
            wide_evaluate(x_places, x_order, t_x, fields, 1.0, of_x)
            fields = np.zeros((n_boxes, WIDE_COEFFICIENTS))
            wide_near(ids, y_places, x_places, of_positives, near_back, fields)
            wide_far(ids, y_places, of_positives, reach, width, back_far, exp_up, exp_down, fields)
            wide_evaluate(y_places, y_order, t_y, fields, 1.0, of_y)
        elif high - low > WIDEST_SCORE_RANGE:
            wide_group_curvatures(kind, x, w_x, v_x, of_x, m, y, w_y, v_y, of_y, n, differ)
        else:
            middle = low + (high - low) / 2
            factors(x, m, 1.0, middle, e_x)
            factors(y, n, -1.0, middle, e_y)
            if m <= n:
                group_curvatures(kind, e_x, w_x, v_x, of_x, m, e_y, w_y, v_y, of_y, n, differ,
                                 tile)  # fmt: skip
            else:
                group_curvatures(kind, e_y, w_y, v_y, of_y, n, e_x, w_x, v_x, of_x, m, differ,
                                 tile)  # fmt: skip
        weight = omega[g]
        for i in range(m):
            row, value = x_rows[p + i], weight * w_x[i] * of_x[i]
            out[row] = curvature[row] * v_x[i] - value if differ and by_boxes else value
        for j in range(n):
            row, value = y_rows[q + j], weight * w_y[j] * of_y[j]
            out[row] = curvature[row] * v_y[j] - value if differ and by_boxes else value
