"""Comparisons made by hand from simulated scores."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np

from everypair.app.comparison import ColumnSummary, Comparison, ModelResult, PathSummary
from everypair.app.comparison.probabilities import with_probabilities
from everypair.app.comparison.typed_measure import parse_measure
from everypair.app.explain.weights import Line
from everypair.app.explain.worth import Worth
from everypair.metrics import auc_confidence_interval
from everypair.rows import Rows

ODD = "<script>alert(1)</script>"
LONG = "average_monthly_charges_over_the_last_twelve_months_before_the_contract_was_renewed"
NAMES = ("tenure", ODD, "charges</script><!--", LONG, "größe & <b>fett</b>", "x\u2028y", "age")

OURS = ("AUC logistic", "AUC-RLS", "ROC-SVM", "sparse AUC", "RankOpt", "CPAUC", "MeasureSVM F1")
BASELINES = ("logistic regression", "gradient boosting", "linear SVM", "weighted logistic")


def make_comparison(
    n_rows: int = 600,
    n_models: int = 4,
    *,
    share: float = 0.15,
    seed: int = 0,
    weighted: bool = False,
    failing: int = 0,
    with_weights: bool = True,
    with_path: bool = True,
    rounded: bool = False,
    names: tuple[str, ...] = NAMES,
    measure: str = "auc",
    calibrated: bool = False,
) -> Comparison:
    rng = np.random.default_rng(seed)
    y = np.zeros(n_rows, dtype=bool)
    y[rng.permutation(n_rows)[: max(2, round(share * n_rows))]] = True
    weights = rng.uniform(0.5, 3, n_rows) if weighted else None
    signal = 1.4 * y + rng.standard_normal(n_rows)
    models = []
    for k in range(n_models):
        kind = "everypair" if k % 2 == 0 else "baseline"
        pool = OURS if kind == "everypair" else BASELINES
        name = pool[k // 2 % len(pool)] + (f" {k // 2}" if k // 2 >= len(pool) else "")
        scores = signal + (0.2 + 0.12 * k) * rng.standard_normal(n_rows)
        if kind == "baseline":
            scores = 1 / (1 + np.exp(-scores))
        if rounded:
            scores = np.round(scores, 1)
        models.append(_model(name, kind, y, scores, weights, rng, names if with_weights else None))
    if calibrated:
        folds = [(np.flatnonzero(np.arange(n_rows) % 3 != k), np.arange(k, n_rows, 3))
                 for k in range(3)]  # fmt: skip
        models = with_probabilities(models, folds, y, weights)
        models = [replace(m, worth=_worth(names), lines=_lines(names), what=f"It is {m.name}.")
                  for m in models]  # fmt: skip
    by = parse_measure(measure)
    if by is not None:
        models = [_judged(model, by, y, weights) for model in models]
    sign = 1 if by is None else by.sign
    models.sort(key=lambda model: -sign * model.judged)
    best = next(model for model in models if model.kind == "baseline")
    models = [_against(model, best) for model in models]
    for k in range(failing):
        models.append(_failed(f"failing model {k + 1}", n_rows))
    alphas = np.geomspace(0.2, 0.0004, 60)
    pull = rng.standard_normal(len(names)) * 1.5
    coef = np.sign(pull) * np.maximum(np.abs(pull) - 12 * alphas[:, None], 0)
    return Comparison(
        source="customers <2024>.csv",
        target="churn",
        positive="yes",
        y=y,
        models=models,
        best_baseline=best.name,
        verdict=f"{models[0].name} ranks best (AUC {models[0].auc:.3f}), "
        f"{models[0].auc - best.auc:.3f} above {best.name}; the difference is small.",
        columns=[
            ColumnSummary(name, kind, missing, distinct, example)
            for name, kind, missing, distinct, example in zip(
                names,
                ["number", "category", "text", "number", "boolean", "date", "constant"]
                * len(names),
                [0, 3, 0, n_rows // 10, 0, 1, 0] * len(names),
                [n_rows, 4, n_rows // 2, n_rows // 3, 2, 30, 1] * len(names),
                ["12.5", "</td><img src=x onerror=alert(1)>", "some words", "88.1", "true", "", "0"]
                * len(names),
                strict=False,
            )
        ],
        folds="5 folds x 2 repeats",
        seed=7,
        command="everypair compare 'customers <2024>.csv' --target churn --positive yes --seed 7",
        versions={"everypair": "0.1.0", "python": "3.12.1", "numpy": "2.1.0", "scipy": "1.14.1"},
        weights=weights,
        path=PathSummary(alphas, coef, names, 0.01, "It is <so>.") if with_path else None,
        scale="Scores are <those> of their folds.",
        notes=("One column was constant and left out: <i>region</i>.",),
        measure=by,
    )


def _worth(names) -> list[Worth]:
    goes = ("up", "down", "up: a; down: b")
    return [Worth(name, 0.7 - 0.02 * k, 0.1 - 0.03 * k, 0.01, goes[k % 3])
            for k, name in enumerate(names)]  # fmt: skip


def _lines(names) -> dict[str, list[Line]]:
    return {name: [Line(f"{name}=a", 0.5), Line(f"{name}=b", -0.25), Line("same", None)]
            for name in names}  # fmt: skip


def _judged(model, measure, y, weights) -> ModelResult:
    rows = Rows.of(y, weights)
    exact, scores = measure.of(rows), rows.scores(model.scores)
    value = measure.sign * exact.value(rows, scores, exact.best_cut(rows, scores))
    return replace(model, value=value, value_low=value - 0.05, value_high=value + 0.05)


def _model(name, kind, y, scores, weights, rng, names) -> ModelResult:
    interval = auc_confidence_interval(y, scores, sample_weight=weights)
    values = rng.standard_normal(len(names or ())) * (rng.random(len(names or ())) < 0.8)
    linear = names is not None and name != "gradient boosting"
    return ModelResult(
        name=name,
        kind=kind,
        auc=interval.auc,
        low=interval.low,
        high=interval.high,
        fold_auc=interval.auc + 0.01 * rng.standard_normal(10),
        fit_seconds=float(10 ** rng.uniform(-3, 2)),
        scores=scores,
        threshold=float(np.quantile(scores, 0.8)) + 1e-4,
        settings={"alpha": 0.0123456, "loss": "logistic"} if kind == "everypair" else {},
        n_features=int(np.count_nonzero(values)) if linear else None,
        coefficients=dict(zip(names, values.tolist(), strict=True)) if linear else None,
    )


def _against(model: ModelResult, best: ModelResult) -> ModelResult:
    if model is best:
        return model
    gap = model.judged - best.judged
    return replace(
        model,
        difference=gap,
        difference_low=gap - 0.02,
        difference_high=gap + 0.02,
        p_value=0.03,
    )


def _failed(name: str, n_rows: int) -> ModelResult:
    nan = float("nan")
    return ModelResult(
        name=name,
        kind="everypair",
        auc=nan,
        low=nan,
        high=nan,
        fold_auc=np.array([]),
        fit_seconds=nan,
        scores=np.full(n_rows, nan),
        threshold=nan,
        settings={},
        failure="Fold 3 has one class only: use fewer folds than positives (2).",
    )


def embedded(page: str) -> dict:
    """The numbers of a report, as its scripts read them."""
    start = page.index('<script type="application/json" id="data">')
    text = page[page.index(">", start) + 1 : page.index("</script>", start)]
    return json.loads(text)
