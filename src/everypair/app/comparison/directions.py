"""Columns in which the score may only rise, or only fall."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from everypair.app.comparison.candidate import Candidate


@dataclass(frozen=True)
class Directions:
    """Names of columns of numbers."""

    increasing: Sequence[str] = ()
    decreasing: Sequence[str] = ()

    def __bool__(self) -> bool:
        return bool(self.increasing or self.decreasing)

    @property
    def typed(self) -> list[tuple[str, str]]:
        """Pairs of an option and a column."""
        given = ("increasing", self.increasing), ("decreasing", self.decreasing)
        return [(f"--{option}", name) for option, names in given for name in names]

    def checked(self, table: Any) -> Directions:
        """Itself, unless the table lacks a column or one would go both ways."""
        if not self:
            return self
        names = getattr(table, "column_names", [])
        if not names:
            raise ValueError(f"{self.typed[0][0]} needs a table whose columns have names.")
        for option, name in self.typed:
            if name not in names:
                raise ValueError(
                    f"{option} {name!r} is not a column of the table: its columns are "
                    f"{', '.join(names[:20])}{', ...' if len(names) > 20 else ''}."
                )
        both = set(self.increasing) & set(self.decreasing)
        if both:
            raise ValueError(
                f"column {min(both)!r} has both --increasing and --decreasing: leave one out."
            )
        return self

    def signs(self, encoder: Any) -> NDArray[np.int8]:
        """1 for the features that must raise the score, -1 for those that must lower it.

        A column that the encoder leaves out, such as one of a single value, has no feature.
        """
        kinds = getattr(encoder, "kinds_", {})
        for option, name in self.typed:
            if kinds.get(name, "number") != "number":
                raise ValueError(
                    f"{option} {name!r} is a column of kind {kinds[name]}, which has no order: "
                    "give a column of numbers."
                )
        columns = np.array(encoder.columns_of_features(), dtype=object)
        signs = np.zeros(columns.size, dtype=np.int8)
        numbers = np.arange(columns.size) < getattr(encoder, "numbers_", columns).size
        signs[numbers & np.isin(columns, list(self.increasing))] = 1
        signs[numbers & np.isin(columns, list(self.decreasing))] = -1
        return signs

    def onto(self, candidate: Candidate, encoder: Any) -> Candidate:
        """The candidate held to the directions, where it can be (`Candidate.directed`)."""
        if not self or candidate.directed is None:
            return candidate
        held = candidate.directed(self.signs(encoder))
        own = candidate.own and replace(candidate.own, build=partial(candidate.own.build, **held))
        return replace(candidate, build=partial(candidate.build, **held), own=own)

    def keeping(self, known: Mapping[str, Candidate], encoder: Any) -> dict[str, Candidate]:
        """The candidates that keep them, held to them; all where there are none."""
        if not self:
            return dict(known)
        return {n: self.onto(c, encoder) for n, c in known.items() if c.directed is not None}

    def ignored_by(self, candidate: Candidate) -> list[str]:
        """A remark where the candidate does not keep them."""
        if not self or candidate.directed is not None:
            return []
        return ["does not keep --increasing and --decreasing"]
