// The measure against the threshold: pale where its quota is not met.

function drawMeasure(box, width) {
  const { histogram, threshold, standard, measure } = chosen();
  const height = 300, left = 46, right = 10, top = 30, bottom = 44;
  const high = Math.max(...measure.value), low = Math.min(0, ...measure.value);
  const x = scale(histogram.low, histogram.high, left, width - right);
  const y = scale(low, high > low ? high : low + 1, height - bottom, top);
  const inside = (cut) => Math.min(width - right, Math.max(left, x(cut)));
  const picture = svg("svg", {
    width, height, viewBox: `0 0 ${width} ${height}`, role: "img",
    "aria-label": `${data.measure.axis} of ${chosen().name} against the threshold: ` +
      `${decimals(measure.value[state.at])} at ${cutWords(state.at)}.`,
  });
  const levels = ticks(low, high > low ? high : low + 1, 5);
  tickWords(levels).forEach((words, i) => picture.append(
    line(left, y(levels[i]), width - right, y(levels[i]), levels[i] === 0 ? "axis" : "grid"),
    text(words, left - 8, y(levels[i]) + 4, { "text-anchor": "end" })));
  scoreTicks(chosen(), x, width).forEach(([place, words]) =>
    picture.append(text(words, place, height - bottom + 18, { "text-anchor": "middle" })));
  picture.append(
    text(`Threshold (${scoreName(chosen()).toLowerCase()})`, (left + width - right) / 2, height - 8, { "text-anchor": "middle" }));
  const points = threshold.map((cut, i) => [x(cut), y(measure.value[i])]);
  for (const [from, to, met] of runs(measure.met)) {
    const drawn = points.slice(met ? from : Math.max(0, from - 1), met ? to : to + 1)
      .filter(([across]) => across >= left - 0.5 && across <= width - right + 0.5);
    if (drawn.length) picture.append(svg("path", {
      class: met ? "curve chosen" : "curve chosen unmet", d: pathOf(drawn), ...lineStyle(state.model),
    }));
  }
  const best = standard.measure;
  const place = inside(threshold[best]);
  const lean = place < left + 90 ? "start" : place > width - right - 90 ? "end" : "middle";
  picture.append(
    line(place, top - 6, place, height - bottom, "guide"),
    text(`${data.measure.free ? "best" : data.measure.axis.toLowerCase()} ${decimals(measure.value[best])} at ${cutWords(best)}`,
      place, top - 12, { "text-anchor": lean, class: "name" }),
    line(inside(threshold[state.at]), top - 6, inside(threshold[state.at]), height - bottom, "cut"),
    svg("circle", { r: 6, class: "point", cx: inside(threshold[state.at]), cy: y(measure.value[state.at]) }));
  onPoint(picture, ([across]) => nearestThreshold(chosen(), x.back(across)));
  box.replaceChildren(picture);
  byId("measure-note").textContent = measureWords(measure.value[best], measure.value[state.at]);
}

// Stretches of equal values: [from, to, value], `to` excluded.
function runs(values) {
  const found = [];
  values.forEach((value, i) => {
    if (i && value === values[i - 1]) found.at(-1)[1] = i + 1;
    else found.push([i, i + 1, value]);
  });
  return found;
}

function measureWords(best, here) {
  const { axis, condition, free, label } = data.measure;
  const words = [`${axis} at the threshold set above: ${decimals(here)}.`];
  if (free) {
    words.push(`The best threshold of these rows gives ${decimals(best)}. In the table ` +
      `${chosen().name} has ${decimals(chosen().judged)}: there each fold has the threshold that is best for the other folds.`);
  } else if (condition) {
    words.push(`The line is pale where the condition, ${condition}, is not met. ` +
      `In the table ${chosen().name} has ${decimals(chosen().judged)}, the mean over the folds.`);
  } else {
    words.push(`The table has the ${label}; the dashed line is the threshold of the best F1.`);
  }
  return words.join(" ");
}
