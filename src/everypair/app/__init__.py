"""The application over the library: what stands between a table as people keep it and a model."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from everypair.app.check.table import Check as Check
    from everypair.app.check.table import Finding as Finding
    from everypair.app.check.table import check_table as check_table
    from everypair.app.comparison.run import compare_methods as compare_methods

_HOME = {
    "Check": "check.table",
    "Finding": "check.table",
    "check_table": "check.table",
    "compare_methods": "comparison.run",
}

__all__ = sorted(_HOME)  # noqa: PLE0605


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'everypair.app' has no attribute {name!r}")
    return getattr(import_module(f"everypair.app.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return __all__
