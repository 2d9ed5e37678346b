"""Words for people."""

from __future__ import annotations

import re
from typing import Any

UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
"""What a terminal obeys, instead of showing it; and what cannot be written at all."""


def counted(number: int, noun: str) -> str:
    """
    >>> counted(1, "fold"), counted(3, "fold")
    ('1 fold', '3 folds')
    """
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def plain(setting: Any) -> str:
    """
    >>> plain(0.1234567), plain("0.35 0.8")
    ('0.123457', '0.35 0.8')
    """
    return f"{setting:g}" if isinstance(setting, float) else str(setting)


def printable(text: str, keep: str = "") -> str:
    r"""The text with characters that command a terminal written out.

    >>> print(printable("\x1b[2Jgone"), printable("a\tb\n", keep="\n\t") == "a\tb\n")
    \x1b[2Jgone True
    """

    def written_out(found: re.Match[str]) -> str:
        if found[0] in keep:
            return found[0]
        code = ord(found[0])
        return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}"

    return UNPRINTABLE.sub(written_out, text)
