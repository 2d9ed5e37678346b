// Bars of the largest weights of one model.

function drawWeights(place) {
  const { name, weights } = models[place];
  const low = Math.min(0, ...weights.values);
  const high = Math.max(0, ...weights.values);
  const x = scale(low, high > low ? high : low + 1, 0, 100);
  const words = weightWords(Math.max(-low, high));
  const rest = weights.n_used - weights.values.length;
  byId("weights-caption").textContent =
    `${name}: ${count(weights.n_used)} ${weights.n_used === 1 ? "feature has" : "features have"} a weight` +
    (rest > 0 ? `; the ${weights.values.length} largest are shown.` : ".");
  byId("bars").replaceChildren(...weights.values.map((value, i) => {
    const from = Math.min(x(0), x(value));
    const bar = html("span", { class: value < 0 ? "bar minus" : "bar" });
    bar.style.left = `${from}%`;
    bar.style.width = `${Math.abs(x(value) - x(0))}%`;
    const lane = html("span", { class: "lane", "aria-hidden": "true" }, bar);
    lane.style.setProperty("--zero", `${x(0)}%`);
    return html("tr", {},
      html("th", { scope: "row", title: weights.names[i] }, weights.names[i]),
      html("td", {}, lane),
      html("td", {}, (value > 0 ? "+" : "") + words(value)));
  }));
}

// As many decimals for all as give the largest four digits, so that points stand in line.
function weightWords(largest) {
  const digits = 3 - Math.floor(Math.log10(largest));
  const plain = digits >= 0 && digits <= 7;
  return (value) => (plain ? decimals(value, digits) : significant(value, 3));
}

function startWeights() {
  const having = [...models.keys()].filter((i) => models[i].weights);
  if (!having.length) return;
  const list = byId("weights-of");
  having.forEach((i) => list.append(html("option", { value: i }, models[i].name)));
  list.addEventListener("change", () => drawWeights(Number(list.value)));
  drawWeights(having[0]);
}
