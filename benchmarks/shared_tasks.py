"""The binary tasks of the comparison: see `everypair.data.tasks`."""

from everypair.data.tasks import names, tasks

__all__ = ["names", "tasks"]
