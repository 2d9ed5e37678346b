"""Models side by side on the same folds: what is compared, and what came out."""

from everypair.app.comparison.records import ColumnSummary, Comparison, ModelResult, PathSummary

__all__ = ["ColumnSummary", "Comparison", "ModelResult", "PathSummary"]
