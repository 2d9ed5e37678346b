"""Data drawn from the papers' models.

`simulate`: the sparse Gaussian models M1 to M4 of Kim & Shin (2024), section 4.1. `weston_toy`:
the toy problem of Weston et al. (2001).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from lab.data.toy import weston_toy

__all__ = ["covariance", "simulate", "weston_toy"]

Array = NDArray[np.float64]

MEANS = {
    "M1": (0.8, -0.8, 0.8),
    "M2": (0.8, -0.8, 0.8),
    "M3": (1.0, -0.8, 0.6, -0.4, 0.2),
    "M4": (1.0, -0.8, 0.6, -0.4, 0.2),
}
"""The means of the informative features, which come first."""

CORRELATED = {"M2", "M4"}
VARIANCE = 2.0
COVARIANCE_BASE = 0.3
MOST_DRAWS = 1000


def simulate(
    model: str,
    n_rows: int,
    n_features: int,
    *,
    positive_share: float = 0.9,
    random_state: Any = None,
) -> tuple[Array, NDArray[np.int64]]:
    """``x | y ~ N(y mu, Sigma)``, y = +1 with probability ``positive_share``, else -1.

    mu is ``(0.8, -0.8, 0.8, 0, ...)`` in M1 and M2 and ``(1, -0.8, 0.6, -0.4, 0.2, 0, ...)`` in
    M3 and M4. Sigma is ``2 I`` in M1 and M3; in M2 and M4 the informative features i and j
    have the covariance ``0.3^|i - j|``.

    Parameters
    ----------
    model : {"M1", "M2", "M3", "M4"}
    n_rows : int
        At least 2.
    n_features : int
        At least the number of informative features: 3 in M1 and M2, 5 in M3 and M4.
    positive_share : float in (0, 1)
        0.9 in the paper.
    random_state : int, RandomState or None

    Returns
    -------
    X : array of shape (n_rows, n_features)
    y : array of -1 and +1
        Both occur: labels of one class only, which leave no pair, are drawn again.

    Examples
    --------
    >>> from lab.data.simulate import simulate
    >>> X, y = simulate("M4", n_rows=200, n_features=40, random_state=0)
    >>> X.shape, sorted(set(y.tolist()))
    ((200, 40), [-1, 1])
    """
    if model not in MEANS:
        raise ValueError(f"model={model!r} is not known: use one of {', '.join(MEANS)}.")
    informative = len(MEANS[model])
    if n_features < informative:
        raise ValueError(
            f"n_features={n_features} is too few for {model}: it has {informative} "
            "informative features."
        )
    if n_rows < 2:
        raise ValueError(f"n_rows={n_rows} is too few: a pair needs 2 rows.")
    if not 0 < positive_share < 1:
        raise ValueError(
            f"positive_share={positive_share!r} leaves one class empty: give a share in (0, 1)."
        )
    rng = check_random_state(random_state)
    y = _labels(rng, n_rows, positive_share)
    X = rng.standard_normal((n_rows, n_features))
    head = X[:, :informative] @ np.linalg.cholesky(covariance(model)).T
    X *= np.sqrt(VARIANCE)
    X[:, :informative] = head + np.outer(y, MEANS[model])
    return X, y


def covariance(model: str) -> Array:
    """Of the informative features; the others are independent with variance 2."""
    k = np.arange(len(MEANS[model]))
    if model not in CORRELATED:
        return VARIANCE * np.eye(k.size)
    matrix = COVARIANCE_BASE ** np.abs(k[:, None] - k)
    np.fill_diagonal(matrix, VARIANCE)
    return matrix


def _labels(rng: np.random.RandomState, n_rows: int, positive_share: float) -> NDArray[np.int64]:
    for _ in range(MOST_DRAWS):
        y = np.where(rng.uniform(size=n_rows) < positive_share, 1, -1)
        if abs(int(y.sum())) < n_rows:
            return y
    raise ValueError(
        f"{MOST_DRAWS} draws of {n_rows} labels with positive_share={positive_share!r} had one "
        "class only: give more rows or a share nearer to 1/2."
    )
