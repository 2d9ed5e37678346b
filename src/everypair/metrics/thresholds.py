"""Where to cut a ranking: the threshold that a rule asks for, on given scores."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

RULES: dict[str, Callable[[Array, Array], Array]] = {
    # tp and fp are weights of the rows above the cut; both classes are shares of the whole.
    "accuracy": lambda tp, fp: tp - fp,
    "balanced": lambda tp, fp: tp / tp[-1] - fp / fp[-1],
    "f1": lambda tp, fp: 2 * tp / (tp[-1] + tp + fp),
}


def threshold_for(
    positive: NDArray[np.bool_],
    scores: Array,
    rule: str | float | Mapping[str, float],
    sample_weight: Array | None = None,
) -> float:
    """The threshold t for predicting positive where ``score > t``.

    Parameters
    ----------
    positive : bool array
        Which rows are positive; both classes must have weight.
    scores : array of the same length
    rule : {"accuracy", "balanced", "f1"}, {"fpr": x}, {"tpr": x} or a number
        What the cut shall do on these rows: be right most often (`accuracy`), maximise
        true less false positive rate (`balanced`) or F1; have a false positive rate of at
        most x; have a true positive rate of at least x. A number is the threshold itself.
    sample_weight : array, optional

    Cuts lie halfway between neighbouring scores. Among equally good ones the highest is taken.
    """
    if isinstance(rule, Real) and not isinstance(rule, bool):
        number = float(rule)
        if not np.isfinite(number):
            raise ValueError(f"threshold={rule!r} is not finite: give a finite number.")
        return number
    cuts, tp, fp = _cuts(positive, scores, sample_weight)
    if isinstance(rule, str) and rule in RULES:
        return float(cuts[np.argmax(RULES[rule](tp, fp))])
    if isinstance(rule, Mapping) and len(rule) == 1:
        ((name, share),) = rule.items()
        if name in ("fpr", "tpr") and isinstance(share, Real) and 0 <= share <= 1:
            # A share such as 0.05 of 20 rows is met by one row whatever its last bit is.
            slack = 1e-12
            if name == "fpr":
                return float(cuts[np.flatnonzero(fp / fp[-1] <= share + slack)[-1]])
            return float(cuts[np.flatnonzero(tp / tp[-1] >= share - slack)[0]])
    raise ValueError(
        f"threshold={rule!r} is not a rule: use 'accuracy', 'balanced', 'f1', "
        "{'fpr': x} or {'tpr': x} with 0 <= x <= 1, or a number."
    )


def _cuts(
    positive: NDArray[Any], scores: Array, sample_weight: Array | None
) -> tuple[Array, Array, Array]:
    """Every distinct cut, descending, with the weight of both classes above it."""
    weight = np.ones(scores.size) if sample_weight is None else np.asarray(sample_weight, float)
    kept = weight > 0
    if not kept.all():
        positive, scores, weight = positive[kept], scores[kept], weight[kept]
    order = np.argsort(scores)[::-1]
    ranked, weight = scores[order], weight[order] / weight.sum()
    ends = np.flatnonzero(np.append(ranked[1:] != ranked[:-1], True))
    levels = ranked[ends]
    of_positives = np.where(positive[order], weight, 0.0)
    tp = np.concatenate([[0.0], np.cumsum(of_positives)[ends]])
    fp = np.concatenate([[0.0], np.cumsum(weight - of_positives)[ends]])
    between = levels[1:] / 2 + levels[:-1] / 2
    # Halfway may round up to the higher score, which would then fall below the cut.
    between = np.where(between < levels[:-1], between, levels[1:])
    lowest = np.nextafter(levels[-1], -np.inf)
    return np.concatenate([[levels[0]], between, [lowest]]), tp, fp
