"""Where to cut a ranking: the threshold that a rule asks for, on given scores."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from everypair.metrics.curve import Curve, precision_of
from everypair.rows import Array, Rows

RULES: dict[str, Callable[[Curve], Array]] = {
    # What a cut is worth, in whole numbers as far as it goes: equal cuts must come out equal.
    "accuracy": lambda at: at.tp - at.skew * at.fp,
    "balanced": lambda at: at.tp * at.fp[-1] - at.fp * at.tp[-1],
    "f1": lambda at: 2 * at.tp / (at.tp[-1] + at.tp + at.skew * at.fp),
}

MIDPOINT = "midpoint"
"""The one rule that looks at the scores' means, not at the cuts between them."""

SLACK = 1e-12
"""A share such as 0.05 of 20 rows is met by one row whatever its last bit is."""


def threshold_for(
    y_true: ArrayLike,
    y_score: ArrayLike,
    rule: str | None = None,
    *,
    fpr: float | None = None,
    tpr: float | None = None,
    cost: tuple[float, float] | None = None,
    sample_weight: ArrayLike | None = None,
    pos_label: Any = None,
) -> float:
    """The threshold t for predicting positive where ``score > t``.

    Give exactly one of ``rule``, ``fpr``, ``tpr`` and ``cost``.

    Parameters
    ----------
    y_true : array of shape (n_rows,)
        Two distinct labels; the second of the sorted ones is positive unless ``pos_label`` says
        otherwise.
    y_score : array of shape (n_rows,)
        Scores, finite: the higher, the more likely positive.
    rule : {"accuracy", "balanced", "f1", "midpoint"}, default=None
        Be right most often, maximise true less false positive rate (Youden's index), maximise
        F1, or cut halfway between the mean scores of the two classes.
    fpr : float, default=None
        The lowest cut with a false positive rate of at most this.
    tpr : float, default=None
        The highest cut with a true positive rate of at least this.
    cost : tuple (c_fp, c_fn), default=None
        Minimise ``c_fp FP + c_fn FN``.
    sample_weight : array of shape (n_rows,), default=None
        Weights >= 0; None means 1 for every row.
    pos_label : label, default=None
        The positive label; None means the second of the sorted ones.

    Returns
    -------
    float
        The threshold.

    See Also
    --------
    fbeta_max : The best F-beta over all cuts, with its threshold.
    everypair.AUCClassifier : Has the same rules as its parameter ``threshold``.

    Notes
    -----
    Cuts lie halfway between neighbouring scores, except for ``midpoint``. Of those that a rule or
    cost finds equally good the highest is taken.

    Examples
    --------
    >>> from everypair.metrics import threshold_for
    >>> y_true, y_score = [0, 0, 1, 0, 1, 1], [1, 2, 3, 4, 5, 6]
    >>> threshold_for(y_true, y_score, "accuracy"), threshold_for(y_true, y_score, tpr=1.0)
    (4.5, 2.5)
    >>> threshold_for(y_true, y_score, cost=(1, 10))
    2.5
    """
    given: dict[str, Any] = {"fpr": fpr, "tpr": tpr, "cost": cost}
    asked: list[Any] = [{name: value} for name, value in given.items() if value is not None]
    if rule is not None:
        asked.insert(0, rule)
    if len(asked) != 1 or isinstance(rule, Mapping) or not _is_rule(asked[0]):
        raise ValueError(
            f"threshold_for got {', '.join(map(_spelled, asked)) or 'no rule'}: give exactly one "
            "of a rule ('accuracy', 'balanced' (Youden's index), 'f1', 'midpoint'), fpr= or tpr= "
            "between 0 and 1, and cost=(c_fp, c_fn) with costs >= 0."
        )
    rows = Rows.of(y_true, sample_weight, pos_label)
    return cut_by(asked[0], rows, rows.scores(y_score), precision_of(y_score))


def cut_by(
    rule: str | float | Mapping[str, Any], rows: Rows, scores: Array, dtype: Any = np.float64
) -> float:
    """`threshold_for` as one value, the ``threshold`` of the estimators.

    A rule's name, ``{"fpr": x}``, ``{"tpr": x}``, ``{"cost": (c_fp, c_fn)}`` or the number itself.
    """
    check_rule(rule)
    if isinstance(rule, Real):
        return float(rule)
    if rule == MIDPOINT:
        of_class = [float(rows.share[m] @ scores[m]) for m in (rows.positive, ~rows.positive)]
        return of_class[1] + (of_class[0] - of_class[1]) / 2
    curve = Curve.of(rows, scores)
    if isinstance(rule, str):
        chosen = np.argmax(RULES[rule](curve))
    else:
        ((name, wanted),) = rule.items()  # type: ignore[union-attr]
        if name == "fpr":
            chosen = np.flatnonzero(curve.fpr <= wanted + SLACK)[-1]
        elif name == "tpr":
            chosen = np.flatnonzero(curve.tpr >= wanted - SLACK)[0]
        else:
            chosen = np.argmax(wanted[1] * curve.tp - wanted[0] * curve.skew * curve.fp)
    return curve.cut(int(chosen), dtype)


def check_rule(rule: Any) -> None:
    """Refuse what `cut_by` cannot cut by, before any work is done."""
    if isinstance(rule, Real) and not isinstance(rule, bool):
        if not np.isfinite(float(rule)):
            raise ValueError(f"threshold={rule!r} is not finite: give a finite number.")
    elif not _is_rule(rule):
        raise ValueError(
            f"threshold={rule!r} is not a rule: use 'accuracy', 'balanced' (Youden's index), "
            "'f1', 'midpoint', {'fpr': x} or {'tpr': x} with 0 <= x <= 1, {'cost': (c_fp, c_fn)} "
            "with costs >= 0, or a number."
        )


def _is_rule(rule: Any) -> bool:
    if isinstance(rule, Mapping) and len(rule) == 1:
        ((name, wanted),) = rule.items()
        return (
            _are_costs(wanted) if name == "cost" else name in ("fpr", "tpr") and _is_share(wanted)
        )
    return isinstance(rule, str) and (rule in RULES or rule == MIDPOINT)


def _spelled(rule: Any) -> str:
    """As the caller wrote it."""
    if not isinstance(rule, Mapping):
        return repr(rule)
    return ", ".join(f"{name}={value!r}" for name, value in rule.items())


def _is_share(value: Any) -> bool:
    return isinstance(value, Real) and 0 <= float(value) <= 1


def _are_costs(value: Any) -> bool:
    value = value.tolist() if isinstance(value, np.ndarray) else value
    if not isinstance(value, (tuple, list)) or len(value) != 2:
        return False
    costs = [float(c) if isinstance(c, Real) else np.nan for c in value]
    return all(np.isfinite(c) and c >= 0 for c in costs) and max(costs) > 0


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
    y_true : array of shape (n_rows,)
        Two distinct labels; the second of the sorted ones is positive unless ``pos_label`` says
        otherwise.
    y_score : array of shape (n_rows,)
        Scores, finite: the higher, the more likely positive.
    beta : float, default=1.0
        How much more recall weighs than precision, > 0.
    sample_weight : array of shape (n_rows,), default=None
        Weights >= 0; None means 1 for every row.
    pos_label : label, default=None
        The positive label; None means the second of the sorted ones.

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
