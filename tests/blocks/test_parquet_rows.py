"""Parquet files as row blocks."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from everypair import AUCClassifier
from everypair.blocks import ParquetRows

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    n = 20_000  # so many that both begin on the same sample
    X = rng.standard_normal((n, 4)).astype(np.float32)
    y = X @ [1, -1, 0.5, 0] + rng.logistic(size=n) > 1.5
    columns = {f"x{k}": X[:, k] for k in range(4)}
    return pa.table({"y": y, **columns, "w": rng.uniform(0.5, 2, n)})


def written(table, folder, cuts, **options):
    folder.mkdir(exist_ok=True)
    edges = [0, *cuts, table.num_rows]
    for k, (a, b) in enumerate(pairwise(edges)):
        pq.write_table(table.slice(a, b - a), folder / f"part-{k:02d}.parquet", **options)
    return folder


def local(table, **weights):
    X = np.column_stack([table[f"x{k}"].to_numpy() for k in range(4)])
    return AUCClassifier().fit(X, table["y"].to_numpy(), **weights)


@pytest.mark.parametrize(
    "cuts",
    [
        [],
        pytest.param([3000], marks=pytest.mark.slow),
        [0, 10, 10, 4000],
        pytest.param(list(range(400, 20_000, 1225)), marks=pytest.mark.slow),
    ],
)
def test_files_of_any_size_give_the_fit_in_memory(table, tmp_path, cuts):
    folder = written(table, tmp_path / "rows", cuts, row_group_size=1000)
    names = [f"x{k}" for k in range(4)]
    wanted = local(table).coef_
    for block_rows in (None, 777):
        rows = ParquetRows(folder, "y", names, block_rows=block_rows)
        model = AUCClassifier().fit(rows)
        np.testing.assert_allclose(model.coef_, wanted, rtol=1e-9)
        assert list(model.feature_names_in_) == names
        assert rows.dtype == np.float32
    weighted = AUCClassifier().fit(ParquetRows(folder, "y", sample_weight="w"))
    wanted = local(table, sample_weight=table["w"].to_numpy()).coef_
    np.testing.assert_allclose(weighted.coef_, wanted, rtol=1e-9)
    scored = ParquetRows(folder, "y", names, sample_weight="w")
    X = np.column_stack([table[name].to_numpy() for name in names])
    np.testing.assert_allclose(
        weighted.decision_function(scored), X @ wanted[0] + weighted.intercept_, atol=1e-6
    )
    with pytest.raises(ValueError, match=r"columns x3, x2, x1, x0, but the model was"):
        weighted.predict(ParquetRows(folder, "y", names[::-1]))


def test_hidden_and_underscored_names_are_not_data(table, tmp_path):
    folder = written(table, tmp_path / ".rows", [3000])  # the folder itself may be hidden
    for name in (".checkpoint", "_delta_log"):
        written(table.select(["y"]), folder / name, [])
    pq.write_table(table.select(["y"]), folder / "._part.parquet")
    assert [file[-15:] for file in ParquetRows(folder, "y").files] == [
        "part-00.parquet",
        "part-01.parquet",
    ]


def test_integers_booleans_and_words_as_labels(table, tmp_path):
    words = pa.array(np.where(table["y"].to_numpy(), "bad", "a good one")).dictionary_encode()
    mixed = table.drop_columns(["y", "w"]).append_column("label", words)
    mixed = mixed.append_column("count", pa.array(np.arange(20_000) % 7, pa.int8()))
    mixed = mixed.append_column("flag", pa.array(np.arange(20_000) % 2 == 0))
    path = tmp_path / "one.parquet"
    pq.write_table(mixed, path)
    rows = ParquetRows(path, "label")
    assert rows.n_features_in_ == 6
    assert rows.dtype == np.float32
    model = AUCClassifier().fit(rows)
    assert list(model.classes_) == ["a good one", "bad"]
    X = np.column_stack([mixed[name].to_numpy() for name in rows.feature_names_in_])
    wanted = AUCClassifier().fit(X.astype(np.float32), mixed["label"].to_pylist())
    np.testing.assert_allclose(model.coef_, wanted.coef_, rtol=1e-9)


def test_bad_files_are_named(table, tmp_path):
    good = written(table, tmp_path / "good", [2000, 4000])

    def refused(match, change, **options):
        folder = written(table, tmp_path / f"bad-{abs(hash(match))}", [2000, 4000])
        change(folder / "part-01.parquet")
        with pytest.raises(ValueError, match=match):
            AUCClassifier().fit(ParquetRows(folder, **{"target": "y", **options}))

    def without(*names):
        return lambda path: pq.write_table(pq.read_table(path).drop_columns(list(names)), path)

    def with_column(name, values):
        def change(path):
            some = pq.read_table(path)
            place = some.column_names.index(name)
            pq.write_table(some.set_column(place, name, values(some)), path)

        return change

    refused(r"part-01.parquet has no column 'x2'", without("x2"))
    refused(r"part-01.parquet has no column 'y'", without("y"))
    refused(
        r"'x1' is double in .*part-01.parquet, but float in .*part-00",
        with_column("x1", lambda some: some["x1"].cast("float64")),
    )
    refused(r"part-01.parquet cannot be read as Parquet", lambda path: path.write_bytes(b"PAR1no"))
    refused(
        r"part-01.parquet cannot be read as Parquet",
        lambda path: path.write_bytes(path.read_bytes()[:-2000]),
    )
    missing = pa.array([1.0] * 1999 + [None], pa.float32())
    refused(r"Column 3 of .*part-01.parquet, rows 0 to 1999, has NaN",
            with_column("x3", lambda some: missing), columns=["x0", "x1", "x2", "x3"])  # fmt: skip
    nothing = pa.array([True] * 1999 + [None])
    refused(r"target of .*part-01.parquet, .* missing", with_column("y", lambda some: nothing))
    with pytest.raises(ValueError, match=r"without a \*.parquet file"):
        ParquetRows(_empty(tmp_path), "y")
    with pytest.raises(ValueError, match="There is no file or folder"):
        ParquetRows(tmp_path / "nowhere", "y")
    with pytest.raises(ValueError, match="has no column 'target'"):
        ParquetRows(good, "target")
    words = tmp_path / "words.parquet"
    pq.write_table(pa.table({"y": [0, 1], "city": ["a", "b"]}), words)
    with pytest.raises(ValueError, match=r"Column 'city' .* is string, not a number"):
        ParquetRows(words, "y")


def _empty(tmp_path):
    folder = tmp_path / "empty"
    folder.mkdir()
    return folder


def test_a_page_that_breaks_in_the_middle_names_its_file(table, tmp_path):
    folder = written(table, tmp_path / "rows", [2000, 4000], compression="snappy")
    path = folder / "part-01.parquet"
    raw = bytearray(path.read_bytes())
    raw[100:4000] = bytes(3900)
    path.write_bytes(bytes(raw))
    with pytest.raises(ValueError, match=r"part-01.parquet"):
        AUCClassifier().fit(ParquetRows(folder, "y"))
