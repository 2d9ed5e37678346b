"""`PairLoss` in a small net beside a tensor of pairs and LibAUC's losses: memory, time, AUC.

python -m lab bench nets [--only memory auc] [--write]

Needs the extra `torch`; LibAUC (with torchvision, which its optimisers import) is optional. Memory
is that of a process of its own. Times are processor seconds of one thread.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
import warnings
from importlib.util import find_spec
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedShuffleSplit
from sklearn.preprocessing import StandardScaler

from everypair.metrics import auc_score
from lab.data.tasks import task
from lab.harness import Page, markdown_table

ROWS = (10_000, 100_000, 1_000_000)
POSITIVES = 0.01
TOO_MANY_PAIRS = 10**9
"""A tensor of these in float32 takes 4 GB, a gradient several of them."""

TASKS = ("letter H", "letter S", "satimage 4", "optdigits 8")
SPLITS, TRAIN_ROWS, TEST_ROWS = 3, 4000, 8000
EPOCHS, BATCH, RATE = 40, 256, 2e-3


def losses() -> dict[str, Any]:
    """A function of scores and labels by name; LibAUC's where it is installed."""
    import torch

    from everypair.torch import PairLoss

    def tensor_of_pairs(scores: Any, y: Any) -> Any:
        margins = scores[y == 1][:, None] - scores[y == 0][None, :]
        return torch.nn.functional.softplus(-margins).mean()

    out = {
        "log loss": torch.nn.BCEWithLogitsLoss(),
        "PairLoss": PairLoss(),
        "tensor of all pairs": tensor_of_pairs,
    }
    if find_spec("libauc") is not None:
        from libauc.losses import AUCMLoss, PairwiseAUCLoss

        out["LibAUC PairwiseAUCLoss"] = PairwiseAUCLoss("logistic")
        margin = AUCMLoss()
        out["LibAUC AUCMLoss"] = lambda s, y: margin(torch.sigmoid(s), y)
    return out


def measure(name: str, n_rows: int) -> None:
    """Print memory and time of a value and its gradient at the scores alone, as JSON."""
    import resource

    import torch

    torch.set_num_threads(1)
    rng = np.random.default_rng(0)
    y = torch.from_numpy((rng.random(n_rows) < POSITIVES).astype(np.float32))
    scores = torch.from_numpy(rng.standard_normal(n_rows).astype(np.float32)).requires_grad_()
    loss = losses()[name]
    few = torch.cat([torch.nonzero(y == 1)[:20, 0], torch.nonzero(y == 0)[:80, 0]])
    loss(scores[few], y[few]).backward()  # code is loaded
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    began = time.process_time()
    loss(scores, y).backward()
    seconds = time.process_time() - began
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(json.dumps({"mb": (after - before) / 1024, "seconds": seconds}))


def memory(page: Page) -> None:
    names = list(losses())
    table = []
    for name in names:
        cells = []
        for n_rows in ROWS:
            n_pairs = int(n_rows * POSITIVES) * int(n_rows * (1 - POSITIVES))
            whole = name in ("tensor of all pairs", "LibAUC PairwiseAUCLoss")
            if whole and n_pairs > TOO_MANY_PAIRS:
                cells.append(f"not run: {4 * n_pairs / 1e9:.0f} GB for one tensor")
                continue
            command = [sys.executable, "-m", "lab", "bench", "nets", "--one", name, str(n_rows)]
            done = subprocess.run(command, capture_output=True, text=True, check=True)
            found = json.loads(done.stdout.splitlines()[-1])
            cells.append(f"{found['mb']:.0f} MB, {1000 * found['seconds']:.0f} ms")
        table.append([name, *cells])
    head = [f"{n:,} rows, {int(n * POSITIVES) * int(n * (1 - POSITIVES)):.0e} pairs" for n in ROWS]
    page.add(
        "Memory and time of a value and its gradient",
        f"{100 * POSITIVES:g} % positives, float32. Growth of the process's largest memory, and "
        "processor time.\n\n" + markdown_table(["loss", *head], table),
    )


def trained(name: str, X: Any, y: Any, seed: int) -> Any:
    """A net of two hidden layers of 64; the optimiser is Adam, or LibAUC's PESG for its AUCM."""
    import torch

    torch.manual_seed(seed)
    layers = [torch.nn.Linear(X.shape[1], 64), torch.nn.ReLU(), torch.nn.Linear(64, 64)]
    net = torch.nn.Sequential(*layers, torch.nn.ReLU(), torch.nn.Linear(64, 1))
    loss = losses()[name]
    if name == "LibAUC AUCMLoss":
        from libauc.losses import AUCMLoss
        from libauc.optimizers import PESG

        margin = AUCMLoss()
        optimizer = PESG(net.parameters(), loss_fn=margin, lr=0.1, verbose=False)
        loss = lambda s, y: margin(torch.sigmoid(s), y)  # noqa: E731
    else:
        optimizer = torch.optim.Adam(net.parameters(), lr=RATE)
    rng = np.random.default_rng(seed)
    for _ in range(EPOCHS):
        order = rng.permutation(len(y))
        for batch in np.array_split(order, max(1, len(y) // BATCH)):
            rows = torch.from_numpy(batch)
            if name != "log loss" and not bool((y[rows] == 1).any()):
                continue  # no pair
            optimizer.zero_grad()
            loss(net(X[rows])[:, 0], y[rows]).backward()
            optimizer.step()
    return net


def auc(page: Page) -> None:
    import torch

    torch.set_num_threads(1)
    names = [name for name in losses() if name != "tensor of all pairs"]
    table = []
    means: dict[str, list[float]] = {name: [] for name in names}
    for of in TASKS:
        found = task(of)
        y = found.positive
        n_train = min(TRAIN_ROWS, y.size // 2)
        n_test = min(TEST_ROWS, y.size - n_train)
        areas: dict[str, list[float]] = {name: [] for name in names}
        cuts = StratifiedShuffleSplit(SPLITS, train_size=n_train, test_size=n_test, random_state=0)
        for split, (train, test) in enumerate(cuts.split(y[:, None], y)):
            scaler = StandardScaler().fit(found.X[train])
            X, X_test = (
                torch.from_numpy(scaler.transform(found.X[rows]).astype(np.float32))
                for rows in (train, test)
            )
            label = torch.from_numpy(y[train].astype(np.float32))
            for name in names:
                net = trained(name, X, label, split)
                with torch.no_grad():
                    scores = net(X_test)[:, 0].numpy()
                areas[name].append(float(auc_score(y[test], scores)))
        table.append([of, *(f"{np.mean(areas[n]):.4f} ± {np.std(areas[n]):.4f}" for n in names)])
        for name in names:
            means[name] += areas[name]
        print(table[-1], flush=True)
    table.append(["mean", *(f"{np.mean(means[name]):.4f}" for name in names)])
    page.add(
        "AUC of a small net",
        f"Two hidden layers of 64, {EPOCHS} epochs of batches of {BATCH} rows, Adam at {RATE:g}; "
        "AUCMLoss with its own optimiser at its defaults (rate .1, no sampler of its own). Nothing "
        f"was tuned. {TRAIN_ROWS:,} training rows at most, mean over {SPLITS} splits and standard "
        "deviation. `PairwiseAUCLoss` is the same loss as `PairLoss` on a batch, through a tensor "
        "of its pairs.\n\n" + markdown_table(["task", *names], table),
    )


SECTIONS = {"memory": memory, "auc": auc}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="+", choices=SECTIONS, default=list(SECTIONS))
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    if given.one:
        measure(given.one[0], int(given.one[1]))
        return
    page = Page(
        "nets",
        "The pair loss in PyTorch",
        "`python -m lab bench nets --write` prints this page. One thread.",
    )
    for name in given.only:
        SECTIONS[name](page)
    if given.write:
        page.write()


if __name__ == "__main__":
    main()
