"""Docstrings that share texts.

A line of a docstring that holds nothing but ``{name}`` stands for the text of that name. In the
text, ``{parameter}`` stands for the default of that parameter in the signature.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from textwrap import indent
from typing import Any, TypeVar

Thing = TypeVar("Thing", bound=Callable[..., Any])

PLACE = re.compile(r"^( +)\{(\w+)\}$", re.MULTILINE)
DEFAULT = re.compile(r"(?<=default=)\{(\w+)\}")


def fill_in(thing: Any, texts: Mapping[str, str]) -> None:
    """Put the shared texts into the docstring of a function or class, if it has places for them."""
    doc = thing.__doc__
    if doc is None or not PLACE.search(doc):
        return
    parameters = inspect.signature(thing).parameters

    def default(place: re.Match[str]) -> str:
        return repr(parameters[place[1]].default).replace("'", '"')

    def text(place: re.Match[str]) -> str:
        return indent(DEFAULT.sub(default, texts[place[2]].strip("\n")), place[1])

    thing.__doc__ = PLACE.sub(text, doc)


def fill_in_class(cls: type, texts: Mapping[str, str]) -> None:
    """`fill_in` for a class and all that it defines."""
    fill_in(cls, texts)
    for member in vars(cls).values():
        function = getattr(member, "__func__", member)  # of a class method
        if callable(function):
            fill_in(function, texts)


def described_by(texts: Mapping[str, str]) -> Callable[[Thing], Thing]:
    """A decorator that fills in these texts."""

    def described(thing: Thing) -> Thing:
        fill_in(thing, texts)
        return thing

    return described
