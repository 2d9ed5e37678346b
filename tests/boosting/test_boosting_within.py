"""Boosted trees and nets over the pairs inside groups."""

import pickle

import numpy as np
import pytest

from everypair.boosting import AUCBoostingClassifier, auc_metric, pair_objective
from everypair.metrics import auc_score
from everypair.pairs.brute import BrutePoint
from everypair.pairs.losses import LOSSES
from everypair.rows import Rows

LIBRARIES = ("lightgbm", "xgboost")


def offers(n_users=120, n_offers=15, seed=0):
    """Inside a user a low first column is bought; users of a high one buy more."""
    rng = np.random.default_rng(seed)
    user = np.repeat(np.arange(n_users), n_offers)
    wealth, bargain = 3 * rng.standard_normal(n_users)[user], rng.standard_normal(user.size)
    y = wealth + 2 * bargain + rng.logistic(size=user.size) > 0
    X = np.column_stack([wealth - bargain, bargain**2, rng.standard_normal(user.size)])
    order = rng.permutation(user.size)
    return X[order], y[order].astype(int), user[order]


@pytest.mark.parametrize("weighting", ["pairs", "rows", "equal"])
@pytest.mark.parametrize("loss", ["logistic", "exponential", "square", "squared_hinge"])
def test_gradient_inside_groups_is_the_definition_times_half_the_rows(loss, weighting):
    rng = np.random.default_rng(1)
    y, scores, weight = rng.integers(0, 2, 60), rng.standard_normal(60), rng.integers(0, 3, 60)
    within = rng.integers(0, 9, 60)
    gradient, curvature = pair_objective(loss, within=within, within_weight=weighting)(
        y, scores, weight
    )
    point = BrutePoint(LOSSES[loss], Rows.uncut(y, weight, within, weighting), scores)
    np.testing.assert_allclose(gradient, 30 * point.gradient(), atol=1e-12)
    diagonal = [point.product(unit)[k] for k, unit in enumerate(np.eye(60))]
    np.testing.assert_allclose(curvature, np.maximum(30 * np.array(diagonal), 1e-6), atol=1e-11)


def test_new_labels_or_weights_are_seen_by_an_objective_that_was_called_before():
    rng = np.random.default_rng(2)
    scores, within = rng.standard_normal(30), np.arange(30) % 3
    objective = pair_objective(within=within)
    for y in (np.arange(30) % 2, np.arange(30) % 5 == 0):
        for weight in (None, rng.random(30)):
            fresh = pair_objective(within=within)
            np.testing.assert_array_equal(objective(y, scores, weight), fresh(y, scores, weight))


def test_groups_of_other_rows_are_refused_in_one_sentence():
    objective = pair_objective(within=[1, 1, 2])
    with pytest.raises(ValueError, match="within has 3 values, but the booster has 4 rows"):
        objective([0, 1, 0, 1], np.zeros(4))
    with pytest.raises(ValueError, match="within has 3 values"):
        auc_metric("xgboost", within=[1, 1, 2])([0, 1, 0, 1], np.zeros(4))
    with pytest.raises(ValueError, match="use push=1 with within"):
        pair_objective(push=2, within=[1, 1])
    with pytest.raises(ValueError, match="within_weight='users'"):
        pair_objective(within=[1, 1], within_weight="users")


def test_an_objective_inside_groups_survives_pickle_and_equals_its_copy():
    objective = pair_objective(within=["a", "a", "b"])
    assert pickle.loads(pickle.dumps(objective)) == objective
    assert objective != pair_objective()
    assert objective != pair_objective(within=["a", "b", "b"])
    assert repr(objective) == "pair_objective(loss='logistic', push=1, within=<2 groups>)"


def test_the_metric_inside_groups_is_the_weighted_auc_inside_groups():
    X, y, user = offers(20)
    weight = np.random.default_rng(3).random(y.size)
    expected = auc_score(y, X[:, 0], weight, within=user, within_weight="equal")
    metric = auc_metric("xgboost", within=user, within_weight="equal")
    assert metric(y, X[:, 0], weight) == pytest.approx(expected, abs=1e-14)


@pytest.mark.parametrize("library", LIBRARIES)
def test_trees_grown_inside_groups_rank_inside_groups(library):
    pytest.importorskip(library)
    X, y, user = offers()
    settings = {"library": library, "max_rounds": 40, "patience": 10, "cv": 3, "random_state": 0}
    inside = AUCBoostingClassifier(**settings).fit(X, y, within=user)
    everyone = AUCBoostingClassifier(**settings).fit(X, y)
    test_X, test_y, test_user = offers(seed=1)
    found = [
        auc_score(test_y, model.decision_function(test_X), within=test_user)
        for model in (inside, everyone)
    ]
    assert found[0] > found[1] + 0.1
    assert inside.best_score_ == pytest.approx(found[0], abs=0.05)
    assert inside.train_score_ == auc_score(y, inside.decision_function(X), within=user)
    assert inside.n_groups_without_pairs_ > 0


@pytest.mark.parametrize("library", LIBRARIES)
def test_rows_of_weight_zero_change_nothing_inside_groups(library):
    pytest.importorskip(library)
    X, y, user = offers(60)
    weight = np.random.default_rng(4).integers(0, 3, y.size).astype(float)
    folds = [(np.flatnonzero(user % 3 != k), np.flatnonzero(user % 3 == k)) for k in range(3)]
    settings = {"library": library, "max_rounds": 10, "random_state": 0}
    whole = AUCBoostingClassifier(cv=folds, **settings).fit(X, y, weight, within=user)
    kept = weight > 0
    number = np.cumsum(kept) - 1
    cut = [tuple(number[rows[kept[rows]]] for rows in fold) for fold in folds]
    part = AUCBoostingClassifier(cv=cut, **settings).fit(
        X[kept], y[kept], weight[kept], within=user[kept]
    )
    np.testing.assert_allclose(
        whole.decision_function(X), part.decision_function(X), rtol=1e-6, atol=1e-6
    )


def test_a_push_inside_groups_is_refused_before_anything_is_grown():
    pytest.importorskip("lightgbm")
    X, y, user = offers(10)
    with pytest.raises(ValueError, match="push=2 is a norm over all negative rows"):
        AUCBoostingClassifier(push=2).fit(X, y, within=user)


class TestTorch:
    def test_value_and_gradient_inside_groups_are_those_of_the_definition(self):
        torch = pytest.importorskip("torch")
        from everypair.torch import PairLoss

        rng = np.random.default_rng(5)
        y, within, weight = rng.integers(0, 2, 50), rng.integers(0, 7, 50), rng.random(50)
        scores = torch.tensor(rng.standard_normal(50), requires_grad=True)
        value = PairLoss(within_weight="rows")(
            scores, torch.tensor(y), torch.tensor(weight), torch.tensor(within)
        )
        value.backward()
        rows = Rows.uncut(y, weight, within, "rows")
        slow = BrutePoint(LOSSES["logistic"], rows, scores.detach().numpy())
        assert value.item() == pytest.approx(slow.value(), rel=1e-12)
        np.testing.assert_allclose(scores.grad.numpy(), slow.gradient(), atol=1e-13)

    def test_a_batch_whose_groups_have_no_pair_costs_nothing(self):
        torch = pytest.importorskip("torch")
        from everypair.torch import PairLoss

        scores = torch.zeros(4, requires_grad=True)
        value = PairLoss()(scores, torch.tensor([1, 0, 1, 0]), within=["a", "b", "c", "d"])
        value.backward()
        assert value.item() == 0
        assert not scores.grad.any()
        with pytest.raises(ValueError, match="use push=1 with within"):
            PairLoss(push=2)(scores, torch.tensor([1, 0, 1, 0]), within=[1, 1, 1, 1])
