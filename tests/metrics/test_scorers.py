"""Every metric as a scorer inside scikit-learn."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score, roc_auc_score
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.naive_bayes import GaussianNB

from everypair import AUCClassifier
from everypair.metrics import auc_score, get_scorer, recall_at_k, scorer_names, swapped_pairs

OPTIONS = {"precision_at_k": {"k": 5}, "recall_at_k": {"k": "2p"}}


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((150, 3))
    y = np.where(X[:, 0] + rng.standard_normal(150) > 0.7, "yes", "no")
    return X, y


@pytest.mark.parametrize("name", scorer_names())
@pytest.mark.parametrize("estimator", [AUCClassifier(), GaussianNB()], ids=["auc", "bayes"])
def test_every_scorer_serves_grid_search(name, estimator, data):
    X, y = data
    grid = {"alpha": [1e-3, 1.0]} if isinstance(estimator, AUCClassifier) else {}
    scorer = pickle.loads(pickle.dumps(get_scorer(name, **OPTIONS.get(name, {}))))
    search = GridSearchCV(estimator, grid, scoring=scorer, cv=3).fit(X, y)
    assert np.isfinite(search.best_score_)
    better = scorer(search.best_estimator_, X, y)
    worse = scorer(search.best_estimator_, -X, y)
    assert better > worse


def test_scorers_are_their_metrics(data):
    X, y = data
    model = LogisticRegression().fit(X, y)
    s = model.decision_function(X)
    assert get_scorer("auc")(model, X, y) == auc_score(y, s)
    assert get_scorer("auc", max_fpr=0.1)(model, X, y) == pytest.approx(
        roc_auc_score(y, s, max_fpr=0.1)
    )
    assert get_scorer("swapped_pairs")(model, X, y) == -swapped_pairs(y, s)
    assert get_scorer("recall_at_k", k="2p")(model, X, y) == recall_at_k(y, s, "2p")
    assert get_scorer("f")(model, X, y) == pytest.approx(
        f1_score(y, model.predict(X), pos_label="yes")
    )
    weight = np.random.default_rng(0).random(y.size)
    assert get_scorer("auc")(model, X, y, sample_weight=weight) == auc_score(y, s, weight)
    assert get_scorer("f")(model, X, y, sample_weight=weight) == pytest.approx(
        f1_score(y, model.predict(X), pos_label="yes", sample_weight=weight)
    )


def test_the_other_label_turns_both_sides_round(data):
    X, y = data
    model = LogisticRegression().fit(X, y)
    assert get_scorer("auc", pos_label="no")(model, X, y) == pytest.approx(
        get_scorer("auc")(model, X, y)
    )
    assert get_scorer("f", pos_label="no")(model, X, y) == pytest.approx(
        f1_score(y, model.predict(X), pos_label="no")
    )


def test_cross_val_score_takes_them(data):
    X, y = data
    ours = cross_val_score(LogisticRegression(), X, y, scoring=get_scorer("auc"))
    theirs = cross_val_score(LogisticRegression(), X, y, scoring="roc_auc")
    np.testing.assert_allclose(ours, theirs)


@pytest.mark.parametrize(
    ("name", "options", "says"),
    [
        ("auroc", {}, "no scorer 'auroc'"),
        ("precision_at_k", {}, "missing a required argument: 'k'"),
        ("auc", {"k": 3}, "unexpected keyword"),
        ("wracc", {"k": 3}, "takes pos_label only"),
    ],
)
def test_a_wrong_name_or_option_is_an_error_at_once(name, options, says):
    with pytest.raises(ValueError, match=says):
        get_scorer(name, **options)
