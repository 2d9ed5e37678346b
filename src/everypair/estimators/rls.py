"""AUC-RLS: regularised least squares over every positive–negative pair, in closed form."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Real
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import assert_all_finite

from everypair.estimators._base import CUTS, WITHIN_WEIGHTS
from everypair.estimators._kernel import KernelRanker
from everypair.estimators._linear import linear_scores
from everypair.estimators._moment_stream import MomentStream
from everypair.estimators._rls_pivots import solve_over_pivots
from everypair.estimators._warnings import warn
from everypair.linalg.kernels import Expansion, KernelFunction, check_symmetric
from everypair.linalg.matrix import canonical
from everypair.rows import Rows

if TYPE_CHECKING:
    from everypair.linalg.blocks import Blocks
    from everypair.rls.dual import DualSolution
    from everypair.rls.gram import Gram
    from everypair.rls.moments import PairMoments

Array = NDArray[np.float64]
Index = NDArray[np.intp]

TRUSTED_GAP = 1e-6
"""A closed form that rounding has left further from the minimum than this warns."""

TOO_SMALL = (
    "The features are too small for float64: their squares vanish. "
    "Rescale X, for example with StandardScaler."
)
TOO_LARGE = (
    "The features are too large for float64: their squares overflow. "
    "Rescale X, for example with StandardScaler."
)


class AUCRLS(MomentStream, KernelRanker):
    """Least squares over every positive–negative pair: AUC-RLS (Pahikkala et al. 2008).

    Minimises (their equations 3 and 6, as a mean over the pairs)

        P(f) = sum_ij a_i b_j (1 - f(x_i) + f(x_j))^2 + alpha / 2 |f|^2 ,

    over positives i and negatives j, where a and b are the sample weights, each class summing to
    one. In closed form, either from class moments (eq. 11), with S = C+ + C- + alpha / 2 I of the
    class covariances and d the difference of the class means,

        w = S^-1 d / (1 + d' S^-1 d) ,

    or from the kernel matrix (eq. 8). The n x n matrix L of the paper is never formed. With
    ``within`` the pairs are those inside groups, weighted as in `AUCClassifier`; the closed form
    then has the class moments of the groups.

    Parameters
    ----------
    alpha : float, default=1e-3
        Weight of the penalty, >= 0, as in `AUCClassifier`. At 0 the minimiser of least norm is
        taken. The paper's lambda is ``alpha * n_pairs / 2``.
    {kernel}
    form : {"auto", "primal", "dual"}, default="auto"
        ``primal`` solves for one coefficient per feature (linear kernel only), ``dual`` for one
        per row. ``auto`` takes the primal form for the linear kernel when there are fewer
        features than rows.
    max_rank : "auto", int or None, default=None
        For kernels other than the linear one: None solves for the whole kernel matrix. A number
        restricts the function to the span of that many training rows; ``"auto"``: as in `ROCSVM`.
    {within_weight}
    {threshold}
        Here the default is ``"midpoint"``, halfway between the class means of the scores,
        because it needs the class moments only: `partial_fit` and `merge` keep no scores.
    {calibration}
    {cv}

    Attributes
    ----------
    {expansion}
    {n_passes}
    objective_ : float
        P at the solution.
    dual_gap_ : float
        No f has an objective lower than ``objective_`` by more than this share.
    {without_pairs}
    {fitted}

    See Also
    --------
    AUCRLSCV : The same with alpha chosen by exact cross-validation.
    AUCClassifier : Other losses and penalties, linear.

    Notes
    -----
    With the linear kernel this is ``AUCClassifier(loss="square", alpha=alpha)``, found in one
    step. The paper's labels are 2 apart and its objective is a sum, so its function is twice
    this one, at ``lambda = alpha * n_pairs / 2``.

    ``dual_coef_`` is there in the dual form only, ``coef_`` with the linear kernel only. There is
    no ``train_score_``, because class moments are enough for a fit: use
    `everypair.metrics.auc_score`. The paper's ordinary RLS is scikit-learn's `RidgeClassifier`.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.metrics import roc_auc_score
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from everypair import AUCRLS
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = make_pipeline(StandardScaler(), AUCRLS(alpha=0.03)).fit(X, y)
    >>> print(f"{roc_auc_score(y, model.decision_function(X)):.4f}")
    0.9965

    In chunks, with the same result:

    >>> X = StandardScaler().fit_transform(X)
    >>> streamed = AUCRLS(alpha=0.03)
    >>> for start in range(0, len(X), 100):
    ...     rows = slice(start, start + 100)
    ...     streamed = streamed.partial_fit(X[rows], y[rows], classes=[0, 1])
    >>> abs(streamed.coef_ - model[-1].coef_).max() < 1e-12
    np.True_
    """

    _takes_blocks = True
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "alpha": [Interval(Real, 0, None, closed="left")],
        **KernelRanker._kernel_constraints,
        "form": [StrOptions({"auto", "primal", "dual"})],
        "max_rank": KernelRanker._rank_constraints["max_rank"],
        "within_weight": WITHIN_WEIGHTS,
        **CUTS,
    }

    def __init__(
        self,
        alpha: float = 1e-3,
        kernel: str | KernelFunction = "linear",
        gamma: float | str = "scale",
        degree: float = 3,
        coef0: float = 0.0,
        form: str = "auto",
        max_rank: int | str | None = None,
        within_weight: str = "pairs",
        threshold: str | float | Mapping[str, Any] = "midpoint",
        calibration: str | None = None,
        prior: float | None = None,
        cv: Any = None,
    ):
        self.alpha = alpha
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.form = form
        self.max_rank = max_rank
        self.within_weight = within_weight
        self.threshold = threshold
        self.calibration = calibration
        self.prior = prior
        self.cv = cv

    def fit(
        self,
        X: Any,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        within: ArrayLike | None = None,
    ) -> Self:
        """Fit on rows X with labels y, or on rows in blocks.

        Parameters
        ----------
        {rows_or_blocks}
            ``kernel="precomputed"`` takes the kernel matrix, and blocks the linear kernel only.
        {sample_weight}
        {groups}
        {within}

        {returns_self}
        """
        self._validate_params()
        if hasattr(self, "n_passes_"):
            del self.n_passes_
        blocks = self._blocks_of(X, y, sample_weight, groups, within)
        if blocks is not None:
            return self._fit_blocks(blocks, float(self.alpha))
        X, positive, weight = self._validate_rows(X, y, sample_weight)
        pairs = self._pair_up(positive, weight, within)
        cross_fits = self._cross_fits(X, positive, weight)
        cuts = self.threshold != "midpoint" and not cross_fits
        if within is None:
            self._fit_validated(X, positive, weight, float(self.alpha), cuts=cuts)
        else:
            self._fit_in_groups(X, pairs, weight, float(self.alpha), cuts)
        if cross_fits:
            scores = self._scores(canonical(X)) - self.intercept_[0]
            cut = self._cut(X, positive, scores, weight, groups, within=within)
            self.intercept_ = np.array([-cut])
        return self

    def _fit_in_groups(
        self, X: Any, pairs: Rows, weight: Array | None, alpha: float, cuts: bool
    ) -> Self:
        from everypair.linalg.matrix import as_matrix
        from everypair.linalg.threads import thread_limit
        from everypair.rls.dual_groups import solve_in_groups
        from everypair.rls.moments import PairMoments

        self._forget_moments()
        self._in_groups = True
        if self._takes_primal(X):
            with thread_limit():
                moments = PairMoments.in_groups(as_matrix(X), pairs)
            self._solve_primal(self._checked(moments, X), alpha)
            scores = linear_scores(X, self.coef_[0])
            midpoint = -self.intercept_[0]
        elif self.max_rank is not None and self.kernel != "linear":
            midpoint, scores = solve_over_pivots(self, X, pairs, weight, alpha)
        else:
            if alpha == 0:
                raise ValueError("alpha=0 has no dual form with within: give alpha > 0.")
            # Rows without a pair weigh nothing, and are not in the kernel matrix.
            gram = self._gram(X, pairs.share)
            solution = solve_in_groups(gram.K, pairs.take(gram.rows), alpha / 2)
            midpoint = self._keep_dual(solution, gram)
            scores = np.full(pairs.n_rows, midpoint)
            scores[gram.rows] += solution.scores
            weight = pairs.share
        if cuts:
            midpoint = self._choose_threshold(pairs.positive, scores, weight)
        self.intercept_ = np.array([-midpoint])
        return self._trusted(alpha)

    def _forget_moments(self) -> None:
        self._forget_fit()
        self._in_groups = False
        if hasattr(self, "_moments"):  # of the primal form
            del self._moments

    def _fit_blocks(self, blocks: Blocks, alpha: float) -> Self:
        """Fit from one pass over the blocks, whose class moments add up."""
        from everypair.estimators._block_training import BlockTraining
        from everypair.linalg.threads import own_threads
        from everypair.rls.moments import PairMoments

        if self.kernel != "linear" or self.form == "dual":
            raise ValueError(
                f"Rows in blocks need kernel='linear' and the primal form, but kernel is "
                f"{self.kernel!r} and form is {self.form!r}."
            )
        with own_threads():
            rows: Any = BlockTraining(self, blocks, "square")
            if blocks.grouped:
                moments = PairMoments.in_groups(rows.X, rows.pairs)
            else:
                moments = PairMoments(*rows.X.pair_moments())
            if not moments.finite:
                raise ValueError(TOO_LARGE)
            self._forget_moments()
            self._in_groups = blocks.grouped
            self._solve_primal(moments, alpha)
            if self.threshold != "midpoint" or self.calibration is not None or self.cv is not None:
                threshold = rows.cut(rows.X.dot(self.coef_[0]))
                self.intercept_ = np.array([-threshold])
        self.n_passes_ = blocks.n_passes
        return self._trusted(alpha)

    def _validate_rows(
        self, X: Any, y: ArrayLike | None, sample_weight: ArrayLike | None
    ) -> tuple[Any, NDArray[np.bool_], Array | None]:
        from everypair.rls.primal import pair_weight

        if self.form == "primal" and self.kernel != "linear":
            raise ValueError(
                f"form='primal' needs one coefficient per feature, and kernel={self.kernel!r} "
                "has none: use form='dual' or kernel='linear'."
            )
        # The primal form sees a NaN in the moments, without a pass over X of its own.
        X, positive, weight = self._validate_fit(X, y, sample_weight, ensure_all_finite=False)
        if sparse.issparse(X) or not self._takes_primal(X):
            self._check_finite(X)
        if self.kernel == "precomputed" and X.shape[0] != X.shape[1]:
            raise ValueError(
                f"X has shape {X.shape}: kernel='precomputed' needs the square kernel matrix of "
                "the training rows."
            )
        if weight is not None:
            for members, name in ((positive, "positive"), (~positive, "negative")):
                if not np.any(weight[members] > 0):
                    raise ValueError(
                        f"The sample_weight of every {name} row is zero: "
                        "at least one row of each class needs a positive weight."
                    )
            pair_weight(float(weight[positive].sum()), float(weight[~positive].sum()))
        return X, positive, weight

    def _check_finite(self, X: Any) -> None:
        values = X.data if sparse.issparse(X) else X
        assert_all_finite(values, estimator_name=type(self).__name__, input_name="X")

    def _takes_primal(self, X: Any) -> bool:
        primal = self.kernel == "linear" and self.form != "dual"
        return primal and (self.form == "primal" or X.shape[1] < X.shape[0])

    def _fit_validated(
        self,
        X: Any,
        positive: NDArray[np.bool_],
        weight: Array | None,
        alpha: float,
        gram: Gram | None = None,
        cuts: bool = False,
    ) -> Self:
        """With the midpoint as threshold, or the one of the training scores where it ``cuts``."""
        self._forget_moments()
        if self._takes_primal(X):
            self._fit_primal(X, positive, weight, alpha, cuts)
        elif gram is None and self.max_rank is not None and self.kernel != "linear":
            rows = Rows.uncut(positive, weight)
            threshold, scores = solve_over_pivots(self, X, rows, weight, alpha)
            if cuts:
                threshold = self._choose_threshold(positive, scores, weight)
            self.intercept_ = np.array([-threshold])
        else:
            gram = self._gram(X, weight) if gram is None else gram
            self._fit_dual(positive, weight, alpha, gram, cuts)
        return self._trusted(alpha)

    def _trusted(self, alpha: float) -> Self:
        """This model, with a warning where rounding has left it away from the minimum."""
        coef = self.coef_ if hasattr(self, "coef_") else self.dual_coef_
        if not np.all(np.isfinite(coef)):
            raise ValueError(TOO_SMALL)
        if not self.dual_gap_ <= TRUSTED_GAP:
            warn(
                f"Rounding leaves a relative duality gap of {self.dual_gap_:.1e} at "
                f"alpha={alpha:g}: raise alpha or scale the features (StandardScaler).",
                ConvergenceWarning,
            )
        return self

    # --- primal ---------------------------------------------------------------------------

    def _fit_primal(
        self, X: Any, positive: NDArray[np.bool_], weight: Array | None, alpha: float, cuts: bool
    ) -> None:
        from everypair.linalg.matrix import as_matrix
        from everypair.linalg.threads import thread_limit
        from everypair.rls.moments import PairMoments

        with thread_limit():
            moments = PairMoments.of(as_matrix(X), positive, weight)
        self._solve_primal(self._checked(moments, X), alpha)
        if cuts:
            scores = linear_scores(X, self.coef_[0])
            self.intercept_ = np.array([-self._choose_threshold(positive, scores, weight)])

    def _checked(self, moments: PairMoments, X: Any) -> PairMoments:
        if not moments.finite:
            self._check_finite(X)
            raise ValueError(TOO_LARGE)
        return moments

    def _solve_primal(self, moments: PairMoments, alpha: float) -> None:
        """The model of these moments, with the midpoint as threshold."""
        from everypair.rls.primal import solve

        self._moments = moments
        solution = solve(moments, alpha / 2)
        self.coef_ = solution.coef.reshape(1, -1)
        self.objective_, self.dual_gap_ = solution.objective, solution.gap
        self.intercept_ = np.array([-float(moments.midpoint @ solution.coef)])

    # --- dual -----------------------------------------------------------------------------

    def _gram(self, X: Any, weight: Array | None) -> Gram:
        """The kernel matrix of the rows with weight; the other rows, which may lie anywhere, are
        not read."""
        from everypair.rls.gram import Gram, kernel_matrix, linear_gram

        rows = np.arange(X.shape[0]) if weight is None else np.flatnonzero(weight > 0)
        if rows.size < X.shape[0]:
            weight = None if weight is None else weight[rows]
            X = X[rows][:, rows] if self.kernel == "precomputed" else X[rows]
        with np.errstate(over="ignore", invalid="ignore"):
            if self.kernel == "linear":
                K, origin = linear_gram(X)
                if not np.all(np.isfinite(8 * K.sum(axis=0))):
                    raise ValueError(TOO_LARGE)
                return Gram(K, rows, X, origin=origin)
            kernel = self._training_kernel(X, weight)
            K = kernel_matrix(kernel)
            usable = np.all(np.isfinite(8 * K.sum(axis=0)))
        if not usable:
            raise ValueError(
                f"kernel={self.kernel!r} gave NaN or infinite values: rescale X or change its "
                "parameters."
            )
        if callable(self.kernel):
            check_symmetric(K)
        basis = None if self.kernel == "precomputed" else X
        return Gram(K, rows, X, expansion=Expansion(kernel.kernel, rows, basis), own=K is not X)

    def _fit_dual(
        self,
        positive: NDArray[np.bool_],
        weight: Array | None,
        alpha: float,
        gram: Gram,
        cuts: bool,
    ) -> None:
        from everypair.rls.dual import PairWeights, solve

        rows = gram.rows
        positive, weight = positive[rows], None if weight is None else weight[rows]
        solution = solve(
            gram.K, PairWeights(Rows.uncut(positive, weight)), alpha / 2, overwrite=gram.own
        )
        threshold = midpoint = self._keep_dual(solution, gram)
        if cuts:
            threshold = self._choose_threshold(positive, solution.scores + midpoint, weight)
        self.intercept_ = np.array([-threshold])

    def _keep_dual(self, solution: DualSolution, gram: Gram) -> float:
        """Sets the attributes of the dual form; where the midpoint of the classes is scored."""
        from everypair.rls.gram import pull_back

        self.dual_coef_, self.support_ = solution.coef.reshape(1, -1), gram.rows
        self.kernel_left_out_ = 0.0
        self.objective_, self.dual_gap_ = solution.objective, solution.gap
        midpoint = solution.midpoint
        if gram.origin is not None:
            w = pull_back(gram.X, solution.coef, gram.origin)
            self.coef_ = w.reshape(1, -1)
            midpoint += float(gram.origin @ w)
        else:
            assert gram.expansion is not None
            self._expansion = gram.expansion
        return midpoint
