"""`everypair path`: which features enter as the L1 penalty falls."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from everypair.cli import options as opt
from everypair.cli.guard import guarded, naming
from everypair.cli.show import number, print_json, print_table, say


@guarded
def path(
    data: opt.Data,
    target: opt.Target = None,
    positive: opt.Positive = None,
    weight: opt.Weight = None,
    group: opt.Group = None,
    drop: opt.Drop = None,
    steps: Annotated[int, typer.Option(min=2, help="How many penalties.")] = 20,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write all coefficients to this CSV.")
    ] = None,
    seed: opt.Seed = 0,
    format: opt.Format = None,
    delimiter: opt.Delimiter = None,
    encoding: opt.Encoding = "utf-8",
    json: opt.Json = False,
    quiet: opt.Quiet = False,
    debug: opt.Debug = False,
) -> None:
    """The L1 path over every pair, with the cross-validated AUC of each step."""
    import numpy as np

    from everypair import AUCClassifierCV, auc_path
    from everypair.cli.inputs import load_labelled
    from everypair.comparison.search import inner_splits
    from everypair.data.readers import Source
    from everypair.model_files import check_writable, written_whole
    from everypair.tables import encoder_for

    if output is not None:
        check_writable(output)
    rows = load_labelled(
        Source(data, format, delimiter, encoding), target, positive, weight, group, drop
    )
    for note in rows.notes:
        say(f"note: {note}", quiet or json)
    with naming(data):
        encoder = encoder_for(rows.X).fit(rows.X)
        X = encoder.transform(rows.X)
        splits = inner_splits(rows.y, rows.groups, seed)
    names = [str(name) for name in encoder.get_feature_names_out()]
    search = AUCClassifierCV(
        n_alphas=steps, eps=1e-2, cv=splits, tol=1e-4, selection="one_standard_error"
    )
    search.fit(X, rows.y, sample_weight=rows.weight)
    found = auc_path(X, rows.y, alphas=search.alphas_[0], sample_weight=rows.weight, tol=1e-4)
    areas = search.auc_path_[0].mean(axis=1)
    chosen = int(np.argmin(np.abs(found.alphas - search.alpha_)))
    entered = [
        np.flatnonzero((found.coefs[:, k] != 0) & ~found.coefs[:, :k].any(axis=1)).tolist()
        for k in range(steps)
    ]
    if output is not None:
        import pyarrow as pa
        from pyarrow import csv

        columns: dict[str, Any] = {"feature": names}
        columns |= {f"{alpha:.6g}": found.coefs[:, k] for k, alpha in enumerate(found.alphas)}
        with written_whole(output) as file:
            csv.write_csv(pa.table(columns), file)
    if json:
        path_steps = [
            {
                "alpha": float(found.alphas[k]),
                "n_features": int(found.n_nonzero[k]),
                "cv_auc": float(areas[k]),
                "entered": [names[j] for j in entered[k]],
            }
            for k in range(steps)
        ]
        print_json(
            {
                "source": data.name, "target": rows.target, "positive": rows.positive,
                "n_rows": int(rows.y.size), "chosen_alpha": float(found.alphas[chosen]),
                "steps": path_steps, "output": None if output is None else str(output),
            }
        )  # fmt: skip
        return
    table = [
        [
            f"{found.alphas[k]:.3g}",
            str(found.n_nonzero[k]),
            number(float(areas[k])),
            _listed([names[j] for j in entered[k]]),
        ]
        for k in range(steps)
    ]
    print_table(["alpha", "features", "AUC (3 folds)", "enter"], table, left=(3,), bold=[chosen])
    print(
        f"Chosen: alpha = {found.alphas[chosen]:.3g} with {found.n_nonzero[chosen]} features, the "
        "fewest within one standard error of the best."
    )


def _listed(names: list[str], most: int = 5) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more
