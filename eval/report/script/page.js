// What is shown now, and the controls that change it.

const data = JSON.parse(document.getElementById("data").textContent);
const state = { view: 0, hidden: new Set(), mode: "soFar" };

const KINDS = {
  stream: {
    pick: (cell) => cell.curves[state.mode],
    add: (host, cell, run, range) => streamChart(host, cell, state, range),
  },
  since: {
    pick: enoughFrames,
    add: (host, cell, run, range) => sinceChart(host, cell, state, range, run.batch, longest()),
  },
  reliability: { add: (host, cell) => reliabilityChart(host, cell, state) },
  classes: { add: (host, cell) => matrix(host, cell, "classes", state) },
  videos: { add: (host, cell) => matrix(host, cell, "videos", state) },
};

// The panels of a view share their axes, or the eye compares what cannot be compared.
const longest = () => Math.max(
  ...data.views[state.view].cells.filter(Boolean).flatMap((cell) => cell.since.stops));

function show(kind) {
  const host = document.querySelector(`[data-chart="${kind}"]`);
  const { pick, add } = KINDS[kind];
  const cells = data.views[state.view].cells;
  const range = pick && sharedRange(cells.filter(Boolean), pick, state);
  host.replaceChildren();
  cells.forEach((cell, i) => {
    if (!cell) return;
    const panel = make("figure", { class: "panel", "data-run": i });
    if (data.runs.length > 1) panel.append(make("h3", {}, data.runs[i].label));
    host.append(panel);
  });
  // Every panel is in its place before one is drawn, so that each knows its width.
  for (const panel of host.children) {
    const run = Number(panel.dataset.run);
    add(panel, cells[run], data.runs[run], range);
  }
}

// What is to be said of the runs' cells: once where it is the same, else after each run's name.
function ofRuns(say) {
  const said = data.views[state.view].cells.map((cell) => cell && say(cell));
  const different = new Set(said.filter((sentence) => sentence !== null));
  if (different.size === 1) return [...different][0];
  return said.map((sentence, i) => sentence && `${data.runs[i].label}: ${sentence}`)
    .filter(Boolean).join(" ");
}

function aboutStream() {
  const which = state.mode === "soFar"
    ? "The error of all frames seen so far; each line ends at the table's number."
    : ofRuns((cell) => `The error of the last ${count(cell.curves.window)} frames.`);
  const videos = ofRuns((cell) =>
    (cell.stretches ? "" : "The videos change too often to be marked."));
  document.querySelector("[data-about=stream]").textContent =
    `${which}${videos && ` ${videos}`} Point at the chart, or move through it with the arrow keys, for the video, the class and the errors there.`;
}

function render() {
  aboutStream();
  Object.keys(KINDS).forEach(show);
}

function turnTo(view) {
  state.view = (view + data.views.length) % data.views.length;
  document.getElementById("view").value = state.view;
  // A closed list shows the corruption alone, and two datasets may have the same ones.
  const dataset = document.getElementById("dataset");
  if (dataset) dataset.textContent = data.views[state.view].dataset;
  for (const part of document.querySelectorAll("[data-view]")) {
    part.hidden = Number(part.dataset.view) !== state.view;
  }
  render();
}

function listen() {
  document.getElementById("view").addEventListener("change", (event) => turnTo(Number(event.target.value)));
  for (const step of document.querySelectorAll(".step")) {
    step.addEventListener("click", () => turnTo(state.view + Number(step.dataset.step)));
    step.hidden = data.views.length < 2;
  }
  for (const toggle of document.querySelectorAll(".toggle")) {
    toggle.addEventListener("click", () => {
      const column = Number(toggle.dataset.column);
      const on = toggle.getAttribute("aria-pressed") !== "true";
      toggle.setAttribute("aria-pressed", on);
      if (on) state.hidden.delete(column); else state.hidden.add(column);
      render();
    });
  }
  for (const radio of document.querySelectorAll("input[name=mode]")) {
    radio.addEventListener("change", () => { state.mode = radio.value; aboutStream(); show("stream"); });
  }
  let width = window.innerWidth;
  window.addEventListener("resize", () => {
    // Phones fire resize when their toolbar hides; only a new width changes the charts.
    if (window.innerWidth === width) return;
    width = window.innerWidth;
    requestAnimationFrame(render);
  });
}

makeSortable(document.querySelector("table.errors"));
listen();
// A browser that goes back to the page keeps the controls as they were left: read them.
state.mode = document.querySelector("input[name=mode]:checked").value;
turnTo(Number(document.getElementById("view").value));
