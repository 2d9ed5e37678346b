"""The memory of L-BFGS against the matrix that it stands for."""

from __future__ import annotations

import numpy as np
import pytest

from everypair.solvers.lbfgs import LbfgsMemory


def written_out(pairs):
    """H of the update formula, one pair after the other."""
    step, change = pairs[-1]
    H = (step @ change) / (change @ change) * np.eye(step.size)
    for s, z in pairs:
        rho = 1 / (s @ z)
        left = np.eye(s.size) - rho * np.outer(s, z)
        H = left @ H @ left.T + rho * np.outer(s, s)
    return H


@pytest.fixture
def pairs():
    rng = np.random.default_rng(0)
    root = rng.standard_normal((6, 6))
    steps = rng.standard_normal((5, 6))
    return [(s, root @ root.T @ s) for s in steps]


def filled(pairs, most=10):
    memory = LbfgsMemory(most)
    for pair in pairs:
        memory.learn(*pair)
    return memory


def test_downhill_is_the_gradient_times_the_matrix_of_the_formula(pairs):
    gradient = np.arange(6.0) - 2
    kept = gradient.copy()
    H = written_out(pairs)
    np.testing.assert_allclose(filled(pairs).downhill(gradient), -H @ gradient, rtol=1e-10)
    np.testing.assert_array_equal(gradient, kept)
    # The latest change of gradient is explained exactly.
    step, change = pairs[-1]
    np.testing.assert_allclose(filled(pairs).downhill(change), -step, rtol=1e-10)


def test_only_the_latest_steps_count(pairs):
    gradient = np.ones(6)
    latest = filled(pairs, most=2).downhill(gradient)
    np.testing.assert_allclose(latest, -written_out(pairs[-2:]) @ gradient, rtol=1e-10)


def test_of_a_function_twice_as_large_steps_are_half_as_long(pairs):
    memory, gradient = filled(pairs), np.ones(6)
    before = memory.downhill(gradient)
    memory.rescale(2.0)
    np.testing.assert_allclose(memory.downhill(gradient), before / 2, rtol=1e-12)
    memory.forget()
    np.testing.assert_array_equal(memory.downhill(gradient), -gradient)


def test_a_step_along_which_the_function_is_not_convex_is_not_learnt(pairs):
    memory = filled(pairs)
    memory.learn(np.ones(6), -np.ones(6))
    memory.learn(np.eye(6)[0], np.eye(6)[1])
    assert len(memory) == len(pairs)
