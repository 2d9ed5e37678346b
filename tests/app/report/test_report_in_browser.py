"""The report in chromium: numbers follow the controls, nothing is asked of the network."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from simulated_comparison import ODD, embedded, make_comparison

from everypair.app.explain.curves import Panel
from everypair.app.report import write_report
from everypair.metrics import (
    average_precision,
    brier_loss,
    expected_calibration_error,
    threshold_for,
)

pytestmark = pytest.mark.browser

PHONE = 360


@pytest.fixture(scope="module")
def browser():
    """Chromium, headless and with no network at all."""
    names = ("chromium", "chromium-browser", "google-chrome")
    binary = next(filter(None, map(shutil.which, names)), None)
    driver = shutil.which("chromedriver")
    if binary is None or driver is None:
        pytest.skip("chromium and chromedriver are not installed: `make test-browser` does it")
    webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
    options = webdriver.ChromeOptions()
    options.binary_location = binary
    for switch in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"):
        options.add_argument(switch)
    options.add_argument("--window-size=1280,1000")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    window = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver))
    window.execute_cdp_cmd("Network.enable", {})
    cut_off = {"offline": True, "latency": 0, "downloadThroughput": 0, "uploadThroughput": 0}
    window.execute_cdp_cmd("Network.emulateNetworkConditions", cut_off)
    yield window
    window.quit()


@pytest.fixture(scope="module")
def comparison():
    return make_comparison(failing=1)


@pytest.fixture(scope="module")
def path(comparison, tmp_path_factory):
    return write_report(comparison, tmp_path_factory.mktemp("report") / "report.html")


@pytest.fixture
def opened(browser, path):
    """The report of four models and one that failed, at the threshold of the model itself."""
    load(browser, path)
    rule(browser, "own")
    return browser


def load(window, path: Path, width: int = 1280, theme: str = "light") -> None:
    look(window, width, theme)
    window.get_log("browser")
    window.get_log("performance")
    window.get(path.as_uri())


def look(window, width: int = 1280, theme: str = "light", media: str = "screen") -> None:
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600}
    window.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    scheme = {"name": "prefers-color-scheme", "value": theme}
    window.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": media, "features": [scheme]})


def element(window, name: str):
    return window.find_element("id", name)


def value(window, name: str) -> float:
    return float(element(window, name).get_attribute("value"))


def press(window, name: str, *keys: str) -> None:
    element(window, name).send_keys(*keys)


def choose(window, name: str, option: str) -> None:
    from selenium.webdriver.support.ui import Select

    Select(element(window, name)).select_by_visible_text(option)


def rule(window, name: str) -> None:
    window.find_element("css selector", f"input[name=rule][value={name}]").click()


def point(window, box: str = "roc") -> tuple[float, float]:
    """Read in one go: a chart is drawn anew when the page is laid out."""
    script = "const e = document.querySelector(arguments[0]);"
    script += "return ['cx', 'cy'].map(name => Number(e.getAttribute(name)))"
    across, up = window.execute_script(script, f"#{box} .point")
    return across, up


def start_costs(comparison) -> tuple[float, float]:
    """Those at which both classes weigh the same, to two digits."""
    return 1, float(f"{np.sum(~comparison.y) / np.sum(comparison.y):.2g}")


def no_complaint(window) -> bool:
    return not [entry for entry in window.get_log("browser") if entry["level"] == "SEVERE"]


def agrees(window, comparison, model, costs=None) -> None:
    """Every number shown is the definition's at the threshold shown."""
    costs = start_costs(comparison) if costs is None else costs
    y, above = comparison.y, model.scores > value(window, "cut")
    tp, fp = int(np.sum(above & y)), int(np.sum(above & ~y))
    fn, tn = int(np.sum(~above & y)), int(np.sum(~above & ~y))
    wanted = {
        "tp": tp,
        "fp": fp,
        "fn": fn,
        "tn": tn,
        "precision": tp / max(tp + fp, 1),
        "recall": tp / (tp + fn),
        "specificity": tn / (tn + fp),
        "f1": 2 * tp / (2 * tp + fp + fn),
        "cost": costs[0] * fp + costs[1] * fn,
    }
    for name, number in wanted.items():
        assert value(window, name) == pytest.approx(number, abs=1e-12), name
    for name in ("precision", "recall", "specificity", "f1"):
        assert element(window, name).text == f"{wanted[name]:.3f}"
    assert element(window, "tn").text == f"{tn:,}"


def test_arrow_keys_on_the_slider_move_every_number(opened, comparison):
    model = comparison.models[0]
    assert value(opened, "cut") == model.threshold
    agrees(opened, comparison, model)
    before, numbers = point(opened), opened.find_element("id", "sentence").text
    press(opened, "slider", *["\ue012"] * 25)  # arrow left: a lower threshold
    assert value(opened, "cut") < model.threshold
    agrees(opened, comparison, model)
    assert point(opened)[0] > before[0]
    assert point(opened)[1] <= before[1]
    assert opened.find_element("id", "sentence").text != numbers
    called = 100 * (value(opened, "tp") + value(opened, "fp")) / comparison.y.size
    carried = opened.find_element("id", "carry").text
    assert "carry over the share" in carried
    assert f"everypair score --top {float(f'{called:.3g}'):g}%)" in carried
    assert opened.find_element("css selector", "input[value=hand]").is_selected()
    assert no_complaint(opened)


def test_the_page_begins_at_the_top_tenth_of_the_headline(browser, comparison, path):
    load(browser, path)
    model = comparison.models[0]
    assert browser.find_element("css selector", "input[value=top]").is_selected()
    assert value(browser, "cut") == threshold_for(comparison.y, model.scores, top=0.1)
    assert element(browser, "calls").text.split() == ["calls", "10.0", "%", "of", "the", "rows"]
    agrees(browser, comparison, model)
    choose(browser, "model", comparison.models[2].name)
    assert value(browser, "tp") + value(browser, "fp") == 60
    assert no_complaint(browser)


def test_more_than_a_tenth_of_equal_scores_begins_elsewhere(browser, comparison, tmp_path):
    first = comparison.models[0]
    above = first.scores > np.median(first.scores)
    coarse = replace(first, scores=above.astype(float), threshold=0.5)
    made = replace(comparison, models=[coarse, *comparison.models[1:]])
    load(browser, write_report(made, tmp_path / "report.html"))
    top = browser.find_element("css selector", "input[value=top]")
    assert not top.is_enabled()
    assert value(browser, "cut") == 0.5
    agrees(browser, made, coarse)
    choose(browser, "model", comparison.models[1].name)
    rule(browser, "top")
    called = value(browser, "tp") + value(browser, "fp")
    choose(browser, "model", coarse.name)  # it has no such cut: the nearest number of rows
    assert value(browser, "tp") + value(browser, "fp") != called
    agrees(browser, made, coarse)
    assert no_complaint(browser)


@pytest.mark.parametrize("width", [1280, PHONE])
def test_the_slider_stays_in_view_beside_every_chart(browser, decided_path, width):
    load(browser, decided_path, width)
    for name in (*FOLLOWING, "calibration"):
        chart = element(browser, f"{name}-chart")
        browser.execute_script("arguments[0].scrollIntoView({block: 'end'})", chart)
        seen = "const r = arguments[0].getBoundingClientRect(); return [r.top, r.bottom]"
        top, bottom = browser.execute_script(seen, element(browser, "slider"))
        assert 0 <= top < bottom < 150, name
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width


def test_figures_of_the_ranking_and_the_probabilities_are_those_of_the_metrics(
    browser, decided, decided_path
):
    load(browser, decided_path)
    for model in decided.models[:2]:
        choose(browser, "model", model.name)
        ranked = average_precision(decided.y, model.scores)
        brier = brier_loss(decided.y, model.probabilities)
        error = expected_calibration_error(decided.y, model.probabilities)
        shown = element(browser, "precision-figures").text
        ends = f"{ranked.low:.3f} to {ranked.high:.3f}"
        assert shown == f"Average precision {ranked.value:.3f} ({ends}); at random 0.150."
        shown = element(browser, "calibration-figures").text
        for name, found in (("Brier score", brier), ("Calibration error", error)):
            assert f"{name} {found.value:.3f} ({found.low:.3f} to {found.high:.3f})" in shown


def test_the_slider_by_script_reaches_both_ends(opened, comparison):
    move = """const slider = document.getElementById("slider");
        slider.value = arguments[0]; slider.dispatchEvent(new Event("input"));"""
    last = int(element(opened, "slider").get_attribute("max"))
    for place in (0, last // 3, last // 2, last):
        opened.execute_script(move, place)
        agrees(opened, comparison, comparison.models[0])
    assert value(opened, "tp") == value(opened, "fp") == 0
    assert no_complaint(opened)


def test_rules_are_those_of_threshold_for_on_every_model(opened, comparison):
    for model in comparison.models[:-1]:
        choose(opened, "model", model.name)
        for name in ("f1", "balanced"):
            rule(opened, name)
            assert value(opened, "cut") == threshold_for(comparison.y, model.scores, name)
            agrees(opened, comparison, model)
        rule(opened, "own")
        assert value(opened, "cut") == model.threshold
        agrees(opened, comparison, model)
    assert no_complaint(opened)


def test_least_cost_follows_the_costs(opened, comparison):
    model = comparison.models[0]
    rule(opened, "cost")
    assert value(opened, "cut") == threshold_for(
        comparison.y, model.scores, cost=start_costs(comparison)
    )
    for costs in ((1, 10), (1, 25), (3, 2), (10, 1)):
        for name, cost in zip(("cost-fp", "cost-fn"), costs, strict=True):
            element(opened, name).clear()
            press(opened, name, str(cost))
        assert value(opened, "cut") == threshold_for(comparison.y, model.scores, cost=costs)
        agrees(opened, comparison, model, costs)
    for wrong in ("\ue003", "-3"):  # backspace: empty; then negative
        press(opened, "cost-fn", wrong)
        agrees(opened, comparison, model, (10, 1))
        assert "A cost must be a number of at least 0" in element(opened, "cost-error").text
        assert element(opened, "cost-fn").get_attribute("aria-invalid") == "true"
    element(opened, "cost-fn").clear()
    press(opened, "cost-fn", "0")
    agrees(opened, comparison, model, (10, 0))
    assert element(opened, "cost-error").text == ""
    assert no_complaint(opened)


def test_own_threshold_counts_what_the_folds_call(browser, comparison, tmp_path):
    y, model = comparison.y, comparison.models[0]
    called = np.random.default_rng(0).random(y.size) < 0.3
    made = replace(comparison, models=[replace(model, called=called), *comparison.models[1:]])
    load(browser, write_report(made, tmp_path / "report.html"))
    rule(browser, "own")
    shown = {name: value(browser, name) for name in ("tp", "fp", "fn", "tn")}
    expected = [called & y, called & ~y, ~called & y, ~called & ~y]
    assert list(shown.values()) == [np.sum(members) for members in expected]
    press(browser, "slider", "\ue012")
    agrees(browser, made, model)
    rule(browser, "own")
    assert value(browser, "tp") == shown["tp"]
    assert no_complaint(browser)


def test_a_threshold_by_hand_calls_as_many_rows_of_another_model(opened, comparison):
    press(opened, "slider", *["\ue014"] * 12)  # arrow right
    called = value(opened, "tp") + value(opened, "fp")
    other = comparison.models[2]
    choose(opened, "model", other.name)
    agrees(opened, comparison, other)
    assert value(opened, "tp") + value(opened, "fp") == pytest.approx(called, rel=0.1)
    assert no_complaint(opened)


def test_a_click_on_the_curve_sets_the_threshold(opened, comparison):
    from selenium.webdriver import ActionChains

    for box in ("roc", "scores"):
        before = value(opened, "cut")
        picture = opened.find_element("id", box)
        opened.execute_script("arguments[0].scrollIntoView({block: 'center'})", picture)
        ActionChains(opened).move_to_element_with_offset(picture, 60, -40).click().perform()
        assert value(opened, "cut") != before
        agrees(opened, comparison, comparison.models[0])
    assert no_complaint(opened)


def test_curves_and_bands_are_shown_as_asked(opened, comparison):
    def number(kind: str) -> int:
        return len(opened.find_elements("css selector", f"#roc .{kind}"))

    fitted = len(comparison.models) - 1
    assert number("curve") < fitted
    element(opened, "all").click()
    assert number("curve") == fitted
    assert number("band") == 1
    choose(opened, "bands", "of all shown")
    assert number("band") == fitted
    choose(opened, "bands", "hidden")
    assert number("band") == 0
    opened.find_elements("css selector", "#curves input")[-1].click()
    assert number("curve") == fitted - 1
    assert no_complaint(opened)


def test_weights_and_path_are_drawn(opened, comparison):
    for model in comparison.models:
        if model.coefficients is None:
            continue
        choose(opened, "weights-of", model.name)
        rows = opened.find_elements("css selector", "#bars tr")
        shown = [row.find_element("css selector", "th").get_attribute("title") for row in rows]
        assert "a weight" in element(opened, "weights-caption").text
        ranked = sorted(model.coefficients.items(), key=lambda item: -abs(item[1]))
        assert shown == [name for name, weight in ranked if weight]
    assert len(opened.find_elements("css selector", "#path .curve")) == 7
    assert "chosen 0.01" in opened.find_element("id", "path").text
    assert opened.find_element("id", "path-note").text.endswith("It is <so>.")
    assert "Scores are <those> of their folds." in opened.find_element("id", "threshold").text
    assert no_complaint(opened)


def test_nothing_is_asked_of_the_network(opened, path):
    element(opened, "all").click()
    entries = [json.loads(entry["message"])["message"] for entry in opened.get_log("performance")]
    asked = [
        entry["params"]["request"]["url"]
        for entry in entries
        if entry["method"] == "Network.requestWillBeSent"
    ]
    assert [url for url in asked if not url.startswith("data:")] == [path.as_uri()]
    assert no_complaint(opened)


def test_markup_in_names_is_shown_and_not_run(opened):
    names = [cell.text for cell in opened.find_elements("css selector", ".columns tbody th")]
    assert ODD in names
    assert not opened.find_elements("css selector", "img, main script, td b")
    # An open alert would make this raise.
    assert opened.execute_script("return document.title").startswith(
        "churn = yes in customers <2024>"
    )


def _odd():
    long = "w" * 300
    made = make_comparison(20, share=0.1, names=(long, ODD, "–" * 90))
    return replace(
        made,
        source=long,
        target=long,
        verdict=long,
        folds=long,
        command=long,
        versions={long: long},
        notes=(long,),
        models=[replace(m, name=f"{m.name} {long}", settings={long: long}) for m in made.models],
    )


def _all_failed():
    made = make_comparison(failing=2)
    return replace(made, models=made.models[-2:])


PHONES = {
    "four models": lambda: make_comparison(failing=2),
    "fourteen models": lambda: make_comparison(n_models=14, weighted=True),
    "long words": _odd,
    "all failed": _all_failed,
}


@pytest.mark.parametrize("kind", PHONES)
def test_a_phone_never_scrolls_sideways(browser, tmp_path, kind):
    load(browser, write_report(PHONES[kind](), tmp_path / "report.html"), PHONE)
    assert browser.execute_script("return document.documentElement.scrollWidth") == PHONE
    assert no_complaint(browser)


def test_colours_follow_the_system_and_the_button(browser, path):
    ground = "return getComputedStyle(document.body).backgroundColor"
    load(browser, path, theme="dark")
    dark = browser.execute_script(ground)
    element(browser, "theme").click()
    light = browser.execute_script(ground)
    assert light != dark
    load(browser, path)
    assert browser.execute_script(ground) == light
    press(browser, "theme", "\ue007")  # enter
    assert browser.execute_script(ground) == dark
    look(browser, media="print")
    assert (
        browser.execute_script("return getComputedStyle(document.documentElement).colorScheme")
        == "light"
    )
    look(browser)
    assert no_complaint(browser)


CONTRAST = """
const paint = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
const rgb = (colour) => {
  paint.clearRect(0, 0, 1, 1); paint.fillStyle = colour; paint.fillRect(0, 0, 1, 1);
  return [...paint.getImageData(0, 0, 1, 1).data];
};
const light = ([r, g, b]) => [r, g, b].map((v) => v / 255)
  .map((v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
  .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
const behind = (node) => {
  for (let at = node; at; at = at.parentElement) {
    const colour = rgb(getComputedStyle(at).backgroundColor);
    if (colour[3] === 255) return colour;
  }
  return [255, 255, 255, 255];
};
const worst = [];
for (const node of document.querySelectorAll("main *, header *")) {
  const words = [...node.childNodes].some((c) => c.nodeType === 3 && c.textContent.trim());
  if (!words || node.closest("script, option, .unseen")) continue;
  const style = getComputedStyle(node);
  const ink = light(rgb(node.closest("svg") ? style.fill : style.color));
  const ground = light(behind(node));
  const ratio = (Math.max(ink, ground) + 0.05) / (Math.min(ink, ground) + 0.05);
  worst.push([ratio, node.tagName + " " + node.textContent.slice(0, 30)]);
}
return worst.sort((a, b) => a[0] - b[0])[0];
"""


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_text_stands_out_from_its_ground(browser, path, theme):
    load(browser, path, theme=theme)
    ratio, where = browser.execute_script(CONTRAST)
    assert ratio >= 4.5, where


def test_every_control_has_a_name_and_takes_the_focus(opened):
    controls = opened.find_elements("css selector", "input, select, button, [tabindex]")
    assert len(controls) > 15
    for control in controls:
        assert control.accessible_name, control.get_attribute("outerHTML")
    for picture in opened.find_elements("css selector", ".chart svg"):
        assert picture.get_attribute("aria-label")
    for table in opened.find_elements("css selector", "table"):
        assert table.find_element("css selector", "caption").get_attribute("textContent")


@pytest.mark.parametrize("typed", ["mcc", "recall@fpr=0.05", "cost=1:10", "average-precision"])
@pytest.mark.parametrize("width", [1280, PHONE])
def test_the_measure_is_drawn_against_the_cut_and_follows_it(browser, tmp_path, typed, width):
    judged = make_comparison(measure=typed)
    load(browser, write_report(judged, tmp_path / "r.html"), width)
    assert no_complaint(browser)

    def drawn(part, *names):  # in one go: the chart is drawn anew when the page is laid out
        script = "const e = document.querySelector(arguments[0]);"
        script += "return arguments[1].map(name => Number(e.getAttribute(name)))"
        return browser.execute_script(script, f"#measure {part}", list(names))

    def at():
        return drawn(".point", "cx", "cy")

    chart = element(browser, "measure")
    assert chart.rect["width"] <= width
    before, words = at(), element(browser, "measure-note").text
    press(browser, "slider", *["\ue012"] * 25)  # arrow left: a lower threshold
    assert at()[0] < before[0]
    assert element(browser, "measure-note").text != words
    rule(browser, "measure")
    shown = embedded(Path(tmp_path / "r.html").read_text())["models"][0]
    best = shown["standard"]["measure"]
    assert value(browser, "cut") == shown["threshold"][best]
    assert drawn(".guide", "x1")[0] == pytest.approx(at()[0], abs=0.1)
    assert f"{shown['measure']['value'][best]:.3f}" in element(browser, "measure-note").text
    pale = browser.find_elements("css selector", "#measure .unmet")
    assert bool(pale) == (typed == "recall@fpr=0.05")
    overflow = "return document.documentElement.scrollWidth - innerWidth"
    assert browser.execute_script(overflow) <= 0


def test_a_click_on_the_measure_sets_the_threshold(browser, tmp_path):
    load(browser, write_report(make_comparison(measure="mcc"), tmp_path / "r.html"))
    before = value(browser, "cut")
    chart = element(browser, "measure")
    browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", chart)
    from selenium.webdriver import ActionChains

    ActionChains(browser).move_to_element_with_offset(chart, -200, 0).click().perform()
    assert value(browser, "cut") != before


def test_by_auc_there_is_no_chart_of_a_measure(opened):
    assert not opened.find_elements("id", "measure")
    assert not opened.find_elements("css selector", "input[name=rule][value=measure]")


@pytest.fixture(scope="module")
def decided():
    return make_comparison(calibrated=True)


@pytest.fixture(scope="module")
def decided_path(decided, tmp_path_factory):
    return write_report(decided, tmp_path_factory.mktemp("decided") / "report.html")


FOLLOWING = ("gain", "lift", "precision", "cost")


def point_of(window, name: str) -> tuple[float, float]:
    return point(window, f"{name}-chart")


def note(window, name: str) -> str:
    return element(window, f"{name}-note").text


def chart_says(window, comparison, model) -> None:
    """The notes of the charts are the definition's at the threshold shown."""
    y, above = comparison.y, model.scores > value(window, "cut")
    called, found = above.mean(), above[y].mean()
    precision = y[above].mean()
    assert f"The top {100 * called:.1f}" in note(window, "gain")
    assert f"contain {100 * found:.1f}" in note(window, "gain")
    assert f"are {precision / y.mean():.2f} times" in note(window, "lift")
    assert f"the precision is {100 * precision:.1f}" in note(window, "precision")
    cost = np.dot(start_costs(comparison), (np.sum(above & ~y), np.sum(~above & y)))
    assert f"costs {cost:,.1f}".removesuffix(".0") in note(window, "cost")


@pytest.mark.parametrize("width", [1280, PHONE])
def test_every_chart_follows_the_slider(browser, decided, decided_path, width):
    load(browser, decided_path, width)
    model = decided.models[0]
    before = {name: point_of(browser, name) for name in FOLLOWING}
    line = "return document.querySelector('#calibration-chart .cut').getAttribute('x1')"
    cut_at = float(browser.execute_script(line))
    press(browser, "slider", *["\ue012"] * 25)  # arrow left: a lower threshold
    for name in ("gain", "lift", "cost", "precision"):
        assert point_of(browser, name)[0] > before[name][0], name
    assert float(browser.execute_script(line)) < cut_at
    chart_says(browser, decided, model)
    other = decided.models[1]
    choose(browser, "model", other.name)
    chart_says(browser, decided, other)
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width
    assert no_complaint(browser)


@pytest.mark.parametrize("name", [*FOLLOWING, "calibration"])
def test_a_click_into_a_chart_sets_the_threshold(browser, decided, decided_path, name):
    from selenium.webdriver import ActionChains

    load(browser, decided_path)
    before = value(browser, "cut")
    picture = browser.find_element("id", f"{name}-chart")
    browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", picture)
    ActionChains(browser).move_to_element_with_offset(picture, 90, 0).click().perform()
    assert value(browser, "cut") != before
    agrees(browser, decided, decided.models[0])
    assert no_complaint(browser)


def test_probabilities_stand_for_scores(browser, decided, decided_path):
    load(browser, decided_path)
    model = decided.models[0]
    assert element(browser, "cut-what").text == "Probability above"
    chance = model.calibrator.probabilities(np.array([value(browser, "cut")]))[0, 1]
    assert element(browser, "cut").text.split() == [f"{100 * chance:.1f}", "%"]
    assert "Probability" in element(browser, "scores").text
    shown = embedded(decided_path.read_text())["models"][0]["calibration"]
    place = int(np.argmin(np.abs(np.array(shown["predicted"]) - chance)))
    assert f"{100 * shown['observed'][place]:.1f}" in note(browser, "calibration")
    bars = browser.find_elements("css selector", "#calibration-chart circle")
    assert len(bars) == len(shown["predicted"])


def test_a_cost_moves_its_chart(browser, decided, decided_path):
    load(browser, decided_path)
    before = note(browser, "cost"), point_of(browser, "gain")
    element(browser, "cost-fn").clear()
    press(browser, "cost-fn", "40")
    assert note(browser, "cost") != before[0]
    assert point_of(browser, "gain") == before[1]


def test_columns_are_listed_with_their_features_below(browser, decided, decided_path):
    load(browser, decided_path)
    rows = browser.find_elements("css selector", "#bars tr")
    worth = decided.models[0].worth
    columns = [row for row in rows if row.get_attribute("class") == "column"]
    assert [row.find_element("css selector", "th").get_attribute("title") for row in columns] == [
        w.name for w in worth
    ]
    assert f"{worth[0].lost:.3f} ± 0.010" in columns[0].text
    assert worth[2].direction in columns[2].text
    assert len(rows) == 4 * len(worth)
    assert "It is AUC logistic." in element(browser, "models").text


def test_the_interval_picture_stays_in_view_on_a_phone(browser, decided_path):
    load(browser, decided_path, PHONE)
    table = browser.find_element("css selector", "#models .scroll")
    for scrolled in (0, 400):
        browser.execute_script("arguments[0].scrollLeft = arguments[1]", table, scrolled)
        for lane in browser.find_elements("css selector", "#models tbody .on-phone .lane"):
            assert lane.rect["width"] > 80
            assert 0 <= lane.rect["x"] <= PHONE - lane.rect["width"]


@pytest.mark.parametrize("width", [1280, PHONE])
def test_curves_are_drawn_for_models_that_have_them(browser, comparison, tmp_path, width):
    places = np.linspace(0, 9, 10).tolist()
    curve = Panel(ODD, places, [], np.sin(places).tolist(), [0.1] * 10, 0.25)
    bars = Panel("city", [], ["north", "south"], [0.3, -0.3], [0.6, 0.4], None)
    models = [replace(comparison.models[0], panels=[curve, bars]), *comparison.models[1:]]
    load(browser, write_report(replace(comparison, models=models), tmp_path / "r.html"), width)
    choose(browser, "weights-of", models[0].name)
    figures = browser.find_elements("css selector", "#shape-panels figure")
    assert [figure.find_element("tag name", "figcaption").text for figure in figures] == [
        ODD,
        "city",
    ]
    assert len(figures[0].find_elements("css selector", ".step, .gap")) == 2
    assert len(figures[1].find_elements("css selector", ".up, .down")) == 2
    assert all(figure.size["width"] <= width for figure in figures)
    choose(browser, "weights-of", models[1].name)
    assert not element(browser, "shapes").is_displayed()
    assert no_complaint(browser)
