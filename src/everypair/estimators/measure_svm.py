"""The support vector machine for a measure of the whole sample."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import Interval, StrOptions

from everypair.estimators._base import OWN_CUTS
from everypair.estimators._cross_fit import OutOfFold
from everypair.estimators._kernel import KernelRanker
from everypair.estimators._warnings import warn, warn_not_converged
from everypair.measures import MEASURES, FixedCount, Measure, measure_of
from everypair.metrics.at_k import rows_at_k
from everypair.rows import Rows

if TYPE_CHECKING:
    from everypair.solvers.cutting_plane import SlackPath, SlackResult

Array = NDArray[np.float64]

MUCH_LARGER, FEW_CUTS, LARGEST_C = 1e3, 100, 1e100
"""So many times the C at which the features begin to matter, a bound that is of any use leaves
w = 0; cuts that are spent on seeing it."""


def _cut_of(measure: Measure) -> Any:
    """What ``threshold=None`` means for a measure that ranks."""
    return lambda rows, scores: measure.threshold(rows.positive, scores)


class MeasureSVM(KernelRanker):
    """Support vector machine trained on F-beta, precision or recall at k, PRBEP or ROC area.

    Minimises (Joachims 2005, Optimization Problem 2; `lab/notes/measures.md` has every choice)

        P(w) = 1/2 |w|^2 + C slack(w) ,
        slack(w) = max(0, max_y' Delta(y', y) + w . (Psi(y') - Psi(y))) ,

    the inner maximum over all labellings y' of the training sample at once. Psi(y') is
    ``sum_i y'_i x_i``; for the areas it is ``sum_ij y'_ij (x_i - x_j)`` over the pairs. The loss
    Delta is ``100 (1 - measure)``; ``2 (b + c)`` for the error; the number of swapped pairs
    for the areas. The slack bounds the training loss from above (Theorem 1).

    Parameters
    ----------
    measure : str, callable or Measure, default="f1"
        ``"error"``, ``"f1"``, ``"fbeta"``, ``"precision_at_k"``, ``"recall_at_k"``,
        ``"recall_at_most_k"`` (trained on labellings of at most k positives instead of exactly k:
        better where k is more than the positives), ``"prbep"`` (precision where it equals
        recall), ``"roc_area"``, ``"partial_roc_area"``; or a
        function of the counts (a, b, c, d) of true positives, false positives, false negatives
        and true negatives, higher being better, that works on arrays of counts; or an object
        of `everypair.measures`.
    C : float, default=1.0
        Weight of the slack, > 0. The slack is a sum over the rows in ``w . Psi``, as in the
        paper, so twice the data need another C.
    beta : float, default=1.0
        Of ``"fbeta"``: how much more recall weighs than precision.
    k : int, float or str, default=None
        Of ``"precision_at_k"`` and ``"recall_at_k"``: a count of rows, a share of them above 0
        and at most 1 as a float, or a multiple of the positives such as ``"2p"``.
    fpr : tuple (low, high), default=(0.0, 0.1)
        Of ``"partial_roc_area"``: the range of false positive rates.
    {kernel}
    {low_rank}
    fit_intercept : bool, default=True
        Adds the paper's constant feature, 1 in every row and penalised like the others, for the
        measures that depend on where zero lies; for those that rank, a constant drops out of
        the pairs or of the top k, and the intercept is set to the cut that the measure
        implies. False: no intercept at all.
    {threshold}
        Here the default is None: the cut for which the slack bounds the measure (see Notes).
    {calibration}
    {cv}
    tol : float, default=1e-3
        Relative duality gap to reach.
    max_iter : int, default=1000
        Cuts (most violated labellings) at most.
    verbose : int, default=0
        1 prints one line per cut.

    Attributes
    ----------
    {expansion}
    measure_ : Measure
        The measure as an object.
    objective_ : float
        P at the solution.
    slack_ : float
        The slack at the solution.
    dual_gap_ : float
        ``(P - D) / P``: P from one most violated search at the solution, D from the QP.
    train_score_ : float
        The measure on the training rows.
    n_iter_ : int
        Cuts.
    n_cuts_ : int
        Cuts in the model at the end.
    history_ : list of (seconds, objective, gap)
        One entry per cut.
    {fitted}

    See Also
    --------
    everypair.measures : The measures as objects.
    MeasureSVMCV : Chooses C on held-out rows.
    MeasureOpt : Climbs the measure itself, also where the bound is of no use.
    AUCClassifier : ROC area with other losses, and a threshold for any measure.

    Notes
    -----
    There is no ``sample_weight``. The search for the most violated labelling goes over every
    contingency table of whole counts: among the labellings of one table the best takes the
    highest scores, whatever the rows. With weights a table no longer says which rows it holds,
    and that search is no longer exact.

    `predict` classifies scores above zero as positive: for error, F-beta and functions of the table
    that is the rule the slack is a bound for. For the measures at k zero lies between the k-th and
    the next training score; `predict_top_k` takes exactly k of a batch. For ``"roc_area"`` zero
    maximises true less false positive rate, for ``"partial_roc_area"`` it keeps the false positive
    rate at the upper end of the range.

    Where the classes overlap much and the positives are rare, the slack of F-beta and similar
    measures may have its minimum at w = 0, whatever C is: then no linear rule has a better bound.
    The fit says so with a warning that names `MeasureOpt`.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from everypair import MeasureSVM
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = make_pipeline(StandardScaler(), MeasureSVM("f1", C=0.01)).fit(X, y)
    >>> print(f"{model[-1].train_score_:.3f}")
    0.989
    >>> model[-1].dual_gap_ <= 1e-3
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "measure": [StrOptions(set(MEASURES)), callable, Measure],
        "C": [Interval(Real, 0, None, closed="neither")],
        "beta": [Interval(Real, 0, None, closed="neither")],
        "k": [Real, str, None],
        "fpr": ["array-like"],
        **KernelRanker._kernel_constraints,
        **KernelRanker._rank_constraints,
        "fit_intercept": ["boolean"],
        **OWN_CUTS,
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        measure: str | Measure | Callable[..., Any] = "f1",
        C: float = 1.0,
        beta: float = 1.0,
        k: int | float | str | None = None,
        fpr: tuple[float, float] = (0.0, 0.1),
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
        cv: Any = None,
        tol: float = 1e-3,
        max_iter: int = 1000,
        verbose: int = 0,
    ):
        self.measure = measure
        self.C = C
        self.beta = beta
        self.k = k
        self.fpr = fpr
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
        self.cv = cv
        self.tol = tol
        self.max_iter = max_iter
        self.verbose = verbose

    def fit(self, X: Any, y: ArrayLike, groups: ArrayLike | None = None) -> Self:
        """Fit on rows X with labels y.

        Parameters
        ----------
        {kernel_rows}
        {groups}

        {returns_self}
        """
        return self._fit(X, y, groups, lambda matrix, positive, measure: (float(self.C), None))

    def _fit(
        self,
        X: Any,
        y: ArrayLike,
        groups: ArrayLike | None,
        choose: Callable[[Any, NDArray[np.bool_], Measure], tuple[float, OutOfFold | None]],
    ) -> Self:
        """``choose(matrix, positive, measure)`` says which C, and has out-of-fold scores or not."""
        from everypair.linalg.matrix import as_matrix
        from everypair.linalg.threads import own_threads
        from everypair.solvers.cutting_plane import SlackPath

        self._validate_params()
        X, positive, _ = self._validate_fit(X, y, None)
        measure = measure_of(self.measure, beta=self.beta, k=self.k, fpr=self.fpr)
        self._forget_fit()
        kernel = None if self.kernel == "linear" else self._training_kernel(X)
        with own_threads(), np.errstate(over="ignore", invalid="ignore"):
            matrix: Any
            if kernel is None:
                matrix, basis = as_matrix(X), None
            else:
                tol = float(self.kernel_tol)
                matrix, basis = self._features(kernel, Rows.uncut(positive), self.max_rank, tol)
            C, held_out = choose(matrix, positive, measure)
            path = SlackPath(matrix, positive, measure, self._has_constant(measure))
            fit = path.fit(C, self.tol, self.max_iter, int(self.verbose))
            self.train_score_ = measure.value(positive, fit.scores)
        self.measure_ = measure
        self.objective_, self.slack_, self.dual_gap_ = fit.objective, fit.slack, fit.distance
        self.n_iter_, self.n_cuts_, self.history_ = fit.n_iter, fit.n_cuts, fit.history
        self._positive_share = float(positive.mean())
        scores, own = fit.scores - fit.constant, -float(fit.constant)
        if measure.ranks and self.fit_intercept:
            own = _cut_of(measure)
        asks = self.calibration is not None or self.cv is not None
        if held_out is None and (asks or self.threshold is not None):
            cut = self._cut(X, positive, scores, None, groups, own)
        else:
            cut = self._choose_threshold(positive, scores, None, held_out, own, groups)
        self.intercept_ = np.array([-cut])
        if kernel is None or basis is None:
            self._keep_linear(fit.coef)
        else:
            coefficients = basis.coefficients(fit.coef)
            self._keep_expansion(kernel, basis.pivots, coefficients, basis.left_out)
        if not fit.distance <= self.tol:
            warn_not_converged(
                "relative duality gap", fit.distance, self.tol, fit.n_iter, "lower C"
            )
        elif not np.any(fit.coef):
            self._warn_of_zero(path, C, fit)
        return self

    def _has_constant(self, measure: Measure) -> bool:
        return bool(self.fit_intercept) and not measure.ranks

    def _warn_of_zero(self, path: SlackPath, C: float, fit: SlackResult) -> None:
        """w = 0 is the best: is C too small, or is the bound of no use whatever C is?

        Weights of the planes that leave a gap at C leave at most D / C times it at a larger D.
        Where that proves too little, the fit goes on at a C that is much larger, with its planes.
        """
        slack = fit.slack
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            at_work = fit.loss_at_zero / max(fit.square_at_zero, 1e-290)
            much = MUCH_LARGER * max(C, at_work)
            vacuous = max(fit.distance, np.finfo(np.float64).eps) * (much / C) <= self.tol
            if not vacuous and much <= LARGEST_C:
                large = path.fit(much, self.tol, FEW_CUTS)
                vacuous, slack = not np.any(large.coef), large.slack
        if vacuous:
            warn(
                f"The bound on measure={self.measure!r} is of no use on these rows: w = 0 has its "
                f"least value, {slack:g}, even for C={much:g}. "
                "Use MeasureOpt, which trains on the measure itself.",
                ConvergenceWarning,
            )
        else:
            warn(
                f"w = 0 has the least slack because C={C:g} is too small for features of "
                "this size: raise C or scale X.",
                ConvergenceWarning,
            )

    def predict_top_k(self, X: Any, k: int | float | str | None = None) -> NDArray[Any]:
        """``classes_[1]`` for exactly the k highest scores of this batch of rows.

        Parameters
        ----------
        X : array, data frame or CSR/CSC matrix of shape (n_rows, n_features)
            The batch.
        k : int, float or str, default=None
            As the parameter of that name, which it is by default. A multiple of the positives is
            of those expected: the training share of them times the rows.

        Returns
        -------
        array of shape (n_rows,)
            One label per row.
        """
        scores = self.decision_function(X)
        if k is None and isinstance(self.measure_, FixedCount):
            k = self.measure_.k
        if k is None:
            raise ValueError(f"measure={self.measure!r} has no k: give predict_top_k(X, k=...).")
        count = rows_at_k(k, scores.size, self._positive_share * scores.size)
        chosen = np.zeros(scores.size, dtype=int)
        chosen[np.argsort(-scores, kind="stable")[:count]] = 1
        return self.classes_[chosen]
