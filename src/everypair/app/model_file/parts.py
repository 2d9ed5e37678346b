"""Fitted objects as JSON and arrays, and back.

What JSON has is written as it is. All else is an object of one key:

    {"array": k}                            part k of the archive, ``k.npy``
    {"number": [dtype, value]}              a number of numpy
    {"tuple": [...]}, {"dict": {...}}       values inside, keys of text
    {"sparse": [kind, shape, data, indices, indptr]}
    {"object": [name, {attribute: value}]}  a class of `CLASSES`
    {"trees": {...}}                        a gradient boosting, `model_trees`

Reading takes names from `CLASSES` and from nowhere else. It calls neither constructors nor any
function of the file's choosing: attributes are set on an empty object, after their names are
checked. Each part of the archive is read once, into memory of its own size.
"""

from __future__ import annotations

import ast
import io
import math
from dataclasses import fields, is_dataclass
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from everypair import _HOME
from everypair.app.model_file.trees import KIND as TREES
from everypair.app.model_file.trees import NotTrees, model_of_trees, plain_trees

ENCODERS: dict[str, dict[str, str]] = {
    "TableEncoder": {
        "max_categories": "int",
        "min_rows": "int",
        "keep": "names",
        "categories_": "dict of lists of str",
        "has_other_": "dict of bool",
        "has_missing_": "dict of bool",
        "used_": "array of str",
        "used_kinds_": "array of str",
        "used_forms_": "array of str",
        "unused_": "array of str",
        "unused_why_": "array of str",
        "numbers_": "array of str",
        "fill_": "array of float64",
        "mean_": "array of float64",
        "scale_": "array of float64",
        "indicated_": "array of bool",
        "sparse_": "bool",
    },
    "SparseEncoder": {"scale_": "array of float64"},
}
"""What an encoder consists of, all of it: a new attribute needs a line here."""

ESTIMATORS = {
    **{name: home for name, home in _HOME.items() if name[0].isupper()},
    "AUCBoostingClassifier": "everypair.boosting.classifier",
    "LogisticRegression": "sklearn.linear_model",
    "LinearSVC": "sklearn.svm",
}
"""What a model file may hold as its model, beside a gradient boosting."""

CALIBRATORS = dict.fromkeys(("Isotonic", "LogOdds"), "everypair.estimators._calibration")
"""Maps from scores to probabilities."""

CLASSES = {
    **CALIBRATORS,
    **dict.fromkeys(ENCODERS, "everypair.app.encode"),
    **ESTIMATORS,
    "CentredRBF": "everypair.estimators._kernel",
    "ClassMoments": "everypair.rls.moments",
    "Evidence": "everypair.app.model_file.evidence",
    "Expansion": "everypair.linalg.kernels",
    "Isotonic": "everypair.estimators._calibration",
    "Kernel": "everypair.linalg.kernels",
    "LogOdds": "everypair.estimators._calibration",
    "PlainTrees": "everypair.boosting.plain_trees",
    "PairCounts": "everypair.metrics.statuses",
    "PairMoments": "everypair.rls.moments",
    "ClimbRow": "everypair.estimators.measure_opt",
    "PairShape": "everypair.estimators._interactions",
    "RadiusRow": "everypair.estimators.rankopt",
    "Tree": "everypair.solvers.tree",
    "Shape": "everypair.estimators._shapes",
    **dict.fromkeys(
        ("BreakEven", "ErrorRate", "FBeta", "PartialROCArea", "PrecisionAtK", "ROCArea",
         "RecallAtK", "RecallAtMostK"),
        "everypair.measures",
    ),
    **dict.fromkeys(
        ("Cost", "GMean", "Informedness", "Jaccard", "Matthews"), "everypair.measures.contingency"
    ),
    **dict.fromkeys(("AtQuota", "RecallAtPrecision"), "everypair.measures.at_quota"),
    "TopOfEachGroup": "everypair.measures.grouped",
    **dict.fromkeys(
        ("AveragePrecision", "PartialArea", "WholeArea"), "everypair.measures.curve_means"
    ),
    "OfTable": "everypair.measures.free_cut",
}  # fmt: skip
"""Every class that a model file may name, and where it lives: data and arithmetic, no more."""

DTYPES = ("|b1", "|i1", "|u1", "<i2", "<i4", "<i8", "<u2", "<u4", "<u8", "<f4", "<f8")
"""Of arrays, beside text; never objects."""

SPARSE = {
    f"{kind}_{what}": getattr(sparse, f"{kind}_{what}")
    for kind in ("csr", "csc")
    for what in ("matrix", "array")
}

MOST_NESTED = 20
"""Values inside values: a fitted model has fewer than ten."""


class Refused(ValueError):
    """A part that no model of everypair has."""


class CannotBeSaved(ValueError):
    """A setting or an attribute that a model file cannot hold."""


class Writer:
    """Turns values into JSON; ``parts`` gathers the arrays."""

    def __init__(self) -> None:
        self.parts: list[bytes] = []

    def plain(self, value: Any, name: str) -> Any:
        """The value as JSON; ``name`` says in errors what it is."""
        kind = type(value)
        if value is None or kind in (bool, int, float, str):
            return value
        if kind is list:
            return [self.plain(item, name) for item in value]
        if kind is tuple:
            return {"tuple": [self.plain(item, name) for item in value]}
        if kind is dict and all(type(key) is str for key in value):
            return {"dict": {key: self.plain(item, key) for key, item in value.items()}}
        return self._of_numpy(value, name) or {"object": self._object(value, name)}

    def _of_numpy(self, value: Any, name: str) -> Any:
        kind = type(value)
        if kind is np.ndarray:
            return {"array": self._part(value, name)}
        if isinstance(value, np.generic) and _little(value.dtype) in DTYPES:
            return {"number": [_little(value.dtype), value.item()]}
        if kind.__name__ in SPARSE and kind is SPARSE[kind.__name__]:
            arrays = (value.data, value.indices, value.indptr)
            parts = [self.plain(array, name) for array in arrays]
            return {"sparse": [kind.__name__, list(map(int, value.shape)), *parts]}
        if kind.__name__ == TREES and kind.__module__.startswith("sklearn."):
            return {"trees": self.plain(plain_trees(value), name)}
        return None

    def _object(self, value: Any, name: str) -> list[Any]:
        kind = type(value)
        if kind.__name__ in CLASSES and hasattr(value, "without_library"):
            try:
                value = value.without_library()
            except ValueError as trouble:
                raise CannotBeSaved(str(trouble)) from trouble
        if kind.__name__ not in CLASSES or kind is not _class(kind.__name__):
            called = getattr(value, "__name__", "") or kind.__name__
            raise CannotBeSaved(
                f"{name} is {called}, which a model file cannot hold: it holds numbers, text and "
                "what everypair itself defines"
            )
        if getattr(value, "kernel", None) == "precomputed":
            raise CannotBeSaved(
                "kernel='precomputed' needs the kernel between new rows and training rows, which "
                "a table does not have: give the kernel by name to save the model"
            )
        attributes = value._asdict() if hasattr(kind, "_fields") else vars(value)
        try:
            _check_names(kind, attributes)
        except Refused as trouble:
            raise CannotBeSaved(str(trouble)) from trouble
        return [kind.__name__, {key: self.plain(item, key) for key, item in attributes.items()}]

    def _part(self, array: NDArray[Any], name: str) -> int:
        if array.dtype.kind == "O" and all(type(item) is str for item in array.flat):
            array = array.astype(str)  # labels
        dtype = _little(array.dtype)
        if dtype not in DTYPES and array.dtype.kind != "U":
            raise CannotBeSaved(
                f"{name} is an array of {array.dtype}, which a model file cannot hold: it holds "
                "numbers and text"
            )
        file = io.BytesIO()
        np.lib.format.write_array(file, array.astype(dtype, copy=False), (1, 0), False)
        self.parts.append(file.getvalue())
        return len(self.parts) - 1


class Reader:
    """Turns JSON into values; ``part(k)`` gives the content of ``k.npy``.

    No dimension is above ``largest``, the size of the whole file: what is built stays in
    proportion to it.
    """

    def __init__(self, part: Any, n_parts: int, largest: int) -> None:
        self._part, self._left, self._largest = part, set(range(n_parts)), largest

    def finish(self) -> None:
        if self._left:
            raise Refused(f"the part {min(self._left)}.npy belongs to nothing")

    def value(self, tree: Any, depth: int = 0) -> Any:
        if depth > MOST_NESTED:
            raise Refused(f"its values are more than {MOST_NESTED} deep")
        if tree is None or type(tree) in (bool, int, float):
            return tree
        if type(tree) is str:
            tree.encode()  # half a character is refused here, not where it is printed
            return tree
        if type(tree) is list:
            return [self.value(item, depth + 1) for item in tree]
        if len(tree) != 1:
            raise Refused("its description is not in the form of everypair")
        ((form, inner),) = tree.items()
        if form not in ("array", "number", "tuple", "dict", "sparse", "object", "trees"):
            raise Refused(f"it has a value of the unknown form {form[:50]!r}")
        return getattr(self, f"_{form}")(inner, depth + 1)

    def _number(self, inner: Any, depth: int) -> Any:
        dtype, value = inner
        if dtype not in DTYPES or type(value) not in (bool, int, float):
            raise Refused(f"it has a number of the unknown type {dtype!r}")
        return np.dtype(dtype).type(value)

    def _tuple(self, inner: Any, depth: int) -> Any:
        return tuple(self.value(item, depth) for item in _list(inner))

    def _dict(self, inner: Any, depth: int) -> Any:
        if type(inner) is not dict:
            raise Refused("its description is not in the form of everypair")
        return {self.value(key): self.value(item, depth) for key, item in inner.items()}

    def _array(self, inner: Any, depth: int) -> NDArray[Any]:
        if type(inner) is not int or inner not in self._left:
            raise Refused(f"the part {inner!r}.npy is not there, or is used twice")
        self._left.discard(inner)
        return array_of(self._part(inner), self._largest)

    def _sparse(self, inner: Any, depth: int) -> Any:
        kind, shape, *parts = _list(inner)
        if kind not in SPARSE or len(parts) != 3 or len(_list(shape)) != 2:
            raise Refused("it has a sparse matrix of an unknown kind")
        if not all(type(n) is int and 0 <= n <= self._largest for n in shape):
            raise Refused(f"it has a sparse matrix of the impossible shape {shape}")
        data, indices, indptr = (self.value(part, depth) for part in parts)
        if not all(type(part) is np.ndarray and part.ndim == 1 for part in (data, indices, indptr)):
            raise Refused("it has a sparse matrix without its arrays")
        if data.dtype.kind not in "biuf" or {indices.dtype.kind, indptr.dtype.kind} != {"i"}:
            raise Refused("it has a sparse matrix of other things than numbers")
        matrix = SPARSE[kind]((data, indices, indptr), shape=tuple(shape))
        matrix.check_format(full_check=True)  # compiled code follows its indices unseen
        return matrix

    def _trees(self, inner: Any, depth: int) -> Any:
        try:
            return model_of_trees(self.value(inner, depth), self._largest)
        except NotTrees as trouble:
            raise Refused(str(trouble)) from trouble

    def _object(self, inner: Any, depth: int) -> Any:
        name, attributes = _list(inner)
        if type(name) is not str or name not in CLASSES:
            raise Refused(f"it names the class {str(name)[:50]!r}, which no model of everypair has")
        kind = _class(name)
        if type(attributes) is not dict:
            raise Refused("its description is not in the form of everypair")
        _check_names(kind, attributes)
        values = {key: self.value(item, depth) for key, item in attributes.items()}
        for key, what in ENCODERS.get(name, {}).items():
            if not is_a(values[key], what):
                raise Refused(f"{key!r} of the encoder is not a {what}")
        if hasattr(kind, "_fields"):
            return kind(**values)
        made = object.__new__(kind)
        vars(made).update(values)
        if not getattr(made, "holds", True):
            if name == "PlainTrees":
                raise Refused("its trees are damaged")
            raise Refused(f"its {name} is not a map that rises from 0 to 1")
        return made


def array_of(content: bytes, largest: int) -> NDArray[Any]:
    """The array of a ``.npy``: its header must account for every byte, before memory is taken."""
    file = io.BytesIO(content)
    try:
        version = np.lib.format.read_magic(file)
        if version != (1, 0):
            raise Refused(f"it has an array of the format {version}")
        length = int.from_bytes(file.read(2), "little")
        header = ast.literal_eval(file.read(min(length, 1000)).decode("ascii"))
        shape, order, form = header["shape"], header["fortran_order"], header["descr"]
    except Refused:
        raise
    except Exception as trouble:  # whatever a header that is none makes the parsers say
        raise Refused("it has an array without a header") from trouble
    if not (type(form) is str and (form in DTYPES or (form[:2] == "<U" and form[2:].isdigit()))):
        raise Refused(f"it has an array of the type {str(form)[:50]!r}")
    sizes = all(type(n) is int and 0 <= n <= largest for n in _list(shape, tuple))
    if type(order) is not bool or not sizes or len(shape) > 3:
        raise Refused(f"it has an array of the impossible shape {str(shape)[:50]}")
    width = 4 * int(form[2:8]) if form[1] == "U" else np.dtype(form).itemsize
    start = file.tell()
    if width == 0 or math.prod(shape) * width != len(content) - start:
        raise Refused("it has an array that is longer or shorter than its header says")
    dtype = np.dtype(f"<U{width // 4}" if form[1] == "U" else form)
    array = np.frombuffer(content, dtype, offset=start).reshape(shape, order="F" if order else "C")
    if form == "|b1" and not np.all(array.view(np.uint8) <= 1):
        raise Refused("it has truth values other than 0 and 1")  # numpy counts on 0 and 1
    if form[1] == "U":
        codes = np.frombuffer(content, "<u4", offset=start)
        if np.any((codes > 0x10FFFF) | ((codes >= 0xD800) & (codes <= 0xDFFF))):
            raise Refused("it has text of characters that do not exist")
    return array.astype(dtype.newbyteorder("="), order="K")  # a copy that may be written to


def is_a(value: Any, what: str) -> bool:
    """Is the value what `ENCODERS` says?"""
    if what in ("int", "bool"):
        return type(value).__name__ == what
    if what == "names":
        return type(value) is str or (type(value) in (list, tuple) and {*map(type, value)} <= {str})
    if what.startswith("dict of"):
        inner = value.values() if type(value) is dict else [None]
        if what == "dict of bool":
            return all(type(item) is bool for item in inner)
        return all(type(levels) is list and {*map(type, levels)} <= {str} for levels in inner)
    kind = {"str": "U", "float64": "f", "bool": "b"}[what.removeprefix("array of ")]
    right = type(value) is np.ndarray and value.ndim == 1 and value.dtype.kind == kind
    return right and (kind != "f" or (value.dtype.itemsize == 8 and bool(np.isfinite(value).all())))


def _check_names(kind: Any, attributes: Any) -> None:
    """Exactly the fields of a record or the attributes of an encoder; of ours all settings.

    What else an estimator has is what it learnt, ``coef_`` or ``_moments``, and never takes the
    place of a method.
    """
    name, given = kind.__name__, set(attributes)
    if is_dataclass(kind):
        needed = known = {field.name for field in fields(kind)}
    elif hasattr(kind, "_fields"):
        needed = known = set(kind._fields)
    elif name in ENCODERS:
        needed = known = set(ENCODERS[name])
    else:
        ours = name in ESTIMATORS and kind.__module__.startswith("everypair.")
        needed = set(kind._get_param_names()) if ours else set()
        learnt = {key for key in given if not hasattr(kind, key) and not key.startswith("__")}
        known = needed | {k for k in learnt if not needed or k[:1] == "_" or k[-1:] == "_"}
    if needed - given:
        raise Refused(f"{name} has no {min(needed - given)!r}")
    if given - known:
        raise Refused(f"{name} has the unknown attribute {min(given - known)[:50]!r}")


def _class(name: str) -> Any:
    return getattr(import_module(CLASSES[name]), name)


def _little(dtype: np.dtype[Any]) -> str:
    return dtype.newbyteorder("<").str


def _list(value: Any, kind: type = list) -> Any:
    if type(value) is not kind:
        raise Refused("its description is not in the form of everypair")
    return value
