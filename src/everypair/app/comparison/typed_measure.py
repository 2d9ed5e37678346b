"""The measure that models are judged by, as it is typed: ``f1``, ``recall@fpr=0.01``."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from everypair.measures.operating import TABLES, operating_measure
from everypair.measures.operating_point import OperatingMeasure
from everypair.metrics.at_k import rows_at_k
from everypair.rows import Rows

AUC = "auc"

FORMS = (
    AUC, "f1", "fbeta=2 (or f2)", "jaccard", "gmean", "mcc", "informedness",
    "cost=1:10 (false positive : false negative)", "recall@fpr=0.01", "fpr@recall=0.9",
    "precision@recall=0.8", "recall@precision=0.9", "precision@top=500", "recall@top=5%",
    "recall@top=2p (twice as many rows as positives)", "pauc@fpr=0.05", "average-precision",
)  # fmt: skip
"""Every form, by an example."""

PLAIN = {
    "f1": ("f1", "F1"),
    "jaccard": ("jaccard", "Jaccard index"),
    "gmean": ("gmean", "G-mean"),
    "mcc": ("mcc", "Matthews correlation"),
    "informedness": ("informedness", "informedness"),
    "average-precision": ("average_precision", "average precision"),
}

SHARES = {
    ("recall", "fpr"): ("tpr_at_fpr", "fpr", "recall at {} false positives"),
    ("fpr", "recall"): ("fpr_at_tpr", "tpr", "false positive rate at {} recall"),
    ("precision", "recall"): ("precision_at_recall", "recall", "precision at {} recall"),
    ("recall", "precision"): ("recall_at_precision", "precision", "recall at {} precision"),
    ("pauc", "fpr"): ("partial_roc_area", "fpr", "partial AUC up to {} false positives"),
}
TOPS = {"precision": "precision_at_k", "recall": "recall_at_k"}


@dataclass(frozen=True)
class TypedMeasure:
    """A measure of the operating point, by name.

    >>> from everypair.app.comparison.typed_measure import parse_measure
    >>> parse_measure("recall@fpr=1%")  # doctest: +NORMALIZE_WHITESPACE
    TypedMeasure(typed='recall@fpr=0.01', label='recall at 1% false positives', name='tpr_at_fpr',
            options={'fpr': 0.01})
    """

    typed: str
    label: str  # for people
    name: str  # of `operating_measure` and `MeasureOptCV`
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def lower_is_better(self) -> bool:
        return self.name in ("cost", "fpr_at_tpr")

    @property
    def free_cut(self) -> bool:
        """Is the cut chosen, and not fixed by a quota?"""
        return self.name in TABLES

    @property
    def sign(self) -> float:
        """From the library's values, of which higher is better, to what people call it."""
        return -1.0 if self.lower_is_better else 1.0

    def inside_groups(self) -> TypedMeasure:
        """The same of the best rows of each group; an error where it is not one of a quota of
        rows."""
        if "k" not in self.options:
            raise ValueError(
                f"--measure {self.typed} cannot be computed inside groups: with --within use auc, "
                "precision@top=5 or recall@top=5, the five best rows of each group."
            )
        return replace(self, label=f"{self.label} of each group")

    def of(self, rows: Rows) -> OperatingMeasure:
        """On these rows; where they are in groups, of the best rows of each."""
        self._check_top(rows)
        return operating_measure(self.name, rows, **self.options)

    def as_share(self, rows: Rows) -> TypedMeasure:
        """With a count of these rows as a share, so that it means the same on part of them.

        A count of the rows of each group means the same anyway.
        """
        if rows.within is not None:
            return self
        self._check_top(rows)
        count = self.options.get("k")
        if not isinstance(count, int):
            return self
        return replace(self, options={"k": count / rows.positive.size})

    def _check_top(self, rows: Rows) -> None:
        if "k" in self.options and rows.within is None:
            try:
                rows_at_k(self.options["k"], rows.positive.size, rows.n_positive)
            except ValueError:
                raise ValueError(
                    f"--measure {self.typed} asks for more rows than there are "
                    f"({rows.positive.size}): use a smaller number."
                ) from None


def parse_measure(typed: str) -> TypedMeasure | None:
    """The measure of this form; None for ``auc``, which has a theory of its own."""
    words = typed.strip().lower().replace("_", "-")
    if words == AUC:
        return None
    if words in PLAIN:
        name, label = PLAIN[words]
        return TypedMeasure(words, label, name)
    for pattern, made in PATTERNS.items():
        if found := re.fullmatch(pattern, words):
            return made(words, *found.groups())
    raise ValueError(f"--measure {typed!r} is not known: use {', '.join(FORMS)}.")


def canonical_spelling(typed: str) -> str:
    """The one spelling of a measure.

    >>> from everypair.app.comparison.typed_measure import canonical_spelling
    >>> canonical_spelling("F2"), canonical_spelling("recall@top=5%"), canonical_spelling("AUC")
    ('fbeta=2', 'recall@top=0.05', 'auc')
    """
    measure = parse_measure(typed)
    return AUC if measure is None else measure.typed


def _fbeta(words: str, typed: str) -> TypedMeasure:
    beta = _number(typed)
    if beta is None or beta == 0:
        raise ValueError(f"--measure {words}: beta must be a number above 0.")
    if beta == 1:
        return TypedMeasure("f1", "F1", "f1")
    return TypedMeasure(f"fbeta={_typed(beta)}", f"F{beta:g}", "fbeta", {"beta": beta})


def _cost(words: str, typed_fp: str, typed_fn: str) -> TypedMeasure:
    fp, fn = _number(typed_fp), _number(typed_fn)
    if fp is None or fn is None or fp + fn == 0:
        raise ValueError(
            f"--measure {words}: two costs are needed, of a false positive and of a false "
            "negative, such as cost=1:10."
        )
    label = f"cost per row ({fp:g} per false positive, {fn:g} per false negative)"
    return TypedMeasure(f"cost={_typed(fp)}:{_typed(fn)}", label, "cost", {"cost": (fp, fn)})


def _at_share(words: str, what: str, of: str, typed: str) -> TypedMeasure:
    if (what, of) not in SHARES:
        raise ValueError(f"--measure {words!r} is not known: use {', '.join(FORMS)}.")
    name, option, label = SHARES[what, of]
    share = _share(typed)
    if share is None or not 0 < share < 1:
        raise ValueError(f"--measure {words}: {of} must lie between 0 and 1, such as {of}=0.05.")
    label = label.format(f"{100 * share:g}%")
    return TypedMeasure(f"{what}@{of}={_typed(share)}", label, name, {option: share})


def _at_top(words: str, what: str, typed: str) -> TypedMeasure:
    label = f"{what} of the top {{}}"
    if typed.endswith("p") and (multiple := _number(typed[:-1] or "1")):
        k = f"{_typed(multiple)}p"
        return TypedMeasure(f"{what}@top={k}", label.format(f"{k} rows"), TOPS[what], {"k": k})
    if typed.isdecimal() and int(typed) > 0:
        rows = f"{int(typed)} row{'s' if int(typed) > 1 else ''}"
        return TypedMeasure(
            f"{what}@top={int(typed)}", label.format(rows), TOPS[what], {"k": int(typed)}
        )
    share = _share(typed)
    if share is None or not 0 < share < 1:
        raise ValueError(
            f"--measure {words}: top must be a count of rows (500), a share of them (5% or 0.05) "
            "or a multiple of the positives (2p)."
        )
    label = label.format(f"{100 * share:g}%")
    return TypedMeasure(f"{what}@top={_typed(share)}", label, TOPS[what], {"k": share})


def _number(typed: str) -> float | None:
    found = re.fullmatch(r"(\d+\.?\d*|\.\d+)(e-?\d+)?", typed)
    return float(typed) if found and float(typed) < math.inf else None


def _typed(number: float) -> str:
    """All its digits, so that it can be read again."""
    return str(int(number)) if number.is_integer() else repr(number)


def _share(typed: str) -> float | None:
    number = _number(typed.removesuffix("%"))
    return number if number is None or typed[-1] != "%" else number / 100


PATTERNS: dict[str, Callable[..., TypedMeasure]] = {
    r"f(?:beta=)?([\d.e-]+)": _fbeta,
    r"cost=([^:]*):([^:]*)": _cost,
    r"(precision|recall)@top=(.+)": _at_top,
    r"([a-z]+)@([a-z]+)=(.*)": _at_share,
}
