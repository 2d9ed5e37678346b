"""`AUCAdditive`: equal to a penalised fit written out, readable, and the same in every format."""

import sqlite3

import numpy as np
import pytest
from contract import scikit_learn_contract
from scipy.optimize import minimize
from sklearn.metrics import roc_auc_score

from everypair import AUCAdditive, AUCAdditiveCV
from everypair.estimators import _additive_ranker
from everypair.estimators._shapes import RIDGE, learn_shape
from everypair.pairs.brute import BrutePoint
from everypair.pairs.losses import LOSSES
from everypair.rows import Rows


def of_pairs(estimator):
    """What a pair of columns would gain by chance depends on the number of rows; the unit of the
    weights does not matter."""
    weights = ("dense", "sparse") if estimator.interactions == 1 else ()
    reason = "pairs of columns are ranked by rows, so a weight of two is not two rows"
    return {f"check_sample_weight_equivalence_on_{of}_data": reason for of in weights}


@scikit_learn_contract(
    AUCAdditive(), AUCAdditive(interactions=1), AUCAdditiveCV(cv=2, alphas=[1e-1, 1e-2]),
    expected_failed_checks=of_pairs,
)  # fmt: skip
def test_scikit_learn_contract(estimator, check):
    check(estimator)


def table(n=400, seed=0):
    """A curve, a category, an interaction, missing values, noise."""
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(seed)
    age, income, noise = rng.normal(50, 10, n), rng.lognormal(3, 1, n), rng.standard_normal(n)
    city = rng.choice(["Bonn", "Köln", "it's", 'a "b"'], n, p=[0.4, 0.3, 0.2, 0.1])
    signal = -(((age - 50) / 10) ** 2) + 1.5 * np.isin(city, ["Köln", "it's"]) + np.log(income) / 2
    y = (signal + rng.logistic(size=n) > 1.2).astype(int)
    age[rng.random(n) < 0.1] = np.nan
    frame = pd.DataFrame({"age": age, "in come": income, "noise": noise, "city": city})
    frame.loc[rng.random(n) < 0.05, "city"] = None
    return frame, y


def test_the_minimum_is_that_of_the_objective_written_out():
    """Roughness as squared differences of bins' values, on a column of few distinct values."""
    rng = np.random.default_rng(1)
    x = rng.integers(0, 6, 150).astype(float)
    y = np.sin(x) + rng.logistic(size=150) > 0.5
    model = AUCAdditive(alpha=0.05, shapes={"x0": "steps"}, tol=1e-12).fit(x[:, None], y)
    rows = Rows.uncut(y)
    steps = np.diff(np.eye(6), axis=0)
    roughness = steps.T @ steps + RIDGE * np.eye(6)

    def objective(values):
        point = BrutePoint(LOSSES["logistic"], rows, values[x.astype(int)])
        slope = np.bincount(x.astype(int), point.gradient(), 6)
        return (
            point.value() + 0.05 / 2 * values @ roughness @ values,
            slope + 0.05 * roughness @ values,
        )

    found = minimize(objective, np.zeros(6), jac=True, method="BFGS", options={"gtol": 1e-10})
    assert model.objective_ == pytest.approx(found.fun, rel=1e-9)
    curve = model.curves_[0][:6]
    np.testing.assert_allclose(curve - curve[0], found.x - found.x[0], atol=1e-5)
    assert model.dual_gap_ <= 1e-12


def test_the_minimum_with_a_pair_is_that_of_the_objective_written_out():
    """Roughness of a surface as squared differences of neighbouring cells; missing ones apart."""
    rng = np.random.default_rng(2)
    first, second = rng.integers(0, 3, 200).astype(float), rng.integers(0, 4, 200).astype(float)
    y = 3 * (first == second) + rng.logistic(size=200) > 1
    first[:20] = np.nan
    shapes = {"x0": "steps", "x1": "steps"}
    X = np.column_stack([first, second])
    model = AUCAdditive(
        alpha=0.05, shapes=shapes, interactions=1, pair_strength=0.5, tol=1e-12
    ).fit(X, y)
    assert len(model.pairs_) == 1
    row, column = np.where(np.isnan(first), 3, first).astype(int), second.astype(int)
    sizes = 3, 1, 4, 16  # values of x0, of its missing rows, of x1, of the cells
    places = np.split(np.arange(24), np.cumsum(sizes)[:-1])
    design = np.zeros((200, 24))
    design[np.arange(200), np.where(row < 3, row, 3)] = 1
    design[np.arange(200), 4 + column] = 1
    design[np.arange(200), 8 + 4 * row + column] = 1
    held = design[row < 3, :3].mean(axis=0)
    design[row == 3, :3] = held  # a missing value counts as the mean of the others
    penalty = np.zeros((24, 24))
    for part in (places[0], places[2]):
        steps = np.diff(np.eye(part.size), axis=0)
        penalty[np.ix_(part, part)] = steps.T @ steps + RIDGE * np.eye(part.size)
    penalty[3, 3] = 1.0
    cells = places[3].reshape(4, 4)
    penalty[places[3], places[3]] = 0.5 * RIDGE
    pairs = [*zip(cells[:2].ravel(), cells[1:3].ravel(), strict=True)]
    pairs += zip(cells[:, :3].ravel(), cells[:, 1:].ravel(), strict=True)
    for one, other in pairs:
        line = np.zeros(24)
        line[one], line[other] = 1, -1
        penalty += 0.5 * np.outer(line, line)
    rows = Rows.uncut(y)

    def objective(w):
        point = BrutePoint(LOSSES["logistic"], rows, design @ w)
        return (
            point.value() + 0.05 / 2 * w @ penalty @ w,
            design.T @ point.gradient() + 0.05 * penalty @ w,
        )

    found = minimize(objective, np.zeros(24), jac=True, method="BFGS", options={"gtol": 1e-10})
    assert model.objective_ == pytest.approx(found.fun, rel=1e-9)
    scores = model.decision_function(X)
    expected = design @ found.x
    np.testing.assert_allclose(scores - scores[0], expected - expected[0], atol=1e-4)


def test_curves_have_mean_zero_and_add_up_to_the_score():
    X, y = table()
    model = AUCAdditive(alpha=1e-2, interactions=2).fit(X, y)
    for shape, curve in zip(model.shapes_, model.curves_, strict=True):
        held = shape.counts[:-1]
        assert held @ curve[:-1] == pytest.approx(0, abs=1e-9)
    codes = np.array([s.codes(np.asarray(X[s.name])) for s in model.shapes_])
    total = np.full(y.size, model.scorecard()[0].points)
    for curve, column in zip(model.curves_, codes, strict=True):
        total += curve[column]
    for pair, values in zip(model.pairs_, model.pair_values_, strict=True):
        total += values[pair.codes(codes)]
    np.testing.assert_allclose(model.decision_function(X), total, atol=1e-12)
    assert len(model.pairs_) == 2
    cells = sum(np.prod(pair.sides) for pair in model.pairs_)
    assert len(model.scorecard()) == 1 + sum(s.n_bins for s in model.shapes_) + cells


def test_a_curve_that_bends_is_found_where_a_line_sees_nothing():
    X, y = table(3000)
    X_new, y_new = table(3000, seed=1)
    model = AUCAdditiveCV(alphas=[1e-1, 1e-2, 1e-3], cv=3).fit(X, y)
    assert roc_auc_score(y_new, model.decision_function(X_new)) > 0.75
    assert abs(model.best_score_ - roc_auc_score(y_new, model.decision_function(X_new))) < 0.04
    importance = dict(zip(X.columns, model.importances_, strict=True))
    assert min(importance["age"], importance["city"]) > 2 * importance["noise"]
    curve = model.curves_[0]
    middle, end = len(curve) // 2, len(curve) - 2
    assert curve[middle] > max(curve[0], curve[end]) + 0.5  # highest in the middle


def test_an_interaction_is_found_and_stays_only_where_it_helps():
    rng = np.random.default_rng(2)
    X = rng.standard_normal((1500, 4))
    y = 2 * X[:, 1] * X[:, 3] + rng.logistic(size=1500) > 0
    model = AUCAdditiveCV(alphas=[1e-2, 1e-3], cv=3, interactions=1).fit(X, y)
    assert [(pair.first, pair.second) for pair in model.pairs_] == [(1, 3)]
    assert model.interaction_score_ > 0.75
    assert model.cv_scores_.max() < 0.6
    y = X[:, 0] + rng.logistic(size=1500) > 0
    assert AUCAdditiveCV(alphas=[1e-1, 1e-2], cv=3, interactions=3).fit(X, y).pairs_ == []


def test_the_alpha_with_the_best_held_out_score_is_taken_and_of_several_the_largest():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((120, 2))
    y = X[:, 0] ** 2 + rng.logistic(size=120) > 1
    model = AUCAdditiveCV(alphas=[1e-2, 1.0, 1e-1], cv=3).fit(X, y)
    assert model.alpha_ == model.alphas_[model.cv_scores_.argmax()] < 1
    flat = AUCAdditiveCV(alphas=[1e6, 1e7], cv=3).fit(np.round(X), y)
    assert flat.cv_scores_[0] == flat.cv_scores_[1]
    assert flat.alpha_ == 1e7


def test_pairs_are_ranked_anew_when_a_ranking_is_used_up(monkeypatch):
    """A copy of a column asks for the same surface: not once the first has it."""
    rng = np.random.default_rng(4)
    X = rng.standard_normal((800, 5))
    X[:, 2] = X[:, 0] + 0.1 * rng.standard_normal(800)
    y = 2 * X[:, 0] * X[:, 1] + X[:, 3] * X[:, 4] + rng.logistic(size=800) > 0
    model = AUCAdditive(alpha=1e-2, interactions=2)
    at_once = model.fit(X, y).pairs_
    assert {(pair.first, pair.second) for pair in at_once} == {(0, 1), (1, 2)}
    monkeypatch.setattr(_additive_ranker, "PAIRS_PER_ROUND", 1)
    anew = model.fit(X, y).pairs_
    assert (anew[0].first, anew[0].second) == (at_once[0].first, at_once[0].second)
    assert (anew[1].first, anew[1].second) == (3, 4)


def test_missing_unseen_and_rare_values_have_scores():
    X, y = table()
    X.loc[0, "city"] = "Hof"  # one row: rare
    model = AUCAdditive().fit(X, y)
    assert model.shapes_[3].categories[-1] == "(other)"
    new = X.iloc[:4].copy()
    new.loc[:, "age"] = [np.nan, -1e9, 1e9, 50]
    new.loc[:, "city"] = [None, "Mars", "Hof", "Bonn"]
    scores = model.decision_function(new)
    assert np.isfinite(scores).all()


def test_pandas_polars_and_arrow_give_the_same_model():
    polars, pyarrow = pytest.importorskip("polars"), pytest.importorskip("pyarrow")
    X, y = table()
    expected = AUCAdditive().fit(X, y).decision_function(X)
    arrow = pyarrow.Table.from_pandas(X, preserve_index=False)
    for other in (polars.from_arrow(arrow), arrow):
        model = AUCAdditive().fit(other, y)
        np.testing.assert_allclose(model.decision_function(other), expected, atol=1e-9)


def test_categories_that_arrow_and_polars_number_are_not_numbers():
    polars, pyarrow = pytest.importorskip("polars"), pytest.importorskip("pyarrow")
    X, y = table()
    X = X[["age", "city"]]
    expected = AUCAdditive().fit(X, y).decision_function(X)
    arrow = pyarrow.Table.from_pandas(X.assign(city=X.city.astype("category")))
    plain = polars.from_pandas(X)
    names = polars.Enum([*sorted(set(X.city.dropna())), "int8"])
    for other in (arrow, plain.with_columns(plain["city"].cast(names)), arrow.to_pandas()):
        model = AUCAdditive().fit(other, y)
        np.testing.assert_allclose(model.decision_function(other), expected, atol=1e-9)


def test_sql_gives_the_same_scores_in_duckdb():
    duckdb = pytest.importorskip("duckdb")
    X, y = table()
    rng = np.random.default_rng(3)
    X = X.assign(vip=rng.random(400) < 0.3, visits=rng.integers(0, 9, 400)).astype(
        {"vip": "boolean", "visits": "Int64"}
    )
    X.loc[::7, ["vip", "visits"]] = None
    model = AUCAdditive(alpha=1e-2, interactions=4).fit(X, y)
    assert len(model.pairs_) == 4
    with duckdb.connect() as database:
        database.register("customers", X)
        found = database.execute(f"SELECT {model.to_sql()} FROM customers").fetchall()
    np.testing.assert_allclose(np.ravel(found), model.decision_function(X), atol=1e-12)


def test_sql_gives_the_same_scores():
    X, y = table()
    model = AUCAdditive(alpha=1e-2, interactions=2).fit(X, y)
    database = sqlite3.connect(":memory:")
    X.to_sql("customers", database, index=False)
    found = database.execute(f"SELECT {model.to_sql()} FROM customers").fetchall()
    np.testing.assert_allclose(np.ravel(found), model.decision_function(X), atol=1e-12)


def test_weights_are_repeated_rows():
    X, y = table(200)
    weight = np.random.default_rng(0).integers(0, 3, 200)
    again = np.repeat(np.arange(200), weight)
    weighted = AUCAdditive(tol=1e-10, threshold=0.0).fit(X, y, sample_weight=weight)
    repeated = AUCAdditive(tol=1e-10, threshold=0.0).fit(X.iloc[again], y[again])
    np.testing.assert_allclose(
        weighted.decision_function(X), repeated.decision_function(X), atol=1e-6
    )


def test_bins_hold_about_equal_numbers_of_rows_and_ties_stay_together():
    x = np.concatenate([np.zeros(500), np.random.default_rng(0).random(1500)])
    shape = learn_shape("x", x, None, None, 10)
    assert shape.counts[0] >= 500
    assert shape.counts[1:-1].max() < 40
    assert shape.counts.sum() == 2000
    assert learn_shape("x", np.full(5, np.nan), None, None, 10).table().shape[0] == 2


@pytest.mark.parametrize(
    ("shapes", "words"),
    [({"size": "spline"}, "names 'size'"), ({"x0": "wiggly"}, "is not a kind of shape")],
)
def test_shapes_that_do_not_exist_are_refused(shapes, words):
    with pytest.raises(ValueError, match=words):
        AUCAdditive(shapes=shapes).fit(np.eye(4), [0, 1, 0, 1])
