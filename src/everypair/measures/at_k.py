"""k of precision and recall at k: a count, a share of the rows or a multiple of the positives."""

from __future__ import annotations

from numbers import Integral, Real

Share = int | float | str


def resolve_k(k: Share, n_rows: int, n_positive: float) -> int:
    """The number of rows that k asks for among ``n_rows`` with ``n_positive`` positives.

    Parameters
    ----------
    k : int, float or str
        A count of rows; a share of the rows, above 0 and at most 1; or a multiple of the
        positives such as ``"2p"`` or ``"0.5p"``. Shares and multiples are rounded, to one
        row at least.
    """
    count = _count(k, n_rows, n_positive)
    if not 1 <= count <= n_rows:
        asked = f"k={k!r}" if isinstance(k, Integral) else f"k={k!r} ({count} rows)"
        raise ValueError(f"{asked} is out of range: there are {n_rows} rows; give 1 to {n_rows}.")
    return count


def _count(k: Share, n_rows: int, n_positive: float) -> int:
    if isinstance(k, Integral) and not isinstance(k, bool):
        return int(k)
    if isinstance(k, str) and k.endswith("p"):
        try:
            multiple = float(k[:-1] or 1)
        except ValueError:
            multiple = -1.0
        if 0 < multiple < float("inf"):
            return max(1, round(multiple * n_positive))
    elif isinstance(k, Real) and not isinstance(k, bool) and 0 < k <= 1:
        return max(1, round(float(k) * n_rows))
    raise ValueError(
        f"k={k!r} is not understood: give a count such as 100, a share of the rows such as 0.05, "
        "or a multiple of the positives such as '2p'."
    )
