"""What a peer says of itself, and what it hands back."""

from __future__ import annotations

import importlib.util
import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache

import numpy as np

from .peer_data import PeerTask

TOLERANCES = tuple(float(tol) for tol in 10.0 ** -np.arange(2, 13))
"""Tried from loose to tight; the loosest that is accurate enough counts."""


@dataclass(frozen=True)
class Answer:
    """A solution: linear, or scores of the test rows where the model is not."""

    coef: np.ndarray | None = None
    intercept: float = 0.0
    intercept_is: str = "none"
    """"none", "free" (not penalised) or "penalised"."""
    test_scores: np.ndarray | None = None
    seconds: tuple[float, float] | None = None
    """Wall and CPU, where the clocks around the call measure something else as well."""
    peak_bytes: int | None = None
    """Where the work is done by another program."""
    bounded_at: np.ndarray | None = None
    """Of a hinge that was rounded: coefficients where a bound is looked for (`objectives`)."""


@dataclass(frozen=True)
class Peer:
    """``fit(task, tolerance)`` solves ``problem``; ``solves`` says it in the peer's own terms."""

    name: str
    needs: str
    """A Python package, or a program on PATH when ``program`` is set."""
    problem: str
    """``pairs <loss>`` or ``points <loss>``: who is judged by what. A third word splits the points'
    problems by their intercept, ``other`` means no objective of ours."""
    solves: str
    fit: Callable[[PeerTask, float], Answer] = field(repr=False)
    tolerances: tuple[float, ...] = TOLERANCES
    program: bool = False
    refuses: Callable[[PeerTask], str | None] = lambda task: None
    """Why it cannot take a task."""

    @property
    def missing(self) -> str | None:
        if self.program:
            return None if shutil.which(self.needs) else f"no program `{self.needs}` on PATH"
        return None if installed(self.needs) else f"the package `{self.needs}` is not installed"


@cache
def installed(package: str) -> bool:
    return importlib.util.find_spec(package) is not None


def linear(model, intercept_is: str) -> Answer:
    """Of a fitted scikit-learn-like model."""
    intercept = 0.0 if intercept_is == "none" else float(np.ravel(model.intercept_)[0])
    return Answer(np.ravel(model.coef_).astype(float), intercept, intercept_is)
