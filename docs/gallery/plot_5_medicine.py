"""
Medicine: is one marker better than another?
============================================

Two scores are measured on the same patients. DeLong's test compares their AUCs; intervals say how
sure each is; a guaranteed cut keeps its recall on new patients with the stated confidence.
"""

# %%
# Breast Cancer Wisconsin: tumours of 569 patients, as scikit-learn ships them.
from sklearn.datasets import load_breast_cancer

table = load_breast_cancer(as_frame=True)
y = table.target == 0  # malignant
texture, symmetry = table.data["mean texture"], table.data["mean symmetry"]

# %%
from everypair.metrics import auc_confidence_interval, compare_auc

for name, marker in {"texture": texture, "symmetry": symmetry}.items():
    found = auc_confidence_interval(y, marker)
    print(f"{name:9s} AUC {found.auc:.3f} [{found.low:.3f}, {found.high:.3f}]")
test = compare_auc(y, texture, symmetry)
print(f"difference {test.difference:+.3f} [{test.low:+.3f}, {test.high:+.3f}], p = {test.p:.3f}")

# %%
# A cut of the texture that finds at least 70 % of malignant tumours among new patients, with
# confidence 95 %: it has to be lower than the cut that finds 70 % of these.
from everypair.metrics import threshold_for

print(f"recall .7 here:                 texture >= {threshold_for(y, texture, recall=0.7):.1f}")
print(
    f"recall .7 on new patients, 95 %: texture >= {threshold_for(y, texture, recall=0.7, guarantee=0.95):.1f}"
)

# %%
import matplotlib.pyplot as plt

from everypair.plots import ROCComparisonDisplay

ROCComparisonDisplay.from_predictions(y, {"texture": texture, "symmetry": symmetry})
plt.show()
