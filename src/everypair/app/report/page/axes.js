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
