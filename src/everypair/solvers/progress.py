"""How far a solver has come: the judgement of a point, and the steps that led to it."""

from __future__ import annotations

from dataclasses import dataclass, field
from time import perf_counter
from typing import NamedTuple, Protocol

from everypair.solvers.rounding import NEGLIGIBLE_SHARE


class Judgement(NamedTuple):
    objective: float
    distance: float
    """Relative duality gap; for a non-convex loss the relative gradient norm."""
    rounding: float = 0.0
    """The part of the distance that no step can take off: the bound on rounding."""

    def done(self, tol: float, share: float = 1.0) -> bool:
        """Within ``tol``; or rounding alone is above it, and little is left beside rounding.

        A ``share`` below one asks for as much less of what steps can take off.
        """
        if self.rounding > tol:
            return self.distance - self.rounding <= share * max(
                tol, NEGLIGIBLE_SHARE * self.rounding
            )
        return self.distance <= share * tol + (1 - share) * self.rounding


class JudgedPoint(Protocol):
    """A point of any solver."""

    @property
    def judged(self) -> Judgement: ...


@dataclass
class Progress:
    """Steps taken and what they reached; one row a step: (seconds, objective, distance)."""

    max_iter: int
    verbose: int = 0
    distance: str = "relative gap"
    """What the distance from the minimum is measured by."""
    n_iter: int = 0
    history: list[tuple[float, float, float]] = field(default_factory=list)
    _began: float = field(default_factory=perf_counter)

    @property
    def exhausted(self) -> bool:
        return self.n_iter >= self.max_iter

    def step(self, now: JudgedPoint) -> None:
        self.record(*now.judged[:2])

    def record(self, objective: float, distance: float, note: str = "") -> None:
        """A step that ended here."""
        self.n_iter += 1
        self.history.append((perf_counter() - self._began, objective, distance))
        if self.verbose:
            print(
                f"[everypair] step {self.n_iter}: objective {objective:.9g}, "
                f"{self.distance} {distance:.1e}{note}"
            )
