"""--within: train, judge and list inside groups, from the command line."""

from __future__ import annotations

import csv
import io
import json

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv as arrow_csv
from typer.testing import CliRunner

from everypair.app.cli.app import app
from everypair.metrics import auc_confidence_interval, auc_score, precision_at_k


def run(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """Inside a user the price points down, between users up: who spends more buys more."""
    rng = np.random.default_rng(0)
    user = np.repeat(np.arange(60), 15)
    wealth, cheap = 2 * rng.standard_normal(60)[user], rng.standard_normal(user.size)
    bought = 1.5 * cheap + wealth + rng.logistic(size=user.size) > 0
    path = tmp_path_factory.mktemp("within") / "offers.csv"
    columns = {
        "user": [f"u{k:02d}" for k in user],
        "price": np.round(wealth - cheap, 3),
        "age": np.round(40 + 5 * rng.standard_normal(user.size), 1),
        "bought": np.where(bought, "yes", "no"),
    }
    arrow_csv.write_csv(pa.table(columns), path)
    return path, user, bought


@pytest.fixture(scope="module")
def fitted(table, tmp_path_factory):
    model = tmp_path_factory.mktemp("models") / "offers.everypair"
    done = run("fit", table[0], "-t", "bought", "--within", "user", "--method", "auc", "-o", model,
               "--json")  # fmt: skip
    assert done.exit_code == 0, done.output
    return model, json.loads(done.stdout)


def test_fit_trains_inside_groups_and_says_the_area_there(table, fitted):
    path, user, bought = table
    model, said = fitted
    assert said["train_auc"] > 0.75
    scores = run("score", model, path)
    values = [float(row[1]) for row in list(csv.reader(io.StringIO(scores.stdout)))[1:]]
    assert auc_score(bought, values, within=user) == pytest.approx(said["train_auc"], abs=1e-9)
    plain = model.with_name("plain.everypair")
    run("fit", path, "-t", "bought", "--drop", "user", "--method", "auc", "-o", plain)
    other = json.loads(run("evaluate", plain, path, "--within", "user", "--json").stdout)
    assert other["auc"] < 0.4


def test_evaluate_tells_how_the_groups_differ(table, fitted):
    said = json.loads(run("evaluate", fitted[0], table[0], "--within", "user", "--json").stdout)
    assert said["within"]["column"] == "user"
    assert said["within"]["n_groups"] + said["within"]["n_groups_without_pairs"] == 60
    low, middle, high = said["within"]["quartiles"]
    assert 0 < low <= middle <= high <= 1
    assert said["low"] < said["auc"] < said["high"]
    shown = run("evaluate", fitted[0], table[0], "--within", "user").stdout
    assert "inside user" in shown
    assert "mean reciprocal rank" in shown


def test_what_is_printed_says_inside_which_groups(table, tmp_path):
    path, model = table[0], tmp_path / "model.everypair"
    inside = ("--within", "user")
    for options, words in ((inside, "AUC inside user 0."), (("--drop", "user"), "AUC 0.")):
        done = run("fit", path, "-t", "bought", *options, "--method", "auc", "-o", model)
        assert done.exit_code == 0, done.output
        assert f"\n{words}" in done.output


def test_evaluate_heeds_rows_that_belong_together(table, tmp_path):
    """Rows of a user depend on each other: by users the interval is wider, the cut lower."""
    path, user, bought = table
    model = tmp_path / "model.everypair"
    run("fit", path, "-t", "bought", "--drop", "user", "--method", "auc", "-o", model)
    values = list(csv.reader(io.StringIO(run("score", model, path).stdout)))[1:]
    scores = np.array([float(row[1]) for row in values])
    part = tmp_path / "part.csv"
    lines = path.read_text().splitlines()
    part.write_text("\n".join([lines[0], *lines[16:]]))  # not the training rows: without a user
    asked = ("evaluate", model, part, "--threshold", "recall=0.6", "--guarantee", "0.9", "--json")
    rows, users = (json.loads(run(*asked, *more).stdout) for more in ((), ("--group", "user")))
    assert rows["auc"] == users["auc"]
    assert users["high"] - users["low"] > 1.2 * (rows["high"] - rows["low"])
    assert users["threshold"]["score"] < rows["threshold"]["score"]
    found = auc_confidence_interval(bought[15:], scores[15:], groups=user[15:])
    assert (users["low"], users["high"]) == pytest.approx((found.low, found.high), abs=1e-9)
    both = json.loads(run(*asked, "--group", "user", "--within", "user").stdout)
    assert both["within"]["n_groups"] > 30
    wrong = run(*asked[:3], "--group", "nobody")
    assert wrong.exit_code != 0
    assert "nobody" in wrong.output


def test_score_lists_the_best_of_each_group(table, fitted):
    path, user, _ = table
    done = run("score", fitted[0], path, "--top", "3", "--within", "user")
    assert done.exit_code == 0, done.output
    head, *rows = csv.reader(io.StringIO(done.stdout))
    assert head[:2] == ["row", "user"]
    assert len(rows) == 60 * 3
    every = list(csv.reader(io.StringIO(run("score", fitted[0], path).stdout)))[1:]
    scores = np.array([float(row[1]) for row in every])
    for k in (0, 17):
        own = [row for row in rows if row[1] == f"u{k:02d}"]
        members = np.flatnonzero(user == k)
        expected = members[np.argsort(-scores[members], kind="stable")[:3]] + 1
        assert [int(row[0]) for row in own] == expected.tolist()
    refused = run("score", fitted[0], path, "--within", "user")
    assert refused.exit_code != 0
    assert "--top" in refused.output


def test_compare_judges_inside_groups(table):
    done = run("compare", table[0], "-t", "bought", "--within", "user", "--models",
               "auc,logistic", "--cv", "2x1", "--json")  # fmt: skip
    assert done.exit_code == 0, done.output
    said = json.loads(done.stdout)
    found = {model["name"]: model for model in said["models"]}
    assert found["auc"]["auc"] > 0.7
    assert found["logistic"]["auc"] < 0.4
    assert found["auc"]["low"] < found["auc"]["auc"] < found["auc"]["high"]
    assert any("inside groups: " in note for note in said["notes"])
    assert any("without regard to the groups" in note for note in said["notes"])
    assert said["recommended"] == "auc"


def test_what_cannot_be_is_refused(table):
    path = table[0]
    for options, words in (
        (["--within", "bought"], "this is the target"),
        (["--within", "nobody"], "nobody"),
        (["--within", "user", "--measure", "f1"], "precision@top=5"),
        (["--within", "user", "--measure", "recall@fpr=0.01"], "precision@top=5"),
        (["--within", "user", "--measure", "precision@top=15"], "every row of every group"),
    ):
        done = run("fit", path, "-t", "bought", *options, "-o", path.with_name("x.everypair"))
        assert done.exit_code != 0
        assert words in done.output


def test_fit_for_the_best_of_each_group(table, tmp_path):
    path, user, bought = table
    model = tmp_path / "top.everypair"
    done = run("fit", path, "-t", "bought", "--within", "user", "--measure", "precision@top=3",
               "--method", "measure-opt", "-o", model, "--json")  # fmt: skip
    assert done.exit_code == 0, done.output
    said = json.loads(done.stdout)
    assert said["measure"] == "precision@top=3"
    assert 0 < said["value_low"] < said["value"] < said["value_high"] < 1
    scores = run("score", model, path)
    values = [float(row[1]) for row in list(csv.reader(io.StringIO(scores.stdout)))[1:]]
    judged = json.loads(run("evaluate", model, path, "--within", "user", "--json").stdout)
    expected = precision_at_k(bought, values, 3, within=user)
    assert judged["measure"]["value"] == pytest.approx(expected, abs=1e-9)
    assert judged["measure"]["label"] == "precision of the top 3 rows of each group"
    assert judged["measure"]["low"] < expected < judged["measure"]["high"]
    everyone = json.loads(run("evaluate", model, path, "--json").stdout)
    assert everyone["measure"]["value"] != judged["measure"]["value"]
    other = run("evaluate", model, path, "--within", "user", "--measure", "f1")
    assert other.exit_code != 0
    assert "precision@top=5" in other.output


def test_compare_and_fit_judge_by_the_best_of_each_group(table, tmp_path):
    path, report = table[0], tmp_path / "found.json"
    done = run("compare", path, "-t", "bought", "--within", "user", "--models",
               "measure-opt,auc,logistic", "--cv", "2x1", "--measure", "precision@top=3",
               "--report", report, "--json")  # fmt: skip
    assert done.exit_code == 0, done.output
    found = {model["name"]: model for model in json.loads(done.stdout)["models"]}
    assert found["auc"]["value"] > found["logistic"]["value"] + 0.1
    assert found["measure-opt"]["value"] > found["logistic"]["value"] + 0.1
    assert found["auc"]["value_low"] < found["auc"]["value"] < found["auc"]["value_high"]
    model = tmp_path / "chosen.everypair"
    fitted = run("fit", path, "--from", report, "-o", model, "--json")
    assert fitted.exit_code == 0, fitted.output
    assert json.loads(fitted.stdout)["measure"] == "precision@top=3"


@pytest.mark.slow
def test_a_fast_race_is_judged_by_the_best_of_each_group(table, tmp_path):
    path, model = table[0], tmp_path / "chosen.everypair"
    auto = run("fit", path, "-t", "bought", "--within", "user", "--measure", "recall@top=3",
               "--fast", "-o", model, "--json")  # fmt: skip
    assert auto.exit_code == 0, auto.output
    assert json.loads(auto.stdout)["method"] in ("auc", "measure-opt")
