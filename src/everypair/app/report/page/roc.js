// ROC curves with bands, and the point where the chosen model is cut.

const roc = { point: null };

const curveOf = (model) =>
  model.threshold.map((_, i) => [model.fp[i] / totals.negative, model.tp[i] / totals.positive]);

roc.draw = (box, width) => {
  const side = Math.min(width, 560);
  const left = 46, bottom = 44, top = 8, right = 10;
  const x = scale(0, 1, left, side - right);
  const y = scale(0, 1, side - bottom, top);
  const picture = svg("svg", { width: side, height: side, viewBox: `0 0 ${side} ${side}`, role: "img" });
  const marks = ticks(0, 1, side < 340 ? 4 : 5);
  tickWords(marks).forEach((words, i) => {
    const value = marks[i];
    picture.append(
      line(x(value), y(0), x(value), y(1), "grid"),
      line(x(0), y(value), x(1), y(value), "grid"),
      text(words, x(value), y(0) + 18, { "text-anchor": "middle" }),
      text(words, x(0) - 8, y(value) + 4, { "text-anchor": "end" }),
    );
  });
  picture.append(
    line(x(0), y(0), x(1), y(0), "axis"),
    line(x(0), y(0), x(0), y(1), "axis"),
    line(x(0), y(0), x(1), y(1), "chance"),
    text("False positive rate (false alarms)", x(0.5), side - 6, { "text-anchor": "middle" }),
    text("True positive rate (recall)", 12, y(0.5), {
      "text-anchor": "middle", transform: `rotate(-90 12 ${y(0.5)})`,
    }),
  );
  // The chosen one last, so that it lies on top.
  const order = [...state.shown].filter((i) => i !== state.model).concat(state.model);
  for (const i of order) {
    const wanted = state.bands === "shown" || (state.bands === "chosen" && i === state.model);
    if (wanted && models[i].band) picture.append(bandOf(models[i], i, x, y));
  }
  for (const i of order) {
    picture.append(svg("path", {
      class: i === state.model ? "curve chosen" : "curve",
      d: pathOf(curveOf(models[i]).map(([across, up]) => [x(across), y(up)])),
      ...lineStyle(i),
    }));
  }
  roc.across = line(0, 0, 0, 0, "guide");
  roc.up = line(0, 0, 0, 0, "guide");
  roc.point = svg("circle", { r: 6, class: "point" });
  picture.append(roc.across, roc.up, roc.point);
  Object.assign(roc, { x, y, picture });
  onPoint(picture, (pixel) => nearestOnCurve(pixel));
  box.replaceChildren(picture);
  roc.move();
};

function bandOf(model, number, x, y) {
  const last = model.band.low.length - 1;
  const upper = model.band.high.map((value, i) => [x(i / last), y(value)]);
  const lower = model.band.low.map((value, i) => [x(i / last), y(value)]);
  return svg("path", {
    class: number === state.model ? "band chosen" : "band",
    d: `${pathOf(upper.concat(lower.reverse()))}Z`,
    fill: `var(--line-${number % 7})`,
  });
}

roc.move = () => {
  if (!roc.point) return;
  const found = outcome();
  const across = roc.x(1 - found.specificity);
  const up = roc.y(found.recall);
  fill(roc.point, { cx: across, cy: up }, []);
  fill(roc.across, { x1: roc.x(0), x2: across, y1: up, y2: up }, []);
  fill(roc.up, { x1: across, x2: across, y1: roc.y(0), y2: up }, []);
  roc.picture.setAttribute("aria-label",
    `ROC curves. ${chosen().name}: true positive rate ${decimals(found.recall)} at false ` +
    `positive rate ${decimals(1 - found.specificity)}.`);
};

function nearestOnCurve([across, up]) {
  return nearest(curveOf(chosen()), ([fpr, tpr]) => Math.hypot(roc.x(fpr) - across, roc.y(tpr) - up));
}

// A tap, or a drag of the mouse; a finger that drags scrolls the page as ever.
function onPoint(picture, find) {
  const set = (event) => {
    const frame = picture.getBoundingClientRect();
    setByHand(find([event.clientX - frame.left, event.clientY - frame.top]));
  };
  picture.addEventListener("click", set);
  picture.addEventListener("pointermove", (event) => {
    if (event.pointerType === "mouse" && event.buttons === 1) set(event);
  });
}
