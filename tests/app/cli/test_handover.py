"""compare, fit, score as one story: the commands printed, `fit --from`, --fast, --budget."""

from __future__ import annotations

import json
import shlex
import threading
from dataclasses import asdict, fields
from pathlib import Path

import numpy as np
import pytest
from mixed_table import write_mixed

MODELS = ("--models", "auc-rls,logistic", "--cv", "2x1")


@pytest.fixture(scope="module")
def odd_table(tmp_path_factory):
    """Names that a shell would split, weights, groups and a column to leave out."""
    folder = tmp_path_factory.mktemp("odd names")
    path = write_mixed(folder / "my customers.csv")
    header, *lines = path.read_text().splitlines()
    rows = [f"{line},{k % 3 + 1},{k % 20}" for k, line in enumerate(lines)]
    path.write_text("\n".join([f"{header.replace('churn', 'did $churn')},w,g", *rows]) + "\n")
    return path


OPTIONS = ("-t", "did $churn", "--positive", "no", "--weight", "w", "--group", "g",
           "--drop", "vip", "--drop", "const", "--seed", "3")  # fmt: skip


def test_the_printed_commands_fit_and_score_the_recommended_model(
    run, odd_table, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    found = run("compare", odd_table, *OPTIONS, *MODELS, "--json")
    assert found.code == 0, found.err
    said = json.loads(found.out)
    recommended = next(m for m in said["models"] if m["name"] == said["recommended"])
    fit, score = (shlex.split(command) for command in said["commands"])
    assert run(*fit[1:]).code == 0
    (tmp_path / "new.csv").write_bytes(odd_table.read_bytes())
    assert run(*score[1:]).code == 0
    assert len((tmp_path / "scores.csv").read_text().splitlines()) == 201
    from everypair.app.model_file.store import load_model

    model = load_model("model.everypair")
    assert (model.method, model.settings) == (recommended["name"], recommended["settings"])
    assert (model.target, model.positive) == ("did $churn", "no")
    printed = run("compare", odd_table, *OPTIONS, *MODELS).out
    assert printed.splitlines()[-2:] == [f"  {command}" for command in said["commands"]]
    assert f"Recommended: {said['recommended']} (" in printed


def test_fit_from_a_report_takes_options_and_settings_and_searches_nothing(
    run, odd_table, tmp_path, monkeypatch
):
    report, model = tmp_path / "report.json", tmp_path / "m.everypair"
    found = run("compare", odd_table, *OPTIONS, *MODELS, "--report", report)
    assert found.code == 0, found.err
    assert f"--from {report}" in found.out
    said = json.loads(report.read_text())
    for name in ("inner_splits", "_search"):
        monkeypatch.setattr(
            f"everypair.app.comparison.search.{name}", lambda *a: pytest.fail("searched")
        )
    for extra, name in (((), said["recommended"]), (("--method", "auc-rls"), "auc-rls")):
        fitted = run("fit", odd_table, "--from", report, *extra, "-o", model, "--json")
        assert fitted.code == 0, fitted.err
        made = json.loads(fitted.out)
        expected = next(m for m in said["models"] if m["name"] == name)
        assert (made["method"], made["settings"]) == (name, expected["settings"])
        assert (made["target"], made["positive"]) == ("did $churn", "no")
        features = json.loads(run("explain", model, "--json").out)["weights"]
        assert features
        assert not any(f in str(features) for f in ("vip", "'w'", "'g'"))


def test_a_table_that_does_not_fit_the_report_is_refused(run, mixed, tmp_path):
    report, model = tmp_path / "r.json", tmp_path / "m.everypair"
    assert run("compare", mixed, "-t", "churn", *MODELS, "--report", report).code == 0
    lines = mixed.read_text().splitlines()
    tables = {
        "rows.csv": (lines[:-1], "the comparison had 200 rows"),
        "names.csv": ([lines[0].replace("age", "years"), *lines[1:]], "lacks the column 'age'"),
        "more.csv": ([f"{lines[0]},more", *(f"{line},1" for line in lines[1:])], "column 'more'"),
    }
    for name, (content, said) in tables.items():
        (tmp_path / name).write_text("\n".join(content) + "\n")
        found = run("fit", tmp_path / name, "--from", report, "-o", model)
        assert found.code == 2
        assert said in found.err
        assert "r.json" in found.err
    for arguments, said in (
        (("--method", "boosting"), "it has no model 'boosting': its models are"),
        (("-t", "vip"), "made with --target churn, not with --target vip: leave"),
        (("--drop", "vip"), "made without --drop, not with --drop vip: leave"),
        (("--seed", "7"), "made with --seed 0, not with --seed 7: leave"),
        (("--no-header",), "made without --header, not with --no-header: leave"),
        (("--fast",), "leave out --fast and --budget"),
    ):
        found = run("fit", mixed, "--from", report, "-o", model, *arguments)
        assert found.code == 2
        assert said in found.err
    for content in ("not json", "[]", "{}", '{"models": 3}'):
        (tmp_path / "bad.json").write_text(content)
        found = run("fit", mixed, "--from", tmp_path / "bad.json", "-o", model)
        assert found.code == 2
        assert "not a comparison in JSON" in found.err
    assert not model.exists()


def test_an_option_typed_at_its_default_is_held_against_the_report_too(run, odd_table, tmp_path):
    report, model = tmp_path / "r.json", tmp_path / "m.everypair"
    once = ("--models", "auc", "--cv", "2x1")
    assert run("compare", odd_table, *OPTIONS, *once, "--report", report).code == 0
    found = run("fit", odd_table, "--from", report, "--seed", "0", "-o", model)
    assert (found.code, model.exists()) == (2, False)
    assert "made with --seed 3, not with --seed 0" in found.err
    for typed in ("--seed", "3"), ("--encoding", "utf-8"), ("--positive", "no"):
        assert run("fit", odd_table, "--from", report, *typed, "-o", model).code == 0


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("auc", {"alfa": 0.01}),
        ("auc", {"alpha": "much"}),
        ("auc", {}),
        ("auc", None),
        ("boosting", {"max_leaf_nodes": [6]}),
        ("auc-l1", {"alpha": -1}),
        ("auc-l1", {"lam": 1.0}),
        ("rankopt", {"saturation": "0.5"}),
        ("rankopt", {"saturation": True}),
    ],
)
def test_settings_that_no_comparison_writes_are_refused_in_a_sentence(
    run, mixed, tmp_path, name, settings
):
    said = {
        "models": [{"name": name, "failure": None, "settings": settings}],
        "options": {"target": "churn", "positive": "yes"}, "reading": {}, "seed": 0,
        "recommended": name, "n_rows": 200, "n_positive": 0, "columns": [],
    }  # fmt: skip
    (tmp_path / "r.json").write_text(json.dumps(said))
    found = run("fit", mixed, "--from", tmp_path / "r.json", "-o", tmp_path / "m.everypair")
    assert found.code == 2
    assert len(found.err.splitlines()) == 1
    assert (
        f"its settings {json.dumps(settings)} are not among those that {name} is compared with"
        in found.err
    )


@pytest.mark.parametrize("name", ["auc", "auc-l1", "auc-rls", "rankopt", "roc-svm"])
def test_settings_that_a_search_found_are_known(name, imbalanced):
    from everypair.app.comparison.models import CANDIDATES
    from everypair.app.comparison.search import fit_candidate

    found = fit_candidate(CANDIDATES[name], *imbalanced).settings
    assert CANDIDATES[name].knows(json.loads(json.dumps(found)))


def test_auto_is_the_recommendation_among_all_and_says_what_it_saw(
    run, mixed, tmp_path, monkeypatch
):
    from everypair.app.comparison import race
    from everypair.app.comparison.recommend import recommended

    ran, choose = [], race.choose
    monkeypatch.setattr(race, "choose", lambda c, *a, **k: ran.extend(c) or choose(c, *a, **k))
    found = run("fit", mixed, "-t", "churn", "-o", tmp_path / "m.everypair", "--json")
    said = json.loads(found.out)
    assert {candidate.kind for candidate in ran} == {"everypair", "baseline"}
    assert len(said["fold_auc"]) > 1
    assert set(said["fold_auc"]) <= {candidate.name for candidate in ran}
    areas = {name: np.array(values) for name, values in said["fold_auc"].items()}
    assert said["method"] == recommended(areas)
    assert any("within one standard error" in note for note in said["notes"])


def test_fast_runs_few_models_on_three_folds(run, mixed):
    from everypair.app.comparison.models import FAST

    said = json.loads(run("compare", mixed, "-t", "churn", "--fast", "--json").out)
    assert {model["name"] for model in said["models"]} == set(FAST)
    assert said["folds"] == "3 folds x 1 repeat"


@pytest.mark.slow
def test_fast_fits_one_of_few_models(run, mixed, tmp_path):
    from everypair.app.comparison.models import FAST

    fitted = run("fit", mixed, "-t", "churn", "--fast", "-o", tmp_path / "m.everypair", "--json")
    assert set(json.loads(fitted.out)["fold_auc"]) <= set(FAST)


def test_fast_and_a_method_are_refused(run, mixed, tmp_path):
    found = run("fit", mixed, "-t", "churn", "--fast", "--method", "auc", "-o", tmp_path / "n")
    assert found.code == 2
    assert "--method auc names one" in found.err


def test_a_budget_of_nothing_still_gives_a_model_and_names_the_rest(run, mixed, tmp_path):
    options = ("-t", "churn", "--budget", "0", "--json")
    said = json.loads(run("compare", mixed, *MODELS, *options).out)
    assert [model["name"] for model in said["models"]] == ["auc-rls"]
    assert said["not_run"] == ["logistic"]
    made = json.loads(run("fit", mixed, *options, "-o", tmp_path / "m.everypair").out)
    assert made["method"] == "auc"
    assert "boosting" in made["not_run"]
    assert len(made["fold_auc"]["auc"]) == 1


def test_rankopt_is_tuned_and_its_file_scores_alike(run, mixed, tmp_path):
    from everypair import RankOptCV
    from everypair.app.model_file.store import load_model

    model = tmp_path / "m.everypair"
    made = run("fit", mixed, "-t", "churn", "--method", "rankopt", "-o", model, "--json")
    assert made.code == 0, made.err
    saved = load_model(model)
    assert isinstance(saved.estimator, RankOptCV)
    assert saved.settings == {"saturation": saved.estimator.saturation_}
    assert run("score", model, mixed, "--top", "3").code == 0


def test_progress_off_a_terminal_is_a_line_now_and_then(run, mixed, monkeypatch):
    from everypair.app.cli import show

    monkeypatch.setattr(show, "EVERY_SECONDS", 0.0005)
    options = ("-t", "churn", "--models", "auc-rls", "--cv", "3x1")
    lines = run("compare", mixed, *options).err.splitlines()
    told = [line for line in lines if line.startswith(("fold ", "all rows, "))]
    assert told
    assert all(line.endswith(" s") for line in told)
    assert any("of 3, " in line for line in told)
    assert run("compare", mixed, *options, "--json").err == ""
    assert run("compare", mixed, *options, "--quiet").err == ""


def test_progress_ends_with_its_work(capsys):
    from everypair.app.cli import show

    before = threading.active_count()

    def work():
        with show.progress(3, quiet=False) as advance:
            advance("fold 1 of 3, auc")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        work()
    assert threading.active_count() == before
    assert capsys.readouterr().err == ""


def test_of_one_model_nothing_is_said_about_others(run, mixed):
    found = run("compare", mixed, "-t", "churn", "--models", "auc", "--cv", "2x1")
    assert "Recommended: auc (the only model measured)." in found.out.splitlines()


def spelled_apart(path):
    """Yes, yes, No and no are two labels; most of the positives are spelled Yes."""
    rng = np.random.default_rng(0)
    lines = ["x,churn"]
    for _ in range(160):
        yes = rng.random() < 0.4
        word = ("Yes", "yes") if yes else ("No", "no")
        lines.append(f"{rng.normal(float(yes)):.3f},{word[rng.random() < 0.4]}")
    path.write_text("\n".join(lines) + "\n")
    return path


def test_labels_that_differ_by_case_are_the_same_in_compare_and_in_fit(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table, report = spelled_apart(tmp_path / "t.csv"), tmp_path / "r.json"
    options = ("-t", "churn", "--models", "auc", "--cv", "2x1")
    assert run("compare", table, *options, "--report", report).code == 0
    compared = json.loads(report.read_text())
    words = [line.split(",")[1].lower() for line in table.read_text().splitlines()[1:]]
    assert compared["n_positive"] == words.count("yes")
    printed = json.loads(run("compare", table, *options, "--json").out)["commands"][0]
    for arguments in (
        ("fit", table, "--from", report, "-o", "m.everypair"),
        shlex.split(compared["commands"][0])[1:],
        shlex.split(printed)[1:],
    ):
        fitted = run(*arguments, "--json")
        assert fitted.code == 0, fitted.err
        said = json.loads(fitted.out)
        assert (said["n_positive"], said["positive"]) == (words.count("yes"), compared["positive"])


def test_the_report_shows_the_commands(run, odd_table, tmp_path):
    report = tmp_path / "r.html"
    found = run("compare", odd_table, *OPTIONS, *MODELS, "--report", report)
    assert found.code == 0, found.err
    import html

    page = html.unescape(Path(report).read_text())
    commands = [line.strip() for line in found.out.splitlines() if line.startswith("  everypair")]
    assert len(commands) == 2
    assert "\n".join(commands) in page
    assert next(line for line in found.out.splitlines() if "Recommended" in line) in page


@pytest.mark.parametrize(
    ("data", "new"),
    [("a b.parquet", "new.parquet"), ("t.csv.gz", "new.csv.gz"), ("t.svm", "new.svm")],
)
def test_commands_are_quoted_and_new_rows_have_the_ending_of_the_table(data, new):
    from everypair.app.cli.handover import next_commands
    from everypair.app.cli.options import Columns, Reading

    columns = Columns(target="is it?", positive="-1", drop=["a'b", "c"])
    reading = Reading(delimiter="\t")
    fit, score = next_commands(Path(data), columns, reading, 5, "auc", None)
    assert shlex.split(fit) == [
        "everypair", "fit", data, "--target", "is it?", "--positive=-1", "--drop", "a'b",
        "--drop", "c", "--delimiter", "\t", "--seed", "5", "--method", "auc",
        "-o", "model.everypair",
    ]  # fmt: skip
    assert shlex.split(score)[3] == new
    assert "--delimiter" in score


NOT_DEFAULT = {
    "target": "is it?", "positive": "-1", "weight": "w", "group": "g h", "within": "u v",
    "drop": ["-a", "b'c"],
    "keep": ["id"], "format": "csv", "delimiter": "\t", "encoding": "latin-1", "header": False,
    "date_format": ["%d/%m/%Y", "when=%Y %m"],
}  # fmt: skip


def parsed(command):
    """What the parser of the command line makes of a command that was printed."""
    from typer.main import get_command

    from everypair.app.cli.app import app

    program, name, *arguments = shlex.split(command)
    assert program == "everypair"
    return get_command(app).commands[name].make_context(name, arguments).params


@pytest.mark.parametrize("header", [True, False])
def test_every_option_comes_back_from_the_printed_commands(header):
    from everypair.app.cli.handover import next_commands
    from everypair.app.cli.options import ONE_COLUMN, Columns, Reading

    values = {**NOT_DEFAULT, "header": header}
    groups = [
        kind(**{field.name: values[field.name] for field in fields(kind)})
        for kind in (Columns, Reading)
    ]
    commands = next_commands(Path("t.csv"), *groups, 5, "auc", None)
    for command, told in zip(commands, (groups, groups[1:]), strict=True):
        typed = parsed(command)
        for group in told:
            for name, value in asdict(group).items():
                assert value != getattr(type(group)(), name)
                assert typed[name] == ([value] if name in ONE_COLUMN else value), name
    assert (parsed(commands[0])["seed"], parsed(commands[0])["method"]) == (5, "auc")
