"""What `fit` takes from rows that were held out: probabilities, the threshold, worth of columns."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from everypair.app.cli.inputs import Labelled
    from everypair.app.comparison.candidate import Candidate
    from everypair.app.comparison.refits import Refits
    from everypair.app.comparison.rule import ChosenCut, Rule
    from everypair.app.comparison.search import Fitted
    from everypair.app.comparison.typed_measure import TypedMeasure
    from everypair.app.model_file.store import SavedModel


@dataclass(frozen=True)
class DecisionOptions:
    """What was asked for that needs such rows."""

    rule: Rule | None
    prior: float | None
    held_out: bool

    def check(self, by: TypedMeasure | None, within: str | None = None) -> None:
        rule, prior = self.rule, self.prior
        if by is not None and within is not None:
            by.inside_groups()  # refuses a measure of one cut
        if rule is not None and by is not None:
            raise ValueError(
                f"--measure {by.typed} chooses the threshold that is best for it: leave out "
                f"--threshold {rule.typed}, or --measure."
            )
        if prior is not None and not 0 < prior < 1:
            raise ValueError(f"--prior {prior:g}: give a share between 0 and 1, such as 0.003.")
        given = [("--measure", by), ("--threshold", rule), ("--prior", prior)]
        for option in [option for option, value in given if value is not None]:
            if not self.held_out:
                raise ValueError(f"{option} needs rows that are held out: leave out --no-held-out.")

    def refits(
        self,
        candidate: Candidate,
        fitted: Fitted,
        X: Any,
        rows: Labelled,
        by: TypedMeasure | None,
        seed: int,
    ) -> Refits | None:
        """On three folds; None, with a note, where the rows do not go round them."""
        from everypair.app.comparison.refits import Refits

        if not self.held_out:
            return None
        try:
            return Refits.of(
                candidate, fitted, X, rows.y, rows.weight, rows.check.groups, seed, rows.within
            )
        except ValueError as trouble:
            if not (by is None and self.rule is None and self.prior is None):
                raise
            rows.notes.append(f"no rows are held out, so there is no probability: {trouble}")
            return None

    def onto(
        self, model: SavedModel, refits: Refits | None, X: Any, rows: Labelled, seed: int
    ) -> tuple[SavedModel, ChosenCut | None]:
        """The model with all that the held-out rows say, and its threshold by the rule."""
        if refits is None:
            return model, None
        y, weight = rows.y, rows.weight
        model = replace(
            model,
            evidence=refits.evidence(model.encoder, X, y, weight, rows.check.groups, seed),
            calibrator=refits.calibrator(y, weight, model.cut, self.prior),
        )
        if self.rule is None:
            return model, None
        chosen = self.rule.on_held_out(model)
        model = replace(
            model,
            cut=chosen.threshold,
            calibrator=refits.calibrator(y, weight, chosen.threshold, self.prior),
            notes=[*model.notes, chosen.sentence()],
        )
        return model, chosen
