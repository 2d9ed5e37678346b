"""What a comparison found: plain records that the terminal, JSON and the report all read."""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from everypair.app.check.table import Finding
from everypair.app.comparison.headline import Headline
from everypair.app.comparison.typed_measure import TypedMeasure
from everypair.app.explain.curves import Panel
from everypair.app.explain.weights import Line
from everypair.app.explain.worth import Worth


@dataclass(frozen=True)
class ColumnSummary:
    """One column of the table as the user gave it."""

    name: str
    kind: Literal["number", "category", "text", "boolean", "date", "constant"]
    n_missing: int
    n_distinct: int
    example: str


@dataclass(frozen=True)
class PathSummary:
    """The L1 path on the whole table: what enters as the penalty falls."""

    alphas: NDArray[np.float64]  # (k,), falling
    coef: NDArray[np.float64]  # (k, p)
    features: Sequence[str]  # (p,)
    chosen: float | None = None
    rule: str = ""  # how that was chosen, a sentence


@dataclass(frozen=True)
class ModelResult:
    """One model on every fold, and refitted on the whole table."""

    name: str
    kind: Literal["everypair", "baseline"]
    auc: float  # mean over the folds of the AUC within each test fold
    low: float
    high: float
    fold_auc: NDArray[np.float64]  # (repeats * folds,)
    fit_seconds: float  # median over the folds, search for the grid included
    scores: NDArray[np.float64]  # (n,) out-of-fold scores of the first repeat
    threshold: float  # where the model itself cuts those scores
    settings: Mapping[str, object]  # what the grid chose on the whole table
    difference: float | None = None  # judged value minus the best baseline's; None for that one
    difference_low: float | None = None  # 95 % interval of that difference:
    difference_high: float | None = None  # it excludes 0 exactly where p_value < 0.05
    p_value: float | None = None
    n_features: int | None = None  # columns with a weight, when the model has weights
    coefficients: Mapping[str, float] | None = None  # by feature name, when it has weights
    called: NDArray[np.bool_] | None = (
        None  # (n,) by the models of the folds, if not by `threshold`
    )
    failure: str | None = None  # one sentence when the model could not be fitted
    value: float | None = None  # of the measure that models are judged by, if not by AUC
    value_low: float | None = None  # 95 % interval (`by_measure.Judged`)
    value_high: float | None = None
    fold_value: NDArray[np.float64] | None = None  # (repeats * folds,)
    what: str = ""  # what kind of model it is, a sentence
    worth: Sequence[Worth] = ()  # of the columns of the table, most first, on held-out rows
    lines: Mapping[str, Sequence[Line]] | None = None  # weights of the features, by column
    panels: Sequence[Panel] = ()  # the curves of an additive model, by column
    calibrator: Any = None  # from `scores` to probabilities, fitted on all of them
    probabilities: NDArray[np.float64] | None = None  # (n,) calibrated on the other folds

    @property
    def judged(self) -> float:
        """What the models are sorted by: the measure, or the AUC."""
        return self.auc if self.value is None else self.value

    @property
    def judged_low(self) -> float:
        return self.low if self.value_low is None else self.value_low

    @property
    def judged_high(self) -> float:
        return self.high if self.value_high is None else self.value_high

    @property
    def judged_folds(self) -> NDArray[np.float64]:
        return self.fold_auc if self.fold_value is None else self.fold_value


@dataclass(frozen=True)
class Comparison:
    """Everything needed to print the table or to draw the report."""

    source: str  # name of the file, without its folder
    target: str
    positive: str
    y: NDArray[np.bool_]  # (n,) True where the row is positive
    models: Sequence[ModelResult]  # best first
    best_baseline: str
    verdict: str  # one or two plain sentences
    columns: Sequence[ColumnSummary]
    folds: str  # "5 folds x 2 repeats"
    seed: int
    command: str  # what to type to get this again
    versions: Mapping[str, str]
    weights: NDArray[np.float64] | None = None
    path: PathSummary | None = None
    scale: str = ""  # what the scores of the models mean, a sentence
    findings: Sequence[Finding] = ()  # of the data check, most serious first
    notes: Sequence[str] = field(default_factory=tuple)  # what was dropped, imputed, warned of
    recommended: str = ""  # the simplest model within one standard error of the best
    commands: Sequence[str] = ()  # what to type to fit that model, and to score rows with it
    not_run: Sequence[str] = ()  # models for which the budget had no time
    measure: TypedMeasure | None = None  # that models are judged by; None is the AUC
    headline: Headline | None = None  # of the recommended model
    within: NDArray[Any] | None = None  # the group of each row, inside which rows are paired
    evaluated: bool = False  # one model on rows that it was not fitted on: there are no folds


def versions() -> dict[str, str]:
    """The versions of the library, of Python and of what the library needs, by name."""
    import everypair

    found = {"everypair": everypair.__version__, "python": platform.python_version()}
    for name in ("numpy", "scipy", "scikit-learn", "numba", "pyarrow"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found
