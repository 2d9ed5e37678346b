"""The binary tasks of the comparisons: the public data sets, one class against the rest."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from everypair.data.fetchers import fetch

BINARY: dict[str, Any] = {
    "a9a": 1, "w8a": 1, "adult": ">50K", "pima": 1, "credit": "+", "ionosphere": "b",
    "spectf": 0, "wdbc": "M", "wpbc": "R",
}  # fmt: skip
"""The positive label of the data sets with two classes."""

ONE_AGAINST_THE_REST: dict[str, tuple[Any, ...]] = {
    "covtype": (1, 2, 3, 5, 6, 7),
    "kddcup99": ("probe", "r2l"),
    "mnist": (0, 5, 8),
    "satimage": (1, 2, 3, 4, 5, 7),
    "optdigits": (1, 8, 9),
    "letter": tuple("ABEGHKOS"),
}

KDD_GROUPS = {
    "r2l": (
        "ftp_write", "guess_passwd", "imap", "multihop", "phf", "spy", "warezclient", "warezmaster"
    ),
    "probe": ("ipsweep", "nmap", "portsweep", "satan"),
}  # fmt: skip
"""Attacks of a kind, after the contest's own list."""


class Task(NamedTuple):
    name: str
    X: Any
    positive: NDArray[np.bool_]


def names() -> list[str]:
    """Of all tasks: a data set's name, or ``"covtype 5"`` for one class against the rest."""
    many = [f"{data} {label}" for data, labels in ONE_AGAINST_THE_REST.items() for label in labels]
    return [*BINARY, *many]


def tasks(wanted: Iterable[str] | None = None) -> Iterator[Task]:
    """The tasks named (all when None), in the order of `names`."""
    chosen = set(names() if wanted is None else wanted)
    if unknown := chosen - set(names()):
        raise ValueError(f"{sorted(unknown)} are no tasks: use some of {', '.join(names())}.")
    for name in names():
        if name in chosen:
            yield task(name)


def task(name: str) -> Task:
    """One task by name."""
    if name in BINARY:
        X, y, _ = fetch(name)
        return Task(name, X, y == BINARY[name])
    data, label = name.split(" ", 1)
    X, y, _ = fetch(data)
    if data in {"letter", "kddcup99"}:
        return Task(name, X, np.isin(y, KDD_GROUPS.get(label, (label,))))
    return Task(name, X, y == int(label))
