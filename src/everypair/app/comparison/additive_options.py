"""What the model ``additive`` is asked for beside a curve per column: pairs, and few columns."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from everypair.app.comparison.candidate import Candidate, OwnSearch

ADDITIVE, AUTO = "additive", "auto"


@dataclass(frozen=True)
class AdditiveOptions:
    """Pairs of columns and sparsity, as in `everypair.AUCAdditiveCV`."""

    interactions: int | str = 0
    sparsity: float | str = 0.0

    @classmethod
    def typed(cls, interactions: str | None, sparsity: str | None) -> AdditiveOptions:
        """From what stands after ``--interactions`` and ``--sparsity``."""
        return cls(_number(interactions, int), _number(sparsity, float)).checked()

    def __bool__(self) -> bool:
        return bool(self.interactions or self.sparsity)

    @property
    def options(self) -> str:
        """Those that are asked for, as they are typed."""
        given = {"--interactions": self.interactions, "--sparsity": self.sparsity}
        return " and ".join(option for option, value in given.items() if value)

    def checked(self) -> AdditiveOptions:
        """Itself, unless a value is out of range."""
        if self.interactions != AUTO and not (
            isinstance(self.interactions, int) and self.interactions >= 0
        ):
            raise ValueError(
                f"--interactions {self.interactions} must be auto or a whole number of pairs, "
                "0 or more."
            )
        if self.sparsity != AUTO and not (
            isinstance(self.sparsity, int | float) and 0 <= self.sparsity < 1
        ):
            raise ValueError(
                f"--sparsity {self.sparsity} must be auto or a number from 0, which keeps every "
                "column, to below 1."
            )
        return self

    def check_beside(self, models: Collection[str], directed: bool) -> None:
        """Refuse a choice of models without ``additive``, and sparsity beside directions."""
        if self and ADDITIVE not in models:
            raise ValueError(
                f"{self.options} is for the model additive, which is not among the models "
                f"to run ({', '.join(models)}): add it, or leave the option out."
            )
        if self.sparsity and directed:
            raise ValueError(
                f"--sparsity {self.sparsity} cannot be used with --increasing and --decreasing: "
                "leave one of them out."
            )

    def among(self, candidates: Sequence[Candidate], directed: bool) -> list[Candidate]:
        """The candidates, with what is asked of ``additive``; all checked."""
        self.checked().check_beside([candidate.name for candidate in candidates], directed)
        return [self.onto(candidate) for candidate in candidates]

    def onto(self, candidate: Candidate) -> Candidate:
        """The candidate with what is asked of it; other models than ``additive`` as they are."""
        if not self or candidate.name != ADDITIVE or candidate.own is None:
            return candidate
        build = partial(candidate.build, interactions=self.interactions, sparsity=self.sparsity)
        return replace(candidate, build=build, own=replace(candidate.own, one_setting=False))


@dataclass(frozen=True)
class AdditiveSearch(OwnSearch):
    """Alpha; and the pairs, their strength and the sparsity where they were asked for."""

    def chosen(self, model: Any) -> dict[str, Any]:
        out: dict[str, Any] = {"alpha": float(model.alpha_)}
        if model.interactions:
            out["interactions"] = len(model.pairs_)
        if model.interactions and model.pairs_:
            out["pair_strength"] = float(model.strengths_[-1])
        if model.sparsity:
            out["sparsity"] = float(model.sparsity_)
        return out

    def knows(self, settings: Any) -> bool:
        if not isinstance(settings, dict):
            return False
        rest = dict(settings)
        pairs, sparsity = rest.pop("interactions", 0), rest.pop("sparsity", 0.0)
        strength = rest.pop("pair_strength", 1.0)
        return (
            super().knows(rest)
            and type(pairs) is int
            and pairs >= 0
            and all(type(value) in (int, float) for value in (sparsity, strength))
            and 0 <= sparsity < 1
            and 0 < strength < np.inf
        )


def _number(typed: str | None, kind: type) -> Any:
    """``auto``, or a number of this kind; what is neither stays as it is, for the message."""
    if typed is None:
        return kind(0)
    try:
        return kind(typed)
    except ValueError:
        return typed
