"""Sums of a smooth kernel over the pairs of one group through a few wide boxes (`pairs.boxes`).

Boxes of width 2 with 20 coefficients: a group of some hundred rows has few boxes, and what rows
cost is done for several at once, because rows of one box stand side by side.
"""

from __future__ import annotations

import numpy as np

from everypair._compiled.box_sums import box_far
from everypair._compiled.compiling import compiled

WIDE_COEFFICIENTS = 20
"""With boxes of width 2 every kernel of `pairs.smooth` is met to 1e-13 of its largest value in the
pair of boxes. A constant, so that loops over it unroll; a multiple of four (`wide_near`)."""

LAST_WHOLE_NUMBER = 2.0**52

LANES = 16
"""Rows whose polynomials are made at once."""
POSITION, WEIGHT = WIDE_COEFFICIENTS * LANES, (WIDE_COEFFICIENTS + 1) * LANES
STRIP = (WIDE_COEFFICIENTS + 2) * LANES


@compiled
def distinct(values):
    """The distinct values, ascending. By Shell's method: numba compiles `np.unique` and
    `np.searchsorted` for seconds, and few groups have boxes far apart."""
    gap = 1
    while gap < values.size // 3:
        gap = 3 * gap + 1
    while gap > 0:
        for i in range(gap, values.size):
            value, place = values[i], i
            while place >= gap and values[place - gap] > value:
                values[place] = values[place - gap]
                place -= gap
            values[place] = value
        gap //= 3
    count = 1
    for i in range(1, values.size):
        if values[i] != values[count - 1]:
            values[count] = values[i]
            count += 1
    return values[:count].copy()


@compiled
def find_slots(ids, x, per_unit, slots):
    """The slot of each row's box, by bisection."""
    for i in range(x.size):
        box = np.floor(x[i] * per_unit)
        below, above = 0, ids.size
        while above - below > 1:
            middle = (below + above) // 2
            if ids[middle] <= box:
                below = middle
            else:
                above = middle
        slots[i] = below


@compiled
def lay_boxes(x, y, low, high, per_unit, x_slots, y_slots):
    """The ids of the group's boxes, and each row's slot in them (`boxes.box_slots`)."""
    first, last = np.floor(low * per_unit), np.floor(high * per_unit)
    if last - first < 4 * (x.size + y.size) and max(-first, last) < LAST_WHOLE_NUMBER:
        for i in range(x.size):
            x_slots[i] = np.int32(np.floor(x[i] * per_unit) - first)
        for j in range(y.size):
            y_slots[j] = np.int32(np.floor(y[j] * per_unit) - first)
        ids = np.empty(int(last - first) + 1)
        for box in range(ids.size):
            ids[box] = first + box
        return ids
    boxes = np.empty(x.size + y.size)
    for i in range(x.size):
        boxes[i] = np.floor(x[i] * per_unit)
    for j in range(y.size):
        boxes[x.size + j] = np.floor(y[j] * per_unit)
    ids = distinct(boxes)
    find_slots(ids, x, per_unit, x_slots)
    find_slots(ids, y, per_unit, y_slots)
    return ids


@compiled
def order_by_box(scores, weights, slots, n, n_boxes, per_unit):
    """The rows box by box: where each box begins, the number of each row, its position in [-1, 1]
    inside its box, its weight. A box is filled up to whole lanes with rows of number -1."""
    places = np.zeros(n_boxes + 1, np.int64)
    for i in range(n):
        places[slots[i] + 1] += 1
    for box in range(n_boxes):
        filled = (places[box + 1] + LANES - 1) // LANES * LANES
        places[box + 1] = places[box] + filled
    size = places[n_boxes]
    order, t, w = np.full(size, -1, np.int32), np.zeros(size), np.zeros(size)
    for i in range(n):
        place = places[slots[i]]
        x = scores[i] * per_unit
        order[place], t[place], w[place] = i, 2.0 * (x - np.floor(x)) - 1.0, weights[i]
        places[slots[i]] = place + 1
    for box in range(n_boxes, 0, -1):
        places[box] = (places[box - 1] + LANES - 1) // LANES * LANES
    places[0] = 0
    return places, order, t, w


@compiled
def wide_moments(places, t, w):
    """``w_i T_k(t_i)`` added up in each box."""
    n_boxes = places.size - 1
    moments = np.zeros((n_boxes, WIDE_COEFFICIENTS))
    strip = np.empty(STRIP)
    for box in range(n_boxes):
        if places[box] == places[box + 1]:
            continue
        for k in range(POSITION):
            strip[k] = 0.0
        for begin in range(places[box], places[box + 1], LANES):
            for j in range(LANES):
                strip[POSITION + j], strip[WEIGHT + j] = t[begin + j], w[begin + j]
            for j in range(LANES):
                before = strip[WEIGHT + j]
                now = before * strip[POSITION + j]
                twice = 2.0 * strip[POSITION + j]
                strip[j] += before
                strip[LANES + j] += now
                for k in range(2, WIDE_COEFFICIENTS):
                    before, now = now, twice * now - before
                    strip[LANES * k + j] += now
        for k in range(WIDE_COEFFICIENTS):
            for j in range(LANES):
                moments[box, k] += strip[LANES * k + j]
    return moments


@compiled
def wide_near(ids, x_places, y_places, moments, near, fields):
    """Add to ``fields[a]`` the sources of ``moments[b]`` up to the reach of ``near[d, l]``, four
    coefficients of a source at once. Places of the targets and of the sources tell which boxes
    are empty. One distance after the other: its table stays in the cache."""
    reach, n_fields = near.shape[0] // 2, near.shape[2]
    for place in range(near.shape[0]):
        table, b = near[place], 0
        for a in range(ids.size):
            source = ids[a] - (place - reach)
            while b < ids.size and ids[b] < source:
                b += 1
            if b == ids.size:
                break
            if ids[b] > source or x_places[a] == x_places[a + 1] or y_places[b] == y_places[b + 1]:
                continue
            field, m = fields[a], moments[b]
            for l in range(0, WIDE_COEFFICIENTS, 4):
                m0, m1, m2, m3 = m[l], m[l + 1], m[l + 2], m[l + 3]
                for k in range(n_fields):
                    field[k] += (m0 * table[l, k] + m1 * table[l + 1, k]) + (
                        m2 * table[l + 2, k] + m3 * table[l + 3, k]
                    )


@compiled
def wide_far(ids, x_places, moments, reach, width, far, exp_up, exp_down, fields):
    """The same past the reach, where there is anything."""
    if ids[-1] - ids[0] > reach:
        shape = (ids.size, WIDE_COEFFICIENTS, 1)
        wanted, part = np.empty(ids.size, np.bool_), np.zeros(shape)
        for box in range(ids.size):
            wanted[box] = x_places[box + 1] > x_places[box]
        box_far(ids, wanted, moments.reshape(shape), reach, width, far, exp_up, exp_down, part)
        for box in range(ids.size):
            for k in range(WIDE_COEFFICIENTS):
                fields[box, k] += part[box, k, 0]


@compiled
def wide_evaluate(places, order, t, fields, sign, out):
    """``sign sum_k fields[box, k] T_k(t_i)`` at each row, by Clenshaw's recurrence."""
    values = np.empty(t.size)
    for box in range(fields.shape[0]):
        f = fields[box]
        for i in range(places[box], places[box + 1]):
            now = 0.0
            after = 0.0
            twice = 2.0 * t[i]
            for k in range(WIDE_COEFFICIENTS - 1, 0, -1):
                now, after = f[k] + (twice * now - after), now
            values[i] = f[0] + (t[i] * now - after)
    for i in range(t.size):
        if order[i] >= 0:
            out[order[i]] = sign * values[i]
