"""
Larger than memory: rows that stay on disk
==========================================

A folder of Parquet files is read block by block, some ten times. The solution is that of a fit in
memory.
"""

# %%
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

rng = np.random.default_rng(0)
weights = rng.standard_normal(10)
folder = Path(tempfile.mkdtemp())
for part in range(4):
    X = rng.standard_normal((25_000, 10)).astype(np.float32)
    y = X @ weights + 2 * rng.logistic(size=25_000) > 5
    columns = {f"x{k}": X[:, k] for k in range(10)}
    pq.write_table(pa.table({**columns, "y": y}), folder / f"part-{part}.parquet")

# %%
from everypair import AUCClassifier
from everypair.blocks import ParquetRows

rows = ParquetRows(folder, target="y")
model = AUCClassifier().fit(rows)
print(f"{model.n_passes_} passes over the files; duality gap {model.dual_gap_:.1e}")

# %%
# The same fit in memory, and the difference of the coefficients.
table = pq.read_table(folder)
X = np.column_stack([table[f"x{k}"] for k in range(10)])
local = AUCClassifier().fit(X, table["y"].to_numpy())
print(f"largest difference {np.abs(model.coef_ - local.coef_).max():.1e}")

# %%
import matplotlib.pyplot as plt

plt.plot(weights / np.linalg.norm(weights), label="true direction")
plt.plot(model.coef_[0] / np.linalg.norm(model.coef_), "o", label="fitted from disk")
plt.xlabel("column")
plt.ylabel("weight")
plt.legend()
plt.show()
