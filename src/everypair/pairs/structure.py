"""Which rows pair with which, and how much each pair weighs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from everypair.cached import cached_property


@dataclass(frozen=True)
class Pairs:
    """Every positive row i paired with every negative row j, weighing ``a_i b_j``.

    ``weight`` holds a_i for positive and b_j for negative rows; each class sums to one, so
    the pairs do too and a sum over them is a mean.
    """

    positive: NDArray[np.bool_]
    weight: NDArray[np.float64]

    @classmethod
    def of(
        cls, positive: NDArray[np.bool_], sample_weight: NDArray[np.float64] | None = None
    ) -> Pairs:
        positive = np.ascontiguousarray(positive, dtype=bool)
        n_positive = np.count_nonzero(positive)
        for count, name in ((n_positive, "positive"), (positive.size - n_positive, "negative")):
            if count == 0:
                raise ValueError(
                    f"There is no {name} row among the {positive.size}: "
                    "pairs need one of each class."
                )
        if sample_weight is None:
            weight = np.where(positive, 1 / n_positive, 1 / (positive.size - n_positive))
            return cls(positive, weight)
        weight = np.array(sample_weight, dtype=np.float64)
        if weight.shape != positive.shape:
            raise ValueError(
                f"sample_weight has shape {weight.shape}, but there are {positive.size} rows: "
                "give one weight a row."
            )
        if not np.all(np.isfinite(weight)):
            raise ValueError("sample_weight has NaN or infinite values: give finite weights.")
        if (least := weight.min()) < 0:
            raise ValueError(
                f"sample_weight has the negative value {least:g}: weights must be >= 0."
            )
        for members, name in ((positive, "positive"), (~positive, "negative")):
            largest = weight[members].max()
            if largest == 0:
                raise ValueError(
                    f"The sample_weight of every {name} row is zero: "
                    "at least one row of each class needs a positive weight."
                )
            # Divided by the largest first: weights near the ends of the range neither
            # overflow in the sum nor lose the others.
            weight[members] /= largest
            weight[members] /= weight[members].sum()
        return cls(positive, weight)

    @property
    def n_rows(self) -> int:
        return self.positive.size

    @property
    def n_pairs(self) -> int:
        return self.positives.size * self.negatives.size

    @cached_property
    def positives(self) -> NDArray[np.intp]:
        """Numbers of the positive rows."""
        return np.flatnonzero(self.positive)

    @cached_property
    def negatives(self) -> NDArray[np.intp]:
        """Numbers of the negative rows."""
        return np.flatnonzero(~self.positive)

    @property
    def classes(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Numbers of the positive rows and of the negative ones."""
        return self.positives, self.negatives

    @cached_property
    def even(self) -> bool:
        """Whether all rows of a class weigh the same."""
        return all(bool(np.all(self.weight[rows] == self.weight[rows[0]])) for rows in self.classes)
