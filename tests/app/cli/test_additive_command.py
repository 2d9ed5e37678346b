"""The additive model on the command line: directions that hold, curves that can be read."""

import csv
import json

import numpy as np
import pytest

from everypair.app.cli.app import app
from everypair.app.comparison.directions import Directions
from everypair.app.comparison.models import CANDIDATES
from everypair.app.encode import TableEncoder
from everypair.app.model_file.store import load_model

typer_testing = pytest.importorskip("typer.testing")


def run(*arguments):
    return typer_testing.CliRunner().invoke(app, [str(a) for a in arguments])


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """Churn goes up with calls; age goes up and down; income is missing at times."""
    rng = np.random.default_rng(0)
    n = 300
    age, calls = rng.integers(18, 80, n), rng.poisson(2, n)
    income, job = rng.lognormal(10, 0.5, n).round(), rng.choice(["a", "b", "c"], n)
    score = -(((age - 50) / 15) ** 2) + 0.5 * calls + (job == "b") + rng.logistic(size=n)
    path = tmp_path_factory.mktemp("additive") / "t.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["age", "calls", "income", "job", "churn"])
        for k in range(n):
            money = "" if k % 11 == 0 else income[k]
            writer.writerow([age[k], calls[k], money, job[k], "yes" if score[k] > 0.5 else "no"])
    return path


@pytest.fixture(scope="module")
def model(data):
    path = data.with_name("m.everypair")
    done = run(
        "fit", data, "-t", "churn", "--method", "additive", "--increasing", "age",
        "--decreasing", "calls", "-o", path,
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    return path


@pytest.mark.parametrize(
    "method", ["auc", pytest.param("additive", marks=pytest.mark.slow), "boosting"]
)
def test_a_direction_holds_for_every_row(data, tmp_path, method):
    path = tmp_path / "m.everypair"
    done = run("fit", data, "-t", "churn", "--method", method, "--increasing", "age",
               "--no-held-out", "-o", path)  # fmt: skip
    assert done.exit_code == 0, done.output
    saved = load_model(path)
    ages = np.arange(10, 90)
    for calls, job in ((0, "a"), (5, "b")):
        rows = {
            "age": ages,
            "calls": np.full(80, calls),
            "income": np.full(80, 2e4),
            "job": [job] * 80,
        }
        assert np.all(np.diff(saved.score(rows)) >= 0)


def test_explain_shows_the_curves_in_the_units_of_the_table(model, tmp_path):
    shown = run("explain", model)
    assert shown.exit_code == 0
    assert "what each range of values adds" in shown.output
    assert "job=b" in shown.output
    assert "income is missing" in shown.output
    written = tmp_path / "curves.csv"
    assert run("explain", model, "-o", written).exit_code == 0
    lines = list(csv.DictReader(written.open()))
    of_age = [line for line in lines if line["column"] == "age"]
    assert of_age[0]["values"].startswith("up to ")
    assert 18 < float(of_age[0]["values"].split()[-1]) < 40
    adds = [float(line["adds"]) for line in of_age]
    assert adds == sorted(adds)
    of_calls = [float(line["adds"]) for line in lines if line["column"] == "calls"]
    assert of_calls == sorted(of_calls, reverse=True)
    told = json.loads(run("explain", model, "--json").stdout)
    by_name = {column["name"]: column for column in told["columns"]}
    assert list(by_name["age"]["features"].values()) == pytest.approx(adds)


def test_what_ranges_add_is_what_the_score_moves_by(model):
    saved = load_model(model)
    row = {"age": [50], "calls": [1], "income": [2e4], "job": ["a"]}
    other = row | {"job": ["b"]}
    curves = {f.name: c for f, c in zip(saved.estimator.shapes_, saved.estimator.curves_,
                                        strict=True)}  # fmt: skip
    names = saved.features()
    a, b = (curves[f"x{names.index(f'job={level}')}"] for level in "ab")
    moved = (saved.score(other) - saved.score(row))[0]
    assert moved == pytest.approx((b[1] - b[0]) - (a[1] - a[0]))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--increasing", "agee"], "'agee' is not a column"),
        (["--increasing", "job"], "'job' is a column of kind category"),
        (["--increasing", "age", "--decreasing", "age"], "both --increasing and --decreasing"),
        (["--increasing", "age", "--method", "roc-svm"], "roc-svm does not keep --increasing"),
    ],
)
def test_directions_that_cannot_be_kept_are_refused(data, tmp_path, options, message):
    path = tmp_path / "m.everypair"
    done = run("fit", data, "-t", "churn", *options, "-o", path)
    assert done.exit_code != 0
    assert message in done.output
    assert not path.exists()


def test_compare_says_who_does_not_keep_a_direction_and_hands_it_on(data, tmp_path):
    report = tmp_path / "report.json"
    done = run("compare", data, "-t", "churn", "--models", "additive,logistic", "--cv", "2x1",
               "--decreasing", "calls", "--report", report)  # fmt: skip
    assert done.exit_code == 0, done.output
    assert "does not keep --increasing and --decreasing" in done.output
    told = json.loads(report.read_text())
    assert told["options"]["decreasing"] == ["calls"]
    path = tmp_path / "m.everypair"
    done = run("fit", data, "--from", report, "--method", "additive", "-o", path)
    assert done.exit_code == 0, done.output
    names = load_model(path).features()
    where = f"x{names.index('calls')}"
    assert load_model(path).estimator.constraints == {where: "decreasing"}


def test_signs_belong_to_the_features_of_the_column():
    table = {"a": [1.0, 2, None, 4], "b": ["u", "v", "u", "v"], "c": [3.0, 1, 2, 5]}
    encoder = TableEncoder().fit(table)
    signs = Directions(["c"], ["a"]).signs(encoder)
    assert dict(zip(encoder.get_feature_names_out(), signs.tolist(), strict=True)) == {
        "a": -1, "c": 1, "a is missing": 0, "b=u": 0, "b=v": 0,
    }  # fmt: skip
    held = Directions(["c"]).onto(CANDIDATES["boosting"], encoder)
    assert held.at({"max_leaf_nodes": 6}).monotonic_cst == [0, 1, 0, 0, 0]


def test_the_points_of_a_scorecard_add_up_to_the_scores(data, model, tmp_path):
    card, scores = tmp_path / "card.json", tmp_path / "scores.csv"
    done = run("explain", model, "--scorecard", card)
    assert done.exit_code == 0, done.output
    assert run("score", model, data, "-o", scores).exit_code == 0
    lines = json.loads(card.read_text())["scorecard"]
    shares = {}
    for line in lines:
        shares[line["column"]] = shares.get(line["column"], 0) + line["share"]
    assert all(share == pytest.approx(1) for share in shares.values())

    def points(column, value):
        for line in (line for line in lines if line["column"] == column):
            name = line["bin"]
            if name == value or (value == "" and name == "(missing)") or name == "all":
                return line["points"]
            if column != "job" and value and not name.startswith("("):
                high = name.split(" to ")[-1].removeprefix("up to ")
                if name.startswith("above") or float(value) <= float(high):
                    return line["points"]
        raise AssertionError((column, value))

    with data.open() as table, scores.open() as found:
        for row, scored in zip(csv.DictReader(table), csv.DictReader(found), strict=True):
            total = points("(constant)", "all")
            total += sum(points(name, row[name]) for name in ("age", "calls", "income", "job"))
            assert float(next(v for k, v in scored.items() if "score" in k)) == pytest.approx(
                total, abs=1e-6
            )


@pytest.fixture(scope="module")
def crossed(tmp_path_factory):
    """Only the signs of a and b together tell; a is missing at times; noise and job do not."""
    rng = np.random.default_rng(1)
    n = 400
    a, b, noise = rng.normal(size=(3, n)).round(2)
    job = rng.choice(["x", "y"], n)
    positive = a * b + 0.3 * rng.logistic(size=n) > 0
    path = tmp_path_factory.mktemp("pairs") / "t.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["a", "b", "noise", "job", "y"])
        for k in range(n):
            writer.writerow(["" if k % 13 == 0 else a[k], b[k], noise[k], job[k], int(positive[k])])
    return path


def test_pairs_of_columns_are_fitted_handed_on_and_shown(crossed, tmp_path):
    report, path = tmp_path / "report.json", tmp_path / "m.everypair"
    done = run("compare", crossed, "-t", "y", "--models", "additive,logistic", "--cv", "2x1",
               "--interactions", "1", "--report", report)  # fmt: skip
    assert done.exit_code == 0, done.output
    settings = {m["name"]: m["settings"] for m in json.loads(report.read_text())["models"]}
    assert settings["additive"]["interactions"] == 1
    done = run("fit", crossed, "--from", report, "--method", "additive", "-o", path)
    assert done.exit_code == 0, done.output
    saved = load_model(path)
    names = saved.features()
    assert [(names[p.first], names[p.second]) for p in saved.estimator.pairs_] == [("a", "b")]
    assert "a x b (" in run("explain", path).output
    told = json.loads(run("explain", path, "--json").stdout)
    assert [pair["name"] for pair in told["pairs"]] == ["a x b"]
    lines = tmp_path / "curves.csv"
    assert run("explain", path, "-o", lines).exit_code == 0
    assert any(line["column"] == "a x b" for line in csv.DictReader(lines.open()))


def test_a_race_of_folds_keeps_pairs_and_the_points_of_their_cells_add_up(crossed, tmp_path):
    path, card, scores = (tmp_path / name for name in ("m.everypair", "card.json", "scores.csv"))
    done = run("fit", crossed, "-t", "y", "--method", "additive", "--budget", "600",
               "--interactions", "1", "-o", path)  # fmt: skip
    assert done.exit_code == 0, done.output
    saved = load_model(path)
    assert saved.settings["interactions"] == 1
    assert run("explain", path, "--scorecard", card).exit_code == 0
    assert run("score", path, crossed, "-o", scores).exit_code == 0
    lines = json.loads(card.read_text())["scorecard"]

    def holds(name, value):
        if value == "":
            return name == "(missing)" or name.endswith(" or missing")
        name = name.removesuffix(" or missing")
        if name == "(missing)":
            return False
        low, _, high = name.rpartition(" to ")
        if name.startswith("above "):
            return float(value) > float(name.removeprefix("above "))
        if name.startswith("up to "):
            return float(value) <= float(high or name.removeprefix("up to "))
        return float(low) < float(value) <= float(high)

    def points(column, *values):
        for line in (line for line in lines if line["column"] == column):
            parts = line["bin"].split(" and ")
            if all(part in (value, "all") or (column != "job" and holds(part, value))
                   for part, value in zip(parts, values, strict=True)):  # fmt: skip
                return line["points"]
        raise AssertionError((column, values))

    with crossed.open() as table, scores.open() as found:
        for row, scored in zip(csv.DictReader(table), csv.DictReader(found), strict=True):
            total = points("(constant)", "all") + points("a x b", row["a"], row["b"])
            total += sum(points(name, row[name]) for name in ("a", "b", "noise", "job"))
            assert float(next(v for k, v in scored.items() if "score" in k)) == pytest.approx(
                total, abs=1e-6
            )


def test_sparsity_leaves_columns_out(crossed, tmp_path):
    path = tmp_path / "m.everypair"
    done = run("fit", crossed, "-t", "y", "--method", "additive", "--sparsity", "0.9",
               "--no-held-out", "-o", path)  # fmt: skip
    assert done.exit_code == 0, done.output
    saved = load_model(path)
    assert saved.settings["sparsity"] == 0.9
    assert sum(np.any(curve != 0) for curve in saved.estimator.curves_) < len(saved.features()) - 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--interactions", "-1"], "--interactions -1 must be auto or a whole number"),
        (["--interactions", "1.5"], "--interactions 1.5 must be auto or a whole number"),
        (["--sparsity", "1"], "--sparsity 1.0 must be auto or a number from 0"),
        (["--sparsity", "nan"], "--sparsity nan must be"),
        (["--interactions", "3", "--method", "auc"], "which is not among the models"),
        (["--interactions", "auto", "--fast"], "which is not among the models"),
        (["--sparsity", "auto", "--increasing", "b"], "cannot be used with --increasing"),
    ],
)
def test_options_of_the_additive_model_that_make_no_sense_are_refused(
    crossed, tmp_path, options, message
):
    path = tmp_path / "m.everypair"
    done = run("fit", crossed, "-t", "y", *options, "-o", path)
    assert done.exit_code != 0
    assert message in " ".join(done.output.split())
    assert not path.exists()


def test_options_of_the_additive_model_are_not_in_the_command_of_another(crossed):
    done = run("compare", crossed, "-t", "y", "--models", "additive,auc-rls", "--cv", "2x1",
               "--interactions", "1")  # fmt: skip
    assert done.exit_code == 0, done.output
    command = next(line for line in done.output.splitlines() if "everypair fit" in line)
    assert ("--interactions 1" in command) == ("--method additive" in command)


def test_only_additive_models_have_a_scorecard(data, tmp_path):
    path = tmp_path / "m.everypair"
    run("fit", data, "-t", "churn", "--method", "auc", "--no-held-out", "-o", path)
    done = run("explain", path, "--scorecard", tmp_path / "card.html")
    assert done.exit_code != 0
    assert "--scorecard needs an additive model" in done.output
