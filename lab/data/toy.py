"""The toy problem of Weston et al. (2001) as Rakotomamonjy (2004, section 4.1) uses it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

Array = NDArray[np.float64]

MEANS = np.array([[[-0.75, -3.0], [0.75, 3.0]], [[3.0, -3.0], [-3.0, 3.0]]])
"""Means of the two clouds of the negative and of the positive class (Weston et al., section 5)."""


def weston_toy(
    n_rows: int,
    *,
    n_features: int = 10,
    positive_share: float = 0.5,
    random_state: Any = None,
) -> tuple[Array, NDArray[np.int64]]:
    """Four Gaussians in two dimensions, two a class, and features of noise.

    The first two features of a negative row are normal about (-3/4, -3) or (3/4, 3), those of a
    positive row about (3, -3) or (-3, 3), each with probability one half and unit covariance;
    the others are standard normal. No linear rule does well. The paper scales every feature to
    unit variance on the training rows: `sklearn.preprocessing.StandardScaler`.

    Parameters
    ----------
    n_rows : int
        At least 2.
    n_features : int
        At least 2; 10 in the paper.
    positive_share : float in (0, 1)
        Share of the positives, rounded to whole rows and at least one of each class.
    random_state : int, RandomState or None

    Returns
    -------
    X : array of shape (n_rows, n_features)
    y : array of 0 and 1

    Examples
    --------
    >>> from lab.data.simulate import weston_toy
    >>> X, y = weston_toy(200, positive_share=0.25, random_state=0)
    >>> X.shape, int(y.sum())
    ((200, 10), 50)
    """
    if n_rows < 2:
        raise ValueError(f"n_rows={n_rows} leaves no pair: give at least 2.")
    if n_features < 2:
        raise ValueError(f"n_features={n_features} is too few: the clouds lie in 2 dimensions.")
    if not 0 < positive_share < 1:
        raise ValueError(f"positive_share={positive_share} must lie between 0 and 1.")
    rng = check_random_state(random_state)
    n_positive = min(max(round(positive_share * n_rows), 1), n_rows - 1)
    y = rng.permutation(np.arange(n_rows) < n_positive).astype(np.int64)
    X = rng.standard_normal((n_rows, n_features))
    X[:, :2] += MEANS[y, rng.randint(2, size=n_rows)]
    return X, y
