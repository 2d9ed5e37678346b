"""Moments, fields and evaluation of Chebyshev boxes (`pairs.boxes`)."""

from __future__ import annotations

import numpy as np

from everypair._compiled.compiling import compiled

COEFFICIENTS = 8
"""Chebyshev coefficients per box; with boxes of width 1/4 every kernel of `pairs.smooth` is met
to 1e-11 of its largest value in the worst pair. A constant, so that loops over it unroll."""


@compiled
def box_slots(scores, per_unit, first, start, stop, slots):
    """Slot of each score on the grid of boxes ``[k, k + 1) / per_unit``, from ``first``."""
    for i in range(start, stop):
        slots[i] = np.int32(np.floor(scores[i] * per_unit) - first)


@compiled
def box_moments(scores, weights, positive, slots, per_unit, start, stop, block, moments):
    """Add ``w_i T_k(t_i)`` to ``moments[class, box, k]``, t in [-1, 1] inside the box.

    ``x - floor(x)`` is exact in floating point, so t is right to the last bit whatever
    the size of the scores: the grid is absolute, never shifted by a rounded origin. Rows of equal
    weight round the same way each time, so ``block`` of them are added up before the blocks are.
    """
    part = np.zeros_like(moments)
    for begin in range(start, stop, block):
        for i in range(begin, min(begin + block, stop)):
            x = scores[i] * per_unit
            t = 2.0 * (x - np.floor(x)) - 1.0
            m = part[np.uint8(positive[i]), slots[i]]
            before = weights[i]
            now = before * t
            m[0] += before
            m[1] += now
            for k in range(2, COEFFICIENTS):
                before, now = now, 2.0 * t * now - before
                m[k] += now
        moments += part
        part[:] = 0.0


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
def box_near(ids, held, wanted, moments, near, fields):
    """Add to ``fields[a, k]`` the sources of ``moments[b, l]`` up to the reach of ``near``.

    ``ids``: box numbers, ascending; ``held``: which of them hold a source; ``wanted``: which a
    target; ``near[d, l, k]``: the kernel at box distance ``d - reach`` (`boxes.BoxKernel`).
    """
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
            for l in range(COEFFICIENTS):
                m = moments[b, l]
                for k in range(COEFFICIENTS):
                    fields[a, k] += table[l, k] * m


@compiled
def add_windows(first, windows, out):
    """Add ``windows[r]`` to ``out`` from its place ``first[r]`` on."""
    for r in range(first.size):
        start = first[r]
        for k in range(windows.shape[1]):
            out[start + k] += windows[r, k]


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
def box_far(ids, wanted, moments, reach, width, far, exp_up, exp_down, fields):
    """Add to ``fields[a, k, column]``, where wanted, ``moments[b, l, column]`` past the reach.

    ``far[side] = (constant, linear, e1, e2, ...)``: side 0 for targets above their sources, where
    the kernel is ``constant + linear u + sum_m e_m exp(-m |u|)``. ``exp_up[m - 1]`` and
    ``exp_down[m - 1]`` are the coefficients of ``exp(+-m width t / 2)``. Where the sources weigh
    nothing negative the running sums only grow by terms of one sign: nothing cancels. A single
    column has loops of its own, over terms and coefficients that lie side by side.
    """
    n_boxes, n_coef, n_columns = moments.shape
    n_terms = exp_up.shape[0]
    half = 0.5 * width
    single = n_columns == 1
    sums, field = np.empty(n_terms), np.empty(n_coef)
    moved_before, fade = 0.0, 1.0
    mass, lever = np.empty(n_columns), np.empty(n_columns)
    running = np.empty((n_terms, n_columns))
    for side in range(2):
        sign = 1.0 if side == 0 else -1.0
        leave = exp_up if side == 0 else exp_down
        arrive = exp_down if side == 0 else exp_up
        by_coefficient = np.ascontiguousarray(leave.T)
        mass[:] = 0.0
        lever[:] = 0.0
        running[:] = 0.0
        source = 0
        for step in range(n_boxes):
            a = step if side == 0 else n_boxes - 1 - step
            if step > 0 and source > 0:
                moved = sign * (ids[a] - ids[a - int(sign)]) * width
                if moved != moved_before:
                    moved_before, fade = moved, np.exp(-moved)
                power = 1.0
                for j in range(n_columns):
                    lever[j] += mass[j] * moved
                for m in range(n_terms):
                    power *= fade
                    for j in range(n_columns):
                        running[m, j] *= power
            while source < n_boxes:
                b = source if side == 0 else n_boxes - 1 - source
                gap = sign * (ids[a] - ids[b])
                if gap <= reach:
                    break
                gap *= width
                for j in range(n_columns):
                    mass[j] += moments[b, 0, j]
                    lever[j] += moments[b, 0, j] * gap - sign * half * moments[b, 1, j]
                source += 1
                shrink = np.exp(-gap)
                power = 1.0
                if single:
                    sums[:] = 0.0
                    for k in range(n_coef):
                        for m in range(n_terms):
                            sums[m] += by_coefficient[k, m] * moments[b, k, 0]
                    for m in range(n_terms):
                        power *= shrink
                        running[m, 0] += power * sums[m]
                    continue
                for m in range(n_terms):
                    power *= shrink
                    for k in range(n_coef):
                        strength = power * leave[m, k]
                        for j in range(n_columns):
                            running[m, j] += strength * moments[b, k, j]
            if source > 0 and wanted[a]:
                constant, linear = far[side, 0], far[side, 1]
                for j in range(n_columns):
                    fields[a, 0, j] += constant * mass[j] + linear * sign * lever[j]
                    fields[a, 1, j] += linear * half * mass[j]
                if single:
                    field[:] = 0.0
                    for m in range(n_terms):
                        strength = far[side, 2 + m] * running[m, 0]
                        for k in range(n_coef):
                            field[k] += strength * arrive[m, k]
                    for k in range(n_coef):
                        fields[a, k, 0] += field[k]
                    continue
                for m in range(n_terms):
                    for k in range(n_coef):
                        strength = far[side, 2 + m] * arrive[m, k]
                        for j in range(n_columns):
                            fields[a, k, j] += strength * running[m, j]


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


@compiled
def csr_box_row_moments(
    data, indices, indptr, centre, scores, weights, positive, slots, per_unit, start, stop, rows
):
    """`box_row_moments` of compressed rows, less their columns' centres (`csr_add_gram`)."""
    n_coef = rows.shape[2]
    for i in range(start, stop):
        x = scores[i] * per_unit
        t = 2.0 * (x - np.floor(x)) - 1.0
        box = rows[np.uint8(positive[i]), slots[i]]
        before, now = 0.0, weights[i]
        for k in range(n_coef):
            for l in range(indptr[i], indptr[i + 1]):
                box[k, indices[l]] += now * (data[l] - centre[indices[l]])
            before, now = now, (t * now if k == 0 else 2.0 * t * now - before)
