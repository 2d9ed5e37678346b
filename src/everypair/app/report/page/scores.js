// Scores of both classes: positives upwards, negatives downwards, pale below the threshold.

function drawScores(box, width) {
  const { histogram } = chosen();
  const height = 280, left = 46, right = 10, top = 20, bottom = 42;
  const bins = histogram.positive.length;
  const reach = Math.max(...histogram.positive, ...histogram.negative);
  const x = scale(histogram.low, histogram.high, left, width - right);
  const y = scale(-reach, reach, height - bottom - 24, top);
  const cut = chosen().threshold[state.at];
  const at = Math.min(width - right, Math.max(left, x(cut)));
  const picture = svg("svg", {
    width, height, viewBox: `0 0 ${width} ${height}`, role: "img",
    "aria-label": `Scores of ${chosen().name} in both classes, cut at ${cutWords(state.at)}.`,
  });
  const shares = ticks(0, reach, 2);
  tickWords(shares.map((value) => 100 * value)).forEach((words, i) => {
    for (const side of shares[i] === 0 ? [1] : [1, -1]) {
      const level = y(side * shares[i]);
      picture.append(
        line(left, level, width - right, level, "grid"),
        text(`${words} %`, left - 6, level + 4, { "text-anchor": "end" }),
      );
    }
  });
  const step = (histogram.high - histogram.low) / bins;
  const bar = (from, to, value, kind) => svg("rect", {
    x: Math.min(from, to), width: Math.max(0, to - from), class: kind,
    y: Math.min(y(0), y(value)), height: Math.abs(y(value) - y(0)),
  });
  for (let i = 0; i < bins; i++) {
    const from = x(histogram.low + i * step) + 0.5;
    const to = x(histogram.low + (i + 1) * step) - 0.5;
    const middle = Math.min(to, Math.max(from, at));
    for (const [kind, value] of [["positive", histogram.positive[i]], ["negative", -histogram.negative[i]]]) {
      if (value === 0) continue;
      if (middle > from) picture.append(bar(from, middle, value, `${kind} below`));
      if (to > middle) picture.append(bar(middle, to, value, kind));
    }
  }
  scoreTicks(chosen(), x, width).forEach(([place, words]) =>
    picture.append(text(words, place, height - bottom + 6, { "text-anchor": "middle" })));
  picture.append(
    line(left, y(0), width - right, y(0), "axis"),
    line(at, top - 8, at, height - bottom - 10, "cut"),
    text("missed", left + 4, top - 6),
    text("found", width - right, top - 6, { "text-anchor": "end" }),
    text("left alone", left + 4, height - bottom - 12),
    text("false alarms", width - right, height - bottom - 12, { "text-anchor": "end" }),
    text(scoreName(chosen()), (left + width - right) / 2, height - 8, { "text-anchor": "middle" }),
  );
  onPoint(picture, ([across]) => nearestThreshold(chosen(), x.back(across)));
  box.replaceChildren(picture);
  byId("scores-note").textContent =
    "Upwards positive, downwards negative, each in per cent of its class; pale where the threshold " +
    `calls a row negative.${histogram.gathers ? " The outermost bars gather what lies beyond." : ""}`;
}
