"""How every kernel is compiled: at its first call, without the GIL, and kept on disk if possible.

numba is loaded at the first call of any kernel, not before (`linalg.few_rows` says what it costs).
"""

from __future__ import annotations

import os
import sys
from functools import update_wrapper
from threading import RLock

_loading = RLock()
_held_in_fork = []


def _before_fork():
    """A fork waits until no thread loads numba or compiles.

    The child inherits the locks as they are. It could not finish the import, and would wait for
    ever for a thread that it does not have.
    """
    _loading.acquire()
    compiler = getattr(sys.modules.get("numba.core.compiler_lock"), "global_compiler_lock", None)
    if compiler is not None:
        compiler.acquire()
        _held_in_fork.append(compiler)


def _after_fork():
    while _held_in_fork:
        _held_in_fork.pop().release()
    _loading.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork
    )


class Loop:
    """A function that numba compiles for the types of its arguments, once it is called.

    It takes its arguments by position, and cannot be pickled.
    """

    def __init__(self, function, **options):
        update_wrapper(self, function)
        self._options = options

    def __call__(self, *arguments):
        return self.dispatcher(*arguments)

    def __getattr__(self, name):
        """`dispatcher`, numba's object, when it is first asked for, and all that it has."""
        if name.startswith("__"):
            raise AttributeError(name)
        if name != "dispatcher":
            return getattr(self.dispatcher, name)
        with _loading:
            if "dispatcher" not in self.__dict__:
                from everypair._compiled.kept_code import dispatcher_of

                function = self.__wrapped__
                # numba looks up the kernels that this one calls among the names of its module.
                names = function.__globals__
                for called in function.__code__.co_names:
                    other = names.get(called)
                    if isinstance(other, Loop) and other is not self:
                        names[called] = other.dispatcher
                self.dispatcher = dispatcher_of(function, **self._options)
        return self.__dict__["dispatcher"]


def compiled(function):
    return Loop(function)


def divides_freely(function):
    """`compiled`, but a division by zero gives infinity or NaN as in NumPy: without a test at each
    division the compiler can do several at once."""
    return Loop(function, error_model="numpy")


def adds_freely(function):
    """`divides_freely`, and a sum may be taken in any order: the compiler adds up several parts of
    it at once. Of ``fastmath`` this is the one part that has no opinion on infinity and NaN."""
    return Loop(function, fastmath={"reassoc"}, error_model="numpy")
