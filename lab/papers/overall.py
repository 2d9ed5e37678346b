"""Every method of the library and strong baselines on 42 binary tasks of the data sets at hand.

Test AUC of stratified folds, at most 3 000 training and 6 000 test rows each. All methods see
standardised columns. Of Reuters they see the tf-idf (its idf of all stories) of the 1000 words that
occur in most training stories, multiplied by one common factor so that their mean variance is 1,
and sparse where the method takes it. Penalties are chosen by three inner folds, C of the SVMs from
three to five values, that of SVM-multi and ROC-SVM divided by n+ n- / n; the kernels have
`gamma="scale"`, and the ROC-SVM seeks its function in the span of 500 rows. RankBoost has 200
rounds, trees have their defaults (`n_estimators=200`, one thread). `CPAUC`, which clusters pairs
into as many centres as there are rows, sees at most 300 of the training rows, its time too. The
table is in the order of ranks over tasks; test, critical difference (Nemenyi's at 5 %, Demsar 2006)
and figure use ranks over data sets.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse, stats
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, RepeatedStratifiedKFold, StratifiedKFold
from sklearn.preprocessing import StandardScaler

from lab.data.tasks import names, task
from lab.papers.kept import TIMES, Found, Params, Store, grouped
from lab.papers.paper_page import COLOURS, PaperPage, panels, table

Array = NDArray[np.float64]

MOST_TRAIN, MOST_TEST = 3000, 6000
CLUSTERED_ROWS, MOST_WORDS = 300, 1000
TOPICS = ("earn", "money-fx", "crude", "interest", "wheat")
"""Every second of the ten topics of Reuters that most stories have."""
CS = [1e-3, 1e-2, 1e-1, 1.0, 10.0]
ALPHAS = [1e-4, 1e-3, 1e-2, 1e-1, 1.0]
L1_ALPHAS = [1e-3, 1e-2, 3e-2, 1e-1, 3e-1]
ON_PAIRS = ("AUC logistic", "AUC squared hinge", "AUC hinge", "AUC exponential", "AUC sigmoid",
            "AUC L1", "CPAUC", "AUC-RLS", "RankOpt", "RankBoost", "ROC-SVM, rbf",
            "SVM-multi, area")  # fmt: skip
ON_LABELLINGS = ("SVM-multi, F1", "SVM-multi, PRBEP")
ON_ROWS = ("2-norm SVM, rbf",)
"""Methods of the library by what they are trained on; the others are baselines."""
NOT_LINEAR = ("RankBoost", "ROC-SVM, rbf", "2-norm SVM, rbf", "XGBoost", "LightGBM")
NEED_DENSE = ("CPAUC", "RankBoost")


def _search(model: Any, **grid: Any) -> Any:
    inner = StratifiedKFold(3, shuffle=True, random_state=0)
    return GridSearchCV(model, grid, scoring="roc_auc", cv=inner)


def methods() -> dict[str, Callable[[NDArray[np.bool_]], Any]]:
    """What is compared; each is given the training labels and makes a model."""
    from everypair import (
        AUCRLSCV,
        CPAUC,
        ROCSVM,
        AUCClassifier,
        AUCClassifierCV,
        MeasureSVM,
        RankBoost,
        RankOptCV,
        TwoNormSVM,
    )

    def pairwise(loss: str) -> Callable[[NDArray[np.bool_]], Any]:
        return lambda y: _search(AUCClassifier(loss=loss, tol=1e-4), alpha=ALPHAS)

    def measured(measure: str, *values: float) -> Callable[[NDArray[np.bool_]], Any]:
        return lambda y: _search(MeasureSVM(measure, tol=1e-2), C=per_pair(y, list(values)))

    def per_pair(y: NDArray[np.bool_], values: list[float]) -> list[float]:
        """C of a pair that weighs the loss as C does for rows."""
        return [C * y.size / (int(y.sum()) * int((~y).sum())) for C in values]

    out: dict[str, Callable[[NDArray[np.bool_]], Any]] = {
        "AUC logistic": pairwise("logistic"),
        "AUC squared hinge": pairwise("squared_hinge"),
        "AUC hinge": pairwise("hinge"),
        "AUC exponential": pairwise("exponential"),
        "AUC sigmoid": pairwise("sigmoid"),
        "AUC L1": lambda y: AUCClassifierCV(penalty="l1", n_alphas=20, cv=3, tol=1e-4),
        "CPAUC": lambda y: _search(CPAUC(tol=1e-3, random_state=0), alpha=L1_ALPHAS),
        "AUC-RLS": lambda y: AUCRLSCV(cv=3),
        "RankOpt": lambda y: RankOptCV(cv=3),
        "RankBoost": lambda y: RankBoost(200),
        "ROC-SVM, rbf": lambda y: _search(
            ROCSVM(tol=1e-3, max_rank=500), C=per_pair(y, [0.1, 1.0, 10.0])
        ),
        "2-norm SVM, rbf": lambda y: _search(TwoNormSVM(tol=1e-3), C=[0.1, 1.0, 10.0]),
        "SVM-multi, area": measured("roc_area", 0.01, 0.1, 1.0),
        "SVM-multi, F1": measured("f1", 0.01, 0.1, 1.0, 10.0, 100.0),
        "SVM-multi, PRBEP": measured("prbep", 0.01, 0.1, 1.0, 10.0, 100.0),
        "logistic": lambda y: _search(LogisticRegression(max_iter=500), C=CS),
        "logistic, balanced": lambda y: _search(
            LogisticRegression(max_iter=500, class_weight="balanced"), C=CS
        ),
    }
    if find_spec("xgboost") is not None:
        from xgboost import XGBClassifier

        out["XGBoost"] = lambda y: XGBClassifier(n_estimators=200, n_jobs=1, random_state=0)
    if find_spec("lightgbm") is not None:
        from lightgbm import LGBMClassifier

        out["LightGBM"] = lambda y: LGBMClassifier(
            n_estimators=200, n_jobs=1, random_state=0, verbose=-1
        )
    return out


def settings(fast: bool) -> Params:
    return {
        "rows": f"at most {MOST_TRAIN} to train on and {MOST_TEST} to test on",
        "folds": "5 stratified, 2 repetitions",
        "C of logistic regression": str(CS),
        "alpha of AUC losses": str(ALPHAS),
        "alpha of CPAUC": str(L1_ALPHAS),
        "methods": ", ".join(methods()),
    }


def cells(fast: bool) -> list[Params]:
    if fast:
        return [{"task": name, "fold": 0} for name in ("wpbc", "pima", "ionosphere")]
    small = ["pima", "credit", "ionosphere", "spectf", "wdbc", "wpbc"]
    tasks = names() + [f"reuters21578 {topic}" for topic in TOPICS]
    order = sorted(tasks, key=lambda name: (name not in small, name.startswith("kdd")))
    return [{"task": name, "fold": fold} for fold in range(10) for name in order]


def _split(y: NDArray[np.bool_], fold: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """A fold of the repeated cross-validation; large ones are cut at random, each class alike."""
    folds = RepeatedStratifiedKFold(n_splits=5, n_repeats=2, random_state=0)
    parts = list(folds.split(np.zeros(y.size), y))[fold]
    rng = np.random.default_rng(fold)
    out = []
    for rows, most in zip(parts, (MOST_TRAIN, MOST_TEST), strict=True):
        out.append(_fewer(y, rows, most, rng))
    return out[0], out[1]


def _fewer(
    y: NDArray[np.bool_], rows: NDArray[np.intp], most: int, rng: np.random.Generator
) -> NDArray[np.intp]:
    """At most so many of the rows, each class cut alike, four of each at least."""
    share = min(1.0, most / rows.size)
    kept = [
        rng.permutation(of_class)[: max(4, round(share * of_class.size))]
        for of_class in (rows[y[rows]], rows[~y[rows]])
    ]
    return rng.permutation(np.concatenate(kept))


def _scaled(X: Any, train: NDArray[np.intp], test: NDArray[np.intp]) -> tuple[Any, Any]:
    """Columns of mean 0 and variance 1; the frequent words of text of mean variance 1, sparse."""
    A, B = X[train], X[test]
    if sparse.issparse(X) and X.shape[1] > MOST_WORDS:
        frequent = np.argsort(-A.getnnz(axis=0), kind="stable")[:MOST_WORDS]
        A, B = A[:, frequent], B[:, frequent]
        factor = 1 / np.sqrt(StandardScaler(with_mean=False).fit(A).var_.mean())
        return A * factor, B * factor
    A, B = (Z.toarray() if sparse.issparse(Z) else Z.astype(float) for Z in (A, B))
    scaler = StandardScaler().fit(A)
    return scaler.transform(A), scaler.transform(B)


def work(params: Params) -> Found:
    from everypair.metrics import auc_score

    _, X, y = task(params["task"])
    train, test = _split(y, params["fold"])
    as_is = _scaled(X, train, test)
    dense = [part.toarray() if sparse.issparse(part) else part for part in as_is]
    few = _fewer(y[train], np.arange(train.size), CLUSTERED_ROWS, np.random.default_rng(0))
    out: Found = {"rows": [train.size, test.size], "share": round(float(y.mean()), 4)}
    for name, make in methods().items():
        X_train, X_test = dense if name in NEED_DENSE else as_is
        rows = few if name == "CPAUC" else np.arange(train.size)
        labels = y[train][rows]
        X_train = X_train[rows]
        model = make(labels)
        began = time.process_time()
        model.fit(X_train, labels)
        seconds = time.process_time() - began
        if hasattr(model, "decision_function"):
            scores = model.decision_function(X_test)
        else:
            scores = model.predict_proba(X_test)[:, 1]
        out[name] = [round(auc_score(y[test], np.asarray(scores, dtype=float)), 5),
                     round(seconds, 4)]  # fmt: skip
    return out


def _trained_on(method: str) -> str:
    kinds = {"pairs": ON_PAIRS, "labellings": ON_LABELLINGS, "rows": ON_ROWS}
    return next((kind for kind, of_kind in kinds.items() if method in of_kind), "baseline")


def write(page: PaperPage, store: Store, done: list[tuple[Params, Found]]) -> None:
    by_task = grouped(done, "task")
    columns = [name for name in done[0][1] if name not in {"rows", "share", *TIMES}]
    auc = np.array([[np.mean([f[m][0] for f in by_task[t]]) for m in columns] for t in by_task])
    ranks = np.array([stats.rankdata(-np.round(row, 5)) for row in auc])
    seconds = np.array([[np.mean([f[m][1] for f in by_task[t]]) for m in columns] for t in by_task])
    # Several tasks of one data set are not independent: a data set counts once in the test.
    sets = [t.split()[0] for t in by_task]
    pooled = np.array([
        stats.rankdata(ranks[[s == one for s in sets]].mean(axis=0)) for one in dict.fromkeys(sets)
    ])  # fmt: skip
    order = np.argsort(ranks.mean(axis=0))
    base = columns.index("logistic")
    rows = [
        [
            columns[k], _trained_on(columns[k]),
            f"{ranks[:, k].mean():.2f}", f"{pooled[:, k].mean():.2f}", f"{auc[:, k].mean():.4f}",
            _against(auc[:, k], auc[:, base]),
            _against(auc[:, k], auc[:, columns.index("logistic, balanced")]),
            f"{np.median(seconds[:, k] / seconds[:, base]):.2f}",
        ]
        for k in order
    ]  # fmt: skip
    header = ["method", "trained on", "mean rank, tasks", "mean rank, data sets", "mean AUC",
              "less logistic", "less balanced logistic",
              "fit time / logistic (median)"]  # fmt: skip
    page.add(
        f"All methods over {len(by_task)} tasks of {len(pooled)} data sets",
        table(header, rows),
        "Less: mean difference in AUC and the largest loss on a task; tasks won and lost.",
    )
    page.add("Critical difference", *_difference(page, columns, pooled))
    linear = [k for k in order if columns[k] not in NOT_LINEAR]
    page.add("Where pairs help, and where not", _where(by_task, columns, auc, linear))
    lines = []
    for t, row in zip(by_task, auc, strict=True):
        first = by_task[t][0]
        best = row.max()
        lines.append(
            [t, str(first["rows"][0]), f"{100 * first['share']:.1f}", str(len(by_task[t]))]
            + [f"**{v:.4f}**" if v == best else f"{v:.4f}" for v in row]
        )
    page.add("Test AUC of each task",
             table(["task", "training rows", "% positive", "folds", *columns], lines))  # fmt: skip


def _against(ours: Array, other: Array) -> str:
    gain = ours - other
    return f"{gain.mean():+.4f}, {gain.min():+.4f}; {(gain > 0).sum()} / {(gain < 0).sum()}"


def _difference(page: PaperPage, columns: list[str], ranks: Array) -> list[str]:
    """Friedman's test and Nemenyi's critical difference over data sets, with the diagram."""
    n, k = ranks.shape
    if n < 3:
        return [f"Too few data sets ({n}) for a test of ranks."]
    means = ranks.mean(axis=0)
    p = float(stats.friedmanchisquare(*ranks.T).pvalue)
    q = float(stats.studentized_range.ppf(0.95, k, np.inf)) / np.sqrt(2)
    critical = q * np.sqrt(k * (k + 1) / (6 * n))
    page.figure(_diagram(columns, means, critical), "ranks", "Mean ranks and critical difference")
    return [
        f"Friedman's test that all rank alike: p = {p:.2g} over {n} data sets (a data set with "
        f"several tasks counts once, by the mean of its ranks). Two methods differ at 5 % if their "
        f"mean ranks are more than {critical:.2f} apart; bars join those that do not."
    ]


def _diagram(columns: list[str], means: Array, critical: float) -> Any:
    order = np.argsort(means)
    k = order.size
    figure, axes = panels(1, 1, 8.5, 0.9 + 0.22 * k)
    axis = axes[0, 0]
    axis.grid(visible=False)
    half = (k + 1) // 2
    bars: list[tuple[int, int]] = []
    for i in range(k):
        j = max(j for j in range(i, k) if means[order[j]] - means[order[i]] <= critical)
        if j > i and not any(a <= i and j <= b for a, b in bars):
            bars.append((i, j))
    top = 0.5 * len(bars)
    for number, (i, j) in enumerate(bars):
        height = 0.4 + 0.5 * number
        axis.plot(means[order[[i, j]]] + [-0.06, 0.06], [-height] * 2, color="black", linewidth=3)
    for place, index in enumerate(order):
        left = place < half
        depth = top + 0.9 + 0.8 * (place if left else k - 1 - place)
        edge = means.min() - 0.6 if left else means.max() + 0.6
        colour = COLOURS[_trained_on(columns[index]) == "baseline"]
        axis.plot([means[index]] * 2 + [edge], [0, -depth, -depth], color=colour, linewidth=1)
        label, side = f" {columns[index]} {means[index]:.1f} ", "right" if left else "left"
        axis.text(edge, -depth, label, ha=side, va="center", color=colour, fontsize=9)
    start = means.min()
    axis.plot([start, start + critical], [0.8, 0.8], color="black", linewidth=2)
    axis.text(start + critical / 2, 1.0, f"critical difference {critical:.2f}", ha="center",
              fontsize=8)  # fmt: skip
    axis.set_ylim(-(top + 1.2 + 0.8 * half), 1.6)
    axis.set_xlim(means.min() - 3.2, means.max() + 3.2)
    axis.spines[["left", "bottom"]].set_visible(False)
    axis.set_yticks([])
    axis.set_xticks([])
    low, high = np.floor(means.min()), np.ceil(means.max())
    axis.plot([low, high], [0, 0], color="black", linewidth=1)
    for rank in np.arange(low, high + 1):
        axis.plot([rank, rank], [0, 0.15], color="black", linewidth=1)
        axis.text(rank, 0.2, f"{rank:.0f}", ha="center", fontsize=8)
    axis.set_title("mean rank over data sets (best left); blue: of this library", fontsize=9)
    return figure


def _where(
    by_task: dict[str, list[Found]], columns: list[str], auc: Array, linear: list[int]
) -> str:
    """The pairwise logistic loss against logistic regression, task by task."""
    ours, base = columns.index("AUC logistic"), columns.index("logistic")
    gains = auc[:, ours] - auc[:, base]
    order = np.argsort(-gains)
    tasks = list(by_task)
    best = ", ".join(f"{tasks[k]} ({gains[k]:+.4f})" for k in order[:5])
    worst = ", ".join(f"{tasks[k]} ({gains[k]:+.4f})" for k in order[::-1][:5])
    share = np.array([by_task[t][0]["share"] for t in tasks])
    share = np.minimum(share, 1 - share)
    rare = share < 0.1
    parts = [
        f"`AUC logistic` less `logistic` (both linear, both tuned): mean {gains.mean():+.4f}, "
        f"above zero on {(gains > 0).sum()} of {gains.size} tasks; largest {best}; least {worst}."
    ]
    if rare.any() and not rare.all():
        parts.append(
            f"With fewer than 10 % of either class: mean {gains[rare].mean():+.4f} over "
            f"{rare.sum()} tasks; else {gains[~rare].mean():+.4f} over {(~rare).sum()}."
        )
    winners = np.argmax(auc, axis=1)
    n_linear = sum(int(w) in linear for w in winners)
    parts.append(
        f"A linear method is the best of all on {n_linear} of {len(tasks)} tasks; on the others a "
        "non-linear one (trees, RankBoost or an rbf SVM) is."
    )
    zeros = {t: sum(f[ON_LABELLINGS[0]][0] == 0.5 for f in by_task[t]) for t in tasks}
    if at_zero := {t: count for t, count in zeros.items() if count}:
        folds = ", ".join(f"{t} {count}" for t, count in at_zero.items())
        parts.append(
            f"`{ON_LABELLINGS[0]}` ends at w = 0, whose area is 0.5, on folds of {len(at_zero)} "
            f"tasks ({folds}): its C is too small there, or the classes are too mixed for its "
            "bound; which was not looked into."
        )
    return " ".join(parts)
