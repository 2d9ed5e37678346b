"""``exp(z)`` in a form that the compiler does for several numbers at once."""

from __future__ import annotations

import numpy as np

from everypair._compiled.compiling import compiled
from everypair._compiled.logarithm import LN2_HIGH, LN2_LOW

PER_LN2 = 1.4426950408889634
ROUNDS = 1.5 * 2.0**52
"""Added to a number, it leaves a whole one in the last bits."""


@compiled
def exponential(z):
    """``exp(z)`` for ``|z| <= 700`` to two units in the last place.

    ``z = k log(2) + r`` with ``|r| <= log(2) / 2``: exp(r) by its power series, 2^k by its bits.
    """
    rounded = z * PER_LN2 + ROUNDS
    k = rounded - ROUNDS
    power = np.int64((np.float64(rounded).view(np.int64) + 1023) << np.int64(52)).view(np.float64)
    r = (z - k * LN2_HIGH) - k * LN2_LOW
    series = 1.0 / 479001600 + r * (1.0 / 6227020800)
    series = 1.0 / 39916800 + r * series
    series = 1.0 / 3628800 + r * series
    series = 1.0 / 362880 + r * series
    series = 1.0 / 40320 + r * series
    series = 1.0 / 5040 + r * series
    series = 1.0 / 720 + r * series
    series = 1.0 / 120 + r * series
    series = 1.0 / 24 + r * series
    series = 1.0 / 6 + r * series
    series = 0.5 + r * series
    return power * (1.0 + (r + r * r * series))
