"""A comparison as one HTML file."""

from __future__ import annotations

import base64
import hashlib
import os
from collections import Counter
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from everypair.app.comparison.headline import TOP_SHARE
from everypair.app.comparison.recommend import recommendation
from everypair.app.comparison.records import Comparison, ModelResult
from everypair.app.files.output import written_whole
from everypair.app.report import words
from everypair.app.report.chart_bands import LEVEL
from everypair.app.report.drawn import drawn
from everypair.app.report.group_spread import group_spread

SCRIPTS = (
    "dom.js",
    "axes.js",
    "state.js",
    "roc.js",
    "scores.js",
    "measure.js",
    "charts.js",
    "threshold.js",
    "shapes.js",
    "weights.js",
    "path.js",
    "page.js",
)
"""In the order in which each needs the ones before."""

CHARTS = (
    ("gain", "Gain: positives found in the top rows"),
    ("lift", "Lift: how many times the average"),
    ("precision", "Precision and recall"),
    ("calibration", "Calibration: are the probabilities right?"),
    ("cost", "Cost"),
)
"""That follow the threshold; calibration only where models have probabilities."""

ENDS = ("judged_low", "judged", "judged_high")

N_COLUMNS = 500
"""Columns of the table that are listed one by one."""


def write_report(comparison: Comparison, path: str | os.PathLike[str]) -> Path:
    """Write the comparison as one HTML file that opens offline.

    The file is complete or not there: it is written under another name beside ``path`` and
    renamed, so an interruption leaves an older report as it was.

    Parameters
    ----------
    comparison : Comparison
    path : path of the file
        Its folder must exist. An existing file is replaced.

    Returns
    -------
    Path
        The file written.
    """
    target = Path(path)
    page = _render(comparison).encode("utf-8", "replace")
    with written_whole(target) as file:
        file.write(page)
    return target


def _page() -> Traversable:
    return files("everypair.app.report") / "page"


@cache  # to compile it takes longer than to write the report of a small table
def _template(jinja2: ModuleType) -> Any:
    environment = jinja2.Environment(
        autoescape=True,
        loader=jinja2.FunctionLoader(lambda name: (_page() / name).read_text("utf-8")),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    # JSON has no NaN: a value that is not finite stops here and not in the reader's browser.
    environment.policies["json.dumps_kwargs"] = {"allow_nan": False, "separators": (",", ":")}
    for name in (
        "decimals", "signed", "probability", "seconds", "count", "several", "share", "settings",
    ):  # fmt: skip
        environment.filters[name] = getattr(words, name)
    return environment.get_template("report.html")


def _render(comparison: Comparison) -> str:
    try:
        import jinja2
        from markupsafe import Markup
    except ImportError as error:
        raise ImportError(
            "The report needs jinja2: pip install 'everypair[report]'.", name="jinja2"
        ) from error
    page = _page()
    parts = [(page / name).read_text("utf-8") for name in SCRIPTS]
    script = '\n"use strict";\n(() => {\n' + "\n".join(parts) + "})();\n"
    data = drawn(comparison)
    calibrated = all(model["calibration"] for model in data["models"])
    return _template(jinja2).render(
        comparison=comparison,
        data=data,
        facts=_facts(comparison),
        spread=group_spread(comparison),
        style=Markup((page / "style.css").read_text("utf-8")),
        script=Markup(script),
        # The browser runs this script and no other, even if some text slipped out of its place.
        fingerprint=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        n_columns=N_COLUMNS,
        charts=[chart for chart in CHARTS if chart[0] != "calibration" or calibrated],
        level=LEVEL,
        top_share=TOP_SHARE,
    )


def _facts(comparison: Comparison) -> dict[str, Any]:
    """What the page says in words and tables."""
    fitted = [model for model in comparison.models if not model.failure]
    baseline = next((m for m in fitted if m.name == comparison.best_baseline), None)
    n_rows = comparison.y.size
    cells = n_rows * len(comparison.columns)
    target, positive = comparison.target, comparison.positive
    event = f"{target} = {positive}" if target else positive
    measure = comparison.measure
    return {
        "judge": "AUC" if measure is None else measure.typed,
        "judge_label": "AUC" if measure is None else measure.label,
        "event": event,
        "ours": next((model for model in fitted if model.kind == "everypair"), None),
        "baseline": baseline,
        "n_rows": n_rows,
        "n_positive": int(np.count_nonzero(comparison.y)),
        "weighted_share": None
        if comparison.weights is None
        else float(np.average(comparison.y, weights=comparison.weights)),
        "missing": sum(column.n_missing for column in comparison.columns) / max(cells, 1),
        "kinds": Counter(column.kind for column in comparison.columns).most_common(),
        "scale": _scale(fitted, baseline),
        "recommendation": recommendation(comparison) if comparison.recommended else "",
        "headline": comparison.headline
        and [words.unbroken(piece) for piece in comparison.headline.pieces(event)],
    }


def _scale(fitted: list[ModelResult], baseline: ModelResult | None) -> dict[str, Any]:
    """From where to where the intervals of the table are drawn, and each in per cent of it."""
    ends = [end for m in fitted for k in ENDS if np.isfinite(end := getattr(m, k))]
    least, most = (min(ends), max(ends)) if ends else (0.0, 1.0)
    room = max(0.04 * (most - least), 0.002)
    low, high = least - room, most + room
    if least >= 0 and most <= 1:
        low, high = max(0.0, low), min(1.0, high)

    def place(value: float) -> float | None:
        if not np.isfinite(value):
            return None
        return round(100 * (value - low) / (high - low), 2)

    return {
        "low": low,
        "high": high,
        "baseline": None if baseline is None else place(baseline.judged),
        "places": {m.name: {k: place(getattr(m, k)) for k in ENDS} for m in fitted},
    }
