"""`AUCAdditiveCV` beside linear models, explainable boosting and boosted trees, on held-out rows.

    python -m lab bench additive --cache results.json [--splits 1] [--models EBM] [--tasks pima]
    python -m lab bench additive --cache results.json --show [--write]

One fit at a time, task by task; the cache holds what is done.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegressionCV
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV, StratifiedShuffleSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from everypair import AUCAdditive, AUCAdditiveCV, AUCClassifierCV, RankOptCV
from lab.data.tasks import names, task
from lab.harness import Page, markdown_table

CHOSEN_ON = (
    "pima", "satimage 4", "letter H", "letter R", "letter X", "adult", "ionosphere", "covtype 1"
)  # fmt: skip
"""Tasks on which something was chosen: they are not in the tables."""
LEFT_OUT = ("a9a", "w8a", "mnist", "reuters21578")
"""Columns of zeros and ones, words or pixels: no curves to find."""
MOST_ROWS, TEST_ROWS = 3000, 6000
FEWEST_TASKS = 3
"""Below that a table of means and ranks says nothing."""
SMALL = ("credit", "spectf", "wdbc", "wpbc")
"""Tables of a few hundred rows."""
BIG_ROWS = 10_000
BEHIND = 0.005
"""Of AUC: losses above it are named."""
TREES = {"n_estimators": 200, "learning_rate": 0.05, "n_jobs": 1}


class LogisticOnSplines:
    """Logistic regression on the basis of `AUCAdditive`, its strength by five folds and AUC."""

    def fit(self, X: Any, y: Any) -> LogisticOnSplines:
        self.bins = AUCAdditive(alpha=1.0, tol=1.0, max_iter=1).fit(X, y)
        self.model = LogisticRegressionCV(
            Cs=np.logspace(-4, 2, 7), scoring="roc_auc", solver="newton-cholesky", max_iter=50
        ).fit(self._features(X), y)
        return self

    def _features(self, X: Any) -> Any:
        codes = self.bins._codes(X)
        tables = [shape.table() for shape in self.bins.shapes_]
        return np.hstack([table[column] for table, column in zip(tables, codes, strict=True)])

    def decision_function(self, X: Any) -> Any:
        return self.model.decision_function(self._features(X))


def boosted(name: str) -> Any:
    """Two sizes of trees, the better one by three folds."""
    if name == "LightGBM":
        from lightgbm import LGBMClassifier

        model, grid = LGBMClassifier(**TREES, verbose=-1), {"num_leaves": [6, 31]}
    else:
        from xgboost import XGBClassifier

        model, grid = XGBClassifier(**TREES), {"max_depth": [2, 6]}
    return GridSearchCV(model, grid, scoring="roc_auc", cv=3)


def explainable(**settings: Any) -> Any:
    from interpret.glassbox import ExplainableBoostingClassifier

    return ExplainableBoostingClassifier(n_jobs=1, **settings)


MODELS: dict[str, Callable[[], Any]] = {
    "AUCAdditiveCV": AUCAdditiveCV,
    "linear": lambda: make_pipeline(StandardScaler(), AUCClassifierCV()),
    "LightGBM": lambda: boosted("LightGBM"),
    "EBM, no pairs": lambda: explainable(interactions=0),
    "with pairs": lambda: AUCAdditiveCV(interactions="auto"),
    "XGBoost": lambda: boosted("XGBoost"),
    "logistic on splines": LogisticOnSplines,
    "RankOptCV": lambda: make_pipeline(StandardScaler(), RankOptCV()),
    "sigmoid climb": lambda: AUCAdditiveCV("sigmoid"),
    "EBM": explainable,
}
"""In the order of what they tell per second."""
SHOWN = (
    "linear", "RankOptCV", "logistic on splines", "AUCAdditiveCV", "sigmoid climb", "EBM, no pairs",
    "with pairs", "EBM", "XGBoost", "LightGBM",
)  # fmt: skip


def rows_of(name: str, split: int, most: int = MOST_ROWS) -> tuple[Any, Any, Any, Any]:
    """Training rows and labels, test rows and labels; columns that do not move are left out."""
    X, y = task(name).X, task(name).positive.astype(int)
    X = X.toarray() if hasattr(X, "toarray") else np.asarray(X, dtype=float)
    n_train = min(most, int(0.6 * y.size))
    n_test = min(TEST_ROWS, y.size - n_train)
    cut = StratifiedShuffleSplit(1, train_size=n_train, test_size=n_test, random_state=split)
    train, test = next(cut.split(X[:, :1], y))
    moving = np.ptp(X[train], axis=0) > 0
    return X[np.ix_(train, moving)], y[train], X[np.ix_(test, moving)], y[test]


def one_fit(label: str, rows: tuple[Any, Any, Any, Any]) -> list[float]:
    """AUC of the test rows, and processor seconds of the fit."""
    X, y, X_test, y_test = rows
    began = time.process_time()
    model = MODELS[label]().fit(X, y)
    seconds = time.process_time() - began
    by_score = hasattr(model, "decision_function") and not isinstance(model, GridSearchCV)
    scores = model.decision_function(X_test) if by_score else model.predict_proba(X_test)[:, 1]
    return [float(roc_auc_score(y_test, scores)), round(seconds, 3)]


def tasks() -> list[str]:
    """In turns from each data set, so that what is done at any time is a fair part of all."""
    kept = [n for n in names(also=True) if n.split()[0] not in LEFT_OUT and n not in CHOSEN_ON]
    turn = {n: [m for m in kept if m.split()[0] == n.split()[0]].index(n) for n in kept}
    return sorted(kept, key=lambda n: turn[n])


def run(cache: Path, wanted: list[str], splits: int, labels: list[str], most: int) -> None:
    done: dict[str, Any] = json.loads(cache.read_text()) if cache.exists() else {}
    for split in range(splits):
        for name in wanted:
            end = "" if most == MOST_ROWS else f"|{most}"
            left = [label for label in labels if f"{name}|{split}|{label}{end}" not in done]
            rows = rows_of(name, split, most) if left else None
            for label in left:
                key = f"{name}|{split}|{label}{end}"
                with threadpool_limits(1), warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    done[key] = one_fit(label, rows)
                part = cache.with_suffix(".part")
                part.write_text(json.dumps(done, indent=0))
                part.replace(cache)
                print(key, done[key], flush=True)


Found = dict[str, dict[str, dict[int, list[float]]]]


def by_task(done: dict[str, Any], most: int) -> Found:
    """Of each task, model and split: the area and the seconds."""
    out: Found = {}
    for key, found in done.items():
        name, split, label, *big = key.split("|")
        if (int(big[0]) if big else MOST_ROWS) == most:
            out.setdefault(name, {}).setdefault(label, {})[int(split)] = found
    return out


def splits_of(of_task: dict[str, dict[int, list[float]]], labels: Iterable[str]) -> list[int]:
    """The splits that all of these models have run on."""
    return sorted(set.intersection(*(set(of_task.get(label, ())) for label in labels)))


def means(found: Found, chosen: list[str], labels: list[str], place: int) -> Any:
    """Over the splits that all of these models have run on: a line per task."""
    return np.array(
        [
            [np.mean([found[name][m][k][place] for k in splits_of(found[name], labels)])
             for m in labels]
            for name in chosen
        ]
    )  # fmt: skip


def standing(found: Found, chosen: list[str], labels: list[str]) -> str:
    """Mean AUC, mean rank with Nemenyi's critical difference, wins of the additive model."""
    from scipy.stats import rankdata, studentized_range

    areas, seconds = means(found, chosen, labels, 0), means(found, chosen, labels, 1)
    ranks = rankdata(-areas, axis=1).mean(axis=0)
    own = labels.index("AUCAdditiveCV")
    linear, most = (areas[:, labels.index(m)].mean() for m in ("linear", "LightGBM"))
    rows = [
        [
            label, f"{areas[:, k].mean():.4f}", f"{ranks[k]:.2f}",
            f"{100 * (areas[:, k].mean() - linear) / (most - linear):.0f} %",
            "" if k == own else f"{np.sum(areas[:, own] > areas[:, k])} of {len(chosen)}",
            f"{np.median(seconds[:, k] / seconds[:, own]):.2f}",
        ]
        for k, label in enumerate(labels)
    ]  # fmt: skip
    k, n = len(labels), len(chosen)
    critical = studentized_range.ppf(0.95, k, np.inf) / np.sqrt(2) * np.sqrt(k * (k + 1) / (6 * n))
    header = [
        "model", "mean AUC", "mean rank", "of linear to LightGBM", "AUCAdditiveCV above it",
        "time / AUCAdditiveCV",
    ]  # fmt: skip
    return (
        markdown_table(header, rows)
        + f"\n\nMean ranks within {critical:.2f} of each other are not told apart (Nemenyi, 95 %)."
    )


def reach(found: Found, chosen: list[str]) -> str:
    """How far sums of curves get, whoever fits them."""
    ways = ["logistic on splines", "AUCAdditiveCV", "EBM, no pairs"]
    linear, *areas, most = means(found, chosen, ["linear", *ways, "LightGBM"], 0).mean(axis=0)
    told = ", ".join(
        f"{100 * (area - linear) / (most - linear):.0f} % ({way})"
        for way, area in zip(ways, areas, strict=True)
    )
    return (
        "\n\nThree ways to fit a sum of curves, with other losses and other bases, close about the "
        f"same part\nof the way to LightGBM: {told}.\n"
        "So this seems to be near the limit of such sums: the rest needs columns that act together."
    )


def losses(found: Found, own: str, others: list[str]) -> str:
    """The tasks on which a model is behind others by more than `BEHIND`."""
    lines = []
    for other in others:
        both = [name for name, of in found.items() if splits_of(of, [own, other])]
        gaps = means(found, both, [own, other], 0)
        behind = {name: b - a for name, (a, b) in zip(both, gaps, strict=True)}
        worst = sorted((n for n in both if behind[n] > BEHIND), key=lambda n: -behind[n])
        told = ", ".join(f"{name} {behind[name]:.3f}" for name in worst) or "nowhere"
        lines.append(f"- behind {other} ({len(both)} tasks): {told}")
    return "\n".join(lines)


def show(cache: Path, page: Page) -> None:
    done = json.loads(cache.read_text())
    found = by_task(done, MOST_ROWS)
    every = {label for of_task in found.values() for label in of_task}
    labels = [label for label in SHOWN if label in every]
    without = [m for m in labels if m not in ("EBM", "with pairs")]
    paired = [m for m in labels if m != "EBM"]
    tables = [(without, False), (paired, False), (paired, True)]
    tables += [(labels, False)] * ("EBM" in labels)
    for wanted, large in tables:
        chosen = [
            name
            for name, of in found.items()
            if splits_of(of, wanted) and not (large and name in SMALL)
        ]
        if len(chosen) >= FEWEST_TASKS:
            rows = f"{MOST_ROWS:,} training rows" if large else "all sizes"
            ends = {"EBM": "with pairs of EBM", "with pairs": "with pairs of AUCAdditiveCV"}
            end = next((ends[m] for m in ends if m in wanted), "without pairs of columns")
            told = standing(found, chosen, wanted)
            told += reach(found, chosen) if wanted == without else ""
            page.add(f"{len(chosen)} tasks of {rows}, {end}", told)
    rivals = {
        "AUCAdditiveCV": ["linear", "EBM, no pairs", "LightGBM"], "with pairs": ["EBM", "LightGBM"]
    }  # fmt: skip
    for own, others in rivals.items():
        page.add(f"{own}: behind others by more than {BEHIND}", losses(found, own, others))
    ends = {"AUCAdditiveCV": without, "with pairs": paired, "EBM": labels}
    for own, wanted in ends.items():
        rows = []
        for name, of in found.items():
            some = [m for m in wanted if m in of]
            common = splits_of(of, some)
            if own in of and common:
                cells = {m: f"{np.mean([of[m][k][0] for k in common]):.4f}" for m in some}
                rows.append([name, *(cells.get(m, "") for m in wanted), str(len(common))])
        if rows:
            title = f"Task by task, where {own} has run"
            page.add(title, markdown_table(["task", *wanted, "splits"], rows))
    rows = []
    for name, of in by_task(done, BIG_ROWS).items():
        if len(of) < 2 or "AUCAdditiveCV" not in of:
            continue
        own_seconds = of["AUCAdditiveCV"][0][1]
        for label in (m for m in SHOWN if m in of):
            area, seconds = of[label][0]
            rows.append([name, label, f"{area:.4f}", f"{seconds / own_seconds:.2f}"])
    if rows:
        header = ["task", "model", "AUC", "time / AUCAdditiveCV"]
        page.add(f"{BIG_ROWS:,} training rows", markdown_table(header, rows))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cache", type=Path, default=Path(__file__).with_suffix(".json"))
    parser.add_argument("--splits", type=int, default=1)
    parser.add_argument("--tasks", nargs="*")
    parser.add_argument("--models", nargs="*", default=list(MODELS))
    parser.add_argument("--rows", type=int, default=MOST_ROWS, help="training rows at most")
    parser.add_argument("--show", action="store_true")
    parser.add_argument("--write", action="store_true", help="into docs/benchmarks")
    given = parser.parse_args()
    intro = f"""Made by `python -m lab bench additive`. Training rows: {MOST_ROWS:,} at most, drawn
at random; AUC of other rows. Models of everypair tune themselves by five folds of the training
rows. `logistic on splines` has the basis of AUCAdditive and a strength chosen by five folds.
LightGBM and XGBoost (200 trees, rate .05) choose between two sizes of trees by three folds.
Explainable boosting (EBM, `interpret-core`) runs at its defaults, which average 14 models; with
pairs a fit takes minutes, and it has run on few tasks. `with pairs`: AUCAdditiveCV with
`interactions="auto"`.
`sigmoid climb`: `loss="sigmoid"`. `of linear to LightGBM`: how much of the way from the linear
model's mean AUC to LightGBM's. A table averages over the splits that all of its models have run on:
up to five of the tables of a few hundred rows ({", ".join(SMALL)}), one of the others. Times are
processor seconds of whole fits with their tuning, one thread, median over tasks. The machine had
other work, more at some models' times than at others': ratios below 2 say little. Those of 10,000
rows were measured one right after the other. Tables of zeros and ones, words and pixels are
left out ({", ".join(LEFT_OUT)}), and so are the tasks on which settings were chosen:
{", ".join(CHOSEN_ON)}. Of these, adult may be among the times of
10,000 rows.
The tables hold the tasks and splits that have been run so far, and the script goes on from its
cache."""
    page = Page("additive", "Additive models", intro)
    if not given.show:
        run(given.cache, given.tasks or tasks(), given.splits, given.models, given.rows)
    show(given.cache, page)
    if given.write:
        page.write()


if __name__ == "__main__":
    main()
