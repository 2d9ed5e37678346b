"""The classifiers of the library on a Dask cluster."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from numpy.typing import ArrayLike

from everypair.dask.lazy_predictions import OnDask
from everypair.estimators.auc import AUCClassifier
from everypair.estimators.measure_opt import MeasureOpt
from everypair.estimators.rankopt import RankOpt
from everypair.estimators.rls import AUCRLS

if TYPE_CHECKING:
    from distributed import Client


class DaskAUCClassifier(OnDask, AUCClassifier):
    """`AUCClassifier` on a Dask cluster: the same solver, the same solution, certified.

    The loss over every positive–negative pair is summed where the rows live; per evaluation two
    rounds of small messages go between the client and the workers. X, y and the scores stay on the
    workers.

    Parameters
    ----------
    loss : {"logistic", "squared_hinge", "hinge", "square", "exponential", "sigmoid"}, \
            default="logistic"
        As in `AUCClassifier`. The two hinges gather the scores and labels of all rows in the
        client, 9 bytes per row, and work there with about 120 bytes per row.
    penalty : {"l2", "l1", "elasticnet"}, default="l2"
        As in `AUCClassifier`.
    alpha : float, default=0.001
        As in `AUCClassifier`.
    l1_ratio : float, default=0.5
        As in `AUCClassifier`.
    penalty_weights : array of shape (n_features,), default=None
        As in `AUCClassifier`.
    bounds : pair (lower, upper), default=None
        As in `AUCClassifier`.
    solver : {"auto", "newton", "newton-cg"}, default="auto"
        As in `AUCClassifier`.
    {within_weight}
    {threshold}
    {calibration}
    {cv}
    tol : float, default=1e-06
        As in `AUCClassifier`.
    max_iter : int, default=100
        As in `AUCClassifier`.
    warm_start : bool, default=False
        As in `AUCClassifier`.
    {verbose_steps}
    client : distributed.Client, default=None
        The cluster; None takes the client that was started last.

    Attributes
    ----------
    {linear}
    objective_ : float
        The objective at the solution.
    dual_gap_ : float
        Relative duality gap, certified on all rows. Not set for the sigmoid.
    kkt_residual_ : float
        Of ``l1`` and ``elasticnet``, as in `AUCClassifier`.
    gradient_norm_ : float
        Sigmoid only, as in `AUCClassifier`.
    train_score_ : float
        AUC of the training scores, from counts in boxes: at most 5e-5 from the exact one.
    n_iter_ : int
        Newton steps on the whole data.
    {without_pairs}
    {n_passes}
    history_ : list of (seconds, objective, distance)
        One entry per step.
    {fitted}

    See Also
    --------
    everypair.AUCClassifier : The same for arrays, and for rows on disk.

    Examples
    --------
    >>> import dask.array as da
    >>> import numpy as np
    >>> from distributed import Client
    >>> from everypair.dask import DaskAUCClassifier
    >>> X = np.random.default_rng(0).standard_normal((1000, 3))
    >>> y = (X @ [1, 2, 0] > 1).astype(int)
    >>> dX, dy = da.from_array(X, chunks=(250, 3)), da.from_array(y, chunks=250)
    >>> with Client(processes=False, n_workers=1, dashboard_address=None) as client:
    ...     model = DaskAUCClassifier(client=client).fit(dX, dy)
    >>> model.dual_gap_ <= 1e-6
    True
    """

    _local = AUCClassifier

    def __init__(
        self,
        loss: str = "logistic",
        penalty: str = "l2",
        alpha: float = 1e-3,
        l1_ratio: float = 0.5,
        penalty_weights: ArrayLike | None = None,
        bounds: tuple[ArrayLike, ArrayLike] | None = None,
        solver: str = "auto",
        within_weight: str = "pairs",
        threshold: str | float | Mapping[str, Any] = "balanced",
        calibration: str | None = None,
        prior: float | None = None,
        cv: Any = None,
        tol: float = 1e-6,
        max_iter: int = 100,
        warm_start: bool = False,
        verbose: int = 0,
        client: Client | None = None,
    ):
        super().__init__(
            loss=loss, penalty=penalty, alpha=alpha, l1_ratio=l1_ratio,
            penalty_weights=penalty_weights, bounds=bounds, solver=solver,
            within_weight=within_weight, threshold=threshold, calibration=calibration, prior=prior,
            cv=cv, tol=tol, max_iter=max_iter, warm_start=warm_start, verbose=verbose,
        )  # fmt: skip
        self.client = client

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **AUCClassifier._parameter_constraints,
        "client": "no_validation",  # type: ignore[dict-item]
    }


class DaskAUCRLS(OnDask, AUCRLS):
    """`AUCRLS` on a Dask cluster: least squares over every pair, in one pass over the rows.

    Each block gives its class moments, which add up; the linear kernel only.

    Parameters
    ----------
    alpha : float, default=0.001
        As in `AUCRLS`.
    {within_weight}
    {threshold}
    {calibration}
    {cv}
    client : distributed.Client, default=None
        The cluster; None takes the client that was started last.

    Attributes
    ----------
    {linear}
    objective_ : float
        The objective at the solution.
    dual_gap_ : float
        No w has an objective lower than ``objective_`` by more than this share.
    {without_pairs}
    {n_passes}
    {fitted}

    See Also
    --------
    everypair.AUCRLS : The same for arrays, with kernels.

    Examples
    --------
    >>> import dask.array as da
    >>> import numpy as np
    >>> from distributed import Client
    >>> from everypair.dask import DaskAUCRLS
    >>> X = np.random.default_rng(0).standard_normal((1000, 3))
    >>> y = (X @ [1, 2, 0] > 1).astype(int)
    >>> dX, dy = da.from_array(X, chunks=(250, 3)), da.from_array(y, chunks=250)
    >>> with Client(processes=False, n_workers=1, dashboard_address=None) as client:
    ...     model = DaskAUCRLS(client=client).fit(dX, dy)
    >>> model.n_passes_
    1
    """

    _local = AUCRLS

    def __init__(
        self,
        alpha: float = 1e-3,
        within_weight: str = "pairs",
        threshold: str | float | Mapping[str, Any] = "midpoint",
        calibration: str | None = None,
        prior: float | None = None,
        cv: Any = None,
        client: Client | None = None,
    ):
        super().__init__(
            alpha,
            within_weight=within_weight,
            threshold=threshold,
            calibration=calibration,
            prior=prior,
            cv=cv,
        )
        self.client = client

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **{
            name: AUCRLS._parameter_constraints[name]
            for name in ("alpha", "within_weight", "threshold", "calibration", "prior", "cv")
        },
        "client": "no_validation",  # type: ignore[dict-item]
    }


class DaskRankOpt(OnDask, RankOpt):
    """`RankOpt` over every pair on a Dask cluster: the same climb, with sums on the workers.

    The radius of each climb depends on the order of all scores: for it, the scores and labels
    come to the client once per radius, 9 bytes per row.

    Parameters
    ----------
    saturation : float or ascending sequence of floats, default=None
        As in `RankOpt`.
    {within_weight}
    {threshold}
    {calibration}
    {cv}
    max_iter : int, default=200
        As in `RankOpt`.
    tol : float, default=0.01
        As in `RankOpt`.
    verbose : int, default=0
        1 prints one line per radius.
    client : distributed.Client, default=None
        The cluster; None takes the client that was started last.

    Attributes
    ----------
    {linear}
    path_ : list of named tuples
        As in `RankOpt`.
    train_score_ : float
        AUC of the training scores, from counts in boxes: at most 5e-5 from the exact one.
    n_iter_ : int
        Steps of all climbs.
    {without_pairs}
    {n_passes}
    {fitted}

    See Also
    --------
    everypair.RankOpt : The same for arrays, and for rows on disk.

    Examples
    --------
    >>> import dask.array as da
    >>> import numpy as np
    >>> from distributed import Client
    >>> from everypair.dask import DaskRankOpt
    >>> X = np.random.default_rng(0).standard_normal((1000, 3))
    >>> y = (X @ [1, 2, 0] > 1).astype(int)
    >>> dX, dy = da.from_array(X, chunks=(250, 3)), da.from_array(y, chunks=250)
    >>> with Client(processes=False, n_workers=1, dashboard_address=None) as client:
    ...     model = DaskRankOpt(client=client).fit(dX, dy)
    >>> print(f"{model.train_score_:.3f}")
    1.000
    """

    _local = RankOpt

    def __init__(
        self,
        saturation: Sequence[float] | float | None = None,
        within_weight: str = "pairs",
        threshold: str | float | Mapping[str, Any] = "balanced",
        calibration: str | None = None,
        prior: float | None = None,
        cv: Any = None,
        max_iter: int = 200,
        tol: float = 1e-2,
        verbose: int = 0,
        client: Client | None = None,
    ):
        super().__init__(
            saturation=saturation, within_weight=within_weight, threshold=threshold,
            calibration=calibration, prior=prior, cv=cv, max_iter=max_iter, tol=tol,
            verbose=verbose,
        )  # fmt: skip
        self.client = client

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **{
            name: RankOpt._parameter_constraints[name]
            for name in (
                "saturation",
                "within_weight",
                "threshold",
                "calibration",
                "prior",
                "cv",
                "max_iter",
                "tol",
                "verbose",
            )
        },
        "client": "no_validation",  # type: ignore[dict-item]
    }


class DaskMeasureOpt(OnDask, MeasureOpt):
    """`MeasureOpt` on a Dask cluster: a smoothed measure climbed with sums on the workers.

    Labels come to the client once, 1 byte per row, and scores once per radius and for the cut, 8
    bytes per row: the radius and an exact cut depend on the order of all scores.

    Parameters
    ----------
    measure : str, ContingencyMeasure or callable, default="f1"
        As in `MeasureOpt`.
    beta : float, default=1.0
        As in `MeasureOpt`.
    k : int, float or str, default=None
        As in `MeasureOpt`.
    fpr : float or (low, high), default=None
        As in `MeasureOpt`.
    tpr, recall, precision : float, default=None
        As in `MeasureOpt`.
    cost : (c_fp, c_fn), default=(1.0, 1.0)
        As in `MeasureOpt`.
    alpha : float, default=0.001
        As in `MeasureOpt`.
    saturation : float or ascending sequence of floats in (0, 1), default=(0.5, 0.9)
        As in `MeasureOpt`.
    {threshold}
        Here the default is None: the cut that the measure asks for.
    {calibration}
    {cv}
    max_iter : int, default=200
        As in `MeasureOpt`.
    tol : float, default=0.01
        As in `MeasureOpt`.
    verbose : int, default=0
        As in `MeasureOpt`.
    client : distributed.Client, default=None
        The cluster; None takes the client that was started last.

    Attributes
    ----------
    {linear}
    train_score_ : float
        The measure of the training rows, exact, at the cut of `predict`.
    start_score_ : float
        That of the logistic regression, at its own best cut.
    chose_start_ : bool
        Whether no radius was better than the start on the training rows.
    path_ : list of named tuples
        As in `MeasureOpt`.
    n_iter_ : int
        Steps of the logistic regression and of all climbs.
    {without_pairs}
    {n_passes}
    {fitted}

    See Also
    --------
    everypair.MeasureOpt : The same for arrays, with kernels, and for rows on disk.

    Examples
    --------
    >>> import dask.array as da
    >>> import numpy as np
    >>> from distributed import Client
    >>> from everypair.dask import DaskMeasureOpt
    >>> X = np.random.default_rng(0).standard_normal((1000, 3))
    >>> y = (X @ [1, 2, 0] > 1).astype(int)
    >>> dX, dy = da.from_array(X, chunks=(250, 3)), da.from_array(y, chunks=250)
    >>> with Client(processes=False, n_workers=1, dashboard_address=None) as client:
    ...     model = DaskMeasureOpt(client=client).fit(dX, dy)
    >>> model.train_score_ >= model.start_score_
    True
    """

    _local = MeasureOpt

    def __init__(
        self,
        measure: Any = "f1",
        beta: float = 1.0,
        k: int | float | str | None = None,
        fpr: float | tuple[float, float] | None = None,
        tpr: float | None = None,
        recall: float | None = None,
        precision: float | None = None,
        cost: tuple[float, float] = (1.0, 1.0),
        alpha: float = 1e-3,
        saturation: Sequence[float] | float = (0.5, 0.9),
        threshold: str | float | Mapping[str, Any] | None = None,
        calibration: str | None = None,
        prior: float | None = None,
        cv: Any = None,
        max_iter: int = 200,
        tol: float = 1e-2,
        verbose: int = 0,
        client: Client | None = None,
    ):
        super().__init__(
            measure, beta=beta, k=k, fpr=fpr, tpr=tpr, recall=recall, precision=precision,
            cost=cost, alpha=alpha, saturation=saturation, threshold=threshold,
            calibration=calibration, prior=prior, cv=cv, max_iter=max_iter, tol=tol,
            verbose=verbose,
        )  # fmt: skip
        self.client = client

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **{
            name: kinds
            for name, kinds in MeasureOpt._parameter_constraints.items()
            if name not in ("kernel", "gamma", "degree", "coef0", "kernel_tol", "max_rank")
        },
        "client": "no_validation",  # type: ignore[dict-item]
    }
