"""A path of 100 alphas over every pair beside pointwise sparse logistic regression paths.

    python -m lab bench sparse_path wide          200 x 20 000
    python -m lab bench sparse_path tall          100 000 x 200
    python -m lab bench sparse_path 20000x200

Model M4 (Kim & Shin 2024), standardised, alpha from alpha_max to alpha_max / 1000. Both classes
are equally large, so that the pointwise fits, which have no intercept in celer, need none.

Equal accuracy: every solver gets the loosest of the tolerances 1e-2, 1e-3, ... at which the
relative duality gap of its own problem is at most 1e-4 at every alpha, judged here and not by the
solver: ours over every pair, one by one, with the multipliers of the pairs. That takes n^2 a check,
so above `PAIRS` pairs our path is judged where its own gap is largest and at its end, and only
once it claims to be accurate enough. Only that run counts; compilation is done before on a small
problem. A solver is given up when a run passes the time limit (seconds, second argument, 300).
One thread.
"""

import sys
import time
import warnings

import numpy as np
from scipy.special import entr, expit
from threadpoolctl import threadpool_limits

from everypair import auc_path
from lab.data.simulate import simulate

SHAPES = {"wide": (200, 20_000), "tall": (100_000, 200)}
GAP = 1e-4
SHARES = np.geomspace(1, 1e-3, 100)


PAIRS = 10**7
BLOCK = 200


def everypair(X, y, tol):
    return auc_path(X, y, n_alphas=SHARES.size, eps=SHARES[-1], tol=tol)


def pairwise_gaps(X, y, path):
    """Of ``mean_ij log(1 + exp(-(x_i - x_j).w)) + alpha |w|_1``, from every pair by itself."""
    P, N = X[y > 0], X[y < 0]
    chosen = np.arange(path.alphas.size)
    if len(P) * len(N) > PAIRS:
        if path.dual_gaps.max() > GAP:
            return path.dual_gaps.max(), path.n_nonzero[-1]
        chosen = np.unique([np.argmax(path.dual_gaps), chosen[-1]])
    gaps = []
    for alpha, w in zip(path.alphas[chosen], path.coefs.T[chosen], strict=True):
        high, low = P @ w, N @ w
        value, pulled = alpha * np.abs(w).sum(), np.zeros(X.shape[1])
        for begin in range(0, high.size, BLOCK):
            margins = high[begin : begin + BLOCK, None] - low
            value += np.logaddexp(0, -margins).sum() / (high.size * low.size)
            a = expit(-margins)
            pulled += a.sum(axis=1) @ P[begin : begin + BLOCK] - a.sum(axis=0) @ N
        scale = min(1, alpha * high.size * low.size / np.abs(pulled).max())
        dual = 0.0
        for begin in range(0, high.size, BLOCK):
            a = scale * expit(low - high[begin : begin + BLOCK, None])
            dual += (entr(a) + entr(1 - a)).sum() / (high.size * low.size)
        gaps.append((value - dual) / value)
    return max(gaps), path.n_nonzero[-1]


def pointwise_alphas(X, y):
    return np.abs(X.T @ y).max() / (2 * y.size) * SHARES


def pointwise_gaps(X, y, alphas, coefs):
    """Of ``mean log(1 + exp(-y x.w)) + alpha |w|_1``, the multipliers scaled until feasible."""
    gaps = []
    for alpha, w in zip(alphas, coefs, strict=True):
        margins = y * (X @ w)
        value = np.logaddexp(0, -margins).mean() + alpha * np.abs(w).sum()
        a = expit(-margins)
        a *= min(1, alpha / (np.abs(X.T @ (y * a)).max() / y.size))
        gaps.append((value - (entr(a) + entr(1 - a)).mean()) / value)
    return max(gaps), np.count_nonzero(coefs[-1])


def celer(X, y, alphas, tol, use_PN):
    from celer import celer_path

    found = celer_path(X, y, "logreg", alphas=alphas * y.size, tol=tol, use_PN=use_PN, max_iter=100)
    return found[1].T


def skglm(X, y, alphas, tol):
    from skglm.datafits import Logistic
    from skglm.penalties import L1
    from skglm.solvers import ProxNewton

    solver = ProxNewton(tol=tol, fit_intercept=False, warm_start=True, max_iter=100)
    w, scores, coefs = np.zeros(X.shape[1]), np.zeros(y.size), []
    for alpha in alphas:
        w = solver.solve(X, y, Logistic(), L1(alpha), w, scores)[0]
        scores = X @ w
        coefs.append(w.copy())
    return np.array(coefs)


def race(run, judge, limit):
    """Seconds of the loosest tolerance that is accurate enough, with its gap and support."""
    for tol in 10.0 ** -np.arange(2, 12):
        began = time.perf_counter()
        answer = run(tol)
        seconds = time.perf_counter() - began
        gap, size = judge(answer)
        if gap <= GAP or seconds > limit:
            return seconds, gap, size
    return seconds, gap, size


def main(shape, limit):
    warnings.simplefilter("ignore")
    n_rows, n_columns = SHAPES.get(shape) or map(int, shape.split("x"))
    X, y = simulate("M4", n_rows, n_columns, positive_share=0.5, random_state=0)
    X -= X.mean(axis=0)
    X /= X.std(axis=0)
    signs, by_columns = y.astype(float), np.asfortranarray(X)
    alphas = pointwise_alphas(X, signs)
    pointwise = {
        "celer, proximal Newton": lambda X, y, a, tol: celer(X, y, a, tol, use_PN=True),
        "celer, coordinate descent": lambda X, y, a, tol: celer(X, y, a, tol, use_PN=False),
        "skglm, ProxNewton": skglm,
    }
    small = np.asfortranarray(X[:200, :20])
    everypair(X[:200, :20], y[:200], 1e-4)
    rows = {
        "everypair, every pair": race(
            lambda tol: everypair(X, y, tol), lambda path: pairwise_gaps(X, y, path), limit
        )
    }
    print("everypair done", file=sys.stderr)
    for name, run in pointwise.items():
        run(small, signs[:200], pointwise_alphas(small, signs[:200])[:3], 1e-2)
        rows[name] = race(
            lambda tol, run=run: run(by_columns, signs, alphas, tol),
            lambda coefs: pointwise_gaps(X, signs, alphas, coefs),
            limit,
        )
        print(f"{name} done", file=sys.stderr)
    ours = rows["everypair, every pair"][0]
    print(f"\n{n_rows} x {n_columns}, 100 alphas\n")
    print("| path | time / ours | largest relative gap | non-zeros at the end |")
    print("|---|---|---|---|")
    for name, (seconds, gap, size) in rows.items():
        print(f"| {name} | {seconds / ours:.2f} | {gap:.1e} | {size} |")


if __name__ == "__main__":
    with threadpool_limits(1):
        main(sys.argv[1], float(sys.argv[2]) if len(sys.argv) > 2 else 300)
