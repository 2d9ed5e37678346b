"""The metrics as scikit-learn scorers, for `GridSearchCV` and `cross_val_score`."""

from __future__ import annotations

from collections.abc import Callable
from inspect import signature
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from everypair.metrics import rates
from everypair.metrics.at_k import prbep, precision_at_k, recall_at_k
from everypair.metrics.fbeta import fbeta_max
from everypair.metrics.roc import auc_score, gini, swapped_pairs
from everypair.rows import Rows


def fbeta_max_value(y_true: ArrayLike, y_score: ArrayLike, **options: Any) -> float:
    return fbeta_max(y_true, y_score, **options).value


def rates_score(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    measure: str,
    sample_weight: ArrayLike | None = None,
    pos_label: Any = None,
) -> float:
    """A measure of rates and skew (`rates`) of predicted labels."""
    rows = Rows.of(y_true, sample_weight, pos_label)
    called = np.asarray(y_pred).reshape(-1) == rows.labels[1]
    called = called if rows.kept is None else called[rows.kept]
    weight = np.ones(called.size) if rows.weight is None else rows.weight
    mass = [float(weight[m].sum()) for m in (rows.positive, ~rows.positive)]
    hits = [float(weight[m & called].sum()) for m in (rows.positive, ~rows.positive)]
    skew = rows.skew * mass[1] / mass[0]
    return float(_OF_RATES[measure](hits[0] / mass[0], hits[1] / mass[1], skew))


_OF_SCORES: dict[str, tuple[Callable[..., float], bool]] = {
    # name: (function of labels and scores, whether more is better)
    "auc": (auc_score, True),
    "gini": (gini, True),
    "swapped_pairs": (swapped_pairs, False),
    "precision_at_k": (precision_at_k, True),
    "recall_at_k": (recall_at_k, True),
    "prbep": (prbep, True),
    "fbeta_max": (fbeta_max_value, True),
}
_OF_RATES: dict[str, Callable[..., Any]] = {
    "accuracy": rates.accuracy_from_rates,
    "precision": rates.precision_from_rates,
    "f": rates.f_from_rates,
    "wracc": rates.wracc_from_rates,
}


def scorer_names() -> list[str]:
    """Names that `get_scorer` knows.

    Returns
    -------
    list of str
        Sorted.

    See Also
    --------
    get_scorer : The scorer of a name.

    Examples
    --------
    >>> from everypair.metrics import scorer_names
    >>> scorer_names()[:3]
    ['accuracy', 'auc', 'f']
    """
    return sorted([*_OF_SCORES, *_OF_RATES])


def get_scorer(name: str, **options: Any) -> Any:
    """A scikit-learn scorer ``scorer(estimator, X, y)``: higher is better.

    Parameters
    ----------
    name : str
        One of `scorer_names`.
        ``auc``, ``gini``, ``swapped_pairs`` (negated), ``precision_at_k``, ``recall_at_k``,
        ``prbep`` and ``fbeta_max`` judge `decision_function` (or `predict_proba`);
        ``accuracy``, ``precision``, ``f`` and ``wracc`` (Rakotomamonjy 2004, Table 1) judge
        `predict`. The measures at k and ``prbep`` count rows and take no ``sample_weight``.
    **options
        Arguments of the metric: ``max_fpr=0.1`` for the AUC, ``k="2p"`` for recall at k,
        ``beta=2`` for F-beta, ``pos_label`` for any.

    Returns
    -------
    callable
        The scorer.

    See Also
    --------
    scorer_names : All names.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.model_selection import cross_val_score
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from everypair.metrics import get_scorer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> partial = cross_val_score(GaussianNB(), X, y, scoring=get_scorer("auc", max_fpr=0.1))
    >>> print(partial.round(3))
    [0.934 0.935 0.984 0.956 0.977]
    """
    from sklearn.metrics import make_scorer

    if name in _OF_RATES:
        allowed = {"sample_weight", "pos_label"}
        if not options.keys() <= allowed:
            raise ValueError(f"The scorer {name!r} takes pos_label only, not {sorted(options)}.")
        return make_scorer(rates_score, response_method="predict", measure=name, **options)
    if name not in _OF_SCORES:
        raise ValueError(f"There is no scorer {name!r}: use one of {', '.join(scorer_names())}.")
    function, greater_is_better = _OF_SCORES[name]
    try:
        signature(fbeta_max if name == "fbeta_max" else function).bind([], [], **options)
    except TypeError as error:
        raise ValueError(f"The scorer {name!r} does not fit these options: {error}.") from error
    return make_scorer(
        function,
        response_method=("decision_function", "predict_proba"),
        greater_is_better=greater_is_better,
        **options,
    )
