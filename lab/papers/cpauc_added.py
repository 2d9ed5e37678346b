"""Six experiments beside Kim & Shin (2024) that look for the reason of a difference.

`steps`: when does clustering save time? The paper's algorithm takes plain proximal gradient
steps of one length until they hardly move; k-means is paid once, each step is cheaper after it.

`pima`: can the rows, or the choice of lambda, account for the printed AUC on Pima? The zeros of
five of its columns stand for values that were not measured. And what has a rule that was trained
on the test rows themselves?

`lambdas`: can the choice of lambda account for the printed AUCs of the simulated models?

`exact`: the paper gives the probability of a positive, 0.9, so our samples of 100 rows have 1 to 16
negatives. With as many as expected in every sample, 10 of 100, the AUC should vary less.

`unscaled`: the table standardises the columns, as the paper's Algorithm 1 does. All have the same
variance within the classes, so those that tell the classes apart vary more, and are scaled down.
Here they are centred only, with the exact share.

`level`: which lambda the folds choose, and what the smallest of the level ones would have given,
where the table takes the largest.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from lab.data.fetchers import fetch
from lab.data.simulate import MEANS, simulate
from lab.papers.kept import Found, Params, grouped
from lab.papers.paper_page import PaperPage, mean_sd, table

Array = NDArray[np.float64]

ALPHA = 1.8**-4
MOST_STEPS = 20_000
HARDLY = 1e-6
"""Plain steps end when none of the coefficients moves by more."""

PRINTED_SPREAD = {
    ("M1", 100, 20): (0.05, 0.05, 0.05, 0.06, 0.04, 0.04, 0.04),
    ("M1", 100, 40): (0.05, 0.05, 0.06, 0.07, 0.05, 0.05, 0.04),
    ("M1", 200, 20): (0.04, 0.04, 0.05, 0.05, 0.04, 0.04, 0.04),
    ("M1", 200, 40): (0.03, 0.03, 0.05, 0.04, 0.03, 0.04, 0.04),
    ("M2", 100, 20): (0.04, 0.04, 0.05, 0.05, 0.04, 0.04, 0.04),
    ("M2", 100, 40): (0.05, 0.05, 0.05, 0.06, 0.04, 0.05, 0.06),
    ("M2", 200, 20): (0.03, 0.03, 0.03, 0.02, 0.02, 0.02, 0.02),
    ("M2", 200, 40): (0.03, 0.03, 0.04, 0.03, 0.04, 0.03, 0.03),
    ("M3", 100, 20): (0.04, 0.04, 0.05, 0.05, 0.04, 0.04, 0.04),
    ("M3", 100, 40): (0.03, 0.03, 0.05, 0.04, 0.03, 0.04, 0.04),
    ("M3", 200, 20): (0.03, 0.03, 0.03, 0.03, 0.03, 0.03, 0.03),
    ("M3", 200, 40): (0.03, 0.03, 0.04, 0.04, 0.03, 0.03, 0.03),
    ("M4", 100, 20): (0.02, 0.02, 0.02, 0.03, 0.03, 0.03, 0.04),
    ("M4", 100, 40): (0.03, 0.03, 0.03, 0.04, 0.03, 0.03, 0.04),
    ("M4", 200, 20): (0.02, 0.02, 0.03, 0.02, 0.02, 0.02, 0.02),
    ("M4", 200, 40): (0.03, 0.03, 0.04, 0.02, 0.03, 0.02, 0.02),
}
"""Table 1, in brackets there."""

DRAWS = {
    "models": "share by chance, standardised (table)",
    "exact": "exact share, standardised",
    "unscaled": "exact share, centred only",
}

UNMEASURED = ("glucose", "blood_pressure", "skin_thickness", "insulin", "bmi")
PIMA_METHODS = ("L2-ROCLOG", "L1-ROCLOG-1")
ITSELF = ("logistic", "sigmoid")
"""Losses over pairs that are trained on the test rows; the second is nearer to the area."""


def steps(params: Params) -> Found:
    """Plain steps over all pairs and over the clusters of them, and what each costs."""
    from everypair import CPAUC

    X, y = simulate("M1", params["n"], params["p"], random_state=params["seed"])
    X = StandardScaler().fit_transform(X)
    pairs = (X[y > 0][:, None] - X[y < 0][None]).reshape(-1, params["p"])
    model = CPAUC(alpha=ALPHA, max_iter=1, random_state=0).fit(X, y)  # warms the caches
    began = time.process_time()
    model.fit(X, y)
    whole = time.process_time() - began
    out: Found = {"k-means": round(whole, 6)}
    for name, points in (("pairs", pairs), ("clusters", model.cluster_centers_)):
        began = time.process_time()
        n_steps = plain_steps(points, np.full(len(points), 1 / len(points)), ALPHA)
        out[name] = {"steps": n_steps, "seconds": round(time.process_time() - began, 6)}
    return out


def plain_steps(points: Array, weights: Array, alpha: float) -> int:
    """Eq. 3.2 with the step 1 / L, from zero; returns how many were taken."""
    from scipy.special import expit

    length = 4 / float(np.linalg.norm(points * np.sqrt(weights)[:, None], 2)) ** 2
    b = np.zeros(points.shape[1])
    for taken in range(1, MOST_STEPS + 1):
        moved = b + length * (points.T @ (weights * expit(-(points @ b))))
        new = np.sign(moved) * np.maximum(0, np.abs(moved) - length * alpha)
        if np.max(np.abs(new - b)) <= HARDLY:
            return taken
        b = new
    return MOST_STEPS


def pima(params: Params) -> Found:
    """Test AUC on all and on the complete rows, lambda chosen by folds and on the test rows."""
    from everypair import AUCClassifier
    from everypair.metrics import auc_score
    from lab.papers.cpauc import chosen, paths

    X, y, names = fetch("pima")
    complete = np.all(X[:, [names.index(name) for name in UNMEASURED]] > 0, axis=1)
    out: Found = {}
    for rows, kept in (("all", np.ones(y.size, bool)), ("complete", complete)):
        here, positive = X[kept], y[kept] == 1
        train, test, p_train, p_test = train_test_split(
            here, positive, test_size=0.3, stratify=positive, random_state=params["seed"]
        )
        scaler = StandardScaler().fit(train)
        train, test = scaler.transform(train), scaler.transform(test)
        for method in PIMA_METHODS:
            w = chosen(method, train, p_train, params["seed"])
            every = test @ paths(method, train, p_train, params["seed"])
            out[f"{method}, {rows}"] = {
                "folds": round(auc_score(p_test, test @ w), 5),
                "test": round(max(auc_score(p_test, column) for column in every.T), 5),
            }
        for loss in ITSELF:
            itself = AUCClassifier(loss=loss, alpha=1e-6).fit(test, p_test)
            out[f"{loss}, {rows}"] = round(auc_score(p_test, itself.decision_function(test)), 5)
    return out


def lambdas(params: Params) -> Found:
    """Test AUC of each method at each lambda of the grid."""
    from everypair.metrics import auc_score
    from lab.papers.cpauc import METHODS, drawn, paths

    X, positive, X_test, positive_test = drawn(params)
    out: Found = {}
    for method in METHODS:
        scores = X_test @ paths(method, X, positive, params["seed"])
        out[method] = [round(auc_score(positive_test, column), 5) for column in scores.T]
    return out


def level(params: Params) -> Found:
    """Of each method the smallest and the largest of the best lambda, with AUC and choice."""
    from everypair.metrics import auc_score
    from lab.papers.cpauc import GRID, METHODS, drawn, level_lambdas, paths

    X, positive, X_test, positive_test = drawn(params)
    informative = len(MEANS[params["model"]])
    out: Found = {}
    for method in METHODS:
        best = level_lambdas(method, X, positive, params["seed"])
        first, last = int(best[0]), int(best[-1])
        both = paths(method, X, positive, params["seed"], GRID[first : last + 1])
        out[method] = {
            "lambda": [first - 8, last - 8],
            "auc": [round(auc_score(positive_test, X_test @ both[:, k]), 5) for k in (0, -1)],
            "wrong": [int(np.count_nonzero(both[informative:, k])) for k in (0, -1)],
        }
    return out


def exact(
    model: str, n_rows: int, n_features: int, *, random_state: int
) -> tuple[Array, NDArray[np.int64]]:
    """As `simulate`, with nine positives to a negative in every sample."""
    X, y = simulate(model, 4 * n_rows, n_features, random_state=random_state)
    negatives = round(0.1 * n_rows)
    kept = np.concatenate(
        [np.flatnonzero(y > 0)[: n_rows - negatives], np.flatnonzero(y < 0)[:negatives]]
    )
    return X[kept], y[kept]


def write_steps(page: PaperPage, cells: list[tuple[Params, Found]]) -> None:
    rows = []
    for (n, p), found in sorted(grouped(cells, "n", "p").items()):

        def middle(of: Any, found: list[Found] = found) -> float:
            return float(np.median([of(f) for f in found]))

        a_pair = middle(lambda f: f["pairs"]["seconds"] / f["pairs"]["steps"])
        a_cluster = middle(lambda f: f["clusters"]["seconds"] / f["clusters"]["steps"])
        k_means = middle(lambda f: f["k-means"])
        clusters = middle(lambda f: f["k-means"] + f["clusters"]["seconds"])
        rows.append([
            str(n), str(p),
            f"{middle(lambda f: f['pairs']['steps']):.0f}",
            f"{middle(lambda f: f['clusters']['steps']):.0f}",
            f"{clusters / middle(lambda f: f['pairs']['seconds']):.1f}",
            f"{k_means / (a_pair - a_cluster):.0f}" if a_pair > a_cluster else "never",
        ])  # fmt: skip
    page.add(
        "Added: when clustering saves time",
        table(
            ["n", "p", "plain steps, pairs", "plain steps, clusters",
             "time clusters / pairs", "clustering pays from so many steps"],
            rows,
        ),
        "Plain proximal gradient (the paper's algorithm, step 1 / L) until no coefficient moves by "
        "more than 1e-6, over all pairs and over the clusters, k-means included; medians. The last "
        "column: the time of k-means divided by what it saves a step.",
    )  # fmt: skip


def write_pima(page: PaperPage, cells: list[tuple[Params, Found]]) -> None:
    found = [f for _, f in cells]
    lines = []
    for rows in ("all", "complete"):
        itself = [mean_sd([f[f"{loss}, {rows}"] for f in found]) for loss in ITSELF]
        for method in PIMA_METHODS:
            of_line = [f[f"{method}, {rows}"] for f in found]
            aucs = [mean_sd([f[way] for f in of_line]) for way in ("folds", "test")]
            lines.append([f"{method}, {rows}", *aucs, *itself])
    header = ["method, rows", "lambda by folds", "lambda by the test rows",
              *(f"{loss} loss over pairs, trained on them" for loss in ITSELF)]  # fmt: skip
    page.add(
        f"Added: Pima, all 768 rows or the 392 complete ones, {len(found)} splits",
        table(header, lines),
        "Test AUC. The last two columns can hardly be beaten in the mean by a linear rule that has "
        "not seen the test rows.",
    )


def beyond(
    by_line: dict[Any, list[Found]], printed: Mapping[Any, tuple[float, ...]]
) -> list[tuple[Any, str]]:
    """Lines and methods whose mean AUC differs from print by more than the printed error."""
    from lab.papers.cpauc import METHODS

    return [
        (line, method)
        for line, found in by_line.items()
        for k, method in enumerate(METHODS)
        if abs(np.mean([f[method][0] for f in found]) - printed[line][k]) > PRINTED_SPREAD[line][k]
    ]


def write_lambdas(
    page: PaperPage,
    cells: list[tuple[Params, Found]],
    printed: Mapping[Any, tuple[float, ...]],
    apart: list[tuple[Any, str]],
) -> None:
    """``printed``: of each line, the AUC of each method; ``apart``: lines shown by themselves."""
    from lab.papers.cpauc import METHODS

    by_line = grouped(cells, "model", "n", "p")
    rows = []
    for k, method in enumerate(METHODS):
        # A row a line of Table 1, a column a lambda.
        aucs = np.array([np.mean([f[method] for f in found], axis=0) for found in by_line.values()])
        best = np.mean([np.max([f[method] for f in found], axis=1).mean()
                        for found in by_line.values()])  # fmt: skip
        theirs = np.mean([printed[line][k] for line in by_line])
        each = aucs.mean(axis=0)
        rows.append([method, f"{theirs:.3f}", *(f"{each[i]:.3f}" for i in (0, 2, 4, 6, 8, -1)),
                     f"{best:.3f}"])  # fmt: skip
    for line, method in apart:
        if line in by_line:
            aucs = np.array([f[method] for f in by_line[line]])
            each = aucs.mean(axis=0)
            name = f"{method}, {'/'.join(map(str, line))}"
            rows.append([name, f"{printed[line][METHODS.index(method)]:.3f}",
                         *(f"{each[i]:.3f}" for i in (0, 2, 4, 6, 8, -1)),
                         f"{aucs.max(axis=1).mean():.3f}"])  # fmt: skip
    exponents = [f"1.8^{i}" for i in (-8, -6, -4, -2, 0, 2)]
    page.add(
        f"Added: the simulated models at each lambda, {len(next(iter(by_line.values())))} runs",
        table(["method", "paper", *exponents, "best on the test rows"], rows),
        f"Mean test AUC over the {len(by_line)} lines of Table 1, then of the lines beyond the "
        "printed error. A lambda at which L1 drops every feature ranks nothing: 0.5.",
    )


def write_draws(
    page: PaperPage,
    by_draw: dict[str, dict[Any, list[Found]]],
    printed: Mapping[Any, tuple[float, ...]],
    printed_chosen: Mapping[Any, tuple[float, ...]],
) -> None:
    """Level and spread by the number of rows, then wrong features, by how the rows were made."""
    from lab.papers.cpauc import METHODS, SELECTING

    lines = [line for line in printed if all(line in found for found in by_draw.values())]
    rows, wrong = [], []
    for n in dict.fromkeys(line[1] for line in lines):
        here = [line for line in lines if line[1] == n]
        both = zip(
            np.mean([printed[line] for line in here], axis=0),
            np.mean([PRINTED_SPREAD[line] for line in here], axis=0),
            strict=True,
        )
        rows.append([str(n), "paper", *(f"{level:.3f} ({spread:.3f})" for level, spread in both)])
        known = np.mean([printed_chosen[line] for line in here], axis=0)[1::2]
        wrong.append([str(n), "paper", *(f"{value:.1f}" for value in known), "-"])
        for name, found in by_draw.items():
            row = [str(n), name]
            for method in METHODS:
                aucs = [[f[method][0] for f in found[line]] for line in here]
                spread = np.mean([np.std(of_line) for of_line in aucs])
                row.append(f"{np.mean([np.mean(a) for a in aucs]):.3f} ({spread:.3f})")
            rows.append(row)
            counts = [
                np.mean([np.mean([f[method][2] for f in found[line]]) for line in here])
                for method in SELECTING
            ]
            wrong.append([str(n), name, *(f"{count:.1f}" for count in counts)])
    runs = ", ".join(f"{len(found[lines[0]])} ({name})" for name, found in by_draw.items())
    page.add(
        "Added: the simulated models by how rows are drawn and scaled",
        table(["n", "rows", *METHODS], rows),
        "Mean test AUC over the lines of Table 1 with so many rows, in brackets the mean spread of "
        f"a line. Runs a line: {runs}.",
        "Wrong features chosen:",
        table(["n", "rows", *SELECTING], wrong),
    )


def write_level(
    page: PaperPage, cells: list[tuple[Params, Found]], printed: Mapping[Any, tuple[float, ...]]
) -> None:
    """The lambda chosen, and AUC and wrong features with the smallest of the level ones."""
    from lab.papers.cpauc import METHODS

    found = [f for _, f in cells]
    lines = {(p["model"], p["n"], p["p"]) for p, _ in cells}
    rows = []
    for k, method in enumerate(METHODS):
        smallest, largest = (
            {name: np.mean([f[method][name][end] for f in found]) for name in found[0][method]}
            for end in (0, 1)
        )
        several = np.mean([f[method]["lambda"][0] < f[method]["lambda"][1] for f in found])
        rows.append([
            method, f"{np.mean([printed[line][k] for line in lines]):.3f}",
            *(f"1.8^{of['lambda']:.1f}, {of['auc']:.3f}, {of['wrong']:.1f}"
              for of in (largest, smallest)),
            f"{several:.0%}",
        ])  # fmt: skip
    page.add(
        f"Added: lambda by the folds, {len(found) // len(lines)} runs a line",
        table(["method", "AUC, paper", "largest of the best (table)", "smallest of the best",
               "runs with several"], rows),
        f"Mean exponent of lambda, test AUC and wrong features over the {len(lines)} lines.",
    )  # fmt: skip
