"""The L1 path of a table, and where on it cross-validation would stop."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from everypair.app.comparison.records import PathSummary
from everypair.app.comparison.search import TooFewRows, convergence_warnings, inner_splits

Array = NDArray[np.float64]

PATH_STEPS, PATH_FEATURES = 40, 50

PATH_RULE = (
    "It is the largest alpha whose AUC over three folds is within one standard error of the "
    "best. auc-l1 in the table takes the best alpha of a longer path, so it may keep more "
    "features."
)


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


def path_summary(
    X: Any,
    y: NDArray[np.bool_],
    weight: Array | None,
    group: NDArray[Any] | None,
    seed: int,
    names: Sequence[str],
    remarks: list[str],
) -> PathSummary | None:
    """Where each feature enters as the penalty falls; the first ones of a wide table."""
    try:
        found = l1_path(X, y, weight, group, seed, PATH_STEPS)
    except TooFewRows as trouble:
        remarks.append(f"the L1 path is left out: {trouble}")
        return None
    entered = np.where(found.coefs.any(axis=1), (found.coefs != 0).argmax(axis=1), PATH_STEPS)
    first = np.sort(np.argsort(entered, kind="stable")[:PATH_FEATURES])
    chosen = float(found.alphas[found.chosen])
    features = [names[k] for k in first]
    return PathSummary(found.alphas, found.coefs[first].T, features, chosen, PATH_RULE)
