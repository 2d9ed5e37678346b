"""Measures climbed over rows in blocks: the climbs of arrays."""

from __future__ import annotations

import numpy as np
import pytest

from everypair import MeasureOpt, MeasureOptCV
from everypair.blocks import ArrayRows


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(5)
    X = rng.standard_normal((900, 4)) * [1, 2, 0.5, 1]
    y = X @ [1, 0.5, 0, -0.5] + 0.5 * X[:, 0] ** 2 + rng.logistic(size=900) > 2.5
    return X, y.astype(int), rng.integers(0, 3, 900).astype(float)


@pytest.mark.parametrize(
    ("asked", "weighted"),
    [
        pytest.param({"measure": "f1", "cv": 3}, True, marks=pytest.mark.slow),
        pytest.param({"measure": "tpr_at_fpr", "fpr": 0.05}, False, marks=pytest.mark.slow),
        ({"measure": "tpr_at_fpr", "fpr": 0.05}, True),
        ({"measure": "recall_at_precision", "precision": 0.6}, True),
        pytest.param({"measure": "average_precision"}, False, marks=pytest.mark.slow),
        ({"measure": "roc_area"}, True),
        ({"measure": "f1", "calibration": "sigmoid", "cv": 3}, False),
    ],
)
def test_climb_over_blocks_is_that_over_arrays(data, asked, weighted):
    X, y, weight = data
    weight = weight if weighted else None
    settings = {"saturation": 0.7, "tol": 1e-4, **asked}
    wanted = MeasureOpt(**settings).fit(X, y, weight)
    found = MeasureOpt(**settings).fit(ArrayRows(X, y, weight, block_rows=250))
    assert found.train_score_ == pytest.approx(wanted.train_score_, abs=2e-3)
    assert found.start_score_ == pytest.approx(wanted.start_score_, abs=2e-3)
    of_found, of_wanted = (m.coef_[0] / np.linalg.norm(m.coef_) for m in (found, wanted))
    assert of_found @ of_wanted > 1 - 1e-5
    assert found.n_passes_ > 0
    if "calibration" in asked:
        np.testing.assert_allclose(found.predict_proba(X), wanted.predict_proba(X), atol=1e-2)


def test_search_over_blocks_is_that_over_arrays(data):
    X, y, _ = data
    settings = {"alphas": [1e-3, 1e-1], "saturation": (0.5, 0.9), "cv": 3}
    wanted = MeasureOptCV("f1", **settings).fit(X, y)
    found = MeasureOptCV("f1", **settings).fit(ArrayRows(X, y, block_rows=250))
    np.testing.assert_allclose(found.cv_scores_, wanted.cv_scores_, atol=5e-3)
    assert found.alpha_ == wanted.alpha_
    assert found.chose_start_ == wanted.chose_start_
    assert found.best_score_ == pytest.approx(wanted.best_score_, abs=5e-3)


def test_kernels_and_groups_need_arrays(data):
    X, y, _ = data
    with pytest.raises(ValueError, match="need kernel='linear', but kernel is 'rbf'"):
        MeasureOpt(kernel="rbf").fit(ArrayRows(X, y))
