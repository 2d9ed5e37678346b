"""
Text: a few words that rank, by L1
==================================

Sparse columns stay sparse. The L1 path over every pair shows which words enter first, and each
model on it has a certified duality gap.
"""

# %%
# Short messages drawn from two vocabularies, 2,000 of them, one in ten wanted.
import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer

rng = np.random.default_rng(0)
common = [f"word{k}" for k in range(400)]
telling = ["invoice", "overdue", "payment", "reminder", "account"]
y = rng.random(2000) < 0.1
texts = [
    " ".join(
        [*rng.choice(common, 25), *rng.choice(telling, rng.binomial(3, 0.6 if wanted else 0.1))]
    )
    for wanted in y
]
words = TfidfVectorizer()
X = words.fit_transform(texts)
print(X.shape, type(X).__name__)

# %%
from everypair import AUCClassifierCV

model = AUCClassifierCV(penalty="l1", n_alphas=30, eps=0.03).fit(X, y)
chosen = np.argsort(-np.abs(model.coef_[0]))[:8]
for k in chosen:
    print(f"{words.get_feature_names_out()[k]:10s} {model.coef_[0, k]:+.2f}")
print(
    f"{np.count_nonzero(model.coef_)} of {X.shape[1]} words; held-out AUC {model.best_score_:.3f}"
)

# %%
import matplotlib.pyplot as plt

from everypair import auc_path
from everypair.plots import CoefficientPathDisplay

CoefficientPathDisplay.from_path(auc_path(X, y, penalty="l1", n_alphas=30, eps=0.03))
plt.show()
