// The curves of an additive model: a panel per column, all on one scale.

const PANEL = { width: 300, height: 190, left: 40, right: 14, top: 8, rows: 26, bottom: 20 };
const N_BARS = 30;

function drawShapes(panels) {
  const box = byId("shapes");
  box.hidden = !panels.length;
  const all = panels.flatMap(({ y, missing }) => (missing === null ? y : [...y, missing]));
  const low = Math.min(0, ...all), high = Math.max(0, ...all);
  const room = 0.06 * (high - low || 1);
  byId("shape-panels").replaceChildren(...panels.map((panel) => {
    const picture = panel.labels.length ? categories(panel, low - room, high + room)
      : shapeCurve(panel, low - room, high + room);
    return html("figure", {}, html("figcaption", { title: panel.name }, panel.name), picture);
  }));
}

function shapeFrame(name, low, high) {
  const { width, height, left, right, top, rows, bottom } = PANEL;
  const y = scale(low, high, height - bottom - rows, top);
  const picture = svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img",
    "aria-label": `What ${name} adds to the score.` });
  const levels = ticks(low, high, 4);
  tickWords(levels).forEach((words, i) => picture.append(
    line(left, y(levels[i]), width - right, y(levels[i]), levels[i] === 0 ? "axis" : "grid"),
    text(words, left - 6, y(levels[i]) + 4, { "text-anchor": "end" })));
  return { picture, y };
}

// A step per bin, half way to its neighbours, and the rows in bars of equal width below.
function shapeCurve({ name, x: places, y: values, share, missing }, low, high) {
  const { width, height, left, right, rows, bottom } = PANEL;
  const { picture, y } = shapeFrame(name, low, high);
  const first = places[0], last = places.at(-1) > first ? places.at(-1) : first + 1;
  const x = scale(first, last, left, width - right);
  const points = [];
  values.forEach((value, i) => {
    const from = i ? (places[i - 1] + places[i]) / 2 : first;
    const to = i + 1 < places.length ? (places[i] + places[i + 1]) / 2 : last;
    points.push([x(from), y(value)], [x(to), y(value)]);
  });
  const counts = new Array(N_BARS).fill(0);
  places.forEach((place, i) => {
    counts[Math.min(N_BARS - 1, Math.floor((N_BARS * (place - first)) / (last - first)))] += share[i];
  });
  const most = Math.max(...counts), wide = (width - left - right) / N_BARS;
  counts.forEach((part, i) => {
    const tall = (rows - 4) * (part / most);
    picture.append(svg("rect", { class: "rows", x: left + i * wide, width: wide - 1,
      y: height - bottom - tall, height: tall }));
  });
  picture.append(svg("path", { class: "step", d: pathOf(points) }));
  const marks = ticks(first, last, 5);
  tickWords(marks).forEach((words, i) => picture.append(
    text(words, x(marks[i]), height - 5, { "text-anchor": "middle" })));
  if (missing !== null) {
    picture.append(svg("circle", { class: "gap", cx: width - 6, cy: y(missing), r: 4 },
      svg("title", {}, `missing: ${significant(missing, 3)}`)));
  }
  return picture;
}

function categories({ name, labels, y: values, share }, low, high) {
  const { width, height, left, right, rows, bottom } = PANEL;
  const { picture, y } = shapeFrame(name, low, high);
  const wide = (width - left - right) / labels.length;
  const letters = Math.max(3, Math.floor(wide / 6.5));
  labels.forEach((label, i) => {
    const top = Math.min(y(0), y(values[i])), tall = Math.abs(y(values[i]) - y(0));
    picture.append(
      svg("rect", { class: values[i] < 0 ? "down" : "up", x: left + (i + 0.15) * wide, y: top,
        width: 0.7 * wide, height: tall },
      svg("title", {}, `${label}: ${significant(values[i], 3)}`)),
      svg("rect", { class: "rows", x: left + (i + 0.15) * wide, width: 0.7 * wide,
        y: height - bottom - (rows - 4) * share[i], height: (rows - 4) * share[i] }),
      text(shortened(label, letters), left + (i + 0.5) * wide, height - 5, { "text-anchor": "middle" }));
  });
  return picture;
}
