"""L1-penalised AUC on the simulated models and on Pima, as Kim & Shin (2024).

Tables 1 and 2: models M1 to M4 with 90 % positives, n training and 500 test rows, seven methods,
each with its penalty from the paper's grid 1.8^-8 ... 1.8^2 by 5-fold AUC. Figure 1: the time
of one fit. Table 3 and Figure 2: Pima, 70 % to train on, 30 % to test.

ROCLOG is the logistic, ROCSVM the hinge loss over pairs (`AUCClassifier`); L1-ROCLOG-1 sums over
every pair, L1-ROCLOG-2 over clusters of them (`CPAUC`). The SVMs are scikit-learn's
`LinearSVC` with C = 1 / (n lambda); its L1 penalty comes with squared slacks only. Rows are
standardised. Where a sample has one negative row (seed 72 at n = 100), no fold has both classes and
the middle lambda is taken.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import roc_curve
from sklearn.model_selection import StratifiedKFold, train_test_split
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from lab.data.fetchers import fetch
from lab.data.simulate import MEANS, simulate
from lab.papers import cpauc_added
from lab.papers.kept import Found, Params, Store, grouped, of_part
from lab.papers.paper_page import COLOURS, PaperPage, mean_sd, panels, table

Array = NDArray[np.float64]

GRID = 1.8 ** np.arange(-8.0, 3.0)
METHODS = ("L2-SVM", "L1-SVM", "L2-ROCSVM", "L1-ROCSVM", "L2-ROCLOG", "L1-ROCLOG-1", "L1-ROCLOG-2")
SELECTING = ("L1-SVM", "L1-ROCSVM", "L1-ROCLOG-2", "L1-ROCLOG-1")
SIZES = [(n, p) for n in (100, 200) for p in (20, 40)]

PRINTED_AUC = {
    ("M1", 100, 20): (0.830, 0.852, 0.820, 0.857, 0.851, 0.870, 0.868),
    ("M1", 100, 40): (0.776, 0.828, 0.759, 0.824, 0.809, 0.850, 0.849),
    ("M1", 200, 20): (0.869, 0.879, 0.854, 0.886, 0.884, 0.891, 0.893),
    ("M1", 200, 40): (0.827, 0.861, 0.804, 0.886, 0.856, 0.889, 0.885),
    ("M2", 100, 20): (0.856, 0.876, 0.833, 0.878, 0.869, 0.889, 0.886),
    ("M2", 100, 40): (0.803, 0.865, 0.798, 0.876, 0.836, 0.882, 0.879),
    ("M2", 200, 20): (0.896, 0.907, 0.884, 0.919, 0.906, 0.923, 0.923),
    ("M2", 200, 40): (0.855, 0.895, 0.845, 0.909, 0.870, 0.911, 0.909),
    ("M3", 100, 20): (0.854, 0.887, 0.856, 0.869, 0.874, 0.885, 0.882),
    ("M3", 100, 40): (0.807, 0.854, 0.797, 0.865, 0.843, 0.875, 0.874),
    ("M3", 200, 20): (0.890, 0.895, 0.871, 0.901, 0.902, 0.908, 0.905),
    ("M3", 200, 40): (0.857, 0.881, 0.816, 0.898, 0.882, 0.901, 0.898),
    ("M4", 100, 20): (0.894, 0.903, 0.887, 0.896, 0.902, 0.910, 0.909),
    ("M4", 100, 40): (0.835, 0.886, 0.827, 0.888, 0.865, 0.891, 0.888),
    ("M4", 200, 20): (0.919, 0.921, 0.901, 0.928, 0.926, 0.931, 0.929),
    ("M4", 200, 40): (0.886, 0.915, 0.852, 0.922, 0.899, 0.925, 0.920),
}
"""Table 1, in the order of METHODS."""

PRINTED_CHOSEN = {
    ("M1", 100, 20): (2.92, 8.66, 2.78, 4.76, 2.70, 4.96),
    ("M1", 100, 40): (2.90, 13.14, 2.50, 6.94, 2.68, 8.14),
    ("M1", 200, 20): (3.00, 9.98, 2.88, 2.78, 2.96, 3.62),
    ("M1", 200, 40): (3.00, 18.12, 3.00, 6.62, 2.94, 6.78),
    ("M2", 100, 20): (2.94, 7.82, 2.78, 4.32, 2.88, 5.24),
    ("M2", 100, 40): (3.00, 12.34, 2.72, 5.58, 2.76, 6.56),
    ("M2", 200, 20): (3.00, 10.06, 3.00, 3.34, 3.00, 3.18),
    ("M2", 200, 40): (3.00, 16.18, 2.98, 5.62, 2.94, 6.12),
    ("M3", 100, 20): (4.03, 6.63, 3.34, 3.78, 3.51, 4.67),
    ("M3", 100, 40): (3.83, 12.09, 2.98, 4.98, 3.36, 8.59),
    ("M3", 200, 20): (4.48, 9.00, 3.85, 3.75, 4.02, 4.58),
    ("M3", 200, 40): (4.50, 16.39, 3.43, 4.27, 3.89, 6.67),
    ("M4", 100, 20): (4.16, 7.05, 3.59, 4.25, 3.94, 5.13),
    ("M4", 100, 40): (3.93, 10.68, 3.08, 4.30, 3.41, 6.41),
    ("M4", 200, 20): (4.57, 8.92, 3.90, 3.70, 4.06, 4.24),
    ("M4", 200, 40): (4.55, 15.18, 3.78, 5.17, 4.05, 7.26),
}
"""Table 2: right and wrong features of L1-SVM, L1-ROCSVM and L1-ROCLOG-2."""

PRINTED_PIMA = {
    "L2-SVM": (8, 0.832, 0.025), "L1-SVM": (7, 0.843, 0.023),
    "L2-ROCLOG": (8, 0.837, 0.025), "L1-ROCLOG-2": (5, 0.856, 0.024),
}  # fmt: skip
"""Table 3: features, test AUC and its standard error."""

PIMA_METHODS = ("L2-SVM", "L1-SVM", "L2-ROCLOG", "L1-ROCLOG-1", "L1-ROCLOG-2")
TIMED_ALPHA = float(GRID[4])


def settings(fast: bool) -> Params:
    return {
        "grid of lambda": "1.8^-8 ... 1.8^2",
        "selection": "mean AUC of 5 stratified folds, the largest lambda among equals",
        "test rows": 500,
        "timed": f"one fit at lambda = 1.8^-4 = {TIMED_ALPHA:.4f}, least processor time of 5",
    }


def cells(fast: bool) -> list[Params]:
    repetitions = 1 if fast else 100
    timed = [(n, p) for n in (100, 200, 300, 400) for p in (20, 40)]
    out: list[Params] = [
        {"part": "time", "n": n, "p": p, "seed": seed}
        for seed in range(1 if fast else 10)
        for n, p in timed
        if n <= 200 or not fast
    ]
    out += [{"part": "pima", "seed": seed} for seed in range(repetitions)]
    out += [
        {"part": "steps", "n": n, "p": p, "seed": seed}
        for seed in range(1 if fast else 5)
        for n, p in timed
        if n <= 100 or not fast
    ]
    out += [{"part": "pima, why", "seed": seed} for seed in range(1 if fast else 40)]
    drawn_from = [(model, n, p) for model in MEANS for n, p in SIZES]
    return out + [
        {"part": part, "model": model, "n": n, "p": p, "seed": seed}
        for part, times in (
            ("lambdas", 1 if fast else 10),
            ("models", repetitions),
            ("exact", 1 if fast else 40),
            ("unscaled", 1 if fast else 40),
            ("level", 1 if fast else 20),
        )
        for seed in range(times)
        for model, n, p in (drawn_from[:1] if fast else drawn_from)
    ]


def paths(method: str, X: Array, y: NDArray[np.bool_], seed: int, grid: Array = GRID) -> Array:
    """The coefficients at each lambda of the grid, a column each."""
    from everypair import CPAUC, AUCClassifier, auc_path
    from everypair.solvers.progress import Progress
    from everypair.solvers.prox_gradient import proximal_gradient

    n = y.size
    if method.endswith("-SVM"):
        norm = method[:2].lower()
        models = [
            LinearSVC(penalty=norm, dual=False, C=1 / (n * lam), max_iter=5000).fit(X, y)
            for lam in grid
        ]
        return np.column_stack([model.coef_[0] for model in models])
    loss = "hinge" if method.endswith("ROCSVM") else "logistic"
    if method in {"L1-ROCSVM", "L1-ROCLOG-1"}:
        path = auc_path(X, y, loss=loss, l1_ratio=1.0, alphas=grid, tol=1e-4)
        return np.asarray(path.coefs[:, ::-1])
    if method == "L1-ROCLOG-2":
        clusters = CPAUC(alpha=grid[-1], random_state=seed).fit(X, y)
        centres, weights = clusters.cluster_centers_, clusters.cluster_weights_
        fits = [proximal_gradient(centres, weights, lam, 1e-5, Progress(1000)) for lam in grid]
        return np.column_stack([fit.b for fit in fits])
    ridge = [AUCClassifier(loss=loss, alpha=lam, tol=1e-4).fit(X, y).coef_[0] for lam in grid]
    return np.column_stack(ridge)


def level_lambdas(method: str, X: Array, y: NDArray[np.bool_], seed: int) -> NDArray[np.intp]:
    """Places in the grid of the best mean 5-fold AUC, rising; the middle where no fold has one
    (a single negative)."""
    from everypair.metrics import auc_score

    aucs = []
    for train, test in StratifiedKFold(5, shuffle=True, random_state=seed).split(X, y):
        if y[test].all() or not y[test].any() or y[train].all():
            continue  # fewer than five negatives: some folds have none
        scores = X[test] @ paths(method, X[train], y[train], seed)
        aucs.append([auc_score(y[test], column) for column in scores.T])
    if not aucs:
        return np.array([GRID.size // 2])
    means = np.mean(aucs, axis=0)
    return np.flatnonzero(means >= means.max() - 1e-12)


def chosen(method: str, X: Array, y: NDArray[np.bool_], seed: int) -> Array:
    """Coefficients at the largest of the best lambda."""
    best = level_lambdas(method, X, y, seed)[-1]
    return paths(method, X, y, seed, GRID[best : best + 1])[:, 0]


def work(params: Params) -> Found:
    parts: dict[str, Callable[[Params], Found]] = {
        "models": _model_cell, "pima": _pima_cell, "time": _time_cell,
        "steps": cpauc_added.steps, "pima, why": cpauc_added.pima,
        "lambdas": cpauc_added.lambdas, "exact": _model_cell, "unscaled": _model_cell,
        "level": cpauc_added.level,
    }  # fmt: skip
    return parts[params["part"]](params)


def drawn(params: Params) -> tuple[Array, NDArray[np.bool_], Array, NDArray[np.bool_]]:
    """Training and test rows of a simulated model, standardised, and which are positive.

    Added parts: ``exact`` has nine positives to a negative in every sample, ``unscaled`` also has
    columns that are centred only.
    """
    draw = cpauc_added.exact if params["part"] in {"exact", "unscaled"} else simulate
    model, p, seed = params["model"], params["p"], params["seed"]
    X, y = draw(model, params["n"], p, random_state=seed)
    X_test, y_test = draw(model, 500, p, random_state=100_000 + seed)
    scaler = StandardScaler(with_std=params["part"] != "unscaled").fit(X)
    return scaler.transform(X), y > 0, scaler.transform(X_test), y_test > 0


def _model_cell(params: Params) -> Found:
    from everypair.metrics import auc_score

    X, positive, X_test, positive_test = drawn(params)
    informative = len(MEANS[params["model"]])
    out: Found = {}
    for method in METHODS:
        w = chosen(method, X, positive, params["seed"])
        used = w != 0
        auc = auc_score(positive_test, X_test @ w)
        out[method] = [
            round(auc, 5), int(used[:informative].sum()), int(used[informative:].sum())
        ]  # fmt: skip
    return out


def _pima_cell(params: Params) -> Found:
    from everypair.metrics import auc_score

    X, y, _ = fetch("pima")
    X, X_test, y, y_test = train_test_split(
        X, y == 1, test_size=0.3, stratify=y, random_state=params["seed"]
    )
    scaler = StandardScaler().fit(X)
    X, X_test = scaler.transform(X), scaler.transform(X_test)
    out: Found = {}
    for method in PIMA_METHODS:
        w = chosen(method, X, y, params["seed"])
        scores = X_test @ w
        out[method] = {"auc": round(auc_score(y_test, scores), 5), "used": int((w != 0).sum())}
        if params["seed"] == 0:
            fpr, tpr, _ = roc_curve(y_test, scores)
            out[method]["curve"] = [fpr.round(4).tolist(), tpr.round(4).tolist()]
    return out


def _time_cell(params: Params) -> Found:
    from everypair import CPAUC, AUCClassifier
    from everypair.solvers.progress import Progress
    from everypair.solvers.prox_gradient import proximal_gradient

    X, y = simulate("M1", params["n"], params["p"], random_state=params["seed"])
    X = StandardScaler().fit_transform(X)
    differences = (X[y > 0][:, None] - X[y < 0][None]).reshape(-1, params["p"])
    equal = np.full(len(differences), 1 / len(differences))
    ways: dict[str, Callable[[], Any]] = {
        "PAUC": lambda: proximal_gradient(differences, equal, TIMED_ALPHA, 1e-6, Progress(1000)),
        "CPAUC": lambda: CPAUC(alpha=TIMED_ALPHA, random_state=0).fit(X, y),
        "ours": lambda: AUCClassifier(penalty="l1", alpha=TIMED_ALPHA).fit(X, y),
    }
    out: Found = {}
    for way, fit in ways.items():
        fit()  # compiles, and warms the caches
        seconds = []
        for _ in range(5):
            began = time.process_time()
            fit()
            seconds.append(time.process_time() - began)
        out[way] = round(min(seconds), 6)
    return out


def write(page: PaperPage, store: Store, done: list[tuple[Params, Found]]) -> None:
    if models := of_part(done, "models"):
        _write_models(page, grouped(models, "model", "n", "p"))
    if times := of_part(done, "time"):
        _write_times(page, grouped(times, "n", "p"))
    if pima := of_part(done, "pima"):
        _write_pima(page, [found for _, found in pima])
    if steps := of_part(done, "steps"):
        cpauc_added.write_steps(page, steps)
    if why := of_part(done, "pima, why"):
        cpauc_added.write_pima(page, why)
    if lambdas := of_part(done, "lambdas"):
        beyond = cpauc_added.beyond(
            grouped(of_part(done, "models"), "model", "n", "p"), PRINTED_AUC
        )
        cpauc_added.write_lambdas(page, lambdas, PRINTED_AUC, beyond)
    by_draw = {
        name: grouped(of_part(done, part), "model", "n", "p")
        for part, name in cpauc_added.DRAWS.items()
    }
    if all(by_draw.values()):
        cpauc_added.write_draws(page, by_draw, PRINTED_AUC, PRINTED_CHOSEN)
    if level := of_part(done, "level"):
        cpauc_added.write_level(page, level, PRINTED_AUC)


def _write_models(page: PaperPage, by_size: dict[tuple[str, int, int], list[Found]]) -> None:
    rows, chosen_rows, gaps = [], [], []
    for size in (size for size in PRINTED_AUC if size in by_size):
        found, printed = by_size[size], PRINTED_AUC[size]
        means = [np.mean([f[m][0] for f in found]) for m in METHODS]
        spreads = [np.std([f[m][0] for f in found]) for m in METHODS]
        gaps.append(np.subtract(means, printed))
        head = [size[0], str(size[1]), str(size[2]), str(len(found))]
        rows.append(
            head
            + [
                f"{theirs:.3f} / {ours:.3f} ({spread:.2f})"
                for theirs, ours, spread in zip(printed, means, spreads, strict=True)
            ]
        )
        counts = PRINTED_CHOSEN[size]
        line = [*head[:3]]
        for k, method in enumerate(SELECTING):
            right, wrong = (np.mean([f[method][c] for f in found]) for c in (1, 2))
            known = f"{counts[2 * k]:.2f}, {counts[2 * k + 1]:.2f}" if k < 3 else "-"
            line.append(f"{known} / {right:.2f}, {wrong:.2f}")
        chosen_rows.append(line)
    beyond = cpauc_added.beyond(by_size, PRINTED_AUC)
    page.add(
        "Table 1: mean test AUC, paper / ours",
        table(["model", "n", "p", "runs", *METHODS], rows),
        "In brackets our standard deviation over the runs; the paper's (0.02 to 0.07 in its table, "
        "called standard error there) is of that size.",
        "Mean of ours less the paper's over the lines: "
        + ", ".join(
            f"{m} {gap:+.3f}" for m, gap in zip(METHODS, np.mean(gaps, axis=0), strict=True)
        )
        + ".",
        "Cells whose difference is beyond the printed error: "
        + (", ".join(f"{m} {'/'.join(map(str, size))}" for size, m in beyond) or "none")
        + ".",
    )
    page.add(
        "Table 2: right and wrong features chosen, paper / ours",
        table(["model", "n", "p", *SELECTING], chosen_rows),
    )
    page.add("What the paper claims, and what we find", _model_claims(by_size))
    figure, axes = panels(1, 1, 5.5, 4.2)
    axis = axes[0, 0]
    for k, method in enumerate(METHODS):
        sizes = [size for size in PRINTED_AUC if size in by_size]
        means = [np.mean([f[method][0] for f in by_size[size]]) for size in sizes]
        axis.plot(
            [PRINTED_AUC[size][k] for size in sizes],
            means,
            "osD^vPX"[k],
            color=COLOURS[k],
            label=method,
            alpha=0.8,
        )
    axis.plot([0.74, 0.94], [0.74, 0.94], color="black", linewidth=0.8)
    axis.set(xlabel="test AUC, paper", ylabel="test AUC, ours")
    axis.legend(frameon=False, fontsize=8)
    page.figure(figure, "table1", "Mean test AUC of the paper against ours")


def _model_claims(by_size: dict[tuple[str, int, int], list[Found]]) -> str:
    def mean(method: str) -> Array:
        return np.array([np.mean([f[method][0] for f in found]) for found in by_size.values()])

    def count(better: str, worse: str) -> str:
        ahead = mean(better) > mean(worse)
        gain = (mean(better) - mean(worse)).mean()
        return f"{better} over {worse}: {ahead.sum()} of {ahead.size}, mean {gain:+.3f}"

    rows = [
        ["AUC methods beat the SVM of the same penalty",
         "; ".join(count(a, b) for a, b in (("L2-ROCLOG", "L2-SVM"), ("L1-ROCLOG-2", "L1-SVM"),
                                            ("L2-ROCSVM", "L2-SVM"), ("L1-ROCSVM", "L1-SVM")))],
        ["ROCLOG slightly better than ROCSVM",
         "; ".join(count(a, b) for a, b in (("L2-ROCLOG", "L2-ROCSVM"),
                                            ("L1-ROCLOG-1", "L1-ROCSVM")))],
        ["clusters cost little AUC", count("L1-ROCLOG-1", "L1-ROCLOG-2")],
    ]  # fmt: skip
    return table(["claim", "ours (lines of Table 1)"], rows)


def _write_times(page: PaperPage, by_size: dict[tuple[int, int], list[Found]]) -> None:
    rows = []
    ratios: dict[str, list[float]] = {"PAUC": [], "CPAUC": []}
    for n, p in sorted(by_size):
        seconds = {w: np.median([f[w] for f in by_size[n, p]]) for w in ("PAUC", "CPAUC", "ours")}
        for way, of_way in ratios.items():
            of_way.append(float(seconds[way] / seconds["ours"]))
        rows.append([str(n), str(p), *(f"{ratios[w][-1]:.1f}" for w in ratios)])
    page.add(
        "Figure 1: time of one fit as multiples of ours",
        table(["n", "p", "PAUC / ours", "CPAUC / ours"], rows),
        "Medians over the data drawn. PAUC: proximal gradient over all pairs, CPAUC: over the "
        "clusters, k-means included; ours: `AUCClassifier(penalty='l1')` over all pairs. All end "
        "at a relative duality gap of 1e-6. The paper prints its times as curves without numbers.",
    )
    figure, axes = panels(1, 2, 3.6, 3.0)
    for axis, p in zip(axes[0], (20, 40), strict=True):
        for k, way in enumerate(("PAUC", "CPAUC", "ours")):
            sizes = sorted(n for n, q in by_size if q == p)
            medians = [1000 * np.median([f[way] for f in by_size[n, p]]) for n in sizes]
            axis.plot(sizes, medians, "o-", color=COLOURS[k], label=way)
        axis.set(xlabel="n", ylabel="milliseconds of the processor", yscale="log", title=f"p = {p}")
    axes[0, 0].legend(frameon=False, fontsize=8)
    page.figure(figure, "figure1", "Time of one fit")


def _write_pima(page: PaperPage, found: list[Found]) -> None:
    rows = []
    for method in PIMA_METHODS:
        printed = PRINTED_PIMA.get(method)
        rows.append(
            [method]
            + ([f"{printed[1]:.3f} ({printed[2]:.3f})", str(printed[0])] if printed else ["-", "-"])
            + [mean_sd([f[method]["auc"] for f in found])]
            + [f"{np.mean([f[method]['used'] for f in found]):.1f}"]
        )
    page.add(
        f"Table 3: Pima, {len(found)} splits of 70 / 30",
        table(["method", "AUC, paper", "features, paper", "AUC, ours", "features, ours"], rows),
    )
    curves = next((f for f in found if "curve" in f[PIMA_METHODS[0]]), None)
    if curves is not None:
        figure, axes = panels(1, 1, 4.2, 4.0)
        for k, method in enumerate(PIMA_METHODS):
            label = f"{method}, {curves[method]['auc']:.3f}"
            axes[0, 0].step(*curves[method]["curve"], where="post", color=COLOURS[k], label=label)
        axes[0, 0].plot([0, 1], [0, 1], color="black", linewidth=0.6)
        axes[0, 0].set(xlabel="false positive rate", ylabel="true positive rate")
        axes[0, 0].legend(frameon=False, fontsize=8, title="test AUC, first split")
        page.figure(figure, "figure2", "ROC curves on the first split of Pima")
