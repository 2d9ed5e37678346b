"""Hájek projections of the gradient, beside the sum over pairs written out."""

import numpy as np
import pytest
from scipy import sparse

from everypair.linalg.matrix import as_matrix
from everypair.pairs.losses import LOSSES
from everypair.pairs.projections import Projections
from everypair.pairs.smooth import LOGISTIC_KERNELS, SIGMOID_KERNELS, SmoothPoint
from everypair.rows import Rows


def definition(loss, rows, scores, X):
    out = np.zeros_like(X)
    for i in rows.positives:
        for j in rows.negatives:
            weight = rows.share[i] * rows.share[j]
            term = weight * loss.slope(np.array(scores[i] - scores[j])) * (X[i] - X[j])
            out[i] += term
            out[j] += term
    return out


@pytest.mark.parametrize("loss", ["logistic", "sigmoid"])
@pytest.mark.parametrize("form", ["dense", "float32", "csr"])
@pytest.mark.parametrize("spread", [0.3, 5.0, 300.0])
def test_projections_equal_the_definition(loss, form, spread):
    rng = np.random.default_rng(4)
    X = np.round(rng.standard_normal((50, 3)), 2) + 7
    X[rng.random(X.shape) < 0.3] = 0
    scores = np.round(spread * rng.standard_normal(50), 1)
    positive = rng.random(50) < 0.4
    rows = Rows.uncut(positive, rng.integers(0, 3, 50) + positive * 1.0)
    given = {"dense": X, "float32": X.astype(np.float32), "csr": sparse.csr_array(X)}[form]
    kernels = {"logistic": LOGISTIC_KERNELS, "sigmoid": SIGMOID_KERNELS}[loss]
    found = Projections(SmoothPoint(kernels, rows, scores), as_matrix(given)).of(np.arange(50))
    expected = definition(LOSSES[loss], rows, scores, X)
    tolerance = 1e-6 if form == "float32" else 1e-11
    np.testing.assert_allclose(found, expected, atol=tolerance * np.abs(expected).max())
