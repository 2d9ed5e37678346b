"""Standard errors of coefficients: equal to a bootstrap, to repeated rows, to known cases."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from everypair import AUCClassifier, AUCClassifierCV, coef_inference


def rows_of_a_logistic_model(n, seed, beta=(1.0, -0.5, 0.0)):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, len(beta)))
    y = X @ np.array(beta) - 1 + rng.logistic(size=n) > 0
    return X, y.astype(int)


def fitted(X, y, **options):
    return AUCClassifier(alpha=1e-6).fit(X, y, **options)


def test_standard_errors_are_those_of_a_bootstrap():
    X, y = rows_of_a_logistic_model(600, 0)
    table = coef_inference(fitted(X, y), X, y)
    rng = np.random.default_rng(1)
    drawn = []
    for _ in range(150):
        again = rng.integers(0, y.size, y.size)
        drawn.append(fitted(X[again], y[again]).coef_[0])
    np.testing.assert_allclose(table.std_error, np.std(drawn, axis=0), rtol=0.2)


def test_beside_a_logistic_regression_estimates_and_errors_are_near():
    """Where log-odds are linear, both estimate the same coefficients nearly as well."""
    from sklearn.linear_model import LogisticRegression

    X, y = rows_of_a_logistic_model(4000, 2)
    pointwise = LogisticRegression(C=np.inf).fit(X, y)
    design = np.column_stack([np.ones(y.size), X])
    p = pointwise.predict_proba(X)[:, 1]
    information = design.T @ (design * (p * (1 - p))[:, None])
    errors = np.sqrt(np.diag(np.linalg.inv(information)))[1:]
    table = coef_inference(fitted(X, y), X, y)
    np.testing.assert_allclose(table.coef, pointwise.coef_[0], atol=0.5 * errors.max())
    np.testing.assert_allclose(table.std_error, errors, rtol=0.1)


def test_one_column_of_zeros_and_ones_has_the_log_odds_ratio_and_its_error():
    """The margins are -w, 0 and w, and the minimum is the log odds ratio of the 2 x 2 table; its
    standard error is Woolf's (1955), as `statsmodels.stats.contingency_tables.Table2x2` has it."""
    a, b, c, d = 60, 40, 30, 90  # positives with 1 and 0, negatives with 1 and 0
    x = np.repeat([1.0, 0.0, 1.0, 0.0], [a, b, c, d])[:, None]
    y = np.repeat([1, 1, 0, 0], [a, b, c, d])
    table = coef_inference(AUCClassifier(alpha=1e-9, tol=1e-12).fit(x, y), x, y)
    assert table.coef[0] == pytest.approx(np.log(a * d / (b * c)), rel=1e-6)
    # The classes' factors n / (n - 2) are for small samples; Woolf has none.
    of_classes = (1 / a + 1 / b) * 100 / 98, (1 / c + 1 / d) * 120 / 118
    assert table.std_error[0] == pytest.approx(np.sqrt(sum(of_classes)), rel=1e-6)
    woolf = np.sqrt(1 / a + 1 / b + 1 / c + 1 / d)
    tables = pytest.importorskip("statsmodels.stats.contingency_tables")
    known = tables.Table2x2(np.array([[a, b], [c, d]]))
    assert known.log_oddsratio == pytest.approx(table.coef[0], rel=1e-6)
    assert known.log_oddsratio_se == pytest.approx(woolf, rel=1e-12)


def test_rows_that_stand_twice_are_no_new_information_when_they_are_a_group():
    X, y = rows_of_a_logistic_model(500, 3)
    once = coef_inference(fitted(X, y), X, y)
    twice = np.repeat(np.arange(500), 2)
    model = fitted(X[twice], y[twice])
    grouped = coef_inference(model, X[twice], y[twice], groups=twice)
    naive = coef_inference(model, X[twice], y[twice])
    np.testing.assert_allclose(grouped.std_error, once.std_error, rtol=0.02)
    np.testing.assert_allclose(naive.std_error, once.std_error / np.sqrt(2), rtol=0.02)


def test_groups_of_one_row_each_are_independent_rows():
    X, y = rows_of_a_logistic_model(400, 4)
    model = fitted(X, y)
    single = coef_inference(model, X, y, groups=np.arange(400))
    np.testing.assert_allclose(single.std_error, coef_inference(model, X, y).std_error, rtol=0.02)


def test_the_unit_of_a_column_and_of_the_weights_does_not_matter():
    X, y = rows_of_a_logistic_model(300, 5)
    weight = np.random.default_rng(0).integers(0, 4, 300)
    plain = coef_inference(fitted(X, y, sample_weight=weight), X, y, weight)
    unit = np.array([10.0, 0.1, 1.0])
    model = AUCClassifier(alpha=1e-9).fit(X / unit, y, sample_weight=3.0 * weight)
    scaled = coef_inference(model, X / unit, y, 3.0 * weight)
    np.testing.assert_allclose(scaled.std_error / unit, plain.std_error, rtol=1e-3)
    np.testing.assert_allclose(scaled.p_value, plain.p_value, rtol=1e-2)


def test_sparse_and_float32_rows_have_the_same_table():
    X, y = rows_of_a_logistic_model(300, 6)
    X = np.round(X, 2)
    dense = coef_inference(fitted(X, y), X, y)
    for other in (sparse.csr_array(X), sparse.csc_array(X), X.astype(np.float32)):
        table = coef_inference(fitted(other, y), other, y)
        np.testing.assert_allclose(table.covariance, dense.covariance, rtol=1e-4, atol=1e-9)


def test_the_table_prints_a_line_per_feature():
    pd = pytest.importorskip("pandas")
    X, y = rows_of_a_logistic_model(300, 7)
    X = pd.DataFrame(X, columns=["age", "income", "noise"])
    text = str(coef_inference(AUCClassifierCV().fit(X, y), X, y, level=0.9)).splitlines()
    assert text[0].endswith("90 % interval")
    assert [line.split()[0] for line in text[1:]] == ["age", "income", "noise"]


def test_input_that_the_errors_would_not_be_for_is_refused():
    X, y = rows_of_a_logistic_model(300, 8)
    model = fitted(X, y)
    with pytest.raises(ValueError, match="do not minimise the objective on these rows"):
        coef_inference(model, X[:150], y[:150])
    with pytest.raises(ValueError, match="y has 299 labels for 300 rows"):
        coef_inference(model, X, y[1:])
    with pytest.raises(ValueError, match="y has the label"):
        coef_inference(model, X, y + 1)
    with pytest.raises(ValueError, match="needs loss='logistic' and penalty='l2'"):
        coef_inference(AUCClassifier("hinge").fit(X, y), X, y)
    with pytest.raises(TypeError, match="In a pipeline, give its last step"):
        coef_inference(make_pipeline(StandardScaler(), model).fit(X, y), X, y)
    with pytest.raises(ValueError, match="groups has the single value"):
        coef_inference(model, X, y, groups=np.zeros(300))
    one = np.r_[True, np.zeros(299, dtype=bool)]
    with pytest.raises(ValueError, match="There are 1 rows of a class for"):
        coef_inference(AUCClassifier().fit(X, one), X, one)
