"""Tables larger than memory: a folder of Parquet files is fitted in blocks, as in memory."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from everypair.app import large_table, sketch
from everypair.app.encode import TableEncoder
from everypair.app.files.problems import DataError
from everypair.app.files.readers import Source, read
from everypair.app.large_table import LargeTable
from everypair.app.model_file.store import load_model


def mixed_rows(n=1200):
    rng = np.random.default_rng(0)
    age, income = rng.normal(50, 12, n), rng.lognormal(10, 1, n)
    job = rng.choice(["cook", "nurse", "pilot", "clerk"], n, p=[0.4, 0.3, 0.2, 0.1])
    day = (np.datetime64("2020-01-01") + rng.integers(0, 900, n)).astype("datetime64[us]")
    signal = 0.05 * (age - 50) + (job == "pilot") + 0.3 * np.log(income / 2e4)
    y = np.where(signal + rng.logistic(size=n) > 1.5, "yes", "no")
    income[rng.random(n) < 0.1] = np.nan
    return pa.table(
        {
            "age": age,
            "income": pa.array(income, from_pandas=True),
            "job": pa.array(job, mask=rng.random(n) < 0.05),
            "day": day,
            "floor": [str(value) for value in rng.integers(0, 9, n)],
            "smokes": rng.random(n) < 0.3,
            "w": rng.integers(1, 4, n),
            "churn": pa.array(y, mask=rng.random(n) < 0.01),
        }
    )


def written(table, folder, sizes=(500, 1, 699)):
    folder.mkdir()
    start = 0
    for k, size in enumerate(sizes):
        pq.write_table(table.slice(start, size), folder / f"part-{k}.parquet", row_group_size=200)
        start += size
    return folder


@pytest.fixture(scope="module")
def table():
    return mixed_rows()


@pytest.fixture(scope="module")
def folder(table, tmp_path_factory):
    return written(table, tmp_path_factory.mktemp("tables") / "folder")


def learnt(encoder):
    return {k: v for k, v in vars(encoder).items() if k.endswith("_")}


@pytest.mark.parametrize("piece_rows", [100_000, 130])
def test_one_pass_learns_the_encoder_of_the_table_in_memory(table, folder, monkeypatch, piece_rows):
    monkeypatch.setattr(large_table, "PIECE_ROWS", piece_rows)
    found = LargeTable(Source(folder), "churn", "w", ()).encoder({})
    features = read(Source(folder)).drop_columns(["churn", "w"])
    wanted = TableEncoder(keep="all").fit(features.filter(table["churn"].is_valid()))
    for name, value in learnt(wanted).items():
        if isinstance(value, np.ndarray) and value.dtype.kind == "f":
            np.testing.assert_allclose(getattr(found, name), value, rtol=1e-12, err_msg=name)
        else:
            assert np.all(getattr(found, name) == value), name
    np.testing.assert_allclose(found.transform(features), wanted.transform(features), atol=1e-12)


def test_numbers_in_words_that_turn_out_to_be_words_are_read_once_more(tmp_path, monkeypatch):
    monkeypatch.setattr(large_table, "PIECE_ROWS", 100)
    words = ["1", "2"] * 100 + ["many", "few"] * 50
    table = pa.table({"a": words, "x": np.arange(300.0) % 7, "y": [0, 1, 1] * 100})
    found = LargeTable(Source(written(table, tmp_path / "f", (300,))), "y", None, ()).encoder({})
    assert found.kinds_ == {"a": "category", "x": "number"}
    assert found.categories_["a"] == ["1", "2", "few", "many"]


def test_median_of_a_sketch_is_near_that_of_all_values(monkeypatch):
    monkeypatch.setattr(sketch, "KEPT", 256)
    rng = np.random.default_rng(1)
    values = rng.lognormal(size=50_000)
    for order in (values, np.sort(values), np.sort(values)[::-1]):
        parts = [sketch.Quantiles() for _ in range(3)]
        for k, some in enumerate(np.array_split(order, 40)):
            parts[k % 3].add(some)
        parts[0].merge(parts[1])
        parts[0].merge(parts[2])
        rank = np.mean(values <= parts[0].median())
        assert abs(rank - 0.5) < 8 / 256


def test_moments_and_counts_of_parts_are_those_of_the_whole():
    rng = np.random.default_rng(2)
    values = rng.normal(1e6, 1, 3000)
    values[::7] = np.nan
    moments, words = sketch.Moments(), sketch.Values()
    for some in np.array_split(values, 7):
        part = sketch.Moments()
        part.add(some)
        moments.merge(part)
    fill = np.nanmedian(values)
    filled = np.where(np.isnan(values), fill, values)
    found = moments.centre("x")
    assert found[0] == fill
    assert found[1] == pytest.approx(filled.mean(), rel=1e-14)
    assert found[2] == pytest.approx(filled.std(), rel=1e-9)
    for some in (["a", "b", None], ["b"]):
        part = sketch.Values()
        part.add(pa.chunked_array([some]))
        words.merge(part)
    assert (sorted(words.known()), words.n_missing) == ([(1, "a"), (2, "b")], 1)


def test_rare_words_are_forgotten_beyond_the_most_that_are_kept(monkeypatch):
    monkeypatch.setattr(sketch, "MOST_WORDS", 100)
    words = sketch.Values()
    for k in range(30):
        words.add(pa.chunked_array([["often"] * 5 + [f"{k}-{j}" for j in range(20)]]))
    assert words.forgot
    assert words.n_words == 100
    assert max(words.known()) == (150, "often")


def test_fit_of_a_folder_is_the_fit_of_the_table(run, table, folder, tmp_path):
    pq.write_table(table, tmp_path / "whole.parquet")
    models = []
    for data in (tmp_path / "whole.parquet", folder):
        out = tmp_path / f"{data.stem}.everypair"
        asked = ["--target", "churn", "--weight", "w", "--method", "auc", "-o", str(out)]
        assert run("fit", str(data), *asked).code == 0
        models.append(load_model(out))
    wanted, found = models
    assert found.settings == wanted.settings
    assert (found.n_rows, found.n_positive) == (wanted.n_rows, wanted.n_positive)
    assert found.train_auc == pytest.approx(wanted.train_auc, abs=1e-9)
    np.testing.assert_allclose(found.estimator.coef_, wanted.estimator.coef_, rtol=1e-5, atol=1e-9)
    assert found.evidence is not None
    assert found.has_probabilities


def test_fit_chooses_a_model_and_score_reads_the_folder(run, table, folder, tmp_path):
    model, out = tmp_path / "m.everypair", tmp_path / "scores.csv"
    done = run("fit", str(folder), "--target", "churn", "--json", "-o", str(model))
    assert done.code == 0, done.err
    told = json.loads(done.out)
    assert told["method"] in ("auc", "auc-l1", "auc-rls")
    assert any(note.startswith("the rows were read") for note in told["notes"])
    assert run("score", str(model), str(folder), "-o", str(out)).code == 0
    assert len(out.read_text().splitlines()) == table.num_rows + 1


def test_sample_of_a_larger_table_decides_and_all_rows_are_fitted(
    run, table, folder, tmp_path, monkeypatch
):
    monkeypatch.setattr(large_table, "SAMPLE_ROWS", 600)
    model = tmp_path / "m.everypair"
    done = run("fit", str(folder), "--target", "churn", "--method", "auc", "-o", str(model))
    assert done.code == 0, done.err
    saved = load_model(model)
    assert saved.n_rows == table["churn"].is_valid().to_numpy().sum()
    assert any("drawn by a hash of the row's number" in note for note in saved.notes)
    assert 400 < saved.evidence.scores.size < 800


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--method", "boosting"], "--method boosting needs the table in memory"),
        (["--group", "job"], "--group needs the table in memory"),
        (["--increasing", "age"], "--increasing needs the table in memory"),
        (["--drop", "churn"], "this is the target: it cannot be --drop"),
        (["--weight", "nope"], "has no such column"),
    ],
)
def test_what_a_folder_cannot_do_is_one_sentence(run, folder, tmp_path, options, said):
    out = tmp_path / "m.everypair"
    done = run("fit", str(folder), "--target", "churn", "-o", str(out), *options)
    assert done.code == 2
    assert said in done.err
    assert not out.exists()


def broken(table, tmp_path, how):
    folder = written(table, tmp_path / "folder")
    middle = folder / "part-1.parquet"
    if how == "schema":
        pq.write_table(table.slice(0, 5).drop_columns(["age"]), middle)
    elif how == "types":
        words = pa.array([str(value) for value in table["age"].to_pylist()[:5]])
        pq.write_table(table.slice(0, 5).set_column(0, "age", words), middle)
    elif how == "target":
        pq.write_table(table.slice(0, 5).drop_columns(["churn"]), middle)
    elif how == "unreadable":
        middle.write_bytes(b"PAR1 nothing of the kind PAR1")
    elif how == "pages":
        content = bytearray((folder / "part-2.parquet").read_bytes())
        content[200:2000] = bytes(1800)
        (folder / "part-2.parquet").write_bytes(bytes(content))
    elif how == "empty":
        for file in folder.iterdir():
            file.unlink()
    return folder


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ("schema", ["part-1.parquet", "age", "write all files with the same columns"]),
        ("types", ["part-1.parquet", "age", "the type is string here and double"]),
        ("target", ["part-1.parquet", "churn", "write all files with the same columns"]),
        ("unreadable", ["part-1.parquet", "cannot be read as Parquet", "write it again or remove"]),
        ("pages", ["part-2.parquet", "cannot be read as Parquet"]),
        ("empty", ["is a folder without a *.parquet file"]),
    ],
)
def test_trouble_in_a_folder_names_the_file_and_writes_nothing(run, table, tmp_path, how, said):
    folder = broken(table, tmp_path, how)
    out = tmp_path / "m.everypair"
    done = run("fit", str(folder), "--target", "churn", "-o", str(out))
    assert done.code == 2, done.err
    for words in said:
        assert words in done.err
    assert len(done.err.strip().splitlines()) == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["folder"]


def test_value_of_another_kind_names_file_and_row(table, tmp_path, monkeypatch):
    monkeypatch.setattr(large_table, "PIECE_ROWS", 100)
    infinite = pa.array([1e300, 1e308] * 150)
    bad = pa.table({"x": infinite, "y": [0, 1] * 150})
    folder = written(bad, tmp_path / "folder", (300,))
    with pytest.raises(DataError, match="too large"):
        LargeTable(Source(folder), "y", None, ())


@pytest.fixture
def small_memory(monkeypatch):
    """Tables above a kilobyte count as larger than memory, of which 500 rows are at hand."""
    monkeypatch.setattr(large_table, "LARGE_BYTES", 1000)
    monkeypatch.setattr(large_table, "SAMPLE_ROWS", 500)


def test_compare_of_a_larger_table_fits_on_all_rows_and_judges_on_the_sample(
    run, table, folder, small_memory
):
    asked = ["--target", "churn", "--models", "auc,logistic", "--cv", "2x1", "--json"]
    done = run("compare", str(folder), *asked)
    assert done.code == 0, done.err
    told = json.loads(done.out)
    n_rows = int(table["churn"].is_valid().to_numpy().sum())
    notes = " ".join(told["notes"])
    assert f"block by block on all {n_rows} rows outside each fold: auc" in notes
    assert (
        f"trained on the {told['n_rows']} rows of the sample outside each fold: logistic" in notes
    )
    assert told["n_rows"] < 600
    assert all(model["failure"] is None for model in told["models"])


def test_models_of_the_folds_are_those_of_the_rows_outside_them(table, folder, small_memory):
    """By an independent way: the rows in memory, cut by the hash of their number."""
    from everypair import AUCClassifier
    from everypair.app.comparison.all_rows import AllRows, FoldFits
    from everypair.app.comparison.models import CANDIDATES
    from everypair.app.large_table import EncodedRows
    from everypair.linalg.block_folds import hashed

    found = LargeTable(Source(folder), "churn", None, ["w"])
    encoder = found.encoder({})
    there = table.filter(table["churn"].is_valid())
    X, y = encoder.transform(there), there["churn"].to_numpy(zero_copy_only=False) == "yes"
    numbers = np.concatenate(found.sample.numbers)
    rows = AllRows(EncodedRows(found, encoder, ["yes"]), numbers, X[numbers])
    splits = rows.splits(3, seed=5)
    fits = FoldFits(rows, y[numbers], None, [splits], 5)
    fold = hashed(np.arange(y.size), 5) % np.uint64(3)
    for k, (train, test) in enumerate(splits):
        np.testing.assert_array_equal(fold[numbers[test]], k)
        assert np.all(fold[numbers[train]] != k)
        fitted, seconds = fits.of(CANDIDATES["auc"], 0, k)
        wanted = AUCClassifier(**fitted.settings).fit(X[fold != k], y[fold != k])
        np.testing.assert_allclose(fitted.model.coef_, wanted.coef_, rtol=1e-5, atol=1e-9)
        assert seconds > 0
    shared = rows.n_passes
    fits.of(CANDIDATES["auc-rls"], 0, 0)
    assert rows.n_passes == shared + 1  # one pass for the three folds
    final = fits.final(CANDIDATES["auc"])
    wanted = AUCClassifier(**final.settings).fit(X, y)
    np.testing.assert_allclose(final.model.coef_, wanted.coef_, rtol=1e-5, atol=1e-9)


def rows_of(folder, table):
    """The table in blocks, 400 rows of it at hand, and which of them are positive."""
    from everypair.app.comparison.all_rows import AllRows
    from everypair.app.large_table import EncodedRows

    found = LargeTable(Source(folder), "churn", None, ["w"])
    encoder = found.encoder({})
    there = table.filter(table["churn"].is_valid())
    X, y = encoder.transform(there), there["churn"].to_numpy(zero_copy_only=False) == "yes"
    numbers = np.arange(0, y.size, 3)
    return AllRows(EncodedRows(found, encoder, ["yes"]), numbers, X[numbers]), y[numbers]


@pytest.mark.parametrize(
    ("vectors", "groups"),
    [(9, [[1, 0, 2, 3, 4]]), (4, [[1, 0, 2, 3, 4]]), (3, [[1, 0, 2], [3, 4]]),
     (1, [[1, 0], [2], [3], [4]])],
)  # fmt: skip
def test_fits_share_passes_as_far_as_the_memory_goes(table, folder, monkeypatch, vectors, groups):
    """Four fits keep a vector of 8 bytes per row each, and one in closed form keeps none."""
    from everypair.app.comparison import all_rows
    from everypair.app.comparison.models import CANDIDATES

    rows, _ = rows_of(folder, table)
    monkeypatch.setattr(all_rows, "SIDE_BY_SIDE_BYTES", (8 * vectors - 24) * rows.n_rows)
    names = ["auc", "auc-rls", "auc", "auc", "auc"]
    wanted = [all_rows.WantedFit(CANDIDATES[name], {}, None) for name in names]
    assert rows._side_by_side(wanted) == groups
    assert len(rows._side_by_side([wanted[0]._replace(candidate=CANDIDATES["auc-hinge"])] * 3)) == 3


def test_a_comparison_reads_the_rows_as_often_as_its_longest_fit(table, folder, monkeypatch):
    """Fourteen fits of two methods: three folds twice, and all rows. A fit alone is the same."""
    from everypair.app.comparison import all_rows
    from everypair.app.comparison.models import CANDIDATES

    auc, rls = CANDIDATES["auc"], CANDIDATES["auc-rls"]

    def passes_and_coefs(together):
        rows, y = rows_of(folder, table)
        repeats = [rows.splits(3, seed=r) for r in range(2)]
        fits = all_rows.FoldFits(rows, y, None, repeats, 0, together=together)
        coefs = [
            fits.of(one, repeat, k)[0].model.coef_
            for one in (auc, rls) for repeat in range(2) for k in range(3)
        ]  # fmt: skip
        coefs += [fits.final(one).model.coef_ for one in (auc, rls)]
        return rows.n_passes, np.concatenate(coefs)

    shared, coefs = passes_and_coefs([auc, rls])
    of_each, one_fit = [], all_rows.AllRows._one

    def counted(self, *given):
        before = self.n_passes
        one_fit(self, *given)
        of_each.append(self.n_passes - before)

    monkeypatch.setattr(all_rows.AllRows, "_one", counted)
    monkeypatch.setattr(all_rows, "SIDE_BY_SIDE_BYTES", -24 * 1200)  # no room for a second one
    alone, wanted = passes_and_coefs([])
    np.testing.assert_array_equal(coefs, wanted)
    assert len(of_each) == 14
    assert sum(of_each) == alone
    assert shared == max(of_each)


def test_trouble_of_one_fit_is_its_own(table, folder):
    """Also where it comes in the middle of a pass that others take part in."""
    from everypair.app.comparison import all_rows
    from everypair.app.comparison.models import CANDIDATES

    class Breaks:
        def fit(self, rows):
            from everypair.linalg.block_jobs import Job
            from everypair.linalg.block_shard import ALL

            rows.blocks.run(Job.of("breaks", broken_work, reads=ALL))

    def broken_work(shard):
        if shard.start:
            raise ArithmeticError("the second block")
        return 0.0

    rows, _ = rows_of(folder, table)
    settings = {"alpha": 1e-3}
    bad = replace(CANDIDATES["auc"], build=lambda **given: Breaks())
    wanted = [
        all_rows.WantedFit(CANDIDATES["auc"], settings, None),
        all_rows.WantedFit(bad, {}, None),
        all_rows.WantedFit(CANDIDATES["auc"], settings, None),
    ]
    first, second, third = rows.fit(wanted)
    with pytest.raises(ArithmeticError, match="the second block"):
        second.found()
    (alone,) = rows.fit(wanted[:1])
    for of in (first, third):
        np.testing.assert_array_equal(of.found().model.coef_, alone.found().model.coef_)


def test_what_one_fit_says_about_convergence_is_not_said_of_another(table, folder):
    from everypair.app.comparison import all_rows
    from everypair.app.comparison.models import CANDIDATES

    rows, _ = rows_of(folder, table)
    auc = CANDIDATES["auc"]
    wanted = [all_rows.WantedFit(auc, {"alpha": 1e-6, "max_iter": n}, None) for n in (1, 100)]
    hasty, patient = (of.found().remarks for of in rows.fit(wanted))
    assert hasty == ["stopped before its tolerance was reached"]
    assert patient == []


def test_compare_reads_whole_what_is_small_or_has_to_be_in_memory(table, folder, monkeypatch):
    source = Source(folder)
    assert large_table.fits_in_memory(source, must=False)
    monkeypatch.setattr(large_table, "SAMPLE_ROWS", table.num_rows - 1)
    assert large_table.fits_in_memory(source, must=False)
    monkeypatch.setattr(large_table, "WHOLE_VALUES", table.num_rows * table.num_columns - 1)
    assert not large_table.fits_in_memory(source, must=False)
    assert large_table.fits_in_memory(source, must=True)
    monkeypatch.setattr(large_table, "SAMPLE_ROWS", table.num_rows)  # the sample is all rows
    assert large_table.fits_in_memory(source, must=False)
    monkeypatch.setattr(large_table, "LARGE_BYTES", 1000)
    assert not large_table.fits_in_memory(source, must=True)


def test_compare_of_a_table_with_many_values_and_a_direction_reads_it_whole(
    run, folder, monkeypatch
):
    monkeypatch.setattr(large_table, "SAMPLE_ROWS", 500)
    monkeypatch.setattr(large_table, "WHOLE_VALUES", 1000)
    asked = ["--target", "churn", "--models", "auc", "--cv", "2x1", "--json"]
    told = [
        json.loads(run("compare", str(folder), *asked, *more).out)
        for more in ([], ["--increasing", "age"])
    ]
    assert told[0]["n_rows"] < 600 < told[1]["n_rows"]


def test_compare_of_a_larger_table_recommends_only_what_fit_can_do(
    run, folder, small_memory, tmp_path
):
    asked = ["--target", "churn", "--cv", "2x1"]
    report = tmp_path / "page.html"
    done = run("compare", str(folder), *asked, "--models", "auc,logistic", "--report", str(report))
    assert done.code == 0, done.err
    assert report.exists()
    fits = [line for line in done.out.splitlines() if "everypair fit" in line]
    assert all("--method auc" in line for line in fits)
    alone = run("compare", str(folder), *asked, "--models", "logistic", "--json")
    assert json.loads(alone.out)["commands"] == []


@pytest.mark.parametrize("option", [["--group", "job"], ["--increasing", "age"]])
def test_compare_of_a_larger_table_refuses_what_needs_it_in_memory(
    run, folder, small_memory, option
):
    refused = run("compare", str(folder), "--target", "churn", *option)
    assert refused.code == 2
    assert f"{option[0]} needs the table in memory" in refused.err


def test_compare_of_a_folder_below_the_limit_reads_it_whole(run, table, folder):
    asked = ["--target", "churn", "--models", "auc-rls", "--cv", "2x1", "--json"]
    whole = run("compare", str(folder), *asked)
    assert whole.code == 0, whole.err
    assert json.loads(whole.out)["n_rows"] == int(table["churn"].is_valid().to_numpy().sum())


@pytest.fixture
def fitted(run, folder, tmp_path_factory):
    model = tmp_path_factory.mktemp("model") / "m.everypair"
    asked = ["--target", "churn", "--drop", "w", "--method", "auc-rls", "--no-held-out"]
    assert run("fit", str(folder), *asked, "-o", str(model)).code == 0
    return model


@pytest.mark.slow
def test_disk_that_is_full_in_the_middle_of_the_scores_leaves_nothing(fitted, folder, tmp_path):
    """Really: the process may write 20 kB, and the scores of 1,200 rows take more."""

    def little_room():
        resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))

    asked = ["score", str(fitted), str(folder), "-o", str(tmp_path / "scores.csv")]
    done = subprocess.run(
        [sys.executable, "-m", "everypair", *asked], preexec_fn=little_room, capture_output=True,
        text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 2, done.stderr
    last = done.stderr.strip().splitlines()[-1]
    assert "scores.csv: cannot be written: File too large: raise the limit on the size" in last
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("how", ["unreadable", "pages", "schema"])
def test_trouble_in_the_middle_of_the_scores_names_the_file_and_leaves_nothing(
    run, table, fitted, tmp_path, how
):
    folder = broken(table, tmp_path, how)
    done = run("score", str(fitted), str(folder), "-o", str(tmp_path / "scores.csv"))
    assert done.code == 2, done.err
    assert "part-2.parquet" in done.err if how == "pages" else "part-1.parquet" in done.err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["folder"]
