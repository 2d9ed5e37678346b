"""RankBoost: decision stumps added up to rank every positive above every negative."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from everypair.estimators._base import CUTS, BinaryRanker
from everypair.rows import Rows

Array = NDArray[np.float64]


class RankBoost(BinaryRanker):
    """Boosted decision stumps for the exponential loss over every positive–negative pair.

    Adds, in each round, the stump ``h(x) = [x_k > cut]`` and its vote to the score

        F(x) = sum_t vote_t h_t(x) ,

    each chosen to lower the most (Freund, Iyer, Schapire & Singer 2003, sections 3 and 3.2)

        sum_ij a_i b_j exp(-(F(x_i) - F(x_j))) = prod_t Z_t ,

    over the pairs of a positive row i and a negative row j, with the sample weights a and b, each
    class summing to one. This bounds the share of pairs ranked wrongly. The pairs' weights
    are products of the rows' weights, so a round costs O(n p) once the columns are sorted.

    Parameters
    ----------
    n_estimators : int, default=100
        Rounds at most.
    {threshold}
    {calibration}
    {cv}

    Attributes
    ----------
    features_ : array of shape (n_estimators_,)
        Columns of the stumps: ``votes_[t]`` is added where column ``features_[t]`` is above
        ``cuts_[t]``.
    cuts_ : array of shape (n_estimators_,)
        Cuts of the stumps.
    votes_ : array of shape (n_estimators_,)
        Votes of the stumps.
    factors_ : array of shape (n_estimators_,)
        Z of each round; their product is the loss of the training rows.
    n_estimators_ : int
        Rounds made: fewer than asked for where no stump is better than chance or one ranks
        every pair.
    intercept_ : array of shape (1,)
        Minus the threshold.
    {train_score}
    {fitted}

    See Also
    --------
    AUCClassifier : With ``loss="exponential"`` the same loss of a linear score.

    Notes
    -----
    The score is a sum of one step function per feature: an additive model. X is dense; rescaling a
    feature by any growing function changes nothing on the training rows.
    `lab/notes/rankboost.md` has what was decided where the paper leaves a choice.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from everypair import RankBoost
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = RankBoost(n_estimators=5).fit(X, y)
    >>> print(f"{model.train_score_:.3f}, first by column {model.features_[0]}")
    0.990, first by column 22
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_estimators": [Interval(Integral, 1, None, closed="left")],
        **CUTS,
    }

    def __init__(
        self,
        n_estimators: int = 100,
        threshold: str | float | Mapping[str, Any] = "balanced",
        calibration: str | None = None,
        prior: float | None = None,
        cv: Any = None,
    ):
        self.n_estimators = n_estimators
        self.threshold = threshold
        self.calibration = calibration
        self.prior = prior
        self.cv = cv

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = False
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
        from everypair.linalg.threads import thread_limit
        from everypair.pairs import auc
        from everypair.solvers.boosted_stumps import rank_boost

        self._validate_params()
        X, y = validate_data(self, X, y, dtype=[np.float64, np.float32])
        positive = self._encode_labels(np.asarray(y))
        weight = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        pairs = Rows.uncut(positive, weight)  # says so where a class weighs nothing
        kept: Any = slice(None) if weight.all() else weight > 0
        scores = np.zeros(positive.size)
        with thread_limit():
            # Rows that count for nothing must not offer cuts either.
            stumps, scores[kept] = rank_boost(
                X[kept], positive[kept], weight[kept], int(self.n_estimators)
            )
            self.train_score_ = auc(pairs, scores)
        self.features_, self.cuts_, self.votes_, self.factors_ = stumps
        self.n_estimators_ = self.votes_.size
        self.intercept_ = np.array([-self._cut(X, positive, scores, weight, groups)])
        return self

    def _validate_predict(self, X: Any) -> Any:
        check_is_fitted(self)
        return validate_data(self, X, reset=False, dtype=[np.float64, np.float32])

    def _scores(self, X: Any) -> Array:
        scores = np.full(X.shape[0], self.intercept_[0])
        for feature in np.unique(self.features_):
            of_feature = np.flatnonzero(self.features_ == feature)
            of_feature = of_feature[np.argsort(self.cuts_[of_feature])]
            steps = np.concatenate([[0.0], np.cumsum(self.votes_[of_feature])])
            # side="left": a value equal to a cut is not above it.
            cuts = self.cuts_[of_feature]
            scores += steps[np.searchsorted(cuts, X[:, feature].astype(np.float64), side="left")]
        return scores
