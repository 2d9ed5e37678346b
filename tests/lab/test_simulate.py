"""The four Gaussian models have the moments that the paper gives them."""

import numpy as np
import pytest

from lab.data.simulate import simulate


@pytest.mark.parametrize(
    ("model", "mean"),
    [
        ("M1", [0.8, -0.8, 0.8]),
        ("M2", [0.8, -0.8, 0.8]),
        ("M3", [1, -0.8, 0.6, -0.4, 0.2]),
        ("M4", [1, -0.8, 0.6, -0.4, 0.2]),
    ],
)
def test_moments_are_the_papers(model, mean):
    X, y = simulate(model, 200_000, 8, random_state=0)
    k = len(mean)
    expected = 2 * np.eye(8)
    if model in ("M2", "M4"):
        distance = np.abs(np.subtract.outer(np.arange(k), np.arange(k)))
        expected[:k, :k] = np.where(distance == 0, 2, 0.3**distance)
    for sign in (1, -1):
        rows = X[y == sign]
        noise = 6 * 2 / np.sqrt(len(rows))
        np.testing.assert_allclose(rows[:, :k].mean(axis=0), sign * np.array(mean), atol=noise)
        np.testing.assert_allclose(rows[:, k:].mean(axis=0), 0, atol=noise)
        np.testing.assert_allclose(np.cov(rows.T), expected, atol=2 * noise)
    assert np.mean(y == 1) == pytest.approx(0.9, abs=0.005)


def test_labels_always_have_both_classes():
    for seed in range(50):
        _, y = simulate("M1", 3, 3, positive_share=0.95, random_state=seed)
        assert set(y) == {-1, 1}


def test_same_seed_same_data():
    first, again = (simulate("M4", 10, 6, positive_share=0.3, random_state=7) for _ in range(2))
    np.testing.assert_array_equal(first[0], again[0])
    np.testing.assert_array_equal(first[1], again[1])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"model": "M5"}, "model='M5'"),
        ({"n_features": 2}, "n_features=2"),
        ({"n_rows": 1}, "n_rows=1"),
        ({"positive_share": 1.0}, "positive_share=1.0"),
    ],
)
def test_bad_requests_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        simulate(**{"model": "M1", "n_rows": 10, "n_features": 5, **options})


def test_a_share_that_never_gives_both_classes_is_named():
    with pytest.raises(ValueError, match="had one class only"):
        simulate("M1", 10, 5, positive_share=1e-9, random_state=0)
