"""Numbers as a reader wants them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

NONE = "–"


def decimals(value: float | None, digits: int = 3) -> str:
    """
    >>> decimals(0.84251), decimals(None), decimals(float("nan"))
    ('0.843', '–', '–')
    """
    if value is None or not math.isfinite(value):
        return NONE
    return f"{value:.{digits}f}"


def signed(value: float | None, digits: int = 3) -> str:
    """
    >>> signed(0.0123), signed(-0.004), signed(0.0001)
    ('+0.012', '−0.004', '0.000')
    """
    words = decimals(value, digits)
    if words == NONE or float(words) == 0:
        return words.removeprefix("-")
    return words.replace("-", "−") if words.startswith("-") else f"+{words}"


def probability(value: float | None) -> str:
    """
    >>> probability(0.0312), probability(0.00004), probability(1.0)
    ('0.031', '< 0.001', '1.000')
    """
    if value is not None and value < 0.001:
        return "< 0.001"
    return decimals(value)


def seconds(value: float | None) -> str:
    """
    >>> seconds(0.00042), seconds(0.21), seconds(12.3), seconds(754)
    ('0.4 ms', '0.21 s', '12.3 s', '12 min 34 s')
    """
    if value is None or not math.isfinite(value):
        return NONE
    if value < 0.0995:
        return f"{1000 * value:.{0 if value >= 0.00995 else 1}f} ms"
    if value < 59.95:
        return f"{value:.{1 if value >= 0.995 else 2}f} s"
    whole = round(value)
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def count(value: float | None) -> str:
    """
    >>> count(12345), count(12.25), count(None)
    ('12,345', '12.2', '–')
    """
    if value is None or not math.isfinite(value):
        return NONE
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.1f}"


def several(value: float | None, noun: str) -> str:
    """
    >>> several(1, "row"), several(12345, "row")
    ('1 row', '12,345 rows')
    """
    return f"{count(value)} {noun}{'' if value == 1 else 's'}"


def share(value: float) -> str:
    r"""
    >>> share(0.1234), share(0.0004), share(0), share(1), share(0.9999)
    ('12.3\xa0%', '< 0.1\xa0%', '0\xa0%', '100\xa0%', '> 99.9\xa0%')
    """
    if value in (0, 1):
        return f"{100 * value:.0f}\xa0%"
    if value < 0.0005:
        return "< 0.1\xa0%"
    if value > 0.9995:
        return "> 99.9\xa0%"
    return f"{100 * value:.1f}\xa0%"


def unbroken(sentence: str) -> str:
    r"""With each number kept on a line with its per cent sign, and ``a = b`` in one piece.

    >>> unbroken("The top 10 % contain 29.7 % of churn = yes")
    'The top 10\xa0% contain 29.7\xa0% of churn\xa0=\xa0yes'
    """
    return sentence.replace(" %", "\xa0%").replace(" = ", "\xa0=\xa0")


def settings(chosen: Mapping[str, Any]) -> list[tuple[str, str]]:
    """
    >>> settings({"alpha": 0.1234567, "loss": "hinge", "cv": None})
    [('alpha', '0.1235'), ('loss', 'hinge'), ('cv', 'None')]
    """
    return [
        (str(name), f"{value:.4g}" if isinstance(value, float) else str(value))
        for name, value in chosen.items()
    ]
