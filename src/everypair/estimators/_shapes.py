"""The columns of an additive model: bins, a basis over the bins, and curves as values of bins."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import BSpline
from scipy.linalg import cholesky, solve_triangular

Array = NDArray[np.float64]
Index = NDArray[np.intp]

KINDS = ("spline", "pieces", "linear", "steps", "category")
CONSTRAINTS = ("increasing", "decreasing", "convex", "concave")
SIGNS = {"positive": "increasing", "negative": "decreasing"}
"""Of the slope of a straight line."""

MAX_BINS = 128
"""Bins of a column of numbers, beside the one of missing values: about equal numbers of rows."""

SPLINES = 16
"""Cubic B-splines of a column. A column of fewer bins has a value for each of them."""

RIDGE = 0.03
"""Beside the squares of second (steps: first) differences: what a curve's own size costs."""

NUMBERS = re.compile(r"(sparse\[)?(u?int\d|float|double|half|bool|decimal)")
"""How names of types begin whose values are numbers; categories may have "int" further on."""

OTHER = "(other)"
MISSING = "(missing)"


@dataclass(frozen=True)
class Shape:
    """The bins of one column: ``edges`` between them, or the names of its categories.

    A number x lies in bin k if ``edges[k - 1] < x <= edges[k]``. Missing values have the last bin.
    So have categories that are rare or were not seen, unless there is a bin "(other)".
    """

    name: str
    kind: str
    edges: Array
    """Of numbers; empty for categories."""
    centres: Array
    """Mean value of the rows of each bin, without missing values; empty for categories."""
    categories: tuple[str, ...]
    counts: Array
    """Weight of the rows in each bin, the missing ones last."""

    @property
    def n_bins(self) -> int:
        return self.counts.size

    def codes(self, values: NDArray[Any]) -> Index:
        """The bin of each value."""
        if self.kind == "category":
            number = {name: k for k, name in enumerate(self.categories)}
            missing = self.n_bins - 1
            unknown = number.get(OTHER, missing)
            return np.array(
                [missing if is_missing(v) else number.get(str(v), unknown) for v in values],
                dtype=np.intp,
            )
        numbers = np.asarray(values, dtype=np.float64)
        codes = np.searchsorted(self.edges, numbers, side="left")
        return np.where(np.isnan(numbers), self.n_bins - 1, codes).astype(np.intp)

    def labels(self) -> list[str]:
        """What each bin is called."""
        if self.kind == "category":
            return [*self.categories, MISSING]
        ends = [f"{edge:.6g}" for edge in self.edges]
        if not ends:
            return ["all", MISSING]
        inner = [f"{low} to {high}" for low, high in pairwise(ends)]
        return [f"up to {ends[0]}", *inner, f"above {ends[-1]}", MISSING]

    def table(self) -> Array:
        """A line of basis values per bin, with mean zero over the rows.

        The basis is such that |w|^2 of its coefficients is the roughness of the curve: for a
        spline the squared second differences of its B-splines' coefficients (Eilers & Marx 1996),
        for straight pieces the squared second differences of their values at the knots, for steps
        the squared first differences of the bins' values, for categories their squared values.
        Missing values have a coefficient of their own.
        """
        held = self.counts[:-1]
        if self.kind == "category":
            columns = [np.eye(held.size)]
        elif self.kind == "linear" or held.size <= 2:
            columns = [self._line()]
        elif self.kind == "steps":
            columns = [_whitened(np.eye(held.size), order=1)]
        else:
            basis = self._hats() if self.kind == "pieces" else self._basis()
            columns = [self._line(), _whitened(basis, order=2)]
        numbers = np.hstack(columns)
        mean = held @ numbers / held.sum() if held.sum() > 0 else 0.0
        out = np.zeros((self.n_bins, numbers.shape[1] + 1))
        out[:-1, :-1] = numbers - mean
        out[-1, -1] = 1.0  # a missing value counts as the mean of the others, plus this
        if self.counts[-1] == 0:
            return out[:, :-1]
        return out

    def cone(self, wants: tuple[str, ...]) -> Array:
        """Lines a with ``a.w >= 0`` if and only if the curve of coefficients w is as ``wants`` say.

        Differences of neighbouring bins, or of knots where the curve is straight between them.
        Convex and concave curves are so in the column's own values. A line has length one.
        """
        n_bins = self.n_bins - 1
        places = self._knots() if self.kind == "pieces" else np.arange(n_bins)
        rises = np.diff(self.table()[places], axis=0)
        bends = np.diff(rises / np.diff(self.centres[places])[:, None], axis=0)
        lines = {"increasing": rises, "decreasing": -rises, "convex": bends, "concave": -bends}
        found = np.concatenate([lines[want] for want in wants])
        sizes = np.linalg.norm(found, axis=1)
        return np.asarray(found[sizes > 0] / sizes[sizes > 0, None])

    def without_rounding(self, curve: Array, wants: tuple[str, ...]) -> Array:
        """The curve with no step against its direction, not even one that rounding made."""
        out = curve.copy()
        if "increasing" in wants:
            out[:-1] = np.maximum.accumulate(curve[:-1])
        elif "decreasing" in wants:
            out[:-1] = np.minimum.accumulate(curve[:-1])
        return out

    def _line(self) -> Array:
        """The bins' mean values, standardised."""
        held = self.counts[:-1]
        mean = held @ self.centres / held.sum() if held.sum() > 0 else 0.0
        spread = np.sqrt(held @ (self.centres - mean) ** 2 / max(held.sum(), 1e-300))
        return ((self.centres - mean) / (spread if spread > 0 else 1.0))[:, None]

    def _knots(self) -> Index:
        """Bins at even quantiles, the first and the last among them."""
        n_bins = self.n_bins - 1
        return np.unique(np.linspace(0, n_bins - 1, min(n_bins, SPLINES)).round().astype(np.intp))

    def _hats(self) -> Array:
        """Functions that are one at a knot, zero at the others, straight between in the values."""
        knots = self.centres[self._knots()]
        return np.stack([np.interp(self.centres, knots, hat) for hat in np.eye(knots.size)], axis=1)

    def _basis(self) -> Array:
        """B-splines of the bins' numbers: knots at quantiles. Few bins have a value each.

        Numbers of bins, not ranks of rows: the values beside a heavy one (zeros) keep their shape.
        """
        return splines(self.n_bins - 1, SPLINES)


def splines(n_bins: int, most: int) -> Array:
    """Cubic B-splines over the numbers of bins; a value per bin where there are few."""
    if n_bins <= most:
        return np.eye(n_bins)
    step = 1 / (most - 3)
    knots = step * np.arange(-3, most + 1)
    places = (np.arange(n_bins) + 0.5) / n_bins
    return np.asarray(BSpline.design_matrix(places, knots, 3).toarray())


def _whitened(basis: Array, order: int) -> Array:
    """The basis in coordinates v with ``|v|^2 = |D w|^2 + RIDGE |w|^2``, D differences."""
    differences = np.diff(np.eye(basis.shape[1]), order, axis=0)
    root = cholesky(differences.T @ differences + RIDGE * np.eye(basis.shape[1]), lower=True)
    return np.asarray(solve_triangular(root, basis.T, lower=True).T)


def straight_by_sign(asked: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
    """The constraints with signs as directions, and the kinds of the columns that have a sign."""
    signs = {name: wish for name, wish in asked.items() if isinstance(wish, str) and wish in SIGNS}
    directed = {name: SIGNS[wish] for name, wish in signs.items()}
    return {**asked, **directed}, dict.fromkeys(signs, "linear")


def check_constraints(asked: Mapping[str, Any], names: list[str]) -> dict[str, tuple[str, ...]]:
    """What the curve of each constrained column must be."""
    out = {}
    for name, wish in asked.items():
        wants = (wish,) if isinstance(wish, str) else tuple(wish)
        if name not in names:
            raise ValueError(f"constraints names {name!r}, which is not a column of X.")
        for want in wants:
            if want not in CONSTRAINTS:
                raise ValueError(
                    f"constraints[{name!r}] has {want!r}: use one or more of "
                    f"{', '.join(map(repr, CONSTRAINTS))}, or 'positive' or 'negative' alone."
                )
        for pair in (CONSTRAINTS[:2], CONSTRAINTS[2:]):
            if set(pair) <= set(wants):
                raise ValueError(
                    f"constraints[{name!r}] asks for {pair[0]} and {pair[1]} at once: leave one "
                    f"out, or use shapes={{{name!r}: 'linear'}} for a straight line."
                )
        if wants:
            out[name] = wants
    return out


def learn_shape(*given: Any) -> Shape:
    """Bins from the values of a column, as in `binned`."""
    return binned(*given)[0]


def binned(
    name: str,
    values: NDArray[Any],
    weight: Array | None,
    kind: str | None,
    min_rows: float,
    wants: tuple[str, ...] = (),
) -> tuple[Shape, Index]:
    """Bins from the values of a column, and the bin of each value.

    ``kind`` None: by what the values are.
    """
    if kind is None:
        kind = "category" if values.dtype.kind not in "fiub" else "spline"
    if wants and kind == "category":
        raise ValueError(
            f"constraints names {name!r}, a column of categories, which have no order: "
            "replace them by numbers."
        )
    if kind == "spline" and {"convex", "concave"} & set(wants):
        kind = "pieces"  # a spline of the bins' numbers is not smooth in the values
    if kind == "category":
        shape = _categories(
            name, values, np.ones(len(values)) if weight is None else weight, min_rows
        )
        return shape, shape.codes(values)
    numbers = np.ascontiguousarray(values, dtype=np.float64)
    gone = np.isnan(numbers)
    some = gone.any() or weight is not None
    held = ~gone if weight is None else ~gone & (weight > 0)
    kept = numbers[held] if some else numbers
    edges = _edges(kept, None if weight is None else weight[held])
    codes = np.searchsorted(edges, numbers, side="left")
    of_kept, n_bins = codes[held] if some else codes, edges.size + 1
    share = None if weight is None else weight[held]
    counts = np.bincount(of_kept, share, n_bins).astype(np.float64)
    with np.errstate(invalid="ignore"):
        sums = np.bincount(of_kept, kept if share is None else share * kept, n_bins)
        centres = sums / counts
    centres = np.where(counts > 0, centres, 0.0)
    missing = float(np.count_nonzero(gone) if weight is None else weight[gone].sum())
    shape = Shape(name, kind, edges, centres, (), np.append(counts, missing))
    codes[gone] = shape.n_bins - 1
    return shape, codes.astype(np.intp, copy=False)


def _edges(numbers: Array, weight: Array | None) -> Array:
    """Halfway between neighbouring values: all of them, or those nearest to even quantiles.

    ``weight`` None: all rows weigh the same, and a sort does without the order of the rows.
    """
    if weight is None:
        distinct, sizes = np.unique(numbers, return_counts=True)
    else:
        distinct, place = np.unique(numbers, return_inverse=True)
        sizes = np.bincount(place, weight)
    if distinct.size > MAX_BINS:
        below = np.cumsum(sizes)
        wanted = below[-1] * np.arange(1, MAX_BINS) / MAX_BINS
        last = np.unique(np.searchsorted(below, wanted))
        last = last[last < distinct.size - 1]
    else:
        last = np.arange(distinct.size - 1)
    low, high = distinct[last], distinct[last + 1]
    middle = low / 2 + high / 2
    return np.where((low <= middle) & (middle < high), middle, low)


def _categories(name: str, values: NDArray[Any], weight: Array, min_rows: float) -> Shape:
    counts: dict[str, float] = {}
    missing = 0.0
    for value, w in zip(values.tolist(), weight.tolist(), strict=True):
        if is_missing(value):
            missing += w
        elif w > 0:
            counts[str(value)] = counts.get(str(value), 0.0) + w
    kept = sorted(name for name, count in counts.items() if count >= min_rows)
    rare = sum(count for count in counts.values() if count < min_rows)
    sizes = [counts[name] for name in kept]
    if rare > 0:
        kept, sizes = [*kept, OTHER], [*sizes, rare]
    empty = np.empty(0)
    return Shape(name, "category", empty, empty, tuple(kept), np.array([*sizes, missing]))


def is_missing(value: Any) -> bool:
    try:
        return value is None or bool(value != value)  # noqa: PLR0124
    except TypeError:  # pandas' NA will not say
        return True


def columns_of(X: Any) -> list[tuple[str, NDArray[Any]]]:
    """Name and values of each column of a data frame (pandas, polars, Arrow) or an array.

    Numbers and booleans come as floats with NaN where they are missing, all else as objects.
    """
    if isinstance(X, Mapping) or hasattr(X, "columns") or hasattr(X, "column_names"):
        names = getattr(X, "column_names", None) or list(X.columns)
        return [(str(name), _column(X[name])) for name in names]
    return [(f"x{j}", X[:, j]) for j in range(X.shape[1])]


def _column(series: Any) -> NDArray[Any]:
    kind = str(getattr(series, "dtype", getattr(series, "type", "object"))).lower()
    if NUMBERS.match(kind):
        if hasattr(series, "to_pandas"):  # polars and Arrow
            series = series.to_pandas()
        if hasattr(series, "to_numpy") and hasattr(series, "isna"):
            return np.asarray(series.to_numpy(dtype=np.float64, na_value=np.nan))
        return np.asarray(series, dtype=np.float64)
    to_list = getattr(series, "to_list", getattr(series, "to_pylist", None))
    out = np.empty(len(series), dtype=object)
    out[:] = list(series) if to_list is None else to_list()
    return out
