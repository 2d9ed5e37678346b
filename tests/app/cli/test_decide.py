"""From score to decision on the command line: probabilities, thresholds, tops, columns."""

from __future__ import annotations

import csv
import io
import json
import re

import numpy as np
import pytest
from mixed_table import write_mixed
from scored import scores_in

from conftest import exit_of
from everypair.app.comparison.rule import HELD_OUT, rule_of
from everypair.app.model_file.store import load_model
from everypair.metrics import (
    average_precision,
    brier_loss,
    cut_for,
    expected_calibration_error,
    gain_at_k,
)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A table of 400 rows, a model of it, and 300 other rows."""
    folder = tmp_path_factory.mktemp("decide")
    write_mixed(folder / "train.csv", 400, seed=1)
    write_mixed(folder / "new.csv", 300, seed=2)
    options = ("-t", "churn", "--method", "auc-rls", "--quiet")
    assert exit_of(["fit", folder / "train.csv", *options, "-o", folder / "m.everypair"]) == 0
    bare = ("--no-held-out", "-o", folder / "bare.everypair")
    assert exit_of(["fit", folder / "train.csv", *options, *bare]) == 0
    return folder


def labels_of(path):
    return np.array([row["churn"] == "yes" for row in csv.DictReader(path.open())])


def number(rows, name):
    return np.array([float(row[name]) for row in rows])


def test_probabilities_rise_with_the_score_and_are_about_right(run, files):
    rows = scores_in(run("score", files / "m.everypair", files / "new.csv").out)
    assert list(rows[0]) == ["row", "score", "probability", "predicted"]
    chances, scores = number(rows, "probability"), number(rows, "score")
    assert np.all((chances > 0) & (chances < 1))
    assert np.all(np.diff(chances[np.argsort(scores)]) >= 0)
    assert abs(chances.mean() - labels_of(files / "new.csv").mean()) < 0.06
    saved = load_model(files / "m.everypair")
    np.testing.assert_allclose(saved.calibrated(scores), chances, rtol=1e-9)


def test_a_known_prior_moves_probabilities_and_no_label(run, files, tmp_path):
    fit = ("fit", files / "train.csv", "-t", "churn", "--method", "auc-rls", "--prior", "0.003")
    assert run(*fit, "-o", tmp_path / "p.everypair").code == 0
    plain, rare = (
        scores_in(run("score", model, files / "new.csv").out)
        for model in (files / "m.everypair", tmp_path / "p.everypair")
    )
    odds = [np.log(p / (1 - p)) for p in (number(r, "probability") for r in (plain, rare))]
    assert np.ptp(odds[0] - odds[1]) < 1e-6
    assert number(rare, "probability").mean() < 0.02
    assert [row["predicted"] for row in plain] == [row["predicted"] for row in rare]
    found = run(*fit[:-1], "3", "-o", tmp_path / "q.everypair")
    assert "--prior 3: give a share between 0 and 1" in found.err


def test_a_share_of_the_rows_is_the_top_of_all_pieces(run, files, monkeypatch):
    from everypair.app.files import delimited

    monkeypatch.setattr(delimited, "CHUNK_BYTES", 500)
    whole = scores_in(run("score", files / "m.everypair", files / "new.csv").out)
    best = sorted(whole, key=lambda row: -float(row["score"]))[:15]
    for typed in ("5%", "0.05", "15"):
        top = scores_in(run("score", files / "m.everypair", files / "new.csv", "--top", typed).out)
        assert [row["row"] for row in top] == [row["row"] for row in best]
    for typed in ("0", "0%", "120%", "few"):
        found = run("score", files / "m.everypair", files / "new.csv", "--top", typed)
        assert found.code == 2
        assert f"--top {typed}: give a count" in found.err


def test_columns_are_copied_as_they_are(run, files):
    found = run("score", files / "m.everypair", files / "new.csv", "--id", "id",
                "--keep", "job", "--keep", "const", "--keep", "age")  # fmt: skip
    rows = scores_in(found.out)
    given = list(csv.DictReader((files / "new.csv").open()))
    assert list(rows[0])[:4] == ["id", "job", "const", "age"]
    for name in ("id", "const"):
        assert [row[name] for row in rows] == [row[name] for row in given]
    assert [row["job"] for row in rows] == [row["job"].replace("NA", "") for row in given]
    found = run("score", files / "m.everypair", files / "new.csv", "--keep", "jobs")
    assert found.code == 2
    assert "new.csv, column 'jobs': the file has no such column: did you mean 'job'?" in found.err


def test_a_copied_column_may_not_have_a_name_of_the_scores(run, files, tmp_path):
    text = (files / "new.csv").read_text().replace("const", "predicted", 1)
    (tmp_path / "odd.csv").write_text(text)
    found = run("score", files / "m.everypair", tmp_path / "odd.csv", "--keep", "predicted")
    assert found.code == 2
    assert "the scores have a column of this name already" in found.err


@pytest.fixture
def piped(monkeypatch):
    """Standard input with the content of a file."""

    def give(path):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(path.read_bytes())))

    return give


def test_a_dash_is_standard_input_and_output(run, files, piped, tmp_path):
    m, new = files / "m.everypair", files / "new.csv"
    wanted = run("score", m, new).out
    piped(new)
    assert run("score", m, "-").out == wanted
    piped(new)
    assert run("score", m, "-", "-o", tmp_path / "s.csv").code == 0
    assert (tmp_path / "s.csv").read_text() == wanted
    piped(new)
    found = run("evaluate", m, "-", "--json")
    assert json.loads(found.out)["source"] == "standard input"
    lines = new.read_text().splitlines()
    (tmp_path / "bad.csv").write_text("\n".join([lines[0], lines[1].replace("c0,", "c0,x")]))
    piped(tmp_path / "bad.csv")
    found = run("score", m, "-", "-o", tmp_path / "t.csv")
    assert found.code == 2
    assert found.err.startswith("everypair: -, row 1, column 'age': ")


def test_nothing_piped_is_said(run, files, monkeypatch):
    monkeypatch.setattr("sys.stdin", None)
    found = run("score", files / "m.everypair", "-")
    assert found.code == 2
    assert "nothing is piped to standard input" in found.err


@pytest.mark.parametrize(
    ("typed", "given"),
    [
        ("precision=0.6", {"precision": 0.6}),
        ("recall=80%", {"recall": 0.8}),
        ("top=10%", {"top": 0.1}),
        ("cost=1:5", {"cost": (1, 5)}),
        ("f1", {"rule": "f1"}),
    ],
)
def test_a_threshold_of_score_comes_from_held_out_rows(run, files, typed, given):
    known = load_model(files / "m.everypair").evidence
    cut = cut_for(known.positive, known.scores, **given)
    found = run("score", files / "m.everypair", files / "new.csv", "--threshold", typed)
    assert found.code == 0, found.err
    assert f"{typed} on rows held out when the model was fitted" in found.err
    for row in scores_in(found.out):
        assert (row["predicted"] == "yes") == (float(row["score"]) > cut.threshold)


def test_a_guarantee_gives_a_more_careful_threshold(run, files, tmp_path):
    options = ("score", files / "m.everypair", files / "new.csv", "--json")
    plain, sure = (
        json.loads(run(*options, "-o", tmp_path / "s.csv", "--threshold", "recall=0.7", *more).out)[
            "threshold"
        ]
        for more in ((), ("--guarantee", "0.95"))
    )
    assert sure["score"] < plain["score"]
    assert (sure["bound"], sure["guarantee"]) == (pytest.approx(0.7, abs=0.02), 0.95)
    assert sure["bound"] >= 0.7
    found = run(*options[:-1], "--threshold", "precision=0.99", "--guarantee", "0.99")
    assert found.code == 2
    said = (
        "No cut has precision=0.99 with 99 % confidence: cuts of rows held out when the model was"
    )
    assert f"{said} fitted guarantee at most" in found.err


def test_a_requirement_out_of_reach_names_the_rows_it_is_about():
    rule = rule_of("precision=0.9")
    with pytest.raises(ValueError, match=f"No cut has precision=0.9 on {HELD_OUT}: the highest"):
        rule.on(np.array([True, False]), np.array([0.0, 1.0]), None, None, HELD_OUT, None)


def test_a_guarantee_of_weighted_rows_is_refused_in_the_names_of_the_command_line(
    run, files, tmp_path
):
    lines = (files / "train.csv").read_text().splitlines()
    weighed = tmp_path / "weighed.csv"
    weighed.write_text(
        "\n".join(f"{1 + k % 3 if k else 'w'},{line}" for k, line in enumerate(lines))
    )
    fit = ("fit", weighed, "-t", "churn", "--method", "auc-rls", "--weight", "w")
    assert run(*fit, "-o", tmp_path / "w.everypair").code == 0
    asked = ("--threshold", "recall=0.7", "--guarantee", "0.9")
    told = "--guarantee needs the same weight for all rows of a class: fit without --weight, or"
    for command in (
        (*fit, "-o", tmp_path / "v.everypair"),
        ("score", tmp_path / "w.everypair", files / "new.csv"),
    ):
        found = run(*command, *asked)
        assert found.code == 2
        assert f"{told} leave out --guarantee." in found.err


def test_a_count_as_threshold_says_that_it_is_a_share(run, files):
    found = run("score", files / "m.everypair", files / "new.csv", "--threshold", "top=50")
    told = "It is the share that 50 of those 400 rows are: `score --top 50` writes 50 rows of the"
    assert f"{told} file." in found.err


def test_explain_refuses_a_top_of_rows(run, files):
    found = run("explain", files / "m.everypair", "--rows", files / "new.csv", "--top", "3")
    assert found.code == 2
    assert "--top 3 is for the columns that are printed without --rows: leave out one." in found.err


def test_thresholds_by_probability_and_by_number(run, files):
    new = files / "new.csv"
    rows = scores_in(run("score", files / "m.everypair", new, "--threshold", "probability=0.4").out)
    assert {row["predicted"] for row in rows} == {"yes", "no"}
    for row in rows:
        assert (row["predicted"] == "yes") == (float(row["probability"]) > 0.4)
    rows = scores_in(run("score", files / "m.everypair", new, "--threshold=-0.1").out)
    assert all((row["predicted"] == "yes") == (float(row["score"]) > -0.1) for row in rows)
    found = run("score", files / "m.everypair", new, "--threshold", "probability=1")
    assert found.code == 2
    assert "probability must lie between 0 and 1" in found.err


def test_a_model_without_held_out_rows_says_what_it_lacks(run, files):
    new = files / "new.csv"
    rows = scores_in(run("score", files / "bare.everypair", new).out)
    assert "probability" not in rows[0]
    found = run("score", files / "bare.everypair", new, "--threshold", "precision=0.6")
    assert found.code == 2
    assert "needs rows whose label is known" in found.err
    found = run("score", files / "bare.everypair", new, "--threshold", "probability=0.4")
    assert found.code == 2
    assert "has no calibrated probabilities" in found.err
    found = run("fit", files / "train.csv", "-t", "churn", "-o", files / "x", "--no-held-out",
                "--threshold", "f1")  # fmt: skip
    assert found.code == 2
    assert "--threshold needs rows that are held out" in found.err
    assert "what columns are worth is not known" in run("explain", files / "bare.everypair").err
    found = run("explain", files / "bare.everypair", "--rows", new)
    assert found.code == 2
    assert "lacks the means of the training rows" in found.err


def test_fit_puts_the_threshold_at_zero_and_says_what_it_does(run, files, tmp_path):
    path = tmp_path / "t.everypair"
    fit = ("fit", files / "train.csv", "-t", "churn", "--method", "auc-rls", "-o", path)
    found = run(*fit, "--threshold", "recall=0.8", "--guarantee", "0.9")
    assert found.code == 0, found.err
    assert "recall=0.8 on rows held out when the model was fitted: threshold" in found.out
    assert "recall at least 0.8" in found.out
    assert "AUC 0." in found.out
    assert "on held-out rows (95% interval" in found.out
    plain, cut = load_model(files / "m.everypair"), load_model(path)
    known = plain.evidence
    wanted = cut_for(known.positive, known.scores, recall=0.8, guarantee=0.9)
    assert cut.cut == pytest.approx(wanted.threshold)
    assert np.mean((known.scores > cut.cut)[known.positive]) == pytest.approx(wanted.recall)
    rows = [
        scores_in(run("score", m, files / "new.csv").out) for m in (files / "m.everypair", path)
    ]
    shifts = number(rows[0], "score") - number(rows[1], "score")
    np.testing.assert_allclose(shifts, wanted.threshold, atol=1e-9)
    np.testing.assert_allclose(*(number(r, "probability") for r in rows), atol=1e-6)
    found = run(*fit, "--threshold", "f1", "--measure", "f1")
    assert found.code == 2
    assert "--measure f1 chooses the threshold that is best for it" in found.err


def test_evaluate_has_the_headline_and_the_cut_of_its_rows(run, files):
    m, new = files / "m.everypair", files / "new.csv"
    y, scores = labels_of(new), number(scores_in(run("score", m, new).out), "score")
    said = json.loads(run("evaluate", m, new, "--json", "--threshold", "recall=0.9").out)
    gain = gain_at_k(y, scores, 0.1)
    assert said["headline"] == pytest.approx(
        {"share": 0.1, "gain": gain.gain, "low": gain.low, "high": gain.high, "lift": gain.lift}
    )
    cut = cut_for(y, scores, recall=0.9)
    assert said["threshold"]["score"] == pytest.approx(cut.threshold)
    assert said["at_threshold"]["recall"] == pytest.approx(cut.recall)
    found = run("evaluate", m, new, "--threshold", "recall=0.9")
    assert f"The top 10 % contain {100 * gain.gain:.1f} % of all rows with churn = yes" in found.out
    assert "at recall=0.9" in found.out
    assert "everypair score --threshold=" in found.out


def test_evaluate_has_the_figures_of_ranking_and_probabilities(run, files):
    m, new = files / "m.everypair", files / "new.csv"
    rows = scores_in(run("score", m, new).out)
    y, scores, chances = labels_of(new), number(rows, "score"), number(rows, "probability")
    said = json.loads(run("evaluate", m, new, "--json").out)
    shown = run("evaluate", m, new).out
    for name, label, found in (
        ("average_precision", "average precision", average_precision(y, scores)),
        ("brier_score", "Brier score", brier_loss(y, chances)),
        ("calibration_error", "calibration error", expected_calibration_error(y, chances)),
    ):
        wanted = {"value": found.value, "low": found.low, "high": found.high}
        assert said[name] == pytest.approx(wanted, abs=1e-9)
        ends = f"{found.low:.3f} - {found.high:.3f}"
        assert f"{label} {found.value:.3f}, 95% interval {ends}" in shown
    bare = json.loads(run("evaluate", files / "bare.everypair", new, "--json").out)
    assert bare["average_precision"] is not None
    assert bare["brier_score"] is bare["calibration_error"] is None


def test_evaluate_counts_weights(run, files, tmp_path):
    """Weights of 2 for the positives and 1 for the others are the rows given twice."""
    table = list(csv.DictReader((files / "new.csv").open()))
    for name, times in (("weighed.csv", 1), ("twice.csv", 2)):
        with (tmp_path / name).open("w", newline="") as file:
            writer = csv.DictWriter(file, [*table[0], "w"])
            writer.writeheader()
            for row in table:
                yes = row["churn"] == "yes"
                for _ in range(times if yes else 1):
                    writer.writerow(row | {"w": 2 if yes else 1})
    m = files / "m.everypair"
    said = [
        json.loads(run("evaluate", m, tmp_path / name, "--json", *given).out)["at_threshold"]
        for name, given in (("weighed.csv", ("--weight", "w")), ("twice.csv", ()))
    ]
    said[1].pop("precision_recall_break_even")
    assert said[0] == pytest.approx(said[1])
    assert said[0]["precision"] < 1
    assert ", sums of weights" in run("evaluate", m, tmp_path / "weighed.csv", "--weight", "w").out


def test_evaluate_chooses_no_threshold_on_training_rows(run, files):
    m = files / "m.everypair"
    found = run("evaluate", m, files / "train.csv", "--threshold", "precision=0.5")
    assert found.code == 2
    assert "rows that the model was trained on" in found.err
    assert run("evaluate", m, files / "train.csv", "--threshold", "0.1").code == 0


def test_evaluate_writes_a_report(run, files, tmp_path):
    report = tmp_path / "e.html"
    found = run("evaluate", files / "m.everypair", files / "new.csv", "--report", report)
    assert found.code == 0, found.err
    page = report.read_text()
    headline = next(line for line in found.out.splitlines() if line.startswith("The top 10 %"))
    text = re.sub(r"<[^>]*>", "", page).replace("\xa0", " ")
    assert headline in text
    assert "model evaluated" in page
    found = run(
        "evaluate", files / "m.everypair", files / "new.csv", "--report", tmp_path / "e.json"
    )
    assert found.code == 2
    assert "--report writes a page (.html)" in found.err


def test_explain_has_a_line_per_column_and_its_features_below(run, files, tmp_path):
    found = run("explain", files / "m.everypair")
    lines = [line.strip() for line in found.out.splitlines()]
    assert found.code == 0, found.err
    order = [line.split("  ")[0] for line in lines]
    assert order.index("age") < order.index("job") < order.index("job=pilot")
    said = json.loads(run("explain", files / "m.everypair", "--json").out)["columns"]
    assert [c["name"] for c in said[:2]] == ["age", "job"]
    assert said[0]["score_goes"] == "up"
    assert said[1]["score_goes"].startswith("up: pilot")
    assert said[0]["auc_lost"] > 0.05
    assert said[0]["auc_alone"] > 0.6
    run("explain", files / "m.everypair", "-o", tmp_path / "w.csv")
    rows = list(csv.DictReader((tmp_path / "w.csv").open()))
    assert {row["column"] for row in rows} == {c["name"] for c in said}
    assert len(rows) == len(load_model(files / "m.everypair").features())


def test_explained_rows_add_up_to_their_scores(run, files, tmp_path):
    m, new = files / "m.everypair", files / "new.csv"
    scores = number(scores_in(run("score", m, new).out), "score")
    found = run("explain", m, "--rows", new, "--id", "id")
    header, *rows = csv.reader(io.StringIO(found.out))
    assert header[:3] == ["id", "score: churn=yes", "mean score"]
    assert {"age", "job", "since"} <= set(header)
    values = np.array([[float(value) for value in row[1:]] for row in rows])
    np.testing.assert_allclose(values[:, 0], scores, rtol=1e-12)
    np.testing.assert_allclose(values[:, 1:].sum(axis=1), scores, atol=1e-9)
    assert np.ptp(values[:, 1]) < 1e-9
    trained = number(scores_in(run("score", m, files / "train.csv").out), "score")
    assert values[0, 1] == pytest.approx(trained.mean(), abs=1e-9)
    said = json.loads(run("explain", m, "--rows", new, "--json", "-o", tmp_path / "v.csv").out)
    assert said["rows"] == len(rows)
    assert run("explain", m, "--id", "id").code == 2


def test_models_that_are_not_linear_tell_the_worth_of_columns_only(run, files, tmp_path):
    path = tmp_path / "b.everypair"
    made = run(
        "fit", files / "train.csv", "-t", "churn", "-o", path, "--method", "auc-rls-rbf", "-q"
    )
    assert made.code == 0
    found = run("explain", path)
    assert found.code == 0, found.err
    assert "a model of auc-rls-rbf has no weights" in found.out
    said = json.loads(run("explain", path, "--json").out)
    assert said["weights"] is None
    assert said["columns"][0]["name"] in ("age", "job")
    found = run("explain", path, "--rows", files / "new.csv")
    assert found.code == 2
    assert "--rows needs a linear model" in found.err


def test_a_guarantee_heeds_the_groups_that_fit_and_evaluate_know(run, files, tmp_path):
    """Every row four times, with a column that says so: copies promise nothing more."""
    head, *lines = (files / "train.csv").read_text().splitlines()
    table = tmp_path / "copies.csv"
    copies = [f"{line},{k}" for k, line in enumerate(lines) for _ in range(4)]
    table.write_text("\n".join([f"{head},patient", *copies]) + "\n")
    path = tmp_path / "grouped.everypair"
    fit = ("fit", table, "-t", "churn", "--method", "auc-rls", "--group", "patient", "-o", path)
    found = run(*fit, "--threshold", "recall=0.7", "--guarantee", "0.9")
    assert found.code == 0, found.err
    saved = load_model(path)
    known = saved.evidence
    assert np.unique(known.groups).size == len(lines)
    asked = {"recall": 0.7, "guarantee": 0.9}
    by_groups = cut_for(known.positive, known.scores, groups=known.groups, **asked)
    by_rows = cut_for(known.positive, known.scores, **asked)
    assert saved.cut == pytest.approx(by_groups.threshold)
    assert by_groups.recall > by_rows.recall
