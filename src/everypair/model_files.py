"""Models on disk: the fitted model with all that scoring a new table needs.

A file is a zip archive written by skops: arrays as ``.npy`` and a description of the objects in
JSON. Loading builds only objects of the classes named in `OUR_TYPES` and of those that skops
itself trusts (numpy, scipy and scikit-learn): no code of the file's choosing runs. A file is
written under a temporary name and renamed when it is complete.
"""

from __future__ import annotations

import errno
import lzma
import os
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from everypair.data.problems import DataError

Array = NDArray[np.float64]

FORMAT = "everypair model"
FORMAT_VERSION = 1

OUR_TYPES = frozenset(
    {
        "everypair.estimators._kernel.CentredRBF",
        "everypair.estimators.auc.AUCClassifier",
        "everypair.estimators.cpauc.CPAUC",
        "everypair.estimators.measure_svm.MeasureSVM",
        "everypair.estimators.rankboost.RankBoost",
        "everypair.estimators.rankopt.RadiusRow",
        "everypair.estimators.rankopt.RankOpt",
        "everypair.estimators.rankopt.RankOptCV",
        "everypair.estimators.rls.AUCRLS",
        "everypair.estimators.rls_cv.AUCRLSCV",
        "everypair.estimators.rocsvm.ROCSVM",
        "everypair.estimators.sparse.AUCClassifierCV",
        "everypair.estimators.two_norm_svm.TwoNormSVM",
        "everypair.kernels.Expansion",
        "everypair.kernels.Kernel",
        "everypair.measures.contingency.FBeta",
        "everypair.measures.roc_area.ROCArea",
        "everypair.metrics.statuses.PairCounts",
        "everypair.rls.moments.ClassMoments",
        "everypair.rls.moments.PairMoments",
        "everypair.tables.SparseEncoder",
        "everypair.tables.TableEncoder",
        "scipy.sparse._csc.csc_array",
        # Part of a gradient boosting, and not on skops' own list.
        "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
    }
)
"""Classes that a model file may hold beside those that skops trusts: data and no more."""


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

    @property
    def kinds(self) -> dict[str, str] | None:
        """How each column is to be read; None for svmlight."""
        return getattr(self.encoder, "kinds_", None)

    def features(self) -> list[str]:
        return [str(name) for name in self.encoder.get_feature_names_out()]

    def score(self, X: Any) -> Array:
        """Scores of a table's (or CSR matrix') rows: above zero is predicted positive."""
        from everypair.metrics.cross_val import scores_of

        encoded = self.encoder.transform(X)
        with np.errstate(over="ignore", invalid="ignore"):
            scores = scores_of(self.estimator, encoded)
        strange = np.flatnonzero(~np.isfinite(scores))
        if strange.size:
            from everypair.columns import TOO_LARGE

            largest = int(abs(encoded[strange[0]]).argmax())
            raise DataError(TOO_LARGE, column=self.features()[largest])
        return scores


def save_model(model: SavedModel, path: str | Path) -> None:
    """Write the model; the file appears whole or not at all."""
    import skops.io

    content = {"format": FORMAT, "format_version": FORMAT_VERSION}
    content |= {f.name: getattr(model, f.name) for f in fields(model)}
    with written_whole(path) as file:
        skops.io.dump(content, file)


def load_model(path: str | Path) -> SavedModel:
    """The model of a file, or a `DataError` that says what is wrong with the file."""
    import skops.io

    path = Path(path)
    check_is_model(path)
    try:
        strange = sorted(set(skops.io.get_untrusted_types(file=path)) - OUR_TYPES)
        if strange:
            raise DataError(
                f"the model file names the type {strange[0]}, which no model of everypair has: "
                "it is refused unread.",
                path,
            )
        content = skops.io.load(path, trusted=sorted(OUR_TYPES))
    except DataError:
        raise
    except Exception as trouble:  # whatever a damaged archive makes the parsers say
        line = " ".join(str(trouble).split())[:150]
        raise DataError(
            f"the model file is damaged or was changed ({type(trouble).__name__}: {line}).", path
        ) from trouble
    return _checked(content, path)


def check_is_model(path: Path) -> None:
    """Refuse what is not a whole zip archive of skops, in words about the file."""
    if not path.exists():
        raise DataError("there is no such file.", path)
    if path.is_dir():
        raise DataError("this is a folder, not a model file.", path)
    if not path.is_file():
        raise DataError("a pipe cannot be read: save the model to a file.", path)
    if not os.access(path, os.R_OK):
        raise DataError("this file may not be read (permission denied).", path)
    try:
        with zipfile.ZipFile(path) as archive:
            damaged = archive.testzip()
            if damaged is not None:
                raise DataError(f"the model file is damaged (part {damaged!r}).", path)
            if "schema.json" not in archive.namelist():
                raise DataError("this is a zip archive but not a model of everypair.", path)
    except (
        zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, OSError, ValueError, RuntimeError
    ) as trouble:  # fmt: skip
        if isinstance(trouble, DataError):
            raise
        raise DataError(
            "this is not a model of everypair, or it is cut short (not a whole zip archive).", path
        ) from trouble


def _checked(content: Any, path: Path) -> SavedModel:
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise DataError("this is a skops file but not a model of everypair.", path)
    if content.get("format_version") != FORMAT_VERSION:
        versions = content.get("versions")
        known = versions if isinstance(versions, dict) else {}
        made = known.get("everypair", "another version")
        raise DataError(
            f"the model file has format {content.get('format_version')!r} (everypair {made}), and "
            f"this version reads format {FORMAT_VERSION}: use that version, or fit again.",
            path,
        )
    names = {f.name for f in fields(SavedModel)}
    missing = sorted(names - content.keys())
    if missing:
        raise DataError(f"the model file is incomplete: it has no {missing[0]!r}.", path)
    saved = SavedModel(**{name: content[name] for name in names})
    _check_types(saved, path)
    return saved


def _check_types(saved: SavedModel, path: Path) -> None:
    """Each part must be what `save_model` wrote there."""
    from everypair.tables import SparseEncoder, TableEncoder

    words = (saved.method, saved.target, saved.positive, saved.negative, saved.source)
    whole = (
        type(saved.encoder) in (TableEncoder, SparseEncoder)
        and hasattr(saved.estimator, "decision_function")
        and all(isinstance(word, str) for word in words)
        and isinstance(saved.settings, dict)
        and isinstance(saved.versions, dict)
    )
    if not (whole and _trees_are_trees(saved.estimator) and _can_score(saved)):
        raise DataError("the model file was changed: its parts are not those of a model.", path)


def _can_score(saved: SavedModel) -> bool:
    """Does a row in which everything is missing get a score?"""
    import pyarrow as pa
    from scipy import sparse

    from everypair.columns import ARROW_KINDS

    try:
        if saved.kinds is None:
            row: Any = sparse.csr_matrix((1, saved.encoder.scale_.size))
        else:
            words = {name for name, kind in saved.kinds.items() if kind == "category"}
            if words != set(saved.encoder.categories_):
                return False
            types = {k: pa.type_for_alias(ARROW_KINDS[v]) for k, v in saved.kinds.items()}
            row = pa.table({name: pa.nulls(1, of) for name, of in types.items()})
        return bool(saved.features() and np.isfinite(saved.score(row)).all())
    except Exception:  # whatever parts that do not fit together make numpy say
        return False


def _trees_are_trees(estimator: Any) -> bool:
    """Compiled code follows the children of a boosting's nodes without looking where they point."""
    for tree in (tree for stage in getattr(estimator, "_predictors", []) for tree in stage):
        nodes = tree.nodes
        inner = np.flatnonzero(nodes["is_leaf"] == 0)
        for side in ("left", "right"):
            children = nodes[side][inner].astype(np.int64)
            if not np.all((children > inner) & (children < nodes.size)):
                return False
        if not np.all(nodes["feature_idx"][inner] < estimator.n_features_in_):
            return False
    return True


@contextmanager
def written_whole(path: str | Path) -> Iterator[IO[bytes]]:
    """A file to write to, under another name until it is complete; gone if anything fails."""
    given, path = Path(path), Path(path).resolve()  # a link stays a link
    check_writable(path)
    if path.exists() and not path.is_file():  # a pipe or a device takes what comes
        with _trouble_of_output(given, path), path.open("wb") as file:
            yield file
        return
    with _trouble_of_output(given, path.parent):
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".part", dir=path.parent)
    with _trouble_of_output(given, name):
        yield from _renamed_when_written(handle, name, path)


def _renamed_when_written(handle: int, name: str, path: Path) -> Iterator[IO[bytes]]:
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        mask = os.umask(0)
        os.umask(mask)
        Path(name).chmod(0o666 & ~mask)  # a temporary file is its owner's alone
        Path(name).replace(path)
    except BaseException:  # Ctrl-C as well
        Path(name).unlink(missing_ok=True)
        raise


@contextmanager
def path_written_whole(path: str | Path) -> Iterator[Path]:
    """As `written_whole`, for a function that wants a path."""
    given, path = Path(path), Path(path).resolve()
    check_writable(path)
    with (
        _trouble_of_output(given, path.parent),
        tempfile.TemporaryDirectory(prefix=f".{path.name}.", dir=path.parent) as folder,
    ):
        temporary = Path(folder) / path.name
        yield temporary
        temporary.replace(path)


FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.ENAMETOOLONG)
"""What a system says of a file that it cannot write, at times without its name."""


@contextmanager
def _trouble_of_output(path: Path, temporary: str | Path) -> Iterator[None]:
    """Errors about the temporary name are errors about the file that was asked for."""
    try:
        yield
    except OSError as trouble:
        ours = str(trouble.filename or "").startswith(str(temporary))
        if not (ours or (trouble.filename is None and trouble.errno in FULL)):
            raise
        raise DataError(f"cannot be written: {trouble.strerror}.", path) from trouble


def check_writable(path: Path, *inputs: Path) -> None:
    """Refuse at once, not after an hour of work; nor may it be a file that is read."""
    for given in inputs:
        if path.is_file() and given.exists() and path.samefile(given):
            also = "" if path == given else f" (it is {given})"
            raise DataError(f"this is the file to read{also}: give another name to write to.", path)
    if not path.parent.is_dir():
        raise DataError(f"there is no folder {str(path.parent)!r} to write to.", path)
    if path.is_dir():
        raise DataError("this is a folder: give the name of a file to write.", path)
    if not os.access(path.parent, os.W_OK):
        raise DataError("this folder may not be written to (permission denied).", path)
