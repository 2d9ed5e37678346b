"""A decision tree that splits by AUC."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from everypair.estimators._base import CUTS, BinaryRanker
from everypair.rows import Rows
from everypair.solvers.tree import Tree

Array = NDArray[np.float64]

MOST_LEVELS = 1_000
"""Depth of a tree without ``max_depth``: a bound that no table of sense comes near."""

MOST_CODES = 9_999
"""The largest number of a category: its sets are kept as one value per number."""


class AUCTree(BinaryRanker):
    """Decision tree whose splits maximise the AUC of the two leaves they make.

    A split that sends the share p of a node's positives and the share q of its negatives to one
    side ranks the rows of the node with an AUC of ``(1 + |p - q|) / 2``. Each node takes the
    column and cut for which this is largest (AUCsplit: Ferri, Flach & Hernández-Orallo 2002). Its
    score is the rate of positives of a row's leaf, ``(n+ + 1) / (n + 2)``.

    Parameters
    ----------
    max_depth : int, default=None
        Splits on the way to a leaf at most; None sets no limit.
    min_samples_leaf : float, default=5
        Rows that each leaf holds at least, a row counted with its weight.
    ccp_alpha : float, default=0.0
        Branches that gain at most this much AUC per leaf are pruned, the weakest first. See
        `cost_complexity_pruning_path` for the values at which the tree changes.
    categorical_features : array of column numbers, names or booleans, default=None
        Columns of category numbers 0, 1, 2, ... (`sklearn.preprocessing.OrdinalEncoder`). A split
        of such a column sends a set of categories to one side.
    {threshold}
    {calibration}
    {cv}

    Attributes
    ----------
    tree_ : Tree
        The nodes as arrays: ``feature`` (-1 in leaves), ``cut``, ``left``, ``right``,
        ``positives``, ``negatives``, ``gain`` (in AUC), and the sets of categories.
    n_leaves_ : int
        Number of leaves.
    feature_importances_ : array of shape (n_features,)
        Share of each column in the gain of all splits; the shares sum to one.
    intercept_ : array of shape (1,)
        Minus the threshold.
    {train_score}
    {fitted}

    See Also
    --------
    RankBoost : A sum of many one-split trees.
    everypair.boosting.AUCBoostingClassifier : Sums of deeper trees.

    Notes
    -----
    For two leaves the AUC is that of their ordering, and the tree sorts its leaves by their
    rates. Ranked along the branches, the leaves have an AUC of one half plus the gains of all
    splits, and pruning cuts the branches with the least gain per leaf (Breiman et al. 1984).

    Missing values (NaN) go to the side where they gain more, as in scikit-learn's trees. Where a
    split saw none, they and unknown categories go to the side with more rows. X is dense.
    Columns are sorted once; a level then costs O(n_rows n_features).

    References
    ----------
    C. Ferri, P. Flach, J. Hernández-Orallo. Learning decision trees using the area under the ROC
    curve. International Conference on Machine Learning, 2002.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from everypair import AUCTree
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = AUCTree(max_depth=3).fit(X, y)
    >>> print(f"{model.train_score_:.3f} with {model.n_leaves_} leaves")
    0.992 with 8 leaves
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "max_depth": [Interval(Integral, 1, None, closed="left"), None],
        "min_samples_leaf": [Interval(Real, 0, None, closed="neither")],
        "ccp_alpha": [Interval(Real, 0, None, closed="left")],
        "categorical_features": ["array-like", None],
        **CUTS,
    }

    def __init__(
        self,
        max_depth: int | None = None,
        min_samples_leaf: float = 5,
        ccp_alpha: float = 0.0,
        categorical_features: ArrayLike | None = None,
        threshold: str | float | Mapping[str, Any] = "balanced",
        calibration: str | None = None,
        prior: float | None = None,
        cv: Any = None,
    ):
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.ccp_alpha = ccp_alpha
        self.categorical_features = categorical_features
        self.threshold = threshold
        self.calibration = calibration
        self.prior = prior
        self.cv = cv

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = False
        tags.input_tags.allow_nan = True
        return tags

    def fit(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Fit on dense rows X with labels y.

        Parameters
        ----------
        {dense_rows}
        {sample_weight}
        {groups}

        {returns_self}
        """
        from everypair.pairs import auc

        X, positive, weight, tree = self._grow(X, y, sample_weight)
        self.tree_ = tree.pruned(float(self.ccp_alpha))
        self.n_leaves_ = self.tree_.n_leaves
        gains = np.bincount(
            np.maximum(self.tree_.feature, 0), self.tree_.gain, minlength=X.shape[1]
        )
        self.feature_importances_ = gains / gains.sum() if gains.any() else gains
        scores = self._rates(X)
        self.train_score_ = auc(Rows.uncut(positive, weight), scores)
        self.intercept_ = np.array([-self._cut(X, positive, scores, weight, groups)])
        return self

    def cost_complexity_pruning_path(
        self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> tuple[Array, Array]:
        """The values of ``ccp_alpha`` at which the pruned tree changes.

        Parameters
        ----------
        {dense_rows}
        {sample_weight}

        Returns
        -------
        ccp_alphas : array of shape (n_alphas,)
            Growing, from 0: the whole tree, to the value at which only the root is left.
        gains : array of shape (n_alphas,)
            For each of them the AUC above one half, ranked along the branches of the tree.
        """
        *_, tree = self._grow(X, y, sample_weight)
        alphas, gains = [0.0], [float(tree.gain.sum())]
        for alpha, _ in tree.weakest_links():
            gain = float(tree.pruned(alpha).gain.sum())
            if alpha == alphas[-1]:
                gains[-1] = gain
            else:
                alphas.append(alpha)
                gains.append(gain)
        return np.array(alphas), np.array(gains)

    def _grow(
        self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None
    ) -> tuple[NDArray[Any], NDArray[np.bool_], Array, Tree]:
        """The checked rows, and the whole tree of those that weigh anything."""
        from everypair.solvers.tree_growth import grow

        self._validate_params()
        X, y = validate_data(
            self, X, y, dtype=[np.float64, np.float32], ensure_all_finite="allow-nan"
        )
        positive = self._encode_labels(np.asarray(y))
        weight = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        Rows.uncut(positive, weight)  # says so where a class weighs nothing
        self._is_categorical = self._categorical(X)
        # Rows that count for nothing must not offer cuts either.
        kept: Any = slice(None) if weight.all() else weight > 0
        depth = MOST_LEVELS if self.max_depth is None else int(self.max_depth)
        tree = grow(
            X[kept], positive[kept], weight[kept], self._is_categorical, depth,
            float(self.min_samples_leaf),
        )  # fmt: skip
        return X, positive, weight, tree

    def _categorical(self, X: NDArray[Any]) -> NDArray[np.bool_]:
        """Which columns hold categories, with their values checked."""
        chosen = np.zeros(X.shape[1], dtype=bool)
        if self.categorical_features is None:
            return chosen
        given = np.asarray(self.categorical_features)
        if given.dtype.kind in "UO" and given.size:
            names = list(getattr(self, "feature_names_in_", ()))
            unknown = [name for name in given.tolist() if name not in names]
            if unknown:
                raise ValueError(
                    f"categorical_features names {unknown[0]!r}, which is not a column of X."
                )
            given = np.array([names.index(name) for name in given.tolist()])
        if given.dtype == bool and given.shape != chosen.shape:
            raise ValueError(
                f"categorical_features has {given.size} booleans for {X.shape[1]} columns: give "
                "one per column."
            )
        if (
            given.dtype.kind in "iu"
            and given.size
            and not -1 < given.min() <= given.max() < X.shape[1]
        ):
            raise ValueError(
                f"categorical_features has a column number outside 0 to {X.shape[1] - 1}."
            )
        chosen[given] = True
        for f in np.flatnonzero(chosen):
            values = X[~np.isnan(X[:, f]), f]
            wrong = values[(values < 0) | (values != np.floor(values)) | (values > MOST_CODES)]
            if wrong.size:
                raise ValueError(
                    f"Column {f} is categorical but has the value {wrong[0]:g}: give whole numbers "
                    f"from 0 to {MOST_CODES}, for example by OrdinalEncoder."
                )
        return chosen

    def _validate_predict(self, X: Any) -> Any:
        check_is_fitted(self)
        return validate_data(
            self, X, reset=False, dtype=[np.float64, np.float32], ensure_all_finite="allow-nan"
        )

    def _rates(self, X: NDArray[Any]) -> Array:
        """The rate of positives of each row's leaf, by Laplace's rule."""
        leaf = self.tree_.leaf_of(X, self._is_categorical)
        positives, negatives = self.tree_.positives[leaf], self.tree_.negatives[leaf]
        return np.asarray((positives + 1) / (positives + negatives + 2))

    def _scores(self, X: Any) -> Array:
        return self._rates(X) + self.intercept_[0]
