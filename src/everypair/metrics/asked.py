"""What a threshold is asked to do: checked once, for `threshold_for` and for every estimator."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
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

RULES_ALONE = "'accuracy', 'balanced' (Youden's index), 'f1' or 'midpoint'"
RULES_BESIDE = "'accuracy', 'balanced', 'f1', 'precision', 'recall' or 'specificity'"
ANY_OF = (
    f"a rule ({RULES_ALONE}), cost=(c_fp, c_fn), or one of fpr=, recall=, precision=, npv= and "
    "top=, such as recall=0.8"
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
        return cls._from(named if rule is None else {"rule": rule, **named})

    @classmethod
    def of(cls, rule: Any) -> Asked:
        """From the ``threshold`` of an estimator."""
        if isinstance(rule, Real) and not isinstance(rule, bool):
            if not np.isfinite(float(rule)):
                raise ValueError(f"threshold={rule!r} is not finite: give a finite number.")
            return cls(number=float(rule))
        try:
            return cls._from(dict(rule) if isinstance(rule, Mapping) else {"rule": rule})
        except ValueError as why:
            raise ValueError(
                f"threshold={rule!r} is not a rule: {why} Give a rule, a number, which is the "
                "threshold itself, or a dict such as {'recall': 0.8}."
            ) from why

    @classmethod
    def _from(cls, given: dict[str, Any]) -> Asked:
        required = [name for name in given if name in REQUIREMENTS]
        refused = _unknown(given) or _at_odds(given, required)
        if refused:
            raise ValueError(refused)
        name = required[0] if required else None
        rule, cost, sure = (given.get(what) for what in ("rule", "cost", "guarantee"))
        return cls(rule, cost, name, given[name] if name else None, sure)

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
        """Whether the lowest of equally good cuts is taken."""
        return self.rule is None and self.cost is None and self._by_default[1]

    @property
    def _by_default(self) -> tuple[str | None, bool]:
        return (None, False) if self.requirement is None else REQUIREMENTS[self.requirement]


def _unknown(given: Mapping[str, Any]) -> str | None:
    """The first argument that is wrong by itself, and what to give instead."""
    for name, value in given.items():
        if name not in REMEDIES:
            return f"{name}={value!r} is not known: give {ANY_OF}."
        right, remedy = REMEDIES[name]
        if not right(value):
            return f"{name}={value!r}: {remedy}."
    return None if given else f"A threshold needs something to go by: give {ANY_OF}."


def _at_odds(given: Mapping[str, Any], required: Sequence[str]) -> str | None:
    """Why these arguments do not go together, and what would."""
    spelled = ", ".join(f"{name}={given[name]!r}" for name in required)
    rule, sure = given.get("rule"), given.get("guarantee")
    if len(required) > 1:
        why = (
            f"{spelled} are {len(required)} requirements: give one, and what to maximise beside "
            f"it as the rule ({RULES_BESIDE})."
        )
    elif rule is not None and required and rule not in (*ALONE, *GOALS):
        why = f"The rule {rule!r} does not go with {spelled}: use {RULES_BESIDE}."
    elif rule in GOALS and not required:
        why = f"The rule {rule!r} needs a requirement beside it, such as fpr=0.01 or recall=0.8."
    elif rule is not None and not required and rule not in (*ALONE, "midpoint"):
        why = f"The rule {rule!r} is not known: use {RULES_ALONE}."
    elif rule is not None and "cost" in given:
        why = f"The rule {rule!r} and cost={given['cost']!r} are two rules: give one of them."
    elif sure is not None and not required:
        why = (
            f"guarantee={sure!r} is the confidence of a requirement: give one of fpr=, recall=, "
            "precision=, npv= and top= with it."
        )
    elif sure is not None and _is_count(given.get("top")):
        why = (
            f"{spelled} counts these rows, and new rows are others: give a share, such as "
            "top=0.05, with guarantee=."
        )
    else:
        return None
    return why


def _is_share(value: Any) -> bool:
    return _is_number(value) and 0 <= value <= 1


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


REMEDIES: dict[str, tuple[Callable[[Any], bool], str]] = {
    "rule": (lambda rule: isinstance(rule, str), f"give the name of a rule, {RULES_ALONE}"),
    "cost": (_are_costs, "give two costs >= 0, of a false positive and of a false negative"),
    "guarantee": (
        lambda sure: _is_number(sure) and 0 < sure < 1,
        "give a confidence between 0 and 1, such as 0.95",
    ),
    "top": (
        lambda top: _is_count(top) or (_is_number(top) and 0 < top <= 1),
        "give a count of rows of at least 1, or a share above 0 and up to 1.0 as a float",
    ),
    **dict.fromkeys(
        ("fpr", "recall", "precision", "npv"), (_is_share, "give a share between 0 and 1")
    ),
}
"""What each argument must be by itself, and what to give instead."""
