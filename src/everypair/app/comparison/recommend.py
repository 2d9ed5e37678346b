"""Which of several models to take: the simplest that ranks as well as the best."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from everypair.app.comparison.candidate import COMPLEXITY
from everypair.app.comparison.models import form_of
from everypair.app.comparison.records import Comparison

Array = NDArray[np.float64]


def recommended(fold_auc: Mapping[str, Array]) -> str:
    """The simplest model whose AUC (or other value) is within one standard error of the best's.

    The standard error is that of the mean difference to the best model over the same folds.
    Models are ordered by the form of their scores (`COMPLEXITY`): few features, linear, additive,
    then kernels and trees. Among equally simple models the one of the highest AUC is taken.

    Parameters
    ----------
    fold_auc : mapping from a model's name to the AUC of each fold, or another value
        The same folds in the same order for all; higher is better.

    Examples
    --------
    >>> import numpy as np
    >>> from everypair.app.comparison.recommend import recommended
    >>> logistic, boosting = np.array([0.80, 0.83, 0.81]), np.array([0.81, 0.82, 0.82])
    >>> recommended({"boosting": boosting, "logistic": logistic})
    'logistic'
    >>> recommended({"boosting": boosting + 0.05, "logistic": logistic})
    'boosting'
    """
    means = {name: float(np.mean(areas)) for name, areas in fold_auc.items()}
    best = max(means, key=means.__getitem__)
    level = [name for name in means if _within_one_error(fold_auc[best] - fold_auc[name])]
    return min(level, key=lambda name: (COMPLEXITY[form_of(name)], -means[name]))


def _within_one_error(behind: Array) -> bool:
    error = behind.std(ddof=1) / np.sqrt(behind.size) if behind.size > 1 else 0.0
    return bool(behind.mean() <= error)


def recommendation(found: Comparison) -> str:
    """Which model to take, and why, in a sentence."""
    sign, what = (
        (1.0, "AUC") if found.measure is None else (found.measure.sign, found.measure.typed)
    )
    means = {
        m.name: sign * float(np.mean(m.judged_folds)) for m in found.models if m.failure is None
    }
    if len(means) == 1:
        return f"Recommended: {found.recommended} (the only model measured)."
    best = max(means, key=means.__getitem__)
    why = (
        f"it has the best mean {what} over the folds, and no simpler model is within one standard "
        "error of it"
        if best == found.recommended
        else f"it is the simplest within one standard error of the best over the folds, {best}"
    )
    return f"Recommended: {found.recommended} ({why})."
