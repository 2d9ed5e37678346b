"""The guides name attributes and parameters that exist."""

import ast
import importlib
import inspect
import re
from pathlib import Path

import pytest

import everypair

ROOT = Path(__file__).parent.parent
GUIDES = sorted([ROOT / "README.md", *(ROOT / "docs").glob("*.md")])
ESTIMATORS = [name for name in everypair.__all__ if inspect.isclass(getattr(everypair, name))]
SOURCE = "\n".join(path.read_text() for path in (ROOT / "src").rglob("*.py"))


@pytest.mark.parametrize("guide", GUIDES, ids=lambda path: path.name)
def test_every_fitted_attribute_in_a_guide_is_set_somewhere(guide):
    spans = re.findall(r"`([^`\n]+)`", guide.read_text())
    names = {name for span in spans for name in re.findall(r"\b[a-z]\w*[a-z]_\b(?!\()", span)}
    unknown = [name for name in names if not re.search(rf"self\.{name}\b", SOURCE)]
    assert not unknown


@pytest.mark.parametrize("guide", GUIDES, ids=lambda path: path.name)
def test_every_default_in_a_guide_is_that_of_an_estimator(guide):
    for name, value in re.findall(r"default(?: of|,)? `(\w+)=([^`]+)`", guide.read_text()):
        signatures = [inspect.signature(getattr(everypair, each)) for each in ESTIMATORS]
        defaults = {str(s.parameters[name].default) for s in signatures if name in s.parameters}
        assert str(ast.literal_eval(value)) in defaults, f"{name}={value}"


@pytest.mark.parametrize("guide", GUIDES, ids=lambda path: path.name)
def test_every_parameter_in_a_guide_is_one_of_its_estimator(guide):
    calls = re.findall(rf"\b({'|'.join(ESTIMATORS)})\(([^()]*(?:\([^()]*\)[^()]*)*)\)",
                       guide.read_text())  # fmt: skip
    for name, arguments in calls:
        known = inspect.signature(getattr(everypair, name)).parameters
        given = re.findall(r"(?:^|,)\s*(\w+)\s*=", arguments)
        assert set(given) <= set(known), f"{name}({arguments})"


PUBLIC = ("", ".metrics", ".plots", ".measures", ".blocks", ".dask", ".app", ".boosting")


@pytest.mark.parametrize("room", PUBLIC)
def test_the_reference_lists_every_public_name(room):
    module = importlib.import_module(f"everypair{room}")
    text = (ROOT / "docs" / "api.md").read_text()
    listed = text.split(f".. currentmodule:: {module.__name__}\n")[1].split("```")[0]
    known = {name for name in module.__all__ if name not in ("__version__", "MEASURES")}
    assert set(re.findall(r"^   (\w+)$", listed, re.MULTILINE)) == known
