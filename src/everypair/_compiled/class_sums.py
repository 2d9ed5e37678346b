"""Sums over the two classes, of values and of exponentials (`pairs.separable`)."""

from __future__ import annotations

from everypair._compiled.compiling import adds_freely, compiled
from everypair._compiled.exponential import exponential
from everypair._compiled.walks import two_sum

STRIP = 128
"""Rows that are added up plainly, several at once, before what rounding takes off is kept."""

LEAST_EXPONENT = -700.0


@adds_freely
def _strip_sums(values, positive, start, stop):
    of_all, of_positives = 0.0, 0.0
    for i in range(start, stop):
        of_all += 0.0 if positive[i] else values[i]
        of_positives += values[i] if positive[i] else 0.0
    return of_all, of_positives


@compiled
def class_totals(values, positive, start, stop, sums):
    """Add up the values of the negatives in ``sums[0]``, of the positives in ``sums[1]``, and what
    rounding took off in ``sums[2]`` and ``sums[3]``."""
    for begin in range(start, stop, STRIP):
        negatives, positives = _strip_sums(values, positive, begin, min(begin + STRIP, stop))
        sums[0], left = two_sum(sums[0], negatives)
        sums[2] += left
        sums[1], left = two_sum(sums[1], positives)
        sums[3] += left


@compiled
def largest_exponents(scores, weights, positive, start, stop, largest):
    """The largest score of a negative in ``largest[0]``, the largest of a positive, negated, in
    ``largest[1]``; rows without weight do not count."""
    for i in range(start, stop):
        if weights[i] > 0:
            if positive[i]:
                largest[1] = max(largest[1], -scores[i])
            else:
                largest[0] = max(largest[0], scores[i])


@compiled
def weighted_exponentials(scores, weights, positive, largest, start, stop, out):
    """``w_i exp(-s_i - largest[1])`` of a positive, ``w_i exp(s_i - largest[0])`` of a negative;
    zero where that is below the range of float64."""
    of_negatives, of_positives = largest[0], largest[1]
    for i in range(start, stop):
        z = -scores[i] - of_positives if positive[i] else scores[i] - of_negatives
        inside = z > LEAST_EXPONENT
        # Rows without weight may lie above the largest.
        value = exponential(min(z, 0.0) if inside else 0.0)
        out[i] = weights[i] * value if inside else 0.0


@compiled
def times_by_class(values, positive, of_negatives, of_positives, start, stop, out):
    """``out_i`` = the value times the number of its class."""
    for i in range(start, stop):
        out[i] = values[i] * (of_positives if positive[i] else of_negatives)


@compiled
def square_slopes(scores, share, positive, of_negatives, of_positives, start, stop, out):
    """``2 share_i (s_i - 1 - m)`` of a positive, m the mean of the negatives, and
    ``2 share_i (s_i + 1 - m)`` of a negative."""
    for i in range(start, stop):
        apart = scores[i] - (of_negatives if positive[i] else of_positives)
        apart += -1.0 if positive[i] else 1.0
        out[i] = 2.0 * share[i] * apart


@adds_freely
def weighted_squares(scores, share, positive, of_negatives, of_positives, start, stop):
    """``sum_i share_i (s_i - m)^2``, m the mean of the row's own class."""
    total = 0.0
    for i in range(start, stop):
        apart = scores[i] - (of_positives if positive[i] else of_negatives)
        total += share[i] * (apart * apart)
    return total
