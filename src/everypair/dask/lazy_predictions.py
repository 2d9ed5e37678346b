"""What the classifiers on a cluster share: their blocks, lazy predictions, a local copy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Self
from uuid import uuid4

import numpy as np

from everypair.blocks.source import EngineRows
from everypair.dask.engine import DaskBlocks
from everypair.estimators._base import IfCalibrated

if TYPE_CHECKING:
    from distributed import Client


class OnDask:
    """What the classifiers on a cluster share: their blocks, lazy predictions, a local copy."""

    client: Client | None
    _local: ClassVar[type]
    classes_: Any
    _take_columns: Any
    get_params: Any

    def _blocks_of(
        self, X: Any, y: Any, sample_weight: Any, groups: Any = None, within: Any = None
    ) -> DaskBlocks:
        self.__dict__.pop("calibrator_", None)  # of an earlier fit
        if isinstance(X, EngineRows):  # a fold
            self.classes_ = X.classes
            self._take_columns(X.n_features_in_, X.feature_names_in_)
            return X.blocks
        if groups is not None:
            raise ValueError("groups needs arrays: leave it out on a cluster.")
        blocks = DaskBlocks(self.client, X, y, sample_weight, type(self).__name__, within)
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

    @IfCalibrated
    def predict_proba(self, X: Any) -> Any:
        """Probabilities of the two classes; there if ``calibration`` is set.

        Parameters
        ----------
        X : dask.array, dask.dataframe, or what the estimator of the library takes
            Rows to score.

        Returns
        -------
        dask.array, dask.dataframe or array of shape (n_rows, 2)
            Of Dask collections a lazy one, which is computed when it is asked for.
        """
        return self._mapped("predict_proba", np.dtype(np.float64), X)

    def _mapped(self, method: str, dtype: Any, X: Any) -> Any:
        local = self.to_local()
        wide = method == "predict_proba"
        if hasattr(X, "chunks"):
            whole = X if X.numblocks[1] == 1 else X.rechunk({1: -1})
            shape = {"chunks": (whole.chunks[0], (2,))} if wide else {"drop_axis": 1}
            return whole.map_blocks(
                _of_rows, local, method, dtype=dtype, name=f"everypair-{method}-{uuid4().hex[:8]}",
                meta=np.empty((0,) * (2 if wide else 1), dtype=dtype), **shape,
            )  # fmt: skip
        if wide and hasattr(X, "map_partitions"):
            names = [str(label) for label in self.classes_]
            return X.map_partitions(_table_of, local, names, meta=dict.fromkeys(names, "f8"))
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
        shape = (0, 2) if method == "predict_proba" else (0,)
        return np.empty(shape, dtype=model.classes_.dtype if method == "predict" else np.float64)
    return getattr(model, method)(X)


def _table_of(X: Any, model: Any, names: list[str]) -> Any:
    found = _of_rows(X, model, "predict_proba")
    return type(X)(found, index=X.index, columns=names)


def _of_frame(X: Any, model: Any, method: str) -> Any:
    return type(X.iloc[:, 0])(_of_rows(X, model, method), index=X.index, name=method)
