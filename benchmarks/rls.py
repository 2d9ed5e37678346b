"""AUC-RLS beside the linear algebra that it cannot avoid; prints a table of ratios.

Each line is measured in one run: the two times alternate, and the smallest of each counts.
"""

from __future__ import annotations

import resource
import time
from collections.abc import Callable, Iterator

import numpy as np
from scipy.linalg import cho_factor, eigh
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
    search = AUCRLSCV(np.logspace(-4, 6, 50), kernel="rbf")
    search.fit(X[:100], y[:100])  # compiles
    value = ratio(lambda: search.fit(X, y), lambda: AUCRLS(kernel="rbf").fit(X, y), REPEATS)
    name = f"leave-pair-out, 50 lam, n = 1000, RBF, {share:.0%} positives"
    report(f"{name} / one fit", value, "10")
    K = rbf_kernel(X)
    value = ratio(lambda: search.fit(X, y), lambda: eigh(K, driver="evd"), REPEATS)
    report(f"{name} / one eigendecomposition", value, "")
    search = AUCRLSCV(np.logspace(-4, 6, 50), kernel="rbf", cv=10)
    value = ratio(lambda: search.fit(X, y), lambda: AUCRLS(kernel="rbf").fit(X, y), REPEATS)
    report(f"10 folds, 50 lam, n = 1000, RBF, {share:.0%} positives / one fit", value, "")


def stream() -> None:
    """10^7 x 20 in chunks of 100 000: the peak beside the peak after the first tenth."""
    model, size, n_chunks = AUCRLS(), 100_000, 100

    def chunks() -> Iterator[tuple[np.ndarray, np.ndarray]]:
        for k in range(n_chunks):
            yield rows(size, 20, 0.1, seed=k)

    fitting, peaks = 0.0, []
    for X, y in chunks():
        fitting += seconds(lambda X=X, y=y: model.partial_fit(X, y))
        peaks.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
    product = seconds(lambda: [X.T @ X for X, _ in chunks()]) - seconds(
        lambda: list(map(len, chunks()))
    )
    report(
        "stream 10^7 x 20: peak memory / peak after the first tenth", peaks[-1] / peaks[9], "1.0"
    )
    report("stream 10^7 x 20: time / X'X of each chunk", fitting / product, "")


if __name__ == "__main__":
    print("| measured | ratio | at most |\n|---|---|---|")
    stream()  # first: it watches the memory of the whole process
    primal(0.5)
    primal(0.05)
    dual()
    cross_validation(0.5)
    cross_validation(0.1)
