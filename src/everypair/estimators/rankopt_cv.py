"""RankOptCV: the radius of `RankOpt` chosen by cross-validated AUC."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils._param_validation import Interval

from everypair.estimators._base import CUTS, WITHIN_WEIGHTS
from everypair.estimators.rankopt import _SphereClimber, check_saturations

if TYPE_CHECKING:
    from everypair.estimators._training import Training

Array = NDArray[np.float64]

CV_SATURATIONS = (0.01, 0.1, 0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 0.98, 0.995, 0.999, 0.9999)

DEAR_SATURATION, LEAST_GAIN = 0.9, 0.003
"""From this saturation on, the folds stop at a radius whose mean ``1 - AUC`` is not lower by this
share than the one before: the largest radii are the dearest. Below it a climb is cheap, and
AUC may fall before it rises."""


class RankOptCV(_SphereClimber):
    """`RankOpt` over every pair, its radius chosen by cross-validated AUC.

    Each fold climbs the series of radii once; the radius with the highest mean AUC on the rows
    held back is then climbed to on all rows. From saturation 0.9 on, the series ends at a
    radius whose ``1 - AUC`` is not lower by 0.3 per cent than that of the one before.

    Parameters
    ----------
    saturation : ascending sequence of floats, \
            default=(0.01, 0.1, 0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 0.98, 0.995, 0.999, 0.9999)
        Shares of saturated pairs to choose from, in (0, 1).
    cv : int, splitter, iterable or None, default=None
        None: 5 stratified folds. An iterable gives (train, test) rows. Each fold needs both
        classes on either side. With ``within`` as in `AUCClassifierCV`.
    {within_weight}
    {threshold}
    {calibration}
    max_iter : int, default=200
        As in `RankOpt`.
    tol : float, default=0.01
        As in `RankOpt`.
    {n_jobs}
    verbose : int, default=0
        1 prints one line per radius.

    Attributes
    ----------
    saturation_ : float
        The share chosen.
    saturations_ : array of shape (n_candidates,)
        The shares that the folds climbed to: the first of ``saturation``.
    {cv_scores}
    path_ : list of named tuples
        As in `RankOpt`, of the climb on all rows up to ``saturation_``; ``validation`` is the
        mean AUC of the folds.
    n_iter_ : int
        Steps of the climb on all rows; those of the folds are not counted.
    {linear}
    {train_score}
    {without_pairs}
    {n_passes}
    {fitted}

    See Also
    --------
    RankOpt : The same with given radii, and the paper's own algorithm.
    AUCClassifierCV : Convex losses, alpha chosen by folds.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from everypair import RankOptCV
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = RankOptCV(saturation=(0.1, 0.5, 0.9)).fit(X, y)
    >>> model.cv_fold_scores_.shape
    (3, 5)
    """

    _takes_blocks = True
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "saturation": ["array-like", Real],
        "cv": ["cv_object"],
        "within_weight": WITHIN_WEIGHTS,
        **CUTS,
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "n_jobs": [Integral, None],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        saturation: Sequence[float] | float = CV_SATURATIONS,
        cv: Any = None,
        within_weight: str = "pairs",
        threshold: str | float | Mapping[str, Any] = "balanced",
        calibration: str | None = None,
        prior: float | None = None,
        max_iter: int = 200,
        tol: float = 1e-2,
        n_jobs: int | None = None,
        verbose: int = 0,
    ):
        self.saturation = saturation
        self.cv = cv
        self.within_weight = within_weight
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
        """Choose the saturation by cross-validation, then climb to it on all rows.

        Parameters
        ----------
        {rows_or_blocks}
        {sample_weight}
            They count in the climbs and in the AUC of the held-out rows.
        {groups}
        {within}

        {returns_self}
        """
        return self._fit(X, y, sample_weight, groups, within, self._climb)

    def _climb(self, rows: Training) -> tuple[Array, Any]:
        from everypair.solvers.column_moments import class_covariance

        saturations = check_saturations(self.saturation)
        folds = rows.folds(self.cv)
        # The covariance of all rows serves every fold: it only says how L-BFGS walks.
        covariance = class_covariance(rows.X, rows.pairs)
        begin = partial(self._climb_every_pair, positive_share=rows.positive_share,
                        saturations=saturations, covariance=covariance)  # fmt: skip
        begun = folds.side_by_side(
            [partial(begin, *folds.training(k)) for k in range(len(folds))], self.n_jobs
        )
        paths, scales = zip(*begun, strict=True)
        areas: list[list[float]] = []
        lost = np.inf
        kept: list[Any] = []  # of the best radius so far
        # The folds climb side by side, so that they can stop together.
        for saturation in saturations:
            climbed = folds.side_by_side([partial(next, path) for path in paths], self.n_jobs)
            areas.append([folds.area(k, step.climb.scores) for k, step in enumerate(climbed)])
            before, lost = lost, 1 - float(np.mean(areas[-1]))
            if np.argmax(np.mean(areas, axis=1)) == len(areas) - 1:
                kept = [
                    folds.kept(
                        k, step.radius * step.climb.scores,
                        step.radius * scales[k] * step.climb.direction,
                    )
                    for k, step in enumerate(climbed)
                ]  # fmt: skip
            if self.verbose:
                print(f"[everypair] saturation {saturation:g}: held-out AUC {1 - lost:.6f}")
            if saturation >= DEAR_SATURATION and not lost < (1 - LEAST_GAIN) * before:
                break
        self.cv_fold_scores_ = np.array(areas)
        self.cv_scores_ = self.cv_fold_scores_.mean(axis=1)
        best = int(np.argmax(self.cv_scores_))
        self.saturations_ = np.array(saturations[: len(areas)])
        self.saturation_, self.best_score_ = saturations[best], float(self.cv_scores_[best])
        coef = self._climb_to_the_last(
            rows.X, rows.pairs, rows.positive_share, saturations[: best + 1], covariance,
            self.cv_scores_[: best + 1],
        )  # fmt: skip
        return coef, folds.held_out(kept)
