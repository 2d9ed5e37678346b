"""The weights of a linear model by column, features that are one shown as one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from everypair.app.explain.column_features import Block

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Line:
    """One or several features with what they weigh together; None where another line has it."""

    name: str
    weight: float | None


def lines_of(
    block: Block, names: Sequence[str], coef: Array, same: Iterable[Sequence[int]]
) -> list[Line]:
    """The features of a column, largest weight first.

    Features that are equal in every row (``same``) are one: their weights add up, and the column of
    the first has the line. Of two categories, one is 1 where the other is 0: the line has the
    difference, which is what the second has over the first.
    """
    if block.complementary:
        first, second = block.features
        weight = float(coef[second] - coef[first])
        return [Line(f"{names[second]} (not {block.levels[0]})", weight)]
    group_of = {k: group for group in same for k in group}
    lines = []
    for k in block.features.tolist():
        group = group_of.get(k, [k])
        if k != group[0] and group[0] in block.features:
            continue  # told in this column already
        if k != group[0]:
            lines.append(Line(f"{names[k]}: the same as {names[group[0]]}", None))
            continue
        name = " = ".join(names[other] for other in group)
        lines.append(Line(name, float(sum(coef[other] for other in group))))
    return sorted(lines, key=lambda line: -abs(line.weight or 0.0))
