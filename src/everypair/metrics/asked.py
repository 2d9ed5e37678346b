"""What a threshold is asked to do: checked once, for `threshold_for` and for every estimator."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np

ALONE = ("accuracy", "balanced", "f1")
GOALS = ("precision", "recall", "specificity")
"""What can be maximised under a requirement only: alone they are met by an end of the scores."""

REQUIREMENTS = {
    # name: what is maximised among the cuts that meet it, and whether of equal ones the lowest is
    # taken. None: the lowest cut.
    "fpr": (None, True),
    "top": (None, True),
    "recall": ("precision", False),
    "precision": ("recall", False),
    "npv": ("specificity", True),
}

SHARE_ROUNDING = 1e-12
"""A share such as 0.05 of 20 rows is met by one row whatever its last bit is."""

HOW = (
    "'accuracy', 'balanced' (Youden's index), 'f1' or 'midpoint'; cost=(c_fp, c_fn) with costs "
    ">= 0; one requirement of fpr=, recall=, precision=, npv= (0 to 1) and top= (a count, or a "
    "share as a float), with at most one rule ('accuracy', 'balanced', 'f1', 'precision', "
    "'recall', 'specificity') or cost beside it, and with guarantee= (between 0 and 1)"
)


@dataclass(frozen=True)
class Asked:
    """A rule, a cost, a requirement with or without a guarantee, or a number."""

    rule: str | None = None
    cost: tuple[float, float] | None = None
    requirement: str | None = None
    wanted: Any = None
    guarantee: float | None = None
    number: float | None = None

    @classmethod
    def by_call(cls, rule: Any, **given: Any) -> Asked:
        """From the arguments of `threshold_for`."""
        named = {name: value for name, value in given.items() if value is not None}
        spelled = [repr(rule)] if rule is not None else []
        spelled += [f"{name}={value!r}" for name, value in named.items()]
        if rule is not None:
            named["rule"] = rule
        asked = cls._from(named)
        if asked is None:
            raise ValueError(f"threshold_for got {', '.join(spelled) or 'no rule'}: use {HOW}.")
        return asked

    @classmethod
    def of(cls, rule: Any) -> Asked:
        """From the ``threshold`` of an estimator."""
        if isinstance(rule, Real) and not isinstance(rule, bool):
            if not np.isfinite(float(rule)):
                raise ValueError(f"threshold={rule!r} is not finite: give a finite number.")
            return cls(number=float(rule))
        asked = cls._from(dict(rule) if isinstance(rule, Mapping) else {"rule": rule})
        if asked is None:
            raise ValueError(
                f"threshold={rule!r} is not a rule: use a number, or {HOW}; a dict such as "
                "{'recall': 0.8} holds what has a name."
            )
        return asked

    @classmethod
    def _from(cls, given: dict[str, Any]) -> Asked | None:
        """None where it makes no sense."""
        required = [name for name in given if name in REQUIREMENTS]
        name = required[0] if len(required) == 1 else None
        known = (*ALONE, *GOALS) if required else (*ALONE, "midpoint")
        checks: dict[str, Callable[[Any], bool]] = {
            "rule": lambda rule: isinstance(rule, str) and rule in known,
            "cost": lambda cost: _are_costs(cost) and "rule" not in given,
            "guarantee": lambda sure: name is not None and _is_number(sure) and 0 < sure < 1,
            "top": lambda top: _is_count(top) or (_is_number(top) and 0 < top <= 1),
        }
        if not given or len(required) > 1:
            return None
        if not all(checks.get(what, _is_share_of(what))(value) for what, value in given.items()):
            return None
        rule, cost, sure = (given.get(what) for what in ("rule", "cost", "guarantee"))
        asked = cls(rule, cost, name, given[name] if name else None, sure)
        if name == "top" and sure is not None and asked.counts_rows:
            raise ValueError(
                f"top={asked.wanted!r} counts these rows, and new rows are others: give a share, "
                "such as top=0.05, with guarantee=."
            )
        return asked

    @property
    def risk(self) -> float:
        """How often the promise may fail."""
        return 1 - float(self.guarantee or 0)

    @property
    def counts_rows(self) -> bool:
        """Whether ``top`` is a count."""
        return _is_count(self.wanted)

    @property
    def maximised(self) -> str | None:
        """The rule, or what the requirement leaves to be maximised; None is the lowest cut."""
        return self.rule if self.requirement is None else self.rule or self._by_default[0]

    @property
    def takes_lowest(self) -> bool:
        """Of equally good cuts the lowest."""
        return self.rule is None and self.cost is None and self._by_default[1]

    @property
    def _by_default(self) -> tuple[str | None, bool]:
        return (None, False) if self.requirement is None else REQUIREMENTS[self.requirement]


def _is_share_of(name: str) -> Callable[[Any], bool]:
    return lambda value: name in REQUIREMENTS and _is_number(value) and 0 <= value <= 1


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, (bool, np.bool_))


def _is_count(value: Any) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool) and int(value) > 0


def _are_costs(value: Any) -> bool:
    value = value.tolist() if isinstance(value, np.ndarray) else value
    if not isinstance(value, (tuple, list)) or len(value) != 2:
        return False
    costs = [float(c) if isinstance(c, Real) else np.nan for c in value]
    return all(np.isfinite(c) and c >= 0 for c in costs) and max(costs) > 0
