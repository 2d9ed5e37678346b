"""AUC-RLS: regularised least squares over every positive–negative pair, in closed form."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import assert_all_finite

from everypair.estimators._base import BinaryRanker, linear_scores, warn
from everypair.estimators._kernel import training_kernel
from everypair.estimators._moment_stream import MomentStream
from everypair.linalg.kernels import (
    KERNEL_NAMES,
    Expansion,
    Kernel,
    KernelFunction,
    check_symmetric,
)

if TYPE_CHECKING:
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


FITTED = {"coef_", "dual_coef_", "X_fit_", "_moments", "_expansion"}
"""Attributes that one form has and another has not."""


class Gram(NamedTuple):
    """The kernel matrix of the rows that have weight."""

    K: Array
    rows: Index
    """Which rows these are."""
    X: Any
    """The rows themselves; of a precomputed kernel the matrix."""
    origin: Array | None = None
    """The point moved to if the kernel is linear."""
    expansion: Expansion | None = None
    """The kernel with new rows if it is not."""
    own: bool = True
    """Whether K may be written over."""


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
        or a function that returns the matrix of k(x, z) for two blocks of rows, as for
        `sklearn.svm.SVC` and everywhere in this library.
    gamma : float, "scale", "auto" or None
        Of the kernel: "scale" is 1 / (n_features * variance of X), "auto" and None 1 / n_features.
    degree, coef0
        Of the kernel, as in `sklearn.kernel_ridge.KernelRidge`.
    form : {"auto", "primal", "dual"}
        ``primal`` solves for one coefficient a feature (linear kernel only), ``dual`` for one a
        row. ``auto`` takes the primal form for the linear kernel when there are fewer features
        than rows.
    threshold : {"midpoint", "balanced", "accuracy", "f1"} or as in `AUCClassifier`
        Where `predict` cuts the scores; sets ``intercept_``. ``midpoint``: halfway between the
        class means of the training scores, which needs the class moments only. The other rules
        (these names, {"fpr": x}, {"tpr": x}, {"cost": (fp, fn)} or a number) look at every
        training score; see `everypair.metrics.threshold_for`.

    Attributes
    ----------
    coef_ : array of shape (1, n_features)
        Linear kernel only.
    dual_coef_ : array of shape (n_rows,)
        Dual form only: A of eq. (8); zero for rows without weight.
    X_fit_ : the training rows that have weight
        Other kernels only; not a copy, unless some have none.
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
        "kernel": [StrOptions(set(KERNEL_NAMES)), callable],
        "gamma": [Interval(Real, 0, None, closed="left"), StrOptions({"scale", "auto"}), None],
        "degree": [Interval(Integral, 1, None, closed="left")],
        "coef0": [Interval(Real, None, None, closed="neither")],
        "form": [StrOptions({"auto", "primal", "dual"})],
        "threshold": [StrOptions({"midpoint", "balanced", "accuracy", "f1"}), dict, Real],
    }

    def __init__(
        self,
        lam: float = 1.0,
        kernel: str | KernelFunction = "linear",
        gamma: float | str | None = None,
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
        from everypair.rls.primal import pair_weight

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
        lam: float,
        gram: Gram | None = None,
    ) -> Self:
        for stale in FITTED & vars(self).keys():
            delattr(self, stale)
        if self._takes_primal(X):
            self._fit_primal(X, positive, weight, lam)
        else:
            gram = self._gram(X, weight) if gram is None else gram
            self._fit_dual(positive, weight, lam, gram)
        return self._trusted(lam)

    def _trusted(self, lam: float) -> Self:
        """This model, with a warning where rounding has left it away from the minimum."""
        coef = self.coef_ if hasattr(self, "coef_") else self.dual_coef_
        if not np.all(np.isfinite(coef)):
            raise ValueError(TOO_SMALL)
        if not self.dual_gap_ <= TRUSTED_GAP:
            warn(
                f"Rounding leaves a relative duality gap of {self.dual_gap_:.1e} at lam={lam:g}: "
                "raise lam or scale the features (StandardScaler).",
                ConvergenceWarning,
            )
        return self

    # --- primal ---------------------------------------------------------------------------

    def _fit_primal(
        self, X: Any, positive: NDArray[np.bool_], weight: Array | None, lam: float
    ) -> None:
        from everypair.linalg.matrix import as_matrix
        from everypair.linalg.threads import thread_limit
        from everypair.rls.moments import PairMoments

        with thread_limit():
            moments = PairMoments.of(as_matrix(X), positive, weight)
        self._solve_primal(self._checked(moments, X), lam)
        if self.threshold != "midpoint":
            scores = linear_scores(X, self.coef_[0])
            self.intercept_ = np.array([-self._choose_threshold(positive, scores, weight)])

    def _checked(self, moments: PairMoments, X: Any) -> PairMoments:
        if not moments.finite:
            self._check_finite(X)
            raise ValueError(TOO_LARGE)
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

    def _gram(self, X: Any, weight: Array | None) -> Gram:
        """Of the rows that have weight: the others, which may lie anywhere, are not looked at."""
        from everypair.rls.gram import kernel_matrix, linear_gram

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
            kernel = training_kernel(self._kernel(), X, weight)
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

    def _kernel(self) -> Kernel:
        gamma = "auto" if self.gamma is None else self.gamma
        return Kernel(self.kernel, gamma, self.degree, self.coef0)

    def _fit_dual(
        self, positive: NDArray[np.bool_], weight: Array | None, lam: float, gram: Gram
    ) -> None:
        from everypair.rls.dual import PairWeights, solve
        from everypair.rls.gram import pull_back

        rows = gram.rows
        self.dual_coef_ = np.zeros(positive.size)
        positive, weight = positive[rows], None if weight is None else weight[rows]
        solution = solve(gram.K, PairWeights(positive, weight), lam, overwrite=gram.own)
        self.dual_coef_[rows] = solution.coef
        self.objective_, self.dual_gap_ = solution.objective, solution.gap
        midpoint = solution.midpoint
        if gram.origin is not None:
            w = pull_back(gram.X, solution.coef, gram.origin)
            self.coef_ = w.reshape(1, -1)
            midpoint += float(gram.origin @ w)
        else:
            assert gram.expansion is not None
            self._expansion = gram.expansion
            if gram.expansion.basis is not None:
                self.X_fit_ = gram.expansion.basis
        threshold = midpoint
        if self.threshold != "midpoint":
            threshold = self._choose_threshold(positive, solution.scores + midpoint, weight)
        self.intercept_ = np.array([-threshold])

    # --- scores ---------------------------------------------------------------------------

    def decision_function(self, X: Any) -> Array:
        """Scores less the threshold: the higher, the more likely of class ``classes_[1]``."""
        X = self._validate_predict(X)
        if hasattr(self, "coef_"):
            return linear_scores(X, self.coef_[0]) + self.intercept_[0]
        coef = self.dual_coef_[self._expansion.rows]
        return self._expansion.scores(X, coef) + self.intercept_[0]
