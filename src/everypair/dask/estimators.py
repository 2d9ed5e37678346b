"""The classifiers of the library on a Dask cluster."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from everypair.dask.engine import DaskBlocks
from everypair.estimators.auc import AUCClassifier
from everypair.estimators.rankopt import RankOpt
from everypair.estimators.rls import AUCRLS

if TYPE_CHECKING:
    from distributed import Client


class _OnDask:
    """What the classifiers on a cluster share: their blocks, lazy predictions, a local copy."""

    client: Client | None
    _local: ClassVar[type]
    classes_: Any
    _take_columns: Any
    get_params: Any

    def _blocks_of(self, X: Any, y: Any, sample_weight: Any) -> DaskBlocks:
        blocks = DaskBlocks(self.client, X, y, sample_weight, type(self).__name__)
        self.classes_ = blocks.classes
        names = np.asarray(X.columns, dtype=object) if hasattr(X, "columns") else None
        if names is not None and not all(isinstance(name, str) for name in names):
            names = None
        self._take_columns(blocks.n_columns, names)
        return blocks

    def to_local(self) -> Any:
        """The fitted model without the cluster: it predicts arrays, and can be saved.

        Returns
        -------
        object
            The estimator of the library that this one stands for, fitted.
        """
        params = {k: v for k, v in self.get_params(deep=False).items() if k != "client"}
        local = self._local(**params)
        vars(local).update(
            {k: v for k, v in vars(self).items() if k not in params and k != "client"}
        )
        return local

    def decision_function(self, X: Any) -> Any:
        """Scores less the threshold, as the estimator of the library has them.

        Parameters
        ----------
        X : dask.array, dask.dataframe, or what the estimator of the library takes
            Rows to score.

        Returns
        -------
        dask.array, dask.dataframe.Series or array of shape (n_rows,)
            Of Dask collections a lazy one, which is computed when it is asked for.
        """
        return self._mapped("decision_function", np.dtype(np.float64), X)

    def predict(self, X: Any) -> Any:
        """``classes_[1]`` where `decision_function` is above zero, else ``classes_[0]``.

        Parameters
        ----------
        X : dask.array, dask.dataframe, or what the estimator of the library takes
            Rows to classify.

        Returns
        -------
        dask.array, dask.dataframe.Series or array of shape (n_rows,)
            Of Dask collections a lazy one, which is computed when it is asked for.
        """
        return self._mapped("predict", self.classes_.dtype, X)

    def _mapped(self, method: str, dtype: Any, X: Any) -> Any:
        local = self.to_local()
        if hasattr(X, "chunks"):
            whole = X if X.numblocks[1] == 1 else X.rechunk({1: -1})
            return whole.map_blocks(
                _of_rows, local, method, dtype=dtype, drop_axis=1, name=f"everypair-{method}"
            )
        if hasattr(X, "map_partitions"):
            kind = dtype if dtype.kind in "biuf" else np.dtype(object)
            return X.map_partitions(_of_frame, local, method, meta=(method, kind))
        return getattr(local, method)(X)

    def __sklearn_clone__(self) -> Self:
        return type(self)(**self.get_params(deep=False))

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "client": None}  # a connection cannot be saved

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)


def _of_rows(X: Any, model: Any, method: str) -> Any:
    if len(X) == 0:
        return np.empty(0, dtype=np.float64 if method != "predict" else model.classes_.dtype)
    return getattr(model, method)(X)


def _of_frame(X: Any, model: Any, method: str) -> Any:
    return type(X.iloc[:, 0])(_of_rows(X, model, method), index=X.index, name=method)


class DaskAUCClassifier(_OnDask, AUCClassifier):
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
    solver : {"auto", "newton", "newton-cg"}, default="auto"
        As in `AUCClassifier`.
    {threshold}
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
        AUC of the training scores, from counts in boxes: at most 5e-6 from the exact one.
    n_iter_ : int
        Newton steps on the whole data.
    {n_passes}
    history_ : list of (seconds, objective, distance)
        One entry a step.
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
        solver: str = "auto",
        threshold: str | float | Mapping[str, Any] = "balanced",
        tol: float = 1e-6,
        max_iter: int = 100,
        warm_start: bool = False,
        verbose: int = 0,
        client: Client | None = None,
    ):
        super().__init__(
            loss=loss, penalty=penalty, alpha=alpha, l1_ratio=l1_ratio,
            penalty_weights=penalty_weights, solver=solver, threshold=threshold, tol=tol,
            max_iter=max_iter, warm_start=warm_start, verbose=verbose,
        )  # fmt: skip
        self.client = client

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **{
            name: kinds
            for name, kinds in AUCClassifier._parameter_constraints.items()
            if name not in ("calibration", "prior", "cv")
        },
        "client": "no_validation",  # type: ignore[dict-item]
    }


class DaskAUCRLS(_OnDask, AUCRLS):
    """`AUCRLS` on a Dask cluster: least squares over every pair, in one pass over the rows.

    Each block gives its class moments, which add up; the linear kernel only.

    Parameters
    ----------
    alpha : float, default=0.001
        As in `AUCRLS`.
    {threshold}
    client : distributed.Client, default=None
        The cluster; None takes the client that was started last.

    Attributes
    ----------
    {linear}
    objective_ : float
        The objective at the solution.
    dual_gap_ : float
        No w has an objective lower than ``objective_`` by more than this share.
    {n_passes}
    {fitted}

    See Also
    --------
    everypair.AUCRLS : The same for arrays, with kernels.
    """

    _local = AUCRLS

    def __init__(
        self,
        alpha: float = 1e-3,
        threshold: str | float | Mapping[str, Any] = "midpoint",
        client: Client | None = None,
    ):
        super().__init__(alpha, threshold=threshold)
        self.client = client

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "alpha": AUCRLS._parameter_constraints["alpha"],
        "threshold": AUCRLS._parameter_constraints["threshold"],
        "client": "no_validation",  # type: ignore[dict-item]
    }


class DaskRankOpt(_OnDask, RankOpt):
    """`RankOpt` over every pair on a Dask cluster: the same climb, with sums on the workers.

    The radius of each climb depends on the order of all scores: for it, the scores and labels
    come to the client once per radius, 9 bytes per row.

    Parameters
    ----------
    saturation : float or ascending sequence of floats, default=None
        As in `RankOpt`.
    {threshold}
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
        AUC of the training scores, from counts in boxes: at most 5e-6 from the exact one.
    n_iter_ : int
        Steps of all climbs.
    {n_passes}
    {fitted}

    See Also
    --------
    everypair.RankOpt : The same for arrays, and for rows on disk.
    """

    _local = RankOpt

    def __init__(
        self,
        saturation: Sequence[float] | float | None = None,
        threshold: str | float | Mapping[str, Any] = "balanced",
        max_iter: int = 200,
        tol: float = 1e-2,
        verbose: int = 0,
        client: Client | None = None,
    ):
        super().__init__(
            saturation=saturation, threshold=threshold, max_iter=max_iter, tol=tol, verbose=verbose
        )
        self.client = client

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **{
            name: RankOpt._parameter_constraints[name]
            for name in ("saturation", "threshold", "max_iter", "tol", "verbose")
        },
        "client": "no_validation",  # type: ignore[dict-item]
    }
