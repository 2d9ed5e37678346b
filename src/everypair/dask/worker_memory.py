"""Memory of a worker that the next array can use again.

Dask's nanny sets ``MALLOC_TRIM_THRESHOLD_``, so that a worker gives back to the system what it
frees. glibc then takes every array above 128 kB from the system and gives it back at once, for
good: it no longer learns from the sizes that come. A sum over a block makes a few vectors with a
number per row. New pages for each of them cost as much as the sum.
"""

from __future__ import annotations

import ctypes
import os
from functools import cache

TRIM_THRESHOLD, MMAP_THRESHOLD = -1, -3
"""Names of settings in glibc's ``malloc.h``."""

SMALL_BYTES = 2**22
"""Of arrays whose memory is used again. Of larger ones NumPy asks for huge pages, which are few."""

KEPT_BYTES = 2**26
"""Free memory that a worker keeps at most, in each of its threads."""


@cache
def keep_small_pieces() -> bool:
    """Keep some free memory in this process, where Dask has set it to keep none."""
    if "MALLOC_TRIM_THRESHOLD_" not in os.environ:
        return False
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):  # not glibc
        return False
    return bool(mallopt(MMAP_THRESHOLD, SMALL_BYTES) and mallopt(TRIM_THRESHOLD, KEPT_BYTES))
