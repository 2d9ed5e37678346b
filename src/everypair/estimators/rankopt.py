"""RankOpt: the sigmoid rank statistic, a smooth AUC, climbed over the directions of w."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions

from everypair.estimators._base import LinearRanker, warn
from everypair.estimators._search import folds_of

if TYPE_CHECKING:
    from everypair.linalg.matrix import Matrix
    from everypair.pairs import Pairs
    from everypair.solvers.sphere import Step

Array = NDArray[np.float64]

LINEAR_SATURATIONS = (0.1, 0.3, 0.5, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 0.99)
ALL_SATURATIONS = (0.5, 0.9)
CV_SATURATIONS = (0.01, 0.1, 0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 0.98, 0.995, 0.999, 0.9999)

STEEP, LEAST_GAIN = 0.9, 0.003
"""From this saturation on, the folds stop at a radius whose mean ``1 - AUC`` is not lower by this
share than the one before: the largest radii are the dearest. Below it a climb is cheap, and
AUC may fall before it rises."""


class RadiusRow(NamedTuple):
    """One radius of one climb: a row of ``path_``."""

    subfold: int
    saturation: float
    radius: float
    training: float
    validation: float
    auc: float
    n_iter: int


class _SphereClimber(LinearRanker):
    """What `RankOpt` and `RankOptCV` share."""

    path_: list[RadiusRow]
    max_iter: int
    tol: float

    def _fit(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None,
        climb: Callable[[Matrix, Pairs, float], Array],
    ) -> Self:
        """``climb(X, pairs, share of positives)`` finds the coefficients and sets ``path_``."""
        from everypair.linalg.matrix import as_matrix
        from everypair.linalg.threads import own_threads
        from everypair.pairs import Pairs, auc

        self._validate_params()
        X, positive, sample_weight = self._validate_fit(X, y, sample_weight)
        matrix, pairs = as_matrix(X), Pairs.of(positive, sample_weight)
        with own_threads(), np.errstate(over="ignore", invalid="ignore"):
            # Relative to the largest, so that huge weights do not overflow in their sum.
            relative = None if sample_weight is None else sample_weight / sample_weight.max()
            positive_share = float(np.average(positive, weights=relative))
            coef = climb(matrix, pairs, positive_share)
            scores = matrix.dot(coef)
            self.train_auc_ = auc(pairs, scores)
        self.n_iter_ = sum(row.n_iter for row in self.path_)
        self._set_linear(coef, self._choose_threshold(positive, scores, sample_weight))
        return self

    def _climb_every_pair(
        self,
        X: Matrix,
        pairs: Pairs,
        positive_share: float,
        saturations: tuple[float, ...],
        covariance: Array | None,
    ) -> tuple[Iterator[Step], Array]:
        """The climbs over every pair, one as each is asked for, and the sphere's scale."""
        from everypair.solvers.rank_statistic import AllPairsStatistic
        from everypair.solvers.sphere import Sphere, climb_by_lbfgs, climb_path

        sphere, start = Sphere.around(X, pairs, positive_share, covariance)
        statistic = AllPairsStatistic(pairs)
        steps = climb_path(
            sphere, statistic, start, saturations, climb_by_lbfgs, self.max_iter, self.tol
        )
        return steps, sphere.scale

    def _climb_to_the_last(
        self,
        X: Matrix,
        pairs: Pairs,
        positive_share: float,
        saturations: tuple[float, ...],
        covariance: Array | None,
        validation: Any = None,
    ) -> Array:
        """The coefficients at the last of these radii; sets ``path_``."""
        climbs, scale = self._climb_every_pair(X, pairs, positive_share, saturations, covariance)
        steps = list(climbs)
        self.path_ = _rows(steps, pairs, validation)
        self._warn_if_cut_short(steps)
        return np.asarray(steps[-1].radius * scale * steps[-1].climb.direction)

    def _warn_if_cut_short(self, steps: Iterable[Step]) -> None:
        for step in steps:
            if not step.climb.converged:
                warn(
                    f"The climb at saturation {step.saturation:g} was cut short by "
                    f"max_iter={self.max_iter}: raise max_iter or tol={self.tol:g}.",
                    ConvergenceWarning,
                )
                return


class RankOpt(_SphereClimber):
    """Linear classifier that climbs the sigmoid rank statistic, a smooth AUC, on a sphere.

    Maximises over directions u, at a series of radii r (Herschtal & Raskutti 2004, eq. 1),

        R(w) = sum_ij a_i b_j sigma(x_i . w - x_j . w) ,   w = r scale u,  |u| = 1 ,

    over the pairs of a positive row i and a negative row j; sigma is the logistic function, a
    and b are the sample weights, each class summing to one, and ``scale`` gives each feature
    a variance of one. A radius is known by the share of pairs that it saturates,
    ``|x_i . w - x_j . w| > 5``, each pair counted with its weight ``a_i b_j``. A small radius
    makes R nearly linear and the direction smooth; as the radius grows R tends to AUC itself.
    It acts as the penalty does elsewhere.

    Parameters
    ----------
    pairs : {"all", "linear"}
        ``all`` sums over every pair exactly, in linear time, and climbs by L-BFGS. ``linear``
        is the paper's algorithm: Q random pairs that use each row of the larger class once
        (eq. 2), projected gradients, the radius chosen on pairs of another offset, and
        ``n_subfolds`` such climbs averaged.
    saturation : float or ascending sequence of floats in (0, 1), optional
        Shares of saturated pairs; each climb starts where the one before ended, and its radius
        is measured there. Tied pairs never saturate: a share that they put out of reach
        saturates all others. For ``all`` the model is that of the last, and None means
        ``(0.5, 0.9)``; lower it for few or noisy rows, or let `RankOptCV` choose. For
        ``linear`` the model is that of the best validation statistic, and None means the
        paper's series from 0.1 to 0.99.
    n_subfolds : int
        Pseudo sub-folds whose directions are averaged; ``linear`` only.
    threshold : {"balanced", "accuracy", "f1"}, {"fpr": x}, {"tpr": x} or float
        Where `predict` cuts the training scores; sets ``intercept_``. See
        `everypair.metrics.threshold_for`.
    max_iter : int
        Steps at most at each radius.
    tol : float
        A climb over all pairs ends when ``1 - R`` changes by less than this share per radian
        in the steepest direction; one over linear pairs when its last five steps together
        gained less than ``tol^2`` of ``1 - R``.
    random_state : int, RandomState or None
        Order of the rows; ``linear`` only.

    Attributes
    ----------
    coef_ : array of shape (1, n_features)
    intercept_ : array of shape (1,)
    classes_ : array of the two labels; the second is the positive one.
    path_ : list of named tuples
        A row per sub-fold and radius: ``subfold, saturation, radius, training, validation,
        auc, n_iter``. ``saturation`` is the share asked for, which the radius has where its
        climb starts; ``training`` is the statistic climbed, ``validation`` the one held back
        (NaN for ``all``), ``auc`` the exact AUC of the training rows.
        ``pandas.DataFrame(model.path_)`` shows it as a table.
    train_auc_ : float
        Exact AUC of the training scores, ties counted half.
    n_iter_ : int
        Steps of all climbs.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    Notes
    -----
    Rescaling a feature changes nothing; there is no need to standardise. The paper leaves open
    the steps' factors (here 1.2 and 0.5), the rescaling against plateaus (here the features'
    variance, in place of separation over class variance; the start is the same) and how
    sub-folds of different radii are averaged (here their directions). Measured on five tasks
    (``docs/rankopt.md``), other factors changed no AUC beyond chance, separation units were
    within chance at the best radius of each, and an L1 pull gained on one task and, ten times
    as strong, lost on another; there is none.

    With ``linear``, integer weights are not the same as repeated rows, as the pairing is random;
    the mean over all offsets is the weighted statistic of every pair.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from everypair import RankOpt
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = RankOpt().fit(X, y)
    >>> print(f"{model.train_auc_:.3f}")
    0.997
    >>> [row.saturation for row in model.path_]
    [0.5, 0.9]
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "pairs": [StrOptions({"all", "linear"})],
        "saturation": ["array-like", Real, None],
        "n_subfolds": [Interval(Integral, 1, None, closed="left")],
        "threshold": [StrOptions({"balanced", "accuracy", "f1"}), dict, Real],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        pairs: str = "all",
        saturation: Sequence[float] | float | None = None,
        n_subfolds: int = 2,
        threshold: str | float | Mapping[str, float] = "balanced",
        max_iter: int = 200,
        tol: float = 1e-2,
        random_state: int | np.random.RandomState | None = None,
    ):
        self.pairs = pairs
        self.saturation = saturation
        self.n_subfolds = n_subfolds
        self.threshold = threshold
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit on rows X with labels y.

        Parameters
        ----------
        X : array, data frame or CSR/CSC matrix of shape (n_rows, n_features)
        y : array of shape (n_rows,) with two distinct labels
        sample_weight : array of shape (n_rows,), optional
            Non-negative. A pair weighs the product of its rows' weights.
        """
        return self._fit(X, y, sample_weight, self._climb)

    def _climb(self, X: Matrix, pairs: Pairs, positive_share: float) -> Array:
        if self.pairs == "linear":
            saturations = self._saturations(LINEAR_SATURATIONS)
            return self._climb_linear(X, pairs, positive_share, saturations)
        from everypair.solvers.sphere import class_covariance

        saturations = self._saturations(ALL_SATURATIONS)
        return self._climb_to_the_last(
            X, pairs, positive_share, saturations, class_covariance(X, pairs)
        )

    def _saturations(self, default: tuple[float, ...]) -> tuple[float, ...]:
        return default if self.saturation is None else check_saturations(self.saturation)

    def _climb_linear(
        self, X: Matrix, pairs: Pairs, positive_share: float, saturations: tuple[float, ...]
    ) -> Array:
        """Table 1 of the paper: a path per sub-fold, the best radius of each, their mean."""
        from everypair.solvers.rank_statistic import RandomOrder
        from everypair.solvers.sphere import Sphere, climb_by_gradients, climb_path

        sphere, start = Sphere.around(X, pairs, positive_share)
        order = RandomOrder.draw(pairs, check_random_state(self.random_state))
        n_subfolds = min(self.n_subfolds, order.n_offsets)
        self.path_ = []
        chosen: list[Step] = []
        for subfold in range(n_subfolds):
            climbs = climb_path(
                sphere, order.statistic(subfold), start, saturations, climb_by_gradients,
                self.max_iter, self.tol,
            )  # fmt: skip
            steps = list(climbs)
            held_back = order.statistic((subfold + n_subfolds) % order.n_offsets)
            validation = [1 - held_back.loss(step.radius * step.climb.scores) for step in steps]
            self.path_ += _rows(steps, pairs, validation, subfold)
            chosen.append(steps[int(np.argmax(validation))])
        self._warn_if_cut_short(chosen)
        # The mean of directions: a sub-fold that chose a larger radius counts no more.
        radius = np.mean([step.radius for step in chosen])
        direction = np.mean([step.climb.direction for step in chosen], axis=0)
        return np.asarray(radius * sphere.scale * direction)


class RankOptCV(_SphereClimber):
    """`RankOpt` over every pair, its radius chosen by cross-validated AUC.

    Each fold climbs the series of radii once; the radius with the highest mean AUC on the rows
    held back is then climbed to on all rows. From saturation 0.9 on, the series ends at a
    radius whose ``1 - AUC`` is not lower by 0.3 per cent than that of the one before.

    Parameters
    ----------
    saturation : ascending sequence of floats in (0, 1)
        Shares of saturated pairs to choose from.
    cv : int, splitter or iterable of (train, test), default 5 stratified folds
        Each fold needs both classes on either side.
    threshold, max_iter, tol
        As in `RankOpt`.

    Attributes
    ----------
    saturation_ : float
        The share chosen.
    scores_ : array of shape (n_folds, n_climbed)
        AUC of the rows held back, at each saturation that the folds climbed to.
    path_ : list of named tuples
        As in `RankOpt`, of the climb on all rows up to ``saturation_``; ``validation`` is the
        mean AUC of the folds.
    n_iter_ : int
        Steps of the climb on all rows; those of the folds are not counted.
    coef_, intercept_, classes_, train_auc_, n_features_in_, feature_names_in_
        As in `RankOpt`.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from everypair import RankOptCV
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = RankOptCV(saturation=(0.1, 0.5, 0.9)).fit(X, y)
    >>> model.scores_.shape
    (5, 3)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "saturation": ["array-like", Real],
        "cv": ["cv_object"],
        "threshold": [StrOptions({"balanced", "accuracy", "f1"}), dict, Real],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="neither")],
    }

    def __init__(
        self,
        saturation: Sequence[float] | float = CV_SATURATIONS,
        cv: Any = None,
        threshold: str | float | Mapping[str, float] = "balanced",
        max_iter: int = 200,
        tol: float = 1e-2,
    ):
        self.saturation = saturation
        self.cv = cv
        self.threshold = threshold
        self.max_iter = max_iter
        self.tol = tol

    def fit(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Choose the saturation by cross-validation, then climb to it on all rows.

        Parameters
        ----------
        X, y, sample_weight
            As in `RankOpt.fit`; the weights count in the AUC of the rows held back, too.
        groups : array of shape (n_rows,), optional
            For the splitter ``cv``, for example `sklearn.model_selection.GroupKFold`.
        """
        return self._fit(X, y, sample_weight, partial(self._climb, groups=groups))

    def _climb(
        self, X: Matrix, pairs: Pairs, positive_share: float, groups: ArrayLike | None
    ) -> Array:
        from everypair.pairs import Pairs, auc
        from everypair.solvers.sphere import class_covariance

        saturations = check_saturations(self.saturation)
        # Splitters see the number of rows alone: scikit-learn would copy a CSC matrix for them.
        rows_alone = np.broadcast_to(0.0, (pairs.n_rows, 1))
        folds = folds_of(
            self.cv, rows_alone, pairs.positive, pairs.weight, groups, each_has_auc=True
        )
        # The covariance of all rows serves every fold: it only says how L-BFGS walks.
        covariance = class_covariance(X, pairs)
        paths, held_back = [], []
        for fold in folds:
            parts = []
            for rows in fold:
                # A row that is left out has no weight: X itself is never cut into folds.
                weight = np.zeros(pairs.n_rows)
                weight[rows] = pairs.weight[rows]
                parts.append(Pairs.of(pairs.positive, weight))
            training, validation = parts
            steps, _ = self._climb_every_pair(X, training, positive_share, saturations, covariance)
            paths.append(steps)
            held_back.append(validation)
        scores: list[list[float]] = []
        lost = np.inf
        # The folds climb side by side, so that they can stop together.
        for saturation, *climbed in zip(saturations, *paths, strict=True):
            scores.append(
                [auc(v, step.climb.scores) for v, step in zip(held_back, climbed, strict=True)]
            )
            before, lost = lost, 1 - float(np.mean(scores[-1]))
            if saturation >= STEEP and not lost < (1 - LEAST_GAIN) * before:
                break
        best = int(np.argmax(np.mean(scores, axis=1)))
        self.scores_ = np.array(scores).T
        self.saturation_ = saturations[best]
        return self._climb_to_the_last(
            X, pairs, positive_share, saturations[: best + 1], covariance,
            self.scores_.mean(axis=0)[: best + 1],
        )  # fmt: skip


def _rows(
    steps: list[Step], pairs: Pairs, validation: Any = None, subfold: int = 0
) -> list[RadiusRow]:
    from everypair.pairs import auc

    validation = np.full(len(steps), np.nan) if validation is None else validation
    return [
        RadiusRow(
            subfold, step.saturation, step.radius, 1 - step.climb.loss, float(held_back),
            auc(pairs, step.climb.scores), step.climb.n_iter,
        )
        for step, held_back in zip(steps, validation, strict=True)
    ]  # fmt: skip


def check_saturations(saturation: Any) -> tuple[float, ...]:
    """The shares of saturated pairs, ascending, each inside (0, 1)."""
    shares = np.atleast_1d(np.asarray(saturation, dtype=np.float64))
    if shares.ndim != 1 or not shares.size or not np.all((shares > 0) & (shares < 1)):
        raise ValueError(
            f"saturation={saturation!r} must be one or more shares of pairs between 0 and 1."
        )
    if np.any(np.diff(shares) <= 0):
        raise ValueError(
            f"saturation={saturation!r} must ascend: a climb starts from a smoother one."
        )
    return tuple(float(share) for share in shares)
