// A chart: axes, lines, and one cursor that mouse, finger and keyboard move alike.

const HEIGHT = 300;
const LABEL_GAP = 14;
const WIDE = 560;

function niceRange(values) {
  const known = values.filter((value) => value !== null);
  const low = Math.min(...known), high = Math.max(...known);
  const step = high - low > 50 ? 20 : high - low > 20 ? 10 : 5;
  const min = Math.max(0, Math.floor((low - 1) / step) * step);
  const max = Math.min(100, Math.ceil((high + 1) / step) * step);
  const ticks = [];
  for (let at = min; at <= max; at += step) ticks.push(at);
  return { min, max, ticks };
}

// Lines that end close together get their names one under another.
function spreadLabels(ends, top, bottom) {
  ends.sort((a, b) => a.y - b.y);
  ends.forEach((end, i) => {
    end.at = Math.max(end.y, i ? ends[i - 1].at + LABEL_GAP : top);
  });
  for (let i = ends.length - 1; i >= 0; i--) {
    ends[i].at = Math.min(ends[i].at, i === ends.length - 1 ? bottom : ends[i + 1].at - LABEL_GAP);
  }
  return ends;
}

// The cursor: `show(i)` marks a point and fills the tip. The chart is a slider to a screen reader.
function attachCursor(plot, svg, spec) {
  const tip = make("div", { class: "tip", hidden: "" });
  plot.append(tip);
  let at = spec.xs.length - 1;
  const say = (i) => {
    const { title, detail, values } = spec.describe(i);
    const errors = values.map(({ name, text }) => `${name} ${text}`).join(", ");
    svg.setAttribute("aria-valuenow", i);
    svg.setAttribute("aria-valuetext", [title, ...detail, errors].filter(Boolean).join("; "));
  };
  const show = (i) => {
    at = Math.max(0, Math.min(spec.xs.length - 1, i));
    const { title, detail, values } = spec.describe(at);
    const row = ({ column, name, text }) =>
      make("li", {}, swatch(column), name, make("b", {}, text));
    tip.replaceChildren(
      make("strong", {}, title),
      ...detail.map((line) => make("div", { class: "detail" }, line)),
      make("ol", {}, ...values.map(row)),
    );
    tip.hidden = false;
    say(at);
    const x = spec.mark(at);
    const left = x + 14 + tip.offsetWidth > plot.clientWidth ? x - 14 - tip.offsetWidth : x + 14;
    tip.style.left = `${Math.max(0, Math.min(left, plot.clientWidth - tip.offsetWidth))}px`;
  };
  const hide = () => { tip.hidden = true; spec.unmark(); };
  const nearest = (event) => {
    const x = event.clientX - svg.getBoundingClientRect().left;
    let best = 0;
    spec.xs.forEach((value, i) => {
      if (Math.abs(spec.x(value) - x) < Math.abs(spec.x(spec.xs[best]) - x)) best = i;
    });
    return best;
  };
  const moves = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, PageDown: -10, PageUp: 10 };
  svg.addEventListener("pointermove", (event) => show(nearest(event)));
  svg.addEventListener("pointerdown", (event) => show(nearest(event)));
  svg.addEventListener("pointerleave", () => { if (document.activeElement !== svg) hide(); });
  svg.addEventListener("focus", () => { if (svg.matches(":focus-visible")) show(at); });
  svg.addEventListener("blur", hide);
  svg.addEventListener("keydown", (event) => {
    const target = { Home: 0, End: spec.xs.length - 1 }[event.key] ?? at + (moves[event.key] ?? NaN);
    if (event.key === "Escape") hide();
    if (Number.isNaN(target)) return;
    event.preventDefault();
    show(target);
  });
  say(at);
}

const slider = (label, points, width, height) => draw("svg", {
  viewBox: `0 0 ${width} ${height}`, height, role: "slider", tabindex: 0, "aria-label": label,
  "aria-valuemin": 0, "aria-valuemax": points - 1, "aria-orientation": "horizontal",
});

// spec: label, xs, xRange [min, max], xTicks [{at, text}], xTitle, scale (a function of x),
// range (of y), series [{column, name, values}], strip (height kept for stripes), stretches,
// total, reference {at, text}, describe(i) -> {title, detail, values}.
function linePlot(host, spec) {
  const plot = make("div", { class: "plot" });
  host.append(plot);
  const width = Math.max(260, plot.clientWidth);
  const named = width >= WIDE;
  const strip = spec.strip ?? 0;
  const area = { left: 46, right: width - (named ? 92 : 8), top: 10, bottom: HEIGHT - 42 - strip };
  const scale = spec.scale ?? ((value) => value);
  const [low, high] = spec.xRange.map(scale);
  const x = (value) =>
    area.left + (scale(value) - low) / (high - low || 1) * (area.right - area.left);
  const y = (value) => area.bottom
    - (value - spec.range.min) / (spec.range.max - spec.range.min) * (area.bottom - area.top);
  const svg = slider(spec.label, spec.xs.length, width, HEIGHT);
  // Makes the whole chart feel the pointer, not the lines alone.
  svg.append(draw("rect", { width, height: HEIGHT, fill: "transparent" }));
  const stripes = drawStretches(svg, spec, x, area);
  drawAxes(svg, spec, x, y, area);
  for (const { column, values } of spec.series) svg.append(linePath(column, spec.xs, values, x, y));
  if (named) drawNames(svg, spec, x, y, area);
  plot.append(svg);
  const marks = draw("g");
  svg.append(marks);
  const unmark = () => { marks.replaceChildren(); stripes.unmark(); };
  const mark = (i) => {
    const at = x(spec.xs[i]);
    const dots = spec.series.filter(({ values }) => values[i] !== null).map(({ column, values }) =>
      draw("circle", { class: `dot column-${column}`, cx: at, cy: y(values[i]), r: 4 }));
    const line = { class: "cursor", x1: at, x2: at, y1: area.top, y2: area.bottom };
    marks.replaceChildren(draw("line", line), ...dots);
    stripes.mark(spec.xs[i]);
    return at;
  };
  attachCursor(plot, svg, { ...spec, x, mark, unmark });
}

function linePath(column, xs, values, x, y) {
  let path = "", pen = "M";
  values.forEach((value, i) => {
    if (value === null) { pen = "M"; return; }
    path += `${pen}${x(xs[i]).toFixed(1)} ${y(value).toFixed(1)}`;
    pen = "L";
  });
  return draw("path", { class: `line column-${column}`, d: path });
}

function drawAxes(svg, spec, x, y, area) {
  for (const tick of spec.range.ticks) {
    const at = Math.round(y(tick)) + 0.5;
    svg.append(
      draw("line", { class: "grid", x1: area.left, x2: area.right, y1: at, y2: at }),
      draw("text", { class: "tick", x: area.left - 7, y: at + 4, "text-anchor": "end" },
        tick === spec.range.max ? `${tick} %` : `${tick}`),
    );
  }
  const under = area.bottom + (spec.strip ?? 0);
  let free = -Infinity;
  for (const { at, text } of spec.xTicks) {
    if (x(at) < free) continue;
    free = x(at) + 7 * text.length + 12;
    const anchor = x(at) > area.right - 12 ? "end" : x(at) < area.left + 12 ? "start" : "middle";
    svg.append(draw("text", { class: "tick", x: x(at), y: under + 17, "text-anchor": anchor }, text));
  }
  const middle = (area.left + area.right) / 2;
  svg.append(
    draw("line", { class: "axis", x1: area.left, x2: area.right, y1: area.bottom + 0.5, y2: area.bottom + 0.5 }),
    draw("text", { class: "tick", x: middle, y: under + 36, "text-anchor": "middle" }, spec.xTitle),
  );
  if (spec.reference) {
    const at = Math.round(x(spec.reference.at)) + 0.5;
    svg.append(
      draw("line", { class: "reference", x1: at, x2: at, y1: area.top, y2: area.bottom }),
      draw("text", { class: "tick", x: at + 5, y: area.top + 9 }, spec.reference.text),
    );
  }
}

function drawNames(svg, spec, x, y, area) {
  const last = (values) => values.findLastIndex((value) => value !== null);
  const ends = spec.series.map(({ column, name, values }) => ({
    column, name, y: y(values[last(values)]),
  }));
  for (const end of spreadLabels(ends, area.top, area.bottom)) {
    const place = { x: area.right + 8, y: end.at + 4 };
    svg.append(draw("text", { class: `name column-${end.column}`, ...place }, end.name));
  }
}

// Videos as stripes under the axis, and as lines through the chart where they are few enough.
function drawStretches(svg, spec, x, area) {
  if (!spec.stretches) return { mark() {}, unmark() {} };
  const starts = spec.stretches;
  const few = starts.length <= (area.right - area.left) / 14;
  const stripes = starts.map((start, i) => {
    const end = i + 1 < starts.length ? starts[i + 1] : spec.total;
    if (few && i) {
      const at = Math.round(x(start)) + 0.5;
      svg.append(draw("line", { class: "edge", x1: at, x2: at, y1: area.top, y2: area.bottom }));
    }
    const box = { x: x(start), y: area.bottom + 4, width: Math.max(0.5, x(end) - x(start)), height: 8 };
    const stripe = draw("rect", { class: `stripe${i % 2 ? " odd" : ""}`, ...box });
    svg.append(stripe);
    return stripe;
  });
  let now = null;
  const unmark = () => { if (now) now.classList.remove("now"); };
  const mark = (position) => {
    unmark();
    now = stripes[starts.findLastIndex((start) => start <= position)];
    now.classList.add("now");
  };
  return { mark, unmark };
}
