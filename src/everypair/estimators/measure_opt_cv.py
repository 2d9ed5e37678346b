"""MeasureOptCV: penalty, radius and cut of `MeasureOpt`, chosen on held-out rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from everypair.estimators._climb_problem import ClimbProblem, as_array
from everypair.estimators._cross_fit import OutOfFold
from everypair.estimators._held_out import FEWER_DRAWS, HeldOut, mixed
from everypair.estimators._held_out_groups import held_out
from everypair.estimators._search import Fold, folds_of, positive_grid
from everypair.estimators.measure_opt import _MeasureClimber
from everypair.estimators.rankopt import check_saturations

if TYPE_CHECKING:
    from everypair.solvers.logistic import LogisticFit
    from everypair.solvers.sphere import Step

Array = NDArray[np.float64]
Series = tuple[float, ...]
"""Radii that are climbed one after the other."""

SATURATIONS = (0.35, (0.35, 0.8), (0.35, 0.8, 0.9), 0.9)
"""A smooth radius leads to directions that a rough one alone does not find; where the start is
good already, the rough one from there stays nearer to it."""

PENALTIES = 10.0 ** np.arange(3, -3, -1)
"""Of the starts, in units of 1 / rows: 1 / C of scikit-learn's LogisticRegression."""

SURE_GAIN = 0.5
"""Standard errors by which a climb must beat its start on held-out rows to be chosen."""

DEFAULT_FOLDS = 5

DECIDING_ROWS = 10
"""Rows on the rarer side of the cut: fewer say nothing of which climb is better."""


class MeasureOptCV(_MeasureClimber):
    """`MeasureOpt` with its penalty, its radius and its cut chosen on held-out rows.

    Each fold fits a logistic regression at every penalty; the one whose held-out rows have the
    best measure is the start. Each fold then climbs from its start, in several ways. A climb is
    chosen only if it beats the start on held-out rows by more than half a standard error and is
    not below it on the training rows; otherwise the model is the logistic regression. Where a
    quota fixes the cut, start and climbs are compared by the mean of the measure at quotas of
    half to twice these odds. The cut that `predict` uses comes from held-out scores. With
    ``within`` the starts are fits of the logistic loss over the pairs inside groups, and the
    measure is that of the k best rows of each group.

    Parameters
    ----------
    measure : str, ContingencyMeasure or callable, default="f1"
        As in `MeasureOpt`, like the next seven.
    beta : float, default=1.0
        Of ``"fbeta"``.
    k : int, float or str, default=None
        Of ``"precision_at_k"`` and ``"recall_at_k"``.
    fpr : float or (low, high), default=None
        Of ``"tpr_at_fpr"``; the range of ``"partial_roc_area"``.
    tpr, recall, precision : float, default=None
        Of ``"fpr_at_tpr"``, ``"precision_at_recall"`` and ``"recall_at_precision"``.
    cost : (c_fp, c_fn), default=(1.0, 1.0)
        Of ``"cost"``.
    alphas : array of floats, default=None
        Penalties of the start to choose from. None: six, from 1000 / n down to 0.01 / n, n being
        the sum of the weights, which are scikit-learn's C = 0.001 to 100.
    saturation : sequence of floats and tuples, default=(0.35, (0.35, 0.8), (0.35, 0.8, 0.9), 0.9)
        Climbs to choose from: radii, by the share of pairs in (0, 1) that they saturate. A number
        is climbed from the logistic regression; the numbers of a tuple, which ascend, one after
        the other.
    cv : int, splitter or iterable of (train, test), default=None
        Folds; None means 5 stratified ones. Each needs both classes on either side.
    {kernel}
    {low_rank}
        The pivots are those of all rows.
    {threshold}
        Here the default is None: the cut at which the held-out scores have the best measure.
    {calibration}
    max_iter : int, default=200
        Steps at most at each radius.
    tol : float, default=1e-2
        As in `MeasureOpt`.
    n_jobs : int, default=None
        Folds that run side by side in threads.
    verbose : int, default=0
        A progress bar over the folds, and what each radius reached.

    Attributes
    ----------
    chose_start_ : bool
        Whether the model is the logistic regression itself: no climb was clearly better, or the
        climb chosen ended below it on the training rows.
    alpha_ : float
        Penalty of the start.
    saturation_ : tuple of floats
        The radii of the climb chosen, one after the other; empty where ``chose_start_``.
    best_score_ : float
        The measure on held-out rows. The candidate for each fold is chosen on the other folds, and
        so is its cut: no row takes part in the choice of what it is scored by.
    score_interval_ : (low, high)
        A 95 % interval of ``best_score_`` by a bootstrap of the rows (of whole groups, where
        ``groups`` or ``within`` is given), widened because each row tests one model and trains the
        others.
    {without_pairs}
    cv_scores_ : array of shape (n_candidates,)
        The measure on held-out rows of every candidate: the starts, then the climbs.
    cv_results_ : dict of arrays
        ``alpha``, ``saturation`` (a tuple of radii, empty for a start) and ``score``, the measure
        on held-out rows, of every candidate; ``gain_error``, the standard error of the best
        climb's gain.
    coef_, intercept_, classes_, train_score_, start_score_, path_, n_iter_, n_features_in_, \
            calibrator_
        As in `MeasureOpt`, of the fit on all rows.

    See Also
    --------
    MeasureOpt : One penalty, one series of radii.
    RankOptCV : The same for the area under the ROC curve.

    Notes
    -----
    With fewer than ten rows on the rarer side of a quota's cut (1 % false positives of 500
    negatives are five rows) nothing is climbed: held-out rows could not show which climb is better.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from everypair import MeasureOptCV
    >>> X, y = make_classification(1000, weights=[0.9], class_sep=0.7, random_state=0)
    >>> model = MeasureOptCV("f1", saturation=(0.5, 0.9)).fit(X, y)
    >>> len(model.cv_results_["score"])
    8
    """

    saturation_: Series

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **_MeasureClimber._measure_constraints,
        "alphas": ["array-like", None],
        "saturation": ["array-like", Real],
        "cv": ["cv_object"],
        "n_jobs": [Integral, None],
    }

    def __init__(
        self,
        measure: Any = "f1",
        beta: float = 1.0,
        k: int | float | str | None = None,
        fpr: float | tuple[float, float] | None = None,
        tpr: float | None = None,
        recall: float | None = None,
        precision: float | None = None,
        cost: tuple[float, float] = (1.0, 1.0),
        alphas: ArrayLike | None = None,
        saturation: Sequence[float | Sequence[float]] | float = SATURATIONS,
        cv: Any = None,
        kernel: str | Callable[..., Any] = "linear",
        gamma: float | str = "scale",
        degree: float = 3,
        coef0: float = 0.0,
        kernel_tol: float = 1e-10,
        max_rank: int | str | None = "auto",
        threshold: str | float | Mapping[str, Any] | None = None,
        calibration: str | None = None,
        prior: float | None = None,
        max_iter: int = 200,
        tol: float = 1e-2,
        n_jobs: int | None = None,
        verbose: int = 0,
    ):
        self.measure = measure
        self.beta = beta
        self.k = k
        self.fpr = fpr
        self.tpr = tpr
        self.recall = recall
        self.precision = precision
        self.cost = cost
        self.alphas = alphas
        self.saturation = saturation
        self.cv = cv
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_tol = kernel_tol
        self.max_rank = max_rank
        self.threshold = threshold
        self.calibration = calibration
        self.prior = prior
        self.max_iter = max_iter
        self.tol = tol
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(
        self,
        X: Any,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        within: ArrayLike | None = None,
    ) -> Self:
        """Choose on held-out rows, then climb on all rows.

        Parameters
        ----------
        {measure_rows}
        {measure_weight}
        {groups}
        within : array of shape (n_rows,), default=None
            The group of each row, as in `MeasureOpt`: the k best rows of each group. Without
            ``groups``, None and a number as ``cv`` keep each group whole.

        {returns_self}
        """
        return self._fit(X, y, sample_weight, groups, partial(self._climb, groups=groups), within)

    def _climb(self, problem: ClimbProblem, groups: ArrayLike | None) -> tuple[Array, OutOfFold]:
        series = self._series()
        n_rows = problem.positive.size
        given = PENALTIES / problem.total if self.alphas is None else self.alphas
        alphas = np.sort(positive_grid(given, "alphas"))[::-1]
        self._check_folds(problem)
        folds = folds_of(
            self.cv, np.broadcast_to(0.0, (n_rows, 1)), problem.positive, problem.weight, groups,
            each_has_auc=True, within=problem.within,
        )  # fmt: skip
        if len(folds) == 1 and problem.measure.free_cut:
            raise ValueError(
                f"measure={self.measure!r} needs at least two folds, but cv has one: the cut of a "
                "fold comes from the rows of the others."
            )
        drawn = None if groups is None else np.asarray(groups)
        held_out_scores = partial(self._held_out, problem, folds, drawn)
        parts = [problem.without(test) for _, test in folds]
        starts = problem.side_by_side(
            [partial(part.starts, alphas, self.max_iter, self.tol) for part in parts],
            self.n_jobs,
            "starts",
            self.verbose,
        )
        of_starts = [
            held_out_scores([each[a].scores + each[a].intercept for each in starts])
            for a in range(alphas.size)
        ]
        values = [held.value() for held in of_starts]
        best = int(np.argmax(values))
        candidates = [of_starts[best]]
        seen = [held_out_scores([each[best].scores + each[best].intercept for each in starts], 1)]
        climbs: list[dict[Series, list[Step]]] = []
        rows = problem.rows
        if problem.measure.deciding_rows(rows.n_positive, rows.n_negative) >= DECIDING_ROWS:
            climbs = problem.side_by_side(
                [
                    partial(self._climbs_of, part, each[best], series)
                    for part, each in zip(parts, starts, strict=True)
                ],
                self.n_jobs, "climbs", self.verbose,
            )  # fmt: skip
            if all(climbs):
                of_climbs = [[each[s][-1].climb.scores for each in climbs] for s in series]
                candidates += [held_out_scores(each) for each in of_climbs]
                seen += [held_out_scores(each, 1) for each in of_climbs]

        def below(k: int, climb: int) -> bool:
            """Did it end below the start on the rows that fold k trained on?"""
            end = climbs[k][series[climb - 1]][-1].climb.scores
            return parts[k].train_value(end) < parts[k].train_value(starts[k][best].scores)

        chosen = self._choose(candidates, seen, values, alphas, best, series, below)
        start = problem.starts(alphas[: best + 1], self.max_iter, self.tol)[-1]
        path = self.saturation_
        steps = self._climbs_of(problem, start, [path]).get(path, [])
        self._keep_path(problem, start, steps)
        sign = problem.measure.sign
        if not steps or sign * self.path_[-1].train_score < sign * self.start_score_:
            chosen, self.chose_start_, self.saturation_ = 0, True, ()
        of_rows = candidates[chosen].scores
        scores = [of_rows[test] for _, test in folds]
        if chosen == 0:
            held_out = OutOfFold.of(folds, scores, -start.intercept)
            return problem.sphere.scale * start.coef, held_out
        held_out = OutOfFold.of(folds, scores, 0.0)
        return problem.sphere.scale * steps[-1].climb.direction, held_out

    def _check_folds(self, problem: ClimbProblem) -> None:
        """A count of folds needs a row of either class in each."""
        n_folds = DEFAULT_FOLDS if self.cv is None else self.cv
        if not isinstance(n_folds, Integral):
            return
        rarer = min(
            np.count_nonzero(problem.weight[problem.positive == of]) for of in (True, False)
        )
        if rarer < int(n_folds):
            raise ValueError(
                f"The rarer class has {rarer} row{'s' if rarer > 1 else ''} and cv={n_folds} folds "
                f"need one each: give more rows{', or cv=2' if rarer > 1 else ''}, or use "
                "MeasureOpt, which holds no rows out."
            )

    def _series(self) -> list[Series]:
        given: Any = [self.saturation] if isinstance(self.saturation, Real) else self.saturation
        series = [check_saturations(one) for one in given]
        if not series or len(set(series)) < len(series):
            raise ValueError(
                f"saturation={self.saturation!r}: give one or more climbs, each of them once."
            )
        return series

    def _climbs_of(
        self, part: ClimbProblem, start: LogisticFit, series: list[Series]
    ) -> dict[Series, list[Step]]:
        """Each series from the start; radii that begin several of them are climbed once.

        Empty where the start has no direction.
        """
        if not np.any(start.coef):
            return {}
        found: dict[Series, list[Step]] = {(): []}
        for one in series:
            for n in range(1, len(one) + 1):
                if one[:n] not in found:
                    before = found[one[: n - 1]]
                    at = replace(start, coef=before[-1].climb.direction) if before else start
                    found[one[:n]] = before + part.climbs(
                        at, one[n - 1 : n], self.max_iter, self.tol
                    )
        return found

    @staticmethod
    def _held_out(
        problem: ClimbProblem,
        folds: list[Fold],
        groups: NDArray[Any] | None,
        scores: list[Array],
        ahead: int = 0,
    ) -> HeldOut:
        """Each row by the model of its fold, or of a fold ``ahead``, which trained on it."""
        out = np.zeros(problem.positive.size)
        for k, (_, test) in enumerate(folds):
            out[test] = as_array(scores[(k + ahead) % len(folds)])[test]
        given = problem.measure, problem.positive, problem.weight, folds, out
        return held_out(*given, problem.within, groups)

    def _choose(
        self,
        candidates: list[HeldOut],
        seen: list[HeldOut],
        values: list[float],
        alphas: Array,
        best: int,
        series: list[Series],
        below: Callable[[int, int], bool],
    ) -> int:
        """Which candidate; 0 is the start. Sets what the search has found.

        ``below`` says of a fold and a climb whether it ended below the start on the training rows:
        the model of this fold is then the start, as that of all rows is.
        """
        start, sign = candidates[0], candidates[0].measure.sign
        scores = [held.value() for held in candidates]
        told_apart = [held.by(start.measure.nearby()) for held in candidates]
        error = 0.0

        def better(found: list[float]) -> int:
            climb = 1 + int(np.argmax(found[1:])) if len(found) > 1 else 0
            return climb if found[climb] - found[0] > SURE_GAIN * error else 0

        found = [held.value() for held in told_apart]
        if len(candidates) > 1:
            climb = 1 + int(np.argmax(found[1:]))
            ready = start.prepared, candidates[climb].prepared
            drawn = told_apart[0].draws(*ready, n_draws=FEWER_DRAWS)
            error = float(np.std(drawn[1] - drawn[0]))
        chosen = better(found)
        by_fold = []
        for k in range(len(start.folds)):
            others = [fold for j, fold in enumerate(start.folds) if j != k]
            climb = better([held.on(others).value() for held in told_apart])
            by_fold.append(0 if climb and below(k, climb) else climb)
        honest = mixed(candidates, by_fold)
        self.best_score_ = sign * start.value(honest)
        ends = sorted(sign * end for end in start.interval(honest, mixed(seen, by_fold)))
        self.score_interval_ = ends[0], ends[1]
        self.cv_scores_ = sign * np.append(values, scores[1:])
        self.cv_results_ = {
            "alpha": np.append(alphas, np.full(len(candidates) - 1, alphas[best])),
            "saturation": [()] * alphas.size + series[: len(candidates) - 1],
            "score": self.cv_scores_,
            "gain_error": error,
        }
        self.chose_start_ = chosen == 0
        self.alpha_ = float(alphas[best])
        self.saturation_ = series[chosen - 1] if chosen else ()
        return chosen
