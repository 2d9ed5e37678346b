"""
On a cluster: Dask
==================

The blocks stay on the workers; the solver runs on the client and exchanges sums. Here the cluster
is two threads of this process; `Client("scheduler:8786")` is a real one.
"""

# %%
import dask.array as da
import numpy as np
from distributed import Client

client = Client(n_workers=1, threads_per_worker=2, processes=False, dashboard_address=None)
rng = np.random.default_rng(0)
X_local = rng.standard_normal((40_000, 8))
y_local = X_local[:, 0] - X_local[:, 1] + rng.logistic(size=40_000) > 3
X, y = da.from_array(X_local, chunks=(5000, 8)), da.from_array(y_local, chunks=5000)

# %%
from everypair.dask import DaskAUCClassifier, auc_score

model = DaskAUCClassifier(client=client).fit(X, y)
area = auc_score(y, model.decision_function(X), client=client)
print(f"duality gap {model.dual_gap_:.1e}; AUC in [{area.low:.6f}, {area.high:.6f}]")

# %%
# The same as a fit here, to rounding.
from everypair import AUCClassifier

local = AUCClassifier().fit(X_local, y_local)
print(f"largest difference {np.abs(model.coef_ - local.coef_).max():.1e}")
client.close()

# %%
import matplotlib.pyplot as plt

plt.bar(np.arange(8) - 0.2, local.coef_[0], 0.4, label="one process")
plt.bar(np.arange(8) + 0.2, model.coef_[0], 0.4, label="Dask")
plt.xlabel("column")
plt.ylabel("coefficient")
plt.legend()
plt.show()
