"""MeasureOpt and MeasureOptCV: never below their start, honest on held-out rows, clear refusals."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from contract import scikit_learn_contract
from scipy import sparse
from scipy.special import expit
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score, roc_curve
from sklearn.model_selection import GroupKFold, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import SplineTransformer, StandardScaler

from everypair import MeasureOpt, MeasureOptCV, RankOpt
from everypair.estimators._climb_problem import ClimbProblem
from everypair.estimators._held_out import HeldOut
from everypair.linalg.matrix import as_matrix
from everypair.measures import ContingencyMeasure, PrecisionAtK
from everypair.measures.operating import operating_measure
from everypair.metrics import auc_score
from everypair.rows import Rows

OPTIONS = {
    "f1": {},
    "fbeta": {"beta": 0.5},
    "mcc": {},
    "cost": {"cost": (1, 10)},
    "precision_at_k": {"k": 40},
    "recall_at_k": {"k": "2p"},
    "tpr_at_fpr": {"fpr": 0.05},
    "fpr_at_tpr": {"tpr": 0.9},
    "precision_at_recall": {"recall": 0.5},
    "recall_at_precision": {"precision": 0.4},
    "partial_roc_area": {"fpr": (0.0, 0.1)},
    "average_precision": {},
    "roc_area": {},
}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@scikit_learn_contract(
    MeasureOpt(cv=2, max_iter=20),
    MeasureOpt("tpr_at_fpr", fpr=0.2, saturation=0.5),
    MeasureOptCV(saturation=(0.5,), alphas=(1e-1, 1e-3), cv=2, max_iter=20),
    last_digits={"tol": 1e-11, "max_iter": 1000},
)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def curved():
    """A boundary that no line follows: the top of the list is elsewhere than the middle."""
    rng = np.random.default_rng(7)
    X = rng.standard_normal((1500, 5))
    odds = 1.2 * X[:, 0] + np.where(X[:, 1] > 1, 2.5, -0.3) + 0.5 * X[:, 2] * (X[:, 0] > 1) - 3
    return X, rng.random(1500) < 1 / (1 + np.exp(-odds))


@pytest.mark.parametrize("measure", OPTIONS)
def test_no_climb_ends_below_its_start_on_the_training_rows(measure, curved):
    X, y = curved
    model = MeasureOpt(measure, **OPTIONS[measure]).fit(X, y)
    rows = Rows.of(y)  # at the best cut of the training rows, as the start is
    scores = rows.scores(model.decision_function(X))
    reached = model.measure_.value(rows, scores, model.measure_.best_cut(rows, scores))
    assert reached >= model.measure_.sign * model.start_score_ - 1e-12
    assert [row.saturation for row in model.path_] == [0.5, 0.9]
    assert all(np.isfinite(row).all() for row in model.path_)
    assert model.path_[-1].slope < 0.2


def test_no_search_ends_below_its_start_on_the_training_rows(monkeypatch):
    """Even where held-out rows prefer a climb that does."""
    monkeypatch.setattr("everypair.estimators.measure_opt_cv.SURE_GAIN", -1e9)
    n_below = 0
    for seed in range(5):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((120, 4))
        y = X[:, 0] + 0.5 * X[:, 1] ** 2 + rng.logistic(size=120) > 1.5
        model = MeasureOptCV("f1", saturation=(0.05,), alphas=[1e-4], cv=3).fit(X, y)
        rows = Rows.of(y)
        scores = rows.scores(model.decision_function(X))
        reached = model.measure_.value(rows, scores, model.measure_.best_cut(rows, scores))
        assert reached >= model.start_score_ - 1e-12
        below = model.path_[-1].train_score < model.start_score_
        assert model.chose_start_ == below
        n_below += below
    assert 0 < n_below < 5


def test_the_start_is_a_logistic_regression(curved):
    X, y = curved
    X = StandardScaler().fit_transform(X)
    ours = MeasureOptCV("f1", alphas=[1e-2], saturation=(0.1,)).fit(X, y)
    theirs = LogisticRegression(C=1 / (1e-2 * y.size), tol=1e-8).fit(X, y)
    best = operating_measure("f1", Rows.of(y))
    rows = Rows.of(y)
    scores = theirs.decision_function(X)
    assert ours.start_score_ == pytest.approx(
        best.value(rows, scores, best.best_cut(rows, scores)), abs=5e-3
    )


@pytest.mark.parametrize("kind", [sparse.csr_matrix, sparse.csc_matrix, "float32", "fortran"])
def test_every_format_gives_the_same_model(kind, curved):
    X, y = curved
    X = X.astype(np.float32).astype(np.float64)
    plain = MeasureOpt("f1").fit(X, y)
    given = {"float32": lambda: X.astype(np.float32), "fortran": lambda: np.asfortranarray(X)}
    other = MeasureOpt("f1").fit(given[kind]() if isinstance(kind, str) else kind(X), y)
    unit = [model.coef_[0] / np.linalg.norm(model.coef_[0]) for model in (plain, other)]
    np.testing.assert_allclose(*unit, atol=0.03)  # L-BFGS starts from another covariance
    assert other.train_score_ == pytest.approx(plain.train_score_, abs=0.01)


@pytest.mark.parametrize("measure", ["f1", "tpr_at_fpr", "average_precision"])
def test_whole_weights_are_repeated_rows(measure, curved):
    X, y = curved
    counts = np.random.default_rng(0).integers(0, 3, y.size)
    settings = {"saturation": (0.3,), "tol": 1e-5, "alpha": 1e-2, **OPTIONS[measure]}
    settings["threshold"] = 0.0  # folds are of rows, which are not the same
    weighted = MeasureOpt(measure, **settings).fit(X, y, sample_weight=counts)
    repeated = MeasureOpt(measure, **settings).fit(np.repeat(X, counts, 0), np.repeat(y, counts))
    units = [model.coef_[0] / np.linalg.norm(model.coef_[0]) for model in (weighted, repeated)]
    np.testing.assert_allclose(*units, atol=2e-3)
    assert weighted.train_score_ == pytest.approx(repeated.train_score_, abs=2e-3)


def test_units_of_the_features_change_nothing(curved):
    X, y = curved
    plain = MeasureOptCV("f1", saturation=(0.5,)).fit(X, y)
    scaled = MeasureOptCV("f1", saturation=(0.5,)).fit(X * 1000 + 5000, y)
    assert np.mean(plain.predict(X) == scaled.predict(X * 1000 + 5000)) > 0.99


def test_it_beats_a_tuned_logistic_regression_where_the_top_is_elsewhere():
    rng = np.random.default_rng(3)

    def draw(n):
        """Column 0 is good on the whole, but its highest rows are negative; column 1 at the top."""
        X, y = rng.standard_normal((n, 4)), rng.random(n) < 0.2
        X[y, 0] += 1.5
        X[~y & (rng.random(n) < 0.06), 0] += 5
        X[y & (rng.random(n) < 0.4), 1] += 2.5
        return X, y

    (X, y), (X_new, y_new) = draw(3000), draw(20_000)
    model = MeasureOptCV("tpr_at_fpr", fpr=0.02).fit(X, y)
    assert not model.chose_start_

    def recall(scores):
        fpr, tpr, _ = roc_curve(y_new, scores)
        return np.interp(0.02, fpr, tpr)

    logistic = max(
        recall(LogisticRegression(C=C).fit(X, y).decision_function(X_new)) for C in (0.01, 1, 100)
    )
    assert recall(model.decision_function(X_new)) > logistic + 0.02
    low, high = model.score_interval_
    assert low <= model.best_score_ <= high
    assert low <= recall(model.decision_function(X_new)) <= high


def test_noise_has_no_value_on_held_out_rows():
    found = []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        X, y = rng.standard_normal((400, 6)), rng.random(400) < 0.3
        found.append(MeasureOptCV("mcc").fit(X, y))
    assert abs(np.mean([model.best_score_ for model in found])) < 0.05
    assert any(model.chose_start_ for model in found)


def test_models_are_told_apart_by_quotas_about_the_one_asked_for(curved):
    X, y = curved
    rows, scores = Rows.of(y), X[:, 0]
    measure = operating_measure("tpr_at_fpr", rows, fpr=0.02)
    odds = 0.02 / 0.98 * 2.0 ** np.linspace(-1, 1, 5)
    about = [
        operating_measure("tpr_at_fpr", rows, fpr=each / (1 + each)).value(rows, scores)
        for each in odds
    ]
    assert measure.nearby().value(rows, scores) == pytest.approx(np.mean(about))
    precise = operating_measure("recall_at_precision", rows, precision=0.5)
    assert [part.precision for part in precise.nearby().parts] == pytest.approx(
        [1 / 3, 0.4142136, 0.5, 0.5857864, 2 / 3]
    )
    f1 = operating_measure("f1", rows)
    assert f1.nearby() is f1


@pytest.mark.parametrize("saturation", [(0.001,), (0.9,)])
def test_the_cut_comes_from_held_out_scores(curved, saturation):
    X, y = curved[0][:500], curved[1][:500]
    model = MeasureOptCV("f1", alphas=[1e-5], saturation=saturation).fit(X, y)
    problem = ClimbProblem.of(as_matrix(X), y, None, model.measure_)
    held_out = np.zeros(y.size)
    for _, test in StratifiedKFold(5).split(X, y):
        part = problem.without(test)
        (start,) = part.starts(np.array([1e-5]), 200, 1e-2)
        scores = start.scores + start.intercept
        if not model.chose_start_:
            scores = part.climbs(start, saturation, 200, 1e-2)[-1].climb.scores
        held_out[test] = scores[test]
    cut = problem.cut(held_out)
    if model.chose_start_:
        (start,) = problem.starts(np.array([1e-5]), 200, 1e-2)
        cut -= start.intercept
    raw = cut + problem.centre @ model.coef_[0]
    assert model.intercept_[0] == pytest.approx(-raw, abs=1e-9)
    assert raw != pytest.approx(problem.cut(X @ model.coef_[0]), abs=1e-6)  # of training scores
    assert set(model.cv_results_) == {"alpha", "saturation", "score", "gain_error"}
    assert model.cv_results_["score"].shape == (2,)


def test_with_too_few_rows_in_the_quota_nothing_is_climbed():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((300, 3)), np.arange(300) % 3 == 0
    X[:, 0] += y
    model = MeasureOptCV("tpr_at_fpr", fpr=0.01).fit(X, y)  # two of 200 negatives
    assert model.chose_start_
    assert model.path_ == []
    assert model.saturation_ == ()
    assert len(model.cv_results_["score"]) == 6


def test_groups_and_threads(curved):
    X, y = curved
    groups = np.arange(y.size) % 30
    settings = {"cv": GroupKFold(3), "saturation": (0.5,), "alphas": [1e-3]}
    one = MeasureOptCV("f1", **settings).fit(X, y, groups=groups)
    two = MeasureOptCV("f1", n_jobs=2, **settings).fit(X, y, groups=groups)
    np.testing.assert_allclose(one.coef_, two.coef_, rtol=1e-6)


@pytest.mark.parametrize("measure", [("f1", {}), ("tpr_at_fpr", {"fpr": 0.2})])
def test_an_interval_draws_whole_groups(measure, curved):
    X, y = (part[:300] for part in curved)
    name, options = measure
    folds = [rows for _, rows in StratifiedKFold(3).split(X, y)]

    def width(copies, groups):
        n = y.size
        cv = [
            (np.setdiff1d(np.arange(n * copies), test), test)
            for test in ([np.concatenate([rows + k * n for k in range(copies)]) for rows in folds])
        ]
        settings = {"cv": cv, "saturation": (0.5,), "alphas": [1e-3]}
        model = MeasureOptCV(name, **options, **settings)
        of_rows = np.tile(np.arange(n), copies)
        model.fit(np.tile(X, (copies, 1)), np.tile(y, copies), groups=of_rows if groups else None)
        return float(np.diff(model.score_interval_)[0]), model.cv_results_["gain_error"]

    once, four, grouped = width(1, False), width(4, False), width(4, True)
    for of_once, of_four, of_grouped in zip(once, four, grouped, strict=True):
        assert of_four < 0.75 * of_once
        assert 0.75 * of_once < of_grouped < 1.4 * of_once


def test_a_pipeline_and_a_kernel_see_what_a_line_does_not():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((600, 2))
    y = (X**2).sum(axis=1) < 0.7
    line = MeasureOpt("f1").fit(X, y)
    ring = MeasureOpt("f1", kernel="rbf").fit(X, y)
    splines = make_pipeline(SplineTransformer(), MeasureOpt("f1")).fit(X, y)
    assert ring.train_score_ > line.train_score_ + 0.2
    assert splines[-1].train_score_ > line.train_score_ + 0.2
    np.testing.assert_allclose(
        pickle.loads(pickle.dumps(ring)).decision_function(X[:9]), ring.decision_function(X[:9])
    )


@pytest.mark.parametrize("weighted", [False, True])
def test_the_area_under_the_curve_is_climbed_as_rankopt_climbs_it(weighted, curved):
    X, y = curved
    weight = 1.0 + (np.arange(y.size) % 3) if weighted else None
    model = MeasureOpt("roc_area", saturation=(0.5,), tol=1e-4).fit(X, y, weight)
    area = auc_score(y, model.decision_function(X), sample_weight=weight)
    assert model.train_score_ == pytest.approx(area, abs=1e-12)
    (row,) = model.path_
    scores = model.decision_function(X)  # at the radius of the climb
    w = np.ones(y.size) if weight is None else weight
    pairs = expit(scores[y][:, None] - scores[~y][None, :])
    defined = w[y] @ pairs @ w[~y] / (w[y].sum() * w[~y].sum())
    assert row.smooth == pytest.approx(defined, abs=1e-9)
    other = RankOpt(saturation=(0.5,), tol=1e-4).fit(X, y, weight)
    assert area == pytest.approx(
        auc_score(y, other.decision_function(X), sample_weight=weight), abs=2e-3
    )


def test_a_search_for_the_area_under_the_curve(curved):
    X, y = curved
    model = MeasureOptCV("roc_area", saturation=(0.5, 0.9)).fit(X, y)
    assert model.score_interval_[0] < model.best_score_ < model.score_interval_[1]
    informed = roc_curve(y, model.decision_function(X))
    at_cut = np.mean(model.predict(X)[y]) - np.mean(model.predict(X)[~y])
    assert at_cut > np.max(informed[1] - informed[0]) - 0.05


@pytest.mark.parametrize("kind", [MeasureOpt, MeasureOptCV])
def test_a_measure_object_is_taken_at_its_own_k(kind, curved):
    X, y = curved
    found = kind(PrecisionAtK(30)).fit(X, y)
    named = kind("precision_at_k", k=30).fit(X, y)
    assert found.measure_ == named.measure_
    np.testing.assert_array_equal(found.coef_, named.coef_)


def test_a_measure_of_ones_own_with_a_k_is_refused(curved):
    class Half(PrecisionAtK):
        def of_table(self, a, b, c, d):
            return a / (a + b) / 2

    with pytest.raises(ValueError, match="use measure='precision_at_k', k=5"):
        MeasureOpt(Half(5)).fit(*curved)


def test_a_measure_of_ones_own(curved):
    class Lift(ContingencyMeasure):
        def of_table(self, a, b, c, d):
            return a / np.maximum(a + b, 1e-9) - (a + c) / (a + b + c + d)

    X, y = curved
    assert MeasureOpt(Lift()).fit(X, y).train_score_ > 0.3
    accuracy = MeasureOpt(lambda a, b, c, d: (a + d) / (a + b + c + d)).fit(X, y)
    assert accuracy.train_score_ >= max(y.mean(), 1 - y.mean())


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"measure": "f2"}, "measure='f2' is not known: use one of 'f1'"),
        ({"measure": "precision_at_k", "k": 5000}, "k=5000 means 5000 of 1500 rows"),
        ({"measure": "precision_at_k", "k": 1.0}, "k=1.0 selects every row"),
        ({"measure": "cost", "cost": (1,)}, "give two costs"),
        ({"measure": "precision_at_k"}, "k=None is not a number of rows"),
        ({"measure": "tpr_at_fpr", "fpr": 0.0}, "needs fpr= between 0 and 1, but fpr=0.0"),
        ({"measure": "tpr_at_fpr"}, "needs fpr= between 0 and 1, but fpr=None"),
        ({"measure": "recall_at_precision", "precision": 1.5}, "precision=1.5"),
        ({"measure": "partial_roc_area", "fpr": (0.2, 0.1)}, "0 <= low < high <= 1"),
        ({"measure": "cost", "cost": (0, 0)}, "two costs >= 0, not both zero"),
        ({"saturation": (0.2, 1.5)}, "shares of pairs between 0 and 1"),
    ],
)
@pytest.mark.parametrize("kind", [MeasureOpt, MeasureOptCV])
def test_bad_settings_are_refused_in_one_sentence(kind, settings, said, curved):
    with pytest.raises(ValueError, match="=") as refusal:
        kind(**settings).fit(*curved)
    assert said in str(refusal.value)
    assert "\n" not in str(refusal.value)


def test_a_series_that_does_not_ascend_and_a_climb_given_twice_are_refused(curved):
    with pytest.raises(ValueError, match="ascending order"):
        MeasureOpt(saturation=(0.9, 0.5)).fit(*curved)
    with pytest.raises(ValueError, match="ascending order"):
        MeasureOptCV(saturation=(0.5, (0.9, 0.5))).fit(*curved)
    with pytest.raises(ValueError, match="each of them once"):
        MeasureOptCV(saturation=(0.5, (0.5,))).fit(*curved)


def test_a_series_is_climbed_one_after_the_other(curved):
    X, y = curved
    searched = MeasureOptCV("f1", alphas=[1e-3], saturation=[(0.35, 0.9)]).fit(X, y)
    plain = MeasureOpt("f1", alpha=1e-3, saturation=(0.35, 0.9)).fit(X, y)
    assert searched.saturation_ == (0.35, 0.9)
    unit = [m.coef_ / np.linalg.norm(m.coef_) for m in (searched, plain)]
    np.testing.assert_allclose(*unit, atol=1e-6)
    assert [row.saturation for row in searched.path_] == [0.35, 0.9]


def test_series_share_the_radii_that_begin_them(curved, monkeypatch):
    X, y = curved
    climbed, once = [], ClimbProblem.climbs

    def counted(part, start, saturations, *settings):
        climbed.append(saturations)
        return once(part, start, saturations, *settings)

    monkeypatch.setattr(ClimbProblem, "climbs", counted)
    model = MeasureOptCV("f1", alphas=[1e-3], cv=3).fit(X, y)
    assert model.cv_results_["saturation"] == [
        (), (0.35,), (0.35, 0.8), (0.35, 0.8, 0.9), (0.9,)
    ]  # fmt: skip
    assert len(climbed) == 3 * 4 + len(model.saturation_)


def test_one_positive_row():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((60, 2)), np.arange(60) == 3
    model = MeasureOpt("f1").fit(X, y)
    assert np.isfinite(model.decision_function(X)).all()
    with pytest.raises(ValueError, match="The rarer class has 1 row and cv=5 folds need one each"):
        MeasureOptCV("f1").fit(X, y)


@pytest.mark.parametrize("measure", ["f1", "roc_area"])
def test_two_folds_will_do_and_one_has_no_other_for_its_cut(measure, curved):
    X, y = curved
    model = MeasureOptCV(measure, cv=2).fit(X, y)
    assert 0 < model.best_score_ < 1
    half = [(np.arange(0, 750), np.arange(750, 1500))]
    if measure == "f1":
        with pytest.raises(ValueError, match="measure='f1' needs at least two folds, but cv has"):
            MeasureOptCV(measure, cv=half).fit(X, y)
    else:
        assert 0 < MeasureOptCV(measure, cv=half).fit(X, y).best_score_ < 1


def test_a_fold_without_both_classes_is_refused(curved):
    X, y = curved
    order = np.argsort(~y, kind="stable")  # the positives first
    first, last = np.arange(750), np.arange(750, 1500)
    for folds, said in (([(first, last)] * 2, "tests"), ([(last, first)] * 2, "trains")):
        with pytest.raises(ValueError, match=f"Fold 0 of cv {said} on one class only: use strat"):
            MeasureOptCV("f1", cv=folds).fit(X[order], y[order])


def test_scores_without_a_difference_are_no_error():
    y = np.arange(80) % 4 == 0
    for measure, options in (("tpr_at_fpr", {"fpr": 0.1}), ("f1", {}), ("roc_area", {})):
        model = MeasureOptCV(measure, **options).fit(np.ones((80, 2)), y)
        assert model.chose_start_
        assert np.isfinite([model.best_score_, *model.score_interval_]).all()


def test_a_precision_that_is_never_reached_leaves_the_start():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((800, 2)), rng.random(800) < 0.05
    with pytest.warns(UserWarning, match=r"No cut of the scores meets precision=0\.99"):
        model = MeasureOptCV("recall_at_precision", precision=0.99).fit(X, y)
    assert np.isfinite(model.decision_function(X)).all()
    assert 0 <= model.best_score_ < 0.2
    assert not model.predict(X).any()


@pytest.mark.parametrize(
    ("measure", "options"), [("tpr_at_fpr", {"fpr": 0.001}), ("precision_at_k", {"k": 2})]
)
def test_a_quota_that_ties_put_out_of_reach_is_told(measure, options):
    """The highest score is that of half the rows of both classes."""
    y = np.arange(200) % 4 == 0
    X = np.column_stack([np.arange(200) % 8 < 5, np.zeros(200)]).astype(float)
    with pytest.warns(UserWarning, match="No cut of the scores meets .* predict classifies no row"):
        model = MeasureOpt(measure, **options).fit(X, y)
    assert not model.predict(X).any()
    assert np.isfinite(model.train_score_)


@pytest.mark.parametrize("measure", OPTIONS)
def test_one_positive_row_is_enough_for_one_fit(measure):
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((60, 2)), np.arange(60) == 3
    model = MeasureOpt(measure, **OPTIONS[measure]).fit(X, y)
    assert np.isfinite(model.decision_function(X)).all()
    assert np.isfinite([model.train_score_, model.start_score_]).all()


def test_the_held_out_value_is_that_of_its_definition():
    """Cuts of the other folds, one table; a quota fold by fold."""
    rng = np.random.default_rng(0)
    y, scores = rng.random(200) < 0.3, rng.standard_normal(200)
    scores[y] += 1
    folds = [(np.flatnonzero(np.arange(200) % 4 != k), np.flatnonzero(np.arange(200) % 4 == k))
             for k in range(4)]  # fmt: skip
    predicted = np.zeros(200, bool)
    for train, test in folds:
        cuts = np.unique(scores[train])
        called = scores[train] > cuts[:, None]
        f1_of = 2 * (called & y[train]).sum(1) / (called.sum(1) + y[train].sum())
        best = cuts[f1_of.argmax()]
        predicted[test] = scores[test] > best
    f1 = HeldOut(operating_measure("f1", Rows.of(y)), y, np.ones(200), folds, scores)
    assert f1.value() == pytest.approx(f1_score(y, predicted), abs=0.03)  # cuts lie halfway
    recall = HeldOut(
        operating_measure("tpr_at_fpr", Rows.of(y), fpr=0.1), y, np.ones(200), folds, scores
    )
    by_fold = []
    for _, test in folds:
        fpr, tpr, _ = roc_curve(y[test], scores[test], drop_intermediate=False)
        by_fold.append(np.interp(0.1, fpr, tpr))
    assert recall.value() == pytest.approx(np.mean(by_fold))
    drawn = recall.draws(recall.prepared)[0]
    assert drawn.shape == (200,)
    assert 0.02 < drawn.std() < 0.15
