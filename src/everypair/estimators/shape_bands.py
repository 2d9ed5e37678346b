"""Bands of the curves of an additive model: pointwise, and for a whole curve at once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import stdtrit
from sklearn.utils.validation import check_is_fitted

from everypair.checks import check_level
from everypair.estimators._additive_design import Design, narrow
from everypair.estimators._sandwich import clusters, rows_of_fit, sandwich
from everypair.estimators.additive import AUCAdditive
from everypair.estimators.additive_cv import AUCAdditiveCV

Array = NDArray[np.float64]

DRAWS = 10_000
"""Of a normal curve, for the quantile of its largest deviation: exact to about 1 %."""


@dataclass(frozen=True)
class ShapeBand:
    """The curve of one column with its bands: an entry per bin, the missing values last.

    Attributes
    ----------
    name : str
        The column, or the two columns of a pair.
    curve : array of shape (n_bins,)
        What each bin adds to the score.
    std_error : array of shape (n_bins,)
        The standard error of each value.
    low, high : arrays of shape (n_bins,)
        Pointwise band: each bin has its level by itself.
    all_low, all_high : arrays of shape (n_bins,)
        Simultaneous band: the whole curve lies inside with the level.
    p_value : float
        Of the hypothesis that the curve is flat, by its largest deviation in standard errors.
    """

    name: str
    curve: Array
    std_error: Array
    low: Array
    high: Array
    all_low: Array
    all_high: Array
    p_value: float


class ShapeBands:
    """What `shape_inference` returns: a `ShapeBand` per column and pair, by number or name.

    Parameters
    ----------
    bands : list of ShapeBand
        Columns, then pairs.
    level : float
        Level of the bands.

    See Also
    --------
    shape_inference : Makes it.
    """

    def __init__(self, bands: list[ShapeBand], level: float):
        self.bands, self.level = bands, level

    def __len__(self) -> int:
        return len(self.bands)

    def __iter__(self) -> Iterator[ShapeBand]:
        return iter(self.bands)

    def __getitem__(self, which: int | str) -> ShapeBand:
        if isinstance(which, str):
            return next(band for band in self.bands if band.name == which)
        return self.bands[which]

    def __str__(self) -> str:
        width = max(6, *(len(band.name) for band in self.bands))
        lines = [f"{'column':<{width}} {'lowest':>9} {'highest':>9} {'std error':>10} {'p':>8}"]
        for band in self.bands:
            error = float(np.median(band.std_error))
            lines.append(
                f"{band.name:<{width}} {band.curve.min():9.3g} {band.curve.max():9.3g} "
                f"{error:10.3g} {band.p_value:8.2g}"
            )
        return "\n".join(lines)


def shape_inference(
    model: AUCAdditive | AUCAdditiveCV,
    X: Any,
    y: ArrayLike,
    sample_weight: ArrayLike | None = None,
    *,
    groups: ArrayLike | None = None,
    level: float = 0.95,
) -> ShapeBands:
    """Standard errors and bands of the curves of an additive model, on the rows of its fit.

    The covariance C of the coefficients is the sandwich of `coef_inference`. The value of bin k of
    column j is ``t_k . w_j`` with a line t_k of the column's basis, so its standard error is
    ``sqrt(t_k' C_jj t_k)``. The pointwise band is that times a quantile of Student's t. The
    simultaneous band takes the quantile of the largest ``|deviation| / standard error`` over the
    curve's bins instead, from draws of a multivariate t with this covariance.

    Parameters
    ----------
    model : AUCAdditive or AUCAdditiveCV
        Fitted with ``loss="logistic"``, without constraints and sparsity.
    X : array or data frame of shape (n_rows, n_features)
        The rows that the model was fitted on.
    y : array of shape (n_rows,)
        Their labels.
    sample_weight : array of shape (n_rows,), default=None
        The weights that it was fitted with.
    groups : array of shape (n_rows,), default=None
        Rows of one group depend on each other; groups do not. None: all rows are independent.
    level : float, default=0.95
        Level of the bands.

    Returns
    -------
    ShapeBands
        A band per column and pair: ``bands["age"].low``.

    See Also
    --------
    coef_inference : The same for the coefficients of a linear score.
    everypair.plots.ShapeDisplay : Draws curves with their bands.

    Notes
    -----
    The bands are for the curves that the same fit, with the same ``alpha``, would have on the whole
    population. A large alpha smooths these too: they are then not the curves of the log-odds.
    An alpha and pairs of columns that were chosen on the same rows are not accounted for.
    The bins are taken as given, although they come from the sample: bands of whole curves of
    columns with many values are a little short. docs/benchmarks/shape_bands.md has the coverage.

    References
    ----------
    D. Ruppert, M. P. Wand, R. J. Carroll. Semiparametric Regression. Cambridge University Press,
    2003, section 6.5 (simultaneous bands).

    Examples
    --------
    >>> import numpy as np
    >>> from everypair import AUCAdditive, shape_inference
    >>> rng = np.random.default_rng(0)
    >>> X = rng.integers(0, 5, (1000, 2)).astype(float)
    >>> y = (X[:, 0] - 2) ** 2 + rng.logistic(size=1000) > 2
    >>> model = AUCAdditive(alpha=1e-4).fit(X, y)
    >>> bands = shape_inference(model, X, y)
    >>> bands["x0"].p_value < 0.001, bands["x1"].p_value > 0.05
    (True, True)
    """
    from everypair.linalg.threads import own_threads

    level, alpha = check_level(level), _alpha_of(model)
    X = model._validate_predict(X)
    codes = model._codes(X)
    rows = rows_of_fit(model, y, codes.shape[1], sample_weight)
    cluster = clusters(rows, groups)
    alone = Design(model.shapes_, [], narrow(codes), {}, model.strengths_[: codes.shape[0]])
    design = alone.with_pairs(model.pairs_, 1.0)._replace(strengths=model.strengths_)
    curves = [*model.curves_, *model.pair_values_]
    tables = design.tables()
    # The penalty makes w the shortest of all that have these curves.
    coefs = [np.linalg.pinv(table) @ curve for table, curve in zip(tables, curves, strict=True)]
    with own_threads():
        matrix = design.matrix()
        covariance, freedom = sandwich(matrix, rows, np.concatenate(coefs), alpha, cluster)
    names = [shape.name for shape in model.shapes_]
    names += [f"{names[pair.first]} x {names[pair.second]}" for pair in model.pairs_]
    bands = []
    for number, (name, table, curve) in enumerate(zip(names, tables, curves, strict=True)):
        place = matrix.columns_of(number)
        own = covariance[np.ix_(place, place)]
        bands.append(_band(name, curve, table, own, freedom, level))
    return ShapeBands(bands, level)


def _alpha_of(model: Any) -> float:
    if not isinstance(model, AUCAdditive | AUCAdditiveCV):
        raise TypeError(
            "shape_inference takes a fitted AUCAdditive or AUCAdditiveCV, not "
            f"{type(model).__name__}. In a pipeline, give its last step and the transformed rows."
        )
    check_is_fitted(model)
    sparsity = getattr(model, "sparsity_", model.sparsity)
    if model.loss != "logistic" or model.constraints or sparsity:
        raise ValueError(
            "shape_inference needs loss='logistic', no constraints and sparsity=0, but the model "
            f"has loss={model.loss!r}, constraints={model.constraints!r} and sparsity={sparsity!r}."
        )
    return float(model.alpha_ if isinstance(model, AUCAdditiveCV) else model.alpha)


def _band(
    name: str, curve: Array, table: Array, covariance: Array, freedom: float, level: float
) -> ShapeBand:
    values, vectors = np.linalg.eigh(covariance)
    root = table @ (vectors * np.sqrt(np.maximum(values, 0)))
    error = np.sqrt(np.einsum("kp,kp->k", root, root))
    moves = error > 1e-12 * max(float(error.max(initial=0.0)), 1e-300)
    unit = root[moves] / error[moves, None]
    rng = np.random.default_rng(0)
    drawn = np.abs(rng.standard_normal((DRAWS, root.shape[1])) @ unit.T).max(axis=1, initial=0.0)
    drawn /= np.sqrt(rng.chisquare(freedom, DRAWS) / freedom)
    pointwise = float(stdtrit(freedom, (1 + level) / 2)) * error
    whole = float(np.quantile(drawn, level)) * error
    found = float(np.max(np.abs(curve[moves]) / error[moves], initial=0.0))
    p_value = float((1 + np.count_nonzero(drawn >= found)) / (1 + DRAWS))
    return ShapeBand(
        name, curve.copy(), error, curve - pointwise, curve + pointwise, curve - whole,
        curve + whole, p_value,
    )  # fmt: skip
