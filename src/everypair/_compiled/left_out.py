"""Pairs won by models that never saw them (`rls`)."""

from __future__ import annotations

import numpy as np

from everypair._compiled.compiling import compiled


@compiled
def left_out_pairs_won(
    T, V_p, V_n, filters, fixed, shared, y_p, y_n, sides_p, sides_n, noise, start, stop
):
    """For each ridge the pairs won plus half of those tied, by models that never saw the two rows.

    For positives ``start:stop`` and every negative: the sign of ``f_i - f_j`` from the 2 x 2
    system ``R_HH f = right side`` of `rls.spectrum`, whose determinant is positive. First with the
    nearby ``T[ridge, i - start, j]``; where its slack leaves the sign open, with
    ``T_ij = sum_k filters[k] V_ik V_jk - fixed``. A difference within ``noise`` of the terms it is
    made of is a tie. ``R_ij = T_ij - shared``. The rows of a class have the same weight, so
    ``y_p = -y_n = sqrt(D)`` up to class are scalars. ``sides``: diagonal of R, beta, magnitude and
    slack of the rows, for each ridge.
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
