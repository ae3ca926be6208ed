"use strict";
// The page itself: it draws what model.js works out.
const launches = JSON.parse(document.getElementById("data").textContent);
const $ = id => document.getElementById(id);
const make = (tag, name, text) => {
  const made = document.createElement(tag);
  if (name) made.className = name;
  if (text !== undefined) made.textContent = text;
  return made;
};
const TOP = 8, NAMED = 40, FONT = "11px system-ui";
let L, steps, at, timer, cells, where, wall, rows, ROW, LEFT;

function choose(number) {
  L = launches[number];
  $("kernel").textContent = L.kernel;
  $("space").textContent = "over " + L.space + ", " + L.count;
  document.querySelectorAll("[data-word]").forEach(e => { e.textContent = L.words[e.dataset.word]; });
  $("wall").title = L.words.wall;
  $("dropped").hidden = !L.dropped;
  $("dropped").textContent = L.dropped + " later events were left out of this trace: raise trace(limit=...) for more.";
  const has = kind => L.events.some(e => e[0] === kind);
  $("atomic").hidden = !has(ATOMIC); $("algorithm").hidden = !has(ALGORITHM); $("subgroup").hidden = !has(SUBGROUP);
  drawReport(); drawSource(); makeMemory(); select();
}
function drawReport() {
  const failure = L.failure, two = rings(L);
  $("report").hidden = !failure;
  $("conflict").hidden = $("earlier").hidden = $("later").hidden = two.length < 2;
  if (!failure) return;
  const [summary, ...lines] = failure.report.split("\n");
  $("error").textContent = failure.error + ":";
  $("summary").textContent = summary;
  // Of a race the first two lines are the accesses, and the others what to do.
  $("details").replaceChildren(...lines.map((line, i) =>
    make("li", two.length && i > 1 ? "cure" : "", line.trim().replaceAll("`", ""))));
  two.forEach((event, i) => {
    const e = L.events[event], verb = {[READ]: "read", [WRITE]: "write", [ATOMIC]: "atomic"}[e[0]];
    $(["earlier", "later"][i]).textContent = ["earlier: ", "refused: "][i] + verb + " of " +
      place(L.arrays[e[4]], e[5]) + ", line " + lineOf(L, e);
  });
}
function select() {
  steps = stepsOf(L, $("lines").checked);
  where = layout(L, steps);
  wall = missingWall(L, steps, where);
  $("missing").hidden = !wall.length;
  rows = Math.min(L.items, 256);
  const most = Math.max(...rings(L).map(i => L.events[i][1]), -1) + 1;
  if (most > rows) rows = Math.min(most, 4096);
  ROW = rows <= 16 ? 24 : 16;
  const c = $("timeline").getContext("2d");
  c.font = FONT;
  LEFT = 29 + Math.max(...L.labels.slice(0, rows).map(text => c.measureText(text).width), 50);
  $("seek").max = Math.max(steps.length - 1, 0);
  go(opening(L, steps));
}
function pitch() {
  const room = $("timeline").parentElement.clientWidth - LEFT - 10;
  return Math.max(Math.min(room / where.total, 58), 4);
}
function drawTimeline() {
  const canvas = $("timeline"), w = pitch(), ratio = window.devicePixelRatio || 1;
  const width = Math.min(LEFT + where.total * w + 8, 16000), height = TOP * 2 + rows * ROW;
  canvas.width = width * ratio; canvas.height = height * ratio;
  canvas.style.width = width + "px"; canvas.style.height = height + "px";
  const c = canvas.getContext("2d"), style = getComputedStyle(document.documentElement);
  const paint = name => style.getPropertyValue(name);
  const xOf = i => LEFT + where.columns.get(i) * w, yOf = item => TOP + item * ROW;
  c.scale(ratio, ratio);
  c.font = FONT;
  for (let n = 0; n < rows; n++) {
    if (groupOf(L, n) % 2 === 1) { c.fillStyle = paint("--back"); c.fillRect(0, yOf(n), width, ROW); }
    c.fillStyle = color(L, n); c.beginPath(); c.arc(9, yOf(n) + ROW / 2, 4.5, 0, 7); c.fill();
    c.fillStyle = paint("--soft");
    c.fillText(L.labels[n] || "", 19, yOf(n) + ROW / 2 + 4);
  }
  const now = L.events[steps[at]], two = rings(L);
  steps.forEach((i, order) => {
    const e = L.events[i];
    if (e[1] >= rows) return;
    const x = xOf(i), y = yOf(e[1]);
    c.globalAlpha = order <= at || two.includes(i) ? 1 : 0.28;
    if (e[0] === BARRIER) {
      c.fillStyle = paint("--wall"); c.fillRect(x + w / 2 - 2.5, y, 5, ROW);
    } else if (e[0] === ALGORITHM) {
      c.strokeStyle = paint("--soft"); c.lineWidth = 1.5; c.strokeRect(x + w / 2 - 2, y, 4, ROW);
    } else if (e[0] === SUBGROUP) {
      const m = x + w / 2, h = Math.min(w / 2, ROW / 2 - 3);
      c.fillStyle = paint("--soft"); c.beginPath(); c.moveTo(m, y + ROW / 2 - h);
      c.lineTo(m + h, y + ROW / 2); c.lineTo(m, y + ROW / 2 + h); c.lineTo(m - h, y + ROW / 2); c.fill();
    } else if (e[0] === LINE) {
      c.fillStyle = color(L, e[1]); c.fillRect(x + w * 0.3, y + ROW / 2 - 1, w * 0.4, 2);
    } else if (e[0] === WRITE) {
      c.fillStyle = color(L, e[1]); c.fillRect(x + 1, y + 3, w - 2, ROW - 6);
    } else {
      c.strokeStyle = color(L, e[1]); c.lineWidth = 2; c.setLineDash(e[0] === ATOMIC ? [3, 2] : []);
      c.strokeRect(x + 2, y + 4, Math.max(w - 4, 1), ROW - 8); c.setLineDash([]);
    }
    if (isAccess(e) && w >= NAMED && ROW > 16) {
      c.fillStyle = e[0] === WRITE ? "#fff" : paint("--ink"); c.textAlign = "center";
      c.fillText(brief(L.arrays[e[4]], e[5]), x + w / 2, y + ROW / 2 + 4, w - 6); c.textAlign = "start";
    }
  });
  c.globalAlpha = 1;
  drawConflict(c, two, w, xOf, yOf, paint("--race"));
  if (now && now[1] < rows) {
    const view = canvas.parentElement, y = yOf(now[1]), x = xOf(steps[at]);
    const high = view.clientHeight, wide = view.clientWidth;
    if (y < view.scrollTop || y > view.scrollTop + high - 2 * ROW) view.scrollTop = y - high / 2;
    if (x < view.scrollLeft || x > view.scrollLeft + wide - 2 * w) view.scrollLeft = x - wide / 2;
    if (!two.includes(steps[at])) {
      c.strokeStyle = paint("--now"); c.lineWidth = 2.5; c.strokeRect(x - 0.5, y + 1, w + 1, ROW - 2);
    }
  }
}
// The two accesses ringed, a line between them, and the barrier that is missing.
function drawConflict(c, two, w, xOf, yOf, red) {
  c.strokeStyle = red; c.fillStyle = red;
  if (wall.length) {
    c.lineWidth = 3; c.setLineDash([5, 3]);
    wall.filter(part => part.item < rows).forEach(part => {
      const x = LEFT + part.column * w;
      c.beginPath(); c.moveTo(x, yOf(part.item)); c.lineTo(x, yOf(part.item) + ROW); c.stroke();
    });
    c.setLineDash([]);
  }
  if (two.length < 2) return;
  const middles = two.map(i => [xOf(i) + w / 2, yOf(L.events[i][1]) + ROW / 2]);
  const wide = Math.max(w, ROW) / 2 + 2, high = ROW / 2 + 2;
  const [[x, y], [u, v]] = middles;
  if (Math.abs(v - y) > 2 * high || Math.abs(u - x) > 2 * wide) {
    // From rim to rim: where the straight line between the middles leaves each ring.
    const t = 1 / Math.hypot((u - x) / wide, (v - y) / high);
    c.lineWidth = 2; c.beginPath(); c.moveTo(x + (u - x) * t, y + (v - y) * t);
    c.lineTo(u - (u - x) * t, v - (v - y) * t); c.stroke();
  }
  two.forEach((i, which) => {
    c.lineWidth = steps[at] === i ? 4 : 2.5;
    c.beginPath(); c.ellipse(...middles[which], wide, high, 0, 0, 7); c.stroke();
  });
}
function drawSource() {
  const pane = $("source"), raced = new Set(rings(L).map(i => L.sites[L.events[i][3]].join("-")));
  const gap = L.failure && L.failure.barrier;
  pane.textContent = "";
  L.sources.forEach((source, number) => {
    const isNew = !number || L.sources[number - 1].file !== source.file;
    pane.append(make("div", "file", isNew ? source.file : "\u22ef"));
    source.lines.forEach((text, i) => {
      const line = source.first + i, row = make("div", "row");
      row.id = "s" + number + "-" + line;
      row.classList.toggle("raced", raced.has(number + "-" + line));
      row.append(make("span", "number", line), make("span", "code", text));
      const known = L.lines[source.file + ":" + line];
      if (known) {
        const parts = [];
        if (known[2]) parts.push(known[2] + " r");
        if (known[3]) parts.push(known[3] + " w");
        if (known[7]) parts.push(known[7] + " at");
        if (known[5]) parts.push(known[5] + " seg");
        if (known[6]) parts.push(known[6] + " bank");
        if (known[8] > 1) parts.push(known[8] + " at one element");
        if (known[1] < 1) parts.push(Math.round(known[1] * 100) + "% active");
        row.append(make("span", "stat" + (known[5] > 1 || known[6] > 1 || known[8] > 1 ? " bad" : ""), parts.join("  ")));
        row.title = "run " + known[0] + " times, " + known[2] + " reads, " + known[3] + " writes, " + known[4] +
          " bytes; " + L.words.segments + (known[5] || "none") +
          ", bank turns: " + (known[6] || "none") +
          (known[7] ? "; " + known[7] + " atomics, " + known[8] + L.words.contention : "");
      }
      const missing = gap && gap[0] === number && gap[1] === line ? make("div", "gap", L.words[gap[2]]) : null;
      if (missing && gap[2] === "before") pane.append(missing);
      pane.append(row);
      if (missing && gap[2] !== "before") pane.append(missing);
    });
  });
}
function makeMemory() {
  const pane = $("memory"), raced = rings(L).map(i => L.events[i]);
  pane.textContent = ""; cells = [];
  L.arrays.forEach((a, number) => {
    const block = make("div", "array"), head = make("h3", "", a.name), grid = make("div", "grid");
    const whose = a.space === "private" ? L.words.whose : "";
    head.append(make("small", "", "  " + a.memory + whose + ", shape (" + a.shape.join(", ") + "), " + a.dtype +
      (a.cells.length < a.size ? "; " + a.cells.length + " of " + a.size + " elements" : "")));
    const last = a.shape[a.shape.length - 1];
    if (a.shape.length > 1 && a.cells.length === a.size && last <= 64) {
      grid.classList.add("table"); grid.style.gridTemplateColumns = "repeat(" + last + ", 60px)";
    }
    cells[number] = new Map();
    a.cells.forEach(e => {
      const cell = make("div", "cell"), value = make("span");
      cell.append(make("i", "", indices(a, e)), value);
      cell.classList.toggle("raced", raced.some(each => each[4] === number && each[5] === e));
      cell.dataset.array = number; cell.dataset.element = e;
      grid.append(cell); cells[number].set(e, {cell, value});
    });
    block.append(head, grid); pane.append(block);
  });
}
function drawMemory() {
  const now = steps.length ? steps[at] : -1, last = now < 0 ? null : L.events[now];
  memoryAt(L, now).forEach((known, number) => known.forEach((s, e) => {
    const shown = cells[number].get(e);
    shown.value.textContent = s.v === undefined ? "\u00b7" : short(s.v);
    shown.cell.style.background = s.e ? color(L, s.e[1]) : "";
    shown.cell.style.color = s.e ? "#fff" : "";
    shown.cell.style.borderColor = s.r ? color(L, s.r[1]) : s.e ? "transparent" : "";
    shown.cell.classList.toggle("last", !!last && last[4] === number && last[5] === e);
    shown.tip = (s.v === undefined ? "not written" : place(L.arrays[number], e) + " = " + spell(s.v)) +
      (s.e ? "\nwritten by " + label(L, s.e[1]) + ", line " + lineOf(L, s.e) : "") +
      (s.r ? "\nlast read by " + label(L, s.r[1]) + ", line " + lineOf(L, s.r) : "");
  }));
}
function go(to) {
  at = Math.max(0, Math.min(to, steps.length - 1));
  $("seek").value = at;
  $("count").textContent = steps.length ? "step " + (at + 1) + " of " + steps.length : "nothing ran";
  const e = steps.length ? L.events[steps[at]] : null, two = rings(L);
  document.querySelectorAll("#source .here").forEach(row => {
    row.classList.remove("here"); row.style.boxShadow = "";
  });
  $("earlier").classList.toggle("here", !!e && steps[at] === two[0]);
  $("later").classList.toggle("here", !!e && steps[at] === two[1]);
  if (e) {
    const site = L.sites[e[3]], row = $("s" + site[0] + "-" + site[1]), pane = $("source");
    const walls = e[2] ? ", after " + e[2] + " wall" + (e[2] > 1 ? "s" : "") : "";
    $("now").replaceChildren(label(L, e[1]) + " " + told(L, e) + ", line " + site[1] + walls);
    const which = two.indexOf(steps[at]);
    if (which >= 0) {
      const other = L.events[two[1 - which]];
      $("now").append(make("em", "", ". Nothing orders it and what " + label(L, other[1]) + " does at line " +
        lineOf(L, other)));
    } else if (L.failure && L.failure.event === steps[at]) $("now").append(make("em", "", ". Here the launch ended"));
    $("now").style.borderLeftColor = color(L, e[1]);
    if (row) {
      row.classList.add("here"); row.style.boxShadow = "inset 4px 0 " + color(L, e[1]);
      if (row.offsetTop - pane.offsetTop < pane.scrollTop ||
          row.offsetTop - pane.offsetTop > pane.scrollTop + pane.clientHeight - 30)
        pane.scrollTop = row.offsetTop - pane.offsetTop - pane.clientHeight / 2;
    }
  }
  drawTimeline(); drawMemory(); fit();
}
// A frame, as a notebook has, becomes as high as the page.
function fit() {
  try {
    if (window.frameElement) window.frameElement.style.height = document.documentElement.offsetHeight + 4 + "px";
  } catch { /* a frame of another origin keeps its height */ }
}
function jump() {
  const two = rings(L).map(i => steps.indexOf(i));
  if (two.length) { stop(); go(at === two[1] ? two[0] : two[1]); }
}
function stop() { clearInterval(timer); timer = null; $("play").textContent = "play"; }
function play() {
  if (timer) return stop();
  if (at >= steps.length - 1) go(0);
  $("play").textContent = "stop";
  timer = setInterval(() => { if (at >= steps.length - 1) stop(); else go(at + 1); }, 260);
}
function nextWall() {
  if (!steps.length) return;
  const phase = L.events[steps[at]][2], home = groupOf(L, L.events[steps[at]][1]);
  let to = at + 1;
  while (to < steps.length - 1 && L.events[steps[to]][2] === phase && groupOf(L, L.events[steps[to]][1]) === home) to++;
  go(to);
}
function near(event) {
  const box = $("timeline").getBoundingClientRect(), w = pitch();
  const column = Math.floor((event.clientX - box.left - LEFT) / w);
  const item = Math.floor((event.clientY - box.top - TOP) / ROW);
  return steps.findIndex(i => L.events[i][1] === item && where.columns.get(i) === column);
}
function tip(text, event) {
  $("tip").hidden = !text; $("tip").textContent = text || "";
  if (text) {
    $("tip").style.left = Math.min(event.clientX + 14, innerWidth - $("tip").offsetWidth - 8) + "px";
    $("tip").style.top = Math.min(event.clientY + 16, innerHeight - $("tip").offsetHeight - 8) + "px";
  }
}
launches.forEach((l, i) => $("launch").append(new Option((i + 1) + ": " + l.kernel, i)));
$("launch").hidden = launches.length < 2;
$("launch").onchange = () => { stop(); choose(+$("launch").value); };
$("lines").onchange = () => { stop(); select(); };
$("seek").oninput = () => { stop(); go(+$("seek").value); };
$("first").onclick = () => { stop(); go(0); };
$("back").onclick = () => { stop(); go(at - 1); };
$("next").onclick = () => { stop(); go(at + 1); };
$("wall").onclick = () => { stop(); nextWall(); };
$("play").onclick = play;
$("earlier").onclick = () => { stop(); go(steps.indexOf(rings(L)[0])); };
$("later").onclick = () => { stop(); go(steps.indexOf(rings(L)[1])); };
$("timeline").onclick = event => { const i = near(event); if (i >= 0) { stop(); go(i); } };
$("timeline").onmousemove = event => {
  const i = near(event), e = i < 0 ? null : L.events[steps[i]];
  tip(e && label(L, e[1]) + "\n" + told(L, e) + "\nline " + lineOf(L, e), event);
};
$("timeline").onmouseleave = () => tip("");
$("memory").onmousemove = event => {
  const cell = event.target.closest(".cell");
  tip(cell && cells[+cell.dataset.array].get(+cell.dataset.element).tip, event);
};
$("memory").onmouseleave = () => tip("");
window.onkeydown = event => {
  if (["INPUT", "SELECT", "BUTTON"].includes(event.target.tagName) && event.key === " ") return;
  const keys = {ArrowRight: () => go(at + 1), ArrowLeft: () => go(at - 1), Home: () => go(0), End: () => go(1e9),
    b: nextWall, r: jump, " ": play};
  if (keys[event.key] && event.target.id !== "seek") {
    event.preventDefault(); if (event.key !== " ") stop(); keys[event.key]();
  }
};
window.onresize = () => { if (L) drawTimeline(); };
window.matchMedia("(prefers-color-scheme: dark)").onchange = () => { if (L) drawTimeline(); };
if (launches.length) {
  const wanted = new URLSearchParams(location.hash.slice(1));
  const failed = launches.findIndex(each => each.failure);
  $("launch").value = Math.min(+(wanted.get("launch") || Math.max(failed, 0)), launches.length - 1);
  choose(+$("launch").value);
  if (wanted.has("step")) go(+wanted.get("step"));
} else $("kernel").textContent = "nothing was launched";
