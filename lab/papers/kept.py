"""An experiment is cut into cells; what a cell found is kept, so a run may be interrupted."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_limits

from everypair import __version__
from everypair.app.files.output import written_whole
from everypair.estimators._search import with_progress

Params = dict[str, Any]
Found = dict[str, Any]


TIMES = ("seconds", "processor")


PACKAGES = ("numpy", "scipy", "scikit-learn", "numba", "xgboost-cpu", "xgboost", "lightgbm")


@cache
def environment() -> str:
    """The versions that cells are made with here."""
    found = []
    for name in PACKAGES:
        try:
            found.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            continue
    return f"everypair {__version__}, Python {platform.python_version()}, {', '.join(found)}"


def key_of(params: Params) -> str:
    """What a cell is known by: all that it was given."""
    return json.dumps(params, sort_keys=True)


class Store:
    """A JSON file of finished cells, replaced whole after each: it is never half written.

    Cells of other settings are of another experiment: the first new cell puts their file aside,
    under a name that tells settings apart, and a store of those settings finds it there. With
    ``as_kept`` the settings are the file's, for a page from cells that another machine has run.
    """

    def __init__(self, path: Path, settings: Params, *, as_kept: bool = False):
        self.path, self.settings = path, json.loads(json.dumps(settings))
        self.cells: dict[str, Found] = {}
        self.made_with: list[str] = []
        self._other: Path | None = None
        kept = json.loads(path.read_text()) if path.exists() else None
        if kept is not None and as_kept:
            self.settings = kept["settings"]
        if kept is not None and kept["settings"] != self.settings:
            self._other = self._aside(kept["settings"])
            aside = self._aside(self.settings)
            kept = json.loads(aside.read_text()) if aside.exists() else None
        if kept is not None:
            self.cells, self.made_with = kept["cells"], kept.get("made with", [])

    def _aside(self, settings: Params) -> Path:
        digest = hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()
        return self.path.with_suffix(f".{digest[:8]}.json")

    def add(self, params: Params, found: Found) -> None:
        self.cells[key_of(params)] = found
        if environment() not in self.made_with:
            self.made_with.append(environment())
        if self._other is not None:
            os.replace(self.path, self._other)
            self._other = None
        write_atomically(self.path, self._text())

    def _text(self) -> str:
        # A line a cell: a change of one is a change of one line.
        lines = ",\n".join(
            f"{json.dumps(key)}: {json.dumps(found)}" for key, found in sorted(self.cells.items())
        )
        return (
            f'{{"settings": {json.dumps(self.settings)},\n'
            f'"made with": {json.dumps(self.made_with)},\n"cells": {{\n{lines}\n}}}}\n'
        )

    def __getitem__(self, params: Params) -> Found:
        return self.cells[key_of(params)]

    def __contains__(self, params: Params) -> bool:
        return key_of(params) in self.cells

    def done(self, wanted: Sequence[Params]) -> list[tuple[Params, Found]]:
        """The finished ones of these cells."""
        return [(params, self[params]) for params in wanted if params in self]


def grouped(done: Sequence[tuple[Params, Found]], *names: str) -> dict[Any, list[Found]]:
    """What the cells found by the values of some of their parameters (a tuple if several)."""
    out: dict[Any, list[Found]] = {}
    for params, found in done:
        values = tuple(params[name] for name in names)
        out.setdefault(values if len(names) > 1 else values[0], []).append(found)
    return out


def results_of(found: Found) -> Found:
    """Without the times that `run_cells` adds."""
    return {name: value for name, value in found.items() if name not in TIMES}


def of_part(done: Sequence[tuple[Params, Found]], part: str) -> list[tuple[Params, Found]]:
    """The cells of one part of an experiment."""
    return [(params, found) for params, found in done if params.get("part") == part]


def write_atomically(path: Path, text: str) -> None:
    """A reader finds the old content or the new one; a missing folder is made."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with written_whole(path) as file:
        file.write(text.encode())


def run_cells(
    work: Callable[[Params], Found],
    wanted: Sequence[Params],
    store: Store,
    *,
    what: str,
    quiet: bool = False,
) -> None:
    """Work off the cells that are not in the store, with a bar on stderr.

    On one thread: times compare, and two tables may run side by side.
    """
    missing = [params for params in wanted if params not in store]

    def results() -> Iterator[None]:
        for params in missing:
            began, processor = time.perf_counter(), time.process_time()
            with warnings.catch_warnings(), threadpool_limits(1):
                # Best over a grid: its far corners may end at max_iter, and do not win.
                warnings.simplefilter("ignore")
                found = work(params)
            found["seconds"] = round(time.perf_counter() - began, 3)
            found["processor"] = round(time.process_time() - processor, 3)
            store.add(params, found)
            yield

    for _ in with_progress(results(), len(missing), what, verbose=int(not quiet)):
        pass
