"""AUC-RLS: regularised least squares over every positive–negative pair, in closed form."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import PAIRWISE_KERNEL_FUNCTIONS, pairwise_kernels
from sklearn.utils import gen_batches
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import assert_all_finite

from everypair.estimators._base import BinaryRanker, linear_scores
from everypair.estimators._moment_stream import MomentStream

if TYPE_CHECKING:
    from everypair.rls.moments import PairMoments

Array = NDArray[np.float64]

KERNELS = (*sorted(PAIRWISE_KERNEL_FUNCTIONS), "precomputed")

TRUSTED_GAP = 1e-6
"""A closed form that rounding has left further from the minimum than this warns."""

KERNEL_BYTES = 2**24
"""A block of the kernel matrix between new and training rows."""


class AUCRLS(MomentStream, BinaryRanker):
    """Least squares over every positive–negative pair: AUC-RLS (Pahikkala et al. 2008).

    Minimises, with labels y = +1 and -1, their equations (3) and (6),

        J(f) = sum_ij a_i b_j (y_i - y_j - f(x_i) + f(x_j))^2 + lam |f|^2 ,

    over positives i and negatives j, where a and b are the sample weights (1 by default): a sum
    over pairs, not a mean. In closed form, either from class moments (eq. 11), with
    S = C+ + C- + lam / (A B) I of the class covariances, d the difference of the class means and
    A, B the total weights,

        w = 2 S^-1 d / (1 + d' S^-1 d) ,

    or from the kernel matrix (eq. 8), ``A = (L K + lam I)^-1 L y``. L is never formed.

    Parameters
    ----------
    lam : float >= 0
        Weight of the penalty. At 0 the minimiser of least norm is taken.
    kernel : str or callable
        "linear", "rbf", "polynomial", "cosine" or any other name of
        `sklearn.metrics.pairwise.pairwise_kernels`; "precomputed" (X is then the kernel matrix);
        or a function of two rows that returns a number.
    gamma, degree, coef0
        Of the kernel, as in `sklearn.kernel_ridge.KernelRidge`.
    form : {"auto", "primal", "dual"}
        ``primal`` solves for one coefficient a feature (linear kernel only), ``dual`` for one a
        row. ``auto`` takes the primal form for the linear kernel when there are fewer features
        than rows.
    threshold : {"midpoint", "balanced", "accuracy", "f1"}, {"fpr": x}, {"tpr": x} or float
        Where `predict` cuts the scores; sets ``intercept_``. ``midpoint``: halfway between the
        class means of the training scores, which needs the class moments only. The other rules
        look at every training score (see `everypair.metrics.thresholds.threshold_for`).

    Attributes
    ----------
    coef_ : array of shape (1, n_features)
        Linear kernel only.
    dual_coef_ : array of shape (n_rows,)
        Dual form only: A of eq. (8).
    X_fit_ : the training rows
        Other kernels only; not a copy.
    intercept_ : array of shape (1,)
    classes_ : array of the two labels; the second is the positive one.
    objective_ : float
        J at the solution.
    dual_gap_ : float
        No f has an objective lower than ``objective_`` by more than this share.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    Notes
    -----
    ``AUCRLS(lam)`` is twice ``AUCClassifier(loss="square", alpha=2 * lam / (A * B))``, where A B is
    the number of pairs: the paper's targets are 2 apart, and its penalty is not halved.

    The paper's other method, ordinary RLS, is scikit-learn's `RidgeClassifier` and `KernelRidge`.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.metrics import roc_auc_score
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from everypair import AUCRLS
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = make_pipeline(StandardScaler(), AUCRLS(lam=1000.0)).fit(X, y)
    >>> print(f"{roc_auc_score(y, model.decision_function(X)):.4f}")
    0.9965

    In chunks, with the same result:

    >>> X = StandardScaler().fit_transform(X)
    >>> streamed = AUCRLS(lam=1000.0)
    >>> for start in range(0, len(X), 100):
    ...     rows = slice(start, start + 100)
    ...     streamed = streamed.partial_fit(X[rows], y[rows], classes=[0, 1])
    >>> abs(streamed.coef_ - model[-1].coef_).max() < 1e-12
    np.True_
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "lam": [Interval(Real, 0, None, closed="left")],
        "kernel": [StrOptions(set(KERNELS)), callable],
        "gamma": [Interval(Real, 0, None, closed="left"), None],
        "degree": [Interval(Integral, 1, None, closed="left")],
        "coef0": [Interval(Real, None, None, closed="neither")],
        "form": [StrOptions({"auto", "primal", "dual"})],
        "threshold": [StrOptions({"midpoint", "balanced", "accuracy", "f1"}), dict, Real],
    }

    def __init__(
        self,
        lam: float = 1.0,
        kernel: str | Callable[[Array, Array], float] = "linear",
        gamma: float | None = None,
        degree: int = 3,
        coef0: float = 1,
        form: str = "auto",
        threshold: str | float | Mapping[str, float] = "midpoint",
    ):
        self.lam = lam
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.form = form
        self.threshold = threshold

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags

    def _check_threshold(self) -> None:
        if self.threshold != "midpoint":
            super()._check_threshold()

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit on rows X with labels y.

        Parameters
        ----------
        X : array, data frame or CSR/CSC matrix of shape (n_rows, n_features)
            The kernel matrix, (n_rows, n_rows), for ``kernel="precomputed"``.
        y : array of shape (n_rows,) with two distinct labels
        sample_weight : array of shape (n_rows,), optional
            Non-negative. A pair weighs the product of its rows' weights; a weight of 2 is the
            row given twice.
        """
        self._validate_params()
        X, positive, weight = self._validate_rows(X, y, sample_weight)
        return self._fit_validated(X, positive, weight, float(self.lam))

    def _validate_rows(
        self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None
    ) -> tuple[Any, NDArray[np.bool_], Array | None]:
        if self.form == "primal" and self.kernel != "linear":
            raise ValueError(
                f"form='primal' has one coefficient a feature, which kernel={self.kernel!r} has "
                "not: use form='dual' or kernel='linear'."
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
        lam: float,
        gram: tuple[Array, Array | None] | None = None,
    ) -> Self:
        for stale in {"coef_", "dual_coef_", "X_fit_", "_moments"} & vars(self).keys():
            delattr(self, stale)
        if self._takes_primal(X):
            self._fit_primal(X, positive, weight, lam)
        else:
            self._fit_dual(X, positive, weight, lam, self._gram(X) if gram is None else gram)
        if self.dual_gap_ > TRUSTED_GAP:
            warnings.warn(
                f"Rounding leaves a relative duality gap of {self.dual_gap_:.1e} at lam={lam:g}: "
                "raise lam or scale the features (StandardScaler).",
                ConvergenceWarning,
                stacklevel=3,
            )
        return self

    # --- primal ---------------------------------------------------------------------------

    def _fit_primal(
        self, X: Any, positive: NDArray[np.bool_], weight: Array | None, lam: float
    ) -> None:
        from everypair.matrix import as_matrix
        from everypair.rls.moments import PairMoments
        from everypair.threads import thread_limit

        with thread_limit():
            moments = PairMoments.of(as_matrix(X), positive, weight)
        self._solve_primal(self._checked(moments, X), lam)
        if self.threshold != "midpoint":
            scores = linear_scores(X, self.coef_[0])
            self.intercept_ = np.array([-self._choose_threshold(positive, scores, weight)])

    def _checked(self, moments: PairMoments, X: Any) -> PairMoments:
        if not moments.finite:
            self._check_finite(X)
            raise ValueError(
                "The features are too large for float64: their squares overflow. "
                "Rescale X, for example with StandardScaler."
            )
        return moments

    def _solve_primal(self, moments: PairMoments, lam: float) -> None:
        """The model of these moments, with the midpoint as threshold."""
        from everypair.rls.primal import solve

        self._moments = moments
        solution = solve(moments, lam)
        self.coef_ = solution.coef.reshape(1, -1)
        self.objective_, self.dual_gap_ = solution.objective, solution.gap
        self.intercept_ = np.array([-float(moments.midpoint @ solution.coef)])

    # --- dual -----------------------------------------------------------------------------

    def _kernel(self, X: Any, Y: Any = None) -> Array:
        if callable(self.kernel):
            return np.asarray(pairwise_kernels(X, Y, metric=self.kernel), dtype=np.float64)
        K = pairwise_kernels(
            X,
            Y,
            metric=self.kernel,
            filter_params=True,
            gamma=self.gamma,
            degree=self.degree,
            coef0=self.coef0,
        )
        K = K.toarray() if sparse.issparse(K) else K
        return np.asarray(K, dtype=np.float64)

    def _gram(self, X: Any) -> tuple[Array, Array | None]:
        """The kernel matrix of the training rows, and the origin moved to if it is linear."""
        from everypair.rls.gram import linear_gram

        if self.kernel == "linear":
            return linear_gram(X)
        K = self._kernel(X)
        if not np.all(np.isfinite(K.sum(axis=0))):
            raise ValueError(
                f"kernel={self.kernel!r} gave NaN or infinite values: rescale X or change its "
                "parameters."
            )
        return K, None

    def _fit_dual(
        self,
        X: Any,
        positive: NDArray[np.bool_],
        weight: Array | None,
        lam: float,
        gram: tuple[Array, Array | None],
    ) -> None:
        from everypair.matrix import as_matrix
        from everypair.rls.dual import PairWeights, solve

        K, origin = gram
        own = self.kernel != "precomputed"
        coef = np.zeros(positive.size)
        kept = slice(None) if weight is None else np.flatnonzero(weight > 0)
        if not isinstance(kept, slice):
            if kept.size < positive.size:
                K, own = K[np.ix_(kept, kept)], True
            weight = weight[kept] if weight is not None else None
        weights = PairWeights(positive[kept], weight)
        solution = solve(K, weights, lam, overwrite=own)
        coef[kept] = solution.coef
        self.dual_coef_ = coef
        self.objective_, self.dual_gap_ = solution.objective, solution.gap
        midpoint = solution.midpoint
        if self.kernel == "linear":
            w = as_matrix(X).pull_back(coef)
            self.coef_ = w.reshape(1, -1)
            midpoint += 0.0 if origin is None else float(origin @ w)
        elif self.kernel != "precomputed":
            self.X_fit_ = X
        threshold = midpoint
        if self.threshold != "midpoint":
            threshold = self._choose_threshold(positive[kept], solution.scores + midpoint, weight)
        self.intercept_ = np.array([-threshold])

    # --- scores ---------------------------------------------------------------------------

    def decision_function(self, X: Any) -> Array:
        """Scores less the threshold: the higher, the more likely of class ``classes_[1]``."""
        X = self._validate_predict(X)
        if hasattr(self, "coef_"):
            return linear_scores(X, self.coef_[0]) + self.intercept_[0]
        out = np.empty(X.shape[0])
        Y = None if self.kernel == "precomputed" else self.X_fit_
        step = max(1, KERNEL_BYTES // (8 * self.dual_coef_.size))
        for rows in gen_batches(X.shape[0], step):
            K = X[rows] if Y is None else self._kernel(X[rows], Y)
            out[rows] = K @ self.dual_coef_
        return out + self.intercept_[0]
