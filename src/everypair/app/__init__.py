"""The application over the library: what stands between a table as people keep it and a model."""

from everypair.app.check.table import Check, Finding, check_table

__all__ = ["Check", "Finding", "check_table"]
