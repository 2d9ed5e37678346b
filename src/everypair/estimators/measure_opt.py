"""MeasureOpt: the measure people pay for, smoothed, climbed from a logistic regression."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import Interval

from everypair.estimators._base import OWN_CUTS
from everypair.estimators._climb_problem import BlockClimbProblem, ClimbProblem
from everypair.estimators._kernel import KernelRanker
from everypair.estimators._warnings import warn
from everypair.estimators.rankopt import check_saturations
from everypair.measures.operating import operating_measure
from everypair.measures.operating_point import OperatingMeasure
from everypair.rows import Rows

if TYPE_CHECKING:
    from everypair.estimators._cross_fit import OutOfFold
    from everypair.linalg.blocks import Blocks
    from everypair.solvers.logistic import LogisticFit
    from everypair.solvers.sphere import Step

Array = NDArray[np.float64]
Bools = NDArray[np.bool_]


class ClimbRow(NamedTuple):
    """One radius of the climb: a row of ``path_``."""

    saturation: float
    radius: float
    smooth: float
    train_score: float
    slope: float
    n_iter: int


class _MeasureClimber(KernelRanker):
    """What `MeasureOpt` and `MeasureOptCV` share."""

    measure: Any
    path_: list[ClimbRow]
    n_passes_: int
    _takes_blocks = True

    _measure_constraints: ClassVar[dict[str, list[Any]]] = {
        "measure": "no_validation",  # type: ignore[dict-item]
        "beta": [Interval(Real, 0, None, closed="neither")],
        "k": [Real, str, None],
        "fpr": [Real, "array-like", None],
        "tpr": [Real, None],
        "recall": [Real, None],
        "precision": [Real, None],
        "cost": ["array-like"],
        **KernelRanker._kernel_constraints,
        **KernelRanker._rank_constraints,
        **OWN_CUTS,
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "verbose": ["verbose"],
    }

    def _operating_measure(self, rows: Rows) -> OperatingMeasure:
        return operating_measure(
            self.measure, rows, beta=self.beta, k=self.k, fpr=self.fpr, tpr=self.tpr,
            recall=self.recall, precision=self.precision, cost=self.cost,
        )  # fmt: skip

    def _fit(
        self,
        X: Any,
        y: ArrayLike | None,
        sample_weight: ArrayLike | None,
        groups: ArrayLike | None,
        climb: Callable[[ClimbProblem], tuple[Array, OutOfFold | None]],
        within: ArrayLike | None = None,
    ) -> Self:
        """``climb(problem)`` finds the coefficients, may have out-of-fold scores of centred rows,
        and sets the attributes."""
        from everypair.linalg.matrix import as_matrix
        from everypair.linalg.threads import own_threads

        self._validate_params()
        blocks = self._blocks_of(X, y, sample_weight, groups, within)
        if blocks is not None:
            return self._fit_blocks(blocks, climb)
        X, positive, sample_weight = self._validate_fit(X, y, sample_weight)
        rows = Rows.of(positive, sample_weight, within=within)
        measure = self._operating_measure(rows)
        self.n_groups_without_pairs_ = rows.n_groups_without_pairs
        self._forget_fit()
        kernel = None if self.kernel == "linear" else self._training_kernel(X, sample_weight)
        with own_threads(), np.errstate(over="ignore", invalid="ignore"):
            matrix: Any
            if kernel is None:
                matrix, basis = as_matrix(X), None
            else:
                paired = Rows.uncut(positive, sample_weight)
                tol = float(self.kernel_tol)
                matrix, basis = self._features(kernel, paired, self.max_rank, tol)
            problem = ClimbProblem.of(matrix, positive, sample_weight, measure, within)
            coef, held_out = climb(problem)
            scores = matrix.dot(coef)
        kept = rows.scores(scores)
        if held_out is None:
            cut = self._cut(X, positive, scores, sample_weight, groups, measure.best_cut, within)
        else:
            level = (held_out.level or 0.0) + float(problem.centre @ coef)
            held_out = held_out._replace(level=level)
            cut = self._choose_threshold(
                positive, scores, sample_weight, held_out, measure.best_cut, groups
            )
        if self.threshold is None and not measure.free_cut and not np.any(scores > cut):
            self._warn_of_unmet_quota()
        self.train_score_ = measure.sign * measure.value(rows, kept, cut)
        self.measure_ = measure
        self.intercept_ = np.array([-cut])
        if kernel is None or basis is None:
            self._keep_linear(coef)
        else:
            self._keep_expansion(kernel, basis.pivots, basis.coefficients(coef), basis.left_out)
        return self

    def _warn_of_unmet_quota(self) -> None:
        asked = [f"{name}={value!r}" for name in ("k", "fpr", "tpr", "recall", "precision")
                 if (value := getattr(self, name)) is not None]  # fmt: skip
        if asked:  # average precision and the whole area have no quota
            warn(
                f"No cut of the scores meets {', '.join(asked)}, so predict classifies no row as "
                "positive: ask for what the scores can meet, or set threshold.",
                UserWarning,
            )

    def _fit_blocks(
        self,
        blocks: Blocks,
        climb: Callable[[ClimbProblem], tuple[Array, OutOfFold | None]],
    ) -> Self:
        """The same over rows in blocks. Labels, and scores where a cut is exact, come here."""
        from everypair.estimators._block_training import BlockTraining, refuse_to_gather
        from everypair.linalg.threads import own_threads

        if self.kernel != "linear":
            raise ValueError(f"Rows in blocks need kernel='linear', but kernel is {self.kernel!r}.")
        refuse_to_gather(blocks, f"{type(self).__name__}", "use AUCClassifier")
        positive = blocks.positive.gather()
        weight = blocks.weight.gather() if blocks.weighted else None
        training = BlockTraining(self, blocks, "extent")
        within = training.pairs.groups_here if blocks.grouped else None
        rows = Rows.of(positive, weight, within=within)
        measure = self._operating_measure(rows)
        self._forget_fit()
        with own_threads(), np.errstate(over="ignore", invalid="ignore"):
            problem = BlockClimbProblem.of(training.X, positive, weight, measure)
            coef, held_out = climb(problem)
            scores = training.X.dot(coef).gather()
            if held_out is None:
                held_out = training.cross_fitted(measure.best_cut)
            else:
                level = (held_out.level or 0.0) + float(problem.centre @ coef)
                held_out = held_out._replace(level=level)
        cut = self._choose_threshold(positive, scores, weight, held_out, measure.best_cut)
        self.train_score_ = measure.sign * measure.value(rows, rows.scores(scores), cut)
        self.measure_, self.intercept_ = measure, np.array([-cut])
        self.n_passes_ = blocks.n_passes
        self._keep_linear(coef)
        return self

    def _keep_path(self, problem: ClimbProblem, start: LogisticFit, steps: list[Step]) -> None:
        measure = problem.measure
        self.n_iter_ = start.n_iter + sum(step.climb.n_iter for step in steps)
        self.start_score_ = measure.sign * problem.train_value(start.scores)
        self.path_ = [
            ClimbRow(
                step.saturation, step.radius, measure.sign * (problem.best - step.climb.loss),
                measure.sign * problem.train_value(step.climb.scores), step.climb.slope,
                step.climb.n_iter,
            )
            for step in steps
        ]  # fmt: skip
        if self.verbose:
            for row in self.path_:
                print(
                    f"[everypair] saturation {row.saturation:g}: training measure "
                    f"{row.train_score:.6g} (start {self.start_score_:.6g}), {row.n_iter} steps"
                )
        cut_short = [step.saturation for step in steps if not step.climb.converged]
        if cut_short:
            warn(
                f"The climb at saturation {cut_short[0]:g} stopped early at "
                f"max_iter={self.max_iter}: raise max_iter or tol={self.tol:g}.",
                ConvergenceWarning,
            )


class MeasureOpt(_MeasureClimber):
    """Linear or kernel classifier that climbs a smoothed measure of the operating point.

    Maximises M(t, f) over directions u of the coefficients and, where the measure leaves it free,
    the cut c, at a series of radii r:

        t = sum_P a_i sigma(x_i . w - c) ,   f = sum_N b_j sigma(x_j . w - c) ,   w = r scale u ,

    the smooth true and false positive rate; a and b are the sample weights, each class summing
    to one, ``scale`` gives each feature a variance of one, and sigma is the logistic function. A
    measure with a quota (recall at 1 % false positives, precision of the 500 highest) fixes c by
    it, and the gradient follows the cut. With ``within`` precision and recall at k are those of
    the k best rows of each group, which has a cut of its own. The climb starts at a logistic
    regression and never ends below it on the training rows.

    Parameters
    ----------
    measure : str, ContingencyMeasure or callable, default="f1"
        ``"f1"``, ``"fbeta"``, ``"jaccard"``, ``"gmean"``, ``"mcc"``, ``"informedness"``,
        ``"cost"``, a function of the counts (a, b, c, d) or a
        `everypair.measures.ContingencyMeasure`: with a free cut. ``"precision_at_k"``,
        ``"recall_at_k"``, ``"tpr_at_fpr"``, ``"fpr_at_tpr"``, ``"precision_at_recall"``,
        ``"recall_at_precision"``: with a quota. ``"partial_roc_area"``,
        ``"average_precision"``: means over quotas. ``"roc_area"``: the climb of `RankOpt`, from
        a logistic regression.
    beta : float, default=1.0
        Of ``"fbeta"``.
    k : int, float or str, default=None
        Of ``"precision_at_k"`` and ``"recall_at_k"``: a count of the training rows, a share of
        them, or a multiple of the positives such as ``"2p"``. New rows are cut at the same share.
    fpr : float or (low, high), default=None
        Of ``"tpr_at_fpr"``; the range of ``"partial_roc_area"``.
    tpr, recall, precision : float, default=None
        Of ``"fpr_at_tpr"``, ``"precision_at_recall"`` and ``"recall_at_precision"``.
    cost : (c_fp, c_fn), default=(1.0, 1.0)
        Of ``"cost"``: what a false positive and a false negative cost.
    alpha : float, default=1e-3
        Penalty of the logistic regression that the climb starts from, on features of variance
        one: scikit-learn's ``C = 1 / (n alpha)``.
    saturation : float or ascending sequence of floats in (0, 1), default=(0.5, 0.9)
        The radii, by the share of pairs that they saturate, as in `RankOpt`. The model is that
        of the last one.
    {kernel}
    {low_rank}
    {threshold}
        Here the default is None: the cut that the measure asks for.
    {calibration}
    {cv}
    max_iter : int, default=200
        Steps at most at each radius.
    tol : float, default=1e-2
        A climb ends when the loss changes by less than this share per radian in the steepest
        direction.
    verbose : int, default=0
        Print what each radius reached.

    Attributes
    ----------
    coef_ : array of shape (1, n_features)
        Of the linear kernel. Other kernels have ``dual_coef_`` and ``support_``.
    intercept_ : array of shape (1,)
        Less the cut.
    classes_ : array of shape (2,)
        The labels; the second is the positive one.
    train_score_ : float
        The measure of the training rows, exact, at the cut of `predict`.
    start_score_ : float
        That of the logistic regression, at its own best cut.
    chose_start_ : bool
        Whether no radius was better than the start on the training rows.
    path_ : list of named tuples
        A row per radius: ``saturation, radius, smooth, train_score, slope, n_iter``: the
        smoothed measure, the exact one, and what is left of the gradient on the sphere as a
        share of the loss.
    n_iter_ : int
        Steps of the logistic regression and of all climbs.
    {without_pairs}
    n_features_in_ : int
        Columns of X.
    feature_names_in_ : array of str
        Names of the columns of X, where it has names.
    calibrator_ : object
        The map from decisions to probabilities, if ``calibration`` is set.

    See Also
    --------
    MeasureOptCV : Chooses penalty and radius on held-out rows, and the cut from them.
    RankOpt : The same climb of the area under the whole ROC curve.
    MeasureSVM : A convex bound on the measure.

    Notes
    -----
    The problem is not convex: the climb ends where the gradient on the sphere vanishes, and
    ``path_`` says how nearly. Rescaling a feature changes nothing.

    References
    ----------
    A. Herschtal and B. Raskutti, "Optimising area under the ROC curve using gradient descent",
    ICML 2004 (the sphere); T. Joachims, "A support vector method for multivariate performance
    measures", ICML 2005 (the measures).

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from everypair import MeasureOpt
    >>> X, y = make_classification(2000, weights=[0.95], class_sep=0.7, random_state=0)
    >>> model = MeasureOpt("tpr_at_fpr", fpr=0.05).fit(X, y)
    >>> bool(model.train_score_ >= model.start_score_)
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **_MeasureClimber._measure_constraints,
        "alpha": [Interval(Real, 0, None, closed="neither")],
        "saturation": ["array-like", Real],
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
        alpha: float = 1e-3,
        saturation: Sequence[float] | float = (0.5, 0.9),
        kernel: str | Callable[..., Any] = "linear",
        gamma: float | str = "scale",
        degree: float = 3,
        coef0: float = 0.0,
        kernel_tol: float = 1e-10,
        max_rank: int | str | None = "auto",
        threshold: str | float | Mapping[str, Any] | None = None,
        calibration: str | None = None,
        prior: float | None = None,
        cv: Any = None,
        max_iter: int = 200,
        tol: float = 1e-2,
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
        self.alpha = alpha
        self.saturation = saturation
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_tol = kernel_tol
        self.max_rank = max_rank
        self.threshold = threshold
        self.calibration = calibration
        self.prior = prior
        self.cv = cv
        self.max_iter = max_iter
        self.tol = tol
        self.verbose = verbose

    def fit(
        self,
        X: Any,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        within: ArrayLike | None = None,
    ) -> Self:
        """Fit on rows X with labels y, or with the linear kernel on rows in blocks.

        Parameters
        ----------
        {measure_rows}
        {measure_weight}
        {groups}
        within : array of shape (n_rows,), default=None
            The group of each row (a user, a query). ``"precision_at_k"`` and ``"recall_at_k"`` are
            then those of the k best rows of each group, a mean over the groups that have both
            classes; the climb starts at the logistic loss over pairs inside groups. Other measures
            do not take it, and ``sample_weight`` may then be 0 or 1 only.

        {returns_self}
        """
        return self._fit(X, y, sample_weight, groups, self._climb, within)

    def _climb(self, problem: ClimbProblem) -> tuple[Array, None]:
        saturations = check_saturations(self.saturation)
        (start,) = problem.starts(np.array([self.alpha]), self.max_iter, self.tol)
        steps = problem.climbs(start, saturations, self.max_iter, self.tol)
        self._keep_path(problem, start, steps)
        value = problem.train_value(start.scores)
        better = [s for s in steps if problem.train_value(s.climb.scores) >= value]
        self.chose_start_ = not better
        if not better:
            return problem.sphere.scale * start.coef, None
        last = better[-1]
        return last.radius * problem.sphere.scale * last.climb.direction, None
