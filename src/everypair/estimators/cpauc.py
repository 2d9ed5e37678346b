"""CPAUC: the pairs clustered first, a sparse logistic fit on the centres."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.random import sample_without_replacement
from sklearn.utils.validation import validate_data

from everypair.estimators._base import CUTS
from everypair.estimators._linear import LinearRanker, linear_scores
from everypair.estimators._warnings import warn, warn_not_converged
from everypair.rows import Rows

Array = NDArray[np.float64]

MOST_PAIRS = 2_000_000
MOST_BYTES = 2**29
"""More differences than this, or larger ones, are sampled."""

MOST_SIZE = 1e15
"""Of a feature: squares of differences, summed, stay within float32 as well."""

KMEANS_STEPS = 10
"""Lloyd steps from random rows, one start: what R's kmeans does unless told otherwise."""


class CPAUC(LinearRanker):
    """L1-penalised logistic AUC on clusters of pairs (Kim & Shin 2024, Algorithm 1).

    K-means turns the n+ n- differences ``x_i - x_j`` into N centres c_m; then

        min_w  sum_m v_m log(1 + exp(-c_m . w)) + alpha |w|_1          (eq. 3.1)

    with ``v_m = 1 / N`` by proximal gradient (eq. 3.2). An approximation, here for
    comparison: `AUCClassifier(penalty="l1")` solves the same problem on all pairs (eq. 2.3),
    exactly and in less time.

    Parameters
    ----------
    n_clusters : int, default=None
        Number N of clusters. None: as many as rows (the paper's choice), but never more than
        pairs.
    alpha : float, default=1e-2
        Weight of the penalty, > 0.
    cluster_weights : {"equal", "size"}, default="equal"
        Weights v_m: ``1 / N`` as in the paper, or the share of the pairs in cluster m, which keeps
        the sum an estimate of the sum over pairs.
    {threshold}
    {calibration}
    {cv}
    tol : float, default=1e-6
        Relative duality gap to reach on the centres.
    max_iter : int, default=1000
        Checks at most, ten proximal steps each.
    random_state : int, RandomState or None, default=None
        Of k-means, and of the pairs drawn where there are more than two million, or more than
        512 MB of differences; a warning says so.
    verbose : int, default=0
        1 prints one line per check.

    Attributes
    ----------
    {linear}
    cluster_centers_ : array of shape (N, n_features)
        Centres c_m.
    cluster_weights_ : array of shape (N,)
        Weights v_m.
    n_pairs_ : int
        Differences that were clustered.
    objective_ : float
        Of the problem on the centres.
    dual_gap_ : float
        Likewise, relative.
    {train_score}
    n_iter_ : int
        Checks made, ten proximal steps each.
    {fitted}

    See Also
    --------
    AUCClassifier : With ``penalty="l1"`` the same over all pairs, exactly.
    auc_path : Its whole path.

    Notes
    -----
    There is no ``sample_weight``. In the paper every cluster weighs the same whatever its pairs
    are, so weights of rows would move the centres and nothing else; use `AUCClassifier`.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from everypair import CPAUC
    >>> X, y = make_classification(200, 20, n_informative=3, n_redundant=0, shuffle=False,
    ...                            random_state=0)
    >>> model = CPAUC(alpha=0.2, random_state=0).fit(X, y)
    >>> model.cluster_centers_.shape, bool(model.n_pairs_ == sum(y == 1) * sum(y == 0))
    ((200, 20), True)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_clusters": [Interval(Integral, 1, None, closed="left"), None],
        "alpha": [Interval(Real, 0, None, closed="neither")],
        "cluster_weights": [StrOptions({"equal", "size"})],
        **CUTS,
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        n_clusters: int | None = None,
        alpha: float = 1e-2,
        cluster_weights: str = "equal",
        threshold: str | float | Mapping[str, Any] = "balanced",
        calibration: str | None = None,
        prior: float | None = None,
        cv: Any = None,
        tol: float = 1e-6,
        max_iter: int = 1000,
        random_state: Any = None,
        verbose: int = 0,
    ):
        self.n_clusters = n_clusters
        self.alpha = alpha
        self.cluster_weights = cluster_weights
        self.threshold = threshold
        self.calibration = calibration
        self.prior = prior
        self.cv = cv
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.verbose = verbose

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = False
        return tags

    def fit(self, X: Any, y: ArrayLike, groups: ArrayLike | None = None) -> Self:
        """Fit on dense rows X with labels y.

        Parameters
        ----------
        X : array or data frame of shape (n_rows, n_features)
            Training rows, standardised as the paper asks (`StandardScaler`).
        y : array of shape (n_rows,)
            Two distinct labels.
        {groups}

        {returns_self}
        """
        from everypair.pairs import auc
        from everypair.solvers.progress import Progress
        from everypair.solvers.prox_gradient import proximal_gradient

        self._validate_params()
        X, y = validate_data(self, X, y, dtype=[np.float64, np.float32])
        positive = self._encode_labels(np.asarray(y))
        rng = check_random_state(self.random_state)
        if not np.abs(X).max() <= MOST_SIZE:
            raise ValueError(
                f"The features reach {np.abs(X).max():.1e}, and k-means squares their differences: "
                "rescale X, for example with StandardScaler."
            )
        differences = self._differences(X, positive, rng)
        self.n_pairs_ = differences.shape[0]
        self.cluster_centers_, self.cluster_weights_ = self._cluster(differences, X.shape[0], rng)
        progress = Progress(int(self.max_iter), int(self.verbose))
        fit = proximal_gradient(
            self.cluster_centers_,
            self.cluster_weights_,
            float(self.alpha),
            float(self.tol),
            progress,
        )
        self.objective_, self.dual_gap_, _ = fit.judged
        self.n_iter_ = progress.n_iter
        scores = linear_scores(X, fit.b)
        self.train_score_ = auc(Rows.uncut(positive), scores)
        self._set_linear(fit.b, self._cut(X, positive, scores, None, groups))
        if not self.dual_gap_ <= self.tol:
            warn_not_converged(
                "relative duality gap", self.dual_gap_, self.tol, self.n_iter_,
                max_iter=self.max_iter,
            )  # fmt: skip
        return self

    def _differences(
        self, X: NDArray[Any], positive: NDArray[np.bool_], rng: np.random.RandomState
    ) -> NDArray[Any]:
        positives, negatives = np.flatnonzero(positive), np.flatnonzero(~positive)
        n_pairs = positives.size * negatives.size
        most = min(MOST_PAIRS, max(1, MOST_BYTES // (X.itemsize * X.shape[1])))
        if n_pairs <= most:
            return (X[positives][:, None] - X[negatives][None]).reshape(n_pairs, -1)
        warn(
            f"CPAUC clusters {most} of the {n_pairs} pairs, drawn at random, to bound its memory: "
            "AUCClassifier(penalty='l1') uses all of them.",
            UserWarning,
        )
        drawn = sample_without_replacement(n_pairs, most, random_state=rng)
        return X[positives[drawn // negatives.size]] - X[negatives[drawn % negatives.size]]

    def _cluster(
        self, differences: NDArray[Any], n_rows: int, rng: np.random.RandomState
    ) -> tuple[Array, Array]:
        """Centres and weights of the clusters; k-means' empty ones are gone."""
        from sklearn.cluster import KMeans

        n_pairs = differences.shape[0]
        wanted = min(n_rows, n_pairs) if self.n_clusters is None else int(self.n_clusters)
        if wanted > n_pairs:
            raise ValueError(
                f"n_clusters={wanted} is more than the {n_pairs} pairs: give fewer, or None."
            )
        with warnings.catch_warnings():
            # Fewer distinct differences than clusters: some centres coincide, no harm is done.
            warnings.simplefilter("ignore", ConvergenceWarning)
            found = KMeans(
                wanted, init="random", n_init=1, max_iter=KMEANS_STEPS, random_state=rng
            ).fit(differences)
        sizes = np.bincount(found.labels_, minlength=wanted)
        held = sizes > 0
        centres = found.cluster_centers_[held].astype(np.float64)
        weights = sizes[held] / n_pairs
        if self.cluster_weights == "equal":
            weights = np.full(weights.size, 1 / weights.size)
        return centres, weights
