// The L1 path: a line a feature, names at the right, the chosen alpha.

const N_NAMED = 10;

function drawPath(box, width) {
  const { alphas, coef, names, chosen: alpha, n_nonzero: entered } = data.path;
  const height = 380, left = 56, top = 40, bottom = 44;
  const letters = width < 500 ? 12 : 24;
  const right = Math.min(0.42 * width, 14 + 7 * Math.max(0, ...names.slice(0, N_NAMED).map((n) => Math.min([...n].length, letters))));
  const logs = alphas.map((value) => -Math.log10(value));
  const first = logs[0];
  const last = logs.at(-1) > first ? logs.at(-1) : first + 1;
  const all = coef.flat();
  const low = Math.min(0, ...all), high = Math.max(0, ...all);
  const x = scale(first, last, left, width - right);
  const y = scale(low, high > low ? high : low + 1, height - bottom, top);
  const picture = svg("svg", {
    width, height, viewBox: `0 0 ${width} ${height}`, role: "img",
    "aria-label": `Weights of ${names.length} features along ${alphas.length} penalties.`,
  });
  const levels = ticks(low, high > low ? high : low + 1, 6);
  tickWords(levels).forEach((words, i) => picture.append(
    line(left, y(levels[i]), width - right, y(levels[i]), levels[i] === 0 ? "axis" : "grid"),
    text(words, left - 8, y(levels[i]) + 4, { "text-anchor": "end" })));
  for (const [place, value] of alphaMarks(first, last, x)) {
    const at = nearest(logs, (log) => Math.abs(log + Math.log10(value)));
    picture.append(
      line(place, height - bottom, place, height - bottom + 5, "axis"),
      text(significant(value, 2), place, height - bottom + 19, { "text-anchor": "middle" }),
      text(count(entered[at]), place, 14, { "text-anchor": "middle" }));
  }
  picture.append(
    text("features", 0, 14),
    text("alpha, falling", (left + width - right) / 2, height - 6, { "text-anchor": "middle" }));
  const curve = (values) => pathOf(values.map((value, i) => [x(logs[i]), y(value)]));
  coef.slice(N_NAMED).forEach((values) =>
    picture.append(svg("path", { class: "curve other", d: curve(values) })));
  coef.slice(0, N_NAMED).forEach((values, i) =>
    picture.append(svg("path", { class: "curve", d: curve(values), ...lineStyle(i) })));
  if (alpha !== null) {
    const at = Math.min(width - right, Math.max(left, x(-Math.log10(alpha))));
    const lean = at < left + 60 ? "start" : at > width - right - 60 ? "end" : "middle";
    picture.append(line(at, top - 6, at, height - bottom, "cut"),
      text(`chosen ${significant(alpha, 3)}`, at, top - 10, { "text-anchor": lean, class: "name" }));
  }
  nameEnds(picture, coef.slice(0, N_NAMED).map((values) => y(values.at(-1))), width - right, letters, [top, height - bottom]);
  box.replaceChildren(picture);
}

// Powers of ten, or when fewer than two fit, the two ends.
function alphaMarks(first, last, x) {
  const found = [];
  const step = Math.max(1, Math.ceil((last - first) / Math.max(2, (x(last) - x(first)) / 70)));
  for (let power = Math.ceil(first - 1e-9); power <= last + 1e-9; power += step) {
    found.push([x(power), 10 ** -power]);
  }
  return found.length > 1 ? found : [[x(first), 10 ** -first], [x(last), 10 ** -last]];
}

// Names beside the ends of their lines, pushed apart where they would overlap.
function nameEnds(picture, ends, x, letters, [top, bottom]) {
  const order = [...ends.keys()].sort((a, b) => ends[a] - ends[b]);
  const room = 15;
  const places = order.map((i) => ends[i]);
  for (let k = 1; k < places.length; k++) places[k] = Math.max(places[k], places[k - 1] + room);
  if (places.length && places.at(-1) > bottom) places[places.length - 1] = bottom;
  for (let k = places.length - 2; k >= 0; k--) places[k] = Math.min(places[k], places[k + 1] - room);
  order.forEach((i, k) => picture.append(
    svg("line", { x1: x + 1, y1: ends[i], x2: x + 9, y2: places[k], ...lineStyle(i), "stroke-dasharray": "" }),
    svg("text", { x: x + 13, y: Math.max(places[k], top - 20) + 4, class: "name" },
      svg("title", {}, data.path.names[i]), shortened(data.path.names[i], letters))));
}

function startPath() {
  if (!byId("path")) return;
  const { names, n_entered: entered, n_nonzero: counts, alphas, chosen: alpha, rule } = data.path;
  const words = [`${plural(entered, "feature enters", "features enter")}; ` +
    `the ${Math.min(N_NAMED, names.length)} with the largest weights are named.`];
  if (entered > names.length) words.push(`${count(names.length)} are drawn.`);
  if (alpha !== null) {
    const at = nearest(alphas, (value) => Math.abs(Math.log(value / alpha)));
    words.push(`At the chosen alpha ${plural(counts[at], "has", "have")} a weight.`);
    if (rule) words.push(rule);
  }
  byId("path-note").textContent = words.join(" ");
  drawnIn("path", drawPath);
}
