"""The data check and the choice of the positive class, as the commands show them."""

from __future__ import annotations

import json
import re

import numpy as np
import pandas as pd
import pytest

QUICK = ("--models", "auc-rls,logistic", "--cv", "3x1")


def write(path, table):
    table.to_csv(path, index=False)
    return path


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    age, spend = rng.normal(40, 10, 200).round(2), rng.normal(size=200).round(4)
    churn = rng.random(200) < 1 / (1 + np.exp(-(age - 44) / 8))
    return pd.DataFrame({"age": age, "spend": spend, "churn": np.where(churn, "Yes", "No")})


@pytest.mark.parametrize(("positive", "negative"), [
    ("1", "0"), ("1", "-1"), ("1.0", "0.0"), ("yes", "no"), ("Yes", "No"), ("TRUE", "FALSE"),
    ("y", "n"), ("T", "F"), ("positive", "negative"), ("Case", "Control"), ("case", "healthy"),
    ("churned", "no"),
])  # fmt: skip
def test_the_label_that_means_yes_is_positive_however_frequent(
    run, table, tmp_path, positive, negative
):
    table["churn"] = np.where(np.arange(200) % 4 == 0, negative, positive)
    path = write(tmp_path / "t.csv", table)
    found = run("fit", path, "-t", "churn", "--method", "auc-rls", "-o", tmp_path / "m")
    assert found.code == 0, found.err
    shown = positive.removesuffix(".0")
    lower = found.err.lower()  # a column of TRUE and FALSE is read as booleans
    assert f"ranked first: churn = '{shown.lower()}', not" in lower
    assert "the label means yes (--positive changes it)" in lower


@pytest.mark.parametrize(
    ("rare", "common"), [("1", "2"), ("2", "1"), ("bad", "good"), ("M", "F"), ("F", "M")]
)
def test_the_rarer_label_is_positive_where_the_labels_say_nothing(
    run, table, tmp_path, rare, common
):
    table["churn"] = np.where(np.arange(200) % 4 == 0, rare, common)
    path = write(tmp_path / "t.csv", table)
    found = run("fit", path, "-t", "churn", "--method", "auc-rls", "-o", tmp_path / "m")
    assert f"Ranked first: churn = '{rare}', not '{common}': it is rarer" in found.err


def test_labels_that_differ_by_case_or_spaces_are_one_and_said(run, table, tmp_path):
    table.loc[:5, "churn"] = ["yes", "YES", " Yes", "no", "no ", "NO"]
    path = write(tmp_path / "t.csv", table)
    found = run("fit", path, "-t", "churn", "--method", "auc-rls", "-o", tmp_path / "m")
    assert found.code == 0, found.err
    assert "labels that differ by case or spaces only are read as one, 'Yes'" in found.err
    said = json.loads(run("evaluate", tmp_path / "m", path, "--json").out)
    named = run(
        "fit",
        path,
        "-t",
        "churn",
        "--positive",
        "yes",
        "--method",
        "auc-rls",
        "-o",
        tmp_path / "n",
        "--json",
    )
    assert said["n_positive"] == json.loads(named.out)["n_positive"]


def test_the_ranked_class_is_in_the_header_of_the_scores(run, table, tmp_path):
    path = write(tmp_path / "t.csv", table)
    run("fit", path, "-t", "churn", "--method", "auc-rls", "-o", tmp_path / "m")
    found = run("score", tmp_path / "m", path, "--top", "2", "-q")
    assert found.out.splitlines()[0] == "row,score: churn=Yes,probability,predicted"


def test_a_leak_is_named_above_the_verdict_with_its_drop(run, table, tmp_path):
    table["charge off date"] = np.where(table["churn"] == "Yes", "2020-01-01", None)
    path = write(tmp_path / "t.csv", table)
    found = run("compare", path, "-t", "churn", *QUICK, "-q")
    lines = found.out.splitlines()
    at = next(
        k for k, line in enumerate(lines) if line.startswith("Warning: column 'charge off date'")
    )
    assert "by being known" in lines[at]
    assert "--drop 'charge off date'" in lines[at]
    assert any("best baseline" in line for line in lines[at + 1 :])
    assert "warning: column 'charge off date'" in found.err
    said = json.loads(run("compare", path, "-t", "churn", *QUICK, "--json").out)
    assert said["findings"][0]["kind"] == "leak"
    dropped = run("compare", path, "-t", "churn", *QUICK, "-q", "--drop", "charge off date")
    assert "arning" not in dropped.out + dropped.err


@pytest.mark.usefixtures("whole_searches")
def test_copies_are_never_on_both_sides_of_a_fold(run, table, tmp_path):
    rows = np.random.default_rng(1).integers(0, 60, 300)
    path = write(tmp_path / "t.csv", table.iloc[rows])
    models = ("--models", "boosting", "--cv", "3x1", "--json")
    areas = {
        m["name"]: m["auc"]
        for m in json.loads(run("compare", path, "-t", "churn", *models).out)["models"]
    }
    assert areas["boosting"] < 0.9  # learnt by heart it has 0.99: see the next test
    shuffled = table.iloc[rows].assign(noise=np.arange(300) * 1.1)  # no row equals another
    unseen = run("compare", write(tmp_path / "u.csv", shuffled), "-t", "churn", *models).out
    assert {m["name"]: m["auc"] for m in json.loads(unseen)["models"]}["boosting"] > 0.97


def test_identifiers_are_left_out_with_a_note_and_kept_on_request(run, table, tmp_path):
    table.insert(0, "CustomerId", np.random.default_rng(2).choice(10**6, 200, replace=False))
    path = write(tmp_path / "t.csv", table)
    fit = ("fit", path, "-t", "churn", "--method", "auc-rls", "-o", tmp_path / "m")
    found = run(*fit)
    assert re.search(
        "column 'CustomerId' is not used: it looks like an identifier.*--keep Cust", found.err
    )
    said = json.loads(run(*fit, "--json").out)
    assert said["n_features"] == 2
    assert [f["kind"] for f in said["findings"]] == ["left out"]
    assert json.loads(run(*fit, "--json", "--keep", "CustomerId").out)["n_features"] == 3
    assert "in --drop and in --keep" in run(*fit, "--keep", "age", "--drop", "age").err


def test_the_check_is_a_small_part_of_a_fit(tmp_path):
    """On a table of usual size: a fit with the search takes seconds, the check a tenth of one."""
    import time

    from everypair.app import check_table

    rng = np.random.default_rng(0)
    columns = {f"x{k}": rng.normal(size=5000) for k in range(8)}
    columns |= {f"c{k}": rng.choice(list("abcdefgh"), 5000) for k in range(6)}
    y = rng.random(5000) < 0.2
    check_table(columns, y)
    began = time.process_time()
    check_table(columns, y)
    assert time.process_time() - began < 0.3


def test_reports_of_unknown_endings_and_lists_with_commas_are_refused_in_words(
    run, table, tmp_path
):
    path = write(tmp_path / "t.csv", table)
    found = run("compare", path, "-t", "churn", *QUICK, "--report", tmp_path / "r.pdf")
    assert found.code == 2
    assert "use .html for a page, .json for JSON" in found.err
    found = run("compare", path, "-t", "churn", *QUICK, "--drop", "age,spend")
    assert found.code == 2
    assert "give the option once for each column" in found.err
    found = run("compare", path, "-t", "churn", *QUICK, "--within", "age,spend")
    assert found.code == 2
    assert found.err.endswith("the file has no such column: give the name of one column.\n")


@pytest.mark.parametrize("option", ["--within", "--weight", "--group"])
def test_a_second_column_is_refused_where_one_is_taken(run, table, tmp_path, option):
    path = write(tmp_path / "t.csv", table)
    found = run("compare", path, "-t", "churn", *QUICK, option, "age", option, "spend")
    assert found.code == 2
    assert f"{option} takes one column, not 'age' and 'spend': give it once." in found.err
