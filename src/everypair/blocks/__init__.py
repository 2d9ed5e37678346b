"""Rows that stay on disk: what a fit reads block by block, again at each pass.

>>> from everypair.blocks import ArrayRows, ParquetRows  # doctest: +SKIP
>>> model = AUCClassifier().fit(ParquetRows("folder", target="y"))  # doctest: +SKIP
"""

from __future__ import annotations

from everypair.blocks.arrays import ArrayRows
from everypair.blocks.parquet import ParquetRows
from everypair.blocks.source import RowBlocks

__all__ = ["ArrayRows", "ParquetRows", "RowBlocks"]
