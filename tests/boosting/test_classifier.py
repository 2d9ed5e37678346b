"""`AUCBoostingClassifier`: scikit-learn's contract, rounds by held-out AUC, probabilities."""

import pickle

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

pytest.importorskip("lightgbm")
pytest.importorskip("xgboost")

from contract import scikit_learn_contract

from everypair.boosting import AUCBoostingClassifier

BY_ROWS = "histograms and leaves count rows, not weights, so a weight of two is not two rows"

QUICK = {"max_rounds": 8, "patience": 5, "cv": 2, "min_samples_leaf": 1}


def not_held(model):
    return {
        "check_sample_weight_equivalence_on_dense_data": BY_ROWS,
        "check_sample_weight_equivalence_on_sparse_data": BY_ROWS,
    }


@scikit_learn_contract(
    *(AUCBoostingClassifier(library, **QUICK) for library in ("lightgbm", "xgboost")),
    expected_failed_checks=not_held,
)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@pytest.fixture(params=["lightgbm", "xgboost"])
def library(request):
    return request.param


def table(n=800, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 5))
    signal = X[:, 0] * X[:, 1] + X[:, 2] + 0.5 * rng.standard_normal(n)
    return X, np.where(signal > np.quantile(signal, 0.85), "yes", "no")


def test_rounds_are_those_of_the_largest_mean_held_out_auc(library):
    X, y = table()
    model = AUCBoostingClassifier(library, max_rounds=60, patience=10, cv=3).fit(X, y)
    assert model.n_rounds_ == 1 + np.argmax(model.cv_scores_)
    assert model.best_score_ == model.cv_scores_.max()
    assert (
        model.booster_.num_trees() if library == "lightgbm" else model.booster_.num_boosted_rounds()
    )
    X_new, y_new = table(seed=1)
    area = roc_auc_score(y_new == "yes", model.decision_function(X_new))
    assert area > 0.9
    assert abs(area - model.best_score_) < 0.05
    assert model.feature_importances_.sum() == pytest.approx(1)
    assert model.feature_importances_[:3].sum() > 0.8


def test_probabilities_are_calibrated_on_held_out_rows(library):
    X, y = table(2000)
    model = AUCBoostingClassifier(library, max_rounds=60, cv=3, calibration="sigmoid").fit(X, y)
    X_new, y_new = table(2000, seed=1)
    probability = model.predict_proba(X_new)[:, 1]
    assert abs(probability.mean() - (y_new == "yes").mean()) < 0.03
    sure = probability > 0.8
    assert (y_new[sure] == "yes").mean() > 0.7
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict_proba(X_new), model.predict_proba(X_new))


def test_categories_and_missing_values_go_to_the_library(library):
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    city = rng.choice(["a", "b", "c", "d"], 600)
    x = rng.standard_normal(600)
    y = (np.isin(city, ["b", "d"]) * 2.0 + x + rng.logistic(size=600) > 2).astype(int)
    x[rng.random(600) < 0.2] = np.nan
    X = pd.DataFrame({"city": pd.Categorical(city), "x": x})
    model = AUCBoostingClassifier(library, max_rounds=30, cv=3).fit(X, y)
    assert list(model.feature_names_in_) == ["city", "x"]
    assert roc_auc_score(y, model.decision_function(X)) > 0.75
    assert model.feature_importances_[0] > 0.1


def test_weights_count_and_rows_of_weight_zero_do_not(library):
    X, y = table(600)
    weight = np.ones(600)
    weight[400:] = 0
    weighted = AUCBoostingClassifier(library, **QUICK).fit(X, y, sample_weight=weight)
    cut = AUCBoostingClassifier(library, **QUICK).fit(X[:400], y[:400])
    np.testing.assert_allclose(weighted.decision_function(X), cut.decision_function(X), atol=1e-5)


def test_a_library_that_is_missing_is_named_with_the_remedy(monkeypatch):
    monkeypatch.setattr("everypair.boosting.libraries.find_spec", lambda name: None)
    X, y = table(100)
    with pytest.raises(ImportError, match=r"pip install 'everypair\[boost\]'"):
        AUCBoostingClassifier().fit(X, y)


def test_one_positive_row_leaves_no_rounds_to_choose(library):
    X, _ = table(100)
    y = np.arange(100) == 3
    with pytest.raises(ValueError, match=r"y has one positive row.*: set patience=None"):
        AUCBoostingClassifier(library).fit(X, y)
    model = AUCBoostingClassifier(library, max_rounds=5, patience=None).fit(X, y)
    assert np.isfinite(model.decision_function(X)).all()


def test_leaves_may_ask_for_more_rows_than_there_are(library):
    X, y = table(30)
    model = AUCBoostingClassifier(library, max_rounds=5, cv=3).fit(X, y)
    assert np.isfinite(model.decision_function(X)).all()
    model = AUCBoostingClassifier(library, max_rounds=5, cv=3, min_samples_leaf=50).fit(X, y)
    assert np.isfinite(model.decision_function(X)).all()


def test_lightgbm_without_a_column_that_varies_is_refused_in_a_sentence():
    _, y = table(100)
    for settings in ({"cv": 2}, {"patience": None}):
        with pytest.raises(ValueError, match=r"no column of X that varies among the \d+ rows"):
            AUCBoostingClassifier(max_rounds=5, **settings).fit(np.zeros((100, 2)), y)


@pytest.mark.parametrize(
    ("name", "own"),
    [
        ("n_estimators", "max_rounds"), ("num_iterations", "max_rounds"),
        ("num_boost_round", "max_rounds"), ("early_stopping_round", "patience"),
        ("objective", "push"), ("application", "push"),
    ],
)  # fmt: skip
def test_params_that_the_estimator_sets_itself_are_refused(library, name, own):
    X, y = table(100)
    with pytest.raises(ValueError, match=f"params has '{name}'.* use the parameter {own} instead"):
        AUCBoostingClassifier(library, params={name: 3}).fit(X, y)


@pytest.mark.parametrize("unit", [1e-50, 1e60])
def test_the_unit_of_the_weights_does_not_matter(library, unit):
    X, y = table(300)
    weight = np.random.default_rng(0).integers(1, 4, 300) * 1.0
    plain, scaled = (
        AUCBoostingClassifier(library, **QUICK).fit(X, y, sample_weight=w)
        for w in (weight, unit * weight)
    )
    np.testing.assert_allclose(scaled.decision_function(X), plain.decision_function(X), atol=1e-6)


def test_lightgbm_prints_nothing_of_its_own_before_the_sentence(capfd):
    _, y = table(100)
    with pytest.raises(ValueError, match="no column of X that varies"):
        AUCBoostingClassifier(max_rounds=5).fit(np.zeros((100, 2)), y)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("categories", [False, True])
@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("day", r"Column 'day' of X has values of type datetime64.*: turn dates and durations"),
        ("wait", r"Column 'wait' of X has values of type timedelta64.*: turn dates and durations"),
        ("word", r"Column 'word' of X .*: use numbers, or categories .*X\['word'\]\.astype"),
        ("mixed", r"Column 'mixed' of X has values of type object: use numbers"),
    ],
)
def test_a_column_that_is_neither_numbers_nor_categories_is_named(library, name, said, categories):
    pd = pytest.importorskip("pandas")
    X, y = table(100)
    columns = {
        "day": pd.date_range("2024-01-01", periods=100),
        "wait": pd.to_timedelta(np.arange(100), "h"),
        "word": ["red", "blue"] * 50,
        "mixed": [1, "blue"] * 50,
    }
    frame = pd.DataFrame(X, columns=list("abcde")).assign(**{name: columns[name]})
    if categories:
        frame["a"] = pd.Categorical(np.where(X[:, 0] > 0, "high", "low"))
    model = AUCBoostingClassifier(library, **QUICK)
    with pytest.raises(ValueError, match=said):
        model.fit(frame, y)
    model.fit(frame.assign(**{name: X[:, 0]}), y)
    with pytest.raises(ValueError, match=said):
        model.predict(frame)


def test_xgboost_refuses_categories_of_truth_values_by_name():
    pd = pytest.importorskip("pandas")
    X, y = table(100)
    frame = pd.DataFrame({"paid": pd.Categorical(X[:, 0] > 0), "b": X[:, 1]})
    AUCBoostingClassifier("lightgbm", **QUICK).fit(frame, y)
    with pytest.raises(ValueError, match=r"Column 'paid' .* X\['paid'\]\.astype\(bool\)"):
        AUCBoostingClassifier("xgboost", **QUICK).fit(frame, y)
