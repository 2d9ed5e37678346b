"""
Credit: a scorecard with curves that may not fall
=================================================

A regulator asks that the score never falls when the debt ratio grows, and wants to read the model.
`AUCAdditive` fits one curve per column; constraints hold exactly, and the model is a table of points.
"""

# %%
import numpy as np
import pandas as pd

rng = np.random.default_rng(0)
n_rows = 4000
debt, age = rng.beta(2, 4, n_rows), rng.normal(45, 13, n_rows).clip(18, 90)
job = rng.choice(["salaried", "self-employed", "student"], n_rows, p=[0.7, 0.2, 0.1])
risk = (
    4 * np.sqrt(debt)
    + ((age - 48) / 18) ** 2
    + 0.8 * (job == "student")
    + rng.logistic(size=n_rows)
)
age[rng.random(n_rows) < 0.05] = np.nan  # some are not known
X, y = pd.DataFrame({"debt ratio": debt, "age": age, "job": job}), risk > 5

# %%
from everypair import AUCAdditiveCV

model = AUCAdditiveCV(constraints={"debt ratio": "increasing"}, calibration="auto").fit(X, y)
print(f"held-out AUC {model.best_score_:.3f}; duality gap {model.dual_gap_:.1e}")

# %%
# The curves. The debt ratio never falls; age has a minimum; each job is a level.
import matplotlib.pyplot as plt

from everypair.plots import ShapeDisplay

ShapeDisplay.from_estimator(model)
plt.show()

# %%
# The scorecard, and the same score as SQL for a database.
for line in model.scorecard()[:5]:
    print(line)
print(model.to_sql()[:200], "...")
