"""What linear rankers share: scores, certificates, weights of the penalty."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from everypair.estimators._base import BinaryRanker
from everypair.estimators._warnings import warn_not_converged
from everypair.linalg.dense import DenseMatrix

Array = NDArray[np.float64]


class LinearRanker(BinaryRanker):
    """Scores ``X @ coef_ + intercept_``."""

    coef_: Array
    intercept_: Array
    kkt_residual_: float
    tol: float
    max_iter: int

    def _n_coefficients(self, X: Any) -> float:
        return float(X.shape[1])

    def _set_linear(self, coef: Array, threshold: float) -> None:
        self.coef_ = coef.reshape(1, -1)
        self.intercept_ = np.array([-threshold])

    def _keep_certificate(self, what: str, fit: Any) -> None:
        """``kkt_residual_`` where the fit has one; a warning where it or the gap is above tol."""
        residual, distance = getattr(fit, "kkt_residual", None), fit.distance
        rounding = fit.rounding
        if residual is not None:
            self.kkt_residual_ = residual
            if distance <= self.tol:
                what, distance, rounding = "KKT residual", residual, fit.kkt_rounding
        if not distance <= self.tol:
            warn_not_converged(
                what, distance, self.tol, fit.n_iter, max_iter=self.max_iter, rounding=rounding
            )

    def _scores(self, X: Any) -> Array:
        return linear_scores(X, self.coef_[0]) + self.intercept_[0]


def linear_scores(X: Any, coef: Array) -> Array:
    """``X @ coef`` in float64, widening float32 a slice at a time."""
    if not sparse.issparse(X):
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


def check_bounds(bounds: Any, n_features: int) -> tuple[Array, Array] | None:
    """Lowest and highest value of each coefficient; None without bounds."""
    if bounds is None:
        return None
    if len(bounds) != 2:
        raise ValueError(
            f"bounds has {len(bounds)} parts: give a pair (lower, upper), each a number or one "
            "number per feature."
        )
    out = []
    for name, part in zip(("lower", "upper"), bounds, strict=True):
        values = np.asarray(part, dtype=np.float64)
        if values.ndim > 0 and values.shape != (n_features,):
            raise ValueError(
                f"the {name} bounds have shape {values.shape}, but X has {n_features} features: "
                "give one number per feature, or one for all."
            )
        if np.any(np.isnan(values)):
            raise ValueError(f"the {name} bounds have NaN values: use infinity for no bound.")
        out.append(np.array(np.broadcast_to(values, (n_features,))))
    lower, upper = out
    wrong = np.flatnonzero((lower > upper) | (lower == np.inf) | (upper == -np.inf))
    if wrong.size:
        k = int(wrong[0])
        raise ValueError(
            f"no coefficient of feature {k} lies between its bounds {lower[k]:g} and {upper[k]:g}."
        )
    return lower, upper


def check_penalty_weights(weights: Any, n_features: int) -> Array:
    """One weight >= 0 per feature, infinity to exclude it; ones when None.

    At least one must be above zero and finite: alpha would weigh nothing otherwise.
    """
    if weights is None:
        return np.ones(n_features)
    out = np.array(weights, dtype=np.float64)
    if out.shape != (n_features,):
        raise ValueError(
            f"penalty_weights has shape {out.shape}, but X has {n_features} features: give one "
            "weight per feature."
        )
    if not np.all(out >= 0):
        raise ValueError("penalty_weights has negative or NaN values: give numbers >= 0.")
    if not np.any((out > 0) & np.isfinite(out)):
        raise ValueError(
            "penalty_weights are all zero or infinite: at least one feature must be penalised "
            "and not excluded."
        )
    return out
