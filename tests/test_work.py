"""What a fit costs, counted in work and not in seconds, so that a noisy machine sees a slow-down.

The limits are a little above what the fits need today. A change that lowers them is welcome to
lower the limits with it; one that needs more has to say why.
"""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from counting import counted_work, peak_per_row, rows
from scipy import sparse
from threadpoolctl import threadpool_limits

from everypair import AUCRLS, AUCClassifier, MeasureSVM, RankOpt, RankOptCV, auc_path
from everypair.estimators import _training
from everypair.linalg import matrix
from everypair.solvers import elastic_net as path_solver
from everypair.solvers import newton_cg, sphere
from everypair.solvers.hinge import Pace

TALL = (60_000, 10)
"""Enough rows for the first solve on a sample of them."""

SMALL = (4000, 30)


def linear(loss, shape=TALL, **parameters):
    X, y = rows(*shape)
    return lambda: AUCClassifier(loss, **parameters).fit(X, y), shape


def on_sparse(loss):
    n_rows, n_columns = 5000, 2000
    rng = np.random.default_rng(0)
    X = sparse.random(n_rows, n_columns, 0.01, format="csr", random_state=rng)
    X = (X @ sparse.diags(np.geomspace(0.1, 3, n_columns))).tocsr()
    signal = X @ rng.standard_normal(n_columns) + rng.logistic(size=n_rows)
    y = signal > np.quantile(signal, 0.9)
    return lambda: AUCClassifier(loss, alpha=1e-4, threshold=0.0).fit(X, y), X.shape


def path():
    X, y = rows(*SMALL)
    return lambda: auc_path(X, y, n_alphas=30, eps=0.01, tol=1e-4), SMALL


def rls():
    X, y = rows(*TALL)
    return lambda: AUCRLS().fit(X, y), TALL


def measure(name, C):
    X, y = rows(*SMALL, noise=0.1)  # with more, the bound of F1 is best at w = 0
    return lambda: MeasureSVM(name, C=C, threshold=0.0).fit(X, y), SMALL


def rankopt():
    X, y = rows(*SMALL)
    return lambda: RankOpt(threshold=0.0).fit(X, y), SMALL


def rankopt_search():
    X, y = rows(*SMALL)
    X = np.sinh(X)  # of normal columns every radius has the same direction
    return lambda: RankOptCV(threshold=0.0, cv=3).fit(X, y), SMALL


@pytest.fixture(autouse=True)
def one_thread():
    """The work does not depend on it, and waiting threads are no work."""
    with threadpool_limits(1):
        yield


CASES = {
    "logistic": (
        partial(linear, "logistic"),
        {"steps": 2, "passes": 10, "pair_sums": 10, "hessians": 0.41, "copies": 0.21,
         "bytes": 125},
    ),
    "squared hinge": (
        partial(linear, "squared_hinge"),
        {"steps": 2, "passes": 10, "pair_sums": 10, "hessians": 0.41, "copies": 0.21, "bytes": 370},
    ),
    "hinge": (
        partial(linear, "hinge"),
        {"steps": 3, "passes": 11, "pair_sums": 12, "hessians": 0.21, "copies": 0.21, "bytes": 260},
    ),
    "hinge, few rows": (
        partial(linear, "hinge", SMALL),
        {"steps": 13, "passes": 36, "pair_sums": 125, "hessians": 1, "bytes": 640},
    ),
    "square": (
        partial(linear, "square"),
        {"steps": 1, "passes": 4, "pair_sums": 4, "hessians": 1, "bytes": 100},
    ),
    "sigmoid": (
        partial(linear, "sigmoid"),
        {"steps": 4, "passes": 42, "pair_sums": 32, "hessians": 0.41, "products": 10,
         "copies": 0.21, "bytes": 310},
    ),
    "logistic, CSR": (
        partial(on_sparse, "logistic"),
        {"steps": 8, "passes": 96, "pair_sums": 18, "products": 40, "bytes": 215},
    ),
    "squared hinge, CSR": (
        partial(on_sparse, "squared_hinge"),
        # 64 bytes are the places of rows in the window, which make a product a quarter as long.
        {"steps": 10, "passes": 250, "pair_sums": 23, "products": 115, "bytes": 430},
    ),
    "hinge, CSR": (
        partial(on_sparse, "hinge"),
        # Roundings of BLAS decide where the steps end: 456 sums with AVX2, 482 with AVX-512.
        {"steps": 58, "passes": 1350, "pair_sums": 490, "products": 60, "copies": 13, "bytes": 960},
    ),
    "L1": (
        partial(linear, "logistic", SMALL, penalty="l1", alpha=1e-2, threshold=0.0),
        {"steps": 6, "passes": 24, "pair_sums": 23, "hessians": 3, "bytes": 390},
    ),
    "L1, cut by five folds": (
        partial(linear, "logistic", SMALL, penalty="l1", alpha=1e-2),
        {"steps": 6, "passes": 82, "pair_sums": 77, "hessians": 8, "bytes": 390},
    ),
    "L1 path": (
        path,
        # With the scores computed anew at the end of each alpha.
        {"passes": 190, "pair_sums": 220, "hessians": 6, "copies": 0.7, "bytes": 490},
    ),
    "RLS": (rls, {"moments": 1, "bytes": 45}),
    "MeasureSVM, area": (
        partial(measure, "roc_area", 1e-3),
        {"steps": 30, "cuts": 30, "passes": 60, "bytes": 165},
    ),
    "MeasureSVM, F1": (
        partial(measure, "f1", 1.0),
        {"steps": 100, "cuts": 100, "passes": 200, "bytes": 175},
    ),
    "RankOpt": (
        rankopt,
        {"steps": 4, "passes": 15, "pair_sums": 13, "copies": 0.5, "bytes": 380},
    ),
    "RankOptCV": (
        rankopt_search,
        {"steps": 8, "passes": 140, "pair_sums": 135, "copies": 0.5, "bytes": 1400},
    ),
}  # fmt: skip


def counts(case: str, memory: bool) -> dict[str, float]:
    """``{what: counted}`` of one fit; `lab/benchmarks/work.py` compares two versions by it."""
    fit, shape = CASES[case][0]()
    with counted_work(*shape) as work:
        model = fit()
    work["steps"] = np.sum(getattr(model, "n_iter_", 0))
    if memory:
        work["bytes"] = peak_per_row(fit, shape[0])
    return dict(work)


def too_much(case: str, memory: bool = False) -> dict[str, tuple[float, float]]:
    """``{what: (counted, limit)}`` of everything that is above its limit."""
    limits = CASES[case][1]
    return {
        what: (count, limits.get(what, 0))
        for what, count in counts(case, memory).items()
        if count > limits.get(what, 0) + 1e-9
    }


@pytest.mark.parametrize("case", CASES)
def test_a_fit_needs_no_more_work_than_it_did(case):
    assert not too_much(case, memory=True)


def without_sample(patch):
    patch.setattr("everypair.solvers.choose.SAMPLE_SHARE", 0.0)


def without_kept_matrix(patch):
    for module in ("newton", "hinge_newton"):
        patch.setattr(f"everypair.solvers.{module}.GAIN_TO_KEEP", np.inf)


def without_learning(patch):
    patch.setattr("everypair.solvers.newton.NewtonMatrix.learn", lambda *_: None)


def without_kept_matrix_on_paths(patch):
    patch.setattr("everypair.solvers.prox_newton.GAIN_TO_KEEP", np.inf)


def without_warm_start_on_paths(patch):
    plain = path_solver.SparseProblem.fit

    def cold(self, *args, **kwargs):
        self.start_at(np.zeros(self.X.shape[1]))
        self._working = None
        return plain(self, *args, **kwargs)

    patch.setattr(path_solver.SparseProblem, "fit", cold)


def without_preconditioner(patch):
    plain = newton_cg._diagonal
    patch.setattr(newton_cg, "_diagonal", lambda *at: np.full_like(plain(*at), plain(*at).mean()))


def without_level(patch):
    """Kelley's method: to the model's minimum at each step."""
    patch.setattr(
        "everypair.solvers.planes.Planes.nearest_at_level",
        lambda self, centre, bound, best, log_multiplier: (self.minimum(), log_multiplier),
    )


def with_plain_gradients(patch):
    patch.setattr(sphere, "LbfgsClimber", lambda: sphere.climb_by_gradients)


def without_memory_of_the_radius_before(patch):
    plain = sphere.LbfgsClimber

    def anew():
        def climb(*at):
            return plain()(*at)

        return climb

    patch.setattr(sphere, "LbfgsClimber", anew)


def with_timid_roundings(patch):
    """Three roundings of the hinge where one was enough."""
    patch.setattr("everypair.solvers.choose.BY_HESSIANS", Pace(1.5, 1.5, 0.3))


def with_long_roundings_of_products(patch):
    """The line through two solutions then foretells the next one badly."""
    patch.setattr("everypair.solvers.choose.BY_PRODUCTS", Pace(4.0, 4.0, 0.03))


def with_a_copy_of_X(patch):
    plain = matrix.as_matrix
    for module in (matrix, _training):
        patch.setattr(module, "as_matrix", lambda X: plain(X.copy()))


SABOTAGE = [
    ("logistic", without_sample, "hessians"),
    ("hinge", without_sample, "pair_sums"),
    ("hinge", without_kept_matrix, "hessians"),
    ("squared hinge", without_learning, "passes"),
    ("hinge, few rows", with_timid_roundings, "pair_sums"),
    ("logistic, CSR", without_preconditioner, "products"),
    ("hinge, CSR", with_long_roundings_of_products, "passes"),
    ("L1", without_kept_matrix_on_paths, "hessians"),
    ("L1 path", without_warm_start_on_paths, "passes"),
    ("MeasureSVM, F1", without_level, "cuts"),
    ("RankOpt", with_plain_gradients, "passes"),
    ("RankOptCV", without_memory_of_the_radius_before, "passes"),
    ("square", with_a_copy_of_X, "bytes"),
    ("logistic, CSR", with_a_copy_of_X, "bytes"),
]


@pytest.mark.parametrize(("case", "sabotage", "noticed"), SABOTAGE)
def test_the_guard_notices_what_makes_fits_slow(case, sabotage, noticed, monkeypatch):
    sabotage(monkeypatch)
    assert noticed in too_much(case, memory=noticed == "bytes")
