"""The experiments that look for the reason of a difference, on data small enough to check."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics import roc_auc_score
from sklearn.svm import SVC

from lab.papers import svm_multi, svm_multi_choice
from lab.papers.paper_page import PaperPage

GRID = svm_multi_choice.GRID


@pytest.fixture
def few_stories(monkeypatch):
    """Ninety rows to train on and sixty to test in place of Reuters; every eighth is positive."""
    rng = np.random.default_rng(0)
    X = sparse.random(150, 40, density=0.2, random_state=1, format="csr")
    y = np.arange(150) % 8 == 0
    X = sparse.csr_matrix(
        X + 0.3 * sparse.diags(y * 1.0) @ sparse.csr_matrix(rng.random((150, 40)))
    )
    rows = np.arange(150)
    kept = X[:90], rows[:90], X[90:], rows[90:]
    monkeypatch.setattr(svm_multi, "rows_of", lambda name, draw, centred=True: kept)
    monkeypatch.setattr(svm_multi, "positives_of", lambda name, label, of_rows: y[of_rows])
    svm_multi_choice._gram.cache_clear()
    yield X[:90].toarray(), y[:90], X[90:].toarray(), y[90:]
    svm_multi_choice._gram.cache_clear()


def free(X, y, point):
    """The SVM with a free constant at a point (C, j)."""
    return SVC(kernel="linear", C=point[0], class_weight={True: point[1], False: 1.0}).fit(X, y)


def penalised(X, y, point):
    """The table's SVM at a point (C, j)."""
    return svm_multi.weighted_svm(*point).fit(sparse.csr_matrix(X), y)


def areas_of(stories, fit, held):
    """ROC area of the held-out rows at each point of the grid."""
    X, y = stories[:2]
    return [
        roc_auc_score(y[held], free(X[fit], y[fit], point).decision_function(X[held]))
        for point in GRID
    ]


def first_best(values, outer, inner):
    """Two loops that keep what is better than all before."""
    best = None
    for a in outer:
        for b in inner:
            if best is None or values[a, b] > values[best]:
                best = a, b
    return best


def test_a_search_takes_what_two_loops_would_keep():
    rng = np.random.default_rng(1)
    points = GRID
    loops = {"C": sorted({C for C, _ in points}), "j": sorted({j for _, j in points})}
    assert len(set(svm_multi_choice.SEARCHES)) == 8
    for _ in range(20):
        values = rng.integers(0, 3, len(points)).tolist()
        at = dict(zip(points, values, strict=True))
        at |= {(j, C, "turned"): value for (C, j), value in at.items()}
        for search, kept in svm_multi_choice.taken(points, values).items():
            outer, inner = (
                loops[name] if sign == "+" else loops[name][::-1] for name, sign in search.split()
            )
            if search[0] == "C":
                expected = first_best(at, outer, inner)
            else:
                turned = {key[:2]: value for key, value in at.items() if len(key) == 3}
                expected = first_best(turned, outer, inner)[::-1]
            assert points[kept] == expected


@pytest.mark.slow
def test_the_choice_is_judged_by_an_svm_with_a_free_constant(few_stories, tmp_path):
    X, y, X_test, y_test = few_stories
    found = svm_multi_choice.choice({"data": "reuters", "label": "any", "part": "choice"})
    again = svm_multi_choice.choice({"data": "reuters", "label": "any", "part": "choice"})
    assert found == again
    assert found["positives"] == y.sum()
    fit, held = svm_multi.hold_out(y, 0)

    def f1(C, j, rows, new, y_new):
        model = free(X[rows], y[rows], (C, j))
        hits = np.sum((model.decision_function(new) > 0) & y_new)
        said = np.sum(model.decision_function(new) > 0)
        return 2 * hits / (said + y_new.sum())

    for points, kept, at in (
        (GRID, found["test"]["F1"][0], "grid"),
        (GRID + svm_multi_choice.BEYOND, found["wide"], "wide"),
    ):
        on_held = [f1(C, j, fit, X[held], y[held]) for C, j in points]
        for search, k in svm_multi_choice.taken(points, on_held).items():
            assert found["points"][at][search] == np.log2(points[k]).tolist()
            value = f1(*points[k], np.arange(y.size), X_test, y_test)
            assert kept[search] == pytest.approx(100 * value, abs=1e-3)
    by_search = svm_multi_choice.taken(GRID, areas_of(few_stories, fit, held))
    for search, k in by_search.items():
        scores = free(X, y, GRID[k]).decision_function(X_test)
        area = 100 * roc_auc_score(y_test, scores)
        assert found["test"]["ROCArea"][0][search] == pytest.approx(area, abs=1e-3)
    limits = svm_multi_choice.limits({"label": "any"})
    for title in svm_multi.MEASURES:
        judge = svm_multi.measure_for(title, y[held])
        scores = [penalised(X[fit], y[fit], p).decision_function(X[held]) for p in GRID]
        by_search = svm_multi_choice.taken(GRID, [judge.value(y[held], s) for s in scores])
        judge = svm_multi.measure_for(title, y_test)
        for search, k in by_search.items():
            value = judge.value(y_test, penalised(X, y, GRID[k]).decision_function(X_test))
            kept = limits["penalised"][title][search]
            assert kept == pytest.approx(100 * float(value), abs=1e-3)
    page = PaperPage(tmp_path, "svm-multi", "SVM-multi", "")
    params = {"data": "reuters", "label": "any"}
    table = {title: {"multi": 50.0, "svm": 40.0} for title in svm_multi.MEASURES}
    svm_multi_choice.write(
        page, [(params, found)], [(params, limits)], [(params, table)], [(params, {"at most": 1})]
    )
    text = "\n".join(page.parts)
    assert "nan" not in text.lower()
    assert text.count("## ") == 3


def test_weights_of_words():
    from lab.papers.auc_rls import weighed

    counts = sparse.csr_matrix([[3.0, 0, 4], [1, 0, 0], [0, 0, 0]])
    one_log = 1 + np.log([3.0, 4.0])
    expected = {
        "counts": [[3, 0, 4], [1, 0, 0], [0, 0, 0]],
        "counts, unit length": [[0.6, 0, 0.8], [1, 0, 0], [0, 0, 0]],
        "1 + log counts": [[one_log[0], 0, one_log[1]], [1, 0, 0], [0, 0, 0]],
        "1 + log counts, unit length": [
            [*(one_log[:1] / np.hypot(*one_log)), 0, *(one_log[1:] / np.hypot(*one_log))],
            [1, 0, 0],
            [0, 0, 0],
        ],
        "0 or 1": [[1, 0, 1], [1, 0, 0], [0, 0, 0]],
        "0 or 1, unit length": [[0.5**0.5, 0, 0.5**0.5], [1, 0, 0], [0, 0, 0]],
    }
    for weights, rows in expected.items():
        np.testing.assert_allclose(weighed(counts, weights).toarray(), rows)
    assert counts.data.tolist() == [3, 4, 1]


@pytest.mark.parametrize(("n", "negatives"), [(100, 10), (200, 20), (500, 50)])
def test_the_exact_share_is_exact_and_the_rows_are_those_of_the_model(n, negatives):
    from lab.data.simulate import simulate
    from lab.papers.cpauc_added import exact

    for seed in range(20):
        X, y = exact("M2", n, 20, random_state=seed)
        assert (y < 0).sum() == negatives
        assert y.size == n
    drawn = {tuple(row) for row in simulate("M2", 4 * n, 20, random_state=19)[0]}
    assert {tuple(row) for row in X} <= drawn


def test_the_printed_spreads_are_those_of_the_paper():
    from lab.papers.cpauc import METHODS, PRINTED_AUC
    from lab.papers.cpauc_added import PRINTED_SPREAD

    assert PRINTED_SPREAD.keys() == PRINTED_AUC.keys()
    assert {len(row) for row in PRINTED_SPREAD.values()} == {len(METHODS)}
    # Sums of the columns, added up from the text.
    sums = np.sum(list(PRINTED_SPREAD.values()), axis=0)
    np.testing.assert_allclose(sums, [0.55, 0.55, 0.67, 0.65, 0.54, 0.55, 0.57], atol=1e-9)


@pytest.mark.slow
def test_the_largest_level_lambda_is_the_one_of_the_table():
    from lab.papers.cpauc import METHODS, work

    where = {"model": "M1", "n": 100, "p": 20, "seed": 3}
    of_table, level = work({"part": "models", **where}), work({"part": "level", **where})
    for method in METHODS:
        auc, _, wrong = of_table[method]
        assert level[method]["auc"][1] == pytest.approx(auc, abs=2e-4)
        assert abs(level[method]["wrong"][1] - wrong) <= 1
        assert -8 <= level[method]["lambda"][0] <= level[method]["lambda"][1] <= 2
