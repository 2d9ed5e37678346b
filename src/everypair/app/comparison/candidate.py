"""A method by name: how it is built, what is searched, and how hard it is to read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

Form = Literal["few features", "linear", "additive", "kernel", "trees"]
COMPLEXITY: dict[Form, int] = {
    "few features": 0, "linear": 1, "additive": 2, "kernel": 3, "trees": 3,
}  # fmt: skip
"""How hard a form of model is to read: a sum of few terms, of all, of steps, or no sum at all."""


@dataclass(frozen=True)
class Candidate:
    """A method by name: how to build it, and the settings to choose from."""

    name: str
    kind: Literal["everypair", "baseline"]
    form: Form
    summary: str
    build: Callable[..., Any]
    grid: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    max_rows: int | None = None
    weights: bool = True  # does `fit` take sample_weight?
    sparse: bool = True
    own: OwnSearch | None = None  # of a model that searches its settings itself
    directed: Callable[[NDArray[np.int8]], dict[str, Any]] | None = None
    """Arguments that hold features to a direction, from a sign of each; None: it cannot."""

    def settings(self) -> Iterator[dict[str, Any]]:
        names = list(self.grid)
        for values in product(*self.grid.values()):
            yield dict(zip(names, values, strict=True))

    def knows(self, settings: Any) -> bool:
        """Are these settings that a comparison may have found?"""
        if self.own is None:
            return settings in list(self.settings())
        return self.own.knows(settings)

    def at(self, settings: Mapping[str, Any], **folds: Any) -> Any:
        """The model with these settings, and ``cv`` where it `takes_folds`."""
        build = self.build if self.own is None else self.own.build
        return build(**settings, **folds)

    @property
    def takes_folds(self) -> bool:
        """Does the model at given settings need folds, for its cut?"""
        return self.own is not None and self.own.takes_folds


@dataclass(frozen=True)
class OwnSearch:
    """How a model that chooses its settings by ``cv`` is read, and built without its search."""

    setting: str  # its attribute with an underscore
    areas: Callable[[Any], tuple[NDArray[Any], NDArray[np.float64]]]
    """From a model fitted with one fold: the values tried, and the AUC of the fold at each."""
    build: Callable[..., Any]
    by_measure: bool = False  # does it choose by the measure that models are judged by?
    one_setting: bool = True
    """Is ``setting`` all that it searches? If not, `areas` do not tell what it is worth."""
    takes_folds: ClassVar[bool] = False  # does `build` need ``cv`` as well?

    def chosen(self, model: Any) -> dict[str, Any]:
        """The settings that a fitted model has chosen."""
        return {self.setting: float(getattr(model, f"{self.setting}_"))}

    def knows(self, settings: Any) -> bool:
        """Are these settings that a search may have found?"""
        return (
            isinstance(settings, dict)
            and list(settings) == [self.setting]
            and type(value := settings[self.setting]) in (int, float)
            and 0 < value < np.inf
        )
