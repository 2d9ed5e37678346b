"""The comparison itself is checked: the peers' parameter maps, the judge's bounds, the resuming."""

from __future__ import annotations

import json

import numpy as np
import pytest

from everypair.pairs import LOSSES as PAIR_LOSSES
from everypair.pairs.brute import BrutePoint
from everypair.rows import Rows
from lab.peers import main, peer_data, peer_page, plan, races
from lab.peers.objectives import judge
from lab.peers.peer import Answer
from lab.peers.results import Results
from lab.peers.runner import run_all
from lab.peers.solvers import every_peer
from lab.peers.solvers.ours import LOSSES, name


@pytest.fixture(scope="module")
def fast():
    """What ``python -m lab peers --fast`` measures."""
    return main.run_fast()


@pytest.mark.slow
def test_every_peer_minimises_the_objective_that_its_file_claims(fast):
    judged = [key for key in fast.of_task(plan.FAST_TASK) if every_peer()[key].problem != "other"]
    assert {name(loss) for loss in LOSSES} < set(judged)
    for key in judged:
        if fast.cells[f"{plan.FAST_TASK} | {key}"]["status"] == "done":
            gap = fast.curve(plan.FAST_TASK, key)[-1][1]
            assert gap <= 1e-5, key


@pytest.mark.slow
def test_ours_reaches_the_close_gap_on_every_loss(fast):
    for loss in LOSSES:
        assert fast.seconds_to(plan.FAST_TASK, name(loss), peer_page.CLOSE) is not None


@pytest.mark.slow
def test_the_page_is_written_from_the_measurements_alone(fast):
    shown = []

    class Sections:
        add = staticmethod(lambda heading, text: shown.append((heading, text)))

    peer_page.write(fast, Sections)
    text = dict(shown)["Logistic over pairs beside logistic over points"]
    assert "LogisticRegression lbfgs" in text
    assert "nan" not in text


@pytest.mark.parametrize("loss", LOSSES)
def test_the_judge_equals_the_definition_and_bounds_the_minimum(loss):
    task = peer_data.load("dense 300x4")
    rng = np.random.default_rng(1)
    best = judge(f"pairs {loss}", task, every_peer()[name(loss)].fit(task, 1e-9)).objective
    for scale in (0.0, 0.3, 3.0):
        w = scale * rng.standard_normal(4)
        worth = judge(f"pairs {loss}", task, Answer(w))
        brute = BrutePoint(PAIR_LOSSES[loss], Rows.uncut(task.y), task.X @ w)
        exact = brute.value() + task.alpha / 2 * w @ w
        np.testing.assert_allclose(worth.objective, exact, rtol=1e-9)
        assert worth.bound <= best * (1 + 1e-8)


def test_the_judge_certifies_a_hinge_that_ends_with_pairs_at_the_margin():
    task = peer_data.load("dense 300x60")
    answer = every_peer()[name("hinge")].fit(task, 1e-9)
    best = judge("pairs hinge", task, answer)
    assert 0 <= best.objective - best.bound <= 1e-9 * best.objective
    for off in (1e-10, 1e-6, 1e-3):
        beside = judge("pairs hinge", task, Answer((1 + off) * answer.coef))
        assert beside.bound <= best.objective


@pytest.mark.parametrize(
    ("loss", "intercept_is"),
    [
        ("logistic", "none"),
        ("logistic", "free"),
        ("logistic", "penalised"),
        ("squared_hinge", "penalised"),
    ],
)
def test_the_judge_of_points_bounds_the_minimum_with_each_intercept(loss, intercept_is):
    from scipy.optimize import minimize

    task = peer_data.load("dense 300x4")

    def answer(wb):
        return Answer(wb[:4], 0.0 if intercept_is == "none" else wb[4], intercept_is)

    problem = f"points {loss} {intercept_is}"
    best = minimize(lambda wb: judge(problem, task, answer(wb)).objective, np.zeros(5), tol=1e-12)
    rng = np.random.default_rng(1)
    for at in (best.x, best.x + 0.1 * rng.standard_normal(5), np.zeros(5)):
        worth = judge(problem, task, answer(at))
        assert worth.bound <= best.fun * (1 + 1e-7)
    assert judge(problem, task, answer(best.x)).bound >= best.fun * (1 - 1e-5)


@pytest.mark.slow
def test_an_interrupted_run_goes_on_where_it_stopped(tmp_path, capsys):
    path = tmp_path / "peers.json"
    ours = plan.Cell("task", plan.FAST_TASK, name("logistic"))
    results = Results(path)
    run_all([ours], results, 20.0)
    held = json.loads(path.read_text())["cells"]
    assert held[ours.key]["status"] == "done"
    assert held[ours.key]["peak"] >= 0
    capsys.readouterr()
    run_all([ours], Results(path), 20.0)
    assert "1 cells known, 0 to run" in capsys.readouterr().out


def test_races_find_the_benchmarks_that_they_run(monkeypatch):
    monkeypatch.setattr(races, "KERNEL_ROWS", 300)
    for found in (races.path_race((60, 20), "everypair"), races.kernel_race("toy problem")):
        assert found
        assert np.all(np.isfinite(list(found.values())))
