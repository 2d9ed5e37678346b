"""The columns of a data frame that the libraries can take."""

from __future__ import annotations

from typing import Any

import numpy as np

NUMBERS, DATES = "biuf", "mM"
"""Kinds of dtypes: truth values, whole numbers and floats; durations and dates."""


def has_categories(X: Any) -> bool:
    """Is X a data frame of pandas with a column of categories?"""
    return any(_is_category(dtype) for _, dtype in _dtypes(X))


def refuse_unusual_columns(X: Any, library: str) -> None:
    """Name the first column that holds neither numbers nor categories that the library takes.

    A frame without categories becomes an array, so numbers in a column of objects will do there.
    """
    as_array = not has_categories(X)
    for name, dtype in _dtypes(X):
        if _is_category(dtype):
            if library == "xgboost" and dtype.categories.dtype.kind == "b":
                raise ValueError(
                    f"Column {name!r} of X has truth values as categories, which XGBoost cannot "
                    f"read: use X[{name!r}].astype(bool)."
                )
            continue
        kind = getattr(dtype, "kind", None) or np.asarray(X[name]).dtype.kind
        if kind in NUMBERS or (as_array and kind not in DATES and _converts(X[name])):
            continue
        remedy = (
            "turn dates and durations into numbers, such as days since a date"
            if kind in DATES
            else f"use numbers, or categories of pandas: X[{name!r}].astype('category')"
        )
        raise ValueError(f"Column {name!r} of X has values of type {dtype}: {remedy}.")


def _is_category(dtype: Any) -> bool:
    return str(dtype) == "category"


def _dtypes(X: Any) -> list[tuple[Any, Any]]:
    """Names and dtypes of the columns of a data frame; none of an array."""
    if not (hasattr(X, "columns") and hasattr(X, "dtypes")):
        return []
    return list(zip(X.columns, X.dtypes, strict=True))


def _converts(column: Any) -> bool:
    try:
        np.asarray(column).astype(np.float64)
    except (TypeError, ValueError):
        return False
    return True
