// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
//
// The explorer's script. The page holds all data: runs, and series, each of which is the times of one run, operation, number of
// ranks, mode and library. A choice picks some series; they are drawn as lines and written as a table.
"use strict";

const DATA = JSON.parse(document.getElementById("data").textContent);
const DIMENSIONS = ["library", "op", "ranks", "mode", "run"];
const BY_TITLES = { library: "library", op: "operation", ranks: "ranks", mode: "mode", run: "measurement" };
const SHOWS = {
  time: { title: "Time", axis: "time", text: timeText },
  bandwidth: { title: "Bandwidth", axis: "bytes / time, GB/s", text: rateText, linear: true },
  bus: { title: "Bus bandwidth", axis: "bus bandwidth, GB/s", text: rateText, linear: true },
  ratio: { title: "Ratio", axis: "time / Tutti's time", text: digits },
};
// What crosses the slowest link for each byte of the size, as nccl-tests count it.
const BUS_FACTORS = {
  all_reduce: (n) => (2 * (n - 1)) / n, all_gather: (n) => (n - 1) / n, reduce_scatter: (n) => (n - 1) / n,
  all_to_all: (n) => (n - 1) / n, gather: (n) => (n - 1) / n, scatter: (n) => (n - 1) / n,
};
const MARKERS = ["circle", "square", "triangle", "diamond", "cross", "ring", "plus", "down"];
const COLOURS = 8;
const DASHES = ["", "7 4", "2 3"];  // of the first eight lines, the second, the third
const LABEL_LETTERS = 36;  // of a name at the end of a line, where there is room

const byId = (id) => document.getElementById(id);
const controls = Object.fromEntries(DIMENSIONS.map((name) => [name, byId(name)]));

// ---------------------------------------------------------------------------------------------------------------
// Texts.

function digits(value) {
  return value >= 99.95 ? value.toFixed(0) : value >= 9.995 ? value.toFixed(1) : value.toFixed(2);
}

function timeText(us) {
  if (us >= 1e6) return `${digits(us / 1e6)} s`;
  return us >= 1e3 ? `${digits(us / 1e3)} ms` : `${digits(us)} us`;
}

function rateText(value) {
  return value >= 0.9995 ? `${digits(value)} GB/s` : `${digits(value * 1000)} MB/s`;
}

function sizeText(bytes) {
  for (const [unit, one] of [["GiB", 2 ** 30], ["MiB", 2 ** 20], ["KiB", 2 ** 10]]) {
    if (bytes >= one) return `${+(bytes / one).toFixed(2)} ${unit}`;
  }
  return `${bytes} B`;
}

function shortSize(bytes) {
  return sizeText(bytes).replace(/ ?([KMG])iB$/, "$1").replace(/ B$/, "");
}

function valueText(dimension, value) {
  if (dimension === "library") return DATA.libraries[value] || value;
  if (dimension === "run") return runOf(value).label;
  if (dimension === "ranks") return `${value} ranks`;
  if (dimension === "mode") return value || "host memory";
  return value;
}

function runOf(id) {
  return DATA.runs.find((run) => run.id === id);
}

// ---------------------------------------------------------------------------------------------------------------
// The choice, and what it picks.

// `on`: which lines are switched on; null where nobody has chosen.
const choice = { show: "time", by: "library", run: "", op: "", ranks: "", mode: "", library: "", on: null, theme: "" };

// Values of a dimension among series, in the order in which the data has them.
function valuesOf(dimension, series) {
  const found = [...new Set(series.map((one) => String(one[dimension])))];
  if (dimension === "ranks") found.sort((a, b) => a - b);
  if (dimension === "op") found.sort((a, b) => DATA.ops.indexOf(a) - DATA.ops.indexOf(b));
  if (dimension === "run") found.sort((a, b) => DATA.runs.findIndex((r) => r.id === a) - DATA.runs.findIndex((r) => r.id === b));
  return found;
}

function shown(one) {
  return choice.show !== "ratio" || one.ratio.some((value) => value !== null);
}

// Settles the choice: what it names and there is not gives way to the first that there is. Returns what each select may offer,
// and the series of all lines.
function settle() {
  if (!SHOWS[choice.show]) choice.show = "time";
  if (!DIMENSIONS.includes(choice.by)) choice.by = "library";
  // What becomes lines is settled last, by all others.
  const order = ["run", "op", "ranks", "mode", "library"].filter((name) => name !== choice.by);
  let left = DATA.series.filter(shown);
  const offers = {};
  for (const name of order) {
    offers[name] = valuesOf(name, left);
    if (!offers[name].includes(choice[name])) choice[name] = favourite(name, offers[name], left);
    left = left.filter((one) => String(one[name]) === choice[name]);
  }
  offers[choice.by] = valuesOf(choice.by, left);
  if (choice.by !== "run" && !runOf(choice.run)) choice.run = DATA.first;
  if (choice.on) choice.on = choice.on.filter((value) => offers[choice.by].includes(value));
  return { offers, lines: left };
}

// Whether a line is drawn. Of measurements, which are many, where nobody has chosen the newest of each machine.
function isOn(value, values) {
  if (choice.on) return choice.on.includes(value);
  if (choice.by !== "run") return true;
  return values.find((other) => runOf(other).machine === runOf(value).machine) === value;
}

function favourite(name, offered, series) {
  if (name === "run") return offered.includes(DATA.first) ? DATA.first : offered[0] || "";
  if (name === "ranks") return offered[offered.length - 1] || "";
  if (name === "library" && choice.show !== "ratio" && offered.includes("tutti")) return "tutti";
  return offered[0] || "";
}

// One value of a series at its i-th size; null where there is none.
function valueAt(one, i) {
  const us = one.us[i];
  if (choice.show === "ratio") return one.ratio[i];
  if (us === null) return null;
  if (choice.show === "time") return us;
  const rate = (one.bytes[i] * one.count) / us / 1000;
  return choice.show === "bandwidth" ? rate : rate * (BUS_FACTORS[one.op] || (() => 1))(one.ranks);
}

// ---------------------------------------------------------------------------------------------------------------
// The address.

function writeAddress() {
  const words = new URLSearchParams();
  for (const name of ["show", "by", ...DIMENSIONS]) {
    if (name !== choice.by && choice[name] !== "") words.set(name, choice[name]);
  }
  words.set("by", choice.by);
  if (choice.on) words.set("on", choice.on.join("~"));
  if (choice.theme) words.set("theme", choice.theme);
  const hash = `#${words}`;
  if (hash !== location.hash) history.replaceState(null, "", hash);
}

function readAddress() {
  const words = new URLSearchParams(location.hash.slice(1));
  for (const name of Object.keys(choice)) {
    if (name === "on") choice.on = words.has("on") ? words.get("on").split("~").filter(Boolean) : null;
    else if (words.has(name)) choice[name] = words.get(name);
  }
  if (!["light", "dark"].includes(choice.theme)) choice.theme = "";
}

// ---------------------------------------------------------------------------------------------------------------
// Controls.

function radios(place, name, titles) {
  for (const [value, title] of Object.entries(titles)) {
    const label = document.createElement("label");
    const input = Object.assign(document.createElement("input"), { type: "radio", name, value, id: `${name}-${value}` });
    input.addEventListener("change", () => { choice[name] = value; if (name === "by") choice.on = null; update(); });
    label.append(input, title);
    place.append(label);
  }
}

function fill(select, dimension, values) {
  select.replaceChildren();
  let group = null;
  for (const value of values) {
    const option = Object.assign(document.createElement("option"), { value, textContent: valueText(dimension, value) });
    if (dimension === "run") {
      const machine = runOf(value).machine;
      if (!group || group.label !== machine) {
        group = Object.assign(document.createElement("optgroup"), { label: machine });
        select.append(group);
      }
      option.textContent = runOf(value).label;
      group.append(option);
    } else {
      select.append(option);
    }
  }
  select.value = choice[dimension];
}

function showControls(offers) {
  byId(`show-${choice.show}`).checked = true;
  byId(`by-${choice.by}`).checked = true;
  for (const name of DIMENSIONS) {
    const field = controls[name].parentElement;
    const values = name === choice.by ? [] : offers[name];
    field.hidden = name === choice.by || (name === "mode" && values.length < 2);
    fill(controls[name], name, values);
    controls[name].disabled = values.length < 2;
  }
  byId("theme").value = choice.theme;
}

function showLines(lines) {
  const place = byId("lines");
  const focused = document.activeElement && document.activeElement.value;
  const had = place.contains(document.activeElement);
  place.replaceChildren(place.querySelector("legend"));
  const offer = (input, action) => {
    place.append(input);
    const button = input.querySelector("input") || input;
    button.addEventListener(button === input ? "click" : "change", () => { action(button); update(); });
    if (had && focused === button.value) button.focus();
  };
  for (const line of lines) {
    const label = document.createElement("label");
    label.append(Object.assign(document.createElement("input"), { type: "checkbox", value: line.value, checked: line.on }),
      sample(line), line.label);
    offer(label, (input) => {
      const on = lines.filter((one) => one.on).map((one) => one.value);
      choice.on = input.checked ? [...on, line.value] : on.filter((value) => value !== line.value);
    });
  }
  if (lines.length > 2) {
    for (const [text, on] of [["all", lines.map((line) => line.value)], ["none", []]]) {
      offer(Object.assign(document.createElement("button"), { type: "button", textContent: text, value: text }), () => { choice.on = on; });
    }
  }
}

// ---------------------------------------------------------------------------------------------------------------
// Drawing.

function element(name, attributes, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

function marker(line, x, y) {
  const colour = `var(--c${line.colour})`;
  const at = `M${x.toFixed(1)} ${y.toFixed(1)}`;
  const paths = {
    square: `${at}m-3.5 -3.5h7v7h-7z`, triangle: `${at}m0 -4.6l4.4 8h-8.8z`, down: `${at}m0 4.6l4.4 -8h-8.8z`,
    diamond: `${at}m0 -4.8l4.8 4.8l-4.8 4.8l-4.8 -4.8z`,
  };
  const strokes = { cross: `${at}m-3.5 -3.5l7 7m0 -7l-7 7`, plus: `${at}m-4.5 0h9m-4.5 -4.5v9` };
  if (line.marker === "circle") return element("circle", { cx: x, cy: y, r: 3.6, fill: colour });
  if (line.marker === "ring") {
    return element("circle", { cx: x, cy: y, r: 3.4, fill: "var(--paper)", stroke: colour, "stroke-width": 2 });
  }
  if (strokes[line.marker]) return element("path", { d: strokes[line.marker], stroke: colour, "stroke-width": 2, fill: "none" });
  return element("path", { d: paths[line.marker], fill: colour });
}

function stroke(line, d) {
  return element("path", { d, fill: "none", stroke: `var(--c${line.colour})`, "stroke-width": 2, "stroke-linejoin": "round",
    ...(line.dashes ? { "stroke-dasharray": line.dashes } : {}) });
}

function sample(line) {
  return element("svg", { width: 34, height: 14, "aria-hidden": "true" }, stroke(line, "M1 7H33"), marker(line, 17, 7));
}

// Ticks of a logarithmic axis: powers of ten, with 2 and 5 between them where there are few.
function valueTicks(low, high) {
  const decades = Math.log10(high / low);
  const parts = decades < 1.2 ? [1, 1.5, 2, 3, 5, 7] : decades < 3 ? [1, 2, 5] : [1];
  const ticks = [];
  for (let e = Math.floor(Math.log10(low)); e <= Math.ceil(Math.log10(high)); ++e) {
    for (const part of parts) {
      const value = part * 10 ** e;
      if (value >= low * 0.999 && value <= high * 1.001) ticks.push(value);
    }
  }
  return ticks;
}

// Ticks of a linear axis from 0 on: about six round numbers.
function evenTicks(high) {
  const rough = high / 6, power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((part) => part * power).find((one) => one >= rough);
  return Array.from({ length: Math.floor(high / step) + 1 }, (_, i) => i * step);
}

function tickText(value) {
  const number = (x) => `${+x.toPrecision(3)}`;
  if (choice.show !== "time") return number(value);
  return value >= 1e6 ? `${number(value / 1e6)} s` : value >= 1e3 ? `${number(value / 1e3)} ms` : `${number(value)} us`;
}

function sizeTicks(low, high, width) {
  const first = Math.ceil(Math.log2(low)), last = Math.floor(Math.log2(high));
  const most = Math.max(2, Math.floor(width / 58));
  const step = Math.max(1, Math.ceil((last - first + 1) / most));
  const ticks = [];
  for (let e = first; e <= last; e += step) ticks.push(2 ** e);
  return ticks;
}

function range(values, least) {
  let low = Math.min(...values), high = Math.max(...values);
  const middle = Math.sqrt(low * high);
  if (high / low < least) [low, high] = [middle / Math.sqrt(least), middle * Math.sqrt(least)];
  const pad = (high / low) ** 0.04;
  return [low / pad, high * pad];
}

const scale = (low, high, begin, end) => (value) =>
  begin + ((Math.log(value) - Math.log(low)) / (Math.log(high) - Math.log(low))) * (end - begin);

let view = null;  // what the cursor needs: {sizes, lines, x, y, top, bottom, svg}
let cursor = -1;  // the index of its size, or none

function draw(lines) {
  const place = byId("chart");
  place.replaceChildren();
  view = null;
  const drawn = lines.filter((line) => line.on && line.points.length);
  const points = drawn.flatMap((line) => line.points);
  if (!points.length) {
    place.append(Object.assign(document.createElement("p"), { className: "empty",
      textContent: lines.length ? "All lines are switched off." : "Nothing was measured for this choice." }));
    return;
  }
  const width = Math.max(320, place.clientWidth), height = Math.round(Math.min(560, Math.max(340, width * 0.55)));
  const labels = width > 620;
  const longest = Math.max(...drawn.map((line) => line.end.length));
  const letters = Math.min(longest, width > 1000 ? LABEL_LETTERS : width > 800 ? 24 : 18);
  const right = width - (labels ? letters * 7.4 + 20 : 16), left = 74, top = 14, bottom = height - 56;
  const values = points.map((point) => point.value);
  const sizes = [...new Set(points.map((point) => point.bytes))].sort((a, b) => a - b);
  const linear = SHOWS[choice.show].linear;
  const [low, high] = linear ? [0, Math.max(...values) * 1.05] : range(choice.show === "ratio" ? [...values, 1] : values, 2);
  const x = scale(sizes[0] === sizes[sizes.length - 1] ? sizes[0] / 2 : sizes[0],
    sizes[0] === sizes[sizes.length - 1] ? sizes[0] * 2 : sizes[sizes.length - 1], left + 10, right - 10);
  const y = linear ? (value) => bottom - (value / high) * (bottom - top) : scale(low, high, bottom, top);
  const svg = element("svg", { width, height, role: "img",
    "aria-label": `${byId("title").textContent}. The figures are in the table below.` });
  for (const tick of linear ? evenTicks(high) : valueTicks(low, high)) {
    svg.append(element("line", { class: "grid", x1: left, x2: right, y1: y(tick), y2: y(tick) }),
      element("text", { x: left - 8, y: y(tick) + 5, "text-anchor": "end", class: "axis" }, tickText(tick)));
  }
  for (const tick of sizeTicks(sizes[0], sizes[sizes.length - 1], right - left)) {
    svg.append(element("line", { class: "grid", x1: x(tick), x2: x(tick), y1: top, y2: bottom }),
      element("text", { x: x(tick), y: bottom + 20, "text-anchor": "middle", class: "axis" }, shortSize(tick)));
  }
  svg.append(element("path", { class: "frame", d: `M${left} ${top}V${bottom}H${right}` }),
    element("text", { x: (left + right) / 2, y: bottom + 44, "text-anchor": "middle", class: "axis" }, "bytes"),
    element("text", { transform: `translate(15 ${(top + bottom) / 2}) rotate(-90)`, "text-anchor": "middle", class: "axis" },
      SHOWS[choice.show].axis));
  if (choice.show === "ratio") {
    svg.append(element("line", { class: "even", x1: left, x2: right, y1: y(1), y2: y(1) }),
      element("text", { x: left + 12, y: y(1) - 6 }, "as fast as Tutti"));
  }
  // The first line is drawn last, on top.
  for (const line of [...drawn].reverse()) {
    const path = line.points.map((point, i) => `${i ? "L" : "M"}${x(point.bytes).toFixed(1)} ${y(point.value).toFixed(1)}`).join("");
    svg.append(stroke(line, path), ...line.points.map((point) => marker(line, x(point.bytes), y(point.value))));
  }
  if (labels) svg.append(...endLabels(drawn, letters, x, y, right, top, bottom));
  place.append(svg);
  view = { sizes, lines: drawn, x, y, top, bottom, svg, left, right };
  if (cursor >= 0) showCursor(Math.min(cursor, sizes.length - 1));
}

// Names at the ends of the lines, moved apart where they would touch.
function endLabels(drawn, letters, x, y, right, top, bottom) {
  const ends = drawn.map((line) => ({ line, at: y(line.points[line.points.length - 1].value) })).sort((a, b) => a.at - b.at);
  const apart = 17;
  ends.forEach((end, i) => { end.shown = Math.max(end.at, i ? ends[i - 1].shown + apart : top + 6); });
  for (let i = ends.length - 1; i >= 0; --i) {
    ends[i].shown = Math.min(ends[i].shown, i === ends.length - 1 ? bottom - 2 : ends[i + 1].shown - apart);
  }
  return ends.flatMap(({ line, at, shown: place }) => [
    element("path", { d: `M${x(line.points[line.points.length - 1].bytes) + 6} ${at}L${right + 4} ${place}`, fill: "none",
      stroke: `var(--c${line.colour})`, "stroke-dasharray": "1 3" }),
    element("text", { x: right + 8, y: place + 5 }, line.end.length > letters ? `${line.end.slice(0, letters - 1)}…` : line.end)]);
}

// ---------------------------------------------------------------------------------------------------------------
// The cursor.

function showCursor(index) {
  if (!view) return;
  hideCursor();
  cursor = index;
  const size = view.sizes[index], x = view.x(size), text = SHOWS[choice.show].text;
  view.svg.append(element("line", { class: "cursor", id: "cursor", x1: x, x2: x, y1: view.top, y2: view.bottom }));
  const tip = Object.assign(document.createElement("div"), { id: "tip" });
  tip.append(Object.assign(document.createElement("b"), { textContent: sizeText(size) }));
  const said = [sizeText(size)];
  for (const line of view.lines) {
    const point = line.points.find((one) => one.bytes === size);
    if (!point) continue;
    const row = document.createElement("div");
    row.append(sample(line), Object.assign(document.createElement("span"), { textContent: line.label }),
      Object.assign(document.createElement("span"), { textContent: text(point.value) }));
    tip.append(row);
    said.push(`${line.label} ${text(point.value)}`);
  }
  byId("chart").append(tip);
  const half = x < (view.left + view.right) / 2;
  tip.style.top = `${view.top + 8}px`;
  tip.style.left = `${Math.max(0, half ? x + 12 : x - 12 - tip.offsetWidth)}px`;
  byId("said").textContent = said.join(", ");
  for (const row of byId("figures").querySelectorAll("tr[data-bytes]")) row.classList.toggle("at", row.dataset.bytes === String(size));
}

function hideCursor() {
  cursor = -1;
  for (const id of ["cursor", "tip"]) if (byId(id)) byId(id).remove();
  byId("said").textContent = "";
  for (const row of byId("figures").querySelectorAll("tr.at")) row.classList.remove("at");
}

function onKey(event) {
  if (!view) return;
  const last = view.sizes.length - 1;
  const to = { ArrowRight: cursor < 0 ? 0 : Math.min(cursor + 1, last), ArrowLeft: cursor < 0 ? last : Math.max(cursor - 1, 0),
    Home: 0, End: last }[event.key];
  if (event.key === "Escape") hideCursor();
  else if (to !== undefined) showCursor(to);
  else return;
  event.preventDefault();
}

function onMove(event) {
  if (!view) return;
  const at = event.clientX - view.svg.getBoundingClientRect().left;
  let best = 0;
  view.sizes.forEach((size, i) => { if (Math.abs(view.x(size) - at) < Math.abs(view.x(view.sizes[best]) - at)) best = i; });
  if (best !== cursor) showCursor(best);
}

// ---------------------------------------------------------------------------------------------------------------
// Words and table.

function titleText() {
  const words = [SHOWS[choice.show].title];
  for (const name of ["op", "ranks", "mode", "library"]) {
    if (name === choice.by || (name === "mode" && !choice.mode)) continue;
    if (name === "library" && choice.library === "tutti") continue;
    words.push(valueText(name, choice[name]));
  }
  const run = choice.by !== "run" && runOf(choice.run);
  if (run) words.push(run.machine, run.what);
  return words.join(", ");
}

function showSources(lines) {
  const place = byId("sources");
  place.replaceChildren();
  const ids = choice.by === "run" ? lines.filter((line) => line.on).map((line) => line.value) : [choice.run];
  for (const run of ids.map(runOf).filter(Boolean)) {
    const text = document.createElement("p");
    const command = Object.assign(document.createElement("code"), { textContent: run.command });
    text.append(`${run.machine}; ${run.when}; ${run.libraries}. Measured by `, command, ". ", run.remark ? `Remark: ${run.remark}. ` : "",
      run.files.length > 1 ? "Files: " : "File: ",
      Object.assign(document.createElement("code"), { textContent: run.files.join(", ") }), ".");
    place.append(text);
  }
}

function showTable(lines) {
  const drawn = lines.filter((line) => line.on);
  const sizes = [...new Set(drawn.flatMap((line) => line.points.map((point) => point.bytes)))].sort((a, b) => a - b);
  const table = byId("figures"), text = SHOWS[choice.show].text;
  byId("caption").textContent = `The same as figures${choice.show === "ratio" ? "; underlined: faster than Tutti" : ""}`;
  const head = document.createElement("tr");
  const cell = (name, content, scope) => Object.assign(document.createElement(name), { textContent: content, ...(scope ? { scope } : {}) });
  head.append(cell("th", "size", "col"), ...drawn.map((line) => cell("th", line.label, "col")));
  const thead = document.createElement("thead"), body = document.createElement("tbody");
  thead.append(head);
  for (const size of sizes) {
    const row = document.createElement("tr");
    row.dataset.bytes = size;
    row.append(cell("th", sizeText(size), "row"), ...drawn.map((line) => {
      const point = line.points.find((one) => one.bytes === size);
      const made = cell("td", point ? text(point.value) : "–");
      if (choice.show === "ratio" && point && point.value < 1) {
        made.classList.add("worse");
        made.title = "faster than Tutti";
      }
      return made;
    }));
    body.append(row);
  }
  table.replaceChildren(thead, body);
}

// ---------------------------------------------------------------------------------------------------------------

function update() {
  const { offers, lines: series } = settle();
  writeAddress();
  document.documentElement.dataset.theme =
    choice.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
  const values = offers[choice.by];
  const drawn = values.filter((value) => isOn(value, values));
  const lines = values.map((value) => {
    const one = series.find((candidate) => String(candidate[choice.by]) === value);
    const points = one.bytes.map((bytes, i) => ({ bytes, value: valueAt(one, i) })).filter((point) => point.value !== null);
    const run = choice.by === "run" ? runOf(value) : null;
    const label = run ? `${run.short}, ${run.what}, ${run.libraries.split(",")[0]}` : valueText(choice.by, value);
    // Libraries keep their colours whatever others are beside them. Of measurements, which are many, those that are drawn come first.
    const on = drawn.includes(value);
    const place = choice.by === "library" ? Object.keys(DATA.libraries).indexOf(value) : choice.by !== "run" ? values.indexOf(value) :
      on ? drawn.indexOf(value) : drawn.length + values.filter((one) => !drawn.includes(one)).indexOf(value);
    return { value, points, label, end: run ? run.short : label, on, colour: place % COLOURS,
      marker: MARKERS[place % MARKERS.length], dashes: DASHES[Math.floor(place / COLOURS) % DASHES.length] };
  });
  byId("title").textContent = titleText();
  document.title = `${titleText()} – Tutti`;
  showControls(offers);
  showLines(lines);
  showSources(lines);
  showTable(lines);
  draw(lines);
}

function start() {
  if (self !== top) document.documentElement.dataset.embedded = "";  // the page around it has a heading
  radios(byId("shows"), "show", Object.fromEntries(Object.entries(SHOWS).map(([name, show]) => [name, show.title])));
  radios(byId("bys"), "by", BY_TITLES);
  for (const name of DIMENSIONS) {
    controls[name].addEventListener("change", () => { choice[name] = controls[name].value; update(); });
  }
  byId("theme").addEventListener("change", () => { choice.theme = byId("theme").value; update(); });
  byId("chart").addEventListener("keydown", onKey);
  byId("chart").addEventListener("mousemove", onMove);
  byId("chart").addEventListener("mouseleave", hideCursor);
  byId("chart").addEventListener("blur", hideCursor);
  addEventListener("hashchange", () => { readAddress(); update(); });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", update);
  readAddress();
  update();
  let width = byId("chart").clientWidth;
  new ResizeObserver(() => {
    if (byId("chart").clientWidth === width) return;
    width = byId("chart").clientWidth;
    update();
  }).observe(byId("chart"));
}

start();
