"""Precision and recall of the k best rows of each group: the metric, its smooth form, the fit."""

import numpy as np
import pytest
from scipy.optimize import approx_fprime, brentq
from scipy.special import expit
from sklearn.model_selection import StratifiedKFold

from everypair import AUCClassifier, MeasureOpt, MeasureOptCV
from everypair.estimators._held_out import samples
from everypair.estimators._held_out_groups import held_out
from everypair.estimators._search import folds_of
from everypair.measures.operating import operating_measure
from everypair.metrics import precision_at_k, recall_at_k
from everypair.rows import Rows
from everypair.solvers.grouped_quota import GroupedQuota


def rows_in_groups(seed, n_groups=12, ties=False):
    rng = np.random.default_rng(seed)
    within = rng.permutation(np.repeat(np.arange(n_groups), rng.integers(1, 9, n_groups)))
    y = (rng.random(within.size) < 0.4).astype(int)
    scores = rng.standard_normal(within.size)
    return y, np.round(scores) if ties else scores, within


@pytest.mark.parametrize("k", [1, 3, 20, 0.3, "p", "0.5p"])
@pytest.mark.parametrize("metric", [precision_at_k, recall_at_k])
@pytest.mark.parametrize("ties", [False, True])
def test_the_metric_inside_groups_is_the_mean_of_the_metric_of_each_group(metric, k, ties):
    for seed in range(10):
        y, scores, within = rows_in_groups(seed, ties=ties)
        expected = []
        for group in np.unique(within):
            rows = within == group
            if 0 < y[rows].sum() < rows.sum():
                most = min(k, int(rows.sum())) if isinstance(k, int) else k
                expected.append(metric(y[rows], scores[rows], most))
        assert metric(y, scores, k, within=within) == pytest.approx(np.mean(expected), abs=1e-14)


def test_a_k_that_means_nothing_is_refused_inside_groups_too():
    y, scores, within = rows_in_groups(0)
    for k, words in ((0, "k=0 means no row"), (1.5, "k=1.5 is not a number of rows")):
        with pytest.raises(ValueError, match=words):
            precision_at_k(y, scores, k, within=within)


def smooth_value(y, scores, within, k, what):
    """As the module defines it, with cuts by another solver."""
    found = []
    for group in np.unique(within):
        s, positive = scores[within == group], y[within == group] == 1
        if not 0 < positive.sum() < s.size:
            continue
        count = min(k, s.size)
        above = np.ones(s.size)
        if count < s.size:
            cut = brentq(lambda c, s=s, n=count: expit(s - c).sum() - n, -200, 200, xtol=1e-13)
            above = expit(s - cut)
        found.append(above[positive].sum() / (count if what == "precision" else positive.sum()))
    return np.mean(found)


@pytest.mark.parametrize("what", ["precision", "recall"])
@pytest.mark.parametrize("scale", [0.1, 1.0, 30.0])
def test_value_and_gradient_of_the_smooth_form_are_those_of_the_definition(what, scale):
    for seed in range(4):
        y, scores, within = rows_in_groups(seed)
        scores = scale * scores
        rows = Rows.uncut(y, None, within)
        statistic = GroupedQuota.of(operating_measure(f"{what}_at_k", rows, k=3), rows)
        point = statistic.at(scores)
        assert point.loss == pytest.approx(1 - smooth_value(y, scores, within, 3, what), abs=1e-8)
        slopes = approx_fprime(scores, statistic.loss, 1e-5)
        np.testing.assert_allclose(point.gradient, slopes, atol=2e-5)


def test_far_apart_the_smooth_form_is_the_exact_one():
    y, scores, within = rows_in_groups(1)
    rows = Rows.uncut(y, None, within)
    measure = operating_measure("precision_at_k", rows, k=2)
    smooth = 1 - GroupedQuota.of(measure, rows).loss(1e6 * scores)
    assert smooth == pytest.approx(precision_at_k(y, scores, 2, within=within), abs=1e-6)
    assert measure.value(rows, scores) == precision_at_k(y, scores, 2, within=within)


def offers(seed, n_users=60, n_offers=12):
    """Inside a user low prices are bought; dear users buy more."""
    rng = np.random.default_rng(seed)
    user = np.repeat(np.arange(n_users), n_offers)
    wealth, bargain = 3 * rng.standard_normal(n_users)[user], rng.standard_normal(user.size)
    y = (wealth + 2 * bargain + rng.logistic(size=user.size) > 1).astype(int)
    X = np.column_stack([wealth - bargain, rng.standard_normal((user.size, 2))])
    return X, y, user


def test_the_fit_climbs_the_precision_of_each_group():
    X, y, user = offers(0)
    model = MeasureOpt("precision_at_k", k=3).fit(X, y, within=user)
    assert model.train_score_ >= model.start_score_
    scores = X @ model.coef_[0]
    assert model.train_score_ == pytest.approx(precision_at_k(y, scores, 3, within=user))
    test_X, test_y, test_user = offers(1)
    overall = MeasureOpt("precision_at_k", k=180).fit(X, y)
    found = [
        precision_at_k(test_y, test_X @ m.coef_[0], 3, within=test_user) for m in (model, overall)
    ]
    assert found[0] > found[1] + 0.1
    assert model.n_groups_without_pairs_ > 0
    assert model.predict(X).mean() == pytest.approx(3 / 12, abs=0.01)


def test_rows_of_weight_zero_are_left_out():
    X, y, user = offers(2)
    kept = np.random.default_rng(0).random(y.size) < 0.7
    model = MeasureOpt("recall_at_k", k=2).fit(X, y, kept.astype(float), within=user)
    part = MeasureOpt("recall_at_k", k=2).fit(X[kept], y[kept], within=user[kept])
    np.testing.assert_allclose(model.coef_, part.coef_, rtol=1e-5)
    assert model.train_score_ == pytest.approx(part.train_score_)


def test_a_calibration_is_made_from_rows_of_other_groups():
    X, y, user = offers(3)
    model = MeasureOpt("precision_at_k", k=3, calibration="sigmoid", cv=3).fit(X, y, within=user)
    probability = model.predict_proba(X)[:, 1]
    assert np.all((probability > 0) & (probability < 1))


@pytest.mark.parametrize(
    ("options", "weight", "words"),
    [
        ({"measure": "f1"}, None, "measure='f1' cannot be taken inside groups"),
        ({"measure": "precision_at_k", "k": 12}, None, "k=12 selects every row of every group"),
        ({"measure": "precision_at_k", "k": 3}, "uneven", "k counts rows in each group"),
    ],
)
def test_what_has_no_meaning_inside_groups_is_one_clear_error(options, weight, words):
    X, y, user = offers(4)
    weight = None if weight is None else np.linspace(1, 2, y.size)
    with pytest.raises(ValueError, match=words):
        MeasureOpt(**options).fit(X, y, weight, within=user)


def test_the_search_scores_whole_groups_that_no_model_of_theirs_has_seen():
    X, y, user = offers(5, n_users=80)
    model = MeasureOptCV(
        "precision_at_k", k=3, saturation=(0.35, 0.9), alphas=[1e-7, 1.0], tol=1e-4
    ).fit(X, y, within=user)
    groups = Rows.uncut(y, None, user).within
    folds = folds_of(None, X, y == 1, None, None, each_has_auc=True, within=groups)
    scores = np.empty(y.size)
    for train, test in folds:
        assert not set(user[train]) & set(user[test])
        start = AUCClassifier(alpha=1e-8).fit(X[train], y[train], within=user[train])
        scores[test] = X[test] @ start.coef_[0]
    expected = precision_at_k(y, scores, 3, within=user)
    assert model.cv_scores_[1] == pytest.approx(expected, abs=1e-9)  # the start of little penalty
    low, high = model.score_interval_
    assert low <= model.best_score_ <= high
    assert 0.02 < high - low < 0.3
    assert model.n_groups_without_pairs_ > 0
    test_X, test_y, test_user = offers(6, n_users=300)
    found = precision_at_k(test_y, test_X @ model.coef_[0], 3, within=test_user)
    assert low - 0.05 <= found <= high + 0.05
    overall = MeasureOptCV("precision_at_k", k=0.25, saturation=(0.35,)).fit(X, y)
    assert found > precision_at_k(test_y, test_X @ overall.coef_[0], 3, within=test_user) + 0.1


def test_held_out_groups_are_a_mean_over_groups_and_whole_groups_are_drawn():
    y, scores, within = rows_in_groups(2)
    groups = Rows.uncut(y, None, within).within
    rows = Rows.uncut(y, None, within)
    measure = operating_measure("precision_at_k", rows, k=2)
    half = np.isin(within, np.unique(within)[::2])
    folds = [(np.flatnonzero(half != part), np.flatnonzero(half == part)) for part in (0, 1)]
    held = held_out(measure, y == 1, np.ones(y.size), folds, scores, within)
    assert held.value() == pytest.approx(precision_at_k(y, scores, 2, within=within))
    on_one = held.on(folds[:1])
    test = folds[0][1]
    expected = precision_at_k(y[test], scores[test], 2, within=within[test])
    assert on_one.value() == pytest.approx(expected)
    # A group drawn twice is a group that is there twice.
    drawn = next(samples(y == 1, held.weight, 1, held.groups, seed=3))
    counts = [drawn[within == name][0] for name in groups.names]
    members = [np.flatnonzero(within == name) for name in groups.names]
    twice = [rows for rows, n in zip(members, counts, strict=True) for _ in range(int(n))]
    again = np.concatenate(twice)
    names = np.repeat(np.arange(len(twice)), [rows.size for rows in twice])
    by_hand = precision_at_k(y[again], scores[again], 2, within=names)
    assert held.value(None, drawn) == pytest.approx(by_hand)
    assert held.draws(held.prepared, n_draws=7).shape == (1, 7)


def test_the_search_takes_groups_beside_within_and_cut_groups():
    X, y, user = offers(7)
    options = {"k": 3, "saturation": (0.5,), "alphas": [0.01]}
    pairs_of_users = MeasureOptCV("recall_at_k", cv=3, **options)
    pairs_of_users.fit(X, y, within=user, groups=user // 2)
    cut = MeasureOptCV("recall_at_k", cv=StratifiedKFold(3), **options).fit(X, y, within=user)
    for model in (pairs_of_users, cut):
        assert 0 < model.best_score_ < 1
    with pytest.raises(ValueError, match="cannot be taken inside groups"):
        MeasureOptCV("f1").fit(X, y, within=user)
