"""`AUCAdditiveCV` beside linear models, explainable boosting and LightGBM, on held-out rows.

    python -m lab bench additive --cache results.json [--splits 3] [--tasks "letter S" ...]
    python -m lab bench additive --cache results.json --show [--write]
    python -m lab bench additive --size

Splines, ridge and alphas were chosen on the tasks of `CHOSEN_ON`, which are shown apart. Times are
processor seconds of one thread.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedShuffleSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from everypair import AUCAdditiveCV, AUCClassifierCV, RankOptCV
from lab.data.tasks import names, task
from lab.harness import Page, markdown_table

CHOSEN_ON = ("pima", "satimage 4", "letter H", "adult")
LEFT_OUT = ("a9a", "w8a", "mnist", "reuters21578")
"""Columns of zeros and ones, words or pixels: no curves to find."""
MOST_ROWS, TEST_ROWS = 3000, 6000
PAIRS = 10


def models() -> dict[str, Any]:
    """Every model tunes itself on its training rows, or runs at the defaults of its makers."""
    from lightgbm import LGBMClassifier

    out = {
        "linear": make_pipeline(StandardScaler(), AUCClassifierCV()),
        "RankOptCV": make_pipeline(StandardScaler(), RankOptCV()),
        "AUCAdditiveCV": AUCAdditiveCV(),
        "with pairs": AUCAdditiveCV(interactions=PAIRS),
        "LightGBM": LGBMClassifier(n_estimators=200, learning_rate=0.05, n_jobs=1, verbose=-1),
    }
    try:
        from interpret.glassbox import ExplainableBoostingClassifier
    except ImportError:
        return out
    out["EBM, no pairs"] = ExplainableBoostingClassifier(interactions=0, n_jobs=1)
    out["EBM"] = ExplainableBoostingClassifier(n_jobs=1)
    return out


def one_split(name: str, split: int) -> dict[str, Any]:
    """By model: AUC of the test rows, and processor seconds of the fit."""
    X, y = task(name).X, task(name).positive.astype(int)
    X = X.toarray() if hasattr(X, "toarray") else np.asarray(X, dtype=float)
    n_train = min(MOST_ROWS, int(0.6 * y.size))
    n_test = min(TEST_ROWS, y.size - n_train)
    cut = StratifiedShuffleSplit(1, train_size=n_train, test_size=n_test, random_state=split)
    train, test = next(cut.split(X[:, :1], y))
    moving = np.ptp(X[train], axis=0) > 0
    A, B = X[np.ix_(train, moving)], X[np.ix_(test, moving)]
    out: dict[str, Any] = {}
    for label, model in models().items():
        began = time.process_time()
        model.fit(A, y[train])
        seconds = time.process_time() - began
        by_score = hasattr(model, "decision_function")
        scores = model.decision_function(B) if by_score else model.predict_proba(B)[:, 1]
        out[label] = [float(roc_auc_score(y[test], scores)), round(seconds, 3)]
    return out


def tasks() -> list[str]:
    return [name for name in names() if name.split()[0] not in LEFT_OUT]


def run(cache: Path, wanted: list[str], splits: int) -> None:
    done = json.loads(cache.read_text()) if cache.exists() else {}
    for split in range(splits):
        for name in wanted:
            key = f"{name}|{split}"
            if key in done:
                continue
            with threadpool_limits(1), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                done[key] = one_split(name, split)
            cache.write_text(json.dumps(done))
            print(key, {k: round(v[0], 4) for k, v in done[key].items()}, flush=True)


def show(cache: Path, page: Page) -> None:
    done = json.loads(cache.read_text())
    by_task: dict[str, list[Any]] = {}
    for key, found in done.items():
        by_task.setdefault(key.split("|")[0], []).append(found)
    labels = list(next(iter(done.values())))
    unseen = [name for name in by_task if name not in CHOSEN_ON]
    for heading, chosen in (
        (f"{len(unseen)} tasks on which nothing was chosen", unseen),
        (f"All {len(by_task)} tasks", list(by_task)),
    ):
        areas = np.array([[np.mean([f[m][0] for f in by_task[t]]) for m in labels] for t in chosen])
        seconds = np.array(
            [[np.median([f[m][1] for f in by_task[t]]) for m in labels] for t in chosen]
        )
        ranks = (-areas).argsort(axis=1).argsort(axis=1) + 1
        linear, boosted = areas[:, labels.index("linear")], areas[:, labels.index("LightGBM")]
        gap = boosted.mean() - linear.mean()
        rows = [
            [
                label, f"{areas[:, k].mean():.4f}", f"{ranks[:, k].mean():.2f}",
                f"{100 * (areas[:, k].mean() - linear.mean()) / gap:.0f} %",
                f"{np.median(seconds[:, k] / seconds[:, labels.index('AUCAdditiveCV')]):.2f}",
            ]
            for k, label in enumerate(labels)
        ]  # fmt: skip
        header = ["model", "mean AUC", "mean rank", "of linear to LightGBM", "time / AUCAdditiveCV"]
        page.add(heading, markdown_table(header, rows))
    rows = [
        [name, *(f"{np.mean([f[m][0] for f in found]):.4f}" for m in labels)]
        for name, found in by_task.items()
    ]
    page.add("Task by task", markdown_table(["task", *labels], rows))


def size(page: Page, n_rows: int = 1_000_000, n_columns: int = 30) -> None:
    """Time and memory of one fit beside the linear one."""
    import resource

    from everypair import AUCAdditive, AUCClassifier

    rng = np.random.default_rng(0)
    X = rng.standard_normal((n_rows, n_columns))
    y = X[:, 0] ** 2 + X[:, 1] + rng.logistic(size=n_rows) > 4
    rows, before = [], resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    AUCClassifier().fit(X[:2000], y[:2000])
    AUCAdditive().fit(X[:2000], y[:2000])
    for model in (AUCClassifier(), AUCAdditive()):
        began = time.perf_counter()
        model.fit(X, y)
        seconds = time.perf_counter() - began
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        rows.append([type(model).__name__, seconds, (peak - before) / 2**20])
    linear = rows[0][1]
    page.add(
        f"{n_rows:,} rows x {n_columns} columns ({X.nbytes / 2**30:.2f} GB)",
        markdown_table(
            ["model", "time / linear", "memory beyond X, GB"],
            [[name, f"{s / linear:.1f}", f"{memory:.2f}"] for name, s, memory in rows],
        ),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cache", type=Path, default=Path("additive.json"))
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--tasks", nargs="*")
    parser.add_argument("--show", action="store_true")
    parser.add_argument("--size", action="store_true", help="time and memory on a million rows")
    parser.add_argument("--write", action="store_true", help="into docs/benchmarks")
    given = parser.parse_args()
    intro = f"""Made by `python -m lab bench additive`. Training rows: {MOST_ROWS:,} at most, drawn
at random; AUC of other rows. Models of everypair tune themselves by five folds of the training
rows; explainable boosting (EBM, `interpret-core`) and LightGBM (200 trees, rate .05) run at their
settings. `of linear to LightGBM`: how much of the way from the linear model's mean AUC to
LightGBM's. Times are processor seconds of whole fits, one thread, median over tasks. Tables of
zeros and ones, words and pixels are left out: {", ".join(LEFT_OUT)}. The number of splines, the
ridge, the alphas and the bins were chosen on one split of {", ".join(CHOSEN_ON)}. The tables hold
the tasks and splits that have been run so far; the script goes on from its cache."""
    page = Page("additive", "Additive models", intro)
    if given.size:
        size(page)
        return
    if not given.show:
        run(given.cache, given.tasks or tasks(), given.splits)
    show(given.cache, page)
    if given.write:
        page.write()


if __name__ == "__main__":
    main()
