"use strict";
// Elements and numbers. Text only ever enters the page as text nodes and attributes, never as
// markup: names of classes and videos come from other people's files.

const SVG = "http://www.w3.org/2000/svg";

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== null && value !== undefined) element.setAttribute(name, value);
  }
  element.append(...children.filter((child) => child !== null));
  return element;
}

const make = (tag, attributes = {}, ...children) =>
  fill(document.createElement(tag), attributes, children);

const draw = (tag, attributes = {}, ...children) =>
  fill(document.createElementNS(SVG, tag), attributes, children);

const count = (number) => number.toLocaleString("en-US");

// As Python writes it: a quarter lies between two decimals and goes to the even one, down to .2,
// where toFixed goes up. (Three quarters go up to .8 with both, and no other float is a tie.)
const evened = (number) => (number % 1 === 0.25 ? number - 0.05 : number);
const percent = (number) => (number === null ? "–" : evened(number).toFixed(1));

function swatch(column) {
  const line = draw("path", { class: "line", d: "M1 4H21" });
  const box = { class: `swatch column-${column}`, viewBox: "0 0 22 8", width: 22, height: 8 };
  return draw("svg", { ...box, "aria-hidden": "true" }, line);
}

// A table of numbers for those who cannot see a chart or want to copy it; filled when opened.
function numbersBelow(label, heads, rows) {
  const details = make("details", { class: "numbers" }, make("summary", {}, "Numbers"));
  details.addEventListener("toggle", () => {
    if (!details.open || details.querySelector("table")) return;
    const cell = (value, i) =>
      i ? make("td", { class: "number" }, value) : make("th", { scope: "row" }, value);
    const table = make(
      "table", { "aria-label": label },
      make("thead", {}, make("tr", {}, ...heads.map((head, i) =>
        make("th", { scope: "col", class: i ? "number" : null }, head)))),
      make("tbody", {}, ...rows().map((row) => make("tr", {}, ...row.map(cell)))),
    );
    const region = { class: "scroll", role: "region", "aria-label": label, tabindex: 0 };
    details.append(make("div", region, table));
  });
  return details;
}
