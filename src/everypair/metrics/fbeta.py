"""The best F-beta of a ranking over all cuts."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from everypair.metrics._texts import described
from everypair.metrics.curve import Curve, precision_of
from everypair.rows import Rows


@dataclass(frozen=True)
class FBetaMax:
    """The largest F-beta of a ranking and the threshold that reaches it.

    Attributes
    ----------
    value : float
        F-beta.
    threshold : float
        Positive where ``score > threshold``.

    See Also
    --------
    fbeta_max : Returns it.
    """

    value: float
    threshold: float


@described
def fbeta_max(
    y_true: ArrayLike,
    y_score: ArrayLike,
    beta: float = 1.0,
    *,
    sample_weight: ArrayLike | None = None,
    pos_label: Any = None,
) -> FBetaMax:
    """The best F-beta over all cuts, ``max_t (1 + b^2) tp / (b^2 n+ + tp + fp)``.

    Parameters
    ----------
    {scores}
    beta : float, default=1.0
        How much more recall weighs than precision, > 0.
    {sample_weight}
    {pos_label}

    Returns
    -------
    FBetaMax
        ``value`` and ``threshold`` (positive where ``score > threshold``; of equally good cuts
        the highest).

    See Also
    --------
    threshold_for : The cut by a rule; ``"f1"`` is this one at beta = 1.

    Examples
    --------
    >>> from everypair.metrics import fbeta_max
    >>> fbeta_max([0, 0, 1, 0, 1, 1], [1, 2, 3, 4, 5, 6])
    FBetaMax(value=0.8571428571428571, threshold=2.5)
    """
    if not isinstance(beta, Real) or not 0 < float(beta) < np.inf:
        raise ValueError(f"beta={beta!r}: use a positive number.")
    rows = Rows.of(y_true, sample_weight, pos_label)
    curve = Curve.of(rows, rows.scores(y_score))
    square = float(beta) ** 2
    below = square * curve.tp[-1] + curve.tp + curve.skew * curve.fp
    values = (1 + square) * curve.tp / below
    best = int(np.argmax(values))
    return FBetaMax(float(values[best]), curve.cut(best, precision_of(y_score)))
