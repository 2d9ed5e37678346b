"""The binary tasks of the comparisons: the public data sets, one class against the rest."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from string import ascii_uppercase
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lab.data.fetchers import fetch

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

ALSO: dict[str, tuple[Any, ...]] = {
    "covtype": (4,),
    "letter": tuple(sorted(set(ascii_uppercase) - set("ABEGHKOS"))),
    "reuters21578": (
        "earn", "acq", "money-fx", "grain", "crude", "trade", "interest", "ship", "wheat", "corn"
    ),
}  # fmt: skip
"""More of the same, mostly with few positives, where many tasks are wanted."""

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


def names(also: bool = False) -> list[str]:
    """Of the tasks: a data set's name, or ``"covtype 5"`` for one class against the rest."""
    tables = (ONE_AGAINST_THE_REST, ALSO) if also else (ONE_AGAINST_THE_REST,)
    return [
        *BINARY,
        *(f"{data} {label}" for t in tables for data, labels in t.items() for label in labels),
    ]


def tasks(wanted: Iterable[str] | None = None) -> Iterator[Task]:
    """The tasks named (those of `names` when None), in the order of `names`."""
    known = names(also=True)
    chosen = set(names() if wanted is None else wanted)
    if unknown := chosen - set(known):
        raise ValueError(f"{sorted(unknown)} are no tasks: use some of {', '.join(known)}.")
    for name in known:
        if name in chosen:
            yield task(name)


def task(name: str) -> Task:
    """One task by name."""
    if name in BINARY:
        X, y, _ = fetch(name)
        return Task(name, X, y == BINARY[name])
    data, label = name.split(" ", 1)
    if data == "reuters21578":
        X, topics = _stories_with_topics()
        return Task(name, X, np.array([label in of_story for of_story in topics]))
    X, y, _ = fetch(data)
    if data in {"letter", "kddcup99"}:
        return Task(name, X, np.isin(y, KDD_GROUPS.get(label, (label,))))
    return Task(name, X, y == int(label))


@cache
def _stories_with_topics() -> tuple[Any, list[frozenset[str]]]:
    """Tf-idf of the words in five stories or more, and the topics of each story."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    from lab.data.reuters import stories

    found = stories()
    rows = [k for k, topics in enumerate(found.topics) if topics]
    words = TfidfVectorizer(min_df=5, sublinear_tf=True, token_pattern=r"[a-z]{2,}")
    X = words.fit_transform([found.texts[k] for k in rows]).tocsr()
    return X, [found.topics[k] for k in rows]
