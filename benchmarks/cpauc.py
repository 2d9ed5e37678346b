"""The exact L1 fit over every pair beside CPAUC's clustering of them.

    python benchmarks/cpauc.py            n = 100 ... 1000
    python benchmarks/cpauc.py 4000       up to that n, some minutes

Model M1, p = 20 and 40, 90 % positives, as in Figure 1 of Kim & Shin (2024) and beyond; both
fit the same standardised rows with alphas of the paper's grid (1.8^-7 ... 1.8^-1), and each is
reported at its own alpha of the best test AUC on average: the choice that flatters both alike.
The time is the median of one fit at that alpha, one thread. Tested on 5 000 fresh rows.
"""

import sys
import time
import warnings

import numpy as np
from sklearn.metrics import roc_auc_score
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from everypair import CPAUC, AUCClassifier
from everypair.data.simulate import simulate

SIZES = (100, 200, 400, 1000, 2000, 4000)
ALPHAS = 1.8 ** np.arange(-7.0, 0.0)
MODELS = {
    "exact": lambda alpha, seed: AUCClassifier(penalty="l1", alpha=alpha),
    "CPAUC, equal": lambda alpha, seed: CPAUC(alpha=alpha, random_state=seed),
    "CPAUC, size": lambda alpha, seed: CPAUC(
        alpha=alpha, cluster_weights="size", random_state=seed
    ),
}


class Fits:
    """AUC and seconds, one row a repetition, one column an alpha."""

    def __init__(self):
        self.auc, self.seconds = [], []

    def add(self, models, X, y, X_test, y_test):
        auc, seconds = [], []
        for model in models:
            began = time.perf_counter()
            model.fit(X, y)
            seconds.append(time.perf_counter() - began)
            auc.append(roc_auc_score(y_test, model.decision_function(X_test)))
        self.auc.append(auc)
        self.seconds.append(seconds)

    def best(self):
        means = np.mean(self.auc, axis=0)
        at = means.argmax()
        return means[at], np.median(self.seconds, axis=0)[at]


def main(largest):
    warnings.simplefilter("ignore")
    X, y = simulate("M1", 100, 20, random_state=0)
    AUCClassifier(penalty="l1").fit(X, y)  # compiles
    names = list(MODELS)
    print("| n | p | " + " | ".join(f"AUC {name}" for name in names), end=" | ")
    print(" | ".join(f"time {name} / exact" for name in names[1:]) + " |")
    print("|" + "---|" * (2 + 2 * len(names) - 1))
    for n_rows in (n for n in SIZES if n <= largest):
        repetitions = max(1, 2000 // n_rows)
        alphas = ALPHAS if n_rows <= 400 else ALPHAS[::3]
        for n_features in (20, 40):
            fits = {name: Fits() for name in names}
            for seed in range(repetitions):
                X, y = simulate("M1", n_rows, n_features, random_state=seed)
                X_test, y_test = simulate("M1", 5_000, n_features, random_state=10_000 + seed)
                scaler = StandardScaler().fit(X)
                X, X_test = scaler.transform(X), scaler.transform(X_test)
                for name, make in MODELS.items():
                    models = [make(alpha, seed) for alpha in alphas]
                    fits[name].add(models, X, y, X_test, y_test)
            best = [fits[name].best() for name in names]
            aucs = " | ".join(f"{auc:.4f}" for auc, _ in best)
            times = " | ".join(f"{seconds / best[0][1]:.1f}" for _, seconds in best[1:])
            print(f"| {n_rows} | {n_features} | {aucs} | {times} |", flush=True)


if __name__ == "__main__":
    with threadpool_limits(1):
        main(int(sys.argv[1]) if len(sys.argv) > 1 else 1000)
