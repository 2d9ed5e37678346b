"""Each table runs as with `--fast`, with slices of its other parts; its page is its file's."""

from __future__ import annotations

from importlib import import_module

import numpy as np
import pytest

from lab.data.fetchers import DataNotFound
from lab.papers import TABLES
from lab.papers.kept import key_of
from lab.papers.reproduce import run

pytest.importorskip("matplotlib")

# Cells of parts that `--fast` leaves out, or smaller ones.
SLICES: dict[str, list[dict]] = {
    "auc-rls": [
        {"draw": 0, "words": "0 or 1", "topics": ["earn", "corn", "reserves"]},
        {"draw": 0, "words": "counts", "topics": ["reserves"], "part": "added"},
        {"draw": 0, "words": "0 or 1", "topics": ["reserves"], "part": "positives"},
    ],
    "cpauc": [
        {"part": "pima, why", "seed": 0},
        {"part": "time", "n": 100, "p": 20, "seed": 0},
        *(
            {"part": part, "model": "M1", "n": 100, "p": 20, "seed": 0}
            for part in ("models", "exact", "unscaled", "level")
        ),
    ],
    "rankopt": [{"data": "married", "rows": 3000, "fold": 0}],
    "rocsvm": [
        {"part": "figures34", "trial": 0, "skew": 0.1, "short": True},
        {"part": "tables", "data": "wpbc", "fold": 0, "method": "ROC-SVM, m = 10", "short": True},
        {"part": "tables", "data": "wpbc", "fold": 0, "method": "RankBoost", "short": True},
        {"part": "spectf", "rounds": [5, 50]},
    ],
    "svm-multi": [
        {"data": "optdigits", "label": 8, "draw": 0, "step": 6},
        {"data": "optdigits", "label": 8, "draw": 0, "step": 6, "part": "at most"},
    ],
    "overall": [{"task": "pima", "fold": 0}],
}


def module(table):
    return import_module(f"lab.papers.{table.replace('-', '_')}")


@pytest.mark.slow
@pytest.mark.parametrize("table", TABLES)
def test_fast_and_the_slices_run_and_the_page_is_made_from_the_file(table, tmp_path, monkeypatch):
    experiment = module(table)
    wanted = experiment.cells(True)
    wanted += [params for params in SLICES[table] if params not in wanted]
    monkeypatch.setattr(experiment, "cells", lambda fast: wanted)
    try:
        path = run(experiment, table, True, tmp_path)
    except (DataNotFound, ImportError) as error:
        pytest.skip(str(error))
    first = path.read_text()
    assert f"{len(wanted)} of {len(wanted)} cells done" in first
    assert "nan" not in first.lower()
    monkeypatch.setattr(experiment, "work", lambda params: pytest.fail("kept cells run again"))
    assert run(experiment, table, True, tmp_path).read_text() == first


@pytest.mark.parametrize("table", ["rocsvm", "svm-multi"])
def test_a_cell_is_repeatable(table):
    experiment, params = module(table), SLICES[table][-1]
    try:
        assert experiment.work(dict(params)) == experiment.work(dict(params))
    except (DataNotFound, ImportError) as error:
        pytest.skip(str(error))


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("fast", [True, False])
def test_no_two_cells_are_the_same(table, fast):
    try:
        keys = [key_of(params) for params in module(table).cells(fast)]
    except (DataNotFound, ImportError) as error:  # the topics of Reuters
        pytest.skip(str(error))
    assert len(set(keys)) == len(keys) > 0


def test_the_printed_tables_are_complete():
    from lab.papers import auc_rls, cpauc, rocsvm, svm_multi

    assert len(auc_rls.PRINTED) == 25
    assert all(low <= auc <= high for auc, low, high, *_ in auc_rls.PRINTED.values())
    assert all(low <= auc <= high for _, _, _, auc, low, high, _ in auc_rls.PRINTED.values())
    assert all(row[0] > row[3] for row in auc_rls.PRINTED.values())  # the paper's claim
    assert len(cpauc.PRINTED_AUC) == len(cpauc.PRINTED_CHOSEN) == 16
    assert all(len(row) == 7 for row in cpauc.PRINTED_AUC.values())
    assert all(len(row) == 6 for row in cpauc.PRINTED_CHOSEN.values())
    assert all(len(row) == 8 for row in rocsvm.PRINTED.values())
    assert {len(row) for row in svm_multi.PRINTED.values()} == {4}


def test_a_draw_of_reuters_has_the_shares_of_all_stories():
    from lab.papers.auc_rls import N_TRAIN, PRINTED, draw_stories

    rng = np.random.default_rng(0)
    topics = [
        frozenset(t for t, row in PRINTED.items() if rng.random() < row[6] / N_TRAIN)
        for _ in range(6000)
    ]
    chosen = draw_stories(topics, list(PRINTED), seed=1)
    assert np.unique(chosen).size == N_TRAIN
    for topic in PRINTED:
        expected = N_TRAIN * np.mean([topic in t for t in topics])
        assert abs(sum(topic in topics[row] for row in chosen) - expected) <= 2


def test_plain_rls_is_ridge_regression():
    from sklearn.linear_model import Ridge

    from lab.papers.auc_rls import _rls_scores

    rng = np.random.default_rng(2)
    X, new = rng.normal(size=(30, 5)) + 1, rng.normal(size=(7, 5))
    y = X[:, 0] > 1
    for constant in (False, True):
        scores = _rls_scores(X @ X.T, new @ X.T, y, np.array([0.1, 3.0]), constant)
        for k, lam in enumerate((0.1, 3.0)):
            ridge = Ridge(lam, fit_intercept=constant).fit(X, np.where(y, 1, -1))
            np.testing.assert_allclose(scores[:, k], ridge.predict(new), atol=1e-9)


def test_the_third_method_takes_the_largest_difference_of_pair_weights():
    from lab.papers.rocsvm_added import third_method

    rng = np.random.default_rng(3)
    X, positive = rng.normal(size=(12, 2)).round(1), np.arange(12) < 5
    tried = [
        (np.mean(X[positive, k] > cut) - np.mean(X[~positive, k] > cut), k, cut)
        for k in range(2)
        for cut in (np.unique(X[:, k])[1:] + np.unique(X[:, k])[:-1]) / 2
    ]
    r, k, cut = max(tried, key=lambda stump: abs(stump[0]))
    expected = 0.5 * np.log((1 + r) / (1 - r)) * (X[:, k] > cut)
    np.testing.assert_allclose(third_method(X, positive, X, [1])[1], expected, atol=1e-5)


def test_the_old_test_file_of_spectf_holds_the_training_rows():
    from lab.data.fetchers import spectf_part

    try:
        train, old = spectf_part("train"), spectf_part("incorrect.test")
    except (DataNotFound, ImportError) as error:
        pytest.skip(str(error))
    assert {tuple(row) for row in train.X} <= {tuple(row) for row in old.X}
    assert old.y.size == 269


def test_cuts_that_part_the_training_rows():
    from lab.papers.rocsvm_added import parting_cuts

    scores, positive = np.array([1.0, 5.0, -3.0, 0.0, 7.0]), np.array([0, 1, 0, 0, 1], bool)
    cuts = parting_cuts(scores, positive)
    np.testing.assert_allclose(cuts, [1, 2, 3, 4, 5])
    assert all(np.array_equal(scores > cut, positive) for cut in cuts)
    assert parting_cuts(np.array([1.0, 1.0]), np.array([True, False])) == []


def test_auc_rls_and_rls_with_a_constant_are_one_rule_but_for_the_weight_of_the_positives():
    from everypair import AUCRLS
    from lab.papers.auc_rls import _rls_scores
    from lab.papers.auc_rls_added import weighted_scores

    rng = np.random.default_rng(4)
    X, new = rng.normal(size=(40, 6)) + 1, rng.normal(size=(9, 6))
    y = X[:, 0] + 0.5 * rng.normal(size=40) > 1.8
    K, K_new = X @ X.T, new @ X.T
    equal = weighted_scores(K, K_new, y, float(y.mean()), np.array([0.3]))
    plain = _rls_scores(K, K_new, y, np.array([0.3 * y.size]), True)
    np.testing.assert_allclose(equal, plain, atol=1e-9)
    half = weighted_scores(K, K_new, y, 0.5, np.array([0.3]))[:, 0]
    model = AUCRLS(alpha=4 * 0.3, kernel="precomputed").fit(K, y)
    pairwise = model.decision_function(K_new)
    assert np.corrcoef(half, pairwise)[0, 1] > 1 - 1e-9


def test_the_worst_labelling_of_at_most_k_is_that_of_every_table():
    from everypair.measures import RecallAtMostK

    rng = np.random.default_rng(5)
    for _ in range(50):
        positive = np.zeros(9, dtype=bool)
        positive[: rng.integers(1, 5)] = True
        scores = 30 * rng.normal(size=9)
        k = int(rng.integers(positive.sum(), 9))
        found = RecallAtMostK(k).most_violated(positive, scores)
        best = max(
            100 * (1 - np.mean(top[positive])) + 2 * scores @ (top.astype(float) - positive)
            for top in (np.array(list(np.binary_repr(code, 9))) == "1" for code in range(512))
            if top.sum() <= k
        )
        np.testing.assert_allclose(found.loss + found.change @ scores, best, atol=1e-9)


def test_all_columns_but_words_are_standardised():
    from scipy import sparse

    from lab.papers import overall

    rng = np.random.default_rng(4)
    X = rng.normal(3, [1.0, 10.0], size=(50, 2))
    A, B = overall._scaled(X, np.arange(30), np.arange(30, 50))
    np.testing.assert_allclose([A.mean(axis=0), A.std(axis=0)], [[0, 0], [1, 1]], atol=1e-12)
    np.testing.assert_allclose(B[0] - B[1], (X[30] - X[31]) / X[:30].std(axis=0))

    words = sparse.random(40, overall.MOST_WORDS + 20, 0.2, format="csr", random_state=0)
    A, B = overall._scaled(words, np.arange(30), np.arange(30, 40))
    assert sparse.issparse(A)
    assert A.shape[1] == B.shape[1] == overall.MOST_WORDS
    assert np.mean(np.var(A.toarray(), axis=0)) == pytest.approx(1)
    left_out = np.sort(words[:30].getnnz(axis=0))[:20]
    assert A.getnnz(axis=0).min() >= left_out.max()


def test_fewer_rows_have_the_shares_of_all():
    from lab.papers.overall import _fewer

    y = np.arange(1000) < 40
    rows = _fewer(y, np.arange(1000), 300, np.random.default_rng(0))
    assert np.unique(rows).size == rows.size == 300
    assert y[rows].sum() == 12
    assert y[_fewer(y, np.arange(1000), 50, np.random.default_rng(0))].sum() == 4
