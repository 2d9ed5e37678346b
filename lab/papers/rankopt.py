"""RankOpt by training rows, as Herschtal & Raskutti (2004), Figures 1 and 2.

Four of the paper's eight tasks can be had: forest (Covertype, Spruce-Fir against Lodgepole Pine,
10 continuous columns), intrusion (KDD-99, normal against attack, 10 continuous columns: the paper
does not say which), digit (MNIST, 0 against the rest, the top three rows of 7 x 7 pixels without
the corners, 17 columns), and married (ever married or not, from Adult, as the paper's census
extract is not at hand). Housing, churn and weather are not public in that form.

Training sets share no row; each model is tested on all the rows that are left of the 180 000
(60 000, 48 842) drawn: 60 sets of 3 000, 30 of 6 000, 15 of 12 000, 9 of 20 000 and 6 of 30 000,
a third of that for digit, and as many as there are for married. As there, the SVMs and the
centroid have the better of scaled and unscaled features, and the SVMs the best of three C, chosen
on the test rows; SVM-L1 (linear slacks) stops at 6 000 rows. Its figures have no numbers in print.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LinearRegression
from sklearn.neighbors import NearestCentroid
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from lab.data.fetchers import adult_table, fetch, kddcup99_table
from lab.papers.kept import Found, Params, Store, grouped
from lab.papers.paper_page import COLOURS, PaperPage, mean_sd, panels, table

Array = NDArray[np.float64]

FOLDS = {3000: 60, 6000: 30, 12_000: 15, 20_000: 9, 30_000: 6}
ROWS = 180_000
FIGURE1 = ("PSF 1", "PSF 2", "PSF 3", "all pairs")
FIGURE2 = ("PSF 2", "all pairs", "linear regression", "SVM-L1", "SVM-L2", "centroid")
METHODS = tuple(dict.fromkeys([*FIGURE1, *FIGURE2]))
SVM_CS = (10.0, 1e3, 1e5)
SLOW_SVM_ROWS = 6000

CLAIMS = {
    "forest": "PSF helps; linear regression level with RankOpt, SVM-L1 just behind",
    "intrusion": "PSF makes no difference; RankOpt a clear winner",
    "digit": "PSF helps; SVM-L2 just behind RankOpt",
    "married": "PSF helps; RankOpt a clear winner (another census extract)",
}
"""What the text says of each task (sections 4.3, 4.4)."""


def settings(fast: bool) -> Params:
    return {
        "C of the SVMs": str(SVM_CS),
        "columns of intrusion": ", ".join(KDD_COLUMNS),
        "columns of married": ", ".join(MARRIED_COLUMNS),
        "steps of the SVMs": "1000 at most",
    }


def cells(fast: bool) -> list[Params]:
    if fast:
        return [{"data": name, "rows": 3000, "fold": 0} for name in ("digit", "married")]
    return [
        {"data": name, "rows": rows, "fold": fold}
        for fold in range(max(FOLDS.values()))
        for rows in FOLDS
        for name in TASKS
        if fold < _n_folds(name, rows)
    ]


def _n_folds(name: str, rows: int) -> int:
    """Training sets of so many rows that share none and leave rows to test on."""
    return {"digit": FOLDS[rows] // 3, "married": 48_842 // rows}.get(name, FOLDS[rows])


def _forest() -> tuple[Array, NDArray[np.bool_]]:
    X, y, _ = fetch("covtype")
    two = (y == 1) | (y == 2)
    return X[two, :10].astype(float), y[two] == 1


KDD_COLUMNS = {
    "duration": 0, "src_bytes": 4, "dst_bytes": 5, "wrong_fragment": 7, "urgent": 8, "hot": 9,
    "num_failed_logins": 10, "num_compromised": 12, "num_root": 15, "num_file_creations": 16,
}  # fmt: skip


def _intrusion() -> tuple[Array, NDArray[np.bool_]]:
    frame = kddcup99_table()
    X = frame[[str(k) for k in KDD_COLUMNS.values()]].to_numpy(float)
    return X, (frame["41"] == "normal").to_numpy()


DIGIT_PIXELS = [k for k in range(21) if k not in {0, 6, 1, 5}]
"""The top three of seven rows, without four pixels at the corners."""


def _digit() -> tuple[Array, NDArray[np.bool_]]:
    X, y, _ = fetch("mnist")
    return X[:, DIGIT_PIXELS].astype(float), y == 0


MARRIED_COLUMNS = ("age", "fnlwgt", "education_num", "capital_gain", "capital_loss",
                   "hours_per_week", "income")  # fmt: skip


def _married() -> tuple[Array, NDArray[np.bool_]]:
    frame = adult_table()
    frame = frame.assign(income=(frame["income"] == ">50K").astype(float))
    X = frame[list(MARRIED_COLUMNS)].to_numpy(float)
    return X, (frame["marital_status"] == "Never-married").to_numpy()


TASKS: dict[str, Callable[[], tuple[Array, NDArray[np.bool_]]]] = {
    "digit": _digit, "married": _married, "forest": _forest, "intrusion": _intrusion,
}  # fmt: skip


@cache
def _drawn(name: str) -> tuple[Array, NDArray[np.bool_]]:
    X, y = TASKS[name]()
    rows = np.random.default_rng(0).permutation(y.size)[:ROWS]
    return X[rows], y[rows]


def work(params: Params) -> Found:
    from everypair.metrics import auc_score

    X, y = _drawn(params["data"])
    n = params["rows"]
    train = slice(n * params["fold"], n * (params["fold"] + 1))
    rest = np.ones(y.size, dtype=bool)
    rest[train] = False
    scaler = StandardScaler().fit(X[train])
    scaled = [scaler.transform(part) for part in (X[train], X[rest])]
    plain = [X[train], X[rest]]
    out: Found = {}
    for method in METHODS:
        scores = [
            scores
            for block in ([scaled, plain] if method in SCALED_OR_NOT else [scaled])
            for scores in _scores(method, block[0], y[train], block[1])
        ]
        if scores:
            out[method] = round(max(auc_score(y[rest], s) for s in scores), 6)
    return out


SCALED_OR_NOT = {"SVM-L1", "SVM-L2", "centroid"}


def _scores(method: str, X: Array, y: NDArray[np.bool_], X_test: Array) -> list[Array]:
    """Test scores: of three C for the SVMs, of one model for the others."""
    from everypair import RankOpt

    if method.startswith("PSF"):
        model = RankOpt(pairs="linear", n_subfolds=int(method[-1]), random_state=0)
    elif method == "all pairs":
        model = RankOpt()
    elif method == "linear regression":
        return [LinearRegression().fit(X, y).predict(X_test)]
    elif method == "centroid":
        centres = NearestCentroid().fit(X, y).centroids_
        return [X_test @ (centres[1] - centres[0])]
    else:
        if method == "SVM-L1" and y.size > SLOW_SVM_ROWS:
            return []
        loss = "hinge" if method == "SVM-L1" else "squared_hinge"
        models = [LinearSVC(loss=loss, dual=loss == "hinge", C=C, max_iter=1000) for C in SVM_CS]
        return [svm.fit(X, y).decision_function(X_test) for svm in models]
    return [model.fit(X, y).decision_function(X_test)]


def write(page: PaperPage, store: Store, done: list[tuple[Params, Found]]) -> None:
    by_size = grouped(done, "data", "rows")
    rows = []
    for name in TASKS:
        for size in FOLDS:
            if found := by_size.get((name, size)):
                values = {m: [f[m] for f in found if m in f] for m in METHODS}
                rows.append([name, f"{size:,}", str(len(found)),
                             *(mean_sd(values[m], 4) for m in METHODS)])  # fmt: skip
    page.add(
        "Figures 1 and 2: test AUC, mean ± standard deviation over training sets",
        table(["data", "training rows", "sets", *METHODS], rows),
    )
    page.add("What the text says, and what we find", _claims(by_size))
    names = [name for name in TASKS if any(d == name for d, _ in by_size)]
    figure, axes = panels(2, len(names), 3.2, 2.7)
    for column, name in enumerate(names):
        for row, methods in enumerate((FIGURE1, FIGURE2)):
            axis = axes[row, column]
            for method in methods:
                sizes = [s for s in FOLDS if any(method in f for f in by_size.get((name, s), []))]
                means = [np.mean([f[method] for f in by_size[name, s]]) for s in sizes]
                colour = COLOURS[METHODS.index(method)]
                axis.plot(sizes, means, "o-", color=colour, label=method, markersize=3)
            axis.set_title(f"{name}", fontsize=9)
            axis.set(xlabel="training rows", ylabel="test AUC")
            if row == 1:  # the centroid is far below, as in the paper
                axis.set_ylim(bottom=_lower_end(by_size, name))
    for row in (0, 1):  # beside the last panel: inside, it would hide lines
        lines, labels = axes[row, 0].get_legend_handles_labels()
        axes[row, -1].legend(
            lines, labels, frameon=False, fontsize=8, loc="center left", bbox_to_anchor=(1.02, 0.5)
        )
    page.figure(figure, "figures12", "Test AUC by training rows")


def _lower_end(by_size: dict[Any, list[Found]], name: str) -> float:
    """Low enough for all but the centroid."""
    values = [
        f[m] for (d, _), found in by_size.items() if d == name for f in found
        for m in METHODS if m in f and m != "centroid"
    ]  # fmt: skip
    return float(np.quantile(values, 0.02)) - 0.01


def _claims(by_size: dict[Any, list[Found]]) -> str:
    rows = []
    for name in TASKS:
        cells_of = [f for (d, _), found in by_size.items() if d == name for f in found]
        if not cells_of:
            continue

        def gain(first: str, second: str, found: list[Found] = cells_of) -> str:
            differences = [f[first] - f[second] for f in found if first in f and second in f]
            return f"{np.mean(differences):+.4f} ({np.mean(np.array(differences) > 0):.0%})"

        rows.append(
            [name, CLAIMS[name], gain("PSF 2", "PSF 1"), gain("PSF 3", "PSF 2"),
             gain("all pairs", "PSF 2")]
            + [gain("PSF 2", m) for m in ("linear regression", "SVM-L1", "SVM-L2", "centroid")]
        )  # fmt: skip
    header = ["data", "paper", "PSF 2 less PSF 1", "PSF 3 less PSF 2", "all pairs less PSF 2",
              "PSF 2 less linear regression", "less SVM-L1", "less SVM-L2",
              "less centroid"]  # fmt: skip
    return table(header, rows) + (
        "\n\nMean difference in AUC over all training sets, and the share of sets where it is "
        "above zero."
    )
