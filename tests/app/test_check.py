"""What the data check finds, on tables made like the published ones that misled people."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from everypair.app import Check, check_table
from everypair.app.check import profiles
from everypair.app.check.row_hashes import row_hashes
from everypair.app.tables import as_table
from everypair.metrics import auc_score


def customers(n_rows=400, seed=0):
    rng = np.random.default_rng(seed)
    age, spend = rng.integers(18, 80, n_rows), rng.normal(size=n_rows).round(4)
    table = pd.DataFrame({"age": age, "spend": spend, "job": rng.choice(list("abc"), n_rows)})
    return table, rng.random(n_rows) < 0.3, rng


def found(check, kind):
    return [finding for finding in check.findings if finding.kind == kind]


def test_an_ordinary_table_has_no_findings():
    table, y, _ = customers()
    assert check_table(table, y) == Check((), {}, None)


# Copies


def test_copies_of_rows_are_counted_and_kept_together():
    table, y, rng = customers(100)
    rows = np.concatenate([np.arange(100), rng.integers(0, 100, 250)])
    check = check_table(table.iloc[rows].reset_index(drop=True), y[rows])
    (finding,) = found(check, "copies")
    assert finding.severity == "warning"
    assert finding.sentence.startswith("250 of 350 rows are copies of other rows")
    np.testing.assert_array_equal(check.groups[100:], check.groups[rows[100:]])
    assert np.unique(check.groups).size == 100


def test_rows_with_equal_features_stay_together_whatever_their_labels():
    table, y, _ = customers(100)
    twice = pd.concat([table, table])
    check = check_table(twice, np.concatenate([y, ~y]))
    assert not found(check, "copies")  # no row is equal to another in all columns
    np.testing.assert_array_equal(check.groups[:100], check.groups[100:])


def test_tables_of_few_distinct_rows_are_not_grouped_and_say_so():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"a": rng.integers(0, 2, 500), "b": rng.integers(0, 3, 500)})
    check = check_table(table, rng.random(500) < 0.2)
    assert check.groups is None
    assert "too few rows differ" in found(check, "copies")[0].sentence


def test_copies_join_the_groups_that_they_connect():
    table, y, _ = customers(100)
    rows = np.append(np.arange(100), [0, 50])  # row 0 again in group 60, row 50 in its own
    groups = np.append(np.arange(100), [60, 50])
    check = check_table(table.iloc[rows].reset_index(drop=True), y[rows], groups=groups)
    together = check.groups
    assert len({together[0], together[60], together[100]}) == 1
    assert together[50] == together[101]
    assert np.unique(together).size == 99
    assert "kept in one fold" in found(check, "copies")[0].sentence


def test_groups_that_copies_would_join_to_one_stay_and_the_warning_says_so():
    table, y, _ = customers(60)
    twice = pd.concat([table, table]).reset_index(drop=True)
    groups = np.append(np.arange(60) // 6, (np.arange(60) // 6 + 1) % 10)
    check = check_table(twice, np.append(y, y), groups=groups)
    np.testing.assert_array_equal(check.groups, groups)
    (finding,) = found(check, "copies")
    assert "the groups share too many of them" in finding.sentence
    inside = check_table(
        twice, np.append(y, y), groups=np.append(np.arange(60), np.arange(60)) // 20
    )
    assert "kept in one fold" in found(inside, "copies")[0].sentence


def test_few_positives_in_pairs_of_copies_do_not_stop_the_folds():
    table, y, _ = customers(60)
    y = np.arange(60) < 4
    twice = pd.concat([table, table.iloc[:4]]).reset_index(drop=True)
    check = check_table(twice, np.append(y, y[:4]))
    assert check.groups is None
    assert "too few rows differ" in found(check, "copies")[0].sentence


def test_rows_that_differ_by_an_identifier_are_not_copies_but_by_a_counter_they_are():
    rng = np.random.default_rng(0)
    y = rng.random(300) < 0.3
    columns = {"age": rng.integers(20, 60, 300), "children": rng.integers(0, 4, 300)}
    named = {"customer_id": rng.choice(10**6, 300, replace=False), **columns}
    assert not found(check_table(named, y), "copies")
    assert found(check_table({"row": np.arange(300), **columns}, y), "copies")
    assert not found(check_table({"customer_id": named["customer_id"]}, y), "copies")


@pytest.mark.parametrize("y", [["yes", "no"] * 20, [1, 2] * 20, [True] * 39, np.ones((40, 1))])
def test_labels_that_are_not_true_or_false_are_refused(y):
    with pytest.raises(ValueError, match="y has the"):
        check_table({"x": np.arange(40) / 7}, y)


@given(
    st.lists(
        st.tuples(
            st.sampled_from([0.0, -0.0, 1.5, np.nan, None]),
            st.sampled_from(["a", "b", "", None]),
            st.sampled_from([2**53, 2**53 + 1, None]),
        ),
        min_size=1,
        max_size=30,
    )
)
def test_rows_have_equal_hashes_exactly_when_they_are_equal(rows):
    numbers, words, large = zip(*rows, strict=True)
    table = pa.table(
        {
            "x": pa.array(numbers, pa.float64()),
            "w": pa.array(words, pa.string()),
            "k": pa.array(large, pa.int64()),
        }
    )
    plain = [(None if x is None or np.isnan(x) else x + 0.0, w, k) for x, w, k in rows]
    hashes = row_hashes(table)
    for i in range(len(rows)):
        for j in range(i):
            assert (hashes[i] == hashes[j]) == (plain[i] == plain[j])


@given(st.lists(st.lists(st.sampled_from([0.0, 1.0, -2.5]), min_size=3, max_size=3), min_size=1))
def test_sparse_rows_have_equal_hashes_exactly_when_they_are_equal(rows):
    hashes = row_hashes(as_table(sparse.csr_matrix(np.array(rows))))
    equal = np.array(rows)[:, None] == np.array(rows)
    np.testing.assert_array_equal(hashes[:, None] == hashes, equal.all(axis=2))


# Leaks


@pytest.mark.parametrize(
    "kind", ["words", "numbers", "reversed", "codes", "missing", "dates", "booleans"]
)
def test_a_column_that_tells_the_target_is_named_with_its_remedy(kind):
    table, y, rng = customers()
    table["out come"] = {
        "words": np.where(y, "Canceled", rng.choice(["Check-Out", "No fee"], y.size)),
        "numbers": y + rng.uniform(0, 1.005, y.size),
        "reversed": rng.uniform(0, 1.005, y.size) - y,
        "codes": np.where(y, 3, rng.choice([1, 7], y.size)),
        "missing": np.where(y, rng.normal(size=y.size), np.nan),
        "dates": np.where(y, np.datetime64("2020-01-01"), np.datetime64("NaT")),
        "booleans": y,
    }[kind]
    check = check_table(table, y)
    assert [f.columns for f in check.findings if f.severity == "warning"] == [("out come",)]
    sentence = check.findings[0].sentence
    assert "'out come'" in sentence
    assert "--drop 'out come'" in sentence
    assert "AUC" in sentence
    assert "out come" not in check.left_out  # never dropped silently, nor at all


def test_strong_but_honest_columns_and_many_random_values_are_no_leaks():
    table, y, rng = customers(2000)
    table["strong"] = 2.5 * y + rng.normal(size=y.size)  # AUC 0.96
    table["city"] = rng.integers(0, 40, y.size).astype(str)
    table["code"] = rng.integers(0, 45, y.size)
    assert not found(check_table(table, y), "leak")


def test_few_rows_are_not_called_a_leak():
    y = np.array([True] * 4 + [False] * 30)
    assert not found(check_table({"x": np.linspace(1, 0, 34) ** 2}, y), "leak")


def test_a_leak_in_a_sparse_matrix_is_named():
    rng = np.random.default_rng(0)
    y = rng.random(300) < 0.3
    X = sparse.random(300, 20, 0.1, random_state=0).tolil()
    X[:, 7] = y.astype(float)[:, None]
    X[:, 9] = (1 + y)[:, None]
    assert [f.columns for f in found(check_table(X, y), "leak")] == [("7",), ("9",)]


# Identifiers and names


@pytest.mark.parametrize(("name", "values"), [
    ("RowNumber", lambda n, rng: np.arange(1, n + 1)),
    ("shuffled", lambda n, rng: rng.permutation(n) + 500),
    ("CustomerId", lambda n, rng: rng.choice(10**6, n, replace=False) + 15_000_000),
    ("LoanNr_ChkDgt", lambda n, rng: rng.choice(2**40, n, replace=False) + 10**9),
    ("patient id", lambda n, rng: np.append(rng.choice(10**6, n - 1, replace=False), np.nan)),
    ("Surname", lambda n, rng: np.array([f"name{k}" for k in rng.integers(0, n // 3, n)])),
    ("email", lambda n, rng: np.array([f"{k}@x.org" for k in rng.integers(0, n // 8, n)])),
    ("note", lambda n, rng: np.array([f"text {k}" for k in range(n)])),
])  # fmt: skip
def test_identifiers_and_names_are_left_out_unless_kept(name, values):
    table, y, rng = customers(900)
    table[name] = values(900, rng)
    check = check_table(table, y)
    assert list(check.left_out) == [name]
    (finding,) = found(check, "left out")
    assert repr(name) in finding.sentence
    assert "--keep" in finding.sentence
    assert not check_table(table, y, keep=[name]).left_out
    assert not check_table(table, y, keep=name).left_out


def test_identifiers_are_found_among_copies():
    table, y, rng = customers(100)
    table.insert(1, "RowNumber", np.arange(100))
    rows = np.concatenate([np.arange(100), rng.integers(0, 100, 100)])
    check = check_table(table.iloc[rows].reset_index(drop=True), y[rows])
    assert list(check.left_out) == ["RowNumber"]
    assert found(check, "copies")[0].sentence.startswith("100 of 200 rows")


@pytest.mark.parametrize(("name", "values"), [
    ("balance", lambda n, rng: rng.normal(size=n)),
    ("amount", lambda n, rng: rng.integers(0, 20_000, n)),
    ("number_of_calls", lambda n, rng: rng.integers(0, 300, n)),
    ("job", lambda n, rng: np.array([f"job{k}" for k in rng.integers(0, 60, n)])),
    ("year", lambda n, rng: rng.integers(1950, 2020, n)),
])  # fmt: skip
def test_measurements_and_categories_are_not_taken_for_identifiers(name, values):
    table, y, rng = customers(900)
    table[name] = values(900, rng)
    assert not check_table(table, y).left_out


def test_a_repeated_identifier_asks_for_groups():
    table, y, rng = customers(900)
    table["patient_id"] = rng.integers(0, 200, 900)
    (finding,) = found(check_table(table, y), "group")
    assert "--group patient_id" in finding.sentence


# Columns that say nothing or say it twice


def test_columns_that_say_little_or_the_same_are_named():
    table, y, _ = customers(2000)
    table["flag"] = np.arange(2000) == 1500
    table["again"] = table["spend"]
    table["euros"] = 100 * table["spend"] - 7
    table["job code"] = table["job"].map({"a": 10, "b": 20, "c": 30})
    table["empty"] = np.nan
    table["one"] = "a"
    check = check_table(table, y)
    assert check.left_out == {"empty": "it is empty", "one": "it has one value only"}
    assert not any("--keep" in f.sentence for f in found(check, "left out"))
    assert "'flag' has one value in all but 1 row" in found(check, "nearly constant")[0].sentence
    twice = {f.columns[1]: f.sentence for f in found(check, "said twice")}
    assert "is equal to 'spend'" in twice["again"]
    assert "is perfectly correlated with 'spend'" in twice["euros"]
    assert "says the same as 'job'" in twice["job code"]
    assert not {"age", "spend", "flag"} & twice.keys()


def test_missing_values_in_words_and_numbers_but_for_a_word_are_named(tmp_path):
    from pathlib import Path

    from everypair.app.files.readers import Source, read

    table, y, _ = customers(300)
    table["charges"] = [" " if k % 50 == 0 else f"{k * 1.5}" for k in range(300)]
    table["age"] = [{7: "?", 9: "-"}.get(k, str(20 + k % 40)) for k in range(300)]
    table["size"] = ["{o}ps" if k == 30 else f"{k % 20}.5" for k in range(300)]
    table.to_csv(tmp_path / "t.csv", index=False)
    table.to_parquet(tmp_path / "t.parquet")
    for name in ("t.csv", "t.parquet"):
        check = check_table(read(Source(Path(tmp_path / name))), y)
        said = " ".join(f.sentence for f in found(check, "missing"))
        assert "columns with missing values spelled ' ': 'charges' (6 missing)" in said
        assert "'age' (2 missing)" in said
        assert "'?'" in said
        (spelling,) = found(check, "spelling")
        assert "row 31 has '{o}ps'" in spelling.sentence
    numbered = check_table(table, y, row_numbers=np.arange(300) + 100)
    assert "row 130 has '{o}ps'" in found(numbered, "spelling")[0].sentence


def test_words_that_rename_others_are_not_called_equal():
    rng = np.random.default_rng(5)
    job = rng.choice(["cook", "nurse", "pilot"], 300)
    renamed = np.array([{"cook": "a", "nurse": "b", "pilot": "c"}[word] for word in job])
    table = {"job": job, "letter": renamed, "again": job, "age": rng.normal(size=300)}
    check = check_table(table, rng.random(300) < 0.4)
    twice = {f.columns[1]: f.sentence for f in found(check, "said twice")}
    assert "'letter' says the same as 'job'" in twice["letter"]
    assert "'again' is equal to 'job'" in twice["again"]


def test_equal_columns_are_found_among_many_without_equal_values():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(40, 700))
    table = {f"c{j}": column for j, column in enumerate(X.T)} | {"last": X[:, 650]}
    check = check_table(table, np.arange(40) % 2 == 0)
    (twice,) = found(check, "said twice")
    assert twice.columns == ("c650", "last")


@pytest.mark.parametrize("block", [1, 90, 10_000])
def test_profiles_of_many_columns_equal_those_of_one(monkeypatch, block):
    """Areas by their definition; partitions by comparing every two rows."""
    monkeypatch.setattr(profiles, "BLOCK_VALUES", block)
    rng = np.random.default_rng(3)
    y = rng.random(60) < 0.5
    levels = [2, 3, 10, 60, 10**6, 2, 60, 5]
    X = np.stack([rng.integers(0, k, 60) / 4 for k in levels])
    X[5] = X[0]
    X[6, rng.random(60) < 0.3] = np.nan
    X[7, y] = np.nan
    table = as_table({f"c{j}": row for j, row in enumerate(X)})
    found = profiles.profiles_of(table, dict.fromkeys(table.column_names, "number"), y)
    for name, x in zip(table.column_names, X, strict=True):
        own, known = found[name], ~np.isnan(x)
        assert own.missing_area == pytest.approx(auc_score(y, ~known), abs=1e-15)
        enough = min(np.count_nonzero(y & known), np.count_nonzero(~y & known)) >= 10
        assert own.area == (auc_score(y[known], x[known]) if enough else 0.5)
        one = profiles._of_column(table.column(name), "number", y, profiles._half(y))
        assert (own.rate_area, own.n_levels) == (one.rate_area, one.n_levels)
        for other, z in zip(table.column_names, X, strict=True):
            parts = [(v[:, None] == v) | (np.isnan(v)[:, None] & np.isnan(v)) for v in (x, z)]
            assert (own.partition == found[other].partition) == np.array_equal(*parts)
            equal = np.array_equal(x, z, equal_nan=True)
            assert (own.content == found[other].content) == equal


def test_one_more_column_is_not_called_columns():
    rng = np.random.default_rng(5)
    x = rng.normal(size=60)
    check = check_table({f"c{k}": x for k in range(7)}, np.arange(60) % 2 == 0)
    assert found(check, "said twice")[-1].sentence == "1 more column says what others say: 'c6'."
