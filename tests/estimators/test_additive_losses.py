"""Sparse columns, strengths of columns, and the climbs of `AUCAdditive`."""

import json

import numpy as np
import pytest

from everypair import AUCAdditive, AUCAdditiveCV
from everypair.measures.operating import operating_measure
from everypair.metrics import auc_score
from everypair.rows import Rows


def rows(n=600, seed=0, n_noise=6):
    """Two columns that matter, others that do not; one row in six is positive."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 2 + n_noise))
    y = X[:, 0] ** 2 + X[:, 1] + rng.logistic(size=n) > 3
    return X, y.astype(int)


def test_columns_that_are_no_use_vanish_and_the_others_stay():
    X, y = rows()
    full = AUCAdditive(alpha=1e-2).fit(X, y)
    sparse = AUCAdditive(alpha=1e-2, sparsity=0.45).fit(X, y)
    kept = np.flatnonzero(sparse.importances_)
    assert set(kept) == {0, 1}
    assert all(np.all(curve == 0) for curve in sparse.curves_[2:])
    assert np.all(full.importances_ > 0)
    assert sparse.dual_gap_ <= 1e-6
    assert AUCAdditive(alpha=1e-2, sparsity=0.999).fit(X, y).importances_[2:].max() == 0


def test_auto_sparsity_loses_less_than_a_standard_error():
    X, y = rows()
    model = AUCAdditiveCV(alphas=[1e-1, 1e-2], sparsity="auto", cv=3).fit(X, y)
    assert model.sparsity_ > 0
    assert np.count_nonzero(model.importances_) < X.shape[1]
    assert model.importances_[:2].min() > model.importances_[2:].max()
    assert model.best_score_ > model.cv_scores_.max() - 0.02


def test_a_strength_is_alpha_times_as_much_in_one_column():
    """One column alone: a strength of 10 at alpha is alpha times ten."""
    X, y = rows(300)
    one = AUCAdditive(alpha=1e-2, strengths={"x0": 10.0}, tol=1e-10).fit(X[:, :1], y)
    other = AUCAdditive(alpha=1e-1, tol=1e-10).fit(X[:, :1], y)
    np.testing.assert_allclose(one.curves_[0], other.curves_[0], atol=1e-5)
    assert one.objective_ == pytest.approx(other.objective_, rel=1e-9)


def test_strengths_of_columns_are_chosen_by_folds():
    rng = np.random.default_rng(3)
    X = rng.standard_normal((900, 2))
    y = np.sin(4 * X[:, 0]) * 2 + X[:, 1] + rng.logistic(size=900) > 0
    plain = AUCAdditiveCV(alphas=[1.0], cv=3).fit(X, y)
    model = AUCAdditiveCV(alphas=[1.0], strengths="auto", cv=3).fit(X, y)
    assert model.strengths_[0] < 1
    assert model.best_score_ > plain.best_score_ + 0.01


@pytest.mark.parametrize(
    "loss",
    [
        "f1",
        {"measure": "tpr_at_fpr", "fpr": 0.1},
        "average_precision",
        pytest.param("mcc", marks=pytest.mark.slow),
        pytest.param({"measure": "precision_at_k", "k": 0.1}, marks=pytest.mark.slow),
        pytest.param(lambda a, b, c, d: a / (a + b + c), marks=pytest.mark.slow),
    ],
)
def test_a_climb_ends_no_lower_than_the_convex_fit(loss):
    """By the smoothed measure less the penalty, at the start's best length: the definition."""
    from everypair.solvers.choose import RADII
    from everypair.solvers.soft_measure import smoothed

    X, y = rows()
    alpha = 1e-2
    start = AUCAdditive(alpha=alpha).fit(X, y)
    model = AUCAdditive(loss, alpha=alpha, max_iter=300).fit(X, y)
    of_rows = Rows.uncut(y == 1)
    given = dict(loss) if isinstance(loss, dict) else {"measure": loss}
    measure = operating_measure(given.pop("measure"), of_rows, **given)
    statistic = smoothed(measure, of_rows, of_rows.totals)
    scores = start.decision_function(X) - start.intercept_[0]
    sizes = sum(
        float(np.sum((np.linalg.pinv(shape.table()) @ curve) ** 2))
        for shape, curve in zip(start.shapes_, start.curves_, strict=True)
    )
    best = np.inf
    for r in RADII:
        cut = measure.best_cut(of_rows, r * scores) if measure.free_cut else 0.0
        best = min(best, statistic.loss(r * scores - cut) + alpha / 2 * r**2 * sizes)
    assert model.objective_ <= best + 1e-12
    assert not hasattr(model, "dual_gap_")


def test_the_cut_of_a_measure_is_its_own():
    X, y = rows(1500)
    model = AUCAdditive({"measure": "precision_at_k", "k": 0.1}, alpha=1e-1, cv=None).fit(X, y)
    assert 0.05 < np.mean(model.predict(X)) < 0.15
    assert np.mean(AUCAdditive(alpha=1e-1).fit(X, y).predict(X)) > 0.15


def test_folds_keep_a_climb_only_where_it_helps():
    X, y = rows(400)
    for loss in ("sigmoid", "f1"):
        model = AUCAdditiveCV(loss, alphas=[1e-1, 1e-2], cv=3).fit(X, y)
        (before,) = model.cv_scores_[model.alphas_ == model.alpha_]
        assert model.climbed_ is bool(model.best_score_ > before)
        assert model.best_score_ >= before
        assert hasattr(model, "dual_gap_") is not model.climbed_


def test_auc_lost_is_the_definition():
    X, y = rows(300)
    model = AUCAdditive(alpha=1e-2, interactions=1).fit(X, y)
    lost = model.auc_lost(X, y)
    scores, codes = model.decision_function(X), model._codes(X)
    without = scores - model.curves_[0][codes[0]]
    assert lost[0] == pytest.approx(auc_score(y, scores) - auc_score(y, without))
    assert lost.size == X.shape[1] + 1
    assert lost[0] > 0.05


def test_scorecard_files_hold_every_point(tmp_path):
    X, y = rows(300)
    model = AUCAdditive(alpha=1e-2, shapes={"x0": "steps"}).fit(X, y)
    card = model.scorecard()
    card.write(tmp_path / "card.json")
    read = json.loads((tmp_path / "card.json").read_text())["scorecard"]
    assert [row["points"] for row in read] == [row.points for row in card]
    card.write(tmp_path / "card.csv")
    lines = (tmp_path / "card.csv").read_text().splitlines()
    assert lines[0] == "column,bin,share,points"
    assert [float(line.rsplit(",", 1)[1]) for line in lines[1:]] == [row.points for row in card]
    card.write(tmp_path / "card.html")
    page = (tmp_path / "card.html").read_text()
    assert page.count("<tr><td>") == len(card)
    assert len(list(tmp_path.iterdir())) == 3  # nothing is left of the temporary names
    with pytest.raises(ValueError, match=r"'card.xls' must end in"):
        card.write(tmp_path / "card.xls")


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"loss": "f2"}, "neither 'logistic' nor 'sigmoid' nor a measure"),
        ({"loss": {"fpr": 0.1}}, "lacks the name of its measure"),
        ({"strengths": {"age": 1.0}}, "strengths names 'age'"),
        ({"strengths": {"x0": -1}}, "must be a positive number"),
        ({"sparsity": 0.1, "constraints": {"x0": "increasing"}}, "cannot be used with constraints"),
    ],
)
def test_settings_that_cannot_be_are_refused(settings, words):
    X, y = rows(60)
    with pytest.raises(ValueError, match=words):
        AUCAdditive(**settings).fit(X, y)


def test_folds_choose_how_many_pairs_and_sparsity_takes_the_useless_ones():
    rng = np.random.default_rng(2)
    X = rng.standard_normal((900, 4))
    y = 2 * X[:, 1] * X[:, 3] + rng.logistic(size=900) > 0
    model = AUCAdditiveCV(alphas=[1e-2], cv=3, interactions="auto", sparsity=0.3).fit(X, y)
    kept = [
        (pair.first, pair.second)
        for pair, values in zip(model.pairs_, model.pair_values_, strict=True)
        if np.any(values)
    ]
    assert kept == [(1, 3)]
    assert model.best_score_ == model.interaction_score_ > 0.75


def test_pairs_are_ranked_by_more_than_what_chance_gains():
    """A pair of two-valued columns that matters, beside many cells of noise."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 8))
    X[:, :2] = rng.integers(0, 2, (400, 2))
    y = 0.7 * np.where(X[:, 0] == X[:, 1], 1, -1) + rng.logistic(size=400) > 0
    model = AUCAdditive(alpha=1e-2, interactions=1).fit(X, y)
    assert [(pair.first, pair.second) for pair in model.pairs_] == [(0, 1)]
