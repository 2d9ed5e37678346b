"""Whole regularisation paths over every pair, and the alpha chosen by cross-validation."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self, TypeVar

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.utils._param_validation import Interval, StrOptions, validate_params

from everypair.estimators._base import LinearRanker, check_penalty_weights, warn_not_converged
from everypair.estimators._search import Fold, folds_of, positive_grid
from everypair.estimators.auc import AUCClassifier

if TYPE_CHECKING:
    from everypair.solvers.path import SparseProblem

Array = NDArray[np.float64]
Item = TypeVar("Item")

CONVEX_LOSSES = ("logistic", "squared_hinge", "hinge", "square", "exponential")


class AUCPath(NamedTuple):
    """What `auc_path` returns."""

    alphas: Array
    """Descending."""
    coefs: Array
    """Of shape (n_features, n_alphas)."""
    dual_gaps: Array
    """Relative duality gap of each fit."""
    n_nonzero: NDArray[np.int64]
    """Coefficients that are not zero, of each fit."""


@validate_params(
    {
        "X": ["array-like", "sparse matrix"],
        "y": ["array-like"],
        "loss": [StrOptions(set(CONVEX_LOSSES))],
        "l1_ratio": [Interval(Real, 0, 1, closed="right")],
        "n_alphas": [Interval(Integral, 1, None, closed="left")],
        "eps": [Interval(Real, 0, 1, closed="neither")],
        "alphas": ["array-like", None],
        "penalty_weights": ["array-like", None],
        "sample_weight": ["array-like", None],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "verbose": ["verbose"],
    },
    prefer_skip_nested_validation=True,
)  # type: ignore[untyped-decorator]
def auc_path(
    X: Any,
    y: ArrayLike,
    *,
    loss: str = "logistic",
    l1_ratio: float = 1.0,
    n_alphas: int = 100,
    eps: float = 1e-3,
    alphas: ArrayLike | None = None,
    penalty_weights: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    tol: float = 1e-6,
    max_iter: int = 100,
    verbose: int = 0,
) -> AUCPath:
    """Solutions of `AUCClassifier` with an L1 or elastic-net penalty for many alphas.

        min_w  sum_ij a_i b_j phi(x_i . w - x_j . w)
               + alpha sum_k r_k (l1_ratio |w_k| + (1 - l1_ratio) / 2 w_k^2)

    (Kim & Shin 2024, eq. 2.3, is the logistic loss with ``l1_ratio=1``.) Each fit starts from
    the one before it. The largest alpha of the grid is

        alpha_max = max_k |sum_ij a_i b_j phi'(0) (x_ik - x_jk)| / (l1_ratio r_k) ,

    the least at which every coefficient is zero (unpenalised ones are fitted first).

    Parameters
    ----------
    X : array, data frame or CSR/CSC matrix of shape (n_rows, n_features)
        Used as it comes: scale it first, for example with `StandardScaler`.
    y : array of shape (n_rows,) with two distinct labels
    loss : {"logistic", "squared_hinge", "hinge", "square", "exponential"}
    l1_ratio : float in (0, 1]
    n_alphas, eps : int, float
        The grid: ``n_alphas`` from alpha_max to ``eps * alpha_max``, even in the logarithm.
    alphas : array, optional
        A grid of one's own instead.
    penalty_weights : array of shape (n_features,), optional
        r_k; 0 leaves a feature unpenalised, infinity leaves it out.
    sample_weight : array of shape (n_rows,), optional
    tol, max_iter
        Relative duality gap to reach and Newton steps at most, for each alpha.
    verbose : int
        1 draws a progress bar.

    Returns
    -------
    AUCPath
        ``(alphas, coefs, dual_gaps, n_nonzero)``.

    Examples
    --------
    >>> from everypair import auc_path
    >>> from everypair.data.simulate import simulate
    >>> X, y = simulate("M1", n_rows=400, n_features=40, random_state=0)
    >>> path = auc_path(X, y, n_alphas=5, eps=0.1)
    >>> path.n_nonzero.tolist()
    [0, 3, 3, 4, 8]
    >>> bool(path.dual_gaps.max() <= 1e-6)
    True
    """
    from everypair.matrix import as_matrix
    from everypair.pairs import Pairs
    from everypair.solvers.path import SparseProblem, minimise_path
    from everypair.threads import own_threads

    X, positive, sample_weight = AUCClassifier()._validate_fit(X, y, sample_weight)
    weights = check_penalty_weights(penalty_weights, X.shape[1])
    with own_threads():
        problem = SparseProblem(
            as_matrix(X), Pairs.of(positive, sample_weight), loss, l1_ratio, weights
        )
        grid = _grid(alphas, n_alphas, eps, problem)
        coefs, gaps = np.empty((X.shape[1], grid.size)), np.empty(grid.size)
        roundings, steps = np.empty(grid.size), 0
        fits = minimise_path(problem, grid, tol=tol, max_iter=max_iter)
        for k, fit in enumerate(with_progress(fits, grid.size, "path", verbose)):
            coefs[:, k], gaps[k], roundings[k] = fit.coef, fit.distance, fit.rounding
            steps = max(steps, fit.n_iter)
    if not gaps.max() <= tol:
        warn_not_converged(
            "largest relative duality gap on the path", gaps.max(), tol, steps,
            max_iter=max_iter, rounding=roundings[gaps.argmax()],
        )  # fmt: skip
    return AUCPath(grid, coefs, gaps, np.count_nonzero(coefs, axis=0))


def _grid(alphas: ArrayLike | None, n_alphas: int, eps: float, problem: SparseProblem) -> Array:
    """Descending: one's own alphas, or from the problem's alpha_max."""
    from everypair.solvers.path import alpha_grid

    if alphas is None:
        return alpha_grid(problem.alpha_max, int(n_alphas), float(eps))
    return np.sort(positive_grid(alphas, "alphas"))[::-1]


def with_progress(items: Iterable[Item], total: int, what: str, verbose: int) -> Iterator[Item]:
    """The items, and a bar on stderr that grows with them."""
    for done, item in enumerate(items, start=1):
        if verbose:
            bar = "#" * (30 * done // total)
            end = "\n" if done == total else ""
            text = f"\r[everypair] {what} [{bar:<30}] {done}/{total}"
            print(text, end=end, file=sys.stderr, flush=True)
        yield item


class AUCClassifierCV(LinearRanker):
    """`AUCClassifier` with an L1 or elastic-net penalty, alpha chosen by cross-validated AUC.

    In every fold a whole path is fitted on the training rows (`auc_path`) and each of
    its solutions is scored by the exact AUC of the held-out rows. The alpha (and l1_ratio) with the
    highest mean AUC is refitted on all rows, as part of a last path.

    Parameters
    ----------
    loss : {"logistic", "squared_hinge", "hinge", "square", "exponential"}
    l1_ratio : float in (0, 1] or list of floats
        1 is the L1 penalty. From a list the best is chosen.
    n_alphas, eps : int, float
        The grid: ``n_alphas`` from alpha_max (of all rows) to ``eps * alpha_max``.
    alphas : array, optional
        A grid of one's own instead.
    penalty_weights : array of shape (n_features,), optional
        As in `AUCClassifier`.
    cv : int, splitter, iterable or None
        None: 5 stratified folds.
    selection : {"best", "one_standard_error"}
        ``one_standard_error`` takes the largest alpha whose mean AUC is within one standard
        error of the best: fewer features for an AUC that cannot be told apart.
    threshold, tol, max_iter
        As in `AUCClassifier`.
    n_jobs : int, optional
        Threads over folds and l1_ratios.
    verbose : int
        1 draws a progress bar.

    Attributes
    ----------
    alpha_, l1_ratio_ : float
        The chosen ones.
    alphas_ : array of shape (n_l1_ratios, n_alphas)
    auc_path_ : array of shape (n_l1_ratios, n_alphas, n_folds)
        AUC of the held-out rows.
    coefs_ : sparse array of shape (n_features, n_alphas)
        Coefficients on all rows along the chosen l1_ratio's alphas.
    dual_gaps_ : array of shape (n_alphas,)
        Their relative duality gaps.
    coef_, intercept_, classes_, objective_, dual_gap_, kkt_residual_, train_auc_, n_iter_, history_
        Of the fit at ``alpha_`` on all rows, as in `AUCClassifier`.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    Notes
    -----
    X is not copied for the folds: held-out rows weigh nothing, and their scores fall out of the
    same product.

    Examples
    --------
    >>> from everypair import AUCClassifierCV
    >>> from everypair.data.simulate import simulate
    >>> X, y = simulate("M1", n_rows=400, n_features=40, random_state=0)
    >>> model = AUCClassifierCV(selection="one_standard_error").fit(X, y)
    >>> (model.coef_[0] != 0).nonzero()[0].tolist()
    [0, 1, 2]
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "loss": [StrOptions(set(CONVEX_LOSSES))],
        "l1_ratio": [Interval(Real, 0, 1, closed="right"), "array-like"],
        "n_alphas": [Interval(Integral, 1, None, closed="left")],
        "eps": [Interval(Real, 0, 1, closed="neither")],
        "alphas": ["array-like", None],
        "penalty_weights": ["array-like", None],
        "cv": ["cv_object"],
        "selection": [StrOptions({"best", "one_standard_error"})],
        "threshold": [StrOptions({"balanced", "accuracy", "f1"}), dict, Real],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "n_jobs": [Integral, None],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        loss: str = "logistic",
        l1_ratio: float | ArrayLike = 1.0,
        n_alphas: int = 100,
        eps: float = 1e-3,
        alphas: ArrayLike | None = None,
        penalty_weights: ArrayLike | None = None,
        cv: Any = None,
        selection: str = "best",
        threshold: str | float | Mapping[str, float] = "balanced",
        tol: float = 1e-6,
        max_iter: int = 100,
        n_jobs: int | None = None,
        verbose: int = 0,
    ):
        self.loss = loss
        self.l1_ratio = l1_ratio
        self.n_alphas = n_alphas
        self.eps = eps
        self.alphas = alphas
        self.penalty_weights = penalty_weights
        self.cv = cv
        self.selection = selection
        self.threshold = threshold
        self.tol = tol
        self.max_iter = max_iter
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Choose alpha by cross-validation, then fit on all rows.

        Parameters
        ----------
        X : array, data frame or CSR/CSC matrix of shape (n_rows, n_features)
        y : array of shape (n_rows,) with two distinct labels
        sample_weight : array of shape (n_rows,), optional
            Used in the fits and in the AUC of the held-out rows.
        groups : array of shape (n_rows,), optional
            For the splitter ``cv``, for example `sklearn.model_selection.GroupKFold`.
        """
        from everypair.matrix import as_matrix
        from everypair.pairs import Pairs, auc
        from everypair.solvers.path import SparseProblem, minimise_path
        from everypair.threads import own_threads

        self._validate_params()
        X, positive, sample_weight = self._validate_fit(X, y, sample_weight)
        ratios = np.atleast_1d(np.asarray(self.l1_ratio, dtype=np.float64))
        if ratios.size == 0 or not np.all((ratios > 0) & (ratios <= 1)):
            raise ValueError(f"l1_ratio={self.l1_ratio!r} must lie in (0, 1].")
        weights = check_penalty_weights(self.penalty_weights, X.shape[1])
        matrix, pairs = as_matrix(X), Pairs.of(positive, sample_weight)
        problems = [SparseProblem(matrix, pairs, self.loss, r, weights) for r in ratios]
        self.alphas_ = np.array([_grid(self.alphas, self.n_alphas, self.eps, p) for p in problems])
        folds = folds_of(self.cv, X, positive, sample_weight, groups, each_has_auc=True)
        self.auc_path_ = self._cross_validate(
            matrix, positive, sample_weight, folds, ratios, weights
        )
        best, chosen = self._select(self.auc_path_)
        self.l1_ratio_, self.alpha_ = float(ratios[best]), float(self.alphas_[best, chosen])
        with own_threads():
            problem = SparseProblem(matrix, pairs, self.loss, self.l1_ratio_, weights)
            columns, gaps = [], []
            fits = minimise_path(
                problem, self.alphas_[best], tol=float(self.tol), max_iter=int(self.max_iter)
            )
            for k, each in enumerate(fits):
                columns.append(sparse.csc_array(each.coef.reshape(-1, 1)))
                gaps.append(each.distance)
                if k == chosen:
                    fit = each
            self.train_auc_ = auc(pairs, fit.scores)
        # Sparse, so that a model of many features stays small.
        self.coefs_, self.dual_gaps_ = sparse.hstack(columns, format="csc"), np.array(gaps)
        self.objective_, self.dual_gap_, self.n_iter_ = fit.objective, fit.distance, fit.n_iter
        self.history_ = fit.history
        self._set_linear(fit.coef, self._choose_threshold(positive, fit.scores, sample_weight))
        if hasattr(self, "kkt_residual_"):
            del self.kkt_residual_  # of an earlier fit; the hinge has none
        self._keep_certificate("relative duality gap", fit)
        return self

    def _cross_validate(
        self,
        matrix: Any,
        positive: NDArray[np.bool_],
        sample_weight: Array | None,
        folds: list[Fold],
        ratios: Array,
        weights: Array,
    ) -> Array:
        """AUC of the held-out rows: ``[l1_ratio, alpha, fold]``."""
        from everypair.threads import available_threads, one_blas_thread

        n_jobs = min(effective_n_jobs(self.n_jobs), len(folds) * ratios.size)
        n_threads = max(1, available_threads() // n_jobs)
        tasks = [
            delayed(_fold)(
                matrix, positive, sample_weight, train, test, self.loss, float(ratio), weights,
                grid, float(self.tol), int(self.max_iter), n_threads,
            )
            for ratio, grid in zip(ratios, self.alphas_, strict=True)
            for train, test in folds
        ]  # fmt: skip
        # BLAS keeps one thread while ours run side by side: its limit belongs to the process.
        with one_blas_thread():
            parallel = Parallel(n_jobs=n_jobs, prefer="threads", return_as="generator")
            done = with_progress(parallel(tasks), len(tasks), "cross-validation", self.verbose)
            results = list(done)
        worst, rounding = max(gap for _, gap, _ in results)
        if not worst <= self.tol:
            steps = max(n_iter for _, _, n_iter in results)
            warn_not_converged(
                "largest relative gap in the folds", worst, self.tol, steps,
                max_iter=self.max_iter, rounding=rounding,
            )  # fmt: skip
        aucs = np.array([scores for scores, _, _ in results])
        return aucs.reshape(ratios.size, len(folds), -1).transpose(0, 2, 1)

    def _select(self, aucs: Array) -> tuple[int, int]:
        """Which l1_ratio and which alpha; the largest alpha among equals."""
        means = aucs.mean(axis=2)
        best, at = np.unravel_index(np.argmax(means), means.shape)
        least = means[best, at] - 1e-12
        if self.selection == "one_standard_error" and aucs.shape[2] > 1:
            least -= aucs[best, at].std(ddof=1) / np.sqrt(aucs.shape[2])
        return int(best), int(np.argmax(means[best] >= least))


def _fold(
    matrix: Any,
    positive: NDArray[np.bool_],
    sample_weight: Array | None,
    train: NDArray[np.intp],
    test: NDArray[np.intp],
    loss: str,
    l1_ratio: float,
    weights: Array,
    alphas: Array,
    tol: float,
    max_iter: int,
    n_threads: int,
) -> tuple[list[float], tuple[float, float], int]:
    """AUC of the test rows at each alpha, the worst gap with its rounding, and the most steps."""
    from everypair.pairs import Pairs, auc
    from everypair.solvers.path import SparseProblem, minimise_path
    from everypair.threads import thread_limit

    row_weight = np.ones(positive.size) if sample_weight is None else sample_weight
    training = np.zeros(positive.size)
    training[train] = row_weight[train]
    held_out = Pairs.of(positive[test], row_weight[test])
    aucs, gap, steps = [], (0.0, 0.0), 0
    with thread_limit(n_threads):
        problem = SparseProblem(matrix, Pairs.of(positive, training), loss, l1_ratio, weights)
        for fit in minimise_path(problem, alphas, tol=tol, max_iter=max_iter):
            aucs.append(auc(held_out, fit.scores[test]))
            gap, steps = max(gap, (fit.distance, fit.rounding)), max(steps, fit.n_iter)
    return aucs, gap, steps
