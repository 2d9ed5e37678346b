// The controls: model, rule, slider, costs, curves shown.

let redrawRoc, redrawScores;
let redrawMeasure = () => {}; // where models are judged by AUC there is none

function setByHand(at) {
  state.rule = "hand";
  state.at = at;
  state.threshold = chosen().threshold[at];
  showOutcome();
  redrawScores();
  redrawMeasure();
  roc.move();
}

function showOutcome() {
  const found = outcome();
  const last = chosen().threshold.length - 1;
  const slider = byId("slider");
  slider.max = last;
  slider.value = last - state.at; // to the right the threshold rises
  slider.setAttribute("aria-valuetext",
    `threshold ${significant(found.threshold)}, recall ${decimals(found.recall)}, precision ${decimals(found.precision)}`);
  show("cut", found.threshold, significant(found.threshold));
  for (const name of ["tp", "fp", "fn", "tn"]) show(name, found[name], count(found[name]));
  for (const name of ["precision", "recall", "specificity", "f1"]) {
    show(name, found[name], decimals(found[name]));
  }
  show("cost", found.cost, count(found.cost));
  for (const radio of document.getElementsByName("rule")) {
    radio.checked = radio.value === state.rule;
    radio.disabled = radio.value === "own" && !("own" in chosen().standard);
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
  redrawScores();
  redrawMeasure();
  showCurves();
}

// What another model can take from here: as many of 1,000 rows, or of more where that is none.
function carriedOver(called) {
  const part = called / (totals.positive + totals.negative);
  const advice = "A model fitted anew has scores on another scale: carry over the share called positive, not the threshold.";
  if (data.weighted || part === 0) return [advice];
  let rows = 1000;
  while (rows * part < 1) rows *= 10;
  const top = Math.round(rows * part);
  return [`${advice} Of ${count(rows)} new rows that is the ${count(top)} with the highest scores (`,
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

// An empty or negative cost counts as none.
const costIn = (id) => Math.max(0, byId(id).valueAsNumber || 0);

function startThreshold() {
  state.shown = fewModels();
  models.forEach((model, i) => byId("model").append(html("option", { value: i }, model.name)));
  listCurves();
  redrawRoc = drawnIn("roc", roc.draw);
  redrawScores = drawnIn("scores", drawScores);
  if (data.measure) redrawMeasure = drawnIn("measure", drawMeasure);
  if (!("own" in chosen().standard)) state.rule = "f1";

  byId("model").addEventListener("change", (event) => {
    const before = chosen();
    state.model = Number(event.target.value);
    if (state.rule === "own" && !("own" in chosen().standard)) state.rule = "hand";
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
      state.costs[kind] = costIn(`cost-${kind}`);
      if (state.rule === "cost") refresh();
      else showOutcome();
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
