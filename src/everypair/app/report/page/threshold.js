// The controls: model, rule, slider, costs, curves shown.

let redrawRoc;
const following = []; // draws each chart that shows the chosen model at the threshold
const redrawFollowing = () => following.forEach((redraw) => redraw());

function setByHand(at) {
  state.rule = "hand";
  state.at = at;
  state.threshold = chosen().threshold[at];
  showOutcome();
  redrawFollowing();
  roc.move();
}

function showOutcome() {
  const found = outcome();
  const last = chosen().threshold.length - 1;
  const slider = byId("slider");
  slider.max = last;
  slider.value = last - state.at; // to the right the threshold rises
  slider.setAttribute("aria-valuetext",
    `threshold ${cutWords(state.at)}, recall ${decimals(found.recall)}, precision ${decimals(found.precision)}`);
  show("cut", found.threshold, cutWords(state.at));
  byId("calls").textContent = `calls ${share(found.called / (totals.positive + totals.negative))} of the rows`;
  byId("cut-what").textContent = `${scoreName(chosen())} above`;
  for (const name of ["tp", "fp", "fn", "tn"]) show(name, found[name], count(found[name]));
  for (const name of ["precision", "recall", "specificity", "f1"]) {
    show(name, found[name], decimals(found[name]));
  }
  show("cost", found.cost, count(found.cost));
  for (const radio of document.getElementsByName("rule")) {
    radio.checked = radio.value === state.rule;
    radio.disabled = ["own", "top"].includes(radio.value) && !(radio.value in chosen().standard);
  }
  const of = data.weighted ? "of the weight" : `of ${count(totals.positive + totals.negative)} rows`;
  byId("sentence").textContent =
    `${count(found.called)} ${of} (${share(found.called / (totals.positive + totals.negative))}) would be called positive: ` +
    `${count(found.tp)} rightly, ${count(found.fp)} as false alarms. ` +
    `${count(found.fn)} of ${count(totals.positive)} positives (${share(1 - found.recall)}) would be missed.`;
  byId("carry").replaceChildren(...carriedOver(found.called));
}

function refresh() {
  followRule();
  showOutcome();
  redrawRoc();
  redrawFollowing();
  showCurves();
}

// What another model can take from here: the share of the rows.
function carriedOver(called) {
  const part = called / (totals.positive + totals.negative);
  const advice = "A model fitted anew has scores on another scale: carry over the share called positive, not the score.";
  if (data.weighted || part === 0) return [advice];
  const top = `${Number((100 * part).toPrecision(3))}%`;
  return [`${advice} Here that is the top ${share(part)} of new rows (`,
    html("code", {}, `everypair score --top ${top}`), ")."];
}

// The list keeps its boxes, so that the one with the focus keeps it.
function showCurves() {
  for (const label of byId("curves").children) {
    const i = Number(label.dataset.model);
    const box = label.querySelector("input");
    box.disabled = i === state.model; // the chosen model is always drawn
    box.checked = state.shown.has(i) || i === state.model;
    label.querySelector(".name").classList.toggle("chosen", i === state.model);
  }
}

function listCurves() {
  models.forEach((model, i) => {
    const box = html("input", { type: "checkbox" });
    box.addEventListener("change", () => {
      if (box.checked) state.shown.add(i);
      else state.shown.delete(i);
      redrawRoc();
    });
    const sample = svg("svg", { width: 26, height: 10, "aria-hidden": "true" },
      svg("line", { x1: 0, x2: 26, y1: 5, y2: 5, "stroke-width": 2.4, ...lineStyle(i) }));
    byId("curves").append(html("label", { "data-model": i, title: model.name }, box, sample,
      html("span", { class: "name" }, model.name), html("span", {}, decimals(model.auc))));
  });
}

// A cost that is empty or negative is refused: the one before stays.
function readCost(kind) {
  const field = byId(`cost-${kind}`);
  const refused = !(field.valueAsNumber >= 0);
  if (!refused) state.costs[kind] = field.valueAsNumber;
  field.setAttribute("aria-invalid", refused);
  byId("cost-error").textContent = ["fp", "fn"].some((k) => byId(`cost-${k}`).getAttribute("aria-invalid") === "true")
    ? `A cost must be a number of at least 0: ${count(state.costs.fp)} and ${count(state.costs.fn)} stay.` : "";
  return !refused;
}

// Costs at which both classes weigh the same in all: a miss costs what it is rarer.
function startCosts() {
  const odds = totals.negative / totals.positive;
  state.costs = odds >= 1 ? { fp: 1, fn: Number(odds.toPrecision(2)) } : { fp: Number((1 / odds).toPrecision(2)), fn: 1 };
  for (const kind of ["fp", "fn"]) byId(`cost-${kind}`).value = state.costs[kind];
}

function startThreshold() {
  state.shown = fewModels();
  models.forEach((model, i) => byId("model").append(html("option", { value: i }, model.name)));
  byId("model").value = state.model;
  listCurves();
  redrawRoc = drawnIn("roc", roc.draw);
  startCosts();
  startCharts();
  following.push(drawnIn("scores", drawScores));
  if (data.measure) following.push(drawnIn("measure", drawMeasure));
  state.rule = [data.start, "own", "f1"].find((rule) => rule in chosen().standard);

  byId("model").addEventListener("change", (event) => {
    const before = chosen();
    state.model = Number(event.target.value);
    if (["own", "top"].includes(state.rule) && !(state.rule in chosen().standard)) state.rule = "hand";
    if (state.rule === "hand") keepShare(before, chosen());
    refresh();
  });
  for (const radio of document.getElementsByName("rule")) {
    radio.addEventListener("change", () => {
      state.rule = radio.value;
      refresh();
    });
  }
  byId("slider").addEventListener("input", (event) =>
    setByHand(chosen().threshold.length - 1 - Number(event.target.value)));
  for (const kind of ["fp", "fn"]) {
    byId(`cost-${kind}`).addEventListener("input", () => {
      if (!readCost(kind)) return;
      if (state.rule === "cost") refresh();
      else {
        showOutcome();
        redrawFollowing();
      }
    });
  }
  byId("bands").addEventListener("change", (event) => {
    state.bands = event.target.value;
    redrawRoc();
  });
  byId("all").addEventListener("click", () => {
    state.shown = new Set(models.keys());
    redrawRoc();
    showCurves();
  });
  byId("few").addEventListener("click", () => {
    state.shown = fewModels();
    redrawRoc();
    showCurves();
  });
  state.threshold = chosen().threshold[0];
  refresh();
}
