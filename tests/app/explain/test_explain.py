"""Columns of a table in a model: what they are worth, and what they add to each row's score."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from scipy import sparse
from sklearn.ensemble import HistGradientBoostingClassifier

from everypair import AUCClassifier
from everypair.app.encode import SparseEncoder, TableEncoder
from everypair.app.explain import worth
from everypair.app.explain.column_features import Block, alike, blocks_of
from everypair.app.explain.shapley import shapley_values
from everypair.app.explain.weights import lines_of
from everypair.app.explain.worth import Permuted, alone
from everypair.metrics import auc_score


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    n = 500
    age = rng.normal(40, 10, n)
    job = rng.choice(["cook", "nurse", "pilot"], n)
    vip = rng.random(n) < 0.3
    when = np.datetime64("2020-01-01T05:00") + rng.integers(0, 10**6, n)
    gone = rng.random(n) < 0.1
    signal = 0.1 * (age - 40) + 1.5 * (job == "pilot") - vip + rng.logistic(size=n)
    columns = {
        "when": pa.array(when.astype("datetime64[us]")),
        "age": pa.array(age, mask=gone),
        "noise": rng.normal(size=n),
        "job": job,
        "vip": vip,
        "seen": np.where(gone, "not", "yes"),
    }
    return pa.table(columns), signal > 1


@pytest.fixture(scope="module")
def encoded(table):
    X, y = table
    encoder = TableEncoder(keep="all").fit(X)
    return encoder, encoder.transform(X), y


def test_each_feature_belongs_to_the_column_it_is_made_from():
    days = pa.array(np.array(["2020-01-31", "2021-02-01", "2022-05-07"], dtype="datetime64[us]"))
    odd = {"a": days, "(a)": days, "a: day": [1, 2, 4], "b": [1, None, 3], "c: month": days,
           "c": ["u", "v", "u"]}  # fmt: skip
    encoder = TableEncoder(keep="all", min_rows=1).fit(pa.table(odd))
    found = list(zip(encoder.get_feature_names_out(), encoder.columns_of_features(), strict=True))
    for feature, column in found:
        if "=" in feature or "missing" in feature or ": " not in feature:
            assert feature.startswith(column)
    assert [column for _, column in found][:8] == ["a"] * 3 + ["(a)"] * 3 + ["a: day", "b"]
    assert [column for _, column in found][8:] == ["c: month"] * 3 + ["b", "c", "c"]
    # The matrix says the same: a feature changes where its column does, and nowhere else.
    X = encoder.transform(pa.table(odd))
    for k, name in enumerate(odd):
        other = odd | {name: pa.array(odd[name]).take([2, 0, 1])}
        changed = np.any(encoder.transform(pa.table(other)) != X, axis=0)
        assert {column for (_, column), c in zip(found, changed, strict=True) if c} == {name}, k
    assert SparseEncoder().fit(sparse.eye_array(3).tocsr()).columns_of_features() == ["0", "1", "2"]


def test_shap_of_the_package_is_the_same(encoded):
    shap = pytest.importorskip("shap")
    encoder, X, y = encoded
    model = AUCClassifier(alpha=1e-2).fit(X, y)
    blocks = blocks_of(encoder)
    coef = model.coef_.ravel()
    ours = shapley_values(coef, X.mean(axis=0), X, blocks)
    rows = shap.maskers.Independent(X, max_samples=len(X))
    theirs = shap.LinearExplainer((coef, float(model.intercept_[0])), rows).shap_values(X)
    for k, block in enumerate(blocks):
        np.testing.assert_allclose(ours[:, k], theirs[:, block.features].sum(axis=1), atol=1e-10)
    scores = model.decision_function(X)
    np.testing.assert_allclose(ours.sum(axis=1), scores - scores.mean(), atol=1e-10)


def test_features_that_are_equal_in_every_row_are_found(encoded):
    encoder, X, _ = encoded
    names = encoder.get_feature_names_out().tolist()
    equal = [
        [i, j]
        for i in range(len(names))
        for j in range(i + 1, len(names))
        if np.array_equal(X[:, i], X[:, j])
    ]
    assert equal == [[names.index("age is missing"), names.index("seen=not")]]
    assert alike(X) == alike(sparse.csr_matrix(X)) == equal
    three = np.column_stack([X, X[:, 1], X[:, 1]])
    assert [1, len(names), len(names) + 1] in alike(three)


def test_weights_of_equal_and_opposite_features_are_one_line(encoded):
    encoder, X, _ = encoded
    names = encoder.get_feature_names_out().tolist()
    coef = np.arange(1.0, len(names) + 1)
    lines = {b.name: lines_of(b, names, coef, alike(X)) for b in blocks_of(encoder)}
    same = names.index("age is missing"), names.index("seen=not")
    told = {line.name: line.weight for line in lines["age"]}
    assert told["age is missing = seen=not"] == coef[list(same)].sum()
    # seen=yes is 1 - seen=not: the difference is what the column adds.
    (line,) = lines["seen"]
    assert line.name == "seen=yes (not not)"
    assert line.weight == coef[names.index("seen=yes")] - coef[names.index("seen=not")]
    three = Block("job", "category", np.array([0, 1, 2]), ["a", "b", "c"])
    told = lines_of(three, ["job=a", "job=b", "job=c"], np.array([1.0, -3.0, 2.0]), [])
    assert [line.weight for line in told] == [-3, 2, 1]


def test_linear_and_other_models_are_permuted_alike(encoded, monkeypatch):
    """The shortcut of linear models is what scoring the permuted rows gives."""
    encoder, X, y = encoded
    model = AUCClassifier().fit(X, y)
    monkeypatch.setattr(worth, "OTHER_ROWS", worth.LINEAR_ROWS)
    found = []
    for matrix, coef in ((X, model.coef_.ravel()), (X, None), (sparse.csr_matrix(X), None)):
        permuted = Permuted(seed=3)
        permuted.add(blocks_of(encoder), model.decision_function, coef, matrix, y)
        found.append(permuted.worths())
    for other in found[1:]:
        for one, two in zip(found[0], other, strict=True):
            assert (one.name, one.direction) == (two.name, two.direction)
            assert one.lost == pytest.approx(two.lost, abs=1e-12)


def test_the_loss_is_that_of_rows_dealt_anew(encoded):
    """By the definition: a column of the table is shuffled and encoded again."""
    encoder, X, y = encoded
    model = AUCClassifier().fit(X, y)
    permuted = Permuted()
    permuted.add(blocks_of(encoder), model.decision_function, model.coef_.ravel(), X, y)
    found = {w.name: w for w in permuted.worths()}
    rng = np.random.default_rng(1)
    area = auc_score(y, model.decision_function(X))
    for block in blocks_of(encoder):
        lost = []
        for _ in range(40):
            shuffled = X.copy()
            shuffled[:, block.features] = X[rng.permutation(y.size)][:, block.features]
            lost.append(area - auc_score(y, model.decision_function(shuffled)))
        error = np.std(lost) * np.sqrt(1 / 40 + 1 / worth.N_PERMUTATIONS)
        assert abs(found[block.name].lost - np.mean(lost)) < 4 * error + 1e-12
    assert max(found, key=lambda name: found[name].lost) == "age"


@pytest.mark.parametrize("kind", ["linear", "trees"])
def test_directions_are_those_of_the_model(encoded, kind):
    encoder, X, y = encoded
    model = (
        AUCClassifier().fit(X, y)
        if kind == "linear"
        else HistGradientBoostingClassifier(max_iter=30, random_state=0).fit(X, y)
    )
    coef = model.coef_.ravel() if kind == "linear" else None
    permuted = Permuted()
    permuted.add(blocks_of(encoder), model.decision_function, coef, X, y)
    goes = {w.name: w.direction for w in permuted.worths()}
    assert goes["age"] == "up"
    assert goes["job"].startswith("up: pilot; down: ")
    assert goes["vip"] == "up: false; down: true"


def test_a_column_without_weight_is_not_used_and_loses_nothing(encoded):
    encoder, X, y = encoded
    coef = np.zeros(X.shape[1])
    coef[encoder.get_feature_names_out().tolist().index("age")] = 2.0
    permuted = Permuted()
    for rows in (np.arange(250), np.arange(250, 500)):
        permuted.add(blocks_of(encoder), lambda X: X @ coef, coef, X[rows], y[rows])
    found = {w.name: w for w in permuted.worths()}
    assert (found["noise"].lost, found["noise"].direction) == (0, "not used")
    assert found["age"].lost > 0.1


def test_wide_tables_are_screened_for_the_columns_that_move_scores(monkeypatch):
    rng = np.random.default_rng(2)
    X = rng.normal(size=(300, 40))
    coef = np.zeros(40)
    coef[[7, 31]] = 3.0, -2.0
    y = X @ coef + rng.logistic(size=300) > 0
    blocks = [Block(str(k), "number", np.array([k])) for k in range(40)]
    monkeypatch.setattr(worth, "MOST_COLUMNS", 5)
    for linear in (coef, None):
        permuted = Permuted()
        permuted.add(blocks, lambda X: X @ coef, linear, X, y)
        permuted.add(blocks, lambda X: X @ coef, linear, X, y)
        found = permuted.worths()
        assert len(found) == 5
        assert [(w.name, w.direction) for w in found[:2]] == [("7", "up"), ("31", "down")]
    monkeypatch.setattr(worth, "MOST_SCREENED", 30)
    permuted = Permuted()
    permuted.add(blocks, lambda X: X @ coef, None, X, y)
    assert permuted.worths() == []


def test_alone_is_the_auc_of_the_column_on_rows_held_out(encoded):
    encoder, X, y = encoded
    half = np.arange(y.size) % 2 == 0
    folds = [(np.flatnonzero(half), np.flatnonzero(~half)),
             (np.flatnonzero(~half), np.flatnonzero(half))]  # fmt: skip
    blocks = {block.name: block for block in blocks_of(encoder)}
    noise, areas = X[:, blocks["noise"].features[0]], []
    for train, test in folds:
        turn = noise[train][y[train]].mean() - noise[train][~y[train]].mean()
        areas.append(auc_score(y[test], turn * noise[test]))
    assert alone(blocks["noise"], X, y, None, folds) == pytest.approx(np.mean(areas))
    rates = []
    for train, test in folds:
        hot = X[:, blocks["job"].features]
        rate = (hot[train].T @ y[train]) / hot[train].sum(axis=0)
        rates.append(auc_score(y[test], hot[test] @ rate))
    assert alone(blocks["job"], X, y, None, folds) == pytest.approx(np.mean(rates), abs=1e-9)
