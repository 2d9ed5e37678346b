"""Recall at 2p trained on at most 2p positives, beside Joachims (2005), Table 1.

The paper trains recall at k on labellings of exactly k positives (section 4.1), which leaves out
the true one, as p < k = 2p. The author's program SVM-perf (version 3) allows up to k of them, and
has its constant feature. Both here, columns not centred.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from everypair.measures import RecallAtMostK
from lab.papers import svm_multi as main
from lab.papers.kept import Found, Params, grouped
from lab.papers.paper_page import PaperPage, table


def at_most(params: Params) -> Found:
    """Recall at 2p of the test rows; C by the hold-out, as in the table."""
    name, label, draw = params["data"], params["label"], params["draw"]
    X, rows, X_test, rows_test = main.rows_of(name, draw, False)
    y, y_test = main.positives_of(name, label, rows), main.positives_of(name, label, rows_test)
    if not (y.any() and y_test.any()):
        return {}
    fit, held = main.hold_out(y, draw)

    def fitted(C: float, X: Any, y: NDArray[np.bool_]) -> Any:
        return main.trained(RecallAtMostK(min(2 * int(y.sum()), y.size - 1)), C, X, y)

    def value(model: Any, X: Any, y: NDArray[np.bool_]) -> float:
        return 100 * float(main.measure_for("Rec@2p", y).value(y, model.decision_function(X)))

    grid = main.CS[:: params["step"]]
    tried = [value(fitted(C, X[fit], y[fit]), X[held], y[held]) for C in grid]
    best = grid[int(np.argmax(tried))]
    return {"at most": round(value(fitted(best, X, y), X_test, y_test), 3), "C": best}


def write_at_most(
    page: PaperPage, cells: list[tuple[Params, Found]], judged: list[tuple[Params, Found]]
) -> None:
    of_table = {(p["data"], p["label"], p["draw"]): f["Rec@2p"] for p, f in judged}
    rows = []
    for data, here in grouped([(p, {**p, **f}) for p, f in cells if f], "data").items():
        both = [(f, of_table.get((data, f["label"], f["draw"]))) for f in here]
        classes: dict[Any, list[tuple[float, float, float]]] = {}
        for f, known in both:
            if known:
                values = f["at most"], known["multi"], known["svm"]
                classes.setdefault(f["label"], []).append(values)
        if not classes:
            continue
        means = np.array([np.mean(values, axis=0) for values in classes.values()])
        gain = np.round(means[:, 0] - means[:, 2], 6)
        multi, svm, won, lost, _ = main.PRINTED[data.split(",", maxsplit=1)[0]][2]
        rows.append(
            [data, str(len(means)), f"{multi:.1f}", f"{svm:.1f}"]
            + [f"{multi - svm:+.1f} ({won}/{lost})"]
            + [f"{mean:.1f}" for mean in means.mean(axis=0)[[1, 0, 2]]]
            + [f"{gain.mean():+.1f} ({(gain > 0).sum()}/{(gain < 0).sum()})"]
        )
    if rows:
        header = ["data", "classes", "SVM-multi, paper", "SVM, paper",
                  "difference (won / lost), paper", "exactly 2p", "at most 2p", "SVM, ours",
                  "at most 2p less SVM (won / lost)"]  # fmt: skip
        page.add("Added: recall at 2p, trained on labellings of at most 2p", table(header, rows))
