"""The columns and pairs of an additive model with the bins of all rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from everypair.estimators._interactions import PairShape
from everypair.estimators._shapes import Shape

if TYPE_CHECKING:
    from everypair.linalg.binned import BinnedMatrix
    from everypair.penalties import ConePart

Array = NDArray[np.float64]


class Design(NamedTuple):
    """The columns and pairs of a model with the bins of all rows."""

    shapes: list[Shape]
    pairs: list[PairShape]
    codes: NDArray[Any]
    wants: dict[int, tuple[str, ...]]
    """Of the constrained columns: increasing, decreasing, convex, concave."""
    strengths: Array
    """What multiplies alpha in each column, then in each pair."""

    @property
    def parts(self) -> list[Any]:
        """Columns, then pairs."""
        return [*self.shapes, *self.pairs]

    @property
    def most_pairs(self) -> int:
        """Of columns that are not constrained."""
        free = len(self.shapes) - len(self.wants)
        return free * (free - 1) // 2

    def tables(self) -> list[Array]:
        """The basis of each part, such that |w|^2 is its roughness times its strength."""
        return [
            part.table() / np.sqrt(strength)
            for part, strength in zip(self.parts, self.strengths, strict=True)
        ]

    def matrix(self) -> BinnedMatrix:
        from everypair.linalg.binned import BinnedMatrix, BinnedRows

        return BinnedMatrix(BinnedRows(self.codes, self.tables()))

    def cone(self, matrix: BinnedMatrix) -> list[ConePart]:
        """The constraints in the coefficients of the matrix."""
        from everypair.penalties import ConePart

        places = matrix.starts
        return [ConePart(int(places[j]), self.shapes[j].cone(w)) for j, w in self.wants.items()]

    def with_pairs(self, pairs: list[PairShape], strength: float) -> Design:
        """The same columns and these pairs."""
        own = len(self.shapes)
        codes = np.vstack([self.codes[:own], *(pair.codes(self.codes) for pair in pairs)])
        strengths = np.append(self.strengths[:own], np.full(len(pairs), strength))
        return Design(self.shapes, pairs, narrow(codes), self.wants, strengths)

    def with_strengths(self, strengths: Array) -> Design:
        """The same with other strengths of the columns."""
        return self._replace(strengths=strengths)


def narrow(codes: NDArray[Any]) -> NDArray[Any]:
    """One or two bytes per cell."""
    return codes.astype(np.uint8 if codes.max(initial=0) < 256 else np.uint16)
