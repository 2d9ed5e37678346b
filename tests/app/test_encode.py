"""The encoder against scikit-learn's own pieces, and on rows that it has not seen."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

pa = pytest.importorskip("pyarrow")
pd = pytest.importorskip("pandas")

from sklearn.compose import ColumnTransformer  # noqa: E402
from sklearn.impute import SimpleImputer  # noqa: E402
from sklearn.pipeline import make_pipeline  # noqa: E402
from sklearn.preprocessing import OneHotEncoder, StandardScaler  # noqa: E402

from everypair.app.encode import SparseEncoder, TableEncoder, encoder_for  # noqa: E402
from everypair.app.files.kinds import nameless_of  # noqa: E402
from everypair.app.files.problems import DataError  # noqa: E402
from everypair.app.tables import arrow_table, as_table  # noqa: E402


@pytest.fixture
def frame():
    rng = np.random.default_rng(0)
    n = 300
    age = np.where(rng.random(n) < 0.1, np.nan, rng.normal(40, 10, n))
    return pd.DataFrame(
        {
            "age": age,
            "size": rng.normal(size=n),
            "job": rng.choice(["cook", "nurse", "pilot"], n),
            "vip": rng.random(n) < 0.3,
            "when": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, n), "D"),
            "id": [f"row {k}" for k in range(n)],
            "const": 7,
        }
    )


def test_encoder_equals_a_column_transformer(frame):
    numbers = frame[["age", "size", "vip"]].astype(float)
    theirs = ColumnTransformer(
        [
            ("n", make_pipeline(SimpleImputer(strategy="median"), StandardScaler()),
             ["age", "size", "vip"]),
            ("c", OneHotEncoder(sparse_output=False), ["job"]),
        ]
    ).fit_transform(numbers.assign(job=frame["job"].astype(object)))  # fmt: skip
    encoder = TableEncoder().fit(frame[["age", "size", "job", "vip"]])
    ours = encoder.transform(frame[["age", "size", "job", "vip"]])
    names = encoder.get_feature_names_out().tolist()
    assert names == ["age", "size", "vip", "age is missing", "job=cook", "job=nurse", "job=pilot"]
    order = [0, 1, 2, 4, 5, 6]
    np.testing.assert_allclose(ours[:, order], theirs, atol=1e-12)
    np.testing.assert_array_equal(ours[:, 3], frame["age"].isna())


def test_what_is_left_out_is_said_why(frame):
    encoder = TableEncoder().fit(frame)
    assert set(encoder.dropped_) == {"id", "const"}
    assert "text" in encoder.dropped_["id"]
    assert encoder.kinds_["when"] == "date"
    names = encoder.get_feature_names_out()
    assert {"when: day", "when: month", "when: weekday"} <= set(names)
    assert "when: hour" not in names  # always midnight


def test_rare_values_share_a_column_and_new_ones_join_them():
    column = ["a"] * 20 + ["b"] * 20 + [f"rare {k}" for k in range(5)]
    encoder = TableEncoder().fit({"c": column})
    assert encoder.get_feature_names_out().tolist() == ["c=a", "c=b", "c=(other)"]
    new = encoder.transform({"c": ["b", "never seen", None]})
    assert new.tolist() == [[0, 1, 0], [0, 0, 1], [0, 0, 0]]


def test_missing_categories_have_a_column():
    encoder = TableEncoder().fit({"c": ["a", "b", None] * 10})
    assert encoder.transform({"c": [None, "z"]}).tolist() == [[0, 0, 1], [0, 0, 0]]
    assert encoder.unseen({"c": [None, "z", "a"]}) == {"c": 1}


def test_infinite_numbers_count_as_missing():
    encoder = TableEncoder().fit({"x": [1.0, np.inf, 3.0, 5.0]})
    out = encoder.transform({"x": [-np.inf, 3.0]})
    assert np.isfinite(out).all()
    np.testing.assert_array_equal(out[:, 0], 0.0)  # the median of 1, 3, 5 is also the mean


def test_missing_column_is_named():
    encoder = TableEncoder().fit({"x": [1.0, 2.0], "z": [3.0, 4.0]})
    with pytest.raises(DataError, match="column 'z'"):
        encoder.transform({"x": [1.0]})
    with pytest.raises(DataError, match=r"column 'x'.*number"):
        encoder.transform({"x": ["word"], "z": [1.0]})


def test_many_categories_make_a_sparse_matrix_with_the_same_entries():
    rng = np.random.default_rng(0)
    columns = {f"c{k}": [f"v{v}" for v in rng.integers(0, 90, 2000)] for k in range(8)}
    columns["x"] = rng.normal(size=2000)
    encoder = TableEncoder(min_rows=1).fit(columns)
    found = encoder.transform(columns)
    assert sparse.issparse(found)
    encoder.sparse_ = False
    np.testing.assert_array_equal(found.toarray(), encoder.transform(columns))


def test_pandas_polars_and_arrow_are_read_alike(frame):
    pl = pytest.importorskip("polars")
    encoder = TableEncoder().fit(frame)
    expected = encoder.transform(frame)
    np.testing.assert_array_equal(encoder.transform(pl.from_pandas(frame)), expected)
    np.testing.assert_array_equal(encoder.transform(pa.Table.from_pandas(frame)), expected)


def test_sparse_columns_are_scaled_and_stay_sparse():
    X = sparse.random(50, 20, density=0.2, format="csr", random_state=0) * 7
    encoder = SparseEncoder().fit(X)
    out = encoder.transform(X)
    assert out.nnz == X.nnz
    assert abs(out).max() == 1
    wider = sparse.hstack([X, sparse.csr_matrix(np.ones((50, 3)))]).tocsr()
    np.testing.assert_array_equal(encoder.transform(wider).toarray(), out.toarray())
    narrower = encoder.transform(X[:, :15])
    np.testing.assert_array_equal(narrower.toarray()[:, :15], out.toarray()[:, :15])


def test_entries_in_parts_are_added_up_and_the_users_matrix_stays():
    parts = [3.0, -1.0, 2.0], [1, 1, 0], [0, 2, 3]
    X = sparse.csr_matrix(tuple(np.array(part) for part in parts), shape=(2, 2))
    before = X.data.copy(), X.indices.copy(), X.indptr.copy()
    for given in (X, X.tocsc()):
        table = as_table(given)
        assert table.nnz == 2
        np.testing.assert_array_equal(table.toarray(), [[0, 2], [2, 0]])
        np.testing.assert_array_equal(encoder_for(table).fit(table).scale_, [2, 2])
    for kept, now in zip(before, (X.data, X.indices, X.indptr), strict=True):
        np.testing.assert_array_equal(now, kept)


def test_half_floats_are_numbers():
    halves = np.array([0.5, 1.5, np.nan, 2.5], dtype=np.float16)
    frame = pd.DataFrame({"x": halves})
    expected = TableEncoder().fit({"x": halves.astype(np.float64)}).transform(frame)
    np.testing.assert_array_equal(TableEncoder().fit(frame).transform(frame), expected)


@pytest.mark.parametrize(
    "values",
    [pd.arrays.SparseArray([0, 0, 1.5]), np.array([1j, 2.0, 3.0])],
    ids=["sparse", "complex"],
)
def test_columns_that_arrow_has_no_type_for_are_refused_by_name(values):
    for X in (pd.DataFrame({"x": [1, 2, 3], "c": values}), {"x": [1, 2, 3], "c": values}):
        with pytest.raises(DataError, match=r"column 'c': a column of type (Sparse|complex)"):
            TableEncoder().fit(X)


def test_ids_beyond_two_to_the_53_are_numbers_like_others():
    table = arrow_table({"id": [2**62 + k for k in range(6)], "x": [1.0, 2, 3, 4, 5, 7]})
    assert np.all(np.isfinite(TableEncoder().fit(table).transform(table)))


def test_polars_frames_are_tables():
    polars = pytest.importorskip("polars")
    columns = {"job": ["cook", "nurse"] * 20, "x": list(range(40))}
    ours = TableEncoder().fit(arrow_table(columns)).transform(arrow_table(columns))
    frame = polars.DataFrame(columns)
    theirs = TableEncoder().fit(frame).transform(frame)
    np.testing.assert_array_equal(ours, theirs)


def test_features_of_equal_names_are_told_apart():
    table = {
        "job": ["a", "b"] * 10,
        "job=a": np.arange(20.0),
        "x": [None, 1.0] * 10,
        "x is missing": np.arange(20.0),
        "c": ["(other)", "d"] * 9 + ["rare", "e"],
    }
    encoder = TableEncoder().fit(table)
    names = encoder.get_feature_names_out().tolist()
    assert len(set(names)) == len(names) == encoder.transform(table).shape[1]
    assert {"'job=a'", "'job'='a'", "job=b", "'x is missing'", "'x' is missing"} <= set(names)
    assert {"'c'='(other)'", "'c'=(other)"} <= set(names)


def test_parts_of_a_date_are_not_taken_for_columns_of_that_name():
    days = pd.date_range("2020-01-01", periods=20)
    hours = np.arange(20.0)
    table = pd.DataFrame({"since": days, "since: hour": hours})
    encoder = TableEncoder().fit(table)
    place = encoder.get_feature_names_out().tolist().index("since: hour")
    expected = (hours - hours.mean()) / hours.std()
    np.testing.assert_allclose(encoder.transform(table)[:, place], expected, atol=1e-12)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("size", [1e308, 1e200])
def test_numbers_that_overflow_are_refused_by_the_columns_name(size):
    with pytest.raises(DataError, match="column 'h': some values are too large"):
        TableEncoder().fit({"x": [1.0, 2.0, 3.0], "h": [size, -size, 1.0]})
    encoder = TableEncoder().fit({"h": [0.001, 0.002, 0.003]})
    with pytest.raises(DataError, match="column 'h': some values are too large"):
        encoder.transform({"h": [1.7e308]})
    X = sparse.csr_matrix([[0, 1e-200], [1, 2e-200]])
    with pytest.raises(DataError, match="column '1': some values are too large"):
        SparseEncoder().fit(X).transform(sparse.csr_matrix([[0, size]]))


def test_column_of_another_type_is_refused_by_name():
    encoder = TableEncoder().fit({"job": ["a", "b"] * 5, "x": np.arange(10.0)})
    with pytest.raises(DataError, match="column 'job': this column was a category in training"):
        encoder.transform({"job": [{"a": 1}], "x": [1.0]})


def test_parts_of_dates_never_share_a_name():
    """`d` beside a column `d: hour` is renamed, and so may be `(d)`: still no two read alike."""
    from datetime import datetime, timedelta

    rng = np.random.default_rng(0)
    start = datetime(2024, 1, 1)

    def days():
        return [start + timedelta(hours=int(h)) for h in rng.integers(0, 20_000, 40)]

    columns = {"d": days(), "(d)": days(), "d: hour": rng.normal(size=40)}
    for table in (columns, columns | {"(d): day": rng.normal(size=40)}):
        for order in (list(table), list(table)[::-1]):
            encoder = TableEncoder().fit({name: table[name] for name in order})
            names = encoder.numbers_.tolist()
            assert len(set(names)) == len(names) == 8 + len(table) - 2
            found = encoder.transform(table)  # whatever the order of the columns
            places = [k for k, name in enumerate(names) if name.endswith(": day")]
            for name in ("d", "(d)"):
                stamps = np.array(table[name], dtype="datetime64[us]").astype(float)
                agree = [np.corrcoef(found[:, k], stamps)[0, 1] > 1 - 1e-9 for k in places]
                assert sum(agree) == 1


def test_nameless_columns_of_a_frame_are_left_out():
    frame = pd.DataFrame([[1, 2, 5], [2, 3, 5], [4, 4, 6]], columns=["", "x", " "])
    assert TableEncoder().fit(frame).get_feature_names_out().tolist() == ["x"]
    assert nameless_of(as_table(frame)) == 2
    with pytest.raises(DataError, match="no column has a name"):
        as_table(frame[["", " "]])
