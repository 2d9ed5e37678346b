"""An additive model as an expression of SQL."""

from __future__ import annotations

from typing import Any

import numpy as np

from everypair.estimators._interactions import PairShape
from everypair.estimators._shapes import OTHER, Shape


def sql_of(model: Any) -> str:
    """The constant and one ``CASE`` per column and pair, one per line."""
    parts = [repr(float(model.intercept_[0]))]
    for shape, curve in zip(model.shapes_, model.curves_, strict=True):
        parts.append(_case(shape, [repr(float(value)) for value in curve]))
    for pair, values in zip(model.pairs_, model.pair_values_, strict=True):
        parts.append(_case_of_pair(model.shapes_, pair, values))
    return "\n  + ".join(parts)


def _case(shape: Shape, values: list[str]) -> str:
    """The value of the row's bin. Neighbouring bins of one value are one line."""
    name = '"' + shape.name.replace('"', '""') + '"'
    lines = [f"WHEN {name} IS NULL THEN {values[-1]}"]
    if shape.kind == "category":
        number = {category: k for k, category in enumerate(shape.categories)}
        for category, k in number.items():
            if category != OTHER:
                text = "'" + category.replace("'", "''") + "'"
                lines.append(f"WHEN CAST({name} AS VARCHAR) = {text} THEN {values[k]}")
        last = values[number.get(OTHER, -1)]
    else:
        if set(shape.centres.tolist()) <= {0.0, 1.0}:
            name = f"CAST({name} AS DOUBLE)"  # DuckDB compares booleans with no number
        for k, edge in enumerate(shape.edges):
            if values[k] != values[k + 1]:
                lines.append(f"WHEN {name} <= {float(edge)!r} THEN {values[k]}")
        last = values[-2]
    return f"CASE {' '.join(lines)} ELSE {last} END"


def _case_of_pair(shapes: list[Shape], pair: PairShape, values: Any) -> str:
    """A ``CASE`` over the groups of the second column inside each group of the first."""
    height, width = pair.sides
    table = np.reshape(values, (height, width))
    inner = [
        _case(shapes[pair.second], [repr(float(row[g])) for g in pair.group_of_second])
        for row in table
    ]
    return _case(shapes[pair.first], [inner[group] for group in pair.group_of_first])
