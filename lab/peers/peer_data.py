"""The data: simulated at any size, or public sets from ``$EVERYPAIR_DATA``, each with a test part.

A simulated task is named by its kind and size, such as ``dense 20000x50`` or ``text 20000x50000``.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.preprocessing import StandardScaler

ALPHA = 1e-3
TEST_ROWS = 20_000
TEST_SHARE = 0.25


@dataclass(frozen=True)
class PeerTask:
    name: str
    X: Any
    y: np.ndarray
    """True for the positive rows."""
    X_test: Any
    y_test: np.ndarray
    alpha: float = ALPHA

    @property
    def n_rows(self) -> int:
        return self.y.size

    @property
    def C(self) -> float:
        """scikit-learn's strength of the loss: ``C sum_i phi`` beside ``|w|^2 / 2``."""
        return 1 / (self.alpha * self.n_rows)

    @property
    def signs(self) -> np.ndarray:
        return np.where(self.y, 1.0, -1.0)

    @property
    def is_sparse(self) -> bool:
        return sparse.issparse(self.X)

    @property
    def bytes(self) -> int:
        X = self.X
        return X.data.nbytes + X.indices.nbytes + X.indptr.nbytes if self.is_sparse else X.nbytes

    def small(self, n_rows: int = 6000) -> PeerTask:
        """Rows of both classes, enough to compile and load everything (`few_rows` loads less)."""
        rows = np.concatenate(
            [np.flatnonzero(members)[: n_rows // 2] for members in (self.y, ~self.y)]
        )
        return replace(self, X=self.X[rows], y=self.y[rows])


# --- simulated ----------------------------------------------------------------------------


def _dense(n_rows, n_columns):
    from lab.benchmarks.core import dense_data

    return dense_data(n_rows, n_columns)


def _imbalanced(n_rows, n_columns):
    """One positive in two hundred."""
    from lab.benchmarks.core import dense_data

    return dense_data(n_rows, n_columns, share=0.005)


def _correlated(n_rows, n_columns):
    from lab.benchmarks.core import dense_data

    return dense_data(n_rows, n_columns, correlated=True)


def _heavy_tailed(n_rows, n_columns):
    """Student's t with three degrees of freedom: rows a hundred times as long as others."""
    rng = np.random.default_rng(0)
    X = rng.standard_t(3, size=(n_rows, n_columns))
    signal = X @ (0.3 * rng.standard_normal(n_columns)) + 3 * rng.logistic(size=n_rows)
    return X, signal > np.quantile(signal, 0.95)


def _text(n_rows, n_columns):
    from lab.benchmarks.core import text_like_data

    return text_like_data(n_rows, n_columns)


SIMULATED: dict[str, Callable] = {
    "dense": _dense,
    "imbalanced": _imbalanced,
    "correlated": _correlated,
    "heavy-tailed": _heavy_tailed,
    "text": _text,
}

# --- public -------------------------------------------------------------------------------

SHARED = {
    "a9a": "a9a",
    "w8a": "w8a",
    "covtype": "covtype 1",
    "KDD-99": "kddcup99 probe",
    "MNIST": "mnist 8",
}
"""Our name, and that of `lab.data.tasks`."""

PUBLIC = (*SHARED, "Reuters")


def available(name: str) -> bool:
    return name not in PUBLIC or "EVERYPAIR_DATA" in os.environ


def _public(name: str):
    """``(X, y, X_test, y_test)``; parsed once, then kept beside other temporary files."""
    folder = Path(tempfile.gettempdir()) / f"everypair-peers-{os.getuid()}"
    folder.mkdir(exist_ok=True)
    kept = folder / f"{name}.npz"
    if kept.exists():
        with np.load(kept) as held:
            arrays = dict(held)
    else:
        arrays = _as_arrays(*_read_public(name))
        partial = kept.with_suffix(".part.npz")
        np.savez(partial, **arrays)
        partial.rename(kept)
    return [_from_arrays(arrays, part) for part in ("X", "y", "X_test", "y_test")]


def _read_public(name: str):
    if name == "Reuters":
        from lab.benchmarks.measure_svm import reuters

        return reuters("earn")
    from lab.data.tasks import tasks

    _, X, y = next(iter(tasks([SHARED[name]])))
    train, test = _split(y.size)
    if sparse.issparse(X):
        return X[train], y[train], X[test], y[test]
    scale = StandardScaler().fit(X[train])
    return scale.transform(X[train]), y[train], scale.transform(X[test]), y[test]


def _as_arrays(X, y, X_test, y_test):
    arrays = {"y": y, "y_test": y_test}
    for part, value in (("X", X), ("X_test", X_test)):
        if sparse.issparse(value):
            rows = value.tocsr()
            arrays |= {f"{part}.{key}": getattr(rows, key) for key in ("data", "indices", "indptr")}
            arrays[f"{part}.shape"] = np.array(value.shape)
        else:
            arrays[part] = value
    return arrays


def _from_arrays(arrays, part):
    if part in arrays:
        return arrays[part]
    data, indices, indptr, shape = (
        arrays[f"{part}.{key}"] for key in ("data", "indices", "indptr", "shape")
    )
    return sparse.csr_matrix((data, indices, indptr), shape=tuple(shape))


# --- both ---------------------------------------------------------------------------------


def _split(n_rows: int) -> tuple[np.ndarray, np.ndarray]:
    order = np.random.default_rng(0).permutation(n_rows)
    n_test = min(TEST_ROWS, int(TEST_SHARE * n_rows))
    return np.sort(order[n_test:]), np.sort(order[:n_test])


def load(name: str) -> PeerTask:
    if name in PUBLIC:
        return PeerTask(name, *_public(name))
    kind, size = name.split()
    n_rows, n_columns = map(int, size.split("x"))
    n_test = min(TEST_ROWS, n_rows)
    # The rows are independent, so the last of them are as good a test as any.
    X, y = SIMULATED[kind](n_rows + n_test, n_columns)
    return PeerTask(name, X[:n_rows], y[:n_rows], X[n_rows:], y[n_rows:])
