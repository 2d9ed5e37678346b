"""Products with X in every format, in float64, without a copy of X."""

from __future__ import annotations

import os
import signal
import time
import tracemalloc
from itertools import pairwise

import numpy as np
import pytest
from scipy import sparse

from everypair.linalg.matrix import as_matrix, dot_each, pull_back_each
from everypair.linalg.threads import over_rows, thread_limit

FORMATS = {
    "C": np.ascontiguousarray,
    "F": np.asfortranarray,
    "float32": lambda X: X.astype(np.float32),
    "float32 F": lambda X: np.asfortranarray(X.astype(np.float32)),
    "every second column": lambda X: np.repeat(X, 2, axis=1)[:, ::2],
    "CSR": sparse.csr_matrix,
    "CSC": sparse.csc_matrix,
    "CSR float32": lambda X: sparse.csr_matrix(X.astype(np.float32)),
    "CSC float32": lambda X: sparse.csc_matrix(X.astype(np.float32)),
    "CSR array": sparse.csr_array,
}


@pytest.fixture
def dense():
    rng = np.random.default_rng(0)
    # Values that float32 holds exactly, so that every format means the same matrix.
    return np.round(8 * rng.standard_normal((5000, 40)) * (rng.random((5000, 40)) < 0.3)) / 8


@pytest.mark.parametrize("n_threads", [1, 3])
@pytest.mark.parametrize("name", FORMATS)
def test_products_are_those_of_the_float64_array(dense, name, n_threads, monkeypatch):
    monkeypatch.setattr("everypair.linalg.threads.OPERATIONS_PER_THREAD", 1000)
    rng = np.random.default_rng(1)
    X = as_matrix(FORMATS[name](dense))
    w, g = rng.standard_normal(40), rng.standard_normal(5000)
    with thread_limit(n_threads):
        np.testing.assert_allclose(X.dot(w), dense @ w, atol=1e-12)
        np.testing.assert_allclose(X.pull_back(g), dense.T @ g, atol=1e-10)
        moments = [dense.T @ g, (dense**2).T @ g]
        np.testing.assert_allclose(X.pull_back_moments(g), moments, atol=1e-10)
        np.testing.assert_allclose(X.rough.pull_back(g), dense.T @ g, atol=1e-10)
        rows = np.array([3, 4, 4999])
        np.testing.assert_allclose(X.take(rows).dot(w), dense[rows] @ w, atol=1e-12)


@pytest.mark.parametrize("name", FORMATS)
def test_sizes_from_the_first_product_are_those_of_a_pass_of_their_own(dense, name):
    dense[:, 3] = 0.0
    w = np.random.default_rng(1).standard_normal(40)
    alone, along = as_matrix(FORMATS[name](dense)), as_matrix(FORMATS[name](dense))
    np.testing.assert_allclose(along.dot_and_sizes(w), alone.dot(w), atol=1e-12)
    for sizes in (along.sizes, alone.sizes):
        np.testing.assert_allclose(sizes.means, dense.mean(axis=0), atol=1e-14)
        np.testing.assert_allclose(sizes.lengths, np.linalg.norm(dense, axis=0), atol=1e-12)


@pytest.mark.parametrize("tiny", [1e-150, 1e-160, 1e-200])
def test_the_length_of_a_column_whose_squares_are_lost_is_never_too_small(tiny):
    x = tiny * np.tile([1.0, -1.0], 50)
    X = as_matrix(sparse.csr_matrix(np.c_[x, np.zeros(100)]))
    assert X.sizes.lengths[0] >= 10 * tiny
    assert X.sizes.lengths.max() <= max(10.001 * tiny, 1e-150)


@pytest.mark.parametrize("name", FORMATS)
def test_no_product_copies_x(name):
    rng = np.random.default_rng(0)
    X = FORMATS[name](rng.standard_normal((50_000, 100)).astype(np.float32).astype(np.float64))
    size = X.data.nbytes if sparse.issparse(X) else X.nbytes
    matrix = as_matrix(X)
    w, g = np.ones(100), np.ones(50_000)
    warm = as_matrix(X)  # compiles, and imports what is imported late
    warm.dot(w), warm.pull_back(g), warm.pull_back_moments(g), warm.centre
    tracemalloc.start()
    matrix.dot(w), matrix.pull_back(g), matrix.pull_back_moments(g), matrix.centre
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < size / 4


def test_rows_are_covered_once_by_however_many_threads():
    for n_threads in (1, 2, 3, 7):
        with thread_limit(n_threads):
            blocks = over_rows(lambda start, stop: (start, stop), 1001, 10**9)
        assert blocks[0][0] == 0
        assert blocks[-1][1] == 1001
        assert len(blocks) == n_threads
        assert all(a[1] == b[0] for a, b in pairwise(blocks))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_threads_live_on_in_a_forked_child():
    def rows():
        with thread_limit(2):
            return over_rows(lambda start, stop: stop - start, 999, 10**9)

    expected = rows()
    time.sleep(0.1)  # the workers are idle again, and the pool knows it
    child = os.fork()
    if child == 0:
        os._exit(0 if rows() == expected else 1)
    for _ in range(200):
        finished, status = os.waitpid(child, os.WNOHANG)
        if finished:
            break
        time.sleep(0.05)
    else:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        pytest.fail("the forked child hangs")
    assert status == 0


@pytest.mark.parametrize("form", [np.asarray, np.asfortranarray, np.float32, sparse.csr_array])
def test_products_with_several_vectors_are_those_with_each(form):
    rng = np.random.default_rng(3)
    X = rng.standard_normal((900, 7))
    matrix, coefs, weights = as_matrix(form(X)), *(rng.standard_normal((4, n)) for n in (7, 900))
    matrix_dots = [matrix.dot(coef) for coef in coefs]
    np.testing.assert_allclose(dot_each(matrix, coefs), matrix_dots, rtol=1e-12, atol=1e-12)
    pulled = [matrix.pull_back(weight) for weight in weights]
    np.testing.assert_allclose(pull_back_each(matrix, weights), pulled, rtol=1e-12, atol=1e-11)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(("n_rows", "n_columns"), [(900, 200), (150, 2500)])
def test_rows_without_weight_are_passed_over(dtype, n_rows, n_columns):
    """Whatever the share of the others; the sums are those of all rows."""
    rng = np.random.default_rng(3)
    X = rng.standard_normal((n_rows, n_columns)).astype(dtype)
    matrix, weights = as_matrix(X), rng.standard_normal(n_rows)
    for share in (0.0, 1 / n_rows, 0.1, 0.59, 0.7, 1.0):
        kept = np.where(rng.permutation(n_rows) < share * n_rows, weights, 0.0)
        np.testing.assert_allclose(matrix.pull_back(kept), kept @ X.astype(float), atol=1e-10)


def test_rows_without_weight_are_not_read():
    X = np.ones((400, 300))
    X[::2] = np.nan
    weights = np.where(np.arange(400) % 2, 1.0, 0.0)
    np.testing.assert_array_equal(as_matrix(X).pull_back(weights), np.full(300, 200.0))


@pytest.mark.parametrize("order", ["C", "F"])
def test_scores_of_single_precision_are_sums_in_double(order):
    """Of more rows than NumPy takes alone; X is widened as it is read."""
    rng = np.random.default_rng(0)
    X = np.asarray(rng.standard_normal((2600, 37)), dtype=np.float32, order=order)
    w = rng.standard_normal(37)
    found = as_matrix(X).dot(w)
    np.testing.assert_allclose(found, X.astype(np.float64) @ w, rtol=0, atol=1e-13)
