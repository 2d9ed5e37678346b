"""The documentation as a site: `make docs`, from the top of the repository, without a network.

The pages are those that are read in the repository, so that a link works in both. Sphinx starts
at the top and takes README, guides, benchmarks, decisions and the laboratory's notes.
"""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import Any

from everypair import __version__

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))
os.environ["MPLBACKEND"] = "Agg"

project = "everypair"
author = copyright = "the everypair developers"
version = release = __version__

root_doc = "docs/index"
default_role = "py:obj"
extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
include_patterns = [
    "*.md",
    "docs/**.md",
    "docs/**.rst",
    "examples/README.rst",
    "lab/README.md",
    "lab/notes/*.md",
    "lab/papers/results/*.md",
]
templates_path = [str(ROOT / "docs" / "_templates")]
exclude_patterns = ["docs/_build", "docs/_templates", "docs/gallery", ".github/*", "**/fast/*"]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}

myst_enable_extensions = ["colon_fence", "dollarmath"]
myst_heading_anchors = 4
suppress_warnings = [
    "myst.header",  # benchmark pages begin with a table below their title
    "misc.highlighting_failure",
    "config.cache",  # the classes that sort the gallery
]

autosummary_generate = True
autosummary_ignore_module_all = False
autodoc_typehints = "none"
autodoc_mock_imports = ["torch"]  # its page needs no PyTorch
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False

html_theme = "pydata_sphinx_theme"
html_title = f"everypair {release}"
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "navigation_with_keys": False,
    "navbar_persistent": ["search-button"],
    "show_prev_next": True,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "header_links_before_dropdown": 6,
    "search_bar_text": "Search this site",
}
html_static_path = ["_static"]
html_css_files = ["site.css"]

sphinx_gallery_conf = {
    "examples_dirs": "docs/gallery",
    "gallery_dirs": "docs/tutorials",
    "filename_pattern": r"\.py$",
    "within_subsection_order": "FileNameSortKey",
    "download_all_examples": False,
    "show_memory": False,
    "write_computation_times": False,
    "abort_on_example_error": True,
    "plot_gallery": True,
    "remove_config_comments": True,
}


QUOTED = re.compile(r"(``.*?``|`.*?`)")
HEADER = re.compile(r"(\w+_?(?:, \w+)*)( : .*)?")


def escaped(text: str) -> str:
    """Text in which | and a trailing _ are themselves, as a reader of the source takes them."""
    parts = QUOTED.split(text)
    parts[::2] = [re.sub(r"(?<=\w)_(?!\w)|\|", r"\\\g<0>", part) for part in parts[::2]]
    return "".join(parts)


def as_written(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Docstrings are plain text: indented formulas are literal, names keep their underscores."""
    found: list[str] = []
    section, indent, formula = False, 0, False
    for k, line in enumerate(lines):
        here = len(line) - len(line.lstrip())
        if not line.strip():
            found.append(line)
            continue
        section |= k + 1 < len(lines) and set(lines[k + 1].strip()) == {"-"}
        after_blank = k > 0 and not lines[k - 1].strip()
        if here >= indent + 4 and after_blank and not formula:
            found += [" " * indent + "::", ""]
            formula = True
        elif here <= indent:
            formula = False
        if not formula:
            indent = here
        header = HEADER.fullmatch(line) if section and here == 0 else None
        if formula or line.lstrip().startswith((">>>", "...", ".. ")):
            found.append(line)
        elif header:
            *names, last = header[1].split(", ")  # numpydoc escapes the last one itself
            found.append(", ".join([*map(escaped, names), last]) + escaped(header[2] or ""))
        else:
            found.append(escaped(line))
    lines[:] = found


def not_of_scikit_learn(
    app: Any, what: str, name: str, obj: Any, skip: bool, options: Any
) -> bool | None:
    """What scikit-learn documents is documented there."""
    home = getattr(obj, "__module__", None) or ""
    return True if home.startswith("sklearn") else None


def setup(app: Any) -> None:
    app.connect("autodoc-process-docstring", as_written, priority=100)
    app.connect("autodoc-skip-member", not_of_scikit_learn)
