"""``log(1 + e)`` in a form that the compiler does for several numbers at once."""

from __future__ import annotations

import numpy as np

from everypair._compiled.compiling import divides_freely

LN2_HIGH, LN2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
ONE, ROOT_OF_HALF = np.int64(0x3FF), np.int64(0x3FE6A09E00000000)
"""Bits of a float64: of one's exponent, of the root of a half."""
MAGIC, LAST_WHOLE_NUMBER = np.int64(0x4330000000000000), 2.0**52
"""2^52 as bits and as a number: a whole number written into its last bits is added to it."""


@divides_freely
def log_one_plus(e, r):
    """``log(1 + e)`` for e >= 0 to two units in the last place, given about ``r = 1 / (1 + e)``.

    As in fdlibm (Sun Microsystems 1993): ``1 + e = 2^k (1 + f)``, and log(1 + f) is a series in
    ``s = f / (2 + f)``; what rounding took off ``1 + e`` comes back at the end.
    """
    y = 1.0 + e
    lost = (e - (y - 1.0)) * r
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
