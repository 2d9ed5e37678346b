"""Probabilities and cuts from out-of-fold scores, for every estimator of the library."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
from contract import scikit_learn_contract
from scipy.optimize import minimize
from scipy.special import expit, logit
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV, _sigmoid_calibration
from sklearn.isotonic import IsotonicRegression
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    RepeatedStratifiedKFold,
    StratifiedKFold,
    cross_val_score,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import everypair
from everypair import (
    AUCRLS,
    AUCRLSCV,
    ROCSVM,
    AUCClassifier,
    AUCClassifierCV,
    MeasureOpt,
    MeasureSVM,
    MeasureSVMCV,
    RankBoost,
    RankOpt,
    RankOptCV,
)
from everypair.estimators._calibration import LEAST_SLOPE, METHODS, Isotonic, LogOdds, calibrated
from everypair.estimators._cross_fit import ROWS_PER_COLUMN, rarer_rows
from everypair.metrics import threshold_for

ESTIMATORS = [getattr(everypair, name) for name in everypair.__all__ if name[0].isupper()]
OPTIONS = {
    "AUCClassifierCV": {"n_alphas": 4, "cv": 2},
    "AUCRLSCV": {"alphas": [1e-2, 1.0]},
    "CPAUC": {"n_clusters": 20, "random_state": 0, "tol": 1e-3},
    "MeasureOpt": {"saturation": 0.5},
    "MeasureOptCV": {"alphas": [1e-2], "saturation": 0.5, "cv": 2},
    "MeasureSVM": {"C": 0.01},
    "MeasureSVMCV": {"Cs": [0.001, 0.01], "cv": 2},
    "ROCSVM": {"C": 0.01, "tol": 1e-4},
    "RankBoost": {"n_estimators": 10},
    "RankOpt": {"saturation": 0.5},
    "RankOptCV": {"saturation": (0.3, 0.6), "cv": 2},
}
every_estimator = pytest.mark.parametrize("cls", ESTIMATORS, ids=lambda cls: cls.__name__)
SEARCHES = [cls for cls in ESTIMATORS if cls.__name__.endswith("CV")]
every_estimator_and_slowly_every_search = pytest.mark.parametrize(
    "cls",
    [pytest.param(cls, marks=[pytest.mark.slow] * (cls in SEARCHES)) for cls in ESTIMATORS],
    ids=lambda cls: cls.__name__,
)
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def made(cls, **more):
    return cls(**{**OPTIONS.get(cls.__name__, {}), **more})


def rows(n_rows=120, noise=0.8, offset=3.0, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_rows, 3))
    signal = X[:, 0] + noise * rng.standard_normal(n_rows)
    return X + offset, np.where(signal > np.quantile(signal, 0.6), "yes", "no")


# --- every estimator ------------------------------------------------------------------------


@every_estimator
@pytest.mark.parametrize("calibration", METHODS)
def test_probabilities_rise_with_the_score_and_are_inside_zero_and_one(cls, calibration):
    X, y = rows()
    model = made(cls, calibration=calibration).fit(X, y)
    new = np.vstack([X, 30 * X, -30 * X])
    p, decisions = model.predict_proba(new), model.decision_function(new)
    assert p.shape == (new.shape[0], 2)
    assert np.all((p > 0) & (p < 1))
    np.testing.assert_allclose(p.sum(axis=1), 1)
    np.testing.assert_allclose(model.predict_log_proba(new), np.log(p), rtol=1e-6, atol=1e-12)
    order = np.argsort(decisions)
    assert np.all(np.diff(p[order, 1]) >= 0)
    assert abs(model.predict_proba(X)[:, 1].mean() - (y == "yes").mean()) < 0.1
    if calibration in ("sigmoid", "beta"):
        inside = np.unique(model.decision_function(X))
        found = model.calibrator_.probabilities(inside)[:, 1]
        assert np.all(np.diff(found) > 0)  # the ranking is kept
    np.testing.assert_array_equal(model.predict(X) == "yes", model.decision_function(X) > 0)


@every_estimator
def test_without_a_calibration_the_error_says_what_to_set(cls):
    for name in ("predict_proba", "predict_log_proba"):
        assert not hasattr(made(cls), name)
        assert hasattr(made(cls, calibration="auto"), name)
        with pytest.raises(AttributeError, match="set calibration='auto' and fit again"):
            getattr(made(cls), name)


@pytest.mark.parametrize("loss", ["logistic", "squared_hinge"])
def test_out_of_fold_scores_have_seen_nothing_of_their_rows(monkeypatch, loss):
    """At a large alpha the fit on all rows, where the folds begin, is nearly theirs."""
    from everypair.estimators import auc

    kept, scores_in_folds = [], auc.scores_in_folds
    monkeypatch.setattr(
        auc, "scores_in_folds", lambda *a, **k: kept.append(scores_in_folds(*a, **k)) or kept[-1]
    )
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((1000, 20)), rng.random(1000) < 0.3
    for tol in (1e-6, 1e-12):
        AUCClassifier(loss, alpha=100.0, calibration="sigmoid", cv=5, tol=tol).fit(X, y)
    usual, exact = (roc_auc_score(y, held_out.scores) for held_out in kept)
    assert usual == pytest.approx(exact, abs=2e-3)


@every_estimator_and_slowly_every_search
def test_a_calibration_moves_no_score(cls):
    """The cut may move, because it comes from out-of-fold scores."""
    X, y = rows()
    plain, model = made(cls).fit(X, y), made(cls, calibration="auto").fit(X, y)
    scores = [m.decision_function(X) - m.intercept_[0] for m in (plain, model)]
    np.testing.assert_allclose(scores[0], scores[1], rtol=1e-12)


@every_estimator_and_slowly_every_search
def test_log_loss_and_calibrated_classifier_cv_and_pipelines_work(cls):
    X, y = rows(80)
    model = make_pipeline(StandardScaler(), made(cls, calibration="sigmoid"))
    scores = cross_val_score(model, X, y, cv=3, scoring="neg_log_loss")
    assert np.all(scores > -0.7)
    outer = CalibratedClassifierCV(made(cls), cv=2).fit(X, y)
    assert np.isfinite(outer.predict_proba(X)).all()
    assert clone(model).get_params().keys() == model.get_params().keys()


@every_estimator_and_slowly_every_search
def test_a_second_fit_without_calibration_forgets_the_first(cls):
    X, y = rows(60)
    model = made(cls, calibration="sigmoid").fit(X, y)
    model.set_params(calibration=None).fit(X, y)
    assert not hasattr(model, "calibrator_")


def test_every_estimator_has_the_same_parameters_in_the_same_order():
    for cls in ESTIMATORS:
        names = list(inspect.signature(cls).parameters)
        at = names.index("threshold")
        assert names[at + 1 : at + 3] == ["calibration", "prior"], cls
        assert "cv" in names
        assert "groups" in inspect.signature(cls.fit).parameters, cls


CHECKED = [
    made(cls, calibration=calibration)
    for cls, calibration in ((AUCClassifier, "sigmoid"), (AUCRLS, "isotonic"))
]


def of_cuts_and_weights(estimator):
    """What scikit-learn excuses its own estimators for as well.

    `TunedThresholdClassifierCV` cuts elsewhere than at one half, and `CalibratedClassifierCV`
    does not take weights for counts of rows: here the unit of the weights does not matter.
    """
    return {
        "check_classifiers_train": "predict cuts where threshold says, not at one half",
        "check_sample_weight_equivalence_on_dense_data": "weights are not counts of rows",
        "check_sample_weight_equivalence_on_sparse_data": "weights are not counts of rows",
    }


@scikit_learn_contract(
    *CHECKED, expected_failed_checks=of_cuts_and_weights, checked_elsewhere=[AUCRLS]
)
def test_scikit_learn_accepts_estimators_with_probabilities(estimator, check):
    check(estimator)


def test_a_grid_search_tunes_by_log_loss():
    X, y = rows(150)
    grid = {"alpha": [1e-3, 1e3], "calibration": ["sigmoid", "intercept"]}
    search = GridSearchCV(AUCClassifier(), grid, scoring="neg_log_loss", cv=3)
    assert search.set_params(error_score="raise").fit(X, y).best_score_ > -0.6


# --- out-of-fold scores ---------------------------------------------------------------------


def by_hand(model, X, y, folds):
    """Scores of held-out rows by models of the other rows alone, less their mean over all rows."""
    out = np.zeros(y.size)
    for train, test in folds:
        fold = clone(model).fit(X[train], y[train])
        scores = fold.decision_function(X) - fold.intercept_[0]
        out[test] = scores[test] - scores.mean()
    return out


PLAIN = [
    AUCClassifier(tol=1e-10),
    AUCClassifier("squared_hinge", penalty="l1", alpha=0.01, tol=1e-10),
    AUCRLS(),
    AUCRLS(kernel="rbf"),
    RankOpt(tol=1e-6),
    RankBoost(n_estimators=10),
    MeasureSVM(C=0.01, tol=1e-8),
    MeasureOpt(saturation=0.5, tol=1e-6),
]


@pytest.mark.parametrize("model", PLAIN, ids=str)
def test_a_cut_by_folds_is_that_of_models_fitted_on_the_other_rows(model):
    X, y = rows(100)
    cv = StratifiedKFold(4, shuffle=True, random_state=1)  # ten positives each
    held_out = by_hand(clone(model).set_params(threshold=0.0), X, y, cv.split(X, y))
    asked = {"cv": cv, "threshold": {"recall": 0.8}, "calibration": "sigmoid"}
    fitted = clone(model).set_params(**asked).fit(X, y)
    scores = fitted.decision_function(X) - fitted.intercept_[0]
    expected = threshold_for(y, held_out, recall=0.8)
    assert -fitted.intercept_[0] == pytest.approx(expected + scores.mean(), rel=1e-4, abs=1e-5)
    slope, intercept = _sigmoid_calibration(held_out - expected, (y == "yes").astype(float))
    found = fitted.predict_proba(X)[:, 1]
    np.testing.assert_allclose(
        found, expit(-(slope * (scores - scores.mean() - expected) + intercept)), atol=2e-3
    )


CROSS_VALIDATED = [
    (AUCClassifierCV(alphas=[1e-3, 1e-1], tol=1e-10), lambda m: AUCClassifier(alpha=m.alpha_)),
    (
        AUCClassifierCV(penalty="l1", alphas=[1e-3, 1e-2], tol=1e-10),
        lambda m: AUCClassifier(penalty="l1", alpha=m.alpha_, tol=1e-10),
    ),
    (
        RankOptCV((0.3, 0.6, 0.9), tol=1e-5),
        lambda m: RankOpt(saturation=m.saturations_[: 1 + int(np.argmax(m.cv_scores_))], tol=1e-5),
    ),
    (MeasureSVMCV(Cs=[1e-3, 1e-2], tol=1e-8), lambda m: MeasureSVM(C=m.C_, tol=1e-8)),
]


@pytest.mark.parametrize(
    ("model", "plain"), CROSS_VALIDATED, ids=[str(m)[:30] for m, _ in CROSS_VALIDATED]
)
def test_a_search_cuts_by_the_folds_of_the_candidate_it_chose(model, plain):
    X, y = rows(100)
    cv = StratifiedKFold(4, shuffle=True, random_state=1)
    model = clone(model).set_params(cv=cv, threshold="balanced").fit(X, y)
    held_out = by_hand(plain(model).set_params(threshold=0.0), X, y, cv.split(X, y))
    scores = model.decision_function(X) - model.intercept_[0]
    expected = threshold_for(y, held_out, "balanced") + scores.mean()
    assert -model.intercept_[0] == pytest.approx(expected, rel=1e-3, abs=1e-3 * scores.std())


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("cv", [StratifiedKFold(4), "leave-pair-out"], ids=["folds", "pairs"])
def test_auc_rls_cuts_by_folds_in_closed_form(kernel, cv):
    X, y = rows(80)
    model = AUCRLSCV([1e-2, 1e-1], cv=cv, kernel=kernel, gamma=0.3, threshold="f1").fit(X, y)
    plain = AUCRLS(model.alpha_, kernel=kernel, gamma=0.3)
    folds = list((StratifiedKFold(5) if isinstance(cv, str) else cv).split(X, y))
    scores = model.decision_function(X) - model.intercept_[0]
    if isinstance(cv, str):
        held_out, level = by_hand(plain.set_params(threshold=0.0), X, y, folds), scores.mean()
    else:  # less the midpoint of each fold
        held_out = np.zeros(y.size)
        for train, test in folds:
            held_out[test] = plain.fit(X[train], y[train]).decision_function(X[test])
        level = -plain.fit(X, y).intercept_[0]
    expected = threshold_for(y, held_out, "f1") + level
    assert -model.intercept_[0] == pytest.approx(expected, rel=1e-6, abs=1e-8)


def test_scores_of_folds_do_not_depend_on_where_the_features_lie():
    X, y = rows(offset=0.0)
    near = AUCClassifier(calibration="sigmoid", tol=1e-10).fit(X, y)
    far = AUCClassifier(calibration="sigmoid", tol=1e-10).fit(X + 1e4, y)
    np.testing.assert_allclose(near.predict_proba(X), far.predict_proba(X + 1e4), atol=1e-6)


def test_rows_of_one_group_are_never_on_both_sides_of_a_fold():
    """Each row four times: only groups tell that the copies are not new rows."""
    X, y = rows(30, noise=2.0)
    X = np.hstack([X, np.random.default_rng(1).standard_normal((30, 20))])
    X, y, groups = np.repeat(X, 4, axis=0), np.repeat(y, 4), np.repeat(np.arange(30), 4)
    model = AUCClassifier(alpha=1e-4, calibration="sigmoid", cv=StratifiedKFold(5, shuffle=True))
    fooled = model.fit(X, y).calibrator_
    for cv in (None, 5, GroupKFold(5)):
        honest = model.set_params(cv=cv).fit(X, y, groups=groups).calibrator_
        assert honest.low / honest.scale < 0.3 * fooled.low / fooled.scale


def test_rows_that_several_folds_test_count_once():
    X, y = rows()
    model = AUCClassifier(calibration="sigmoid", cv=RepeatedStratifiedKFold(n_repeats=3))
    p = model.fit(X, y).predict_proba(X)[:, 1]
    once = AUCClassifier(calibration="sigmoid").fit(X, y).predict_proba(X)[:, 1]
    np.testing.assert_allclose(p, once, atol=0.05)


def test_a_precomputed_kernel_gives_the_probabilities_of_its_kernel():
    from sklearn.metrics.pairwise import rbf_kernel

    X, y = rows(60)
    K = rbf_kernel(X, gamma=0.5)
    for cls in (AUCRLS, ROCSVM, MeasureSVM):
        by_name = made(cls, kernel="rbf", gamma=0.5, calibration="sigmoid").fit(X, y)
        given = made(cls, kernel="precomputed", calibration="sigmoid").fit(K, y)
        np.testing.assert_allclose(given.predict_proba(K), by_name.predict_proba(X), atol=5e-3)


def test_a_class_of_one_row_is_refused_with_a_remedy():
    X, y = rows(20)
    y = np.where(np.arange(20) == 3, "yes", "no")
    with pytest.raises(ValueError, match="one class has 1: set calibration=None"):
        AUCClassifier(calibration="auto").fit(X, y)
    y[5] = "yes"
    p = AUCClassifier(calibration="auto").fit(X, y).predict_proba(X)
    assert np.all((p > 0) & (p < 1))


def test_rows_of_no_weight_change_nothing():
    X, y = rows(100)
    weight = np.where(np.arange(100) < 90, 1.0, 0.0)
    for cls in (AUCClassifier, AUCRLS, RankBoost, ROCSVM):
        all_rows = made(cls, calibration="sigmoid").fit(X, y, weight)
        without = made(cls, calibration="sigmoid").fit(X[:90], y[:90])
        np.testing.assert_allclose(
            all_rows.predict_proba(X), without.predict_proba(X), atol=2e-3, err_msg=cls.__name__
        )


def test_streams_are_refused_where_every_row_is_needed():
    assert hasattr(AUCRLS(), "partial_fit")
    assert not hasattr(AUCRLS(calibration="auto"), "partial_fit")
    assert not hasattr(AUCRLS(cv=5), "partial_fit")


# --- the population ---------------------------------------------------------------------------


def logistic_rows(n_rows, seed, shift=-3.0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_rows, 2))
    return X, rng.random(n_rows) < expit(1.5 * X[:, 0] + shift)


def test_a_prior_without_probabilities_is_refused():
    X, y = np.arange(20.0)[:, None], np.arange(20) > 12
    with pytest.raises(ValueError, match=r"prior=0\.1 is for probabilities.*calibration='auto'"):
        AUCClassifier(prior=0.1).fit(X, y)


def test_a_prior_undoes_the_sampling_of_negatives():
    X, y = logistic_rows(40_000, 0)
    new, y_new = logistic_rows(20_000, 1)
    kept = y | (np.random.default_rng(2).random(y.size) < 0.1)
    sampled = AUCClassifier(calibration="sigmoid", prior=float(y.mean())).fit(X[kept], y[kept])
    assert sampled.predict_proba(new)[:, 1].mean() == pytest.approx(y_new.mean(), rel=0.1)
    wrong = AUCClassifier(calibration="sigmoid").fit(X[kept], y[kept])
    assert wrong.predict_proba(new)[:, 1].mean() > 3 * y_new.mean()
    np.testing.assert_array_equal(sampled.predict(new), wrong.predict(new))
    weight = np.where(y[kept], 1.0, 10.0)
    weighted = AUCClassifier(calibration="sigmoid").fit(X[kept], y[kept], weight)
    for model in (sampled, weighted):
        truth = expit(1.5 * new[:, 0] - 3)
        assert np.abs(model.predict_proba(new)[:, 1] - truth).mean() < 0.01
        assert log_loss(y_new, model.predict_proba(new)) < log_loss(y_new, truth) + 0.002


@pytest.mark.parametrize("method", METHODS)
def test_a_prior_shifts_the_log_odds(method):
    _, y = logistic_rows(500, 0, -1.0)
    scores = np.random.default_rng(1).standard_normal(500) + y
    plain, moved = (calibrated(method, scores, y, None, prior) for prior in (None, 0.003))
    n_positive, n_negative = y.sum(), (~y).sum()
    share = (n_positive * (n_positive + 1) / (n_positive + 2) + n_negative / (n_negative + 2)) / 500
    knots = plain.knots if method == "isotonic" else scores
    found = moved.log_odds(knots) - plain.log_odds(knots)
    np.testing.assert_allclose(found, logit(0.003) - logit(share), atol=1e-9)


@pytest.mark.parametrize("method", METHODS)
def test_the_unit_of_weights_does_not_matter(method):
    _, y = logistic_rows(300, 0, -1.0)
    rng = np.random.default_rng(1)
    scores, weight = rng.standard_normal(300) + y, rng.integers(1, 5, 300).astype(float)
    found = [
        calibrated(method, scores, y, unit * weight, None).probabilities(scores)
        for unit in (1.0, 1e-300, 1e300)
    ]
    np.testing.assert_allclose(found[0], found[1], rtol=1e-9)
    np.testing.assert_allclose(found[0], found[2], rtol=1e-9)


# --- the maps against independent solvers -----------------------------------------------------


def platt_targets(y):
    n_positive, n_negative = y.sum(), (~y).sum()
    return np.where(y, (n_positive + 1) / (n_positive + 2), 1 / (n_negative + 2))


@pytest.mark.parametrize("seed", range(5))
def test_the_sigmoid_is_scikit_learn_s(seed):
    rng = np.random.default_rng(seed)
    y = rng.random(200) < 0.2
    scores = rng.standard_normal(200) * 5 + 3 * y + 100
    slope, intercept = _sigmoid_calibration(scores, y.astype(float))
    found = calibrated("sigmoid", scores, y, None, None).log_odds(scores)
    np.testing.assert_allclose(found, -(slope * scores + intercept), atol=1e-4)


@pytest.mark.parametrize("seed", range(5))
def test_isotonic_is_scikit_learn_s_of_platt_s_targets(seed):
    rng = np.random.default_rng(seed)
    y, weight = rng.random(200) < 0.3, rng.random(200) + 0.1
    scores = np.round(rng.standard_normal(200) + y, 1)  # with ties
    found = calibrated("isotonic", scores, y, None, None).probabilities(scores)[:, 1]
    expected = IsotonicRegression().fit(scores, platt_targets(y)).predict(scores)
    np.testing.assert_allclose(found, expected, atol=1e-12)
    heavy = calibrated("isotonic", scores, y, weight, None).probabilities(scores)[:, 1]
    assert np.abs(heavy - found).max() > 1e-3


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("method", ["intercept", "sigmoid", "beta"])
def test_logistic_maps_have_the_least_log_loss_of_their_kind(method, seed):
    """Against scipy on the calibrator's own form; seeds 4 and 5 have slopes at their bound."""
    rng = np.random.default_rng(seed)
    y, weight = rng.random(150) < 0.3, rng.random(150) + 0.1
    scores = rng.standard_normal(150) + (1 if seed < 4 else -1) * y
    weight /= weight.sum()
    sizes = [weight[m].sum() ** 2 / (weight[m] ** 2).sum() for m in (y, ~y)]
    targets = np.where(y, (sizes[0] + 1) / (sizes[0] + 2), 1 / (sizes[1] + 2))
    found = calibrated(method, scores, y, weight, None)

    def loss(odds):
        return float(weight @ (np.logaddexp(0, odds) - targets * odds))

    def odds_of(parameters):
        low, high, intercept = {"intercept": lambda b: (1.0, 1.0, b),
                                "sigmoid": lambda a, b: (a, a, b),
                                "beta": lambda a, b, c: (a, b, c)}[method](*parameters)  # fmt: skip
        return LogOdds(found.centre, found.scale, low, high, intercept).log_odds(scores)

    n_slopes = {"intercept": 0, "sigmoid": 1, "beta": 2}[method]
    bounds = [(LEAST_SLOPE, None)] * n_slopes + [(None, None)]
    start = np.append(np.ones(n_slopes), 0.0)
    options = {"ftol": 1e-15, "gtol": 1e-10, "maxiter": 1000}
    best = minimize(lambda p: loss(odds_of(p)), start, bounds=bounds, options=options)
    assert loss(found.log_odds(scores)) <= best.fun + 1e-8
    assert found.holds


CASES = {
    "separable": (np.arange(20.0), np.arange(20) > 9),
    "reversed": (-np.arange(20.0), np.arange(20) > 9),
    "constant": (np.full(20, 3.0), np.arange(20) > 9),
    "ties": (np.repeat([0.0, 1.0], 10), np.arange(20) % 3 == 0),
    "one positive": (np.arange(20.0), np.arange(20) == 15),
    "huge": ((np.arange(20.0) - 10) * 1e306, np.arange(20) % 4 > 1),
    "tiny": (np.arange(20.0) * 1e-300, np.arange(20) % 4 > 1),
    "far away": (1e9 + np.arange(20.0), np.arange(20) > 12),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("prior", [None, 1e-6, 0.999])
@pytest.mark.filterwarnings("error")
def test_no_scores_make_a_probability_of_zero_one_or_nan(case, method, prior):
    scores, y = CASES[case]
    found = calibrated(method, scores, y, None, prior)
    assert found.holds
    new = np.concatenate([scores, [-np.finfo(float).max, 0.0, np.finfo(float).max]])
    p = found.probabilities(new)
    assert np.all((p > 0) & (p < 1))
    assert np.all(np.isfinite(found.log_probabilities(new)))
    assert np.all(np.diff(p[np.argsort(new), 1]) >= 0)
    if method in ("sigmoid", "beta") and case not in ("constant", "huge") and prior is None:
        assert roc_auc_score(y, p[: y.size, 1]) == roc_auc_score(y, scores)


def test_scores_that_say_nothing_are_given_the_share_of_positives():
    scores, y = -np.arange(200.0), np.arange(200) > 149
    for method in ("sigmoid", "beta", "isotonic"):
        p = calibrated(method, scores, y, None, None).probabilities(scores)[:, 1]
        np.testing.assert_allclose(p, y.mean(), atol=0.01)


def test_an_isotonic_map_is_constant_beyond_its_knots():
    found = Isotonic(np.array([0.0, 1.0]), np.array([0.2, 0.6]))
    np.testing.assert_allclose(
        found.probabilities(np.array([-5.0, 0.5, 7.0]))[:, 1], [0.2, 0.4, 0.6]
    )


@pytest.mark.parametrize("value", [0, 1, 0.0, 1.0, -0.5, "0.1"])
def test_a_prior_outside_zero_and_one_is_refused(value):
    with pytest.raises(ValueError, match="prior"):
        AUCClassifier(calibration="auto", prior=value).fit(*rows())


@pytest.mark.parametrize("cls", [AUCClassifier, AUCRLS])
def test_a_guaranteed_cut_comes_from_rows_that_were_held_out(cls):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 60))
    y = X[:, 0] + rng.logistic(size=400) > 0
    rule = {"fpr": 0.2, "guarantee": 0.9}
    promised, by_folds, without = (
        cls(threshold=threshold, cv=cv).fit(X, y).intercept_[0]
        for threshold, cv in ((rule, None), (rule, 5), ({"fpr": 0.2}, None))
    )
    assert promised == by_folds
    assert promised < without  # a higher cut than the one that promises nothing


@pytest.mark.parametrize(
    "model",
    [
        AUCClassifier(),
        *(
            pytest.param(model, marks=pytest.mark.slow)
            for model in (AUCRLS(), RankOpt(), RankBoost(20))
        ),
    ],
    ids=str,
)
def test_the_default_cut_of_few_rows_has_the_recall_that_was_asked_for(model):
    """Five rows per column: 0.9 by training scores is 0.82 or less on new rows."""
    rng = np.random.default_rng(0)
    found = []
    for _ in range(12):
        X = rng.standard_normal((1400, 30))
        y = X[:, 0] + X[:, 1] + rng.logistic(size=1400) > 1
        few, new = slice(0, 150), slice(150, None)
        fitted = clone(model).set_params(threshold={"recall": 0.9}).fit(X[few], y[few])
        scores = fitted.decision_function(X)
        by_training = threshold_for(y[few], scores[few], recall=0.9)
        found.append([np.mean(scores[new][y[new]] > cut) for cut in (by_training, 0.0)])
    by_training, by_default = np.mean(found, axis=0)
    assert by_training < 0.83
    assert 0.87 < by_default < 0.96


def test_many_rows_per_column_are_cut_by_training_scores():
    rng = np.random.default_rng(1)
    for per_column, by_training in ((ROWS_PER_COLUMN, True), (ROWS_PER_COLUMN - 1, False)):
        y = np.arange(8 * per_column) < 2 * per_column  # two columns
        X = rng.standard_normal((y.size, 2)) + y[:, None]
        for cls in (AUCClassifier, AUCRLS, RankOpt, MeasureOpt, ROCSVM):
            linear = {"kernel": "linear"} if cls is ROCSVM else {}
            model = cls(threshold={"recall": 0.8}, **linear).fit(X, y)
            of_training = threshold_for(y, X @ model.coef_[0], recall=0.8)
            same = -model.intercept_[0] == pytest.approx(of_training, abs=1e-9)
            assert same == by_training, cls
    assert not AUCClassifier(threshold="midpoint")._cross_fits(X, y, None)
    assert not AUCClassifier(threshold=0.3)._cross_fits(X, y, None)
    assert RankBoost(threshold="f1")._cross_fits(
        np.zeros((10**6, 1)), np.arange(10**6) % 2 == 0, None
    )


def test_weights_count_by_their_effective_number_of_rows():
    y = np.arange(400) < 100
    weight = np.where(np.arange(400) % 100 < 50, 1.0, 0.0)
    assert rarer_rows(y, None) == 100
    assert rarer_rows(y, weight) == pytest.approx(50)
    assert rarer_rows(y, 7 * weight) == pytest.approx(50)
    assert rarer_rows(y, np.where(np.arange(400) == 0, 1e6, 1.0)) == pytest.approx(1, abs=1e-3)


def test_rows_too_few_for_folds_are_cut_by_their_training_scores():
    X = np.arange(12.0)[:, None]
    y = X[:, 0] == 11
    np.testing.assert_array_equal(AUCClassifier(threshold="f1").fit(X, y).predict(X), y)
    some, groups = X[:, 0] > 6, (X[:, 0] > 6).astype(int)  # two groups, of a class each
    model = AUCClassifier(threshold="f1").fit(X, some, groups=groups)
    np.testing.assert_array_equal(model.predict(X), some)
    with pytest.raises(ValueError, match="two rows of each class"):
        AUCClassifier(cv=3).fit(X, y)
    with pytest.raises(ValueError, match="inconsistent numbers"):
        AUCClassifier(threshold="f1").fit(X, some, groups=groups[:5])
