"""The tables and figures of the five papers, run again and set beside the printed values."""

from lab.papers.reproduce import TABLES, reproduce

__all__ = ["TABLES", "reproduce"]
