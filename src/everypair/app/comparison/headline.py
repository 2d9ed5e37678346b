"""What a ranking is good for in one sentence: the positives among its highest scores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from everypair.metrics import gain_at_k
from everypair.rows import NoSpread

Array = NDArray[np.float64]
Bool = NDArray[np.bool_]

LEVEL = 0.95
TOP_SHARE = 0.1
FEWEST_ROWS = 20
"""Below it a tenth of the rows is one row."""


@dataclass(frozen=True)
class Headline:
    """The share of all positives among the rows of the highest scores."""

    share: float  # of the rows
    gain: float  # of the positives
    low: float  # 95 % interval (`everypair.metrics.gain_at_k`)
    high: float

    @property
    def lift(self) -> float:
        """How many times the average rate of positives."""
        return self.gain / self.share

    def sentence(self, event: str) -> str:
        """
        >>> Headline(0.1, 0.314, 0.25, 0.381).sentence("churn = yes")
        'The top 10 % contain 31.4 % of all rows with churn = yes (95 % interval 25.0 to 38.1 %), \
3.1 times the average.'
        """
        return "".join(self.pieces(event))

    def pieces(self, event: str) -> tuple[str, str, str]:
        """The sentence before its interval, the interval, and the rest."""
        ends = f"{100 * self.low:.1f} to {100 * self.high:.1f} %"
        return (
            f"The top {100 * self.share:.3g} % contain {100 * self.gain:.1f} % of all rows with "
            f"{event} ",
            f"({100 * LEVEL:.0f} % interval {ends})",
            f", {self.lift:.1f} times the average.",
        )

    def as_json(self) -> dict[str, Any]:
        return {"share": self.share, "gain": self.gain, "low": self.low, "high": self.high,
                "lift": self.lift}  # fmt: skip


def headline_of(
    y: Bool,
    scores: Array,
    weight: Array | None = None,
    groups: NDArray[Any] | None = None,
    share: float = TOP_SHARE,
) -> Headline | None:
    """The headline of scores on rows that the model was not fitted on; None for very few rows."""
    if y.size < FEWEST_ROWS:
        return None
    try:
        found = gain_at_k(
            y, scores, share, level=LEVEL, sample_weight=weight, groups=groups, pos_label=True
        )
    except NoSpread:
        return None
    return Headline(share, found.gain, found.low, found.high)
