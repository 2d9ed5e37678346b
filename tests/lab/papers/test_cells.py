"""What a cell found is kept whole, an interrupted run goes on, other settings begin anew."""

from __future__ import annotations

import json
import types

import pytest

from lab.papers import TABLES, reproduce
from lab.papers.kept import Store, environment, grouped, run_cells, write_atomically
from lab.papers.reproduce import run


def test_an_interrupted_run_continues_where_it_stopped(tmp_path):
    wanted = [{"k": k} for k in range(5)]
    asked = []

    def work(params):
        asked.append(params["k"])
        if params["k"] == 3 and asked.count(3) == 1:
            raise KeyboardInterrupt
        return {"square": params["k"] ** 2}

    path = tmp_path / "table.json"
    with pytest.raises(KeyboardInterrupt):
        run_cells(work, wanted, Store(path, {"a": 1}), what="test")
    assert len(Store(path, {"a": 1}).done(wanted)) == 3
    run_cells(work, wanted, Store(path, {"a": 1}), what="test")
    assert asked == [0, 1, 2, 3, 3, 4]
    found = Store(path, {"a": 1}).done(wanted)
    assert [cell["square"] for _, cell in found] == [0, 1, 4, 9, 16]


def test_cells_of_other_settings_do_not_count(tmp_path):
    path = tmp_path / "table.json"
    store = Store(path, {"folds": 5, "values": (1, 2)})
    store.add({"k": 0}, {"v": 1})
    assert {"k": 0} in Store(path, {"folds": 5, "values": (1, 2)})
    assert {"k": 0} not in Store(path, {"folds": 10, "values": (1, 2)})


def test_cells_of_other_settings_are_put_aside_and_not_lost(tmp_path):
    path = tmp_path / "table.json"
    Store(path, {"folds": 5}).add({"k": 0}, {"v": 1})
    before = path.read_text()
    other = Store(path, {"folds": 10})
    assert path.read_text() == before
    other.add({"k": 0}, {"v": 2})
    other.add({"k": 1}, {"v": 3})
    assert len(Store(path, {"folds": 10}).cells) == 2
    # Back and forth again: each finds its own, and what was put aside is as it was.
    back = Store(path, {"folds": 5})
    assert back[{"k": 0}] == {"v": 1}
    assert before in [file.read_text() for file in tmp_path.iterdir()]
    back.add({"k": 2}, {"v": 4})
    assert len(Store(path, {"folds": 5}).cells) == 2
    assert len(Store(path, {"folds": 10}).cells) == 2


def test_a_page_can_be_made_where_the_settings_would_be_others(tmp_path, monkeypatch):
    experiment = types.SimpleNamespace(
        __doc__="Squares.",
        settings=lambda fast: {"baselines": "many"},
        cells=lambda fast: [{"k": 1}],
        work=lambda params: {"square": 1},
        write=lambda page, store, done: page.add("Squares", str(len(done))),
    )
    monkeypatch.setattr("lab.papers.kept.environment", lambda: "everypair 0.0")
    first = run(experiment, "squares", False, tmp_path, quiet=True).read_text()
    assert "Made with everypair 0.0." in first
    monkeypatch.setattr("lab.papers.kept.environment", lambda: "everypair 9.9")
    experiment.settings = lambda fast: {"baselines": "few"}
    assert run(experiment, "squares", False, tmp_path, render_only=True).read_text() == first


def test_a_failed_write_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "kept.json"
    write_atomically(path, "old")
    monkeypatch.setattr("os.replace", lambda *_: (_ for _ in ()).throw(OSError("disk")))
    with pytest.raises(OSError, match="disk"):
        write_atomically(path, "new")
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_the_file_of_cells_is_plain_json_with_a_line_a_cell(tmp_path):
    store = Store(tmp_path / "t.json", {"a": 1})
    store.add({"k": 1}, {"v": [1, 2]})
    store.add({"k": 2}, {"v": []})
    kept = json.loads((tmp_path / "t.json").read_text())
    assert kept == {
        "settings": {"a": 1},
        "made with": [environment()],
        "cells": {'{"k": 1}': {"v": [1, 2]}, '{"k": 2}': {"v": []}},
    }
    assert len((tmp_path / "t.json").read_text().splitlines()) == 6


def test_cells_are_grouped_by_their_parameters():
    done = [({"a": 1, "b": 2}, {"v": 1}), ({"a": 1, "b": 3}, {"v": 2})]
    assert grouped(done, "a") == {1: [{"v": 1}, {"v": 2}]}
    assert grouped(done, "a", "b") == {(1, 2): [{"v": 1}], (1, 3): [{"v": 2}]}


def test_a_page_says_how_much_of_the_run_is_finished(tmp_path):
    experiment = types.SimpleNamespace(
        __doc__="Squares.",
        settings=lambda fast: {"power": 2},
        cells=lambda fast: [{"k": k} for k in range(2 if fast else 4)],
        work=lambda params: {"square": params["k"] ** 2},
        write=lambda page, store, done: page.add("Squares", str([f["square"] for _, f in done])),
    )
    path = run(experiment, "squares", True, tmp_path)
    assert path == tmp_path / "fast" / "squares.md"
    text = path.read_text()
    assert "[0, 1]" in text
    assert "2 of 2 cells done" in text
    assert "not finished" not in text
    with pytest.raises(ValueError, match="has no finished cell of this table"):
        run(experiment, "squares", False, tmp_path, render_only=True)
    Store(tmp_path / "squares.json", {"power": 2}).add(
        {"k": 1}, {"square": 1, "seconds": 0.0, "processor": 0.0}
    )
    text = run(experiment, "squares", False, tmp_path, render_only=True).read_text()
    assert "1 of 4 cells done" in text
    assert "not finished" in text


def test_an_unknown_table_lists_the_known_ones():
    with pytest.raises(ValueError, match="table='iris' is not known: use one of auc-rls, cpauc"):
        reproduce("iris")
    assert len(TABLES) == 6
