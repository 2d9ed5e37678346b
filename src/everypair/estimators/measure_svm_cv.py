"""MeasureSVMCV: C of `MeasureSVM` chosen by its own measure on held-out rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from everypair.estimators._cross_fit import OutOfFold
from everypair.estimators._search import Fold, folds_of, positive_grid, side_by_side
from everypair.estimators.measure_svm import MeasureSVM
from everypair.measures import Measure

Array = NDArray[np.float64]

DEFAULT_CS = (1e-4, 1e-3, 1e-2, 1e-1, 1.0)


class MeasureSVMCV(MeasureSVM):
    """`MeasureSVM` with its C chosen by the measure itself on held-out rows.

    Each fold fits every C, ascending, from where the one before ended: a plane below the slack
    stays below it whatever C is, so the planes found so far are kept.

    Parameters
    ----------
    measure : str, callable or Measure, default="f1"
        As in `MeasureSVM`, like all others except ``Cs``, ``cv`` and ``n_jobs``.
    Cs : array of floats, default=(0.0001, 0.001, 0.01, 0.1, 1.0)
        To choose from.
    beta : float, default=1.0
        Of ``"fbeta"``.
    k : int, float or str, default=None
        Of the measures at k. A share or a multiple of the positives means the same in a fold; a
        count does not.
    fpr : tuple (low, high), default=(0.0, 0.1)
        Of ``"partial_roc_area"``.
    cv : int, splitter or iterable of (train, test), default=None
        Folds; None means 5 stratified ones.
    {kernel}
    {low_rank}
    fit_intercept : bool, default=True
        As in `MeasureSVM`.
    {threshold}
        Here the default is None: the cut for which the slack bounds the measure.
    {calibration}
    tol : float, default=1e-3
        Relative duality gap to reach.
    max_iter : int, default=1000
        Cuts at most for each C.
    n_jobs : int, default=None
        Folds that run side by side in threads.
    verbose : int, default=0
        1 shows a progress bar over the folds, and a line per cut of the last fit.

    Attributes
    ----------
    C_ : float
        The C chosen; of equally good ones the smallest.
    Cs_ : array of shape (n_candidates,)
        The candidates, ascending.
    cv_scores_ : array of shape (n_candidates,)
        The measure on the held-out rows, a mean over the folds.
    cv_fold_scores_ : array of shape (n_candidates, n_folds)
        The same fold by fold.
    best_score_ : float
        ``cv_scores_`` of the chosen candidate.
    {expansion}
    measure_ : Measure
        The measure as an object.
    objective_, slack_, dual_gap_, train_score_, n_iter_, n_cuts_, history_
        As in `MeasureSVM`, of the fit on all rows.
    {fitted}

    See Also
    --------
    MeasureSVM : One C.
    MeasureOptCV : Climbs the measure itself.

    Notes
    -----
    There is no ``sample_weight``, as in `MeasureSVM`: a measure counts rows, so a fold works on a
    copy of its rows. The pivots of a kernel are those of all rows.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import StandardScaler
    >>> from everypair import MeasureSVMCV
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = MeasureSVMCV("f1", Cs=(0.001, 0.01), cv=3).fit(StandardScaler().fit_transform(X), y)
    >>> model.cv_fold_scores_.shape
    (2, 3)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **{name: of for name, of in MeasureSVM._parameter_constraints.items() if name != "C"},
        "Cs": ["array-like"],
        "cv": ["cv_object"],
        "n_jobs": [Integral, None],
    }

    def __init__(
        self,
        measure: str | Measure | Callable[..., Any] = "f1",
        Cs: ArrayLike = DEFAULT_CS,
        beta: float = 1.0,
        k: int | float | str | None = None,
        fpr: tuple[float, float] = (0.0, 0.1),
        cv: Any = None,
        kernel: str | Callable[..., Any] = "linear",
        gamma: float | str = "scale",
        degree: float = 3,
        coef0: float = 0.0,
        kernel_tol: float = 1e-10,
        max_rank: int | str | None = "auto",
        fit_intercept: bool = True,
        threshold: str | float | Mapping[str, Any] | None = None,
        calibration: str | None = None,
        prior: float | None = None,
        tol: float = 1e-3,
        max_iter: int = 1000,
        n_jobs: int | None = None,
        verbose: int = 0,
    ):
        self.measure = measure
        self.Cs = Cs
        self.beta = beta
        self.k = k
        self.fpr = fpr
        self.cv = cv
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_tol = kernel_tol
        self.max_rank = max_rank
        self.fit_intercept = fit_intercept
        self.threshold = threshold
        self.calibration = calibration
        self.prior = prior
        self.tol = tol
        self.max_iter = max_iter
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, X: Any, y: ArrayLike, groups: ArrayLike | None = None) -> Self:
        """Choose C on held-out rows, then fit on all rows.

        Parameters
        ----------
        {kernel_rows}
        {groups}

        {returns_self}
        """
        return self._fit(X, y, groups, partial(self._choose, groups=groups))

    def _choose(
        self, matrix: Any, positive: NDArray[np.bool_], measure: Measure, groups: ArrayLike | None
    ) -> tuple[float, OutOfFold]:
        Cs = np.sort(positive_grid(self.Cs, "Cs"))
        rows = np.broadcast_to(0.0, (positive.size, 1))
        folds = folds_of(self.cv, rows, positive, None, groups, each_has_auc=True)
        tasks = [partial(self._values, matrix, positive, measure, Cs, fold) for fold in folds]
        found = side_by_side(tasks, self.n_jobs, "cross-validation", int(self.verbose))
        self.Cs_ = Cs
        self.cv_fold_scores_ = np.array([[value for value, _ in of_fold] for of_fold in found]).T
        self.cv_scores_ = self.cv_fold_scores_.mean(axis=1)
        best = int(np.argmax(self.cv_scores_))
        self.C_, self.best_score_ = float(Cs[best]), float(self.cv_scores_[best])
        return self.C_, OutOfFold.of(folds, [of_fold[best][1] for of_fold in found])

    def _values(
        self, matrix: Any, positive: NDArray[np.bool_], measure: Measure, Cs: Array, fold: Fold
    ) -> list[tuple[float, Array]]:
        """The measure on the held-out rows of a fold and their scores less the mean, at each C."""
        from everypair.solvers.cutting_plane import SlackPath

        train, test = fold
        part, held_out = matrix.take(train), matrix.take(test)
        path = SlackPath(part, positive[train], measure, self._has_constant(measure))
        mean = matrix.pull_back(np.full(positive.size, 1 / positive.size))
        found = []
        for C in Cs:
            fit = path.fit(C, self.tol, self.max_iter)
            scores = held_out.dot(fit.coef)
            value = measure.value(positive[test], scores + fit.constant)
            found.append((float(value), scores - float(mean @ fit.coef)))
        return found
