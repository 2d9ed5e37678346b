"""What the commands print and write, on a table of mixed columns."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest
from mixed_table import write_mixed
from scored import scores_in
from sklearn.metrics import roc_auc_score


def test_scores_are_those_of_the_model_in_python(run, mixed, model):
    import pyarrow.csv

    from everypair.app.files.delimited import MISSING
    from everypair.app.model_file.store import load_model

    found = run("score", model, mixed)
    assert found.code == 0
    rows = scores_in(found.out)
    assert [row["row"] for row in rows] == [str(k) for k in range(1, 201)]
    options = pyarrow.csv.ConvertOptions(null_values=MISSING, strings_can_be_null=True)
    table = pyarrow.csv.read_csv(mixed, convert_options=options)
    expected = load_model(model).score(table)
    np.testing.assert_allclose([float(row["score"]) for row in rows], expected, rtol=1e-12)
    assert {row["predicted"] for row in rows} == {"yes", "no"}


def test_top_rows_are_the_highest_scores_best_first(run, mixed, model, monkeypatch):
    from everypair.app.files import delimited

    whole = scores_in(run("score", model, mixed, "--id", "id").out)
    best = sorted(whole, key=lambda row: -float(row["score"]))[:7]
    monkeypatch.setattr(delimited, "CHUNK_BYTES", 500)
    top = scores_in(run("score", model, mixed, "--id", "id", "--top", "7").out)
    for name in ("id", "predicted"):
        assert [row[name] for row in top] == [row[name] for row in best]
    # Pieces of other sizes round otherwise.
    scores = [[float(row["score"]) for row in rows] for rows in (top, best)]
    np.testing.assert_allclose(*scores, rtol=1e-12)


def test_pieces_of_a_file_score_as_the_whole(run, mixed, model, monkeypatch):
    from everypair.app.files import delimited

    whole = [float(row["score"]) for row in scores_in(run("score", model, mixed).out)]
    monkeypatch.setattr(delimited, "CHUNK_BYTES", 300)
    pieces = [float(row["score"]) for row in scores_in(run("score", model, mixed).out)]
    np.testing.assert_allclose(pieces, whole, rtol=1e-9, atol=1e-12)


def test_evaluate_agrees_with_scikit_learn(run, mixed, model):
    found = run("evaluate", model, mixed, "--json")
    said = json.loads(found.out)
    labels = [row["churn"] == "yes" for row in csv.DictReader(mixed.open())]
    scores = [float(row["score"]) for row in scores_in(run("score", model, mixed).out)]
    assert said["auc"] == pytest.approx(roc_auc_score(labels, scores), abs=1e-12)
    assert said["low"] < said["auc"] < said["high"]
    counts = said["at_threshold"]
    assert counts["true_positives"] + counts["false_negatives"] == sum(labels)
    assert "predicted yes" in run("evaluate", model, mixed).out


def test_evaluate_on_the_training_rows_says_so_and_on_others_does_not(run, mixed, model, tmp_path):
    said = "these seem to be the rows that the model was trained on"
    assert said in run("evaluate", model, mixed).err
    assert said in json.loads(run("evaluate", model, mixed, "--json").out)["notes"][0]
    header, *rows = mixed.read_text().splitlines()
    shuffled = tmp_path / "shuffled.csv"
    shuffled.write_text("\n".join([header, *rows[::-1]]) + "\n")
    assert said in run("evaluate", model, shuffled).err
    half = tmp_path / "half.csv"
    half.write_text("\n".join([header, *rows[: len(rows) // 2]]) + "\n")
    assert said not in run("evaluate", model, half).err


def test_explain_ranks_named_weights(run, model, tmp_path):
    said = json.loads(run("explain", model, "--json").out)
    sizes = [abs(weight) for weight in said["weights"].values()]
    assert sizes == sorted(sizes, reverse=True)
    assert next(iter(said["weights"])) in ("age", "job=pilot")
    assert "since: month" in said["weights"]
    shown = run("explain", model, "--top", "3", "-o", tmp_path / "w.csv")
    assert "more; --top" in shown.err
    assert len((tmp_path / "w.csv").read_text().splitlines()) == said["n_features"] + 1


def test_kernel_model_scores_and_tells_columns_but_has_no_weights(run, mixed, tmp_path):
    path = tmp_path / "kernel.everypair"
    made = run("fit", mixed, "-t", "churn", "-o", path, "--method", "auc-rls-rbf", "--quiet")
    assert made.code == 0
    assert made.out == ""
    assert made.err == ""
    assert run("score", path, mixed, "--top", "1").code == 0
    found = run("explain", path)
    assert found.code == 0
    assert "has no weights" in found.out


def test_path_says_what_enters(run, mixed, tmp_path):
    found = run("path", mixed, "-t", "churn", "--steps", "6", "--json", "-o", tmp_path / "path.csv")
    said = json.loads(found.out)
    assert said["steps"][0]["n_features"] == 0
    assert "age" in said["steps"][1]["entered"] + said["steps"][2]["entered"]
    counts = [step["n_features"] for step in said["steps"]]
    assert counts[-1] > 2
    assert len((tmp_path / "path.csv").read_text().splitlines()[0].split(",")) == 7
    assert "Chosen: alpha" in run("path", mixed, "-t", "churn", "--steps", "6").out


def test_compare_prints_the_table_and_the_verdict(run, mixed):
    found = run(
        "compare", mixed, "-t", "churn", "--models", "auc,logistic", "--cv", "3x1", "--drop", "vip"
    )
    assert found.code == 0, found.err
    assert "logistic (best baseline)" in found.out
    assert "95% interval" in found.out
    assert "best baseline, logistic" in found.out
    assert "column 'const' is not used" in found.err


def test_compare_json_is_one_object_and_nothing_else(run, mixed):
    found = run(
        "compare", mixed, "-t", "churn", "--models", "auc-rls,logistic", "--cv", "3", "--json"
    )
    said = json.loads(found.out)
    assert found.err == ""
    assert {model["name"] for model in said["models"]} == {"auc-rls", "logistic"}
    assert all(len(model["fold_auc"]) == 3 for model in said["models"])
    assert said["positive"] == "yes"


def test_report_is_written_whole(run, mixed, tmp_path, monkeypatch):
    report = tmp_path / "report.html"
    options = ("--models", "auc-rls", "--cv", "2x1", "--report", report)
    found = run("compare", mixed, "-t", "churn", *options)
    assert found.code == 0, found.err
    assert str(report) in found.out
    old = report.read_text()
    assert "AUC" in old

    def fails(number):
        raise RuntimeError("no paper")

    monkeypatch.setattr("os.fsync", fails)
    found = run("compare", mixed, "-t", "churn", *options)
    assert found.code == 1
    assert "unexpected RuntimeError: no paper" in found.err
    assert report.read_text() == old
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]


@pytest.mark.parametrize("ours", ["auc-rls", pytest.param("additive", marks=pytest.mark.slow)])
def test_demo_compares_and_says_where_the_report_is(run, tmp_path, monkeypatch, ours):
    import sys
    import types

    from everypair.app.comparison import models

    few = {name: models.CANDIDATES[name] for name in (ours, "logistic")}
    monkeypatch.setattr(models, "CANDIDATES", few)
    monkeypatch.setattr("everypair.app.cli.compare.DEMO_MODELS", list(few))
    fake = types.SimpleNamespace(write_report=lambda found, path: path.write_text(found.verdict))
    monkeypatch.setitem(sys.modules, "everypair.app.report", fake)
    monkeypatch.chdir(tmp_path)
    found = run("demo")
    assert found.code == 0, found.err
    loans, tumours = found.out.split("tumours.csv: ")
    assert f"Report: {tmp_path / 'everypair-demo.html'}" in loans
    if ours == "additive":
        assert "additive ranks better than the best baseline" in loans
    assert "Nothing here beats the best baseline" in tumours
    assert "To see which case is yours" in found.err


def test_samples_are_written_once_and_can_be_fitted(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, target in {"customers.csv": "churn", "loans.csv": "late"}.items():
        assert run("sample", name).code == 0
        found = run("sample", name)
        assert found.code == 2
        assert f"{name} exists already" in found.err
        assert run("fit", name, "-t", target, "--method", "auc-rls", "-o", "m").code == 0
    assert (
        "there is no sample 'cars.csv': give one of customers.csv" in run("sample", "cars.csv").err
    )


def test_unseen_categories_are_scored_and_counted(run, mixed, model, tmp_path):
    new = tmp_path / "new.csv"
    new.write_text(mixed.read_text().replace("pilot", "astronaut"))
    found = run("score", model, new, "-o", tmp_path / "s.csv")
    assert found.code == 0
    assert "column 'job'" in found.err
    assert "that did not occur in training" in found.err


def test_columns_may_come_in_another_order_and_with_others(run, mixed, model, tmp_path):
    rows = list(csv.DictReader(mixed.open()))
    with (tmp_path / "new.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, ["extra", *reversed(rows[0])])
        writer.writeheader()
        writer.writerows({"extra": "1", **row} for row in rows)
    assert run("score", model, tmp_path / "new.csv").out == run("score", model, mixed).out


def test_missing_column_and_wrong_value_are_named(run, mixed, model, tmp_path):
    lines = mixed.read_text().splitlines()
    (tmp_path / "lacks.csv").write_text("\n".join([lines[0].replace("age", "years"), *lines[1:]]))
    found = run("score", model, tmp_path / "lacks.csv", "-o", tmp_path / "s.csv")
    assert found.code == 2
    assert "lacks.csv, column 'age'" in found.err
    fields = lines[5].split(",")
    fields[1] = "old"
    (tmp_path / "word.csv").write_text("\n".join([*lines[:5], ",".join(fields), *lines[6:]]))
    found = run("score", model, tmp_path / "word.csv", "-o", tmp_path / "s.csv")
    assert found.code == 2
    assert "word.csv, row 5, column 'age': 'old' is not a number" in found.err
    assert not (tmp_path / "s.csv").exists()
    assert not list(tmp_path.glob(".*"))


def test_every_format_gives_the_same_model(run, mixed, tmp_path):
    import pyarrow.csv
    import pyarrow.feather
    import pyarrow.parquet

    table = pyarrow.csv.read_csv(mixed, convert_options=pyarrow.csv.ConvertOptions(
        null_values=["", "NA"], strings_can_be_null=True
    ))  # fmt: skip
    pyarrow.parquet.write_table(table, tmp_path / "t.parquet")
    pyarrow.feather.write_feather(table, tmp_path / "t.feather")
    (tmp_path / "t.tsv").write_text(mixed.read_text().replace(",", "\t"))
    areas, scored = set(), set()
    for path in (mixed, *sorted(tmp_path.glob("t.*"))):
        model = tmp_path / "m.everypair"
        said = run("fit", path, "-t", "churn", "-o", model, "--method", "auc-rls", "--json")
        assert said.code == 0, said.err
        areas.add(round(json.loads(said.out)["train_auc"], 10))
        top = scores_in(run("score", model, path, "--id", "id", "--top", "5").out)
        scored.add(tuple(row["id"] for row in top))
    assert len(areas) == len(scored) == 1


def test_svmlight_stays_sparse_and_ignores_new_features(run, tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    lines = []
    for k in range(60):
        columns = sorted(rng.choice(300, 5, replace=False) + 2)
        lines.append(f"{k % 2} 1:{k % 2 + rng.random():.3f} " + " ".join(f"{c}:1" for c in columns))
    (tmp_path / "t.svm").write_text("\n".join(lines) + "\n")
    model = tmp_path / "m.everypair"
    made = run("fit", tmp_path / "t.svm", "-o", model, "--method", "auc")
    assert made.code == 0, made.err
    (tmp_path / "new.svm").write_text("0 1:0.1\n0 1:1.9 2000000:5\n")
    found = scores_in(run("score", model, tmp_path / "new.svm").out)
    assert float(found[1]["score"]) > float(found[0]["score"])
    assert run("evaluate", model, tmp_path / "t.svm", "--json").code == 0


def test_weights_and_groups_are_taken_from_columns(run, tmp_path):
    path = write_mixed(tmp_path / "t.csv")
    lines = path.read_text().splitlines()
    extra = [f"{line},{k % 3},{k % 20}" for k, line in enumerate(lines[1:])]
    path.write_text("\n".join([f"{lines[0]},w,g", *extra]))
    options = (
        "-t",
        "churn",
        "--weight",
        "w",
        "--group",
        "g",
        "--models",
        "auc-rls,svm-f1,logistic",
    )
    found = run("compare", path, *options, "--cv", "2x1", "--json")
    assert found.code == 0, found.err
    said = json.loads(found.out)
    assert "svm-f1 ignores the weights." in said["notes"]
    path.write_text(path.read_text().replace(",2,14\n", ",-2,14\n", 1))
    found = run("compare", path, *options)
    assert found.code == 2
    assert "column 'w': the weight is -2" in found.err


def test_third_label_in_evaluation_is_named(run, mixed, model, tmp_path):
    new = tmp_path / "new.csv"
    lines = mixed.read_text().splitlines()
    lines[3] = lines[3].rsplit(",", 1)[0] + ",maybe"
    new.write_text("\n".join(lines))
    found = run("evaluate", model, new)
    assert found.code == 2
    assert "new.csv, row 3, column 'churn': 'maybe' is neither 'yes' nor 'no'" in found.err


def test_labels_that_differ_by_case_are_one_in_training_and_in_evaluation(run, tmp_path):
    rng = np.random.default_rng(0)
    path = tmp_path / "labels.csv"
    rows = [f"{rng.normal():.4f},{'Aabc'[k % 4]}" for k in range(120)]
    path.write_text("\n".join(["x,label", *rows]) + "\n")
    model = tmp_path / "m.everypair"
    fitted = run("fit", path, "-t", "label", "--positive", "A", "--method", "auc", "-o", model)
    assert fitted.code == 0
    assert "60 positive" in fitted.out
    assert json.loads(run("evaluate", model, path, "--json").out)["n_positive"] == 60


def test_a_report_that_cannot_be_written_is_refused_before_the_work(run, mixed, monkeypatch):
    from everypair.app.comparison import run as comparing

    monkeypatch.setattr(comparing, "compare_methods", lambda *a, **k: pytest.fail("worked"))
    found = run("compare", mixed, "-t", "churn", "--report", mixed.parent / "nowhere" / "r.html")
    assert found.code == 2
    assert "nowhere" in found.err


def test_the_index_of_pandas_is_no_column(run, tmp_path):
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    frame = pandas.DataFrame({"x": rng.normal(size=60), "y": ["no"] * 40 + ["yes"] * 20})
    path = tmp_path / "sorted.parquet"
    frame[frame.x < 10].drop(index=3).to_parquet(path)
    model = tmp_path / "m.everypair"
    assert run("fit", path, "-t", "y", "--method", "auc", "-o", model).code == 0
    features = json.loads(run("explain", model, "--json").out)
    assert "__index_level_0__" not in str(features)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["score", "m", "d.csv", "--top", "0"], "--top 0: give a count"),
        (["path", "d.csv", "--steps", "few"], "'--steps'"),
        (["fit", "d.csv"], "'--output'"),
        (["fit", "d.csv", "-o"], "-o"),
        (["sing"], "'sing'"),
        (["fit", "--loud"], "--loud"),
        (["score"], "everypair score --help"),
    ],
)
def test_complaints_about_options_are_one_line(arguments, said, run):
    found = run(*arguments)
    assert found.code == 2
    assert found.out == ""
    assert found.err.startswith("everypair: ")
    assert found.err.count("\n") == 1
    assert said in found.err


def test_no_arguments_show_the_help(run):
    found = run()
    assert found.code == 0
    assert "compare" in found.out


def test_backslash_t_is_a_tab(run, mixed, tmp_path):
    path = tmp_path / "t.txt"
    path.write_text(mixed.read_text().replace(",", "\t"))
    options = ("-t", "churn", "-o", tmp_path / "m.everypair", "--method", "auc-rls")
    assert run("fit", path, *options, "--delimiter", r"\t").code == 0


def test_weights_with_decimal_commas_weigh_alike(run, mixed, model, tmp_path):
    header, *lines = mixed.read_text().splitlines()
    weights = [0.25 + 0.5 * (k % 3) for k in range(len(lines))]
    points, commas = tmp_path / "points.csv", tmp_path / "commas.csv"
    rows = zip(lines, weights, strict=True)
    points.write_text("\n".join([f"{header},w", *(f"{line},{w}" for line, w in rows)]))
    fields = points.read_text().replace(",", ";")
    commas.write_text(fields.replace(".", ","))
    found = [
        json.loads(run("evaluate", model, path, "--weight", "w", "--json").out)
        for path in (points, commas)
    ]
    assert found[0]["auc"] == found[1]["auc"]
    assert found[0]["auc"] != json.loads(run("evaluate", model, points, "--json").out)["auc"]


def test_zones_commas_and_spaces_go_through_every_command(run, tmp_path):
    """One table in three spellings: the models and the scores are the same."""
    rng = np.random.default_rng(0)
    rows = []
    for k in range(120):
        x, hour = rng.normal(), int(rng.integers(24))
        label = "yes" if x + 0.1 * hour + rng.logistic() > 2 else "no"
        rows.append((f"{x:.2f}" if k > 40 else "1", f"2020-01-{1 + k % 28:02d}T{hour:02d}:00:00",
                     "ab"[k % 2], label))  # fmt: skip
    spellings = {
        "plain.csv": [("x", "at", "c", "y"), *rows],
        "zoned.csv": [("x", "at", "c", "y"), *((x, f"{t}Z", c, y) for x, t, c, y in rows)],
        "spaced.csv": [("x", " at", " c", " y"), *((f"{x} ", f" {t}", f" {c}", f" {y} ")
                       for x, t, c, y in rows)],
        "comma.csv": [("x", "at", "c", "y"), *((x.replace(".", ","), t, c, y)
                      for x, t, c, y in rows)],
    }  # fmt: skip
    seen = set()
    for name, lines in spellings.items():
        path, model = tmp_path / name, tmp_path / "m.everypair"
        mark = ";" if name == "comma.csv" else ","
        path.write_text("\n".join(mark.join(line) for line in lines) + "\n")
        fitted = run("fit", path, "-t", "y", "-o", model, "--method", "auc-rls", "--json")
        assert fitted.code == 0, fitted.err
        scored = run("score", model, path)
        assert scored.code == 0, scored.err
        judged = run("evaluate", model, path, "--json")
        compared = run("compare", path, "-t", "y", "--models", "auc-rls", "--cv", "2x1", "--json")
        seen.add(
            (
                json.loads(fitted.out)["train_auc"],
                round(float(scores_in(scored.out)[7]["score"]), 9),
                json.loads(judged.out)["auc"],
                json.loads(compared.out)["models"][0]["auc"],
            )
        )
    assert len(seen) == 1


def test_equal_names_are_explained_apart(run, tmp_path):
    rng = np.random.default_rng(0)
    path, model = tmp_path / "t.csv", tmp_path / "m.everypair"
    rows = [f"{'ab'[k % 2]},{rng.normal():.3f},{int(rng.random() < 0.4)}" for k in range(60)]
    path.write_text("\n".join(["job,job=a,y", *rows]) + "\n")
    assert run("fit", path, "-t", "y", "-o", model, "--method", "auc-rls").code == 0
    said = json.loads(run("explain", model, "--json").out)
    assert set(said["weights"]) == {"'job=a'", "'job'='a'", "job=b"}
    assert len(said["weights"]) == said["n_features"]
