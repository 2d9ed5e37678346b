"""Other ways to promise a precision, beside the library's: a table of the page of guarantees."""

from __future__ import annotations

import numpy as np
from scipy.special import betainc
from scipy.stats import kstwo

from everypair.metrics import guarantees
from lab.benchmarks.guarantees import DIPPED, STRONG, Scores, best_of_population, values
from lab.harness import markdown_table


def by_all_cuts(above, hits, precision, risk):
    """Bonferroni's correction for every cut that could be tested."""
    p = np.where(hits > 0, betainc(np.maximum(hits, 0.5), above - hits + 1, precision), 1.0)
    return p <= risk / max(1, above.size - 1)


def by_sizes(above, hits, precision, risk):
    """Bonferroni's correction for the sizes of the sequence, an equal part of the risk for each."""
    sizes, _ = guarantees._sequence(int(above[-1]), precision, risk)
    passed = np.zeros(above.size, dtype=bool)
    if sizes.size:
        cuts = np.unique(np.searchsorted(above, sizes))
        p = betainc(np.maximum(hits[cuts], 0.5), above[cuts] - hits[cuts] + 1, precision)
        passed[cuts] = (hits[cuts] > 0) & (p <= risk / cuts.size)
    return passed


def by_band(above, hits, precision, risk):
    """One band for the distribution of ``(y - precision) 1(s > t)`` over all cuts at once (DKW).

    Both classes' shares of all rows stay within the Kolmogorov distance at half the risk each.
    """
    n = above[-1]
    reach = kstwo.isf(risk, int(n))
    low = hits / n - reach
    return (1 - precision) * low > precision * ((above - hits) / n + reach)


def by_library(above, hits, precision, risk):
    return guarantees.precise(above, guarantees.binomial_test(above, hits), precision, risk)


def by_one_start(above, hits, precision, risk):
    """The fixed sequence with all of the risk at four times the fewest rows."""
    shipped = guarantees.STARTS
    try:
        guarantees.STARTS = ((4.0, 1.0),)
        return by_library(above, hits, precision, risk)
    finally:
        guarantees.STARTS = shipped


WAYS = {
    "library": by_library,
    "one start": by_one_start,
    "Bonferroni, sizes": by_sizes,
    "Bonferroni, all cuts": by_all_cuts,
    "band": by_band,
}
WAYS_CELLS = [
    (wanted, guarantee, n, prevalence, scores)
    for wanted, guarantee, n, prevalence, scores in (
        (0.5, 0.9, 200, 0.2, Scores("normal", 1.5)),
        (0.8, 0.95, 200, 0.5, Scores("normal", 1.5)),
        (0.3, 0.95, 1000, 0.05, Scores("normal", 1.5)),
        (0.8, 0.95, 1000, 0.2, STRONG),
        (0.4, 0.9, 1000, 0.2, Scores("normal", 1.0)),
        (0.3, 0.95, 5000, 0.02, STRONG),
        (0.6, 0.95, 5000, 0.2, Scores("normal", 1.5)),
        (0.8, 0.9, 5000, 0.3, DIPPED),
    )
]


def ways(repetitions, wanted, guarantee, n, prevalence, scores, seed=22):
    """For each way: per cent kept, and recall as a share of the best cut's."""
    rng = np.random.default_rng(seed)
    best = best_of_population(scores, prevalence, "precision", wanted)
    out = np.zeros((len(WAYS), 2))
    for _ in range(repetitions):
        y = rng.random(n) < prevalence
        s = scores.draw(rng, y)
        order = np.argsort(-s)
        above = np.arange(n + 1.0)
        hits = np.concatenate([[0.0], np.cumsum(y[order])])
        ends = np.append(s[order], -np.inf)
        for k, way in enumerate(WAYS.values()):
            passed = np.flatnonzero(way(above, hits, wanted, 1 - guarantee))
            if passed.size == 0:
                out[k, 0] += 1
                continue
            last = passed[-1]
            t = (ends[last - 1] + ends[last]) / 2 if last < n else ends[n - 1] - 1e-9
            of = values(scores, prevalence, t)
            out[k] += of["precision"] >= wanted, of["recall"] / best
    return out * [100 / repetitions, 1 / repetitions]


def table_of_ways(repetitions):
    """Heading and table."""
    lines = []
    for cell in WAYS_CELLS:
        out = ways(repetitions, *cell)
        wanted, guarantee, rows, prevalence, scores = cell
        lines.append([
            f"{wanted:g}", f"{100 * guarantee:g} %", str(rows), f"{100 * prevalence:g} %",
            scores.name, *(f"{share:.1f} %, {reach:.2f}" for share, reach in out),
        ])  # fmt: skip
    header = ["precision", "promised", "rows", "positive", "scores", *WAYS]
    title = f"Ways to promise a precision, kept and reached: {repetitions} data sets"
    return title, markdown_table(header, lines)
