"""AUC-RLS beside the linear algebra that it cannot avoid; prints a table of ratios.

Each line is measured in one run: the two times alternate, and the smallest of each counts.
`python -m lab bench rls [stream] [primal] [dual] [cv]`
"""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
from scipy.linalg import cho_factor
from sklearn.metrics.pairwise import rbf_kernel

from everypair import AUCRLS, AUCRLSCV

REPEATS = 5


def seconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def ratio(ours: Callable[[], object], theirs: Callable[[], object], repeats: int) -> float:
    pairs = [(seconds(ours), seconds(theirs)) for _ in range(repeats)]
    return min(a for a, _ in pairs) / min(b for _, b in pairs)


def rows(n: int, p: int, share: float, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    signal = X[:, 0] - X[:, 1] / 2 + 2 * rng.standard_normal(n)
    return X, signal > np.quantile(signal, 1 - share)


def report(what: str, value: float, target: str) -> None:
    print(f"| {what} | {value:.2f} | {target} |", flush=True)


def primal(share: float) -> None:
    X, y = rows(1_000_000, 100, share)
    small = X[:200].T @ X[:200] + np.eye(100)

    def unavoidable() -> None:
        X.T @ X
        cho_factor(small)

    value = ratio(lambda: AUCRLS().fit(X, y), unavoidable, REPEATS)
    report(f"primal fit, 10^6 x 100, {share:.0%} positives / X'X + Cholesky", value, "1.3")


def dual() -> None:
    X, y = rows(4000, 20, 0.2)
    K = rbf_kernel(X)
    plus = K + np.eye(4000)
    fit = AUCRLS(kernel="precomputed")
    value = ratio(lambda: fit.fit(K, y), lambda: cho_factor(plus), REPEATS)
    report("dual fit, n = 4000, kernel given / Cholesky", value, "1.3")
    fit = AUCRLS(kernel="rbf", gamma=1 / 20)
    value = ratio(
        lambda: fit.fit(X, y), lambda: (rbf_kernel(X, gamma=1 / 20), cho_factor(plus)), REPEATS
    )
    report("dual fit, n = 4000, RBF / kernel + Cholesky", value, "1.3")


def cross_validation(share: float) -> None:
    X, y = rows(1000, 20, share)
    lams = np.logspace(-4, 6, 50)  # beside a sum over pairs, as in the paper
    alphas = 2 * lams / (np.count_nonzero(y) * np.count_nonzero(~y.astype(bool)))
    K = rbf_kernel(X)
    search, fit = AUCRLSCV(alphas, kernel="rbf"), AUCRLS(kernel="rbf")
    search.fit(X[:100], y[:100])  # compiles
    name = f"50 alphas, n = 1000, {share:.0%} positives"
    value = ratio(lambda: search.fit(X, y), lambda: np.linalg.eigh(K), REPEATS)
    report(f"leave-pair-out, {name}, RBF / one eigendecomposition", value, "")
    value = ratio(lambda: search.fit(X, y), lambda: fit.fit(X, y), REPEATS)
    report(f"leave-pair-out, {name}, RBF / one fit (by Cholesky)", value, "10")
    folds = AUCRLSCV(alphas, kernel="rbf", cv=10)
    value = ratio(lambda: folds.fit(X, y), lambda: fit.fit(X, y), REPEATS)
    report(f"10 folds, {name}, RBF / one fit (by Cholesky)", value, "")
    X, y = rows(1000, 5000, share)
    search, fit = AUCRLSCV(alphas), AUCRLS()
    value = ratio(lambda: search.fit(X, y), lambda: fit.fit(X, y), REPEATS)
    report(f"leave-pair-out, {name}, linear, 5000 features / one fit", value, "10")


def stream() -> None:
    """10^7 x 20 in chunks of 100 000: the peak beside the peak after the first tenth."""
    model, size, n_chunks = AUCRLS(), 100_000, 100

    def chunks() -> Iterator[tuple[np.ndarray, np.ndarray]]:
        for k in range(n_chunks):
            yield rows(size, 20, 0.1, seed=k)

    peaks, fitting, product = [], 0.0, 0.0
    for X, y in chunks():
        product += seconds(partial(np.matmul, X.T, X))
        fitting += seconds(partial(model.partial_fit, X, y))
        peaks.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
    report("stream 10^7 x 20: peak memory / peak after the first tenth", peaks[-1] / peaks[9], "1")
    report("stream 10^7 x 20: time / X'X of each chunk", fitting / product, "")


PARTS: dict[str, list[Callable[[], None]]] = {
    "stream": [stream],  # first: it watches the memory of the whole process
    "primal": [partial(primal, 0.5), partial(primal, 0.05)],
    "dual": [dual],
    "cv": [partial(cross_validation, 0.5), partial(cross_validation, 0.1)],
}

if __name__ == "__main__":
    print("| measured | ratio | at most |\n|---|---|---|")
    for name in sys.argv[1:] or PARTS:
        for part in PARTS[name]:
            part()
