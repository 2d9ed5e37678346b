"""Model files: every model that can be fitted, whole or not at all, and never code."""

from __future__ import annotations

import io
import itertools
import json
import warnings
import zipfile

import numpy as np
import pytest

pytest.importorskip("pyarrow")

import model_seeds as seeds

import everypair
from everypair.app.comparison.models import CANDIDATES, measure_opt
from everypair.app.comparison.search import fit_candidate
from everypair.app.comparison.typed_measure import parse_measure
from everypair.app.encode import encoder_for
from everypair.app.files.problems import DataError
from everypair.app.model_file import parts as model_parts
from everypair.app.model_file.store import load_model, packed, save_model
from everypair.measures import MEASURES, FBeta

DENSE_ONLY = ("AUCAdditive", "AUCAdditiveCV", "AUCTree", "CPAUC", "RankBoost")
TYPED = ("f1", "f2", "jaccard", "gmean", "mcc", "informedness", "cost=1:5", "recall@fpr=0.2",
         "fpr@recall=0.7", "precision@recall=0.5", "recall@precision=0.7", "precision@top=20",
         "recall@top=1p", "pauc@fpr=0.3", "average-precision")  # fmt: skip
OF_EACH_KIND = ("AUCClassifier", "AUCRLS", "RankOpt", "ROCSVM", "MeasureSVM")
"""Their files of sparse rows are in the quick tests."""
ESTIMATORS = [name for name in everypair.__all__ if name[0].isupper()]


@pytest.fixture(scope="module")
def content():
    return packed(seeds.fitted(everypair.AUCRLS()))


@pytest.fixture
def refused(tmp_path):
    """Writes the content of a file; loading it must fail with one sentence, which is returned."""

    def call(content):
        path = tmp_path / "bad.everypair"
        path.write_bytes(content)
        with pytest.raises(DataError) as trouble:
            load_model(path)
        sentence = str(trouble.value)
        assert sentence.startswith(f"{path}: ")
        assert "\n" not in sentence
        return sentence

    return call


def scores_alike(model, table, path):
    save_model(model, path, table)
    loaded = load_model(path)
    np.testing.assert_allclose(loaded.score(table), model.score(table), rtol=1e-12, atol=1e-14)
    assert loaded.features() == model.features()
    assert loaded.settings == model.settings
    return loaded


# --- what is written can be read ----------------------------------------------------------


QUICK = ("auc", "auc-rls", "auc-l1", "auc-rls-rbf", "logistic")
"""Methods that are fitted in no time: they have every table in the quick tests."""


@pytest.mark.parametrize(
    ("name", "table"),
    [
        pytest.param(n, t, marks=[] if t == "dense" or n in QUICK else [pytest.mark.slow])
        for n, c in CANDIDATES.items()
        for t in seeds.TABLES
        if c.sparse or t == "dense"
    ],
)
def test_every_method_scores_the_same_after_loading(name, table, tmp_path):
    rows = seeds.TABLES[table]
    encoder = encoder_for(rows).fit(rows)
    X = encoder.transform(rows)
    made = fit_candidate(CANDIDATES[name], X, seeds.Y)
    model = seeds.saved(made.model, rows, encoder, settings=made.settings)
    scores_alike(model, rows, tmp_path / "m.everypair")
    assert [path.name for path in tmp_path.iterdir()] == ["m.everypair"]


MEASURE_OF_TABLE = [("f1", "dense"), ("recall@fpr=0.2", "svmlight"), ("precision@top=20", "wide")]


@pytest.mark.parametrize(
    ("typed", "table"),
    [
        pytest.param(m, t, marks=[] if (m, t) in MEASURE_OF_TABLE else [pytest.mark.slow])
        for m, t in itertools.product(dict(MEASURE_OF_TABLE), seeds.TABLES)
    ],
)
def test_measure_opt_scores_the_same_after_loading(typed, table, tmp_path):
    rows = seeds.TABLES[table]
    encoder = encoder_for(rows).fit(rows)
    made = fit_candidate(measure_opt(parse_measure(typed)), encoder.transform(rows), seeds.Y)
    model = seeds.saved(made.model, rows, encoder, settings=made.settings, measure=typed)
    assert scores_alike(model, rows, tmp_path / "m.everypair").measure == typed


def test_a_cut_for_a_measure_is_kept_and_files_without_one_are_as_before(tmp_path):
    plain = seeds.fitted(everypair.AUCRLS())
    cut = seeds.fitted(everypair.AUCRLS(), measure="f1", cut=0.25)
    loaded = scores_alike(cut, seeds.DENSE, tmp_path / "m.everypair")
    assert (loaded.measure, loaded.cut) == ("f1", 0.25)
    np.testing.assert_allclose(loaded.score(seeds.DENSE), plain.score(seeds.DENSE) - 0.25)
    parts = seeds.parts_of(packed(plain))[0]["model"]
    assert not {"measure", "cut"} & parts.keys()


@pytest.mark.parametrize(
    ("name", "table"),
    [
        pytest.param(n, t, marks=[] if t == "dense" or n in OF_EACH_KIND else [pytest.mark.slow])
        for n in ESTIMATORS
        for t in ("dense", "svmlight")
        if n not in DENSE_ONLY or t == "dense"
    ],
)
def test_every_public_estimator_can_be_saved(name, table, tmp_path):
    """With each kernel that it has; `MeasureOpt` with each measure."""
    cls = getattr(everypair, name)
    settings = [{}]
    if name == "AUCClassifierCV":
        settings = [{"penalty": penalty, "n_alphas": 2, "cv": 2} for penalty in ("l2", "l1")]
    if "kernel" in cls._get_param_names():
        settings = [{"kernel": kernel} for kernel in ("linear", "rbf", "polynomial")]
    if name.startswith("MeasureOpt"):
        typed = TYPED if (name, table) == ("MeasureOpt", "dense") else TYPED[6:9]
        settings += [{"measure": m.name, **m.options} for m in map(parse_measure, typed)]
    elif "measure" in cls._get_param_names():
        settings += [{"measure": measure, "k": 5} for measure in MEASURES]
    if "measure" in cls._get_param_names():
        settings.append({"measure": FBeta(2.0)})
    folds = {"cv": 2} if name in ("MeasureOpt", "MeasureOptCV", "MeasureSVMCV") else {}
    if name.startswith("MeasureOpt"):
        folds["max_iter"] = 5
    for given in settings:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = seeds.fitted(cls(**given, **folds), seeds.TABLES[table])
        loaded = scores_alike(model, seeds.TABLES[table], tmp_path / "m.everypair")
        assert vars(loaded.estimator).keys() == vars(model.estimator).keys()


CALIBRATIONS = ("intercept", "sigmoid", "beta", "isotonic")


@pytest.mark.parametrize("calibration", CALIBRATIONS)
def test_probabilities_are_the_same_after_loading(calibration, tmp_path):
    model = seeds.fitted(everypair.AUCRLS(calibration=calibration, prior=0.2))
    loaded = scores_alike(model, seeds.DENSE, tmp_path / "m.everypair")
    assert loaded.has_probabilities
    found = loaded.probability(seeds.DENSE)
    np.testing.assert_allclose(found, model.probability(seeds.DENSE), rtol=1e-12)
    assert np.all((found > 0) & (found < 1))
    assert not seeds.fitted(everypair.AUCRLS()).has_probabilities


UNCALIBRATED = {
    "a slope below zero": ("sigmoid", {"low": -1.0}),
    "a slope of zero": ("beta", {"high": 0.0}),
    "a scale of no number": ("sigmoid", {"scale": float("nan")}),
    "a centre that is text": ("sigmoid", {"centre": "0"}),
    "an intercept without end": ("intercept", {"intercept": float("inf")}),
    "knots that fall": ("isotonic", {"knots": lambda a: a[::-1].copy()}),
    "a knot too many": ("isotonic", {"knots": lambda a: np.append(a, a[-1] + 1)}),
    "no knot": ("isotonic", {"knots": lambda a: a[:0], "heights": lambda a: a[:0]}),
    "a knot of no number": ("isotonic", {"knots": lambda a: np.append(a[:-1], np.nan)}),
    "a probability of one": ("isotonic", {"heights": lambda a: np.append(a[:-1], 1.0)}),
    "probabilities that fall": ("isotonic", {"heights": lambda a: a[::-1].copy()}),
    "probabilities in two columns": ("isotonic", {"heights": lambda a: a[:, None]}),
    "probabilities as whole numbers": ("isotonic", {"heights": lambda a: a.astype(int)}),
}


@pytest.mark.parametrize("change", UNCALIBRATED)
def test_a_calibration_that_does_not_rise_is_refused(change, refused):
    calibration, changes = UNCALIBRATED[change]
    model = seeds.fitted(everypair.AUCRLS(calibration=calibration))
    for name, value in changes.items():
        of = vars(model.estimator.calibrator_)
        of[name] = value(of[name]) if callable(value) else value
    assert "not a map that rises from 0 to 1" in refused(packed(model))


def test_a_calibrator_of_another_kind_is_refused(refused):
    model = seeds.fitted(everypair.AUCRLS(calibration="sigmoid"))
    model.estimator.calibrator_ = np.zeros(3)
    assert "its parts are not those of a model" in refused(packed(model))


def test_labels_and_numbers_keep_their_types(tmp_path):
    labels = np.where(seeds.Y, "ja", "nein")
    for y in (labels, labels.astype(object), seeds.Y.astype(int), seeds.Y.astype(np.float32)):
        encoder = encoder_for(seeds.DENSE).fit(seeds.DENSE)
        X = encoder.transform(seeds.DENSE).astype(np.float32)
        estimator = everypair.AUCRLS().fit(X, y)
        estimator.extra_ = np.float32(1 / 3)
        save_model(seeds.saved(estimator), tmp_path / "m")
        loaded = load_model(tmp_path / "m").estimator
        np.testing.assert_array_equal(loaded.predict(X), estimator.predict(X))
        assert loaded.extra_ == estimator.extra_
        assert loaded.extra_.dtype == np.float32


def test_the_encoders_attributes_are_listed_one_by_one():
    for rows in (seeds.DENSE, seeds.SPARSE):
        encoder = encoder_for(rows).fit(rows)
        listed = model_parts.ENCODERS[type(encoder).__name__]
        assert vars(encoder).keys() == listed.keys()
        assert all(model_parts.is_a(getattr(encoder, name), what) for name, what in listed.items())


def test_every_class_of_the_list_exists_and_is_where_it_says():
    for name in model_parts.CLASSES:
        assert model_parts._class(name).__name__ == name


def test_what_cannot_be_saved_is_said(tmp_path):
    from sklearn.ensemble import HistGradientBoostingClassifier

    def linear(X, Z):
        return X @ Z.T

    X = encoder_for(seeds.DENSE).fit(seeds.DENSE).transform(seeds.DENSE)
    cases = {
        "kernel is linear, which a model file cannot hold": everypair.AUCRLS(kernel=linear),
        "kernel='precomputed' needs the kernel": everypair.AUCRLS(kernel="precomputed"),
        "measure is .*which a model file cannot hold": everypair.MeasureSVM(
            lambda a, b, c, d: a / (a + c)
        ),
    }
    for said, estimator in cases.items():
        rows = X @ X.T if estimator.kernel == "precomputed" else X
        model = seeds.saved(estimator.fit(rows, seeds.Y))
        with pytest.raises(DataError, match=f"the model cannot be saved: {said}.*[^.][.]$"):
            save_model(model, tmp_path / "m.everypair")
    by_category = HistGradientBoostingClassifier(max_iter=2, categorical_features=[1])
    model = seeds.saved(by_category.fit(np.abs(X).round(), seeds.Y))
    with pytest.raises(DataError, match="cannot be saved: only a boosting of numbers"):
        save_model(model, tmp_path / "m.everypair")
    assert not list(tmp_path.iterdir())


def test_a_model_that_scores_otherwise_once_saved_is_not_written(tmp_path, monkeypatch):
    from everypair.app.model_file import store as model_files

    model = seeds.fitted(everypair.AUCRLS())
    other = seeds.fitted(everypair.AUCRLS(alpha=0.1))
    monkeypatch.setattr(model_files, "_read", lambda file: other)
    with pytest.raises(RuntimeError, match="other scores"):
        save_model(model, tmp_path / "m.everypair", seeds.DENSE)
    assert not list(tmp_path.iterdir())


@pytest.mark.filterwarnings("error")
def test_scores_that_overflow_are_refused_by_the_features_name():
    model = seeds.fitted(everypair.AUCRLS())
    model.estimator.coef_ = model.estimator.coef_ * 1e10
    with pytest.raises(DataError, match="column 'x': some values are too large"):
        model.score({"x": [1e305], "z": [0.0], "c": ["u"]})


# --- what is damaged or changed is refused ------------------------------------------------


def test_truncated_file_is_refused(content, refused):
    for share in (0.0, 0.3, 0.9, 0.999):
        assert "not a model" in refused(content[: int(share * len(content))])


def test_flipped_bytes_are_noticed(content, tmp_path):
    """Every part of the archive carries a checksum."""
    path = tmp_path / "flipped.everypair"
    path.write_bytes(content)
    expected = load_model(path).score(seeds.DENSE)
    for place in range(0, len(content), max(1, len(content) // 150)):
        changed = bytearray(content)
        changed[place] ^= 0xFF
        path.write_bytes(changed)
        try:
            loaded = load_model(path)
        except DataError:
            continue
        # A byte of the archive's padding or of a date: the content is untouched.
        np.testing.assert_array_equal(loaded.score(seeds.DENSE), expected)


def test_foreign_files_are_refused(refused):
    def archive(name):
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w") as file:
            file.writestr(name, "{}")
        return out.getvalue()

    for strange in (archive("a.txt"), archive("model.json"), b"hello", b""):
        assert "not a model of everypair" in refused(strange)


def test_another_format_version_is_named(content, refused):
    description, parts = seeds.parts_of(content)
    description |= {"format_version": 99, "everypair": "7.0"}
    assert "format 99 (everypair 7.0)" in refused(seeds.file_of(description, parts))


CHANGES = {
    "a word for a number": {"used_kinds_": np.array(["category", "number", "category"])},
    "a number for a word": {"used_kinds_": np.array(["number"] * 3)},
    "no kind at all": {"used_kinds_": np.array(["number", "jazz", "category"])},
    "too few kinds": {"used_kinds_": np.array(["number"])},
    "kinds of another type": {"used_kinds_": 7},
    "too few means": {"mean_": np.zeros(1)},
    "a mean of no number": {"mean_": np.full(2, np.nan)},
    "a category too many": {"categories_": {"c": ["u", "v", "w", "x"]}},
    "a category of another type": {"categories_": {"c": ["u", "v", 3.0]}},
    "no category": {"categories_": {"c": []}},
    "a part that is missing": {"scale_": None},
}


@pytest.mark.parametrize("change", CHANGES)
def test_an_encoder_whose_parts_do_not_fit_is_refused(change, refused, tmp_path):
    model = seeds.fitted(everypair.AUCRLS())
    for name, value in CHANGES[change].items():
        setattr(model.encoder, name, value)
    assert "the model file is damaged or was changed" in refused(packed(model))
    with pytest.raises(DataError, match="the model cannot be saved"):
        save_model(model, tmp_path / "m.everypair")


def changed(content, change):
    description, parts = seeds.parts_of(content)
    change(description, parts)
    return seeds.file_of(description, parts)


def attributes(description):
    return seeds.estimator_of(description)["object"][1]


def more_weights(description, parts):
    """A second row of weights: scores take the first, `explain` would show both."""
    name = f"{attributes(description)['coef_']['array']}.npy"
    parts[name] = seeds.npy(np.repeat(np.load(io.BytesIO(parts[name])), 2, axis=0))


STRANGE = {
    "more weights than features": more_weights,
    "a class of the system": lambda d, p: seeds.estimator_of(d)["object"].__setitem__(0, "Popen"),
    "a class by its module": lambda d, p: seeds.estimator_of(d)["object"].__setitem__(
        0, "os.system"
    ),
    "an encoder as the model": lambda d, p: d["model"].update(
        estimator=d["model"]["encoder"]
    ),
    "a method hidden": lambda d, p: attributes(d).__setitem__("decision_function", 1),
    "an unknown attribute": lambda d, p: attributes(d).__setitem__("surprise", 1),
    "a hidden name": lambda d, p: attributes(d).__setitem__("__class__", 1),
    "an unknown form": lambda d, p: attributes(d).__setitem__("coef_", {"eval": "1"}),
    "two forms": lambda d, p: attributes(d).__setitem__("coef_", {"tuple": [], "dict": {}}),
    "an array used twice": lambda d, p: attributes(d).update(
        coef_=attributes(d)["classes_"]
    ),
    "an array that is not there": lambda d, p: attributes(d)["coef_"].__setitem__("array", 99),
    "an array too many": lambda d, p: p.__setitem__(f"{len(p)}.npy", seeds.npy(np.zeros(3))),
    "another part": lambda d, p: p.__setitem__("evil.py", b"1"),
    "a setting that is missing": lambda d, p: attributes(d).pop("alpha"),
    "an encoder's attribute too many": lambda d, p: d["model"]["encoder"]["object"][1].__setitem__(
        "later_", 1
    ),
    "half a character": lambda d, p: d["model"].__setitem__("positive", "\ud800"),
    "a label that is a number": lambda d, p: d["model"].__setitem__("positive", 3),
    "notes that are numbers": lambda d, p: d["model"].__setitem__("notes", [1]),
    "no estimator": lambda d, p: d["model"].pop("estimator"),
    "a cut of no number": lambda d, p: d["model"].update(measure="f1", cut="0.5"),
    "a cut without end": lambda d, p: d["model"].update(measure="f1", cut=float("inf")),
    "a measure that is a number": lambda d, p: d["model"].update(measure=3, cut=0.5),
    "no number": lambda d, p: attributes(d).__setitem__("alpha", {"number": ["<f8", "x"]}),
    "a number of objects": lambda d, p: attributes(d).__setitem__("alpha", {"number": ["|O", 1]}),
}  # fmt: skip


@pytest.mark.parametrize("strange", STRANGE)
def test_a_description_that_was_changed_is_refused(strange, content, refused):
    said = refused(changed(content, STRANGE[strange]))
    assert "the model file is damaged or was changed: " in said


HEADERS = {
    "objects": ("|O", (3,), 24),
    "records": ([("a", "<f8")], (3,), 24),
    "too long": ("<f8", (10**12,), 24),
    "too short": ("<f8", (2,), 24),
    "negative": ("<f8", (-3,), 24),
    "a product that is right": ("<f8", (-1, -3), 24),
    "empty but wide": ("<f8", (0, 10**15), 0),
    "text of no width": ("<U0", (1000,), 0),
    "not text": ("<U1", (6,), b"\xff" * 24),
    "not truth": ("|b1", (24,), b"\x02" * 24),
    "other order": (">f8", (3,), 24),
    "dates": ("<M8[s]", (3,), 24),
}


@pytest.mark.parametrize("header", HEADERS)
def test_an_array_that_is_not_what_it_says_is_refused(header, content, refused):
    form, shape, data = HEADERS[header]
    text = repr({"descr": form, "fortran_order": False, "shape": shape}).encode() + b"\n"
    data = data if isinstance(data, bytes) else bytes(data)
    array = b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + data
    description, parts = seeds.parts_of(content)
    parts[f"{attributes(description)['coef_']['array']}.npy"] = array
    assert "it has " in refused(seeds.file_of(description, parts))


def test_pickles_in_arrays_are_refused_unread(content, refused):
    class Trap:
        def __reduce__(self):
            return (pytest.fail, ("this ran",))

    description, parts = seeds.parts_of(content)
    parts[f"{attributes(description)['coef_']['array']}.npy"] = seeds.npy(
        np.array([Trap()], dtype=object)
    )
    assert "type '|O'" in refused(seeds.file_of(description, parts))


MATRICES = {
    "an index too large": ([1, 2**30], [0, 1, 2]),
    "an index below zero": ([1, -1], [0, 1, 2]),
    "pointers beyond the data": ([0, 1], [0, 1, 10**9]),
    "pointers that fall": ([0, 1], [0, 3, 2]),
    "too few pointers": ([0, 1], [0, 2]),
}


@pytest.mark.parametrize("change", MATRICES)
def test_a_sparse_matrix_whose_indices_lead_astray_is_refused(change, refused):
    model = seeds.fitted(everypair.ROCSVM(max_rank=2), seeds.SPARSE)
    description, parts = seeds.parts_of(packed(model))
    expansion = attributes(description)["_expansion"]["object"][1]
    kind, shape, *places = expansion["basis"]["sparse"]
    assert kind == "csr_matrix"
    indices, pointers = (np.array(values, dtype=np.int32) for values in MATRICES[change])
    for place, array in zip(places, (np.ones(2), indices, pointers), strict=True):
        parts[f"{place['array']}.npy"] = seeds.npy(array)
    shape[0] = 2
    refused(seeds.file_of(description, parts))


NODES = {
    "a feature below zero": ("feature_idx", -(2**40)),
    "a feature too many": ("feature_idx", 5),
    "a child beyond the tree": ("left", 2**31),
    "a child in the next tree": ("right", 30),
    "a node that is its own child": ("left", 0),
    "a split by categories": ("is_categorical", 1),
    "neither leaf nor split": ("is_leaf", 2),
    "a threshold of no number": ("num_threshold", np.nan),
    "a value without end": ("value", np.inf),
}


@pytest.mark.parametrize("change", NODES)
def test_a_boosting_whose_nodes_point_astray_is_refused(change, refused):
    assert "damaged or was changed" in refused(seeds.with_node(*NODES[change]))


def test_a_boosting_is_refused_for_each_of_its_parts(refused):
    whole = packed(seeds.boosting())

    def trees(description):
        return seeds.estimator_of(description)["trees"]["dict"]

    def put(name, array):
        def change(description, parts):
            parts[f"{trees(description)[name]['array']}.npy"] = seeds.npy(array)

        return change

    changes = [
        lambda d, p: trees(d).__setitem__("n_features", 10**6),
        lambda d, p: trees(d).__setitem__("n_features", 2**31 - 1),
        lambda d, p: trees(d).__setitem__("n_features", -1),
        lambda d, p: trees(d).pop("sizes"),
        lambda d, p: trees(d)["nodes"]["dict"].pop("left"),
        lambda d, p: trees(d)["settings"]["dict"].__setitem__("surprise", 1),
        put("sizes", np.array([], dtype=np.int64)),
        put("sizes", np.array([0, 2**62, 2**62, 2**62, 2**62])),
        put("sizes", np.array([10**9])),
        put("baseline", np.array([[np.nan]])),
        put("baseline", np.zeros((1, 3))),
        put("classes", np.arange(3)),
    ]
    for change in changes:
        assert "damaged or was changed" in refused(changed(whole, change))


def test_a_boosting_keeps_its_probabilities(tmp_path):
    model = seeds.boosting()
    save_model(model, tmp_path / "m")
    loaded = load_model(tmp_path / "m").estimator
    X = model.encoder.transform(seeds.DENSE)
    X[::7, 0] = np.nan
    np.testing.assert_array_equal(loaded.predict_proba(X), model.estimator.predict_proba(X))
    np.testing.assert_array_equal(loaded.predict(X), model.estimator.predict(X))


# --- and takes no more memory or time than its size ----------------------------------------


def test_packed_parts_are_refused_before_they_are_unpacked(content, refused, monkeypatch):
    _, parts = seeds.parts_of(content)
    bomb = seeds.file_of(b" " * 50_000_000, parts, zipfile.ZIP_DEFLATED)
    assert len(bomb) < 100_000
    monkeypatch.setattr(zipfile.ZipFile, "open", lambda *a, **k: pytest.fail("unpacked"))
    assert "is packed or locked" in refused(bomb)


def test_parts_that_overlap_are_refused(content, refused):
    """One stretch of bytes that a hundred entries of the directory name."""
    description, _ = seeds.parts_of(content)
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("model.json", json.dumps(description))
        archive.writestr("0.npy", bytes(100_000))
        first = archive.infolist()[1]
        for k in range(1, 100):
            again = zipfile.ZipInfo(f"{k}.npy")
            again.header_offset, again.CRC = first.header_offset, first.CRC
            again.file_size = again.compress_size = first.file_size
            archive.filelist.append(again)
            archive.NameToInfo[again.filename] = again
        archive._didModify = True
    assert "larger than the file" in refused(out.getvalue())


def test_depth_and_number_of_values_are_bounded(content, refused, monkeypatch):
    from everypair.app.model_file import store as model_files

    description, parts = seeds.parts_of(content)
    deep = 1
    for _ in range(100):
        deep = [deep]
    attributes(description)["alpha"] = deep
    assert "deep" in refused(seeds.file_of(description, parts))
    refused(seeds.file_of("[" * 200_000, parts))
    refused(seeds.file_of('{"format":' * 100_000, parts))
    monkeypatch.setattr(model_files, "MOST_TEXT", 1000)
    assert "larger than" in refused(content)
    monkeypatch.setattr(model_files, "MOST_TEXT", 2**20)
    monkeypatch.setattr(model_files, "MOST_PARTS", 2)
    assert "more than 2 parts" in refused(content)


def test_no_byte_is_read_twice(content, tmp_path, monkeypatch):
    (tmp_path / "m").write_bytes(content)
    read = zipfile.ZipFile.read
    names = []
    monkeypatch.setattr(
        zipfile.ZipFile, "read", lambda self, name: names.append(name) or read(self, name)
    )
    load_model(tmp_path / "m")
    assert len(names) == len(set(names)) == len(zipfile.ZipFile(tmp_path / "m").namelist())
