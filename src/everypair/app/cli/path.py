"""`everypair path`: which features enter as the L1 penalty falls."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from everypair.app.cli import options as opt
from everypair.app.cli.formulas import without_formulas
from everypair.app.cli.guard import guarded, naming
from everypair.app.cli.show import number, print_json, print_table, print_text, text_stream


@guarded
def path(
    data: opt.Data,
    *,
    columns: opt.Columns,
    steps: Annotated[int, typer.Option(min=2, help="Number of penalties (alphas).")] = 20,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write all coefficients to this CSV.")
    ] = None,
    escape_formulas: opt.EscapeFormulas = False,
    seed: opt.Seed = 0,
    reading: opt.Reading,
    show: opt.Show,
) -> None:
    """Print the L1 path over every pair, with the cross-validated AUC of each step."""
    import numpy as np

    from everypair.app.cli.inputs import load_labelled
    from everypair.app.comparison.l1_path import l1_path
    from everypair.app.encode import encoder_for, unused
    from everypair.app.files.output import check_writable, written_whole
    from everypair.app.wording import counted

    if output is not None:
        check_writable(output, data)
    words = text_stream(output, show.json)
    rows = load_labelled(reading.of(data), columns, show)
    with naming(data):
        used = rows.check.used(rows.X)
        encoder = encoder_for(used).fit(used)
        X = encoder.transform(used)
        more = unused(encoder)
        for note in more:
            show.note(note)
        notes = [*rows.sentences(), *more]
        found = l1_path(X, rows.y, rows.weight, rows.check.groups, seed, steps)
    nothing = "No feature tells the classes apart: none enters at any alpha."
    if not found.coefs.any():
        notes.append(nothing)
    elif not found.converged:
        notes.append("some steps stopped before their tolerance was reached.")
        show.note(notes[-1])
    names = [str(name) for name in encoder.get_feature_names_out()]
    chosen = found.chosen
    entered = [
        np.flatnonzero((found.coefs[:, k] != 0) & ~found.coefs[:, :k].any(axis=1)).tolist()
        for k in range(steps)
    ]
    if output is not None:
        import pyarrow as pa
        from pyarrow import csv

        written: dict[str, Any] = {"feature": names}
        written |= {f"{alpha:.6g}": found.coefs[:, k] for k, alpha in enumerate(found.alphas)}
        table = pa.table(written)
        with written_whole(output) as file:
            csv.write_csv(without_formulas(table) if escape_formulas else table, file)
    if show.json:
        path_steps = [
            {
                "alpha": float(found.alphas[k]),
                "n_features": int(found.n_nonzero[k]),
                "cv_auc": float(found.areas[k]),
                "entered": [names[j] for j in entered[k]],
            }
            for k in range(steps)
        ]
        print_json(
            {
                "source": opt.name_of(data), "target": rows.target, "positive": rows.positive,
                "n_rows": int(rows.y.size), "chosen_alpha": float(found.alphas[chosen]),
                "steps": path_steps, "output": None if output is None else str(output),
                "findings": [asdict(finding) for finding in rows.check.findings], "notes": notes,
            }
        )  # fmt: skip
        return
    if not found.coefs.any():
        print_text(nothing, words)
        return
    shown = [
        [
            f"{found.alphas[k]:.3g}",
            str(found.n_nonzero[k]),
            number(float(found.areas[k])),
            _listed([names[j] for j in entered[k]]),
        ]
        for k in range(steps)
    ]
    print_table(
        ["alpha", "features", "AUC (3 folds)", "enter"], shown, left=(3,), bold=[chosen], file=words
    )
    if not found.n_nonzero[chosen]:
        print_text(
            "Chosen: no feature. None ranks held-out rows better than chance by more than one "
            "standard error.",
            words,
        )
        return
    print_text(
        f"Chosen: alpha = {found.alphas[chosen]:.3g} with "
        f"{counted(int(found.n_nonzero[chosen]), 'feature')}, the fewest within one standard "
        "error of the best.",
        words,
    )


def _listed(names: list[str], most: int = 5) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more
