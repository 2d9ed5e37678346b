"""The exact L1 fit over every pair beside CPAUC's clustering of them.

    python -m lab bench cpauc            n = 100 ... 1000
    python -m lab bench cpauc 4000       up to that n, an hour
    python -m lab bench cpauc 2000 8     that n alone, so many repetitions

Model M1, p = 20 and 40, 90 % positives, as in Figure 1 of Kim & Shin (2024) and beyond; both
fit the same standardised rows with alphas of the paper's grid (1.8^-8 ... 1), and each is
reported at its own alpha of the best mean test AUC: the choice that flatters both alike.
The difference is that of the exact fit to the better of CPAUC's two, with its standard error
over the repetitions. The time is the median of one fit at 1.8^-4, one thread, on the processor's
clock. Tested on 20 000 fresh rows.
"""

import sys
import time
import warnings

import numpy as np
from sklearn.metrics import roc_auc_score
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from everypair import CPAUC, AUCClassifier
from everypair.solvers.progress import Progress
from everypair.solvers.prox_gradient import proximal_gradient
from lab.data.simulate import simulate

SIZES = (100, 200, 400, 1000, 2000, 4000)
ALPHAS = 1.8 ** np.arange(-8.0, 1.0)
MIDDLE = len(ALPHAS) // 2


def exact(X, y):
    """Coefficients at every alpha, and the seconds of one fit."""
    began = time.process_time()
    AUCClassifier(penalty="l1", alpha=ALPHAS[MIDDLE]).fit(X, y)
    seconds = time.process_time() - began
    fits = [AUCClassifier(penalty="l1", alpha=alpha).fit(X, y) for alpha in ALPHAS]
    return [fit.coef_[0] for fit in fits], seconds


def clustered(X, y, seed):
    """The same for both cluster weights; the clusters, the same for all, are found once."""
    began = time.process_time()
    fit = CPAUC(alpha=ALPHAS[MIDDLE], cluster_weights="size", random_state=seed).fit(X, y)
    seconds = time.process_time() - began
    centres, shares = fit.cluster_centers_, fit.cluster_weights_
    equal = np.full(shares.size, 1 / shares.size)
    coefs = [
        [proximal_gradient(centres, v, alpha, 1e-6, Progress(1000)).b for alpha in ALPHAS]
        for v in (equal, shares)
    ]
    return *coefs, seconds


def compare(n_rows, n_features, repetitions):
    """One line of the table."""
    aucs = np.zeros((3, repetitions, ALPHAS.size))
    seconds = np.zeros((2, repetitions))
    for seed in range(repetitions):
        X, y = simulate("M1", n_rows, n_features, random_state=seed)
        X_test, y_test = simulate("M1", 20_000, n_features, random_state=10_000 + seed)
        scaler = StandardScaler().fit(X)
        X, X_test = scaler.transform(X), scaler.transform(X_test)
        all_pairs, seconds[0, seed] = exact(X, y)
        *clusters, seconds[1, seed] = clustered(X, y, seed)
        for m, coefs in enumerate([all_pairs, *clusters]):
            aucs[m, seed] = [roc_auc_score(y_test, X_test @ w) for w in coefs]
    means = aucs.mean(axis=1)
    ours, *theirs = (aucs[m, :, means[m].argmax()] for m in range(3))
    ahead = ours - max(theirs, key=np.mean)
    error = f" ({ahead.std(ddof=1) / np.sqrt(repetitions):.5f})" if repetitions > 1 else ""
    best = " | ".join(f"{auc:.4f}" for auc in means.max(axis=1))
    ratio = np.median(seconds[1]) / np.median(seconds[0])
    print(
        f"| {n_rows} | {n_features} | {repetitions} | {best} | {ahead.mean():+.5f}{error} "
        f"| {ratio:.0f} |",
        flush=True,
    )


def main(largest=1000, repetitions=None):
    warnings.simplefilter("ignore")
    X, y = simulate("M1", 100, 20, random_state=0)
    AUCClassifier(penalty="l1").fit(X, y)  # compiles
    print(
        "| n | p | runs | AUC exact | AUC CPAUC, equal | AUC CPAUC, size | exact ahead by "
        "| time CPAUC / exact |"
    )
    print("|" + "---|" * 8)
    alone = [largest] if repetitions else [n for n in SIZES if n <= largest]
    for n_rows in alone:
        for n_features in (20, 40):
            compare(n_rows, n_features, repetitions or int(np.clip(4000 // n_rows, 1, 20)))


if __name__ == "__main__":
    with threadpool_limits(1):
        main(*map(int, sys.argv[1:]))
