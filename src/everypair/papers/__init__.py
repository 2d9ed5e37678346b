"""The tables and figures of the five papers, run again and set beside the printed values."""

from everypair.papers.reproduce import TABLES, reproduce

__all__ = ["TABLES", "reproduce"]
