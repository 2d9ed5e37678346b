"""The toy problem has the clouds that it says."""

from __future__ import annotations

import numpy as np
import pytest

from lab.data.toy import MEANS, weston_toy


def test_each_class_has_two_clouds_and_the_rest_is_noise():
    X, y = weston_toy(40_000, positive_share=0.25, random_state=0)
    assert y.sum() == 10_000
    for label in (0, 1):
        upper = X[(y == label) & (X[:, 1] > 0)]
        np.testing.assert_allclose(upper[:, :2].mean(axis=0), MEANS[label, 1], atol=0.05)
        assert len(upper) / np.sum(y == label) == pytest.approx(0.5, abs=0.02)
        np.testing.assert_allclose(upper[:, 0].std(), 1, atol=0.05)
    np.testing.assert_allclose(X[:, 2:].mean(axis=0), 0, atol=0.03)
    np.testing.assert_allclose(X[:, 2:].std(axis=0), 1, atol=0.03)


def test_the_seed_fixes_the_data():
    np.testing.assert_array_equal(
        weston_toy(9, random_state=3)[0], weston_toy(9, random_state=3)[0]
    )


def test_both_classes_always_occur():
    assert weston_toy(2, positive_share=0.01)[1].sum() == 1
    assert weston_toy(2, positive_share=0.99)[1].sum() == 1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n_rows": 1}, "n_rows=1"),
        ({"n_features": 1}, "n_features=1"),
        ({"positive_share": 1.0}, "positive_share=1.0"),
    ],
)
def test_bad_sizes_are_named(change, message):
    with pytest.raises(ValueError, match=message):
        weston_toy(**{"n_rows": 10, **change})
