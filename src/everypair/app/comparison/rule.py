"""Where to cut, as it is typed: ``precision=0.9``, ``top=5%``, ``cost=1:10``, ``f1``, ``0.35``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from everypair.app.comparison.typed_measure import _number, _share
from everypair.app.files.problems import DataError
from everypair.app.wording import counted

if TYPE_CHECKING:
    from everypair.app.model_file.store import SavedModel
    from everypair.metrics import Cut

Array = NDArray[np.float64]
Bool = NDArray[np.bool_]

FORMS = (
    "precision=0.9", "recall=0.8", "npv=0.99", "fpr=0.05", "top=5%", "probability=0.3",
    "cost=1:10 (false positive : false negative)", "f1", "balanced", "accuracy",
    "a number (a score)",
)  # fmt: skip
"""Every form, by an example."""

SHARES = ("precision", "recall", "npv", "fpr")
NAMED_RULES = ("f1", "balanced", "accuracy")
PROBABILITY = "probability"
HELD_OUT = "rows held out when the model was fitted"


@dataclass(frozen=True)
class Rule:
    """A rule for the threshold.

    >>> from everypair.app.comparison.rule import rule_of
    >>> rule_of("recall=80%", 0.95)
    Rule(typed='recall=80%', asked={'recall': 0.8}, guarantee=0.95, number=None)
    """

    typed: str
    asked: Mapping[str, Any] = field(default_factory=dict)  # arguments of `cut_for`
    guarantee: float | None = None
    number: float | None = None  # the score or the probability itself

    @property
    def is_probability(self) -> bool:
        return self.number is not None and PROBABILITY in self.typed

    def on(
        self,
        y: Bool,
        scores: Array,
        weight: Array | None,
        groups: Any,
        where: str,
        saved: SavedModel,
    ) -> ChosenCut:
        """On these rows, which the model has not seen; a guarantee heeds their groups."""
        from everypair.metrics import cut_for

        if self.number is not None:
            at = saved.score_at(self.number) if self.is_probability else self.number
            return ChosenCut(self, at, None, where)
        given = dict(self.asked)
        try:
            found = cut_for(
                y, scores, given.pop("rule", None), **given, guarantee=self.guarantee,
                sample_weight=weight, groups=None if self.guarantee is None else groups,
                pos_label=True,
            )  # fmt: skip
        except ValueError as trouble:
            raise ValueError(_as_typed(str(trouble), where)) from trouble
        return ChosenCut(self, found.threshold, found, where, y.size)

    def on_held_out(self, saved: SavedModel) -> ChosenCut:
        """On the rows that were held out when the model was fitted, which its file keeps."""
        known = saved.evidence
        if known is None and self.number is None:
            raise DataError(
                f"--threshold {self.typed} needs rows whose label is known, and this model was "
                "fitted with --no-held-out or on too few rows: find a threshold with `everypair "
                "evaluate --threshold` on labelled rows, and give its number."
            )
        nothing = np.zeros(0)
        rows = (
            (nothing > 0, nothing, None, None)
            if known is None
            else (known.positive, known.scores - saved.cut, known.weight, known.groups)
        )
        return self.on(*rows, HELD_OUT, saved)


@dataclass(frozen=True)
class ChosenCut:
    """The threshold that a rule asks for, and what it does on the rows it was chosen on."""

    rule: Rule
    threshold: float
    found: Cut | None
    where: str
    n_rows: int = 0

    def sentence(self) -> str:
        if self.found is None:
            return f"threshold {self.rule.typed}: a score above {self.threshold:.4g}."
        count = self.rule.asked.get("top")
        more = (
            f" It is the share that {count} of those {self.n_rows} rows are: `score --top {count}` "
            f"writes {counted(count, 'row')} of the file."
            if isinstance(count, int) and self.where == HELD_OUT
            else ""
        )
        return f"{self.rule.typed} on {self.where}: {self.found}.{more}"

    def as_json(self) -> dict[str, Any]:
        from dataclasses import asdict

        rates = {} if self.found is None else asdict(self.found)
        return {"rule": self.rule.typed, "chosen_on": self.where, "score": self.threshold} | {
            name: value for name, value in rates.items() if name != "threshold"
        }


def _as_typed(message: str, where: str) -> str:
    """The message with the names of the command line, and with the rows it is about."""
    leave = "fit without --weight" if where == HELD_OUT else "leave out --weight"
    for name, option in (
        ("these rows", where),
        ("leave out sample_weight, or the guarantee", f"{leave}, or leave out --guarantee"),
        ("leave out sample_weight", leave),
        ("guarantee= ", "--guarantee "),
        ("groups= ", "--group "),
    ):
        message = message.replace(name, option)
    return message


def rule_of(typed: str | None, guarantee: float | None = None) -> Rule | None:
    """The rule of this form; None where none is typed."""
    if typed is None:
        if guarantee is not None:
            raise ValueError(
                "--guarantee is the confidence of a requirement: give one with it, such as "
                "--threshold precision=0.9."
            )
        return None
    words = typed.strip().lower()
    rule = _parsed(words)
    if rule is None:
        raise ValueError(f"--threshold {typed!r} is not known: use {', '.join(FORMS)}.")
    if guarantee is None:
        return rule
    if not 0 < guarantee < 1:
        raise ValueError(
            f"--guarantee {guarantee:g}: give a confidence between 0 and 1, such as 0.95."
        )
    if not rule.asked.keys() & {*SHARES, "top"}:
        raise ValueError(
            f"--guarantee cannot be used with --threshold {typed}: it needs precision=, recall=, "
            "npv=, fpr= or top=."
        )
    return Rule(rule.typed, rule.asked, guarantee)


def _parsed(words: str) -> Rule | None:
    if words in NAMED_RULES:
        return Rule(words, {"rule": words})
    sign, size = ("-", words[1:]) if words[:1] == "-" else ("", words)
    if (number := _number(size)) is not None:
        return Rule(words, number=-number if sign else number)
    name, _, value = words.partition("=")
    if name == "top":
        return Rule(words, {"top": top_of(value, f"--threshold {words}: top")})
    if name in (*SHARES, PROBABILITY):
        share = _share(value) if value else None
        if share is None or not 0 < share <= 1 or (share == 1 and name == PROBABILITY):
            raise ValueError(
                f"--threshold {words}: {name} must lie between 0 and 1, such as {name}=0.9 or "
                f"{name}=90%."
            )
        return Rule(words, number=share) if name == PROBABILITY else Rule(words, {name: share})
    if name == "cost":
        costs = [_number(cost) for cost in value.split(":")]
        if len(costs) != 2 or None in costs or not any(costs):
            raise ValueError(
                f"--threshold {words}: two costs are needed, of a false positive and of a false "
                "negative, such as cost=1:10."
            )
        return Rule(words, {"cost": tuple(costs)})
    return None


def top_of(typed: str, option: str = "--top") -> int | float:
    """A count of rows, or a share of them as a float.

    >>> from everypair.app.comparison.rule import top_of
    >>> top_of("500"), top_of("5%"), top_of("0.05")
    (500, 0.05, 0.05)
    """
    words = typed.strip()
    if words.isdecimal() and int(words) > 0:
        return int(words)
    share = _share(words) if words else None
    if share is None or not 0 < share <= 1 or words.isdecimal():
        raise ValueError(
            f"{option} {typed}: give a count of rows of at least 1 (500), or a share of them above "
            "0 and up to 100% (5% or 0.05)."
        )
    return share
