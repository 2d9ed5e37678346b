"""Could the interval of a cross-validated area be narrower where it covers more than it says?

    python -m lab bench interval_rules [--data-sets 4000] [--write]

Logistic regression on simulated tables, all data sets of a line at once: the same statistics as
`everypair.metrics.held_out`, and next to its rule for kappa the others that come to mind. Each rule
is judged by the line on which it covers least. ``--write`` makes docs/benchmarks/interval_rules.md.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass

import numpy as np
from scipy.special import betaincinv, expit, logit, ndtri, stdtrit

from everypair.metrics.held_out import CHANCE, CLEAR, FEW_FOLDS, FEW_ROWS
from everypair.metrics.inference import UNSEEN_ROWS
from lab.benchmarks.simulated_folds import features
from lab.harness import Page, markdown_table

INTRO = """Made by `python -m lab bench interval_rules --write`. The 95 % interval of
`cross_val_auc` covers more than 97 % on some tables. Here other rules for its variance are tried on
the same simulated data sets, and the rule in use was chosen here. All models are logistic
regressions, on other seeds than those of [intervals.md](intervals.md), which reports the coverage;
some sizes and numbers of features are the same.

kappa is the share of DeLong's variance within the folds, V, that is added to it
([notes](../../lab/notes/metrics.md)). r is the correlation of a fold's influences by its own model
and by one that trained on the fold. The rule in use measures kappa by K (1 - r), takes 1 while the
area may be chance (up to 4 standard errors), and multiplies by 1 - 18/n. Other rules differ from it
only in what their name says; d is (K - 1)(1 - r). "True variance" uses what nobody has in practice:
the variance of the area over all data sets of the line. Where even that covers more than 97 %, no
better kappa helps. `width` is the median over the lines, beside the rule in use."""


@dataclass
class Areas:
    """What the folds of each data set say; every attribute has one value per data set."""

    auc: np.ndarray
    V: np.ndarray
    df: np.ndarray
    agreement: np.ndarray
    """Correlation of influences by the own model and by one that trained on the fold."""
    held_agreement: np.ndarray
    """The same with a model that trained on neither this fold nor another one."""
    spread: np.ndarray
    """Variance between the areas of the folds, over their number."""
    sizes: tuple[int, int]
    n_folds: int


def fitted(X, y, train):
    """Logistic regressions (C = 1): X (B, n, p), train (k, n) -> coefficients (B, k, p)."""
    Z = np.concatenate([X, np.ones((*X.shape[:2], 1))], axis=2)
    ridge = np.append(np.ones(X.shape[2]), 1e-9)
    w = np.zeros((len(X), len(train), Z.shape[2]))
    for _ in range(12):
        q = expit(w @ Z.transpose(0, 2, 1))
        slope = (train * (q - y)) @ Z + ridge * w
        step = np.empty_like(w)
        for k in range(len(train)):
            curvature = train[k] * (q[:, k] * (1 - q[:, k]) + 1e-9)
            hessian = np.matmul(Z.transpose(0, 2, 1) * curvature[:, None, :], Z) + np.diag(ridge)
            step[:, k] = np.linalg.solve(hessian, slope[:, k, :, None])[..., 0]
        w -= step
        if np.abs(step).max() < 1e-6:
            break
    return w[:, :, :-1]


def influences(positives, negatives):
    """Areas (B,) and the influences of the positives and the negatives on them."""
    wins = np.sign(positives[:, :, None] - negatives[:, None, :]) / 2 + 0.5
    auc = wins.mean(axis=(1, 2))
    u = (wins.mean(axis=2) - auc[:, None]) / positives.shape[1]
    v = (wins.mean(axis=1) - auc[:, None]) / negatives.shape[1]
    return auc, u, v


def areas(rng, n_sets, n, share, p, kind, shift, K):
    """Rows are exchangeable: row i of a class is in fold i modulo K."""
    m = round(share * n)
    y = np.arange(n) < m
    fold = np.concatenate([np.arange(m) % K, np.arange(n - m) % K])
    X = np.stack([features(rng, y, p, kind, shift) for _ in range(n_sets)])
    each = np.arange(K)[:, None]
    before = (each - 1) % K
    train = np.concatenate([fold != each, (fold != each) & (fold != before)])
    w = fitted(X, y.astype(float), train)
    fold_auc, v, products = [], np.zeros((2, n_sets)), np.zeros((2, 3, n_sets))
    for k in range(K):
        held = [X[:, (fold == k) & of_class] for of_class in (y, ~y)]
        # The own model, one that trained on the fold, and two that saw one fold less.
        models = [k, (k + 1) % K, K + k, K + (k + 1) % K]
        (auc, *own), seen, *less = (
            influences(*(np.einsum("bnp,bp->bn", part, w[:, j]) for part in held)) for j in models
        )
        fold_auc.append(auc)
        for i, part in enumerate(own):
            v[i] += np.sum(part**2, axis=1) * part.shape[1] / (part.shape[1] - 1) / K**2
        a = np.concatenate(own, axis=1)
        for row, others in zip(products, ([seen], less), strict=True):
            for other in others:
                b = np.concatenate(other[1:], axis=1)
                row += [(a * a).sum(axis=1), (b * b).sum(axis=1), (a * b).sum(axis=1)]
    fold_auc = np.array(fold_auc)
    size = np.sqrt(products[:, 0] * products[:, 1])
    agreement, held_agreement = np.where(size > 0, products[:, 2] / np.maximum(size, 1e-300), 0.0)
    degrees = (m - K, n - m - K)
    df = v.sum(axis=0) ** 2 / np.maximum(v[0] ** 2 / degrees[0] + v[1] ** 2 / degrees[1], 1e-300)
    spread = fold_auc.var(axis=0, ddof=1) / K
    return Areas(
        fold_auc.mean(axis=0), v.sum(axis=0), df, agreement, held_agreement, spread, (m, n - m), K
    )


def interval(s, kappa, quantile="t", unseen=UNSEEN_ROWS):
    """`HeldOutArea.interval` for all data sets."""
    auc, (m, n) = s.auc, s.sizes
    variance = (1 + kappa) * s.V + unseen * (0.5 - auc) ** 2 * (m**-2 + n**-2)
    reach = (stdtrit(np.maximum(s.df, 1), 0.975) if quantile == "t" else ndtri(0.975)) * np.sqrt(
        variance
    )
    pairs = min(m, n) / (1 + kappa)
    won, lost = pairs * auc, pairs * (1 - auc)
    low = np.where(won > 0, betaincinv(np.maximum(won, 1e-9), lost + 1, 0.025), 0.0)
    high = np.where(lost > 0, 1 - betaincinv(np.maximum(lost, 1e-9), won + 1, 0.025), 1.0)
    inner = np.clip(auc, 1e-12, 1 - 1e-12)
    reach = reach / (inner * (1 - inner))
    sure = (s.V == 0) | (auc <= 0) | (auc >= 1)
    return (
        np.where(sure, low, np.maximum(low, expit(logit(inner) - reach))),
        np.where(sure, high, np.minimum(high, expit(logit(inner) + reach))),
    )


def unclear(s, chance=CHANCE, clear=CLEAR):
    away = abs(s.auc - 0.5) / np.sqrt(np.maximum(s.V, 1e-300)) / (chance * (1 + 1 / s.n_folds))
    return np.clip((clear - away) / (clear - 1), 0, 1)


def measured(s, factor=None):
    return np.clip((factor or s.n_folds) * (1 - s.agreement), 0, 1)


def few(s):
    return 1 + FEW_FOLDS / max(1.0, s.n_folds - 1) ** 2


def saturating(s):
    d = (s.n_folds - 1) * np.clip(1 - s.agreement, 0, None)
    return d / (1 + d)


def from_held(s):
    return np.clip(s.n_folds * (1 - s.held_agreement), 0, 1)


def from_spread(s):
    """The mean of the spread is (1 - kappa / (K - 1)) V."""
    return np.clip((s.n_folds - 1) * (1 - s.spread / np.maximum(s.V, 1e-300)), 0, 1)


def small(s, rows=FEW_ROWS):
    """The variance on noise is about (2 - 18/n) V with 60 to 300 rows."""
    return 1 - rows / sum(s.sizes)


def rule(share=measured, chance=CHANCE, clear=CLEAR, rows=FEW_ROWS):
    """kappa by a measured share, or 1 while the area may be chance, times 1 - rows / n."""
    return lambda s: small(s, rows) * few(s) * np.maximum(share(s), unclear(s, chance, clear))


in_use = rule()

RULES = {
    "in use": in_use,
    "kappa = 0": lambda s: 0 * s.V,
    "kappa = 1": lambda s: 1 + 0 * s.V,
    "true variance": lambda s: s.auc.var() / s.V.mean() - 1 + 0 * s.V,
    "not x (1 - 18 / n)": rule(rows=0),
    "x (1 - 9 / n)": rule(rows=9),
    "x (1 - 12 / n)": rule(rows=12),
    "x (1 - 15 / n)": rule(rows=15),
    "x (1 - 24 / n)": rule(rows=24),
    "no rule for chance": lambda s: small(s) * few(s) * measured(s),
    "chance up to 2 se": rule(chance=2.0),
    "chance up to 3 se": rule(chance=3.0),
    "chance up to 3.5 se": rule(chance=3.5),
    "chance ends at once at 4 se": rule(clear=1.001),
    "d / 2": rule(lambda s: measured(s, (s.n_folds - 1) / 2)),
    "d / (1 + d)": rule(saturating),
    "d / (1 + d), x (1 - 12 / n)": rule(saturating, rows=12),
    "d / (1 + d), chance up to 3 se": rule(saturating, 3.0),
    "d / (1 + d), chance up to 3 se, x (1 - 12 / n)": rule(saturating, 3.0, rows=12),
    "K (1 - r) (1 - 45 / n)": rule(lambda s: small(s, 45) / small(s) * measured(s)),
    "K (1 - r) (1 - 60 / n)": rule(lambda s: small(s, 60) / small(s) * measured(s)),
    "models of one fold less": lambda s: small(s) * few(s) * from_held(s),
    "models of one fold less, or chance": rule(from_held),
    "spread of the folds": lambda s: small(s) * from_spread(s),
    "spread of the folds, or chance": rule(from_spread),
}
"""kappa of each data set; r is the agreement, d = (K - 1) (1 - r)."""

OTHER_QUANTILES = {
    "normal quantiles": ("in use", {"quantile": "normal"}),
    "no unseen row": ("in use", {"unseen": 0.0}),
    "true variance, normal quantiles": ("true variance", {"quantile": "normal"}),
}

SHAPES = (
    (1, "normal", 0.0), (3, "skewed", 0.0), (10, "binary", 0.0), (20, "normal", 0.0),
    (1, "normal", 0.4), (3, "normal", 0.6), (10, "correlated", 0.5), (20, "normal", 0.9),
    (2, "skewed", 1.2), (10, "normal", 1.6), (8, "skewed", 2.2), (4, "normal", 2.4),
)  # fmt: skip
CASES = [
    (n, share, *shape, K)
    for n, share, K in (
        (60, 0.5, 5),
        (60, 0.5, 3),
        (80, 0.25, 5),
        (120, 0.5, 5),
        (160, 0.5, 10),
        (200, 0.1, 5),
    )
    for shape in SHAPES
] + [(1000, 0.5, 15, "binary", 0.8, 5), (1000, 0.5, 1, "normal", 0.15, 5)]

SEEDS = (23, 24)
BATCH = 100_000
"""Rows of data sets that are fitted at once."""


def simulated(n_sets, case, seed=23):
    """Data sets of a line."""
    n, share, p, kind, shift, K = case
    rng = np.random.default_rng([seed, n, round(100 * share), p, len(kind), round(100 * shift), K])
    step = max(1, BATCH // n)
    return joined([areas(rng, min(step, n_sets - k), *case) for k in range(0, n_sets, step)])


def joined(parts):
    names = ("auc", "V", "df", "agreement", "held_agreement", "spread")
    values = {name: np.concatenate([getattr(part, name) for part in parts]) for name in names}
    return Areas(**values, sizes=parts[0].sizes, n_folds=parts[0].n_folds)


def coverage(s, truth):
    """Of each rule in per cent, and its median width beside that in use."""
    tried = {name: (rule(s), {}) for name, rule in RULES.items()}
    tried |= {name: (tried[of][0], given) for name, (of, given) in OTHER_QUANTILES.items()}
    covers, widths = {}, {}
    for name, (kappa, given) in tried.items():
        low, high = interval(s, kappa, **given)
        covers[name] = 100 * np.mean((low <= truth) & (truth <= high))
        widths[name] = high - low
    wider = {name: float(np.median(width / widths["in use"])) for name, width in widths.items()}
    return covers, wider


def line(case):
    n, share, p, kind, shift, K = case
    return f"{n} rows, {round(share * n)} positive, {p} {kind}, shift {shift:g}, {K} folds"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data-sets", type=int, default=4000)
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    covers, widths, lines = {}, {}, []
    for case in CASES:
        n_sets = given.data_sets // (1 if case[0] < 150 else 2 if case[0] < 1000 else 5)
        s = joined([simulated(n_sets // len(SEEDS), case, seed) for seed in SEEDS])
        covers[case], widths[case] = coverage(s, 0.5 if case[4] == 0 else s.auc.mean())
        n, share, p, kind, shift, K = case
        lines.append(
            [str(n), str(round(share * n)), f"{p} {kind}", str(K),
             f"{s.auc.mean():.3f}" if shift else "noise", f"{s.auc.var() / s.V.mean():.2f}",
             f"{1 + in_use(s).mean():.2f}",
             *(f"{covers[case][name]:.1f} %" for name in ("in use", "true variance"))]
        )  # fmt: skip
        print(*lines[-1], file=sys.stderr, flush=True)
    page = Page("interval_rules", "Other rules for the interval of a cross-validated area", INTRO)
    rows = []
    for name in covers[CASES[0]]:
        found = np.array([covers[case][name] for case in CASES])
        worst = min(CASES, key=lambda case: covers[case][name])
        wider = np.median([widths[case][name] for case in CASES])
        counts = (found < 94, (found >= 94) & (found <= 97), found > 97)
        rows.append(
            [name, *(str(np.count_nonzero(which)) for which in counts), f"{found.min():.1f} %",
             line(worst), f"{wider:.2f}"]
        )  # fmt: skip
    header = ["kappa", "lines below 94 %", "94 to 97 %", "above 97 %", "least", "where", "width"]
    page.add(f"Rules, on {len(CASES)} lines", markdown_table(header, rows))
    header = ["rows", "positive", "features", "folds", "mean AUC", "variance / V", "1 + kappa",
              "in use", "true variance"]  # fmt: skip
    title = f"Each line: {given.data_sets} data sets, half from 150 rows on, a fifth with 1000 rows"
    page.add(title, markdown_table(header, lines))
    if given.write:
        page.write()


if __name__ == "__main__":
    main()
