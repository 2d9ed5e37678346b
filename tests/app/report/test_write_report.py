"""The numbers of the page are those of `everypair.metrics`; its text is text."""

from __future__ import annotations

import builtins
import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest
from simulated_comparison import LONG, ODD, embedded, make_comparison

from everypair.app import Finding
from everypair.app.comparison import ColumnSummary
from everypair.app.explain.curves import Panel
from everypair.app.report import write_report
from everypair.app.report.words import signed
from everypair.metrics import precision_from_rates, roc_band, threshold_for


@pytest.fixture
def page_of(tmp_path):
    def page(comparison):
        return write_report(comparison, tmp_path / "report.html").read_text("utf-8")

    return page


class Seen(HTMLParser):
    """Tags and visible text, as a browser reads them."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.cells: list[str] = []
        self._in_cell = False
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs
        if tag in ("th", "td"):
            self.cells.append("")
            self._in_cell = True

    def handle_endtag(self, tag):
        if tag in ("th", "td"):
            self._in_cell = False

    def handle_data(self, text):
        if self._in_cell:
            self.cells[-1] += text


@pytest.mark.parametrize("kind", ["plain", "weighted", "tied"])
def test_counts_are_those_of_the_scores(page_of, kind):
    comparison = make_comparison(weighted=kind == "weighted", rounded=kind == "tied")
    data = embedded(page_of(comparison))
    mass = np.ones(comparison.y.size) if comparison.weights is None else comparison.weights
    y = comparison.y
    assert data["n_positive"] == pytest.approx(mass[y].sum())
    assert data["n_negative"] == pytest.approx(mass[~y].sum())
    for drawn, model in zip(data["models"], comparison.models, strict=True):
        for threshold, tp, fp in zip(drawn["threshold"], drawn["tp"], drawn["fp"], strict=True):
            above = model.scores > threshold
            assert tp == pytest.approx(mass[above & y].sum(), abs=1e-8)
            assert fp == pytest.approx(mass[above & ~y].sum(), abs=1e-8)
            if kind == "plain":
                skew = np.sum(~y) / np.sum(y)
                wanted = precision_from_rates(tp / y.sum(), fp / np.sum(~y), skew)
                assert tp / max(tp + fp, 1) == pytest.approx(wanted)
        for rule in ("f1", "balanced"):
            wanted = threshold_for(y, model.scores, rule, sample_weight=comparison.weights)
            assert drawn["threshold"][drawn["standard"][rule]] == wanted
        assert drawn["threshold"][drawn["standard"]["own"]] == model.threshold


def test_bands_are_those_of_roc_band(page_of):
    comparison = make_comparison()
    for drawn, model in zip(
        embedded(page_of(comparison))["models"], comparison.models, strict=True
    ):
        band = roc_band(comparison.y, model.scores)
        np.testing.assert_allclose(drawn["band"]["low"], band.low, atol=5.1e-5)
        np.testing.assert_allclose(drawn["band"]["high"], band.high, atol=5.1e-5)


def test_histograms_hold_every_row_once(page_of):
    comparison = make_comparison(weighted=True)
    model = comparison.models[0]
    wild = replace(model, scores=np.where(np.arange(comparison.y.size) == 5, 1e9, model.scores))
    data = embedded(page_of(replace(comparison, models=[wild, *comparison.models[1:]])))
    for drawn in data["models"]:
        assert sum(drawn["histogram"]["positive"]) == pytest.approx(1, abs=1e-3)
        assert sum(drawn["histogram"]["negative"]) == pytest.approx(1, abs=1e-3)
    assert data["models"][0]["histogram"]["high"] < 100
    assert data["models"][0]["histogram"]["gathers"]


def test_the_table_says_what_the_records_say(page_of):
    comparison = make_comparison(failing=1)
    cells = [" ".join(cell.split()) for cell in Seen(page_of(comparison)).cells]
    for model in comparison.models[:-1]:
        at = next(i for i, cell in enumerate(cells) if cell.startswith(model.name))
        assert cells[at + 1] == f"{model.auc:.3f}"
        assert cells[at + 2] == f"{model.low:.3f} to {model.high:.3f}"
        wanted = "–" if model.difference is None else f"{abs(model.difference):.3f}"
        assert cells[at + 4].lstrip("+−") == wanted
        ends = [signed(end) for end in (model.difference_low, model.difference_high)]
        assert cells[at + 5] == ("–" if model.difference is None else " to ".join(ends))
        assert cells[at + 6] == ("–" if model.p_value is None else "0.030")
        assert cells[at + 8] == ("–" if model.n_features is None else str(model.n_features))
    at = cells.index("failing model 1 not fitted")
    assert cells[at + 1] == comparison.models[-1].failure


def test_markup_in_the_data_stays_text(page_of):
    comparison = make_comparison(failing=1)
    odd = {
        "source": f"{ODD}.csv",
        "target": ODD,
        "positive": f'"{ODD}',
        "verdict": ODD,
        "folds": ODD,
        "command": f"everypair {ODD}",
        "versions": {ODD: ODD},
        "notes": (ODD,),
        "models": [
            replace(
                model,
                name=f"{model.name} {ODD}",
                settings={ODD: ODD},
                failure=model.failure and ODD,
            )
            for model in comparison.models
        ],
    }
    page = page_of(replace(comparison, **odd))
    seen = Seen(page)
    assert page.count("<script") == seen.tags.count("script") == 2
    assert "alert(1)</script>" not in page
    assert "img" not in seen.tags
    assert "i" not in seen.tags
    assert not [name for name, _ in seen.attributes if name.startswith("on")]
    assert any(ODD in cell for cell in seen.cells)
    data = embedded(page)
    assert data["target"] == ODD
    assert ODD in [column["name"] for model in data["models"] for column in model["columns"]]
    assert ODD in data["path"]["names"]
    assert LONG in page


def test_names_that_are_no_unicode_do_not_stop_the_report(page_of):
    comparison = make_comparison()
    column = ColumnSummary("caf\udce9", "text", 0, 1, "\x00")
    assert "caf?" in page_of(replace(comparison, columns=[column]))


def test_the_page_asks_for_nothing_outside_itself(page_of):
    page = page_of(make_comparison())
    links = [value for name, value in Seen(page).attributes if name in ("src", "href")]
    assert all(link.startswith(("#", "data:")) for link in links)
    assert re.findall(r"https?://[^\"]*", page) == ["http://www.w3.org/2000/svg"]
    assert "default-src 'none'" in page
    assert "innerHTML" not in page
    assert "@import" not in page
    assert "url(" not in page


def test_a_hundred_thousand_rows_stay_below_half_a_megabyte(tmp_path):
    names = tuple(f"feature {i}" for i in range(3000))
    comparison = make_comparison(100_000, 14, share=0.02, names=names)
    written = write_report(comparison, tmp_path / "report.html")
    assert written.stat().st_size < 500_000
    for model in embedded(written.read_text("utf-8"))["models"]:
        assert len(model["threshold"]) <= 400


def test_odd_comparisons_have_a_report(page_of):
    comparison = make_comparison(failing=2, with_path=False, with_weights=False)
    failed = [model for model in comparison.models if model.failure]
    assert embedded(page_of(replace(comparison, models=failed)))["models"] == []
    flat = replace(comparison.models[0], scores=np.zeros(comparison.y.size), threshold=np.inf)
    data = embedded(page_of(replace(comparison, models=[flat, *failed], columns=[])))
    assert data["models"][0]["band"] is None
    assert set(data["models"][0]["standard"]) == {"f1", "balanced"}
    nameless = page_of(replace(comparison, source="", target="", command=""))
    assert "<h1>Predicting <b>yes</b></h1>" in nameless
    assert 'id="command"' not in nameless
    assert embedded(page_of(make_comparison(20, share=0.1)))["n_positive"] == 2


def test_an_interrupted_report_leaves_the_old_one(tmp_path, monkeypatch):
    path = tmp_path / "report.html"
    path.write_text("old")

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("os.replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_report(make_comparison(), path)
    assert [file.name for file in tmp_path.iterdir()] == ["report.html"]
    assert path.read_text() == "old"


def test_without_jinja_the_remedy_is_named(tmp_path, monkeypatch):
    real = builtins.__import__

    def without(name, *rest):
        if name == "jinja2":
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ImportError, match=r"everypair\[report\]"):
        write_report(make_comparison(), tmp_path / "report.html")


def test_the_data_check_is_the_first_panel_and_its_warnings_stand_above_the_verdict(tmp_path):
    leak = Finding("leak", "warning", "column '<i>' alone tells the target.", ("<i>",))
    note = Finding("left out", "note", "column 'id' is not used.", ("id",))
    comparison = replace(make_comparison(), findings=(leak, note))
    page = write_report(comparison, tmp_path / "r.html").read_text()
    verdict, check, models = (
        page.index(part) for part in ('"verdict"', 'id="check"', 'id="models"')
    )
    warning = "column &#39;&lt;i&gt;&#39; alone tells the target."
    assert page.index(warning) < verdict < check < models
    assert check < page.index("Column &#39;id&#39; is not used.") < models
    assert "is ranked first" in page[check:models]
    clean = write_report(make_comparison(), tmp_path / "r.html").read_text()
    assert "No copies of rows" in clean


def test_an_additive_model_has_a_panel_per_column(page_of):
    comparison = make_comparison()
    curve = Panel(ODD, [1.0, 2.0], [], [-0.5, 0.5], [0.4, 0.6], 0.25)
    bars = Panel("city", [], [f"c{k}" for k in range(20)], [0.1] * 20, [0.05] * 20, None)
    models = [replace(comparison.models[0], panels=[curve, bars]), *comparison.models[1:]]
    page = page_of(replace(comparison, models=models))
    panels = embedded(page)["models"][0]["panels"]
    assert panels[0] == {
        "name": ODD, "x": [1.0, 2.0], "labels": [], "y": [-0.5, 0.5], "share": [0.4, 0.6],
        "missing": 0.25,
    }  # fmt: skip
    assert len(panels[1]["labels"]) == 8
    assert embedded(page)["models"][1]["panels"] == []
