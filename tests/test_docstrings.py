"""Every public object says what it takes, what it returns, what is near it and how it is used."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import re
from importlib import import_module

import pytest
from numpydoc.docscrape import get_doc_object
from numpydoc.validate import Validator, validate

MODULES = (
    "everypair",
    "everypair.metrics",
    "everypair.plots",
    "everypair.app",
    "everypair.blocks",
    "everypair.boosting",
    "everypair.dask",
    "everypair.measures",
)
PUBLIC = [
    f"{module}.{name}"
    for module in MODULES
    for name in import_module(module).__all__
    if not name.startswith("__") and callable(getattr(import_module(module), name))
]

# Not asked for: GL01 (we begin in the line of the quotes), ES01 (a first line may say it all),
# SS05 and RT02 (an indicative sentence; a result has no name), GL08 of inherited __init__.
CODES = {
    "GL02", "GL03", "GL05", "GL06", "GL07", "GL10",  # sections: known, in order, spaced
    "SS01", "SS02", "SS03", "SS04", "SS06",  # one sentence first
    "PR01", "PR02", "PR03", "PR04", "PR05", "PR07", "PR08", "PR09", "PR10",  # parameters
    "RT01", "RT03", "RT04", "RT05", "YD01",  # returns
    "SA01", "SA02", "SA03", "SA04",  # see also
    "EX01",  # examples
}  # fmt: skip
CODES_OF_METHODS = CODES - {"SA01", "EX01"}
CODES_OF_RESULTS = CODES - {"PR01", "EX01"}
"""A record that a function returns has attributes, not parameters, and its example there."""


def found(path: str) -> object:
    module, name = path.rsplit(".", 1)
    return getattr(import_module(module), name)


def is_result(thing: object) -> bool:
    """Is it a record, a dataclass or a named tuple?"""
    return dataclasses.is_dataclass(thing) or hasattr(thing, "_fields")


def fields_of(record: type) -> list[str]:
    if dataclasses.is_dataclass(record):
        return [field.name for field in dataclasses.fields(record)]
    return list(record._fields)


def complaints(name: str, codes: set[str]) -> list[str]:
    return [f"{code}: {text}" for code, text in validate(name)["errors"] if code in codes]


def real_name(thing: object) -> str:
    """Where it is defined: numpydoc imports by that name."""
    return f"{thing.__module__}.{thing.__qualname__}"


@pytest.mark.parametrize("path", PUBLIC)
def test_a_public_object_is_documented_by_the_rules_of_numpydoc(path):
    thing = found(path)
    codes = CODES_OF_RESULTS if is_result(thing) else CODES
    assert complaints(real_name(thing), codes) == []


METHODS = sorted(
    {
        real_name(getattr(found(path), name))
        for path in PUBLIC
        if inspect.isclass(found(path))
        for name, value in inspect.getmembers(found(path), callable)
        if not name.startswith("_") and getattr(value, "__module__", "").startswith("everypair")
    }
)


@pytest.mark.parametrize("path", METHODS)
def test_a_public_method_is_documented_by_the_rules_of_numpydoc(path):
    assert complaints(path, CODES_OF_METHODS) == []


@pytest.mark.parametrize("path", [path for path in PUBLIC if is_result(found(path))])
def test_every_field_of_a_result_is_described(path):
    described = [attribute.name for attribute in get_doc_object(found(path))["Attributes"]]
    assert described == fields_of(found(path))


def defaults_said(thing: object) -> dict[str, str]:
    """``default=`` of each parameter's line, by name."""
    parameters = get_doc_object(thing)["Parameters"]
    said = {}
    for parameter in parameters:
        default = re.search(r"default=(.+)$", parameter.type.replace("\\", ""))
        if default:
            said |= dict.fromkeys(parameter.name.split(", "), default[1])
    return said


def value_of(default: str) -> object:
    return slice(None) if default == "slice(None)" else ast.literal_eval(default)


def test_every_default_in_a_docstring_is_the_signature_s():
    wrong = []
    of_methods = [Validator._load_obj(path) for path in METHODS]
    for thing in [*map(found, PUBLIC), *of_methods]:
        if is_result(thing):
            continue
        said = defaults_said(thing)
        for name, parameter in inspect.signature(thing).parameters.items():
            if name in ("self", "cls") or parameter.kind is parameter.VAR_KEYWORD:
                continue
            has_default = parameter.default is not parameter.empty
            if has_default != (name in said):
                wrong.append(f"{thing.__qualname__}({name}): {parameter} beside {said.get(name)}")
            elif has_default and value_of(said[name]) != parameter.default:
                wrong.append(f"{thing.__qualname__}({name}): {parameter} beside {said[name]}")
    assert wrong == []
