"""A gradient boosting of scikit-learn as plain arrays, and back.

Compiled code walks the trees without looking where an index points. So each column of the nodes is
stored by itself, and a model is built again only when every index has been checked: it stays in
its tree, leads away from the root, and names a feature that there is. Only what scoring needs is
stored. Columns of categories, which the encoder never makes, are not supported.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

KIND = "HistGradientBoostingClassifier"
PARTS = {"settings", "classes", "n_features", "baseline", "sizes", "nodes"}


class NotTrees(ValueError):
    """A boosting that a model file cannot hold, or arrays that are none."""


def plain_trees(model: Any) -> dict[str, Any]:
    """The parts of a fitted `HistGradientBoostingClassifier`."""
    trees = [tree for stage in model._predictors for tree in stage]
    if model.is_categorical_ is not None or model.n_trees_per_iteration_ != 1:
        raise NotTrees("only a boosting of numbers and two classes can be saved")
    nodes = np.concatenate([tree.nodes for tree in trees])
    return {
        "settings": model.get_params(deep=False),
        "classes": model.classes_,
        "n_features": int(model.n_features_in_),
        "baseline": model._baseline_prediction,
        "sizes": np.array([tree.nodes.size for tree in trees], dtype=np.int64),
        "nodes": {name: np.ascontiguousarray(nodes[name]) for name in nodes.dtype.names or ()},
    }


def model_of_trees(parts: Any, largest: int) -> Any:
    """The model of `plain_trees`; `NotTrees` where any part is not what it must be.

    Memory is taken for each feature: there may be no more of them than ``largest``.
    """
    from sklearn._loss.loss import HalfBinomialLoss
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.ensemble._hist_gradient_boosting.binning import _BinMapper
    from sklearn.ensemble._hist_gradient_boosting.common import PREDICTOR_RECORD_DTYPE
    from sklearn.ensemble._hist_gradient_boosting.predictor import TreePredictor

    _require(type(parts) is dict and parts.keys() == PARTS)
    n_features, sizes, baseline = parts["n_features"], parts["sizes"], parts["baseline"]
    _require(type(n_features) is int and 0 < n_features <= largest)
    _require(_is(parts["classes"], ndim=1) and parts["classes"].size == 2)
    _require(_is(baseline, np.dtype(np.float64), 2) and baseline.shape == (1, 1))
    _require(bool(np.isfinite(baseline).all()))
    nodes = _nodes(parts["nodes"], PREDICTOR_RECORD_DTYPE)
    _check_nodes(nodes, sizes, n_features)

    settings = parts["settings"]
    model = HistGradientBoostingClassifier()
    _require(type(settings) is dict and settings.keys() <= model.get_params(deep=False).keys())
    _require(all(_is_setting(value) for value in settings.values()))
    model.set_params(**settings)
    mapper = _BinMapper()
    mapper.is_categorical_ = np.zeros(n_features, dtype=np.uint8)
    mapper.bin_thresholds_ = []
    no_sets = np.zeros((0, 8), dtype=np.uint32)
    trees = np.split(nodes, np.cumsum(sizes)[:-1])
    vars(model).update(
        classes_=parts["classes"],
        n_features_in_=n_features,
        _n_features=n_features,
        is_categorical_=None,
        _preprocessor=None,
        n_trees_per_iteration_=1,
        _baseline_prediction=baseline,
        _bin_mapper=mapper,
        _loss=HalfBinomialLoss(),
        _predictors=[[TreePredictor(tree.copy(), no_sets, no_sets)] for tree in trees],
    )
    return model


def _nodes(columns: Any, record: np.dtype[Any]) -> NDArray[Any]:
    """The columns as scikit-learn's records, of exactly its names and types."""
    _require(type(columns) is dict and columns.keys() == set(record.names or ()))
    first = columns["is_leaf"]
    _require(_is(first, ndim=1))
    nodes = np.zeros(first.size, dtype=record)
    for name, column in columns.items():
        _require(_is(column, record[name], 1) and column.size == first.size)
        nodes[name] = column
    return nodes


def _check_nodes(nodes: NDArray[Any], sizes: Any, n_features: int) -> None:
    _require(_is(sizes, np.dtype(np.int64), 1) and sizes.size > 0)
    # Bounded one by one first: a sum of large numbers may come round to the right one.
    _require(bool(np.all((sizes >= 1) & (sizes <= nodes.size))) and int(sizes.sum()) == nodes.size)
    within = np.arange(nodes.size) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    size = np.repeat(sizes, sizes)
    leaf = nodes["is_leaf"]
    _require(bool(np.all(leaf <= 1) and np.all(nodes["is_categorical"] == 0)))
    _require(bool(np.isfinite(nodes["value"]).all() and not np.isnan(nodes["num_threshold"]).any()))
    inner = leaf == 0
    for side in ("left", "right"):
        child = nodes[side].astype(np.int64)
        # Children come after their parent, so that every walk ends in a leaf.
        _require(bool(np.all((child[inner] > within[inner]) & (child[inner] < size[inner]))))
    feature = nodes["feature_idx"]
    _require(bool(np.all((feature[inner] >= 0) & (feature[inner] < n_features))))


def _is(value: Any, dtype: np.dtype[Any] | None = None, ndim: int | None = None) -> bool:
    return (
        type(value) is np.ndarray
        and (dtype is None or value.dtype == dtype)
        and (ndim is None or value.ndim == ndim)
    )


def _is_setting(value: Any) -> bool:
    """Plain, or the directions of the features (``monotonic_cst``)."""
    if type(value) is list:
        return all(type(sign) is int and abs(sign) <= 1 for sign in value)
    return isinstance(value, (str, int, float, type(None)))


def _require(held: bool) -> None:
    if not held:
        raise NotTrees("its trees are not those of a gradient boosting")
