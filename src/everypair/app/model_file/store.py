"""Models on disk: the fitted model with all that scoring a new table needs.

A file is a zip archive of ``model.json`` and of arrays (``0.npy``, ``1.npy``, ...), none of them
packed. It holds data only: `model_parts` says in which form, and of which classes. A file is
checked from the outside inwards, and nothing is built in memory that the file has not got:
the archive, its sizes, the description, each array, the objects, and at last two rows are scored.
"""

from __future__ import annotations

import io
import json
import os
import zipfile
from dataclasses import dataclass, field, fields
from numbers import Number
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from everypair import __version__
from everypair.app.files.output import written_whole
from everypair.app.files.problems import DataError
from everypair.app.model_file.evidence import Evidence
from everypair.app.model_file.parts import (
    CALIBRATORS,
    ENCODERS,
    ESTIMATORS,
    CannotBeSaved,
    Reader,
    Refused,
    Writer,
)
from everypair.app.model_file.trees import KIND as TREES
from everypair.app.model_file.trees import NotTrees

Array = NDArray[np.float64]

FORMAT = "everypair model"
FORMAT_VERSION = 2

DESCRIPTION = "model.json"
MOST_TEXT = 32 * 2**20
"""Bytes of the description: parsed, it takes up to 25 times as much."""
MOST_PARTS = 10_000


@dataclass(frozen=True)
class SavedModel:
    """A fitted model with its encoder, and what is known of its training."""

    encoder: Any
    estimator: Any
    method: str
    settings: dict[str, Any]
    target: str
    positive: str
    negative: str
    n_rows: int
    n_positive: int
    train_auc: float
    versions: dict[str, str]
    created: str
    source: str
    notes: list[str] = field(default_factory=list)
    measure: str = ""  # that its cut is best for, as it is typed; none for the AUC
    cut: float = 0.0  # where the estimator's scores are cut; scores of the model are less it
    evidence: Evidence | None = None  # of rows that were held out
    calibrator: Any = None  # from scores to probabilities

    @property
    def kinds(self) -> dict[str, str] | None:
        """How each column is to be read; None for svmlight."""
        return getattr(self.encoder, "kinds_", None)

    @property
    def forms(self) -> dict[str, str]:
        """How the dates of each column are written."""
        return getattr(self.encoder, "forms_", {})

    def features(self) -> list[str]:
        return [str(name) for name in self.encoder.get_feature_names_out()]

    @property
    def has_probabilities(self) -> bool:
        """Whether there is a calibrator, or the estimator was fitted with `predict_proba`."""
        if self.calibrator is not None:
            return True
        calibrated = hasattr(self.estimator, "calibrator_") or not hasattr(
            self.estimator, "calibration"
        )
        return calibrated and hasattr(self.estimator, "predict_proba")

    def probability(self, X: Any, scores: Array | None = None) -> Array:
        """Probabilities of the positive class; only where ``has_probabilities``.

        ``scores`` are those of X, where they are known already.
        """
        if self.calibrator is not None:
            return self.calibrated(self.score(X) if scores is None else scores)
        self._scores(encoded := self.encoder.transform(X))  # refuses values that are too large
        return np.asarray(self.estimator.predict_proba(encoded)[:, 1], dtype=np.float64)

    def score(self, X: Any) -> Array:
        """Scores of a table's (or CSR matrix') rows: above zero is predicted positive."""
        return self._scores(self.encoder.transform(X)) - self.cut

    def _scores(self, encoded: Any) -> Array:
        from everypair.metrics.cross_val import scores_of

        with np.errstate(over="ignore", invalid="ignore"):
            scores = scores_of(self.estimator, encoded)
        strange = np.flatnonzero(~np.isfinite(scores))
        if strange.size:
            from everypair.app.column_kinds import TOO_LARGE

            largest = int(abs(encoded[strange[0]]).argmax())
            raise DataError(TOO_LARGE, column=self.features()[largest])
        return scores

    def calibrated(self, scores: Array) -> Array:
        """Probabilities of the positive class from scores of `score`, by the calibrator."""
        return np.asarray(self.calibrator.probabilities(scores)[:, 1])

    def score_at(self, probability: float) -> float:
        """The score above which rows have a higher probability than this."""
        from scipy.special import logit

        if self.calibrator is None:
            raise DataError(
                "this model has no calibrated probabilities: it was fitted with --no-held-out, or "
                "on too few rows."
            )
        known = np.zeros(2) if self.evidence is None else self.evidence.scores - self.cut
        room = 10 * float(np.ptp(known)) + 1
        low, high = float(known.min()) - room, float(known.max()) + room
        ends = self.calibrated(np.array([low, high]))
        if not ends[0] <= probability < ends[1]:
            raise DataError(
                f"no threshold corresponds to a probability of {probability:g}: the "
                f"probabilities of this model range from {ends[0]:.3g} to {ends[1]:.3g}."
            )
        for _ in range(200):
            middle = low + (high - low) / 2
            above = self.calibrator.log_odds(np.array([middle]))[0] > logit(probability)
            low, high = (low, middle) if above else (middle, high)
        return low


def save_model(model: SavedModel, path: str | Path, rows: Any = None) -> None:
    """Write the model; the file appears whole or not at all.

    What is to be written is loaded first. With ``rows``, some rows of a table, the loaded model
    must give them the scores and probabilities of ``model``.
    """
    try:
        content = packed(model)
        loaded = _read(io.BytesIO(content))
    except (CannotBeSaved, NotTrees, Refused) as trouble:
        raise DataError(f"the model cannot be saved: {trouble}.", path) from trouble
    if rows is not None and not _alike(loaded, model, rows):
        raise RuntimeError(
            "the saved file would give other scores than the model, so it was not written."
        )
    with written_whole(path) as file:
        file.write(content)


def _alike(loaded: SavedModel, model: SavedModel, rows: Any) -> bool:
    """Whether two models give the same scores, and the same probabilities if there are some."""
    same = np.allclose(loaded.score(rows), model.score(rows), 1e-9, 1e-12)
    if not same or not model.has_probabilities:
        return bool(same)
    return bool(np.allclose(loaded.probability(rows), model.probability(rows), 1e-9, 1e-12))


def packed(model: SavedModel) -> bytes:
    """The content of the model's file, unchecked."""
    writer = Writer()
    names = [f.name for f in fields(model) if getattr(model, f.name) != MAY_LACK.get(f.name, ...)]
    parts = {name: writer.plain(getattr(model, name), name) for name in names}
    head = {"format": FORMAT, "format_version": FORMAT_VERSION, "everypair": __version__}
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr(DESCRIPTION, json.dumps(head | {"model": parts}))
        for k, part in enumerate(writer.parts):
            archive.writestr(f"{k}.npy", part)
    return content.getvalue()


def load_model(path: str | Path) -> SavedModel:
    """The model of a file, or a `DataError` that says what is wrong with the file."""
    path = Path(path)
    if not path.exists():
        raise DataError("there is no such file.", path)
    if path.is_dir():
        raise DataError("this is a folder, not a model file.", path)
    if not path.is_file():
        raise DataError("a pipe cannot be read: save the model to a file.", path)
    if not os.access(path, os.R_OK):
        raise DataError("this file may not be read (permission denied).", path)
    try:
        with path.open("rb") as file:
            return _read(file)
    except _NotAModel as trouble:
        raise DataError(f"{trouble}.", path) from trouble
    except Refused as trouble:
        raise DataError(f"the model file is damaged or was changed: {trouble}.", path) from trouble


class _NotAModel(Exception):
    """A file of another kind or version."""


def _read(file: IO[bytes]) -> SavedModel:
    """Every trouble is about the file: nothing else is read."""
    try:
        size = file.seek(0, io.SEEK_END)
        with zipfile.ZipFile(file) as archive:
            n_parts = _check_archive(archive, size)
            tree = json.loads(archive.read(DESCRIPTION))
            reader = Reader(lambda k: archive.read(f"{k}.npy"), n_parts, size)
            saved = _saved(_parts_of(tree), reader)
            reader.finish()
    except (Refused, _NotAModel, MemoryError):
        raise
    except zipfile.BadZipFile as trouble:
        raise _NotAModel(
            "this is not a model of everypair, or it is damaged or cut short (not a whole zip "
            "archive)"
        ) from trouble
    except Exception as trouble:  # whatever a changed description makes the parsers say
        raise Refused("its description is not in the form of everypair") from trouble
    if not _can_score(saved):
        raise Refused("its parts are not those of a model")
    return saved


def _check_archive(archive: zipfile.ZipFile, size: int) -> int:
    """The number of arrays of an archive that takes no more room than the file."""
    entries = archive.infolist()
    names = {entry.filename for entry in entries}
    if DESCRIPTION not in names:
        raise _NotAModel("this is a zip archive but not a model of everypair")
    if len(entries) > MOST_PARTS:
        raise Refused(f"it has more than {MOST_PARTS} parts")
    if names != {DESCRIPTION, *(f"{k}.npy" for k in range(len(entries) - 1))}:
        raise Refused("its parts have other names, or the same name twice")
    for entry in entries:
        stored = entry.compress_type == zipfile.ZIP_STORED and not entry.flag_bits & 1
        if not stored or entry.file_size != entry.compress_size:
            raise Refused(f"its part {entry.filename!r} is packed or locked")
    if sum(entry.file_size for entry in entries) > size:
        raise Refused("its parts are larger than the file")
    if archive.getinfo(DESCRIPTION).file_size > MOST_TEXT:
        raise Refused(f"its description is larger than {MOST_TEXT // 2**20} MB")
    return len(entries) - 1


def _parts_of(tree: Any) -> dict[str, Any]:
    if type(tree) is not dict or tree.get("format") != FORMAT:
        raise _NotAModel("this is a zip archive but not a model of everypair")
    version, made = tree.get("format_version"), str(tree.get("everypair"))[:20]
    if version != FORMAT_VERSION:
        raise _NotAModel(
            f"the model file has format {str(version)[:20]} (everypair {made}), and this version "
            f"reads format {FORMAT_VERSION}: use that version, or fit again"
        )
    parts = tree.get("model")
    names = {f.name for f in fields(SavedModel)}
    if type(parts) is not dict or not parts.keys() <= names:
        raise Refused("it holds something other than a model")
    if lacks := names - parts.keys() - MAY_LACK.keys():
        raise Refused(f"it has no {min(lacks)!r}")
    return parts


KINDS = {
    "method": str, "settings": dict, "target": str, "positive": str, "negative": str,
    "n_rows": int, "n_positive": int, "train_auc": float, "versions": dict, "created": str,
    "source": str, "notes": list,
}  # fmt: skip

MAY_LACK: dict[str, Any] = {"measure": "", "cut": 0.0, "evidence": None, "calibrator": None}
"""What a file need not have, and what that means."""


def _saved(parts: dict[str, Any], reader: Reader) -> SavedModel:
    values = {name: reader.value(part) for name, part in parts.items()}
    for name, kind in KINDS.items():
        if not isinstance(values[name], kind):
            raise Refused(f"{name!r} has a value of the wrong type")
    if type(values.get("measure", "")) is not str or not _is_finite(values.get("cut", 0.0)):
        raise Refused("its cut is not a finite number")
    words = (*values["notes"], *values["versions"].values())
    numbers = values["settings"].values()
    if not all(type(word) is str for word in words):
        raise Refused("its notes or versions are not text")
    if not all(isinstance(value, (str, Number, type(None))) for value in numbers):
        raise Refused("its settings are not numbers or text")
    if type(values.get("evidence")) not in (Evidence, type(None)):
        raise Refused("its evidence has the wrong type")
    if not _is_calibrator(values.get("calibrator")):
        raise Refused("its calibrator has the wrong type")
    if type(values["encoder"]).__name__ not in ENCODERS:
        raise Refused("it has no encoder")
    if type(values["estimator"]).__name__ not in (*ESTIMATORS, TREES):
        raise Refused("it has no estimator")
    return SavedModel(**values)


def _is_calibrator(value: Any) -> bool:
    return value is None or (type(value).__name__ in CALIBRATORS and bool(value.holds))


def _is_finite(value: Any) -> bool:
    return isinstance(value, float) and abs(value) < np.inf


def _can_score(saved: SavedModel) -> bool:
    """Do two rows get a score, one with all values missing and one of known categories?"""
    import pyarrow as pa
    from scipy import sparse

    from everypair.app.files.kinds import ARROW_KINDS

    try:
        if saved.kinds is None:
            scale = saved.encoder.scale_
            rows: Any = sparse.csr_matrix(np.stack([np.zeros_like(scale), scale]))
        else:
            levels = saved.encoder.categories_
            if {name for name, kind in saved.kinds.items() if kind == "category"} != {*levels}:
                return False
            columns = {
                name: pa.array(
                    [None, levels[name][0] if kind == "category" else None],
                    pa.type_for_alias(ARROW_KINDS[kind]),
                )
                for name, kind in saved.kinds.items()
            }
            rows = pa.table(columns)
        n_features = len(saved.features())
        if saved.estimator.n_features_in_ != n_features:
            return False
        coef = getattr(saved.estimator, "coef_", None)  # `explain` shows all of it
        if coef is not None and (coef.shape != (1, n_features) or not np.isfinite(coef).all()):
            return False
        if saved.evidence is not None and not saved.evidence.fits(n_features):
            return False
        shares = saved.probability(rows) if saved.has_probabilities else np.zeros(2)
        right = n_features > 0 and np.all((shares >= 0) & (shares <= 1))
        return bool(right and np.isfinite(saved.score(rows)).all())
    except Exception:  # whatever parts that do not fit together make numpy say
        return False
