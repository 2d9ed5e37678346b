"""An additive model as a table of points, in memory or as a CSV, JSON or HTML file."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from html import escape
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from everypair.estimators._shapes import Shape


class ScorecardRow(NamedTuple):
    """A line of `AUCAdditive.scorecard`: what a bin of a column adds to the score."""

    column: str
    bin: str
    share: float
    points: float


CONSTANT = "(constant)"

STYLE = """
body { font: 15px/1.4 system-ui, sans-serif; margin: 1.5rem auto; max-width: 46rem;
       padding: 0 1rem; color: #222; background: #fff; }
h1 { font-size: 1.4rem; } h2 { font-size: 1.05rem; margin: 1.6rem 0 .4rem; }
table { border-collapse: collapse; width: 100%; }
th { text-align: left; font-weight: 600; border-bottom: 1px solid #999; }
td, th { padding: .15rem .5rem .15rem 0; vertical-align: baseline; }
td { border-bottom: 1px solid #eee; overflow-wrap: anywhere; }
.n { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
.bar { width: 34%; min-width: 6rem; } .bar div { position: relative; height: .8rem; }
.bar div::before { content: ""; position: absolute; left: 50%; top: -.2rem; bottom: -.2rem;
                   border-left: 1px solid #999; }
.bar span { position: absolute; top: 0; bottom: 0; }
.up { background: #0072B2; left: 50%; } .down { background: #D55E00; right: 50%; }
@media (max-width: 30rem) { .share { display: none; } }
"""


class Scorecard(list[ScorecardRow]):
    """The rows of a scorecard; the score of a case is the sum of the points of its bins."""

    @classmethod
    def of(cls, model: Any) -> Scorecard:
        """Every bin of every column of an additive model, and every cell of its pairs."""
        out = cls([ScorecardRow(CONSTANT, "all", 1.0, float(model.intercept_[0]))])
        for shape, curve in zip(model.shapes_, model.curves_, strict=True):
            share = shape.counts / shape.counts.sum()
            out.add(shape.name, shape.labels(), share, curve)
        for pair, values in zip(model.pairs_, model.pair_values_, strict=True):
            first, second = model.shapes_[pair.first], model.shapes_[pair.second]
            labels = [
                f"{one} and {other}"
                for one in group_labels(first, pair.group_of_first)
                for other in group_labels(second, pair.group_of_second)
            ]
            share = pair.counts / pair.counts.sum()
            out.add(f"{first.name} x {second.name}", labels, share, values)
        return out

    def add(self, column: str, labels: Sequence[str], share: Any, points: Any) -> None:
        """The bins of one column."""
        for label, part, value in zip(labels, share, points, strict=True):
            self.append(ScorecardRow(column, label, float(part), float(value)))

    def to_csv(self) -> str:
        """The rows as CSV, with a header; points to the last digit."""
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(ScorecardRow._fields)
        writer.writerows((c, b, repr(s), repr(p)) for c, b, s, p in self)
        return out.getvalue()

    def to_json(self) -> str:
        """The rows as a list of objects."""
        rows = [row._asdict() for row in self]
        return json.dumps({"scorecard": rows}, ensure_ascii=False, indent=1) + "\n"

    def to_html(self, title: str = "Scorecard") -> str:
        """A page to read: a table per column, with a bar for the points of each bin."""
        longest = max((abs(row.points) for row in self if row.column != CONSTANT), default=1.0)
        parts = [
            '<!doctype html><html lang="en"><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{escape(title)}</title><style>{STYLE}</style><h1>{escape(title)}</h1>",
            "<p>The score of a case is the sum of the points of its bins and the constant. A score "
            "above zero is classified as positive.</p>",
        ]
        for column, rows in groupby(self, key=lambda row: row.column):
            parts.append(f"<h2>{escape(column)}</h2>")
            parts.append('<table><tr><th>bin</th><th class="n share">rows</th>')
            parts.append('<th class="n">points</th><th></th></tr>')
            for _, label, share, points in rows:
                width = 0.0 if column == CONSTANT else 50 * abs(points) / (longest or 1.0)
                side = "up" if points > 0 else "down"
                parts.append(
                    f'<tr><td>{escape(label)}</td><td class="n share">{100 * share:.1f} %</td>'
                    f'<td class="n">{points:+.4f}</td><td class="bar"><div>'
                    f'<span class="{side}" style="width:{width:.1f}%"></span></div></td></tr>'
                )
            parts.append("</table>")
        return "\n".join(parts) + "</html>\n"

    def write(self, path: str | Path) -> None:
        """Write a ``.csv``, ``.json`` or ``.html`` file: first under a temporary name."""
        path = Path(path)
        made = {".csv": self.to_csv, ".json": self.to_json, ".html": self.to_html}
        if path.suffix not in made:
            raise ValueError(f"{path.name!r} must end in .csv, .json or .html.")
        temporary = path.with_name(f".{path.name}.part")
        try:
            temporary.write_text(made[path.suffix](), encoding="utf-8")
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)


def group_labels(shape: Shape, group_of: NDArray[np.intp]) -> list[str]:
    """What the groups of bins of one column of a pair are called."""
    labels = shape.labels()
    out = []
    for group in range(int(group_of.max()) + 1):
        members = [labels[k] for k in np.flatnonzero(group_of == group)]
        if shape.kind == "category" or len(members) == 1:
            out.append(", ".join(members))
        else:
            low = members[0].split(" to ")[0] if " to " in members[0] else ""
            high = members[-1].split(" to ")[-1].removeprefix("up to ")
            if members[-1].startswith("above"):
                out.append(f"above {low}")
            else:
                out.append(f"{low} to {high}" if low else f"up to {high}")
    return out
