// Tables: rows sorted by a heading's button, and the matrices of classes and videos.

const FIRST_ROWS = 15;

const valueOf = (row, place) => row.children[place].dataset.value;

function compare(place, direction) {
  return (one, other) => {
    const a = valueOf(one, place), b = valueOf(other, place);
    if (a === "" || b === "") return (a === "") - (b === "");
    const numbers = !Number.isNaN(Number(a)) && !Number.isNaN(Number(b));
    return direction * (numbers ? Number(a) - Number(b) : a.localeCompare(b));
  };
}

// A group's heading stays on top of its rows and a mean below them, whatever the order.
const weight = (row) => (row.classList.contains("group") ? -1 : row.classList.contains("mean") ? 1 : 0);

function sortRows(table, place, direction, original) {
  [...table.tBodies].forEach((body, i) => {
    const rows = [...original[i]];
    const byValue = direction ? compare(place, direction) : () => 0;
    rows.sort((one, other) => weight(one) - weight(other) || byValue(one, other));
    body.append(...rows);
  });
}

// Ascending, then descending, then the first order again. `after` runs when rows have moved.
function makeSortable(table, after = () => {}) {
  const original = [...table.tBodies].map((body) => [...body.rows]);
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, place) => {
    head.querySelector("button").addEventListener("click", () => {
      const before = head.getAttribute("aria-sort");
      const next = { none: "ascending", ascending: "descending", descending: "none" }[before];
      heads.forEach((one) => one.setAttribute("aria-sort", "none"));
      head.setAttribute("aria-sort", next);
      sortRows(table, place, { none: 0, ascending: 1, descending: -1 }[next], original);
      after();
    });
  });
}

function matrixHead(columns, kind) {
  const head = (text, attributes = {}, ...before) => make(
    "th", { scope: "col", "aria-sort": "none", ...attributes },
    make("button", { type: "button" }, ...before, make("span", {}, text)),
  );
  return make("thead", {}, make(
    "tr", {},
    head(kind === "classes" ? "Class" : "Video"),
    kind === "videos" ? head("Class") : null,
    head("Frames", { class: "number" }),
    ...columns.map((column) =>
      head(data.columns[column].name, { class: "number" }, swatch(column))),
    head("Spread", { class: "number", title: "Highest minus lowest", "aria-sort": "descending" }),
  ));
}

function matrixRow(row, columns, places, kind) {
  const errors = places.map((place) => row.errors[place]);
  const known = errors.filter((error) => error !== null);
  const lowest = Math.min(...known), spread = Math.max(...known) - lowest;
  const cells = errors.map((error) => {
    const best = columns.length > 1 && error === lowest && spread > 0;
    const cell = make(
      "td", { class: `number heat${best ? " lowest" : ""}`, "data-value": error ?? "" },
      percent(error), best ? make("span", { class: "unseen" }, " (lowest)") : null,
    );
    cell.style.setProperty("--share", `${((error ?? 0) * 0.62).toFixed(1)}%`);
    return cell;
  });
  const name = data.names[row.name], label = row.label === null ? "" : data.names[row.label];
  const element = make(
    "tr", {},
    make("th", { scope: "row", "data-value": name, title: name }, name),
    kind === "videos" ? make("td", { class: "label", "data-value": label, title: label }, label) : null,
    make("td", { class: "number frames", "data-value": row.frames }, count(row.frames)),
    ...cells,
    make("td", { class: "number spread", "data-value": spread }, percent(spread)),
  );
  return { element, spread };
}

function matrix(host, cell, kind, state) {
  const found = cell[kind];
  const ids = cell.columns.map((id) => data.columns.findIndex((column) => column.id === id));
  const columns = ids.filter((column) => !state.hidden.has(column));
  if (!columns.length) return;
  const places = columns.map((column) => ids.indexOf(column));
  const rows = found.rows.map((row) => matrixRow(row, columns, places, kind));
  rows.sort((one, other) => other.spread - one.spread);
  const table = make(
    "table", { class: "matrix sortable", "aria-label": `Error by ${kind === "classes" ? "class" : "video"}, percent` },
    matrixHead(columns, kind), make("tbody", {}, ...rows.map(({ element }) => element)),
  );
  const label = { role: "region", tabindex: 0, "aria-label": table.getAttribute("aria-label") };
  host.append(make("div", { class: "scroll", ...label }, table));
  if (found.of > found.rows.length) {
    host.append(make("p", { class: "about" },
      `The page holds ${count(found.rows.length)} of ${count(found.of)}, those where all columns differ most; results.json has every one.`));
  }
  const more = make("button", { type: "button", class: "more", "aria-expanded": "false" });
  const limit = () => {
    const all = more.getAttribute("aria-expanded") === "true";
    [...table.tBodies[0].rows].forEach((row, i) => { row.hidden = !all && i >= FIRST_ROWS; });
    more.textContent = all ? `Show the first ${FIRST_ROWS}` : `Show all ${count(rows.length)}`;
  };
  if (rows.length > FIRST_ROWS) {
    host.append(more);
    more.addEventListener("click", () => {
      more.setAttribute("aria-expanded", more.getAttribute("aria-expanded") !== "true");
      limit();
    });
  }
  makeSortable(table, limit);
  limit();
}
