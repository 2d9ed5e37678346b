"""
Churn: the top 200 calls
========================

A call centre can phone 200 of 4,000 customers. What counts is how many churners are among the 200,
and how sure that number is.
"""

# %%
import numpy as np
from sklearn.model_selection import train_test_split

rng = np.random.default_rng(3)
n_rows = 8000
tenure, calls, spend = (
    rng.exponential(24, n_rows),
    rng.poisson(1.5, n_rows),
    rng.normal(60, 20, n_rows),
)
risk = 1.2 * (calls > 3) - 0.05 * tenure + 0.01 * (spend - 60) + rng.logistic(size=n_rows)
X = np.column_stack([tenure, calls, spend])
y = risk > 1.0
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.5, stratify=y, random_state=0)
print(f"{y_test.sum()} of {y_test.size} customers churn")

# %%
# `AUCClassifierCV` ranks them. `gain_at_k` says which share of all churners is among the first 200,
# with an interval; `lift_at_k` how many times the average that is.
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from everypair import AUCClassifierCV
from everypair.metrics import gain_at_k, lift_at_k, precision_at_k

model = make_pipeline(StandardScaler(), AUCClassifierCV()).fit(X_train, y_train)
scores = model.decision_function(X_test)
gain, lift = gain_at_k(y_test, scores, k=200), lift_at_k(y_test, scores, k=200)
print(f"share of all churners: {gain.gain:.3f} [{gain.low:.3f}, {gain.high:.3f}]")
print(f"times the average:     {lift:.2f}")
print(f"churners per call:     {precision_at_k(y_test, scores, k=200):.2f}")

# %%
# The whole curve, with its band.
import matplotlib.pyplot as plt

from everypair.plots import GainDisplay

GainDisplay.from_predictions(y_test, scores)
plt.show()
