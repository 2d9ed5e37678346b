"""A small net on an imbalanced table, trained on every pair of an epoch at once.

200,000 rows of which about 1 % are positive make 400 million pairs. A tensor of their differences
would take 1.6 GB in float32, and several of them are needed for a gradient. `PairLoss` takes the
scores of all rows and needs memory for these only. Needs PyTorch: pip install 'everypair[torch]'.
"""

import numpy as np
import torch

from everypair.metrics import auc_score
from everypair.torch import PairLoss

torch.manual_seed(0)
torch.set_num_threads(1)
rng = np.random.default_rng(0)


def rows(n):
    X = rng.standard_normal((n, 10)).astype(np.float32)
    signal = X[:, 0] * X[:, 1] + X[:, 2] ** 2 + X[:, 3] + 0.5 * rng.logistic(size=n)
    return torch.from_numpy(X), torch.from_numpy((signal > 7.5).astype(np.float32))


X, y = rows(200_000)
X_new, y_new = rows(100_000)
net = torch.nn.Sequential(
    torch.nn.Linear(10, 32), torch.nn.ReLU(), torch.nn.Linear(32, 32), torch.nn.ReLU(),
    torch.nn.Linear(32, 1),
)  # fmt: skip
loss_of = PairLoss()
optimizer = torch.optim.Adam(net.parameters(), lr=0.02)
n_pairs = int(y.sum()) * int((1 - y).sum())
print(f"{len(y):,} rows, {int(y.sum()):,} positive: {n_pairs:,} pairs")
for epoch in range(16):
    optimizer.zero_grad()
    loss = loss_of(net(X), y)
    loss.backward()
    optimizer.step()
    if epoch % 5 == 0:
        with torch.no_grad():
            auc = auc_score(y_new.numpy(), net(X_new).numpy().ravel())
        print(f"epoch {epoch:2d}: loss of a pair {loss.item():.4f}, AUC of new rows {auc:.4f}")
