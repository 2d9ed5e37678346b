"""Boosted trees as plain arrays, read from a booster of LightGBM or XGBoost.

They score rows without the library that grew them, and a model file can hold them: arrays are
checked before compiled code follows their indices, where the libraries' own parsers trust a file.
scikit-learn's compiled walk (that of its histogram gradient boosting) does the scoring.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from everypair.cached import cached_property

Array = NDArray[np.float64]


class NotPlain(ValueError):
    """Trees that are more than cuts of numbers."""


class Node(NamedTuple):
    """A cut ``x[feature] <= cut`` between two children, or a leaf of a value (feature -1)."""

    feature: int
    cut: float
    missing_left: bool
    left: int
    right: int
    value: float


LEAF = Node(-1, 0.0, False, 0, 0, 0.0)
KINDS: dict[str, Any] = {"cut": np.float64, "value": np.float64, "missing_left": np.bool_}
"""Of the arrays; the others are of whole numbers."""


@dataclass(frozen=True)
class PlainTrees:
    """The sum of ``base`` and of the leaf that a row falls into in each tree.

    The nodes of all trees lie one after the other, ``sizes`` of each tree; children are numbers
    inside their tree, above that of their parent. With ``single`` features and sums are rounded to
    float32, as XGBoost does.
    """

    feature: NDArray[np.int64]
    cut: Array
    missing_left: NDArray[np.bool_]
    left: NDArray[np.int64]
    right: NDArray[np.int64]
    value: Array
    sizes: NDArray[np.int64]
    n_features: int
    base: float
    single: bool

    @classmethod
    def of(cls, library: str, booster: Any, n_features: int, n_rounds: int) -> PlainTrees:
        """The trees of the first rounds; `NotPlain` where they are more than cuts of numbers."""
        read = _of_lightgbm if library == "lightgbm" else _of_xgboost
        trees, base = read(booster, n_rounds)
        if _knows_categories(library, booster):
            raise NotPlain("it was trained on columns of categories, which plain trees cannot read")
        nodes = [node for tree in trees for node in tree]
        columns = {name: np.array([getattr(n, name) for n in nodes]) for name in Node._fields}
        return cls(
            **{name: values.astype(KINDS.get(name, np.int64)) for name, values in columns.items()},
            sizes=np.array([len(tree) for tree in trees], dtype=np.int64),
            n_features=n_features, base=base, single=library == "xgboost",
        )  # fmt: skip

    @property
    def holds(self) -> bool:
        """Whether every walk ends in a leaf of its tree and looks at features that there are."""
        return self._has_its_types and self._has_its_sizes and self._walks_end

    @property
    def _has_its_types(self) -> bool:
        arrays = {name: getattr(self, name) for name in (*Node._fields, "sizes")}
        return (
            all(type(a) is np.ndarray and a.ndim == 1 for a in arrays.values())
            and all(a.dtype == KINDS.get(name, np.int64) for name, a in arrays.items())
            and (type(self.n_features), type(self.single), type(self.base)) == (int, bool, float)
            and bool(np.isfinite(self.base))
        )

    @property
    def _has_its_sizes(self) -> bool:
        n_nodes = self.feature.size
        # Bounded one by one first: a sum of large numbers may come round to the right one.
        return (
            all(getattr(self, name).size == n_nodes for name in Node._fields)
            and self.sizes.size > 0
            and bool(np.all((self.sizes >= 1) & (self.sizes <= n_nodes)))
            and int(self.sizes.sum()) == n_nodes
        )

    @property
    def _walks_end(self) -> bool:
        starts = np.repeat(np.cumsum(self.sizes) - self.sizes, self.sizes)
        number = np.arange(self.feature.size) - starts
        size = np.repeat(self.sizes, self.sizes)
        inner = self.feature >= 0
        children = [side[inner] for side in (self.left, self.right)]
        return bool(
            np.isfinite(self.value).all()
            and not np.isnan(self.cut).any()
            and np.all(self.feature < self.n_features)
            and all(np.all((c > number[inner]) & (c < size[inner])) for c in children)
        )

    @cached_property
    def _walks(self) -> list[Any]:
        from sklearn.ensemble._hist_gradient_boosting.common import PREDICTOR_RECORD_DTYPE
        from sklearn.ensemble._hist_gradient_boosting.predictor import TreePredictor

        nodes = np.zeros(self.feature.size, dtype=PREDICTOR_RECORD_DTYPE)
        leaf = self.feature < 0
        nodes["is_leaf"], nodes["feature_idx"] = leaf, np.where(leaf, 0, self.feature)
        nodes["num_threshold"], nodes["value"] = self.cut, self.value
        nodes["missing_go_to_left"] = self.missing_left
        nodes["left"], nodes["right"] = self.left, self.right
        no_sets = np.zeros((0, 8), dtype=np.uint32)
        trees = np.split(nodes, np.cumsum(self.sizes)[:-1])
        return [TreePredictor(tree.copy(), no_sets, no_sets) for tree in trees]

    def scores(self, X: Any, n_threads: int = 1) -> Array:
        """Of each row of a dense or sparse X, of which a block at a time is written out."""
        if X.shape[1] != self.n_features:
            raise ValueError(f"X has {X.shape[1]} columns, but the trees have {self.n_features}.")
        step = max(1, BLOCK_ENTRIES // max(1, X.shape[1]))
        parts = [
            self._of_block(X[start : start + step], n_threads)
            for start in range(0, X.shape[0], step)
        ]
        return np.concatenate(parts) if parts else np.empty(0)

    def _of_block(self, X: Any, n_threads: int) -> Array:
        rows = _written_out(X, self.single) if hasattr(X, "tocoo") else np.asarray(X)
        if self.single:
            with np.errstate(over="ignore"):  # as XGBoost: beyond float32 is infinite
                rows = rows.astype(np.float32)
        rows = np.ascontiguousarray(rows, dtype=np.float64)
        no_sets, no_map = np.zeros((0, 8), dtype=np.uint32), np.zeros(0, dtype=np.uint32)
        kind: Any = np.float32 if self.single else np.float64
        total: Any = np.full(rows.shape[0], self.base, dtype=kind)
        for tree in self._walks:
            total += tree.predict(rows, no_sets, no_map, n_threads).astype(kind, copy=False)
        return np.asarray(total, dtype=np.float64)


def _written_out(X: Any, gaps_are_missing: bool) -> NDArray[Any]:
    """A sparse matrix with its gaps: XGBoost takes these as missing, LightGBM as zeros."""
    stored = X.tocoo()
    rows = np.full(X.shape, np.nan if gaps_are_missing else 0.0)
    rows[stored.row, stored.col] = stored.data
    return rows


BLOCK_ENTRIES = 2**23
"""Entries of X that are written out at once."""


def _knows_categories(library: str, booster: Any) -> bool:
    """Whether a column of the data frame had categories, even if no tree splits by them."""
    if library == "lightgbm":
        return bool(booster.pandas_categorical)
    return "c" in (booster.feature_types or ())


def _of_lightgbm(booster: Any, n_rounds: int) -> tuple[list[list[Node]], float]:
    trees = booster.dump_model(num_iteration=n_rounds)["tree_info"]
    return [_numbered(tree["tree_structure"], _lightgbm_node) for tree in trees], 0.0


def _lightgbm_node(tree: Any) -> tuple[Node, tuple[Any, Any] | None]:
    if "split_feature" not in tree:
        if "leaf_coeff" in tree:
            raise NotPlain("its leaves are linear")
        return LEAF._replace(value=float(tree["leaf_value"])), None
    if tree["decision_type"] != "<=" or tree["missing_type"] == "Zero":
        raise NotPlain("it splits by categories, or takes zeros as missing")
    cut = float(tree["threshold"])
    # Where training rows had no missing values, LightGBM takes missing ones as zeros.
    missing_left = bool(tree["default_left"]) if tree["missing_type"] == "NaN" else cut >= 0
    node = LEAF._replace(feature=int(tree["split_feature"]), cut=cut, missing_left=missing_left)
    return node, (tree["left_child"], tree["right_child"])


def _of_xgboost(booster: Any, n_rounds: int) -> tuple[list[list[Node]], float]:
    kind = json.loads(booster.save_config())["learner"]["gradient_booster"]["name"]
    if kind != "gbtree":
        raise NotPlain(f"its booster is {kind}, not gbtree")
    learner = json.loads(booster[:n_rounds].save_raw("json"))["learner"]
    base = float(learner["learner_model_param"]["base_score"].strip("[]"))
    trees = []
    for tree in learner["gradient_booster"]["model"]["trees"]:
        if any(tree["split_type"]):
            raise NotPlain("it splits by categories")
        trees.append(_numbered((tree, 0), _xgboost_node))
    return trees, base


def _xgboost_node(of: Any) -> tuple[Node, tuple[Any, Any] | None]:
    tree, number = of
    condition = np.float32(tree["split_conditions"][number])
    if tree["left_children"][number] < 0:
        return LEAF._replace(value=float(condition)), None
    # XGBoost asks for x < condition in float32.
    cut = float(np.nextafter(condition, np.float32(-np.inf)))
    feature, left = tree["split_indices"][number], bool(tree["default_left"][number])
    node = LEAF._replace(feature=int(feature), cut=cut, missing_left=left)
    return node, ((tree, tree["left_children"][number]), (tree, tree["right_children"][number]))


def _numbered(root: Any, read: Any) -> list[Node]:
    """The nodes of a tree, parents before their children."""
    nodes: list[Node] = []
    waiting: list[tuple[Any, int, str]] = [(root, -1, "")]
    while waiting:
        here, parent, side = waiting.pop()
        node, children = read(here)
        if parent >= 0:
            child: Any = {side: len(nodes)}
            nodes[parent] = nodes[parent]._replace(**child)
        nodes.append(node)
        if children is not None:
            number = len(nodes) - 1
            waiting += [(children[1], number, "right"), (children[0], number, "left")]
    return nodes
