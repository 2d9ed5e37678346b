"""Smooth measures against their definition, and exact ones against scikit-learn's."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import brentq
from scipy.special import expit
from sklearn import metrics as sk

from everypair.estimators._climb_problem import ClimbProblem
from everypair.linalg.matrix import as_matrix
from everypair.measures.curve_means import AveragePrecision, PartialArea, nodes
from everypair.measures.operating import operating_measure
from everypair.rows import Rows
from everypair.solvers.soft_measure import SoftMeasure
from everypair.solvers.soft_measure import smoothed as soft_statistic

MEASURES = {
    "f1": {},
    "fbeta": {"beta": 2.0},
    "jaccard": {},
    "gmean": {},
    "mcc": {},
    "informedness": {},
    "cost": {"cost": (1.0, 7.0)},
    "precision_at_k": {"k": 17},
    "recall_at_k": {"k": "0.5p"},
    "tpr_at_fpr": {"fpr": 0.05},
    "fpr_at_tpr": {"tpr": 0.8},
    "precision_at_recall": {"recall": 0.3},
    "recall_at_precision": {"precision": 0.5},
    "partial_roc_area": {"fpr": (0.01, 0.2)},
    "average_precision": {},
}


@pytest.fixture(params=["plain", "weights", "ties"])
def sample(request):
    rng = np.random.default_rng(5)
    y = rng.random(120) < 0.25
    scores = 1.5 * rng.standard_normal(120) + 2.0 * y
    weight = None
    if request.param == "weights":
        weight = rng.random(120) * (rng.random(120) < 0.9)
    if request.param == "ties":
        scores = np.round(scores)
    return y, scores, weight


def smoothed(name, y, weight):
    rows = Rows.of(y, weight)
    measure = operating_measure(name, rows, **MEASURES[name])
    return measure, SoftMeasure.of(measure, Rows.uncut(y, weight), rows.totals), rows


def defined(name, y, weight, scores, cut=0.0):  # noqa: PLR0911
    """The smooth measure by its definition: the cut by a root finder, sums written out."""
    w = np.ones(y.size) if weight is None else weight
    P, N = w[y].sum(), w[~y].sum()

    def rates(c):
        soft = expit(scores - c)
        return w[y] @ soft[y] / P, w[~y] @ soft[~y] / N

    def cut_where(held, q):
        return brentq(
            lambda c: held(*rates(c)) - q, scores.min() - 60, scores.max() + 60, xtol=1e-13
        )

    def precision(t, f):
        return P * t / (P * t + N * f)

    options = MEASURES[name]
    if name in ("f1", "fbeta"):
        (t, f), b = rates(cut), options.get("beta", 1.0) ** 2
        return (1 + b) * P * t / ((1 + b) * P * t + N * f + b * P * (1 - t))
    if name in ("jaccard", "gmean", "mcc", "informedness", "cost"):
        t, f = rates(cut)
        a, b, c, d = P * t, N * f, P * (1 - t), N * (1 - f)
        return {
            "jaccard": a / (a + b + c),
            "gmean": np.sqrt(t * (1 - f)),
            "mcc": (a * d - b * c) / np.sqrt((a + b) * (a + c) * (b + d) * (c + d)),
            "informedness": t - f,
            "cost": -(b + 7 * c) / (P + N),
        }[name]
    if name in ("precision_at_k", "recall_at_k"):
        share = 17 / (w > 0).sum() if name == "precision_at_k" else 0.5 * P / (P + N)
        t, f = rates(cut_where(lambda t, f: (P * t + N * f) / (P + N), share))
        return precision(t, f) if name == "precision_at_k" else t
    if name == "tpr_at_fpr":
        return rates(cut_where(lambda t, f: f, 0.05))[0]
    if name == "fpr_at_tpr":
        return -rates(cut_where(lambda t, f: t, 0.8))[1]
    if name == "precision_at_recall":
        return precision(*rates(cut_where(lambda t, f: t, 0.3)))
    if name == "partial_roc_area":
        at = nodes(0.01, 0.2)
        return sum(v * rates(cut_where(lambda t, f: f, q))[0] for q, v in at)
    if name == "average_precision":
        at = nodes(0.0, 1.0)
        return sum(v * precision(*rates(cut_where(lambda t, f: t, q))) for q, v in at)
    cuts = np.linspace(scores.min() - 5, scores.max() + 5, 20_001)
    meets = np.array([precision(*rates(c)) for c in cuts]) >= 0.5
    return rates(cuts[np.argmax(meets)])[0]


@pytest.mark.parametrize("name", MEASURES)
def test_the_smooth_measure_is_its_definition(name, sample):
    y, scores, weight = sample
    _, soft, _ = smoothed(name, y, weight)
    expected = defined(name, y, weight, scores)
    found = soft.smooth.best - soft.at(scores).loss
    assert found == pytest.approx(expected, abs=2e-4 if name == "recall_at_precision" else 1e-8)


def slopes(function, at, step=1e-3):
    """Central differences: a cut is found to 1e-10."""
    moves = step * np.eye(at.size)
    return np.array([(function(at + m) - function(at - m)) / (2 * step) for m in moves])


@pytest.mark.parametrize("name", MEASURES)
def test_its_gradient_is_that_of_differences(name, sample):
    y, scores, weight = sample
    _, soft, _ = smoothed(name, y, weight)
    np.testing.assert_allclose(soft.at(scores).gradient, slopes(soft.loss, scores), atol=1e-6)


@pytest.mark.parametrize("name", MEASURES)
def test_steep_scores_bring_it_near_the_exact_measure(name):
    rng = np.random.default_rng(1)
    y = rng.random(4000) < 0.2
    scores = rng.standard_normal(4000) + 1.5 * y
    measure, soft, rows = smoothed(name, y, None)
    cut = measure.best_cut(rows, scores)
    exact = measure.value(rows, scores, cut)
    radius = 300.0
    near = soft.smooth.best - soft.loss(radius * (scores - cut if soft.free_cut else scores))
    assert near == pytest.approx(exact, abs=0.02)


@pytest.mark.parametrize("seed", range(12))
def test_no_cut_below_that_of_a_precision_has_it(seed):
    rng = np.random.default_rng(seed)
    y = rng.random(400) < rng.choice([0.05, 0.2])
    scores = rng.choice([2.0, 30.0]) * (rng.standard_normal(400) + rng.choice([0.5, 2.0]) * y)
    scores[y & (rng.random(400) < 0.3)] += 60.0  # a second place where the precision is high
    _, soft, _ = smoothed("recall_at_precision", y, None)
    (quota,) = soft.smooth.quotas
    cut, rates = soft._up_to_precision(quota, scores)[-1]
    assert rates.held(quota) == pytest.approx(0, abs=1e-8 * quota.of_positives)
    below = np.linspace(scores.min() - 10, cut, 5000)[:-1]
    assert all(soft.rates(scores, c).held(quota) < 0 for c in below)


def test_a_precision_that_no_cut_has_is_what_is_missing():
    y, scores = np.array([1, 0, 0, 0, 0, 0], bool), np.array([-3.0, 1, 2, 3, 4, 5])
    measure, soft, rows = smoothed("recall_at_precision", y, None)
    assert measure.value(rows, scores) == 0
    assert soft.loss(scores) > 1
    numeric = slopes(soft.loss, scores)
    assert soft.at(scores).gradient @ numeric > 0  # a way up


def by_scikit_learn(name, y, scores, above, weight):
    options = {"sample_weight": weight}
    if name in ("f1", "fbeta", "jaccard", "mcc"):
        of = {
            "f1": sk.f1_score,
            "fbeta": lambda *a, **k: sk.fbeta_score(*a, beta=2.0, **k),
            "jaccard": sk.jaccard_score,
            "mcc": sk.matthews_corrcoef,
        }
        return of[name](y, above, **options)
    fpr, tpr, _ = sk.roc_curve(y, scores, drop_intermediate=False, **options)
    if name == "tpr_at_fpr":
        return np.interp(0.05, fpr, tpr)
    if name == "fpr_at_tpr":
        return -np.interp(0.8, tpr[::1], fpr)
    if name == "average_precision":
        return sk.average_precision_score(y, scores, **options)
    precision, recall, _ = sk.precision_recall_curve(y, scores, **options)
    return recall[:-1][precision[:-1] >= 0.5].max()


@pytest.mark.parametrize(
    "name",
    ["f1", "fbeta", "jaccard", "mcc", "tpr_at_fpr", "average_precision", "recall_at_precision"],
)
def test_exact_values_are_those_of_scikit_learn(name, sample):
    y, scores, weight = sample
    measure, _, rows = smoothed(name, y, weight)
    kept = rows.scores(scores)
    above = scores > 0.5
    expected = by_scikit_learn(name, y, scores, above, weight)
    assert measure.value(rows, kept, 0.5) == pytest.approx(expected, abs=1e-12)


def by_counting(name, y, scores, weight):
    """Exact measures by their definition: tables at every cut, straight lines between them."""
    w = np.ones(y.size) if weight is None else weight
    P, N = w[y].sum(), w[~y].sum()
    cuts = np.append(np.inf, np.unique(scores[w > 0])[::-1])
    t = np.array([w[y & (scores >= c)].sum() / P for c in cuts])
    f = np.array([w[~y & (scores >= c)].sum() / N for c in cuts])
    if name in ("gmean", "informedness", "cost"):
        t, f = w[y & (scores > 0.5)].sum() / P, w[~y & (scores > 0.5)].sum() / N
        costs = -(N * f + 7 * P * (1 - t)) / (P + N)
        return {"gmean": np.sqrt(t * (1 - f)), "informedness": t - f, "cost": costs}[name]
    if name == "precision_at_recall":  # the highest cut that reaches the recall
        k = int(np.argmax(t >= 0.3))
        part = (0.3 - t[k - 1]) / (t[k] - t[k - 1])
        at = 0.3, f[k - 1] + part * (f[k] - f[k - 1])
    else:
        held = (P * t + N * f) / (P + N)
        share = 17 / (w > 0).sum() if name == "precision_at_k" else 0.5 * P / (P + N)
        at = np.interp(share, held, t), np.interp(share, held, f)
    return at[0] if name == "recall_at_k" else P * at[0] / (P * at[0] + N * at[1])


@pytest.mark.parametrize(
    "name",
    ["gmean", "informedness", "cost", "precision_at_k", "recall_at_k", "precision_at_recall"],
)
def test_exact_values_are_those_of_counting(name, sample):
    y, scores, weight = sample
    measure, _, rows = smoothed(name, y, weight)
    found = measure.value(rows, rows.scores(scores), 0.5)
    assert found == pytest.approx(by_counting(name, y, scores, weight), abs=1e-12)


@pytest.mark.parametrize("name", [*MEASURES, "roc_area", "of one's own"])
@pytest.mark.parametrize("form", ["dense", "csr", "float32"])
def test_the_gradient_of_the_coefficients_is_that_of_differences(name, form, sample):
    """Through X and its centre, as a climb sees it."""
    y, scores, weight = sample
    rng = np.random.default_rng(0)
    X = (np.column_stack([scores, rng.standard_normal((y.size, 2))])).astype(np.float32)
    X[np.abs(X) < 0.3] = 0.0
    given = {"dense": X.astype(float), "csr": sparse.csr_matrix(X.astype(float)), "float32": X}
    measure = operating_measure(
        (lambda a, b, c, d: a / (a + b + 2 * c)) if name == "of one's own" else name,
        Rows.of(y, weight), **MEASURES.get(name, {}),
    )  # fmt: skip
    problem = ClimbProblem.of(as_matrix(given[form]), y, weight, measure)
    statistic = soft_statistic(measure, problem.pairs, problem.rows.totals)

    def loss(direction):
        return statistic.loss(2.0 * problem.sphere.scores(direction))

    at = np.array([0.8, 0.5, -0.3])
    gradient = statistic.at(2.0 * problem.sphere.scores(at)).gradient
    found = 2.0 * problem.sphere.pull_back(gradient)
    loose = 1e-4 if form == "float32" else 1e-6
    np.testing.assert_allclose(found, slopes(loss, at), atol=loose)


def test_the_partial_area_is_that_of_the_metric(sample):
    from everypair.metrics import auc_score

    y, scores, weight = sample
    rows = Rows.of(y, weight)
    area = auc_score(y, scores, sample_weight=weight, max_fpr=0.2, min_fpr=0.05, standardize=False)
    assert PartialArea(0.05, 0.2).value(rows, rows.scores(scores)) == pytest.approx(area / 0.15)
    assert 0 < AveragePrecision().value(rows, rows.scores(scores)) <= 1


@pytest.mark.parametrize("name", [n for n in MEASURES if n not in ("average_precision",)])
def test_no_other_cut_is_better_for_the_measure(name, sample):
    y, scores, weight = sample
    measure, _, rows = smoothed(name, y, weight)
    kept = rows.scores(scores)
    cut = measure.best_cut(rows, kept)
    t, f = (np.average(kept[m] > cut, weights=None if weight is None else rows.weight[m])
            for m in (rows.positive, ~rows.positive))  # fmt: skip
    P, N = rows.totals
    if measure.free_cut:
        others = [measure.value(rows, kept, c) for c in np.unique(kept)]
        assert measure.value(rows, kept, cut) >= max(others) - 1e-12
    elif name == "tpr_at_fpr":
        assert f <= 0.05 + 1e-12
    elif name == "fpr_at_tpr":
        assert t >= 0.8 - 1e-12
    elif name == "recall_at_precision" and t > 0:
        assert P * t / (P * t + N * f) >= 0.5 - 1e-12
    elif name == "precision_at_k":
        assert (P * t + N * f) / (P + N) <= 17 / rows.positive.size + 1e-12
