"""What every pair costs: sums, fits, memory and start-up beside ordinary methods.

python -m lab bench core            print the tables
python -m lab bench core --write    ... and keep them in docs/benchmarks/core.md
python -m lab bench core --fast     a tenth of the rows
python -m lab bench core --only sums dense sparse hinge memory startup
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
import warnings
from functools import partial

import numpy as np
from scipy import sparse
from scipy.special import expit
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import normalize
from sklearn.svm import LinearSVC

from everypair import AUCClassifier
from everypair.linalg.matrix import as_matrix
from everypair.linalg.order import descending
from everypair.linalg.threads import thread_limit
from everypair.pairs import pair_point
from everypair.rows import Rows
from lab.harness import Page, best_time, growth_exponent, markdown_table

ACCURACY = 1e-6


def dense_data(n_rows, n_columns=50, share=0.05, correlated=False, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_rows, n_columns))
    if correlated:
        # A common factor and column scales over a factor of ten, as unscaled tables have.
        X += rng.standard_normal((n_rows, 1))
        X *= np.geomspace(0.3, 3, n_columns)
    signal = X @ (0.3 * rng.standard_normal(n_columns)) + rng.logistic(size=n_rows)
    return X, signal > np.quantile(signal, 1 - share)


def text_like_data(n_rows, n_columns=50_000, per_row=80, share=0.03, seed=0):
    """Zipf-distributed words, rows of length one, labels from a dense weight vector."""
    rng = np.random.default_rng(seed)
    frequency = 1 / np.arange(1, n_columns + 1) ** 0.8
    words = rng.choice(n_columns, size=n_rows * per_row, p=frequency / frequency.sum())
    bounds = np.arange(0, n_rows * per_row + 1, per_row)
    X = sparse.csr_matrix((rng.random(words.size) + 0.1, words, bounds), (n_rows, n_columns))
    X.sum_duplicates()
    X = normalize(X)
    signal = X @ (2 * rng.standard_normal(n_columns)) + 0.3 * rng.logistic(size=n_rows)
    return X, signal > np.quantile(signal, 1 - share)


# --- accuracy, measured on each method's own objective ------------------------------------


def pointwise_relative_gradient(model, X, y, alpha):
    """|grad| / |grad at zero| of mean log loss + alpha / 2 |w|^2, intercept included.

    liblinear penalises the intercept as well, so it is judged on that objective.
    """
    on_intercept = alpha if model.solver == "liblinear" else 0.0

    def gradient(w, b):
        residual = expit(X @ w + b) - y
        return np.append(X.T @ residual / y.size + alpha * w, residual.mean() + on_intercept * b)

    at_solution = gradient(model.coef_[0], model.intercept_[0])
    return np.linalg.norm(at_solution) / np.linalg.norm(gradient(np.zeros(X.shape[1]), 0.0))


def pairwise_relative_gradient(model, X, y):
    matrix, pairs = as_matrix(X), Rows.uncut(y)

    def gradient(w):
        point = pair_point("logistic", pairs, matrix.dot(w))
        return matrix.pull_back(point.gradient()) + model.alpha * w

    at_zero = np.linalg.norm(gradient(np.zeros(X.shape[1])))
    return np.linalg.norm(gradient(model.coef_[0])) / at_zero


def timed_fit(model, X, y):
    began = time.perf_counter()
    model.fit(X, y)
    return time.perf_counter() - began


def fit_to_accuracy(make, accuracy_of, X, y, repeats):
    """Loosest tolerance whose solution is accurate enough: (seconds, accuracy, tolerance)."""
    for tol in 10.0 ** -np.arange(4, 13):
        model = make(tol)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            seconds = timed_fit(model, X, y)
            if (reached := accuracy_of(model)) <= ACCURACY:
                seconds = min([seconds, *(timed_fit(make(tol), X, y) for _ in range(repeats - 1))])
                return seconds, reached, tol
    return None


# --- sections -----------------------------------------------------------------------------


def sums(page, scale):
    rng = np.random.default_rng(0)

    def value_and_gradient(loss, pairs, scores):
        point = pair_point(loss, pairs, scores)
        return point.value(), point.gradient()

    n_rows = int(10**6 * scale)
    X, y = dense_data(n_rows)
    w = 0.3 * rng.standard_normal(50)
    scores, pairs = X @ w, Rows.uncut(y)
    with thread_limit():
        product = best_time(lambda: X @ w, 15)
        rows = []
        for loss in ("logistic", "sigmoid", "square", "exponential", "squared_hinge", "hinge"):
            seconds = best_time(partial(value_and_gradient, loss, pairs, scores), 15)
            rows.append([loss, f"{1000 * seconds:.1f}", f"{seconds / product:.2f}"])
        for what, order in (
            ("order of both classes, in the hinges", lambda rows: descending(scores, rows)),
            ("the same by `numpy.argsort`", lambda rows: rows[np.argsort(scores[rows])[::-1]]),
        ):
            seconds = best_time(lambda order=order: [order(rows) for rows in pairs.classes], 15)
            rows.append([what, f"{1000 * seconds:.1f}", f"{seconds / product:.2f}"])
    rows.append(["`X @ w`, 50 columns", f"{1000 * product:.1f}", "1.00"])
    n_pairs = int(y.sum()) * int((~y).sum())
    page.add(
        f"Value and gradient over {n_pairs:.2e} pairs ({n_rows:,} rows)",
        markdown_table(["sum", "ms", "times `X @ w`"], rows),
    )
    sizes = [10**4, 10**5, 10**6] + ([10**7] if scale == 1 else [])
    seconds = []
    with thread_limit():
        for n in sizes:
            scores = 3 * rng.standard_normal(n)
            pairs = Rows.uncut(rng.random(n) < 0.05)
            seconds.append(best_time(partial(value_and_gradient, "logistic", pairs, scores), 7))
    rows = [
        [f"{n:,}", f"{1000 * s:.2f}", f"{1e9 * s / n:.1f}"]
        for n, s in zip(sizes, seconds, strict=True)
    ]
    page.add(
        "Growth of the logistic value and gradient",
        markdown_table(["rows", "ms", "ns a row"], rows)
        + f"\n\nTime grows with rows to the power {growth_exponent(sizes, seconds):.2f}.",
    )


def fits(page, heading, X, y, solvers, alpha, repeats):
    """Ours beside every pointwise solver that reaches the same accuracy."""
    n_rows = y.size
    rows, fastest = [], np.inf
    AUCClassifier(alpha=alpha).fit(X[:2000], y[:2000])  # compile
    for solver in solvers:
        found = fit_to_accuracy(
            lambda tol, solver=solver: LogisticRegression(
                C=1 / (n_rows * alpha), solver=solver, tol=tol, max_iter=10_000
            ),
            lambda model: pointwise_relative_gradient(model, X, y, alpha),
            X,
            y,
            repeats,
        )
        if found is None:
            rows.append([f"LogisticRegression {solver}", "not reached", "", ""])
            continue
        seconds, reached, tol = found
        fastest = min(fastest, seconds)
        rows.append([f"LogisticRegression {solver}, tol {tol:.0e}", seconds, f"{reached:.0e}", ""])
    at_gap = min(timed_fit(AUCClassifier(alpha=alpha), X, y) for _ in range(repeats))
    model = AUCClassifier(alpha=alpha).fit(X, y)
    rows.append(
        ["**AUCClassifier**, gap 1e-6", at_gap, f"{pairwise_relative_gradient(model, X, y):.0e}",
         f"{model.dual_gap_:.0e}"]
    )  # fmt: skip
    found = fit_to_accuracy(
        lambda tol: AUCClassifier(alpha=alpha, tol=tol),
        lambda model: pairwise_relative_gradient(model, X, y),
        X,
        y,
        repeats,
    )
    if found is None:
        rows.append(["**AUCClassifier**", "not reached", "", ""])
    else:
        seconds, reached, tol = found
        rows.append([f"**AUCClassifier**, tol {tol:.0e}", seconds, f"{reached:.0e}", ""])
    table = [
        [name, f"{s:.2f}", f"{s / fastest:.2f}", gradient, gap]
        if not isinstance(s, str)
        else [name, s, "", gradient, gap]
        for name, s, gradient, gap in rows
    ]
    header = ["fit", "seconds", "times the fastest pointwise", "relative gradient", "gap"]
    page.add(heading, markdown_table(header, table))


def dense(page, scale, repeats):
    n_rows = int(10**6 * scale)
    for kind in ("independent", "correlated"):
        X, y = dense_data(n_rows, correlated=kind == "correlated")
        fits(
            page,
            f"Logistic fit, {n_rows:,} x 50 dense, 5 % positives, {kind} columns, alpha 1e-3",
            X,
            y,
            ("lbfgs", "newton-cholesky", "newton-cg"),
            1e-3,
            repeats,
        )


def sparse_text(page, scale, repeats):
    n_rows = int(10**5 * scale)
    X, y = text_like_data(n_rows)
    for alpha in (1e-3, 1e-5):
        fits(
            page,
            f"Logistic fit, {n_rows:,} x 50,000 CSR, 80 non-zeros a row, 3 % positives, "
            f"alpha {alpha:.0e}",
            X,
            y,
            ("liblinear", "lbfgs", "newton-cg"),
            alpha,
            repeats,
        )


def hinge(page, scale, repeats):
    n_rows, alpha = int(2 * 10**5 * scale), 1e-3
    X, y = dense_data(n_rows)
    rows = []
    for loss in ("squared_hinge", "hinge"):
        AUCClassifier(loss=loss).fit(X[:2000], y[:2000])
        ours = min(timed_fit(AUCClassifier(loss=loss, alpha=alpha), X, y) for _ in range(repeats))
        model = AUCClassifier(loss=loss, alpha=alpha).fit(X, y)
        most = 10_000
        svc = LinearSVC(
            loss=loss, C=1 / (n_rows * alpha), dual=loss == "hinge", tol=1e-6, max_iter=most
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            theirs = min(timed_fit(svc, X, y) for _ in range(max(1, repeats - 1)))
        rows += [
            [f"AUCClassifier {loss}, gap {model.dual_gap_:.0e}", f"{ours:.2f}",
             f"{ours / theirs:.2f}", str(model.n_iter_)],
            [f"LinearSVC {loss} (pointwise), tol 1e-6", f"{theirs:.2f}", "1.00",
             f"{svc.n_iter_}{' (stopped there)' if svc.n_iter_ >= most else ''}"],
        ]  # fmt: skip
    page.add(
        f"Hinge losses, {n_rows:,} x 50 dense, alpha 1e-3",
        markdown_table(["fit", "seconds", "times LinearSVC", "iterations"], rows),
    )


MEMORY_SCRIPT = """
import numpy as np, sys
from everypair import AUCClassifier

def status(key):
    with open("/proc/self/status") as lines:
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(key))

n = int(sys.argv[1])
rng = np.random.default_rng(0)
X = rng.standard_normal((n, 50))
y = X[:, 0] + rng.logistic(size=n) > 4
AUCClassifier().fit(X[:60_000], y[:60_000])  # compile, and take the path of large data once
open("/proc/self/clear_refs", "w").write("5")  # high-water mark := now
before = status("VmRSS")
AUCClassifier().fit(X, y)
print((status("VmHWM") - before) / n)
"""


def memory(page, scale):
    n_rows = int(10**6 * scale)
    done = subprocess.run(
        [sys.executable, "-c", MEMORY_SCRIPT, str(n_rows)],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    page.add(
        "Peak memory beyond X",
        f"Logistic fit of {n_rows:,} x 50 (400 bytes a row): "
        f"{float(done.stdout):.0f} bytes a row beyond X, at the peak of resident memory.",
    )


STARTUP_SCRIPT = """
import numpy as np
from everypair import AUCClassifier
rng = np.random.default_rng(0)
X = rng.standard_normal((500, 10))
AUCClassifier().fit(X, X[:, 0] > 1)
"""


def startup(page, repeats):
    def run(code, cache):
        began = time.perf_counter()
        subprocess.run(
            [sys.executable, "-c", code], check=True, env={**os.environ, "NUMBA_CACHE_DIR": cache}
        )
        return time.perf_counter() - began

    with tempfile.TemporaryDirectory() as cache:
        cold = run(STARTUP_SCRIPT, cache)
        warm = min(run(STARTUP_SCRIPT, cache) for _ in range(repeats))
        sklearn = min(run("import sklearn.linear_model", cache) for _ in range(repeats))
    rows = [
        ["first fit, empty numba cache", f"{cold:.2f}", "10"],
        ["first fit, warm cache", f"{warm:.2f}", f"{1.5 * sklearn + 1:.2f}"],
        ["`import sklearn.linear_model`", f"{sklearn:.2f}", ""],
    ]
    page.add("Fresh process", markdown_table(["process", "seconds", "target"], rows))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    sections = ("sums", "dense", "sparse", "hinge", "memory", "startup")
    parser.add_argument("--only", nargs="+", choices=sections, default=sections)
    parser.add_argument("--fast", action="store_true", help="a tenth of the rows, once")
    parser.add_argument("--write", action="store_true", help="keep the tables in the docs")
    args = parser.parse_args()
    scale, repeats = (0.1, 1) if args.fast else (1, 2)
    page = Page(
        "core",
        "What every pair costs",
        "Made by `lab/benchmarks/core.py`. Every ratio comes from one run on one machine. Solvers "
        f"are driven to a relative gradient of {ACCURACY:.0e} on their own objective, with the "
        "loosest tolerance that reaches it; compilation is not timed except under *Fresh process*.",
    )
    run = {
        "sums": lambda: sums(page, scale),
        "dense": lambda: dense(page, scale, repeats),
        "sparse": lambda: sparse_text(page, scale, repeats),
        "hinge": lambda: hinge(page, scale, repeats),
        "memory": lambda: memory(page, scale),
        "startup": lambda: startup(page, repeats),
    }
    for section in args.only:
        run[section]()
    if args.write:
        if args.fast or len(args.only) < len(sections):
            parser.error("--write keeps a whole run: drop --fast and --only.")
        page.write()


if __name__ == "__main__":
    main()
