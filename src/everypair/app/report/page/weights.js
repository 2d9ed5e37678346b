// The columns of the table in one model: what each is worth, and the weights of its features.

function drawWeights(place) {
  const { name, columns, n_used: used, panels } = models[place];
  drawShapes(panels);
  const worth = columns.some((column) => column.lost !== null);
  byId("weights-caption").textContent = [
    `${name}: the ${columns.length === 1 ? "column" : `${columns.length} columns`} worth most`,
    panels.length ? "its curves are below" : used === null ? "it has no weights" : `${plural(used, "feature has", "features have")} a weight`,
  ].slice(worth ? 0 : 1).join("; ") + ".";
  const lost = barsOf(columns.map((column) => column.lost ?? 0));
  const weigh = barsOf(columns.flatMap((column) => column.features.map(({ weight }) => weight ?? 0)));
  byId("bars").replaceChildren(...columns.flatMap((column) => [
    ...(worth ? [columnRow(column, lost)] : []),
    ...column.features.map((feature) => featureRow(feature, weigh, worth)),
  ]));
}

function columnRow({ name, alone, lost, spread, goes }, bar) {
  return html("tr", { class: "column" },
    html("th", { scope: "row", title: name }, name),
    html("td", { class: "number" }, alone === null ? "–" : decimals(alone)),
    html("td", { class: "number" }, decimals(lost), html("small", {}, ` ± ${decimals(spread)}`)),
    html("td", {}, bar(lost)),
    html("td", {}, goes));
}

function featureRow({ name, weight }, bar, indented) {
  const words = weight === null ? "" : `${weight > 0 ? "+" : ""}${significant(weight, 3)}`;
  return html("tr", { class: indented ? "feature" : "" },
    html("th", { scope: "row", title: name }, name), html("td"), html("td"),
    html("td", {}, ...(weight === null ? [] : [bar(weight)])), html("td", {}, words));
}

// Bars on one scale, from zero to the left or to the right.
function barsOf(values) {
  const low = Math.min(0, ...values), high = Math.max(0, ...values);
  const x = scale(low, high > low ? high : low + 1, 0, 100);
  return (value) => {
    const bar = html("span", { class: value < 0 ? "bar minus" : "bar" });
    bar.style.left = `${Math.min(x(0), x(value))}%`;
    bar.style.width = `${Math.abs(x(value) - x(0))}%`;
    const lane = html("span", { class: "lane", "aria-hidden": "true" }, bar);
    lane.style.setProperty("--zero", `${x(0)}%`);
    return lane;
  };
}

function startWeights() {
  const having = [...models.keys()].filter((i) => models[i].columns.length);
  if (!having.length) return;
  const list = byId("weights-of");
  having.forEach((i) => list.append(html("option", { value: i }, models[i].name)));
  list.addEventListener("change", () => drawWeights(Number(list.value)));
  const first = having.includes(state.model) ? state.model : having[0];
  list.value = first;
  drawWeights(first);
}
