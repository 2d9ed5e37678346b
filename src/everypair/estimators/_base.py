"""What every binary classifier of the library shares with scikit-learn and with the others."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from everypair.metrics.thresholds import threshold_for

Array = NDArray[np.float64]


class BinaryRanker(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Two classes, a score that ranks, and a threshold chosen on the training scores.

    The second of the sorted labels is the positive one. `decision_function` is the score
    less the threshold; `predict` says positive where it is above zero.
    """

    classes_: NDArray[Any]
    threshold: Any

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.input_tags.sparse = True
        return tags

    def _validate_fit(
        self, X: Any, y: Any, sample_weight: Any
    ) -> tuple[Any, NDArray[np.bool_], Array | None]:
        """X as it came (float32 or 64, dense, CSR or CSC), which rows are positive, weights."""
        X, y = validate_data(
            self, X, y, accept_sparse=["csr", "csc"], dtype=[np.float64, np.float32]
        )
        positive = self._encode_labels(y)
        if sample_weight is not None:
            sample_weight = _check_sample_weight(
                sample_weight, X, dtype=np.float64, ensure_non_negative=True
            )
        return X, positive, sample_weight

    def _encode_labels(self, y: NDArray[Any]) -> NDArray[np.bool_]:
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        name = type(self).__name__
        if self.classes_.size == 1:
            raise ValueError(
                f"{name} needs two classes, but y has only one class: {self.classes_[0]!r}."
            )
        if self.classes_.size > 2:
            kind = type_of_target(y, input_name="y")
            raise ValueError(
                f"Only binary classification is supported. The type of the target is {kind}: y has "
                f"{self.classes_.size} classes. "
                f"Wrap {name} in sklearn.multiclass.OneVsRestClassifier."
            )
        return codes == 1

    def _choose_threshold(
        self, positive: NDArray[np.bool_], scores: Array, sample_weight: Array | None
    ) -> float:
        return threshold_for(positive, scores, self.threshold, sample_weight)

    def _validate_predict(self, X: Any) -> Any:
        check_is_fitted(self)
        return validate_data(
            self, X, reset=False, accept_sparse=["csr", "csc"], dtype=[np.float64, np.float32]
        )

    def decision_function(self, X: Any) -> Array:
        """Scores less the threshold: the higher, the more likely of class ``classes_[1]``."""
        raise NotImplementedError

    def predict(self, X: Any) -> NDArray[Any]:
        """``classes_[1]`` where `decision_function` is above zero, else ``classes_[0]``."""
        above = self.decision_function(X) > 0
        return self.classes_[above.astype(int)]


class LinearRanker(BinaryRanker):
    """Scores ``X @ coef_ + intercept_``."""

    coef_: Array
    intercept_: Array

    def _set_linear(self, coef: Array, threshold: float) -> None:
        self.coef_ = coef.reshape(1, -1)
        self.intercept_ = np.array([-threshold])

    def decision_function(self, X: Any) -> Array:
        X = self._validate_predict(X)
        return linear_scores(X, self.coef_[0]) + self.intercept_[0]


def linear_scores(X: Any, coef: Array) -> Array:
    """``X @ coef`` in float64, widening float32 a slice at a time."""
    if not sparse.issparse(X):
        from everypair.matrix import DenseMatrix

        return DenseMatrix(X).dot(coef)
    if X.dtype == np.float64:
        return np.asarray(X @ coef)
    out = np.zeros(X.shape[0])
    step = 10_000
    if X.format == "csr":
        for start in range(0, X.shape[0], step):
            out[start : start + step] = X[start : start + step] @ coef
    else:
        for start in range(0, X.shape[1], step):
            out += X[:, start : start + step] @ coef[start : start + step]
    return out


def warn_not_converged(
    what: str, distance: float, tol: float, n_iter: int, easier: str = "raise alpha"
) -> None:
    warnings.warn(
        f"The {what} is {distance:.1e} after {n_iter} iterations, above tol={tol:g}: raise "
        f"max_iter, scale the features (StandardScaler) or {easier}.",
        ConvergenceWarning,
        stacklevel=3,
    )
