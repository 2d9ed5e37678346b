// Charts of the chosen model that follow the threshold: each turns counts into a place.

const everyone = totals.positive + totals.negative;
const average = totals.positive / everyone;

const CHARTS = {
  gain: {
    x: "Rows, highest scores first", y: "Positives found",
    at: ({ tp, fp }) => [(tp + fp) / everyone, tp / totals.positive],
    chance: [[0, 0], [1, 1]],
    band: (model) => model.gain_band,
    words: ([x, y]) => `The top ${share(x)} of the rows contain ${share(y)} of the positives.`,
  },
  lift: {
    x: "Rows, highest scores first", y: "Times the average", plain: true,
    at: ({ tp, fp }) => [(tp + fp) / everyone, tp / (tp + fp) / average],
    chance: [[0, 1], [1, 1]],
    band: ({ gain_band: gain }) => gain && {
      at: gain.at, low: gain.low.map((v, i) => v / gain.at[i]), high: gain.high.map((v, i) => v / gain.at[i]),
    },
    words: ([x, y]) => `In the top ${share(x)} of the rows positives are ${decimals(y, 2)} times as frequent as on average.`,
  },
  precision: {
    x: "Recall", y: "Precision",
    at: ({ tp, fp }) => [tp / totals.positive, tp / (tp + fp)],
    chance: [[0, average], [1, average]],
    band: (model) => model.precision_band,
    words: ([x, y]) => `At a recall of ${share(x)} the precision is ${share(y)}.`,
  },
  cost: {
    x: "Rows called positive", y: "Cost", plain: true,
    at: ({ tp, fp }) => [(tp + fp) / everyone, costOf(tp, fp)],
    mark: (model) => leastCost(model),
    words: ([x, y], points, mark) => `Calling ${share(x)} of the rows costs ${count(y)}. ` +
      `The least cost is ${count(points[mark][1])}, where ${share(points[mark][0])} are called.`,
  },
};

// Numbers of a chart's model that do not depend on the threshold.
const figured = (name, [value, low, high]) => `${name} ${decimals(value)} (${decimals(low)} to ${decimals(high)})`;
const FIGURES = {
  precision: ({ average_precision: mean }) =>
    mean && `${figured("Average precision", mean)}; at random ${decimals(average)}.`,
  calibration: ({ brier_score: brier, calibration_error: error }) =>
    brier && `${figured("Calibration error", error)}. ${figured("Brier score", brier)}; ` +
      `${decimals(average * (1 - average))} with the average for every row.`,
};

const countsAt = (model, i) => ({ tp: model.tp[i], fp: model.fp[i] });
const drawable = ([x, y]) => Number.isFinite(x) && Number.isFinite(y);

function drawChart(name, box, width) {
  const chart = CHARTS[name], model = chosen();
  const points = model.threshold.map((_, i) => chart.at(countsAt(model, i)));
  const band = chart.band?.(model);
  const high = chart.plain ? Math.max(...points.filter(drawable).map(([, y]) => y), ...(band?.high ?? []), 1e-9) : 1;
  const { picture, x, y } = framed(width, 300, [0, 1], [0, 1.04 * high], chart.x, chart.y, !chart.plain);
  if (chart.chance) {
    const [from, to] = chart.chance;
    picture.append(line(x(from[0]), y(from[1]), x(to[0]), y(to[1]), "chance"));
  }
  if (band) picture.append(bandBetween(band, x, y, state.model));
  picture.append(svg("path", {
    class: "curve chosen", ...lineStyle(state.model),
    d: pathOf(points.filter(drawable).map(([across, up]) => [x(across), y(up)])),
  }));
  const mark = chart.mark?.(model);
  if (chart.mark) {
    const [across, up] = points[mark].map((value, axis) => (axis ? y : x)(value));
    picture.append(line(across, y(0), across, up, "guide"), svg("circle", { r: 3.5, cx: across, cy: up, class: "least" }),
      // Below the curve, where nothing is drawn, and on the side that has room.
      svg("text", points[mark][0] < 0.7 ? { x: across + 7, y: up + 20 } : { x: across - 7, y: up + 20, "text-anchor": "end" },
        "least cost"));
  }
  finish(name, picture, box, x, y, chart.at(outcome()), (found) => chart.words(found, points, mark));
  onPoint(picture, ([across]) => nearest(points, (point) => Math.abs(x(point[0]) - across)));
}

// Bars of rows by predicted probability: how many of them are positive, with intervals.
function drawCalibration(box, width) {
  const model = chosen(), { predicted, observed, low, high } = model.calibration;
  const top = Math.min(1, 1.1 * Math.max(...predicted, ...high));
  const { picture, x, y } = framed(width, 300, [0, top], [0, top], "Predicted probability", "Share of positives", true);
  picture.append(line(x(0), y(0), x(top), y(top), "chance"),
    bandBetween({ at: predicted, low, high }, x, y, state.model));
  picture.append(svg("path", {
    class: "curve chosen", d: pathOf(predicted.map((p, i) => [x(p), y(observed[i])])), ...lineStyle(state.model),
  }));
  predicted.forEach((p, i) => picture.append(
    svg("circle", { cx: x(p), cy: y(observed[i]), r: 3, fill: `var(--line-${state.model % 7})` })));
  const here = model.probability[state.at];
  const place = nearest(predicted, (p) => Math.abs(p - here));
  const at = x(Math.min(top, here));
  picture.append(line(at, y(0), at, y(top), "cut"));
  finish("calibration", picture, box, x, y, null, () =>
    `Near the threshold, ${share(here)}: of rows given ${share(predicted[place])} on average, ` +
    `${share(observed[place])} are positive (${share(low[place])} to ${share(high[place])}).`);
  onPoint(picture, ([across]) => nearest(model.probability, (p) => Math.abs(x(Math.min(p, top)) - across)));
}

function finish(name, picture, box, x, y, found, words) {
  const known = !found || drawable(found);
  const text = known ? words(found) : "No row is classified as positive.";
  if (found && known) {
    picture.append(line(x(found[0]), y(0), x(found[0]), y(found[1]), "guide"),
      svg("circle", { r: 6, class: "point", cx: x(found[0]), cy: y(found[1]) }));
  }
  picture.setAttribute("aria-label", text);
  box.replaceChildren(picture);
  byId(`${name}-note`).textContent = text;
  byId(`${name}-figures`).textContent = FIGURES[name]?.(chosen().figures) ?? "";
}

function bandBetween({ at, low, high }, x, y, number) {
  const upper = high.map((value, i) => [x(at[i]), y(value)]);
  const lower = low.map((value, i) => [x(at[i]), y(value)]);
  return svg("path", {
    class: "band chosen", d: `${pathOf(upper.concat(lower.reverse()))}Z`, fill: `var(--line-${number % 7})`,
  });
}

function startCharts() {
  for (const name of Object.keys(CHARTS)) {
    following.push(drawnIn(`${name}-chart`, (box, width) => drawChart(name, box, width)));
  }
  if (byId("calibration-chart")) following.push(drawnIn("calibration-chart", drawCalibration));
}
