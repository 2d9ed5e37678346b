"""`cached_property`: computed at the first use, kept, and the same for every thread."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from threading import Barrier

from everypair.cached import cached_property


def test_an_attribute_is_computed_once_per_object_even_of_a_frozen_dataclass():
    calls = []

    @dataclass(frozen=True)
    class Number:
        value: int

        @cached_property
        def square(self):
            """Its square."""
            calls.append(self.value)
            return self.value**2

    three, four = Number(3), Number(4)
    assert (three.square, four.square, three.square, four.square) == (9, 16, 9, 16)
    assert calls == [3, 4]
    assert three == Number(3)
    assert Number.square.__doc__ == "Its square."


def test_threads_that_compute_at_once_get_one_object():
    class Slow:
        together = Barrier(2)

        @cached_property
        def token(self):
            self.together.wait(timeout=30)  # both threads are inside: there is no lock
            return object()

    slow = Slow()
    with ThreadPoolExecutor(2) as pool:
        first, second = pool.map(lambda _: slow.token, range(2))
    assert first is second is slow.token
