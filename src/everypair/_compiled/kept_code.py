"""The compiled code of a kernel, kept on disk if possible.

This relies on parts of numba beyond its decorators: `FunctionCache` with its file's source stamp
and the attribute `_cache` of a compiled function.
"""

from __future__ import annotations

import os
import re
import warnings
from contextlib import suppress
from functools import cache
from pathlib import Path

from numba import njit
from numba.core.caching import FunctionCache

_warned = False


def _warn_once(reason):
    global _warned  # noqa: PLW0603
    if not _warned:
        _warned = True
        warnings.warn(
            f"everypair cannot keep its compiled code on disk ({reason}), so every process "
            "compiles it again, which takes some seconds. Set the environment variable "
            "NUMBA_CACHE_DIR to a writable directory.",
            stacklevel=3,
        )


IMPORTED = re.compile(r"^from everypair\._compiled\.(\w+) import", re.MULTILINE)


@cache
def _inlined_into(path):
    """The files whose kernels may be part of this file's: those it imports, and theirs."""
    path = Path(path)
    found = {path.with_name(f"{name}.py") for name in IMPORTED.findall(path.read_text())}
    found.discard(path.with_name("compiling.py"))
    return frozenset(found.union(*(_inlined_into(each) for each in found)))


class _Cache(FunctionCache):
    """Numba's cache, except that it never stops a fit: code that cannot be read is compiled anew,
    and code that cannot be written is used without being kept. Numba looks at a function's own
    file alone to tell whether its code is old; here the files of the kernels that it calls count
    as well."""

    def __init__(self, function):
        super().__init__(function)
        with suppress(OSError):  # no source files: nobody edits them
            used = sorted(_inlined_into(function.__code__.co_filename))
            stamps = [(each.stat().st_mtime, each.stat().st_size) for each in used]
            if stamps:
                own = self._cache_file
                own._source_stamp = (own._source_stamp, *stamps)

    def load_overload(self, sig, target_context):
        try:
            return super().load_overload(sig, target_context)
        except Exception:  # a damaged file may raise anything
            self._remove_index()
            return None

    def save_overload(self, sig, data):
        try:
            super().save_overload(sig, data)
        except Exception as trouble:
            self._remove_index()
            _warn_once(trouble)

    def _remove_index(self):
        """The index is damaged, or it may name a file that still holds older code."""
        with suppress(OSError):
            os.unlink(self._cache_file._index_path)


def dispatcher_of(function, **options):
    """numba's object for a function, which compiles or loads it when it is called."""
    # No kernel is given to another one as an argument, which alone needs the wrapper for C.
    kernel = njit(nogil=True, no_cfunc_wrapper=True, **options)(function)
    if kernel is function:  # NUMBA_DISABLE_JIT
        return function
    try:
        kernel._cache = _Cache(function)
    except (OSError, RuntimeError):
        where = os.path.dirname(__file__)
        _warn_once(f"neither {where} nor the user's cache directory is writable")
    return kernel
