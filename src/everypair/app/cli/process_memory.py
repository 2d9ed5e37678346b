"""Memory of the command's process that goes back to the system.

Fits that share their passes over a large table run in threads. glibc gives each thread an arena of
its own, and an array that a thread has freed there stays in the process. Arrays above a size are
taken from the system and go back to it, but glibc raises that size whenever one is freed. With
10^7 rows and eight fits, of which each sorts some scores at its end, that was 200 MB.
"""

from __future__ import annotations

import ctypes
from functools import cache

ARENA_MAX, MMAP_THRESHOLD = -8, -3
"""Names of settings in glibc's ``malloc.h``."""

LARGE_BYTES = 2**22
"""Arrays above this go back to the system. What a block of rows needs is smaller."""


@cache
def give_back_large_arrays() -> bool:
    """Give large arrays back when they are freed, and share the rest; False without glibc."""
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):  # not glibc
        return False
    return bool(mallopt(MMAP_THRESHOLD, LARGE_BYTES) and mallopt(ARENA_MAX, 1))
