"""Model files: whole or not at all, and never code."""

from __future__ import annotations

import io
import json
import zipfile

import numpy as np
import pytest

pytest.importorskip("pyarrow")
skops_io = pytest.importorskip("skops.io")

from everypair.comparison.models import CANDIDATES  # noqa: E402
from everypair.comparison.search import fit_candidate  # noqa: E402
from everypair.data.problems import DataError  # noqa: E402
from everypair.model_files import (  # noqa: E402
    FORMAT,
    SavedModel,
    load_model,
    save_model,
    written_whole,
)
from everypair.tables import TableEncoder  # noqa: E402

RNG = np.random.default_rng(0)
TABLE = {"x": RNG.normal(size=60), "z": RNG.normal(size=60), "c": ["u", "v", "w"] * 20}
Y = TABLE["x"] + RNG.normal(size=60) > 0.5


def saved_model(name="auc", **changes):
    encoder = TableEncoder().fit(TABLE)
    fitted = fit_candidate(CANDIDATES[name], encoder.transform(TABLE), Y)
    known = {
        "encoder": encoder, "estimator": fitted.model, "method": name, "settings": fitted.settings,
        "target": "y", "positive": "yes", "negative": "no", "n_rows": 60,
        "n_positive": int(Y.sum()), "train_auc": 0.9, "versions": {"everypair": "0.1.0"},
        "created": "2026-01-01", "source": "t.csv", "notes": [],
    }  # fmt: skip
    return SavedModel(**{**known, **changes})


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "m.skops"
    save_model(saved_model("auc-rls"), path)
    return path


@pytest.mark.parametrize("name", CANDIDATES)
def test_every_method_scores_the_same_after_loading(name, tmp_path):
    model = saved_model(name)
    save_model(model, tmp_path / "m.skops")
    loaded = load_model(tmp_path / "m.skops")
    np.testing.assert_allclose(loaded.score(TABLE), model.score(TABLE), rtol=1e-9, atol=1e-12)
    assert loaded.settings == model.settings
    assert loaded.features() == model.features()
    assert [path.name for path in tmp_path.iterdir()] == ["m.skops"]


def test_truncated_file_is_refused(file, tmp_path):
    whole = file.read_bytes()
    for share in (0.0, 0.3, 0.9, 0.999):
        (tmp_path / "cut.skops").write_bytes(whole[: int(share * len(whole))])
        with pytest.raises(DataError, match=r"cut\.skops: .*(not a model|damaged)"):
            load_model(tmp_path / "cut.skops")


def test_flipped_bytes_are_noticed(file, tmp_path):
    """Every part of the archive carries a checksum."""
    whole = bytearray(file.read_bytes())
    for place in range(60, len(whole) - 200, max(1, len(whole) // 25)):
        changed = whole.copy()
        changed[place] ^= 0xFF
        (tmp_path / "flipped.skops").write_bytes(changed)
        try:
            loaded = load_model(tmp_path / "flipped.skops")
        except DataError:
            continue
        # A byte of the archive's padding or of a date: the content is untouched.
        np.testing.assert_array_equal(loaded.score(TABLE), load_model(file).score(TABLE))


def test_foreign_files_are_refused(tmp_path):
    with zipfile.ZipFile(tmp_path / "other.zip", "w") as archive:
        archive.writestr("a.txt", "hello")
    skops_io.dump({"format": "something else"}, tmp_path / "foreign.skops")
    (tmp_path / "text.skops").write_text("hello")
    for name in ("other.zip", "foreign.skops", "text.skops"):
        with pytest.raises(DataError, match="not a model of everypair"):
            load_model(tmp_path / name)


def test_another_format_version_is_named(tmp_path):
    content = {"format": FORMAT, "format_version": 99, "versions": {"everypair": "7.0"}}
    skops_io.dump(content, tmp_path / "new.skops")
    with pytest.raises(DataError, match=r"format 99 \(everypair 7\.0\)"):
        load_model(tmp_path / "new.skops")


CHANGES = {
    "a word for a number": {"used_kinds_": np.array(["category", "number", "category"])},
    "a number for a word": {"used_kinds_": np.array(["number"] * 3)},
    "no kind at all": {"used_kinds_": np.array(["number", "jazz", "category"])},
    "too few kinds": {"used_kinds_": np.array(["number"])},
    "kinds of another type": {"used_kinds_": 7},
    "too few means": {"mean_": np.zeros(1)},
    "a category too many": {"categories_": {"c": ["u", "v", "w", "x"]}},
    "a part that is missing": {"scale_": None},
}


@pytest.mark.parametrize("change", CHANGES)
def test_an_encoder_whose_parts_do_not_fit_is_refused(change, tmp_path):
    model = saved_model("auc-rls")
    for name, value in CHANGES[change].items():
        setattr(model.encoder, name, value)
    save_model(model, tmp_path / "m.skops")
    with pytest.raises(DataError, match=r"m\.skops: the model file was changed"):
        load_model(tmp_path / "m.skops")


@pytest.mark.filterwarnings("error")
def test_scores_that_overflow_are_refused_by_the_features_name():
    model = saved_model("auc-rls")
    model.estimator.coef_ = model.estimator.coef_ * 1e10
    table = {"x": [1e305], "z": [0.0], "c": ["u"]}
    with pytest.raises(DataError, match="column 'x': some values are too large"):
        model.score(table)


class Ran(Exception):
    pass


class Trap:
    def __reduce__(self):
        return (print, ("this would have run",))

    def __setstate__(self, state):
        raise Ran


def test_strange_types_are_refused_unread(tmp_path):
    trap = Trap()
    trap.x = 1
    skops_io.dump({"format": FORMAT, "format_version": 1, "x": trap}, tmp_path / "trap.skops")
    with pytest.raises(DataError, match="Trap"):
        load_model(tmp_path / "trap.skops")


def test_tampered_description_runs_nothing(file, tmp_path, capfd):
    """The JSON of a real model edited to name functions of the system."""
    for module, name in (("os", "system"), ("builtins", "eval"), ("subprocess", "Popen")):
        out = io.BytesIO()
        with zipfile.ZipFile(file) as old, zipfile.ZipFile(out, "w") as new:
            for part in old.namelist():
                content = old.read(part)
                if part == "schema.json":
                    text = json.dumps(json.loads(content))
                    text = text.replace('"everypair.estimators.rls_cv"', f'"{module}"')
                    content = text.replace('"AUCRLSCV"', f'"{name}"').encode()
                new.writestr(part, content)
        (tmp_path / "t.skops").write_bytes(out.getvalue())
        with pytest.raises(DataError, match=f"{module}.{name}|damaged"):
            load_model(tmp_path / "t.skops")


def test_interrupted_writing_keeps_the_old_file(tmp_path):
    path = tmp_path / "m.skops"
    path.write_text("old")

    def interrupted():
        with written_whole(path) as file:
            file.write(b"half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["m.skops"]


def test_a_boosting_whose_nodes_point_astray_is_refused(tmp_path):
    from sklearn.ensemble import HistGradientBoostingClassifier

    from everypair.model_files import _trees_are_trees

    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 3))
    model = HistGradientBoostingClassifier(max_iter=3).fit(X, X[:, 0] > 0)
    assert _trees_are_trees(model)
    for value in (0, 2**31):
        nodes = model._predictors[0][0].nodes
        before = nodes["left"][0]
        nodes["left"][0] = value
        assert not _trees_are_trees(model)
        nodes["left"][0] = before


def test_links_stay_links_and_pipes_stay_pipes(tmp_path):
    import os
    import stat
    import threading

    from everypair.model_files import written_whole

    real, link, pipe = (tmp_path / name for name in ("real", "link", "pipe"))
    real.write_text("old")
    link.symlink_to(real)
    with written_whole(link) as file:
        file.write(b"new")
    assert link.is_symlink()
    assert real.read_text() == "new"
    os.mkfifo(pipe)
    found = []
    reader = threading.Thread(target=lambda: found.append(pipe.read_bytes()))
    reader.start()
    with written_whole(pipe) as file:
        file.write(b"through")
    reader.join(5)
    assert found == [b"through"]
    assert stat.S_ISFIFO(pipe.stat().st_mode)
