// The three charts of a cell: over the stream, since a change of class, and reliability.

const STRIP = 14;

function steps(total, most) {
  const rough = total / most;
  const power = 10 ** Math.floor(Math.log10(Math.max(1, rough)));
  return power * ([1, 2, 5, 10].find((factor) => power * factor >= rough) ?? 10);
}

const seriesOf = (cell, of, state) => cell.columns
  .map((id) => data.columns.findIndex((column) => column.id === id))
  .filter((column) => !state.hidden.has(column))
  .map((column) => ({
    column, name: data.columns[column].name, values: of[data.columns[column].id],
  }));

const valuesAt = (series, i) => series
  .filter(({ values }) => values[i] !== null)
  .sort((a, b) => a.values[i] - b.values[i])
  .map(({ column, name, values }) => ({ column, name, text: `${percent(values[i])} %` }));

function sharedRange(cells, pick, state) {
  const values = cells.flatMap((cell) =>
    seriesOf(cell, pick(cell), state).flatMap((series) => series.values));
  return values.length ? niceRange(values) : { min: 0, max: 100, ticks: [0, 20, 40, 60, 80, 100] };
}

function streamChart(host, cell, state, range) {
  const curves = cell.curves;
  const series = seriesOf(cell, curves[state.mode], state);
  const step = steps(cell.frames, 6);
  const ticks = [];
  for (let at = 0; at < cell.frames; at += step) ticks.push({ at, text: count(at) });
  const describe = (i) => ({
    title: data.names[curves.video[i]],
    detail: [
      `class ${data.names[curves.class[i]]}`,
      `frame ${count(curves.positions[i] + 1)} of ${count(cell.frames)}`,
    ],
    values: valuesAt(series, i),
  });
  linePlot(host, {
    label: "Error over the stream, percent", xs: curves.positions, xRange: [0, cell.frames - 1],
    xTicks: ticks, xTitle: cell.stretches ? "frames seen; stripes are videos" : "frames seen",
    range, series, strip: STRIP, stretches: cell.stretches, total: cell.frames, describe,
  });
  const every = Math.ceil(curves.positions.length / 20);
  const rows = () => curves.positions
    .map((position, i) => [count(position + 1), ...series.map(({ values }) => percent(values[i]))])
    .filter((_, i) => (curves.positions.length - 1 - i) % every === 0);
  const heads = ["Frames seen", ...series.map(({ name }) => name)];
  host.append(numbersBelow("Error over the stream, percent", heads, rows));
}

// Bins of a few frames jump about: the table has them, the lines do not.
function enoughFrames({ since }) {
  const kept = (values) => values.map((value, i) => (since.frames[i] < since.enough ? null : value));
  return Object.fromEntries(Object.entries(since.error).map(([id, values]) => [id, kept(values)]));
}

function sinceChart(host, cell, state, range, batch, last) {
  const since = cell.since;
  const series = seriesOf(cell, enoughFrames(cell), state);
  const all = seriesOf(cell, since.error, state);
  // A bin is drawn at the middle of its frames on a logarithmic axis.
  const middles = since.starts.map((start, i) => Math.sqrt((start + 1) * since.stops[i]));
  const ticks = [];
  for (let at = 1; at <= last; at *= 2) ticks.push({ at, text: count(at) });
  const span = (i) => (since.stops[i] - since.starts[i] === 1
    ? `frame ${count(since.starts[i] + 1)}`
    : `frames ${count(since.starts[i] + 1)} to ${count(since.stops[i])}`);
  const describe = (i) => ({
    title: `${span(i)} of a class`,
    detail: [`${count(since.frames[i])} frames`],
    values: valuesAt(all, i),
  });
  linePlot(host, {
    label: "Error since the last change of class, percent", xs: middles, xRange: [1, last],
    scale: Math.log2, xTicks: ticks, xTitle: "frames since the class last changed, the first is 1",
    range, series, describe,
    reference: batch < last ? { at: batch, text: "one batch" } : null,
  });
  const rows = () => middles.map((_, i) =>
    [span(i), count(since.frames[i]), ...all.map(({ values }) => percent(values[i]))]);
  const heads = ["Since the change", "Frames", ...series.map(({ name }) => name)];
  host.append(numbersBelow("Error since the last change of class, percent", heads, rows));
}

function reliabilityChart(host, cell, state) {
  const grid = make("div", { class: "small" });
  host.append(grid);
  const shown = cell.columns
    .map((id) => data.columns.findIndex((column) => column.id === id))
    .filter((column) => !state.hidden.has(column));
  for (const column of shown) reliabilityPlot(grid, cell.reliability[data.columns[column].id], column);
  const rows = () => shown.map((column) => {
    const { id, name } = data.columns[column];
    const { ece, frames, confidence } = cell.reliability[id];
    const total = frames.reduce((sum, one) => sum + one, 0);
    const mean = (values) => values.reduce((sum, one, i) => sum + (one ?? 0) * frames[i], 0) / total;
    return [name, percent(ece), percent(mean(confidence)), percent(100 - cell.error[id])];
  });
  const heads = ["Column", "ECE", "Mean confidence, %", "Accuracy, %"];
  host.append(numbersBelow("Expected calibration error", heads, rows));
}

function reliabilityPlot(grid, found, column) {
  const name = data.columns[column].name;
  const plot = make("div", { class: "plot" });
  const heading = make("h4", {}, name, make("span", {}, `ECE ${percent(found.ece)}`));
  grid.append(make("div", {}, heading, plot));
  const width = Math.max(150, plot.clientWidth), height = 150;
  const area = { left: 26, right: width - 2, top: 6, bottom: height - 38 };
  const x = (share) => area.left + share * (area.right - area.left);
  const y = (value) => area.bottom - value / 100 * (area.bottom - area.top);
  const bins = found.frames.length, most = Math.max(...found.frames);
  const svg = slider(`Reliability of ${name}, ECE ${percent(found.ece)}`, bins, width, height);
  svg.append(draw("rect", { width, height, fill: "transparent" }));
  for (const tick of [0, 50, 100]) {
    const at = Math.round(y(tick)) + 0.5;
    svg.append(
      draw("line", { class: "grid", x1: area.left, x2: area.right, y1: at, y2: at }),
      draw("text", { class: "tick", x: area.left - 5, y: at + 4, "text-anchor": "end" }, `${tick}`),
    );
  }
  const bars = found.accuracy.map((value, i) => {
    const left = x(i / bins) + 0.5, wide = x((i + 1) / bins) - x(i / bins) - 1;
    const share = found.frames[i] / most * 12;
    svg.append(draw("rect", {
      class: "share", x: left, y: area.bottom + 4, width: wide, height: share > 0 ? Math.max(1, share) : 0,
    }));
    const bar = draw("rect", {
      class: `accuracy column-${column}`, x: left, width: wide,
      y: y(value ?? 0), height: area.bottom - y(value ?? 0),
    });
    svg.append(bar);
    return bar;
  });
  svg.append(draw("path", { class: "reference", d: `M${x(0)} ${y(0)}L${x(1)} ${y(100)}` }));
  for (const share of [0, 0.5, 1]) {
    const anchor = ["start", "middle", "end"][share * 2];
    svg.append(draw("text", { class: "tick", x: x(share), y: height - 6, "text-anchor": anchor }, `${share * 100} %`));
  }
  plot.append(svg);
  const describe = (i) => ({
    title: `${Math.round(i / bins * 100)} to ${Math.round((i + 1) / bins * 100)} % sure`,
    detail: [`${count(found.frames[i])} frames`, `mean confidence ${percent(found.confidence[i])} %`],
    values: [{ column, name: "right", text: `${percent(found.accuracy[i])} %` }],
  });
  const unmark = () => bars.forEach((bar) => bar.classList.remove("now"));
  const mark = (i) => { unmark(); bars[i].classList.add("now"); return x((i + 0.5) / bins); };
  const xs = found.frames.map((_, i) => (i + 0.5) / bins);
  attachCursor(plot, svg, { xs, x, describe, mark, unmark });
}
