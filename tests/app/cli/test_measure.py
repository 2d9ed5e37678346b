"""--measure in compare, fit and evaluate."""

from __future__ import annotations

import csv
import json
import shlex

import numpy as np
import pytest
from scored import scores_in
from sklearn.metrics import f1_score

MODELS = ("--models", "measure-opt,auc-rls", "--cv", "2x1")


def labels(table):
    with table.open() as file:
        return np.array([row["churn"] == "yes" for row in csv.DictReader(file)])


def test_compare_is_sorted_by_the_measure_and_says_so(run, mixed):
    found = run("compare", mixed, "-t", "churn", *MODELS, "--measure", "recall@fpr=10%")
    assert found.code == 0, found.err
    assert "recall@fpr=0.1" in found.out
    assert "measure-opt" in found.out
    assert "Judged by recall at 10% false positives (higher is better)" in found.out
    assert "bootstrap of the rows" in found.out
    assert "--measure recall@fpr=0.1 -o model.everypair" in found.out
    said = json.loads(
        run("compare", mixed, "-t", "churn", *MODELS, "--measure", "recall@fpr=10%", "--json").out
    )
    assert (said["measure"], said["lower_is_better"]) == ("recall@fpr=0.1", False)
    values = [model["value"] for model in said["models"]]
    assert values == sorted(values, reverse=True)
    for model in said["models"]:
        assert model["value_low"] <= model["value"] <= model["value_high"]
        assert len(model["fold_value"]) == 2
        assert np.mean(model["fold_value"]) == pytest.approx(model["value"])


def test_by_auc_nothing_has_changed(run, mixed):
    """No measure, no model trained on one; `auc` is what goes without saying."""
    found = run("compare", mixed, "-t", "churn", "--cv", "3x1", "--models", "auc,logistic",
                "--measure", "auc", "--json")  # fmt: skip
    said = json.loads(found.out)
    assert said["measure"] == "auc"
    assert all(model["value"] is None for model in said["models"])
    assert "--measure" not in said["commands"][0]


REFUSED = {
    ("--measure", "accuracy"): "'accuracy' is not known: use auc, f1, ",
    ("--measure", "recall@fpr=0"): "fpr must lie between 0 and 1",
    ("--measure", "precision@top=0"): "top must be a count of rows",
    ("--measure", "precision@top=201"): "asks for more rows than there are (200)",
}


@pytest.mark.parametrize("options", REFUSED, ids=" ".join)
def test_a_measure_that_cannot_be_is_refused_in_one_line(run, mixed, model, tmp_path, options):
    out = tmp_path / "m.everypair"
    for command in (
        ("compare", mixed, "-t", "churn", *MODELS, "-q"),
        ("fit", mixed, "-t", "churn", "-o", out, "-q"),
        ("evaluate", model, mixed),
    ):
        found = run(*command, *options)
        assert found.code == 2
        assert REFUSED[options] in found.err
        assert len(found.err.splitlines()) == 1
        assert found.out == ""
    assert not out.exists()


def test_fast_has_measure_opt_where_there_is_a_measure():
    from everypair.app.comparison.models import fast_models
    from everypair.app.comparison.typed_measure import parse_measure

    assert fast_models(parse_measure("mcc")) == ["measure-opt", *fast_models()]


def test_measure_opt_without_a_measure_is_refused(run, mixed, tmp_path):
    needed = "measure-opt needs a measure, such as --measure f1"
    asked = run("compare", mixed, "-t", "churn", "--models", "measure-opt")
    assert asked.code == 2
    assert needed in asked.err
    options = ("-t", "churn", "-o", tmp_path / "m")
    asked = run("fit", mixed, *options, "--method", "measure-opt")
    assert asked.code == 2
    assert needed in asked.err


def test_auto_goes_by_the_measure(run, mixed, tmp_path):
    options = ("-t", "churn", "-o", tmp_path / "m", "--fast")
    found = run("fit", mixed, *options, "--measure", "cost=1:5", "--json")
    assert found.code == 0, found.err
    said = json.loads(found.out)
    assert said["fold_auc"] is None
    values = {name: np.mean(of) for name, of in said["fold_values"].items()}
    assert said["method"] in values
    assert all(0 < value < 1 for value in values.values())  # a mean cost per row
    assert "measure-opt, fold 1" not in found.out
    printed = run("fit", mixed, *options, "--measure", "cost=1:5").err
    assert "within one standard error of the best. cost=1:5 over 2 folds:" in " ".join(
        printed.split()
    )
    by_area = json.loads(run("fit", mixed, *options, "--json").out)
    assert by_area["fold_values"] is None
    assert set(by_area["fold_auc"]) >= {by_area["method"]}


def test_fit_of_measure_opt_ships_its_cut(run, mixed, tmp_path):
    path = tmp_path / "m.everypair"
    trained = ("fit", mixed, "-t", "churn", "-o", path, "--measure", "f1")
    trained = (*trained, "--method", "measure-opt")
    found = run(*trained, "--json")
    assert found.code == 0, found.err
    said = json.loads(found.out)
    assert (said["method"], said["measure"]) == ("measure-opt", "f1")
    assert said["value_low"] <= said["value"] <= said["value_high"]
    assert set(said["settings"]) == {"alpha", "saturation"}
    rows = scores_in(run("score", path, mixed).out)
    called = np.array([row["predicted"] == "yes" for row in rows])
    np.testing.assert_array_equal(called, [float(row["score"]) > 0 for row in rows])
    measured = json.loads(run("evaluate", path, mixed, "--json").out)["measure"]
    assert measured["name"] == "f1"  # that of the model, without being asked
    assert measured["value"] == pytest.approx(f1_score(labels(mixed), called))
    assert measured["low"] <= measured["value"] <= measured["high"]
    assert measured["at_best_cut"] >= measured["value"]
    printed = run(*trained).out
    assert f"f1 {said['value']:.3f} on held-out rows, 95% interval" in printed


@pytest.mark.parametrize(
    "method", ["logistic", pytest.param("boosting", marks=pytest.mark.slow), "auc-rls-rbf"]
)
def test_every_method_is_cut_for_the_measure(run, mixed, tmp_path, method):
    """Where a miss costs fifty false alarms, most rows are called; by AUC few are."""
    path, plain = tmp_path / "m.everypair", tmp_path / "plain.everypair"
    options = ("-t", "churn", "--method", method, "-q")
    assert run("fit", mixed, *options, "-o", plain).code == 0
    assert run("fit", mixed, *options, "-o", path, "--measure", "cost=1:50").code == 0
    scores = {
        file: np.array([float(row["score"]) for row in scores_in(run("score", file, mixed).out)])
        for file in (path, plain)
    }
    assert np.mean(scores[path] > 0) > max(0.6, np.mean(scores[plain] > 0))


def test_evaluate_says_the_measure_the_interval_and_the_best(run, mixed, model):
    found = run("evaluate", model, mixed, "--measure", "f1")
    assert "F1 0." in found.out
    assert "at the model's threshold, 95% interval 0." in found.out
    assert "; at best, with the threshold chosen on these rows, 0." in found.out
    said = json.loads(run("evaluate", model, mixed, "--measure", "f1", "--json").out)
    assert said["measure"]["value"] == pytest.approx(said["at_threshold"]["f1"])
    quota = json.loads(run("evaluate", model, mixed, "--measure", "precision@top=20", "--json").out)
    top = scores_in(run("score", model, mixed, "--top", "20").out)
    truth = labels(mixed)
    wanted = np.mean([truth[int(row["row"]) - 1] for row in top])
    assert quota["measure"]["value"] == pytest.approx(wanted)
    assert quota["measure"]["at_best_cut"] is None
    assert json.loads(run("evaluate", model, mixed, "--json").out)["measure"] is None
    whole = ("evaluate", model, mixed, "--measure", "recall@top=99.9%")
    assert json.loads(run(*whole, "--json").out)["measure"]["low"] is None
    assert "1.000, no interval" in run(*whole).out
    low = json.loads(run("evaluate", model, mixed, "--measure", "cost=1:2", "--json").out)
    counts = low["at_threshold"]
    cost = (counts["false_positives"] + 2 * counts["false_negatives"]) / low["rows"]
    assert low["measure"]["value"] == pytest.approx(cost)
    assert low["measure"]["lower_is_better"]
    assert low["measure"]["at_best_cut"] <= cost


def test_the_printed_commands_and_the_report_carry_the_measure(run, mixed, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    compared = ("compare", mixed, "-t", "churn", *MODELS, "--measure", "f2")
    said = json.loads(run(*compared, "--json").out)
    fit = shlex.split(said["commands"][0])
    assert fit[fit.index("--measure") + 1] == "fbeta=2"
    assert run(*fit[1:]).code == 0
    assert run(*compared, "--report", "r.json").code == 0
    recommended = next(m for m in said["models"] if m["name"] == said["recommended"])
    taken = json.loads(run("fit", mixed, "--from", "r.json", "-o", "n.everypair", "--json").out)
    assert (taken["measure"], taken["method"]) == ("fbeta=2", said["recommended"])
    assert taken["settings"] == recommended["settings"]
    ours = next(m for m in said["models"] if m["name"] == "measure-opt")
    options = ("fit", mixed, "--from", "r.json", "-o", "n.everypair")
    made = run(*options, "--method", "measure-opt", "--measure", "f2", "--json")
    assert json.loads(made.out)["settings"] == ours["settings"]
    other = run(*options, "--measure", "f1")
    assert other.code == 2
    assert "made with --measure fbeta=2, not with --measure f1" in other.err


def test_the_page_is_written_for_every_kind_of_measure(run, mixed, tmp_path):
    pytest.importorskip("jinja2")
    for typed in ("mcc", "precision@top=20", "average-precision"):
        page = tmp_path / "r.html"
        found = run("compare", mixed, "-t", "churn", "--models", "auc-rls", "--cv", "2x1",
                    "--measure", typed, "--report", page)  # fmt: skip
        assert found.code == 0, found.err
        assert f"<b>{typed}</b>" in page.read_text()
