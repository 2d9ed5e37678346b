"""Warnings at the line that called the library."""

from __future__ import annotations

import os
import sys
import warnings

from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import _param_validation

import everypair

NOT_THE_CALLER = (os.path.dirname(everypair.__file__) + os.sep, _param_validation.__file__)


def warn(message: str, category: type[Warning]) -> None:
    """A warning at the line that called the library, however deep inside it arises."""
    stacklevel, frame = 2, sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(NOT_THE_CALLER):
        stacklevel, frame = stacklevel + 1, frame.f_back
    warnings.warn(message, category, stacklevel=stacklevel)


def warn_not_converged(
    what: str,
    distance: float,
    tol: float,
    n_iter: int,
    easier: str = "raise alpha",
    max_iter: int | None = None,
    rounding: float = 0.0,
) -> None:
    """Say how far the solver got, and why no further.

    More steps are advised only where they had run out. ``rounding``, a part of the distance, is the
    reason where it makes most of it and is above tol by itself, or where a fair share of it is
    enough to have ended the steps.
    """
    steps_left = max_iter is not None and n_iter < max_iter
    if rounding > (distance / 10 if steps_left else max(tol, distance / 2)):
        advice = (
            "float64 cannot show a smaller one for these features, because rounding makes "
            f"{rounding:.1e} of it. Centre and scale the features (StandardScaler) or raise tol."
        )
    else:
        more = "" if steps_left else "raise max_iter, "
        advice = f"{more}scale the features (StandardScaler) or {easier}."
    warn(
        f"The {what} is {distance:.1e} after {n_iter} iterations, above tol={tol:g}: {advice}",
        ConvergenceWarning,
    )
