"""Which cuts of a ranking meet a requirement on new rows, of independent rows or groups."""

from __future__ import annotations

import numpy as np

from everypair.metrics import guarantees
from everypair.metrics.asked import Asked
from everypair.metrics.curve import Curve
from everypair.metrics.group_guarantees import AT_MOST, GROUPS_PER_WIN, ScoredGroups, best_share
from everypair.rows import Array, Bool, Index, Rows


def guaranteed(asked: Asked, rows: Rows, scores: Array, codes: Index | None) -> tuple[Bool, float]:
    """Which cuts meet the requirement on new rows, and the bound that is proven for them all."""
    if not rows.even:
        raise ValueError(
            "guarantee= needs the same weight for all rows of a class: leave out "
            "sample_weight, or the guarantee."
        )
    skew = (rows.totals[1] / rows.n_negative) / (rows.totals[0] / rows.n_positive)
    if asked.requirement == "top" and skew != 1:
        raise ValueError(
            "guarantee= with top= needs rows of equal weight: leave out sample_weight."
        )
    curve = Curve.of(Rows(rows.positive, None, None, rows.labels), scores)
    groups = None if codes is None else ScoredGroups(codes, scores, rows.positive)
    if asked.requirement in ("precision", "npv"):
        if groups is not None and skew != 1:
            raise ValueError(
                f"guarantee= with groups= and {asked.requirement}= needs rows of equal weight: "
                "leave out sample_weight."
            )
        return _guaranteed_precision(asked, curve, skew, groups)
    if groups is not None:
        return _guaranteed_rate_of_groups(asked, curve, groups)
    return _guaranteed_rate(asked, curve)


def _guaranteed_rate(asked: Asked, curve: Curve) -> tuple[Bool, float]:
    name, wanted, risk = asked.requirement, float(asked.wanted), asked.risk
    if name == "recall":
        n_positive = int(curve.tp[-1])
        k = guarantees.fewest(n_positive, wanted, risk)
        if k > n_positive:
            best = guarantees.lowest_share(n_positive, n_positive, risk)
            raise _out_of_reach(asked, f"{n_positive} positive rows guarantee at most {best:.3g}")
        return curve.tp >= k, guarantees.lowest_share(k, n_positive, risk)
    above = curve.fp if name == "fpr" else curve.tp + curve.fp
    n_rows = int(above[-1])
    k = guarantees.most(n_rows, wanted, risk)
    if k < 0:
        least = guarantees.highest_share(0, n_rows, risk)
        raise _out_of_reach(asked, f"{n_rows} rows guarantee no less than {least:.3g}")
    return above <= k, guarantees.highest_share(k, n_rows, risk)


def _guaranteed_rate_of_groups(
    asked: Asked, curve: Curve, groups: ScoredGroups
) -> tuple[Bool, float]:
    name, wanted, risk = str(asked.requirement), float(asked.wanted), asked.risk
    n_cuts, at_most = curve.tp.size, name in AT_MOST

    def holds(k: int) -> bool:
        """At the k-th cut from the safe end, where it holds on every row."""
        cut = k if at_most else n_cuts - 1 - k
        return groups.evidence(curve.cut(cut), name, wanted) * risk >= 1

    last = guarantees.last(holds, n_cuts)
    if last < 0:
        n_groups = groups.shares_at(curve.cut(0), name).size
        best = best_share(n_groups, risk, not at_most)
        end = "no less than" if at_most else "at most"
        raise _out_of_reach(asked, f"{n_groups} groups guarantee {end} {best:.3g}")
    from_safe_end = np.arange(n_cuts) if at_most else np.arange(n_cuts)[::-1]
    return from_safe_end <= last, wanted


def _guaranteed_precision(
    asked: Asked, curve: Curve, skew: float, groups: ScoredGroups | None
) -> tuple[Bool, float]:
    """npv is the precision of the other class, from the other end."""
    name, wanted, risk = str(asked.requirement), float(asked.wanted), asked.risk
    above, hits, odds = curve.tp + curve.fp, curve.tp, 1 / skew
    if name == "npv":
        above, hits = (above[-1] - above)[::-1], (curve.fp[-1] - curve.fp)[::-1]
        odds = 1 / odds
    test, rows_per_win = guarantees.binomial_test(above, hits), 1.0
    if groups is not None:
        rows_per_win = GROUPS_PER_WIN * groups.mean_size

        def test(cut: int, precision: float) -> float:
            place = above.size - 1 - cut if name == "npv" else cut
            return 1 / groups.evidence(curve.cut(place), name, precision)

    met = guarantees.precise(above, test, _scaled(wanted, 1 / odds), risk, rows_per_win)
    if not met.any():
        best = _scaled(guarantees.best_precision(above, test, risk, rows_per_win), odds)
        raise _out_of_reach(asked, f"cuts of these rows guarantee at most {best:.3g}")
    return (met[::-1] if name == "npv" else met), wanted


def _scaled(share: float, odds: float) -> float:
    """The share whose odds are ``odds`` times those of ``share``."""
    return share * odds / (1 - share + share * odds)


def _out_of_reach(asked: Asked, best: str) -> ValueError:
    sure = f"{100 * float(asked.guarantee or 0):g} %"
    return ValueError(
        f"No cut has {asked.requirement}={asked.wanted!r} with {sure} confidence: {best}. Ask for "
        "that, for less confidence, or give more rows."
    )
