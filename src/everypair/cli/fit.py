"""`everypair fit`."""

from __future__ import annotations

import sys
import time
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Annotated

import typer

from everypair.cli import options as opt
from everypair.cli.guard import guarded, naming
from everypair.cli.show import print_json, print_text

CHECKED_ROWS = 100
"""Training rows that the saved model must score as the fitted one does."""


@guarded
def fit(
    data: opt.Data,
    *,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Model file to write (.everypair).")
    ],
    columns: opt.Columns,
    method: Annotated[
        str,
        typer.Option(
            help="A model of `compare`, such as auc, auc-l1, roc-svm or logistic. auto: auc, or "
            "auc-rls-rbf where a Gaussian kernel ranks clearly better (up to 20 000 rows)."
        ),
    ] = "auto",
    seed: opt.Seed = 0,
    reading: opt.Reading,
    show: opt.Show,
) -> None:
    """Train a model on a table and write it to a file."""
    import numpy as np
    import pyarrow.compute
    import pyarrow.csv  # noqa: F401

    from everypair.cli.inputs import load_labelled
    from everypair.comparison.models import CANDIDATES
    from everypair.comparison.run import versions
    from everypair.comparison.search import choose_method, fit_candidate
    from everypair.metrics import auc_score
    from everypair.metrics.cross_val import scores_of
    from everypair.model_files import SavedModel, save_model
    from everypair.output_files import check_writable, is_stream
    from everypair.tables import encoder_for, take_rows, unused
    from everypair.wording import counted

    if method != "auto" and method not in CANDIDATES:
        raise ValueError(f"there is no method {method!r}: use auto, {', '.join(CANDIDATES)}.")
    check_writable(output, data)
    clock = [time.perf_counter()]
    rows = load_labelled(reading.of(data), columns, show)
    clock.append(time.perf_counter())
    with naming(data):
        used = rows.check.used(rows.X)
        encoder = encoder_for(used).fit(used)
        X = encoder.transform(used)
    some = take_rows(used, np.arange(min(len(rows.y), CHECKED_ROWS)))
    del used
    rows.X = None  # the matrix is all that is needed from here on
    groups = rows.check.groups(rows.groups)
    for note in unused(encoder):
        rows.notes.append(note)
        show.note(note)
    clock.append(time.perf_counter())
    with naming(data):
        if method == "auto":
            method = choose_method(X, rows.y, rows.weight, groups, seed)
        candidate = CANDIDATES[method]
        fitted = fit_candidate(candidate, X, rows.y, rows.weight, groups, seed)
    train_auc = auc_score(rows.y, scores_of(fitted.model, X), sample_weight=rows.weight)
    clock.append(time.perf_counter())
    model = SavedModel(
        encoder=encoder,
        estimator=fitted.model,
        method=candidate.name,
        settings=fitted.settings,
        target=rows.target,
        positive=rows.positive,
        negative=rows.negative,
        n_rows=int(rows.y.size),
        n_positive=int(rows.y.sum()),
        train_auc=float(train_auc),
        versions=versions(),
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        source=data.name,
        notes=[
            *rows.sentences(),
            *(f"{candidate.name} {remark}." for remark in fitted.remarks),
        ],
    )
    for remark in fitted.remarks:
        show.note(f"{candidate.name} {remark}.")
    save_model(model, output, some)
    spent = [after - before for before, after in pairwise(clock)]
    if show.json:
        print_json(
            {
                "model": str(output),
                "method": model.method,
                "settings": model.settings,
                "target": model.target,
                "positive": model.positive,
                "n_rows": model.n_rows,
                "n_positive": model.n_positive,
                "n_features": int(X.shape[1]),
                "train_auc": model.train_auc,
                "seconds": dict(zip(("read", "encode", "fit"), spent, strict=True)),
                "notes": model.notes,
            }
        )
    elif not show.quiet:
        settings = ", ".join(f"{k} = {v:g}" for k, v in model.settings.items())
        print_text(
            f"{model.method}{f' ({settings})' if settings else ''}: "
            f"{counted(model.n_rows, 'row')}, {model.n_positive} positive, "
            f"{counted(X.shape[1], 'feature')}; AUC {train_auc:.3f} on the "
            f"training rows\nread {spent[0]:.1f} s, encoded {spent[1]:.1f} s, fitted "
            f"{spent[2]:.1f} s; written to {output}",
            file=sys.stderr if is_stream(output) else None,  # which may be standard output
        )
