"""Standard errors, intervals and p-values of the coefficients of a fit over every pair."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.special import stdtr, stdtrit
from sklearn.utils.validation import check_is_fitted

from everypair.checks import check_level
from everypair.estimators._sandwich import clusters, rows_of_fit, sandwich
from everypair.estimators.auc import AUCClassifier
from everypair.estimators.auc_cv import AUCClassifierCV

Array = NDArray[np.float64]


@dataclass(frozen=True)
class CoefficientTable:
    """What `coef_inference` returns: one entry per feature.

    Attributes
    ----------
    names : array of shape (n_features,)
        Names of the features; ``x0``, ``x1``, ... where X had none.
    coef : array of shape (n_features,)
        The coefficients.
    std_error : array of shape (n_features,)
        Their standard errors.
    low, high : arrays of shape (n_features,)
        The ends of their intervals.
    p_value : array of shape (n_features,)
        Two-sided, of the hypothesis that the coefficient is zero.
    covariance : array of shape (n_features, n_features)
        The covariance matrix of the coefficients.
    level : float
        The level of the intervals.
    """

    names: NDArray[Any]
    coef: Array
    std_error: Array
    low: Array
    high: Array
    p_value: Array
    covariance: Array
    level: float

    def __str__(self) -> str:
        width = max(7, *(len(str(name)) for name in self.names))
        head = f"{'feature':<{width}} {'coef':>10} {'std error':>10} {'p':>8}"
        lines = [f"{head}  {100 * self.level:g} % interval"]
        for name, *numbers in zip(
            self.names, self.coef, self.std_error, self.p_value, self.low, self.high, strict=True
        ):
            coef, error, p, low, high = numbers
            lines.append(
                f"{name!s:<{width}} {coef:10.4g} {error:10.4g} {p:8.2g}  {low:.4g} to {high:.4g}"
            )
        return "\n".join(lines)


def coef_inference(
    model: AUCClassifier | AUCClassifierCV,
    X: Any,
    y: ArrayLike,
    sample_weight: ArrayLike | None = None,
    *,
    groups: ArrayLike | None = None,
    level: float = 0.95,
) -> CoefficientTable:
    """Standard errors, intervals and p-values of the coefficients over every pair.

    The coefficients minimise ``P(w) = sum_ij a_i b_j phi(x_i . w - x_j . w) + alpha / 2 |w|^2``,
    a U-statistic of the rows. Their covariance is the sandwich

        H^-1 V H^-1 ,   H = grad^2 P(w) ,   V = sum_i (c_i - a_i g)(c_i - a_i g)' + the same of j ,

    with the Hájek projections ``c_i = a_i sum_j b_j phi'(z_ij) (x_i - x_j)`` of the gradient g of
    the loss, each class times n / (n - 1 - d), where ``d = tr(H^-1 (H - alpha I))`` is the
    effective number of coefficients, about p where alpha is small. Rows of a group add up before
    they are squared, and count as one in this factor. Intervals are those of Student's t with
    n - 1 - d degrees of freedom of the smaller class. All of it costs O(n p^2), however many pairs
    there are.

    Parameters
    ----------
    model : AUCClassifier or AUCClassifierCV
        Fitted with ``loss="logistic"`` and ``penalty="l2"``.
    X : array, data frame or CSR/CSC matrix of shape (n_rows, n_features)
        The rows that the model was fitted on.
    y : array of shape (n_rows,)
        Their labels.
    sample_weight : array of shape (n_rows,), default=None
        The weights that it was fitted with; the rows are a sample, and the weights say how many
        rows of the population each stands for.
    groups : array of shape (n_rows,), default=None
        Rows of one group (a patient, a site) depend on each other; groups do not. None: all rows
        are independent.
    level : float, default=0.95
        Level of the intervals.

    Returns
    -------
    CoefficientTable
        Coefficients with standard errors, intervals, p-values and covariance.

    See Also
    --------
    AUCClassifier : The estimator.
    everypair.metrics.auc_confidence_interval : The interval of an AUC.

    Notes
    -----
    The intervals are for the w that minimises P over the population, with the same ``alpha``. If
    log-odds are linear in X and ``alpha`` is small this is the coefficient of a logistic
    regression; if they are not, it is the best linear ranking by the pair loss, and the
    intervals still hold. A large ``alpha`` shrinks the target along with the estimate. Columns
    or an ``alpha`` that were chosen by looking at the same rows are not accounted for. With fewer
    than about 20 rows of the rarer class per feature the intervals are too short.

    References
    ----------
    A. W. van der Vaart. Asymptotic Statistics. Cambridge University Press, 1998, chapters 5, 12.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from everypair import AUCClassifier, coef_inference
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> X = X[["mean radius", "mean texture"]] / [3.5, 4.3]
    >>> print(coef_inference(AUCClassifier(alpha=1e-4, tol=1e-10).fit(X, y), X, y))
    feature            coef  std error        p  95 % interval
    mean radius      -3.532     0.3385  8.7e-21  -4.199 to -2.865
    mean texture    -0.9807     0.1582    3e-09  -1.292 to -0.6689
    """
    from everypair.linalg.matrix import as_matrix
    from everypair.linalg.threads import own_threads

    level = check_level(level)
    alpha = _alpha_of(model)
    X = model._validate_predict(X)
    rows = rows_of_fit(model, y, X.shape[0], sample_weight)
    cluster, coef = clusters(rows, groups), model.coef_[0]
    with own_threads():
        matrix = as_matrix(X.tocsr() if sparse.issparse(X) else X)
        covariance, freedom = sandwich(matrix, rows, coef, alpha, cluster)
    error = np.sqrt(np.diag(covariance))
    reach = stdtrit(freedom, (1 + level) / 2) * error
    z = np.divide(coef, error, out=np.zeros_like(coef), where=error > 0)
    names = getattr(model, "feature_names_in_", None)
    if names is None:
        names = np.array([f"x{k}" for k in range(coef.size)])
    p_value = np.where(error > 0, 2 * stdtr(freedom, -np.abs(z)), 1.0)
    return CoefficientTable(
        names, coef.copy(), error, coef - reach, coef + reach, p_value, covariance, level
    )


def _alpha_of(model: Any) -> float:
    if not isinstance(model, AUCClassifier | AUCClassifierCV):
        raise TypeError(
            f"coef_inference takes a fitted AUCClassifier or AUCClassifierCV, not "
            f"{type(model).__name__}. In a pipeline, give its last step and the transformed rows."
        )
    check_is_fitted(model)
    if model.loss != "logistic" or model.penalty != "l2":
        raise ValueError(
            "coef_inference needs loss='logistic' and penalty='l2', but the model has "
            f"loss={model.loss!r} and penalty={model.penalty!r}."
        )
    return float(model.alpha_ if isinstance(model, AUCClassifierCV) else model.alpha)
