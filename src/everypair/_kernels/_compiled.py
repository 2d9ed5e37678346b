"""How every kernel is compiled: at its first call, kept on disk, without the GIL."""

from __future__ import annotations

from numba import njit

compiled = njit(cache=True, nogil=True)
