"""How RankOpt is judged: splits of a task's rows, timed fits, and what their AUCs say."""

from __future__ import annotations

import time
import warnings

import numpy as np
from scipy import sparse
from scipy.special import stdtr
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import StratifiedShuffleSplit
from sklearn.preprocessing import StandardScaler

from everypair import RankOpt
from everypair.linalg.matrix import as_matrix
from everypair.rows import Rows
from everypair.solvers.column_moments import class_covariance
from everypair.solvers.rank_statistic import AllPairsStatistic
from everypair.solvers.sphere import LbfgsClimber, Sphere, climb_path

TEST_SHARE = 0.5
"""Test rows, at most, as a share of the training rows, where splits overlap."""

DISJOINT_SHARE, MOST_TEST_ROWS = 0.8, 20_000
"""Splits share no row where each can have this share of the training rows that are asked for,
and half as many to test."""

WIDE = 400
"""Sparse data of more columns stay sparse; they are scaled but not centred."""

PSF_TASKS = ("w8a", "covtype 5", "letter B", "satimage 4")


def cuts(y, n_splits, rows):
    """Train and test rows of each split, and how much the splits overlap (0 or n_test / n_train).

    Where there are rows enough, every split has rows of its own, as in the paper: the splits
    are independent. Else rows are drawn anew for each.
    """
    n_train = min(rows, 2 * y.size // 3)
    if y.size >= 1.5 * n_splits * DISJOINT_SHARE * rows:
        shuffled = np.random.default_rng(0).permutation(y.size)
        blocks = np.array_split(shuffled, n_splits)
        n_train = min(rows, 2 * blocks[-1].size // 3)
        most = slice(n_train, n_train + MOST_TEST_ROWS)
        return [(block[:n_train], block[most]) for block in blocks], 0.0
    n_test = min(y.size - n_train, int(TEST_SHARE * n_train))
    cut = StratifiedShuffleSplit(n_splits, train_size=n_train, test_size=n_test, random_state=0)
    return list(cut.split(np.zeros(y.size), y)), n_test / n_train


def prepared(X, train, test):
    wide = sparse.issparse(X) and X.shape[1] > WIDE
    parts = [X[part] for part in (train, test)]
    if sparse.issparse(X) and not wide:
        parts = [part.toarray() for part in parts]
    scaler = StandardScaler(with_mean=not wide).fit(parts[0])
    return [scaler.transform(part) for part in parts]


def timed_fit(model, X, y):
    """The model, processor seconds, and how many of its fits warned that they had not converged."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        began = time.process_time()
        model.fit(X, y)
        spent = time.process_time() - began
    return model, spent, sum(issubclass(w.category, ConvergenceWarning) for w in caught)


def corrected_resampled_t(differences, test_share):
    """Two-sided p of the corrected resampled t test (Nadeau & Bengio 2003, eq. 9).

    t = mean(d) / sqrt((1/J + n_test / n_train) var(d)) ,   J - 1 degrees of freedom
    """
    n_splits = differences.size
    variance = differences.var(ddof=1) * (1 / n_splits + test_share / (1 - test_share))
    mean = differences.mean()
    if variance == 0:
        return 1.0 if mean == 0 else 0.0
    return float(2 * stdtr(n_splits - 1, -abs(mean) / np.sqrt(variance)))


def verdict(ours, theirs, overlap):
    """``overlap`` is n_test / n_train, zero where splits share no row: the plain t test."""
    mean = np.mean(np.subtract(ours, theirs))
    p = corrected_resampled_t(np.subtract(ours, theirs), overlap / (1 + overlap))
    names = ("**win**", "**loss**") if p < 0.05 else ("ahead", "behind")
    mark = names[0] if mean > 0 else names[1]
    return f"{mean:+.4f}, {mark} ({p:.2f})", mark


def climbed(X, y, saturations, metric=None, climber=None):
    """Coefficients of climbs over every pair, a column a saturation.

    ``metric``: as in `rankopt_choices`."""
    matrix, pairs = as_matrix(X), Rows.uncut(y)
    covariance = class_covariance(matrix, pairs)
    sphere, start = Sphere.around(matrix, pairs, y.mean(), covariance)
    back = None
    if metric is not None:
        sphere, start, back = metric(sphere, start, pairs, covariance)
    steps = climb_path(
        sphere, AllPairsStatistic(pairs), start, saturations, climber or LbfgsClimber(),
        RankOpt().max_iter, RankOpt().tol,
    )  # fmt: skip
    coefs = np.column_stack([sphere.scale * step.climb.direction for step in steps])
    return coefs if back is None else back(coefs)
