"""Where to cut a ranking: the threshold that a rule or a requirement asks for, on given scores."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from everypair.metrics._texts import described
from everypair.metrics.asked import SHARE_ROUNDING, Asked
from everypair.metrics.curve import Curve, precision_of
from everypair.metrics.guaranteed import guaranteed
from everypair.rows import Array, Bool, Index, Rows


@dataclass(frozen=True)
class Cut:
    """A threshold with what it does on the rows it was chosen on.

    Attributes
    ----------
    threshold : float
        Positive where ``score > threshold``.
    recall : float
        Share of the positives above it.
    fpr : float
        Share of the negatives above it, the false positive rate.
    precision : float
        Share of positives among the rows above it; 0 where there are none.
    npv : float
        Share of negatives among the rows below it, the negative predictive value; 0 where there
        are none.
    share : float
        Share of all rows above it.
    requirement : str or None
        ``"fpr"``, ``"recall"``, ``"precision"``, ``"npv"`` or ``"top"``, if one was asked for.
    bound : float or None
        With a guarantee: what the requirement's value is at least (at most, for ``"fpr"`` and
        ``"top"``) on new rows, with confidence ``guarantee``.
    guarantee : float or None
        This confidence.

    See Also
    --------
    cut_for : Returns it.
    """

    threshold: float
    recall: float
    fpr: float
    precision: float
    npv: float
    share: float
    requirement: str | None = None
    bound: float | None = None
    guarantee: float | None = None

    def __str__(self) -> str:
        text = (
            f"threshold {self.threshold:.4g}: recall {self.recall:.3f}, "
            f"false positive rate {self.fpr:.3f}, precision {self.precision:.3f}, "
            f"{self.share:.1%} of the rows"
        )
        if self.bound is None:
            return text
        which = {"fpr": "false positive rate", "top": "share of rows"}
        side = "at most" if self.requirement in which else "at least"
        name = which.get(str(self.requirement), self.requirement)
        sure = f"{100 * float(self.guarantee or 0):g} % confidence"
        return f"{text}; {name} {side} {self.bound:.3f} on new rows, with {sure}"


@described
def threshold_for(
    y_true: ArrayLike,
    y_score: ArrayLike,
    rule: str | None = None,
    *,
    cost: tuple[float, float] | None = None,
    fpr: float | None = None,
    recall: float | None = None,
    precision: float | None = None,
    npv: float | None = None,
    top: int | float | None = None,
    guarantee: float | None = None,
    sample_weight: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    pos_label: Any = None,
) -> float:
    """The threshold t for predicting positive where ``score > t``.

    Give what to maximise (``rule`` or ``cost``), or one requirement (``fpr``, ``recall``,
    ``precision``, ``npv`` or ``top``), or both: the best of the cuts that meet the requirement.

    Parameters
    ----------
    {scores}
    rule : {"accuracy", "balanced", "f1", "midpoint"}, default=None
        Maximise accuracy, recall less false positive rate (Youden's index) or F1, or cut halfway
        between the mean scores of the two classes. With a requirement also ``"precision"``,
        ``"recall"`` or ``"specificity"``, but not ``"midpoint"``.
    cost : tuple (c_fp, c_fn), default=None
        Minimise ``c_fp FP + c_fn FN``.
    fpr : float, default=None
        A false positive rate of at most this. Without a rule: the lowest such cut.
    recall : float, default=None
        A recall (true positive rate) of at least this. Without a rule: the highest precision.
    precision : float, default=None
        A precision of at least this. Without a rule: the highest recall.
    npv : float, default=None
        A negative predictive value (share of negatives below the cut) of at least this. Without a
        rule: the highest specificity.
    top : int or float, default=None
        At most this many rows above the cut: a count, or a share ``0 < top <= 1`` as a float.
        Without a rule: the lowest such cut.
    guarantee : float, default=None
        The requirement holds on new rows with at least this confidence, such as 0.95, and not only
        on these rows.
    sample_weight : array of shape (n_rows,), default=None
        Weights >= 0; None means 1 for every row. With a guarantee all rows of a class must weigh
        the same.
    groups : array of shape (n_rows,), default=None
        With a guarantee: rows of one group depend on each other (several of a patient), and the
        groups are independent. The requirement is then about the mean over groups of the rate
        inside a group.
    {pos_label}

    Returns
    -------
    float
        The threshold.

    See Also
    --------
    cut_for : The same threshold with its rates and the bound that is guaranteed.
    fbeta_max : The best F-beta over all cuts, with its threshold.
    everypair.AUCClassifier : Has the same rules as its parameter ``threshold``.

    Notes
    -----
    Cuts lie halfway between neighbouring scores, except for ``midpoint``. Of those that are equally
    good the highest is taken. Where no cut meets the requirement a ValueError says what the best
    one reaches.

    A guarantee holds for new rows from the same population that are scored in the same way. The
    rows, or their groups, must be independent, and must not have trained the model. Rates are
    guaranteed by order statistics (Tong, Feng & Li 2018), exactly. Precision and npv are guaranteed
    by a fixed sequence of binomial tests (Angelopoulos et al. 2021), exactly where the share of
    positives rises with the score. See `everypair.metrics.guarantees`. With ``groups`` both come
    from bets on whole groups (Waudby-Smith & Ramdas 2024): see
    `everypair.metrics.group_guarantees`.

    Examples
    --------
    >>> from everypair.metrics import threshold_for
    >>> y_true, y_score = [0, 0, 1, 0, 1, 1], [1, 2, 3, 4, 5, 6]
    >>> threshold_for(y_true, y_score, "accuracy"), threshold_for(y_true, y_score, recall=1.0)
    (4.5, 2.5)
    >>> threshold_for(y_true, y_score, cost=(1, 10)), threshold_for(y_true, y_score, top=0.5)
    (2.5, 3.5)
    >>> threshold_for(y_true * 20, y_score * 20, precision=0.5, guarantee=0.9)
    2.5
    """
    return cut_for(
        y_true, y_score, rule, cost=cost, fpr=fpr, recall=recall, precision=precision, npv=npv,
        top=top, guarantee=guarantee, sample_weight=sample_weight, groups=groups,
        pos_label=pos_label,
    ).threshold  # fmt: skip


@described
def cut_for(
    y_true: ArrayLike,
    y_score: ArrayLike,
    rule: str | None = None,
    *,
    cost: tuple[float, float] | None = None,
    fpr: float | None = None,
    recall: float | None = None,
    precision: float | None = None,
    npv: float | None = None,
    top: int | float | None = None,
    guarantee: float | None = None,
    sample_weight: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    pos_label: Any = None,
) -> Cut:
    """`threshold_for` with the rates of the cut and the bound that is guaranteed.

    Parameters
    ----------
    y_true : array of shape (n_rows,)
        As in `threshold_for`, like all others.
    y_score : array of shape (n_rows,)
        Scores, finite: the higher, the more likely positive.
    rule : str, default=None
        What to maximise.
    cost : tuple (c_fp, c_fn), default=None
        What to minimise.
    fpr : float, default=None
        A false positive rate of at most this.
    recall : float, default=None
        A recall of at least this.
    precision : float, default=None
        A precision of at least this.
    npv : float, default=None
        A negative predictive value of at least this.
    top : int or float, default=None
        At most this many rows, or this share of them.
    guarantee : float, default=None
        The confidence with which the requirement holds on new rows.
    {sample_weight}
    groups : array of shape (n_rows,), default=None
        Rows of one group depend on each other; with a guarantee.
    {pos_label}

    Returns
    -------
    Cut
        ``threshold``; ``recall``, ``fpr``, ``precision``, ``npv`` and ``share`` on these rows;
        ``bound`` and ``guarantee``.

    See Also
    --------
    threshold_for : The threshold alone.

    Examples
    --------
    >>> import numpy as np
    >>> from everypair.metrics import cut_for
    >>> rng = np.random.default_rng(0)
    >>> y_true = rng.random(1000) < 0.3
    >>> cut = cut_for(y_true, rng.normal(size=1000) + 2 * y_true, fpr=0.05, guarantee=0.95)
    >>> print(f"{cut.fpr:.3f} here, at most {cut.bound:.3f} on new rows; recall {cut.recall:.2f}")
    0.036 here, at most 0.050 on new rows; recall 0.61
    """
    asked = Asked.by_call(
        rule, cost=cost, fpr=fpr, recall=recall, precision=precision, npv=npv, top=top,
        guarantee=guarantee,
    )  # fmt: skip
    rows = Rows.of(y_true, sample_weight, pos_label)
    codes = None
    if groups is not None:
        if guarantee is None:
            raise ValueError(
                "groups= is used only together with guarantee=: give guarantee=, or "
                "leave out groups=."
            )
        codes = _codes(rows, groups)
    return chosen_cut(asked, rows, rows.scores(y_score), precision_of(y_score), codes)


def cut_by(
    rule: Any,
    rows: Rows,
    scores: Array,
    dtype: Any = np.float64,
    groups: ArrayLike | None = None,
) -> float:
    """`threshold_for` as one value, the ``threshold`` of the estimators.

    A rule's name, the keyword arguments of `threshold_for` as a dict, or the number itself. A
    guarantee alone looks at the groups.
    """
    asked = Asked.of(rule)
    threshold = _without_order(asked, rows, scores)
    if threshold is not None:
        return threshold
    codes = None if groups is None or asked.guarantee is None else _codes(rows, groups)
    curve = Curve.of(rows, scores)
    return curve.cut(_best(asked, curve, rows, scores, codes)[0], dtype)


def _codes(rows: Rows, groups: ArrayLike) -> Index | None:
    """Group numbers; None if each group has one row, because rows are then independent."""
    codes = rows.groups(groups)
    return None if int(codes.max()) + 1 == codes.size else codes


def check_rule(rule: Any) -> None:
    """Refuse what `cut_by` cannot cut by, before any work is done."""
    Asked.of(rule)


def chosen_cut(
    asked: Asked,
    rows: Rows,
    scores: Array,
    dtype: Any = np.float64,
    groups: Index | None = None,
) -> Cut:
    """``groups`` are the groups of the rows, numbered from 0; a guarantee alone looks at them."""
    curve = Curve.of(rows, scores)
    threshold = _without_order(asked, rows, scores)
    if threshold is not None:
        above = int(np.searchsorted(-curve.levels, -threshold, side="left"))
        return _described(curve, threshold, above, None, asked)
    chosen, bound = _best(asked, curve, rows, scores, groups)
    return _described(curve, curve.cut(chosen, dtype), chosen, bound, asked)


def _best(
    asked: Asked, curve: Curve, rows: Rows, scores: Array, groups: Index | None
) -> tuple[int, float | None]:
    """The number of the chosen cut, and the bound that a guarantee gives."""
    worth, bound = _worth(asked, curve), None
    if asked.requirement is not None:
        if asked.guarantee is not None:
            allowed, bound = guaranteed(asked, rows, scores, groups)
        else:
            allowed = _met(asked, curve, scores)
        worth = np.where(allowed, worth, -np.inf)
    if asked.takes_lowest:
        return worth.size - 1 - int(np.argmax(worth[::-1])), bound
    return int(np.argmax(worth)), bound


def _without_order(asked: Asked, rows: Rows, scores: Array) -> float | None:
    """The threshold where it takes no sorting of the scores to know it."""
    if asked.rule != "midpoint":
        return asked.number
    of_class = [float(rows.share[m] @ scores[m]) for m in (rows.positive, ~rows.positive)]
    return of_class[1] + (of_class[0] - of_class[1]) / 2


def _precision(curve: Curve) -> Array:
    above = curve.tp + curve.skew * curve.fp
    return np.divide(curve.tp, above, out=np.zeros_like(above), where=above > 0)


def _npv(curve: Curve) -> Array:
    missed, right = curve.tp[-1] - curve.tp, curve.skew * (curve.fp[-1] - curve.fp)
    below = missed + right
    return np.divide(right, below, out=np.zeros_like(below), where=below > 0)


def _share(curve: Curve) -> Array:
    above = curve.tp + curve.skew * curve.fp
    return above / above[-1]


RULES: dict[str, Callable[[Curve], Array]] = {
    # What a cut is worth, in whole numbers as far as it goes: equal cuts must come out equal.
    "accuracy": lambda at: at.tp - at.skew * at.fp,
    "balanced": lambda at: at.tp * at.fp[-1] - at.fp * at.tp[-1],
    "f1": lambda at: 2 * at.tp / (at.tp[-1] + at.tp + at.skew * at.fp),
    "recall": lambda at: at.tp,
    "specificity": lambda at: -at.fp,
    "precision": _precision,
}


def _worth(asked: Asked, curve: Curve) -> Array:
    if asked.cost is not None:
        return asked.cost[1] * curve.tp - asked.cost[0] * curve.skew * curve.fp
    rule = asked.maximised
    return np.zeros_like(curve.tp) if rule is None else RULES[rule](curve)


def _met(asked: Asked, curve: Curve, scores: Array) -> Bool:
    """Which cuts meet the requirement on these rows."""
    name, wanted = asked.requirement, float(asked.wanted)
    if name == "fpr":
        return curve.fpr <= wanted + SHARE_ROUNDING
    if name == "recall":
        return curve.tpr >= wanted - SHARE_ROUNDING
    if name == "top":
        if not asked.counts_rows:
            return _share(curve) <= wanted + SHARE_ROUNDING
        above = scores.size - np.searchsorted(np.sort(scores), curve.levels)
        return np.concatenate([[0], above]) <= wanted
    reached = _precision(curve) if name == "precision" else _npv(curve)
    reached[0 if name == "precision" else -1] = -np.inf  # of no rows there is no share
    met: Bool = reached >= wanted - SHARE_ROUNDING
    if not met.any():
        raise ValueError(
            f"No cut has {name}={asked.wanted!r} on these rows: the highest that a cut reaches is "
            f"{reached.max():.3g}. Ask for at most that."
        )
    return met


def _described(
    curve: Curve, threshold: float, above: int, bound: float | None, asked: Asked
) -> Cut:
    there = Curve(curve.levels, curve.tp[[above, -1]], curve.fp[[above, -1]], curve.skew)
    return Cut(
        threshold=threshold,
        recall=float(there.tpr[0]),
        fpr=float(there.fpr[0]),
        precision=float(_precision(there)[0]),
        npv=float(_npv(there)[0]),
        share=float(_share(there)[0]),
        requirement=asked.requirement,
        bound=bound,
        guarantee=asked.guarantee,
    )
