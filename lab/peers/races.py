"""Races that other benchmarks of this project run already, one entry at a time.

The L1 path (`sparse_path`), AUC-RLS beside its BLAS limit (`rls`), kernel ROC-SVM beside SVC
(`rocsvm`). Each entry returns numbers that `page` divides by each other.
"""

from __future__ import annotations

import contextlib
import io

import numpy as np
from sklearn.metrics import roc_auc_score

PATHS = {"path wide": (200, 20_000), "path tall": (20_000, 200)}
PATH_ENTRIES = ("everypair", "celer, proximal Newton", "celer, coordinate descent", "skglm")
PATH_LIMIT = 60.0


def path_race(shape: tuple[int, int], entry: str) -> dict[str, float]:
    """100 alphas to relative gap 1e-4 at each, one thread."""
    from threadpoolctl import threadpool_limits

    from lab.benchmarks import sparse_path
    from lab.data.simulate import simulate

    X, y = simulate("M4", *shape, positive_share=0.5, random_state=0)
    X -= X.mean(axis=0)
    X /= X.std(axis=0)
    signs = y.astype(float)
    run = {
        "celer, proximal Newton": lambda *a: sparse_path.celer(*a, use_PN=True),
        "celer, coordinate descent": lambda *a: sparse_path.celer(*a, use_PN=False),
        "skglm": sparse_path.skglm,
    }.get(entry)
    with threadpool_limits(1):
        if run is None:
            sparse_path.everypair(X[:200, :20], y[:200], 1e-4)
            found = sparse_path.race(
                lambda tol: sparse_path.everypair(X, y, tol),
                lambda path: sparse_path.pairwise_gaps(X, y, path),
                PATH_LIMIT,
            )
        else:
            alphas, columns = sparse_path.pointwise_alphas(X, signs), np.asfortranarray(X)
            few = np.asfortranarray(X[:200, :20])
            few_alphas = sparse_path.pointwise_alphas(few, signs[:200])[:3]
            run(few, signs[:200], few_alphas, 1e-2)
            found = sparse_path.race(
                lambda tol: run(columns, signs, alphas, tol),
                lambda coefs: sparse_path.pointwise_gaps(X, signs, alphas, coefs),
                PATH_LIMIT,
            )
    seconds, gap, size = found
    return {"seconds": seconds, "gap": float(gap), "nonzeros": int(size)}


RLS_ENTRIES = ("primal", "dual")


def rls_race(entry: str) -> dict[str, float]:
    """Ratios to what BLAS cannot avoid: the table of `rls`, read back."""
    from lab.benchmarks import rls

    with contextlib.redirect_stdout(io.StringIO()) as table:
        for part in rls.PARTS[entry]:
            part()
    rows = (line.strip("| \n").split(" | ") for line in table.getvalue().splitlines())
    return {what: float(value) for what, value, *_ in rows}


KERNELS = ("toy problem", "covtype")
KERNEL_ROWS = 5000


def kernel_race(entry: str) -> dict[str, float]:
    """`ROCSVM` and `SVC` in turn at 5000 rows, default kernels."""
    from sklearn.svm import SVC

    from everypair import ROCSVM
    from lab.benchmarks import rocsvm

    X, y, test, truth = rocsvm.split(entry, KERNEL_ROWS)
    models = {"SVC": SVC(C=1.0), "ROCSVM": ROCSVM(C=rocsvm.matching(y))}
    ROCSVM(C=rocsvm.matching(y)).fit(X[:1500], y[:1500])  # compile
    seconds = {name: [] for name in models}
    for _ in range(3):
        for name, model in models.items():
            seconds[name].append(rocsvm.timed(model, X, y)[0])
    found = {f"{name} seconds": min(values) for name, values in seconds.items()}
    for name, model in models.items():
        found[f"{name} AUC"] = float(roc_auc_score(truth, model.decision_function(test)))
    return found


RACES = {
    **{name: lambda entry, shape=shape: path_race(shape, entry) for name, shape in PATHS.items()},
    "rls": rls_race,
    "kernel": kernel_race,
}
