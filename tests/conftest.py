"""How hypothesis runs, and rows that many tests share."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

settings.register_profile(
    "everypair",
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("everypair")


@pytest.fixture
def imbalanced():
    """400 rows, 6 features, 12 % positives, with signal and noise."""
    rng = np.random.default_rng(3)
    X = rng.standard_normal((400, 6))
    signal = X @ np.array([1.0, -0.5, 0.25, 0.0, 0.0, 0.0]) + rng.logistic(size=400)
    return X, signal > np.quantile(signal, 0.88)
