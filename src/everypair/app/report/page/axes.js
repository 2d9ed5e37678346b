// Scales, ticks and the frame of a chart.

const scale = (from, to, start, end) => {
  const place = (value) => start + ((value - from) / (to - from)) * (end - start);
  place.back = (pixel) => from + ((pixel - start) / (end - start)) * (to - from);
  return place;
};

// Round values between low and high, about as many as asked: steps of 1, 2 or 5 by ten.
function ticks(low, high, wanted) {
  const rough = (high - low) / Math.max(1, wanted);
  const ten = 10 ** Math.floor(Math.log10(rough));
  const step = ten * [1, 2, 5, 10].find((factor) => factor * ten >= rough * 0.999);
  const found = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + step * 1e-9; k++) {
    found.push(Number((k * step).toPrecision(12)));
  }
  return found;
}

// The fewest digits that tell the ticks apart.
function tickWords(values) {
  const step = values.length > 1 ? Math.abs(values[1] - values[0]) : Math.abs(values[0]) || 1;
  const reach = Math.max(...values.map(Math.abs), step);
  if (reach >= 1e6 || reach < 1e-4) {
    const digits = Math.max(0, Math.floor(Math.log10(reach)) - Math.floor(Math.log10(step)));
    return values.map((value) => (value === 0 ? "0" : value.toExponential(digits).replace("e+", "e")));
  }
  const digits = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
  return values.map((value) => decimals(value, digits));
}

const line = (x1, y1, x2, y2, kind) => svg("line", { x1, y1, x2, y2, class: kind });

function text(words, x, y, attributes = {}) {
  return svg("text", { x, y, ...attributes }, words);
}

const pathOf = (points) =>
  points.map(([x, y], i) => `${i ? "L" : "M"}${x.toFixed(1)} ${y.toFixed(1)}`).join("");

const LINE_DASHES = ["", "7 3", "2 3", "9 3 2 3", "12 3", "5 2 1 2 1 2", "3 2"];
const lineStyle = (number) => {
  const round = Math.floor(number / 7);
  return {
    stroke: `var(--line-${number % 7})`,
    "stroke-dasharray": LINE_DASHES[(number + 3 * round) % LINE_DASHES.length],
  };
};

// An empty chart: its scales, grid, ticks and the names of its axes; shares in per cent.
function framed(width, height, [x0, x1], [y0, y1], xName, yName, yShares) {
  const left = 52, right = 12, top = 10, bottom = 44;
  const x = scale(x0, x1, left, width - right), y = scale(y0, y1, height - bottom, top);
  const picture = svg("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img" });
  const words = (values, shares) =>
    (shares ? tickWords(values.map((v) => 100 * v)).map((word) => `${word} %`) : tickWords(values));
  const across = ticks(x0, x1, Math.min(5, width / 80)), up = ticks(y0, y1, 5);
  words(across, true).forEach((word, i) => picture.append(
    line(x(across[i]), y(y0), x(across[i]), y(y1), "grid"),
    text(word, x(across[i]), y(y0) + 18, { "text-anchor": "middle" })));
  words(up, yShares).forEach((word, i) => picture.append(
    line(x(x0), y(up[i]), x(x1), y(up[i]), "grid"),
    text(word, x(x0) - 7, y(up[i]) + 4, { "text-anchor": "end" })));
  picture.append(
    line(x(x0), y(y0), x(x1), y(y0), "axis"), line(x(x0), y(y0), x(x0), y(y1), "axis"),
    text(xName, (x(x0) + x(x1)) / 2, height - 6, { "text-anchor": "middle" }),
    text(yName, 11, (y(y0) + y(y1)) / 2, {
      "text-anchor": "middle", transform: `rotate(-90 11 ${(y(y0) + y(y1)) / 2})`,
    }));
  return { picture, x, y };
}

// Places and words of an axis of scores: probabilities where the model has them.
const CHANCES = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 0.9, 0.95, 0.98, 0.99, 0.999];
function scoreTicks(model, x, width) {
  const { low, high } = model.histogram;
  if (!model.probability) {
    const marks = ticks(low, high, width / 90);
    return tickWords(marks).map((words, i) => [x(marks[i]), words]);
  }
  const found = [];
  for (const chance of CHANCES) {
    const score = scoreOf(model, chance);
    const room = score !== null && score >= low && score <= high;
    if (room && (!found.length || x(score) - found.at(-1)[0] > 52)) {
      found.push([x(score), `${Number((100 * chance).toPrecision(3))} %`]);
    }
  }
  return found;
}

// The score of a probability, between the two cuts around it; null beyond them.
function scoreOf({ threshold, probability }, wanted) {
  const after = probability.findIndex((chance) => chance <= wanted); // they fall
  if (after < 1) return null;
  const part = (wanted - probability[after]) / (probability[after - 1] - probability[after] || 1);
  return threshold[after] + part * (threshold[after - 1] - threshold[after]);
}

const scoreName = (model) => (model.probability ? "Probability" : "Score");
