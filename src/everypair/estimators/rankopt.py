"""RankOpt: the sigmoid rank statistic, a smooth AUC, climbed over the directions of w."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions

from everypair.estimators._base import CUTS, WITHIN_WEIGHTS
from everypair.estimators._linear import LinearRanker
from everypair.estimators._warnings import warn
from everypair.rows import Rows

if TYPE_CHECKING:
    from everypair.estimators._training import Training
    from everypair.linalg.matrix import Matrix
    from everypair.solvers.sphere import Step

Array = NDArray[np.float64]

LINEAR_SATURATIONS = (0.1, 0.3, 0.5, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 0.99)
ALL_SATURATIONS = (0.5, 0.9)


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
    n_passes_: int
    max_iter: int
    tol: float
    verbose: int

    def _fit(
        self,
        X: Any,
        y: ArrayLike | None,
        sample_weight: ArrayLike | None,
        groups: ArrayLike | None,
        within: ArrayLike | None,
        climb: Callable[[Training], tuple[Array, Any]],
    ) -> Self:
        """``climb(rows)`` finds the coefficients and sets ``path_``.

        Its out-of-fold scores, if it has some, make the cut.
        """
        from everypair.linalg.threads import own_threads
        from everypair.pairs import auc

        self._validate_params()
        rows = self._training(X, y, sample_weight, "sigmoid", groups, within)
        if hasattr(self, "n_passes_"):
            del self.n_passes_
        with own_threads(), np.errstate(over="ignore", invalid="ignore"):
            coef, held_out = climb(rows)
            scores = rows.X.dot(coef)
            self.train_score_ = auc(rows.pairs, scores)
            cut = rows.cut(scores, held_out)
        self.n_iter_ = sum(row.n_iter for row in self.path_)
        if rows.blocks is not None:
            self.n_passes_ = rows.blocks.n_passes
        self._set_linear(coef, cut)
        return self

    def _climb_every_pair(
        self,
        X: Matrix,
        pairs: Rows,
        positive_share: float,
        saturations: tuple[float, ...],
        covariance: Array | None,
    ) -> tuple[Iterator[Step], Array]:
        """The climbs over every pair, one as each is asked for, and the sphere's scale."""
        from everypair.solvers.rank_statistic import AllPairsStatistic
        from everypair.solvers.sphere import LbfgsClimber, Sphere, climb_path

        sphere, start = Sphere.around(X, pairs, positive_share, covariance)
        statistic = AllPairsStatistic(pairs)
        steps = climb_path(
            sphere, statistic, start, saturations, LbfgsClimber(), self.max_iter, self.tol
        )
        return steps, sphere.scale

    def _climb_to_the_last(
        self,
        X: Matrix,
        pairs: Rows,
        positive_share: float,
        saturations: tuple[float, ...],
        covariance: Array | None,
        validation: Any = None,
    ) -> Array:
        """The coefficients at the last of these radii; sets ``path_``."""
        climbs, scale = self._climb_every_pair(X, pairs, positive_share, saturations, covariance)
        steps = list(self._told(climbs))
        self.path_ = _rows(steps, pairs, validation)
        self._warn_if_cut_short(steps)
        return np.asarray(steps[-1].radius * scale * steps[-1].climb.direction)

    def _told(self, steps: Iterable[Step], of: str = "") -> Iterator[Step]:
        for step in steps:
            if self.verbose:
                print(
                    f"[everypair] {of}saturation {step.saturation:g}: radius {step.radius:.3g}, "
                    f"statistic {1 - step.climb.loss:.6f} after {step.climb.n_iter} steps"
                )
            yield step

    def _warn_if_cut_short(self, steps: Iterable[Step]) -> None:
        for step in steps:
            if not step.climb.converged:
                warn(
                    f"The climb at saturation {step.saturation:g} stopped early at "
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
    a variance of one. A radius is given by the share of pairs that it saturates,
    ``|x_i . w - x_j . w| > 5``, each pair counted with its weight ``a_i b_j``. A small radius
    makes R nearly linear and the direction smooth; as the radius grows R tends to AUC itself.
    It acts as the penalty does elsewhere. With ``within`` the pairs are those inside groups,
    weighted as in `AUCClassifier`.

    Parameters
    ----------
    pairs : {"all", "linear"}, default="all"
        ``all`` sums over every pair exactly, in linear time, and climbs by L-BFGS. ``linear``
        is the paper's algorithm: Q random pairs that use each row of the larger class once
        (eq. 2), projected gradients, the radius chosen on pairs of another offset, and
        ``n_subfolds`` such climbs averaged.
    saturation : float or ascending sequence of floats, default=None
        Shares of saturated pairs, in (0, 1); each climb starts where the one before ended, and
        its radius is measured there. Pairs with equal scores never count as saturated. If ties
        make the requested share unreachable, all other pairs are saturated. For ``all`` the
        model is that of the last share, and None means ``(0.5, 0.9)``; lower it for few or noisy
        rows, or let `RankOptCV` choose. For ``linear`` the model is that of the best validation
        statistic, and None means the paper's series from 0.1 to 0.99.
    n_subfolds : int, default=2
        Pseudo sub-folds whose directions are averaged; ``linear`` only.
    {within_weight}
    {threshold}
    {calibration}
    {cv}
    max_iter : int, default=200
        Steps at most at each radius.
    tol : float, default=0.01
        A climb over all pairs ends when ``1 - R`` changes by less than this share per radian
        in the steepest direction; one over linear pairs when its last five steps together
        gained less than ``tol^2`` of ``1 - R``.
    random_state : int, RandomState or None, default=None
        Order of the rows; ``linear`` only.
    verbose : int, default=0
        1 prints one line per radius.

    Attributes
    ----------
    {linear}
    path_ : list of named tuples
        A row per sub-fold and radius: ``subfold, saturation, radius, training, validation,
        auc, n_iter``. ``saturation`` is the share asked for, which the radius has where its
        climb starts; ``training`` is the statistic climbed, ``validation`` the one held back
        (NaN for ``all``), ``auc`` the exact AUC of the training rows.
        ``pandas.DataFrame(model.path_)`` shows it as a table.
    {train_score}
    {without_pairs}
    n_iter_ : int
        Steps of all climbs.
    {n_passes}
    {fitted}

    See Also
    --------
    RankOptCV : The same over every pair, its radius chosen by cross-validated AUC.
    AUCClassifier : With ``loss="sigmoid"`` a similar statistic with a penalty; convex losses too.

    Notes
    -----
    Rescaling a feature changes nothing; there is no need to standardise. The paper leaves open
    the steps' factors (here 1.2 and 0.5), the rescaling against plateaus (here the features'
    variance, in place of separation over class variance; the start is the same) and how
    sub-folds of different radii are averaged (here their directions). Measured on five tasks
    (``lab/notes/rankopt.md``), other factors changed no AUC beyond chance, separation units were
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
    >>> print(f"{model.train_score_:.3f}")
    0.997
    >>> [row.saturation for row in model.path_]
    [0.5, 0.9]
    """

    _takes_blocks = True
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "pairs": [StrOptions({"all", "linear"})],
        "saturation": ["array-like", Real, None],
        "n_subfolds": [Interval(Integral, 1, None, closed="left")],
        "within_weight": WITHIN_WEIGHTS,
        **CUTS,
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        pairs: str = "all",
        saturation: Sequence[float] | float | None = None,
        n_subfolds: int = 2,
        within_weight: str = "pairs",
        threshold: str | float | Mapping[str, Any] = "balanced",
        calibration: str | None = None,
        prior: float | None = None,
        cv: Any = None,
        max_iter: int = 200,
        tol: float = 1e-2,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ):
        self.pairs = pairs
        self.saturation = saturation
        self.n_subfolds = n_subfolds
        self.within_weight = within_weight
        self.threshold = threshold
        self.calibration = calibration
        self.prior = prior
        self.cv = cv
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.verbose = verbose

    def fit(
        self,
        X: Any,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        within: ArrayLike | None = None,
    ) -> Self:
        """Fit on rows X with labels y, or over every pair on rows in blocks.

        Parameters
        ----------
        {rows_or_blocks}
        {sample_weight}
        {groups}
        {within}

        {returns_self}
        """
        if within is not None and self.pairs == "linear":
            raise ValueError(
                "pairs='linear' draws pairs among all rows, not inside the groups of within: "
                "use pairs='all'."
            )
        return self._fit(X, y, sample_weight, groups, within, self._climb)

    def _climb(self, rows: Training) -> tuple[Array, None]:
        X, pairs, positive_share = rows.X, rows.pairs, rows.positive_share
        if self.pairs == "linear":
            if X.in_order_only:
                raise ValueError("pairs='linear' needs arrays: use pairs='all' for rows in blocks.")
            saturations = self._saturations(LINEAR_SATURATIONS)
            return self._climb_linear(X, pairs, positive_share, saturations), None
        from everypair.solvers.column_moments import class_covariance

        saturations = self._saturations(ALL_SATURATIONS)
        covariance = class_covariance(X, pairs)
        return self._climb_to_the_last(X, pairs, positive_share, saturations, covariance), None

    def _saturations(self, default: tuple[float, ...]) -> tuple[float, ...]:
        return default if self.saturation is None else check_saturations(self.saturation)

    def _climb_linear(
        self, X: Matrix, pairs: Rows, positive_share: float, saturations: tuple[float, ...]
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
            steps = list(self._told(climbs, f"sub-fold {subfold}, "))
            held_back = order.statistic((subfold + n_subfolds) % order.n_offsets)
            validation = [1 - held_back.loss(step.radius * step.climb.scores) for step in steps]
            self.path_ += _rows(steps, pairs, validation, subfold)
            chosen.append(steps[int(np.argmax(validation))])
        self._warn_if_cut_short(chosen)
        # The mean of directions: a sub-fold that chose a larger radius counts no more.
        radius = np.mean([step.radius for step in chosen])
        direction = np.mean([step.climb.direction for step in chosen], axis=0)
        return np.asarray(radius * sphere.scale * direction)


def _rows(
    steps: list[Step], pairs: Rows, validation: Any = None, subfold: int = 0
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
            f"saturation={saturation!r} must be in ascending order: each climb starts from the "
            "smoother one before it."
        )
    return tuple(float(share) for share in shares)
