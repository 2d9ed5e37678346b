"""Which of the points that are level on the hold-out? Beside Joachims (2005), Table 1, Reuters.

A hold-out with a handful of positives has few values of F1, and many points of the grid share the
best one. The paper does not say which it takes. A search that keeps the first best is one of
eight: C or j in the outer loop, either rising or falling. All eight, for the cost-weighted SVM on
all 90 topics:

`choice`: with a free constant (libsvm's SVM on the Gram matrix, which is SVM-light's problem), five
hold-outs; and on the table's hold-out with the grid widened to smaller C and larger j at once, as
the paper says it does where the most frequent choice is at an end. SVM-multi, trained on F1, has C
alone to choose: rising and falling, on the table's hold-out.

`limits`: on the table's hold-out with the table's penalised constant, to tell the constant from
the choice; and, free again, with the grid widened to larger C, where searches with falling C end.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import config_context
from sklearn.svm import SVC

from lab.papers import svm_multi as main
from lab.papers.kept import Found, Params
from lab.papers.paper_page import PaperPage, table

Array = NDArray[np.float64]
Bools = NDArray[np.bool_]
Point = tuple[float, float]
Scorer = Callable[[float, float], Array]
"""Scores of some rows at C and j."""

SEARCHES = [
    f"{outer}{first} {inner}{second}"
    for outer, inner in ("Cj", "jC")
    for first, second in product("+-", repeat=2)
]
"""``C+ j-``: C in the outer loop, rising; j in the inner one, falling."""

GRID = [(C, j) for C in main.CS for j in main.JS]
BEYOND = [
    (2.0**k, 2.0**m) for k in range(-10, 7) for m in range(12) if (2.0**k, 2.0**m) not in GRID
]
LARGER = [(2.0**k, j) for k in range(7, 11) for j in main.JS]
N_SPLITS = 5
RARE = 12
"""Training positives, at most: 34 of the 90 topics."""

NEAREST = "C+ j-"
"""The search whose F1 of the widened grid is nearest to print."""


@cache
def _gram() -> tuple[Array, Array]:
    """Inner products of the training stories, and of the test stories with them."""
    X, _, X_test, _ = main.rows_of("reuters", 0)
    return (X @ X.T).toarray(), (X_test @ X.T).toarray()


def penalised_svm(train: Any, y: Bools, new: Any) -> Scorer:
    """Scores of new rows by the table's SVM."""
    return lambda C, j: np.asarray(main.weighted_svm(C, j).fit(train, y).decision_function(new))


def free_svm(y: Bools, fit: NDArray[np.intp], held: NDArray[np.intp]) -> tuple[Scorer, Scorer]:
    """Scores of the held-out stories and of the test stories by the SVM with a free constant."""
    K, K_test = _gram()

    def scorer(train: Any, y: Bools, new: Any) -> Scorer:
        def scores(C: float, j: float) -> Array:
            model = SVC(kernel="precomputed", C=C, class_weight={True: j, False: 1.0})
            with config_context(assume_finite=True):  # the check would take longer than the fit
                return np.asarray(model.fit(train, y).decision_function(new))

        return scores

    inner, outer = K[np.ix_(fit, fit)], K[np.ix_(held, fit)]
    return scorer(inner, y[fit], outer), scorer(K, y, K_test)


def ordered(points: list[Point], search: str) -> list[int]:
    """The points in the order in which a search comes to them."""

    def place(k: int) -> list[float]:
        at = dict(zip("Cj", points[k], strict=True))
        return [at[loop[0]] * (1 if loop[1] == "+" else -1) for loop in search.split()]

    return sorted(range(len(points)), key=place)


def taken(points: list[Point], values: list[float]) -> dict[str, int]:
    """The first best point of each search."""
    out = {}
    for search in SEARCHES:
        order = ordered(points, search)
        out[search] = order[int(np.argmax([values[k] for k in order]))]
    return out


def choice(params: Params) -> Found:
    """Test values by the search: five hold-outs, then F1 with the widened grid on the first."""
    X, rows, X_test, rows_test = main.rows_of("reuters", 0)
    y, y_test = (main.positives_of("reuters", params["label"], r) for r in (rows, rows_test))
    points = GRID + BEYOND
    values: dict[tuple[str, int], float] = {}

    def on_test(title: str, point: int) -> float:
        if (title, point) not in values:
            scores = of_test(*points[point])
            for measure in main.MEASURES:
                value = float(main.measure_for(measure, y_test).value(y_test, scores))
                values[measure, point] = round(100 * value, 3)
        return values[title, point]

    out: Found = {"positives": int(y.sum()), "test": {t: [] for t in main.MEASURES}}
    for seed in range(N_SPLITS):
        fit, held = main.hold_out(y, seed)
        of_held, of_test = free_svm(y, fit, held)
        tried = points if seed == 0 else GRID
        scores = [of_held(*point) for point in tried]
        for title in main.MEASURES:
            measure = main.measure_for(title, y[held])
            on_held = [float(measure.value(y[held], s)) for s in scores]
            best = taken(GRID, on_held[: len(GRID)])
            out["test"][title].append({s: on_test(title, k) for s, k in best.items()})
            if title == "F1" and seed == 0:
                wide = taken(points, on_held)
                out["wide"] = {s: on_test(title, k) for s, k in wide.items()}
                out["points"] = {
                    name: {s: np.log2(points[k]).astype(int).tolist() for s, k in chosen.items()}
                    for name, chosen in (("grid", best), ("wide", wide))
                }
    out["multi"] = _of_multi(X, y, X_test, y_test)
    return out


def limits(params: Params) -> Found:
    """On the table's hold-out: values with a penalised constant, F1 with larger C."""
    X, rows, X_test, rows_test = main.rows_of("reuters", 0)
    y, y_test = (main.positives_of("reuters", params["label"], r) for r in (rows, rows_test))
    fit, held = main.hold_out(y, 0)

    def by_search(title: str, points: list[Point], scores: list[Array], of_test: Scorer) -> Found:
        measure = main.measure_for(title, y[held])
        best = taken(points, [float(measure.value(y[held], s)) for s in scores])
        measure = main.measure_for(title, y_test)
        values = {
            k: round(100 * float(measure.value(y_test, of_test(*points[k]))), 3)
            for k in set(best.values())
        }
        return {search: values[k] for search, k in best.items()}

    of_held = penalised_svm(X[fit], y[fit], X[held])
    scores = [of_held(*point) for point in GRID]
    of_test = penalised_svm(X, y, X_test)
    out: Found = {"penalised": {t: by_search(t, GRID, scores, of_test) for t in main.MEASURES}}
    of_held, of_test = free_svm(y, fit, held)
    points = GRID + LARGER
    scores = [of_held(*point) for point in points]
    return {**out, "larger C": by_search("F1", points, scores, of_test)}


def _of_multi(X: Any, y: Bools, X_test: Any, y_test: Bools) -> Found:
    """F1 of the test stories by SVM-multi, C the first best of either direction."""
    fit, held = main.hold_out(y, 0)

    def value(C: float, rows: Any, new: Any, y_new: Bools) -> float:
        model = main.trained(main.measure_for("F1", y[rows]), C, X[rows], y[rows])
        return float(main.measure_for("F1", y_new).value(y_new, model.decision_function(new)))

    on_held = np.array([value(C, fit, X[held], y[held]) for C in main.CS])
    level = np.flatnonzero(on_held == on_held.max())
    every = np.arange(y.size)
    return {
        way: round(100 * value(main.CS[k], every, X_test, y_test), 3)
        for way, k in (("C+", level[0]), ("C-", level[-1]))
    }


def write(
    page: PaperPage,
    cells: list[tuple[Params, Found]],
    of_limits: list[tuple[Params, Found]],
    judged: list[tuple[Params, Found]],
    at_most: list[tuple[Params, Found]],
) -> None:
    """``judged``: the table's cells; ``at_most``: recall trained on at most 2p."""
    found = [f for _, f in cells]
    limited = [f for _, f in of_limits]
    _write_searches(page, found, limited)
    _write_widened(page, found, limited)
    labels = [params["label"] for params, _ in cells]
    multi = {p["label"]: f for p, f in judged if p["data"] == "reuters"}
    recall = {p["label"]: f["at most"] for p, f in at_most if p["data"] == "reuters" and f}
    if all(label in multi and label in recall for label in labels):
        _write_gains(page, found, [multi[t] for t in labels], [recall[t] for t in labels])


def _write_searches(page: PaperPage, found: list[Found], limited: list[Found]) -> None:
    rows = []
    for search in SEARCHES:
        row = [search]
        for title in main.MEASURES:
            means = np.mean([[of[search] for of in f["test"][title]] for f in found], axis=0)
            text = f"{means.mean():.1f} ({means.min():.1f} to {means.max():.1f})"
            if limited:
                text += f"; {np.mean([f['penalised'][title][search] for f in limited]):.1f}"
            row.append(text)
        rows.append(row)
    rows.append(["paper", *(f"{values[1]:.1f}" for values in main.PRINTED["reuters"])])
    page.add(
        f"Added: which of the level points is taken, {len(found)} topics",
        table(["search", *main.MEASURES], rows),
        "The cost-weighted SVM. C+ j-: C in the outer loop, rising, j in the inner one, falling, "
        "the first best is kept; the table's is C+ j+. Mean over the topics with a free constant: "
        f"mean over {N_SPLITS} hold-outs, least and largest; after the semicolon with a penalised "
        "constant, the table's hold-out.",
    )


def _write_widened(page: PaperPage, found: list[Found], limited: list[Found]) -> None:
    groups = {
        f"at most {RARE}": [f for f in found if f["positives"] <= RARE],
        f"{RARE + 1} and more": [f for f in found if f["positives"] > RARE],
        "all": found,
    }
    within = {name: inside for name, inside in groups.items() if inside}
    rows = []
    for search in SEARCHES:
        row = [search]
        for inside in within.values():
            before = np.mean([f["test"]["F1"][0][search] for f in inside])
            row.append(f"{before:.1f}, {np.mean([f['wide'][search] for f in inside]):.1f}")
        gain = np.array([f["wide"][search] - f["test"]["F1"][0][search] for f in found])
        row.append(
            f"{gain.mean():+.1f} ± {_error(gain):.1f} ({(gain > 0).sum()}/{(gain < 0).sum()})"
        )
        larger = [f["larger C"][search] for f in limited]
        row.append(f"{np.mean(larger):.1f}" if larger else "-")
        row += [_most_frequent([f["points"][grid][search] for f in found])
                for grid in ("grid", "wide")]  # fmt: skip
        rows.append(row)
    for way in ("C+", "C-"):
        means = [np.mean([f["multi"][way] for f in inside]) for inside in within.values()]
        rows.append([f"SVM-multi, {way}", *(f"{mean:.1f}" for mean in means), "", "", "", ""])
    of_group = [f"{name} ({len(inside)} topics)" for name, inside in within.items()]
    page.add(
        "Added: F1 by the search, of the paper's grid and of wider ones, the table's hold-out",
        table(
            ["search", *of_group, "gain (won / lost)", "larger C", "most frequent C, j",
             "in the widened grid"],
            rows,
        ),
        "Free constant; topics by their training positives. Of the paper's grid, then widened to C "
        "from 2^-10 and j to 2^11, with the gain of that and its standard error over the topics; "
        "all topics with C to 2^10 instead. SVM-multi with the paper's C. In brackets, topics that "
        "chose it. Where that is a corner of the widened grid, too, one could go on.",
    )  # fmt: skip


def _most_frequent(exponents: list[list[int]]) -> str:
    chosen, counts = np.unique(exponents, axis=0, return_counts=True)
    C, j = chosen[np.argmax(counts)]
    return f"2^{C}, 2^{j} ({counts.max()})"


def _write_gains(
    page: PaperPage, found: list[Found], multi: list[Found], recall: list[float]
) -> None:
    """SVM-multi less the SVM of one search, as the table has it."""
    rows, gains = [], []
    for k, title in enumerate(main.MEASURES):
        ours = np.array(recall if title == "Rec@2p" else [f[title]["multi"] for f in multi])
        of_svm = [f["wide"] if title == "F1" else f["test"][title][0] for f in found]
        svm = np.array([values[NEAREST] for values in of_svm])
        gains.append(ours - svm)
        on_grid = [f["test"][title][0] for f in found]
        others = [np.mean(ours - [values[s] for values in on_grid]) for s in SEARCHES]
        pairs = [{title: {"multi": a, "svm": b}} for a, b in zip(ours, svm, strict=True)]
        rows.append([
            title, *main.printed_of("reuters", k), *main.compared(pairs, title),
            f"{_error(gains[-1]):.1f}", f"{min(others):+.1f} to {max(others):+.1f}",
        ])  # fmt: skip
    header = ["measure", "SVM-multi, paper", "SVM, paper", "difference (won / lost), paper",
              "SVM-multi, ours", "SVM, ours", "difference (won / lost), ours", "standard error",
              "difference, eight searches"]  # fmt: skip
    page.add(
        f"Added: Reuters again, with the free constant and the search {NEAREST}",
        table(header, rows),
        "F1 of the SVM of the widened grid, recall at 2p of SVM-multi trained on at most 2p; the "
        "table's hold-out. The grids of the other measures and of SVM-multi were not widened. "
        "Stars as in Table 1. Last column: the least and the largest mean of the eight searches, "
        "all on the paper's grid.",
        "By number of positives, as Figure 1:",
        main.gain_table(*main.by_positives([f["positives"] for f in found], np.array(gains))),
    )


def _error(values: Array) -> float:
    """Standard error of the mean."""
    return float(np.std(values, ddof=1) / np.sqrt(values.size)) if values.size > 1 else 0.0
