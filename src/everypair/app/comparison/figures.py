"""How good scores and probabilities are, as numbers with their intervals."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from everypair.metrics import average_precision, brier_loss, expected_calibration_error
from everypair.rows import NoSpread

Array = NDArray[np.float64]
Bool = NDArray[np.bool_]

LEVEL = 0.95


@dataclass(frozen=True)
class Figure:
    """A value, and where it lies with a confidence of 95 %."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:.3f}, 95% interval {self.low:.3f} - {self.high:.3f}"


@dataclass(frozen=True)
class Figures:
    """Numbers of one model on rows with labels; None where the rows or the model have none."""

    average_precision: Figure | None
    """Mean of the precision over the recalls; chance is the share of positives."""
    brier_score: Figure | None
    """Mean squared error of the probabilities: lower is better."""
    calibration_error: Figure | None
    """Mean distance of the probabilities from the shares of positives: lower is better."""

    @classmethod
    def of(
        cls, y: Bool, scores: Array, probabilities: Array | None, weight: Array | None = None
    ) -> Figures:
        """The intervals take the rows as independent."""
        given: dict[str, Any] = {"level": LEVEL, "sample_weight": weight, "pos_label": True}
        try:
            ranked = _figure(average_precision(y, scores, **given))
        except NoSpread:
            ranked = None
        if probabilities is None:
            return cls(ranked, None, None)
        brier = _figure(brier_loss(y, probabilities, **given))
        return cls(ranked, brier, _figure(expected_calibration_error(y, probabilities, **given)))

    def known(self) -> Iterator[tuple[str, Figure]]:
        """Names in words, and the numbers that are there."""
        for one in fields(self):
            figure = getattr(self, one.name)
            if figure is not None:
                yield one.name.replace("_", " ").replace("brier", "Brier"), figure


def _figure(found: Any) -> Figure:
    return Figure(found.value, found.low, found.high)
