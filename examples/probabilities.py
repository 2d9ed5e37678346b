"""From scores to probabilities: out-of-fold calibration, a known prior, a cut that holds.

Positives are 2.4 % of the population. The training table kept all positives and one negative in
ten, so that they are 20 % of its rows. New rows come from the population.
"""

import numpy as np
from scipy.special import expit
from sklearn.metrics import brier_score_loss, log_loss

from everypair import AUCClassifier

rng = np.random.default_rng(0)


def population(n_rows):
    X = rng.standard_normal((n_rows, 20))
    return X, rng.random(n_rows) < expit(1.5 * X[:, 0] + X[:, 1] - 5)


X, y = population(20_000)
kept = y | (rng.random(y.size) < 0.1)
X_new, y_new = population(20_000)
print(f"positives: {y[kept].mean():.1%} of the training rows, {y_new.mean():.1%} of new rows")

print(f"\n{'':34} mean probability   log loss   Brier")
for name, prior in (("as the training rows are", None), ("prior=0.024", 0.024)):
    model = AUCClassifier(calibration="auto", prior=prior).fit(X[kept], y[kept])
    p = model.predict_proba(X_new)[:, 1]
    scores = f"{log_loss(y_new, p):10.4f} {brier_score_loss(y_new, p):7.4f}"
    print(f"calibration='auto', {name:24} {p.mean():6.1%} {scores}")

print("\nFew rows: the false positive rate of new rows where 5 % were asked for")
few = np.flatnonzero(kept)[:150]
for name, cv in (("training scores", None), ("out-of-fold scores", 5)):
    model = AUCClassifier(threshold={"fpr": 0.05}, cv=cv).fit(X[few], y[few])
    print(f"cut by {name:20} {np.mean(model.predict(X_new[~y_new])):.1%}")
