"""`everypair warm-up`: compile the usual loops once, for container images and CI."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from everypair.app.cli import options as opt
from everypair.app.cli.guard import guarded
from everypair.app.cli.show import print_json


@guarded
def warm_up(*, show: opt.Show) -> None:
    """Compile the usual loops and keep them on disk: later processes load them.

    The code is kept beside the installed package, or in the directory that NUMBA_CACHE_DIR
    names. Run it after the installation in an image or a CI job, as the user who will fit.
    """
    where = _cache_directory()
    before, began = _kept(where), time.perf_counter()
    for what, fit in _usual_fits():
        fit_began = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # fits of few rows need not converge
            fit()
        show.note(f"{what}: {time.perf_counter() - fit_began:.1f} s")
    seconds, after = time.perf_counter() - began, _kept(where)
    if show.json:
        print_json(
            {"directory": str(where), "new_files": len(after - before), "files": len(after),
             "seconds": seconds}
        )  # fmt: skip
        return
    print(
        f"{len(after - before)} new files of compiled code, {len(after)} in all, "
        f"in {where} ({seconds:.1f} s)."
    )


def _usual_fits() -> Iterator[tuple[str, Callable[[], Any]]]:
    """Every solver on every kind of X that compiles anew: dense by rows and by columns, float32,
    CSR and CSC."""
    import numpy as np
    from scipy import sparse

    from everypair import (
        AUCRLS,
        ROCSVM,
        AUCClassifier,
        AUCClassifierCV,
        MeasureOpt,
        MeasureSVM,
        RankOpt,
    )
    from everypair.linalg.few_rows import FEW_ROWS
    from everypair.metrics import auc_confidence_interval, compare_auc

    rng = np.random.default_rng(0)
    X = rng.standard_normal((120, 4))
    X[np.abs(X) < 0.3] = 0.0
    y = X[:, 0] + rng.logistic(size=120) > 0.5
    weight = 0.5 + rng.random(120)
    groups = np.arange(120) // 10
    kinds = {
        "float64": X,
        "float64 by columns": np.asfortranarray(X),
        "float32": X.astype(np.float32),
        "CSR": sparse.csr_matrix(X),
        "CSC": sparse.csc_matrix(X),
    }
    settings: dict[str, Any] = {"max_iter": 20}
    path = AUCClassifierCV(penalty="l1", n_alphas=5, eps=0.1, cv=2, **settings)
    many = np.arange(2 * FEW_ROWS) % 120  # few rows are summed without compiled code
    labels = y[many]
    for kind, few in kinds.items():
        table = np.asfortranarray(few[many]) if kind == "float64 by columns" else few[many]
        for loss in ("logistic", "squared_hinge", "hinge", "square", "exponential", "sigmoid"):
            yield f"{loss}, {kind}", partial(AUCClassifier(loss, **settings).fit, table, labels)
        yield f"L1 path, {kind}", partial(path.fit, table, labels)
    yield "weighted rows", lambda: AUCClassifier(**settings).fit(X, y, sample_weight=weight)
    yield "weighted hinge", lambda: AUCClassifier("hinge", **settings).fit(X, y, weight)
    yield "groups", lambda: AUCClassifier(**settings).fit(X, y, within=groups)
    yield "rbf kernel", lambda: ROCSVM(max_iter=20).fit(X, y)
    yield "least squares", lambda: AUCRLS().fit(X, y)
    yield "MeasureSVM", lambda: MeasureSVM("f1", C=1.0).fit(X, y)
    yield "RankOpt", lambda: RankOpt().fit(X, y)
    yield "MeasureOpt", lambda: MeasureOpt("f1").fit(X, y)
    yield (
        "intervals and tests",
        lambda: (auc_confidence_interval(y, X[:, 0]), compare_auc(y, X[:, 0], X[:, 1])),
    )


def _cache_directory() -> Path:
    """Where numba keeps the code of this installation."""
    from everypair._compiled import box_moments

    cache = getattr(box_moments, "_cache", None)
    return Path(getattr(cache, "cache_path", None) or ".")


def _kept(where: Path) -> set[str]:
    return {path.name for path in where.glob("*.nb[ci]")} if where.is_dir() else set()
