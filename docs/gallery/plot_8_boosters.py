"""
Boosted trees: every pair as the objective
==========================================

`pair_objective` gives the gradient of the loss over every pair in the convention of XGBoost and
LightGBM. Neither is needed here: scikit-learn's trees are boosted by hand in ten lines, which shows what
the libraries do with it. Expect the AUC of the log loss, not more.
"""

# %%
import numpy as np
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeRegressor

from everypair.boosting import pair_objective
from everypair.metrics import auc_score

rng = np.random.default_rng(0)
X = rng.standard_normal((6000, 5))
y = (X[:, 0] * X[:, 1] + 0.5 * X[:, 2] ** 2 + rng.logistic(size=6000) > 3.5).astype(int)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)

# %%
# A round: gradient and curvature of each row's score, a tree for the Newton step, a short step.
objective = pair_objective()
scores, scores_test, history = np.zeros(y_train.size), np.zeros(y_test.size), []
for _ in range(60):
    gradient, curvature = objective(y_train, scores)
    tree = DecisionTreeRegressor(max_depth=3, min_samples_leaf=20, random_state=0)
    tree.fit(X_train, -gradient / curvature, sample_weight=curvature)
    scores += 0.2 * tree.predict(X_train)
    scores_test += 0.2 * tree.predict(X_test)
    history.append(auc_score(y_test, scores_test))
print(f"test AUC after {len(history)} rounds: {history[-1]:.3f}")

# %%
# In the libraries it is one argument::
#
#     XGBClassifier(objective=pair_objective(), eval_metric=auc_metric("xgboost"))
#     LGBMClassifier(objective=pair_objective(), metric="None")
import matplotlib.pyplot as plt

plt.plot(history)
plt.xlabel("round")
plt.ylabel("test AUC")
plt.show()
