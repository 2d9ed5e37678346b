"""Attributes that are computed at their first use and kept, without a lock."""

from __future__ import annotations

from typing import TYPE_CHECKING

__all__ = ["cached_property"]

if TYPE_CHECKING:  # the same to a reader of types
    from functools import cached_property  # noqa: TID251
else:

    class cached_property:
        """An attribute that its method computes at the first use.

        Before Python 3.12, `functools.cached_property` holds one lock for all objects of a class.
        A process forked while another thread computes the attribute inherits the locked lock and
        waits for it for ever. Here there is no lock: two threads may both compute the attribute,
        and both get the value that was stored first.
        """

        def __init__(self, compute):
            self.compute, self.__doc__ = compute, compute.__doc__

        def __set_name__(self, owner, name):
            self.name = name

        def __get__(self, instance, owner=None):
            if instance is None:
                return self
            # Python finds an entry of this dictionary before it asks `__get__` again, and a frozen
            # dataclass does not guard it. `setdefault` is atomic.
            return instance.__dict__.setdefault(self.name, self.compute(instance))
