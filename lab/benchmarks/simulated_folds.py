"""Simulated tables, quick models and the areas over their folds, for benchmarks/intervals.py."""

from __future__ import annotations

import numpy as np
from scipy.special import expit
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

from everypair.app.comparison.judge import area_over_folds


class Logistic:
    """Logistic regression with an L2 penalty (scikit-learn's C = 1) by Newton's method.

    The models of all splits are fitted at once: a data set takes milliseconds.
    """

    def score_rows(self, X, y, train, wanted):
        Z = np.column_stack([X, np.ones(len(X))])
        ridge = np.append(np.ones(X.shape[1]), 1e-9)
        w = np.zeros((len(train), Z.shape[1]))
        for _ in range(12):
            q = expit(w @ Z.T)
            curvature = train * (q * (1 - q) + 1e-9)
            hessian = (Z.T * curvature[:, None, :]) @ Z + np.diag(ridge)
            slope = (train * (q - y)) @ Z + ridge * w
            step = np.linalg.solve(hessian, slope[:, :, None])[:, :, 0]
            w -= step
            if np.abs(step).max() < 1e-6:
                break
        return w[:, :-1] @ X.T


class Probability:
    """A classifier of scikit-learn."""

    def __init__(self, model):
        self.model = model

    def score_rows(self, X, y, train, wanted):
        scores = np.full(train.shape, np.nan)
        for own, given, rows in zip(scores, train, wanted, strict=True):
            own[rows] = self.model.fit(X[given], y[given]).predict_proba(X[rows])[:, 1]
        return scores


MODELS = {
    "logistic": Logistic(),
    "naive Bayes": Probability(GaussianNB()),
    "15 neighbours": Probability(KNeighborsClassifier(15)),
    "tree": Probability(DecisionTreeClassifier(max_depth=4, random_state=0)),
}


def features(rng, y, n_features, kind, shift):
    n = y.size
    if kind == "normal":
        X = rng.standard_normal((n, n_features))
    elif kind == "correlated":
        X = 0.7 * rng.standard_normal((n, 1)) + 0.7 * rng.standard_normal((n, n_features))
    elif kind == "skewed":
        X = rng.exponential(size=(n, n_features))
    else:
        X = (rng.random((n, n_features)) < 0.3).astype(float)
    useful = min(n_features, 2)
    X[:, :useful] += shift / np.sqrt(useful) * y[:, None]
    return X


def stratified(rng, y, n_folds):
    """The fold of each row: both classes are dealt out in random order."""
    fold = np.empty(y.size, dtype=np.intp)
    first = 0
    for members in (np.flatnonzero(y), np.flatnonzero(~y)):
        fold[rng.permutation(members)] = (first + np.arange(members.size)) % n_folds
        first += members.size
    return fold


def areas_of(rng, y, tables, model, n_folds, n_repeats):
    """One area over folds for each table of features on the same folds, and its scores."""
    fold = np.array([stratified(rng, y, n_folds) for _ in range(n_repeats)])
    test = (fold[:, None, :] == np.arange(n_folds)[:, None]).reshape(-1, y.size)
    before = (fold[:, None, :] == (np.arange(n_folds)[:, None] - 1) % n_folds).reshape(test.shape)
    splits = [
        [(np.flatnonzero(own != k), np.flatnonzero(own == k)) for k in range(n_folds)]
        for own in fold
    ]
    out = []
    for X in tables:
        by_model = model.score_rows(X, y, ~test, test | before)
        by_model = by_model.reshape(n_repeats, n_folds, y.size)
        scores, seen = (
            np.take_along_axis(by_model, which[:, None, :], 1)[:, 0]
            for which in (fold, (fold + 1) % n_folds)
        )
        out.append((area_over_folds(y, splits, scores, seen, None, None), scores))
    return out
