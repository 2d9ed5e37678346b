"""Numbers in sentences."""

from __future__ import annotations


def counted(number: int, noun: str) -> str:
    """
    >>> counted(1, "fold"), counted(3, "fold")
    ('1 fold', '3 folds')
    """
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
