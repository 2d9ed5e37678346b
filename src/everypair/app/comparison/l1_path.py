"""The L1 path of a table, and where on it cross-validation would stop."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from everypair.app.comparison.search import convergence_warnings, inner_splits

Array = NDArray[np.float64]


@dataclass(frozen=True)
class L1Path:
    """Features that enter as the penalty falls."""

    alphas: Array  # (k,), falling
    coefs: Array  # (p, k)
    areas: Array  # (k,), mean AUC of held-out rows
    chosen: int  # the fewest features within one standard error of the best
    converged: bool

    @property
    def n_nonzero(self) -> NDArray[np.intp]:
        return np.count_nonzero(self.coefs, axis=0)


def l1_path(
    X: Any,
    y: NDArray[np.bool_],
    weight: Array | None,
    groups: NDArray[Any] | None,
    seed: int,
    n_alphas: int,
) -> L1Path:
    """The path of `AUCClassifierCV` on all rows, and the AUC of three folds at each alpha."""
    from everypair import AUCClassifierCV

    search = AUCClassifierCV(
        penalty="l1",
        n_alphas=n_alphas,
        eps=1e-2,
        cv=inner_splits(y, groups, seed),
        tol=1e-4,
        selection="one_standard_error",
    )
    with convergence_warnings() as troubles:
        search.fit(X, y, sample_weight=weight)
    converged = not troubles and bool(search.dual_gaps_.max() <= search.tol)
    alphas = search.alphas_
    chosen = int(np.argmin(np.abs(alphas - search.alpha_)))
    return L1Path(alphas, search.coefs_.toarray(), search.cv_scores_, chosen, converged)
