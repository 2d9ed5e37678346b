// Elements and numbers. Text enters the page as text nodes alone, never as markup.

const data = JSON.parse(document.getElementById("data").textContent);
const byId = (id) => document.getElementById(id);

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}
const html = (name, attributes = {}, ...children) =>
  fill(document.createElement(name), attributes, children);
const svg = (name, attributes = {}, ...children) =>
  fill(document.createElementNS("http://www.w3.org/2000/svg", name), attributes, children);

// Show a number in words and keep it whole in the value of the <data> element.
function show(id, value, words) {
  byId(id).value = value;
  byId(id).textContent = words;
}

const grouped = new Intl.NumberFormat("en", { maximumFractionDigits: 1 });
const count = (value) => grouped.format(value);
const plural = (value, one, several) => `${count(value)} ${value === 1 ? one : several}`;
const decimals = (value, digits = 3) => value.toFixed(digits).replace("-", "−");
const share = (value) => `${decimals(100 * value, 1)}\u00a0%`;

// Four digits, without a row of zeros behind the point.
function significant(value, digits = 4) {
  if (value === 0) return "0";
  const size = Math.floor(Math.log10(Math.abs(value)));
  const words = size < -4 || size > 6 ? value.toExponential(digits - 1) : value.toPrecision(digits);
  const tidy = words.includes("e") ? Number(words).toExponential() : String(Number(words));
  return tidy.replaceAll("-", "−").replace("e+", "e");
}

const shortened = (text, length) =>
  [...text].length > length ? `${[...text].slice(0, length - 1).join("")}…` : text;

// Draw now and whenever the width of the box changes.
function drawnIn(id, draw) {
  const box = byId(id);
  let width = 0;
  const redraw = () => draw(box, Math.max(220, Math.round(box.clientWidth)));
  new ResizeObserver(() => {
    if (box.clientWidth !== width && box.clientWidth > 0) {
      width = box.clientWidth;
      redraw();
    }
  }).observe(box);
  return redraw;
}
