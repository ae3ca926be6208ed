"""Markup, style and behaviour of the page that `kapi_sim.tracing.html` fills."""

from __future__ import annotations

__all__ = ["PAGE", "SCRIPT", "STYLE"]

PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<header>
  <h1 id="kernel"></h1>
  <select id="launch" aria-label="launch"></select>
  <span id="space"></span>
</header>
<p id="dropped" class="warning" hidden></p>
<section class="controls">
  <button id="first" title="first step (Home)">|&#9664;</button>
  <button id="back" title="one step back (left arrow)">&#9664;</button>
  <button id="play" title="play or stop (space)">play</button>
  <button id="next" title="one step (right arrow)">&#9654;</button>
  <button id="wall" title="to the next barrier or group algorithm (b)">next barrier</button>
  <label class="lines"><input type="checkbox" id="lines"> stop at each line</label>
  <input type="range" id="seek" min="0" value="0" aria-label="step">
  <output id="count"></output>
</section>
<p id="now" aria-live="polite"></p>
<section class="panes">
  <div class="pane"><h2>Timeline</h2><div class="scroll"><canvas id="timeline"></canvas></div>
  <p class="legend"><b class="box read"></b> read <b class="box write"></b> written <b class="box block"></b> barrier:
  what stands left of it comes before what stands right of it. A colour is a work-item.
  <span id="atomic" hidden><b class="box dashed"></b> atomic</span>
  <span id="algorithm" hidden><b class="box light"></b> group algorithm: all meet, no memory is ordered</span>
  <span id="subgroup" hidden><b class="box diamond"></b> meeting of a sub-group</span></p></div>
  <div class="pane"><h2>Source</h2><div id="source" class="scroll"></div></div>
  <div class="pane wide"><h2>Memory</h2><div id="memory"></div></div>
</section>
<div id="tip" hidden></div>
<script type="application/json" id="data">{data}</script>
<script>{script}</script>
</body>
</html>
"""

STYLE = """
:root{--ink:#1d2230;--soft:#667085;--line:#dfe3ec;--paper:#fff;--back:#f5f6fa;--mark:#fff3c4;--wall:#333a4d}
@media (prefers-color-scheme:dark){:root{--ink:#e6e8ef;--soft:#98a1b5;--line:#343b4d;--paper:#1b2030;--back:#131722;
--mark:#4a4220;--wall:#c5cad8}}
*{box-sizing:border-box}
body{margin:0;padding:14px 18px 40px;background:var(--back);color:var(--ink);font:15px/1.45 system-ui,sans-serif}
header{display:flex;gap:12px;align-items:baseline;flex-wrap:wrap}
h1{font-size:21px;margin:0}h2{font-size:12px;margin:0 0 8px;color:var(--soft);text-transform:uppercase;
letter-spacing:.06em}
#space{color:var(--soft)}
button,select{font:inherit;font-size:14px;padding:5px 11px;border:1px solid var(--line);border-radius:7px;
background:var(--paper);color:var(--ink);cursor:pointer}
button:hover,select:hover{border-color:var(--soft)}
.controls{display:flex;gap:7px;align-items:center;margin:12px 0 4px;flex-wrap:wrap}
#seek{flex:1 1 180px;min-width:120px}#count{font-variant-numeric:tabular-nums;color:var(--soft);min-width:92px}
.lines{font-size:13px;color:var(--soft)}
.warning{background:var(--mark);padding:7px 11px;border-radius:7px;margin:8px 0}
#now{min-height:46px;margin:6px 0 12px;padding:10px 12px;background:var(--paper);border:1px solid var(--line);
border-left:8px solid var(--line);border-radius:8px}
.panes{display:grid;grid-template-columns:minmax(0,1fr) minmax(0,1.2fr);gap:12px}
.pane{background:var(--paper);border:1px solid var(--line);border-radius:10px;padding:12px;min-width:0}
.wide{grid-column:1/-1}
.scroll{overflow:auto;max-height:430px}
canvas{display:block}
.legend{font-size:12.5px;color:var(--soft);margin:8px 0 0}
.box{display:inline-block;width:12px;height:12px;border-radius:3px;margin:0 2px 0 8px;vertical-align:-1px}
.box.read{border:2px solid #3f6fb5}.box.write{background:#3f6fb5}.box.block{background:var(--wall);width:5px}
.box.dashed{border:2px dashed #3f6fb5}.box.light{border:2px solid var(--soft);width:6px}
.box.diamond{background:var(--soft);transform:rotate(45deg) scale(.75);border-radius:0}
#source{font:12.5px/1.6 ui-monospace,SFMono-Regular,Menlo,monospace}
#source .file{color:var(--soft);padding:2px 8px;font-family:system-ui,sans-serif;font-size:12px}
#source .row{display:flex;white-space:pre;border-radius:5px;min-width:max-content}
#source .row>span:first-child{color:var(--soft);width:44px;flex:none;text-align:right;padding-right:12px;
user-select:none}
#source .stat{margin-left:auto;padding:0 8px 0 18px;color:var(--soft);font-size:11.5px}
#source .bad{color:#c2410c}
@media (prefers-color-scheme:dark){#source .bad{color:#fb923c}}
#source .here{background:var(--mark)}
.array{margin:0 0 14px}.array h3{font-size:14px;margin:0 0 5px}.array h3 small{font-weight:400;color:var(--soft)}
.grid{display:flex;flex-wrap:wrap;gap:3px;max-height:340px;overflow:auto;padding:3px}
.grid.table{display:grid;overflow:auto;justify-content:start}
.cell{width:60px;white-space:nowrap;
height:34px;padding:1px 4px;border:2px solid var(--line);border-radius:5px;font-size:12px;
text-align:center;position:relative;font-variant-numeric:tabular-nums;line-height:15px;cursor:default;overflow:hidden}
.cell i{display:block;font-style:normal;font-size:9.5px;opacity:.72;line-height:12px}
.cell.last{outline:3px solid #f59e0b;outline-offset:0}
#tip{position:fixed;z-index:9;background:#141a28;color:#fff;padding:7px 10px;border-radius:7px;font-size:12.5px;
max-width:340px;pointer-events:none;white-space:pre-line}
@media (max-width:760px){body{padding:10px}.panes{grid-template-columns:minmax(0,1fr)}.scroll{max-height:300px}
.lines{order:9}#seek{flex-basis:100%;order:8}#now{min-height:64px}#source .stat{display:none}}
"""

SCRIPT = """
"use strict";
const launches = JSON.parse(document.getElementById("data").textContent);
const $ = id => document.getElementById(id);
const make = tag => document.createElement(tag);
const LINE = 0, READ = 1, WRITE = 2, BARRIER = 3, ATOMIC = 4, ALGORITHM = 5, SUBGROUP = 6, ROW = 16, LEFT = 92, TOP = 8;
let L, steps, at, timer, cells, columns, step, rows;

const label = n => L.names[n] || "work-item " + n;
const color = n => L.colors[n] || "#888";
const group = n => L.groupSize > 1 ? Math.floor(n / L.groupSize) : -1;
const spell = v => typeof v === "number" ? String(+v.toPrecision(6)) : v === null ? "?" : String(v);
const short = v => {
  const t = typeof v === "number" ? String(+v.toPrecision(3)) : spell(v);
  return t.length > 7 && typeof v === "number" ? (+v).toExponential(1) : t;
};
const place = (a, e) => {
  const index = [];
  for (let d = a.shape.length - 1; d >= 0; d--) { index.unshift(e % a.shape[d]); e = Math.floor(e / a.shape[d]); }
  return a.name + "[" + index.join(", ") + "]";
};
const isWall = e => e[0] === BARRIER || e[0] === ALGORITHM;
const lineOf = e => L.sites[e[3]][1];
function told(e) {
  const a = L.arrays[e[4]];
  if (e[0] === READ) return "reads " + place(a, e[5]) + " = " + spell(e[6]);
  if (e[0] === WRITE) return "writes " + spell(e[6]) + " to " + place(a, e[5]);
  if (e[0] === ATOMIC) return "uses " + place(a, e[5]) + " atomically, which is then " + spell(e[6]);
  if (e[0] === ALGORITHM) return "meets its group in " + e[6];
  if (e[0] === SUBGROUP) return "meets its sub-group in " + e[6];
  return e[0] === BARRIER ? "waits at the barrier" : "comes to this line";
}

function choose(number) {
  L = launches[number];
  $("kernel").textContent = L.kernel;
  $("space").textContent = "over " + L.space + ", " + L.items + " work-items";
  $("dropped").hidden = !L.dropped;
  $("dropped").textContent = L.dropped + " later events were left out of this trace: raise trace(limit=...) for more.";
  const has = kind => L.events.some(e => e[0] === kind);
  $("atomic").hidden = !has(ATOMIC); $("algorithm").hidden = !has(ALGORITHM); $("subgroup").hidden = !has(SUBGROUP);
  drawSource(); makeMemory(); select();
}
function select() {
  const all = $("lines").checked;
  steps = [];
  L.events.forEach((e, i) => { if (all || e[0] !== LINE) steps.push(i); });
  // Columns: work-items between two barriers stand below each other, not behind each other.
  columns = new Map(); step = 0;
  const used = new Map(), start = new Map();
  const keys = [];
  for (const i of steps) { const e = L.events[i]; keys.push(e[2]); }
  const phases = [...new Set(keys)].sort((x, y) => x - y);
  const width = new Map();
  for (const i of steps) {
    const e = L.events[i], key = e[2] + "/" + e[1];
    const n = used.get(key) || 0;
    used.set(key, n + 1);
    columns.set(i, n);
    if (!isWall(e)) width.set(e[2], Math.max(width.get(e[2]) || 0, n + 1));
  }
  let x = 0;
  for (const p of phases) { start.set(p, x); x += (width.get(p) || 0) + 1; }
  for (const i of steps) {
    const e = L.events[i];
    columns.set(i, start.get(e[2]) + (isWall(e) ? width.get(e[2]) || 0 : columns.get(i)));
  }
  rows = Math.min(L.items, 256);
  columns.total = Math.max(x, 1);
  $("seek").max = Math.max(steps.length - 1, 0);
  go(0);
}
function pitch() {
  const room = $("timeline").parentElement.clientWidth - LEFT - 10;
  return Math.max(Math.min(room / columns.total, 26), 4);
}
function drawTimeline() {
  const canvas = $("timeline"), w = pitch(), ratio = window.devicePixelRatio || 1;
  const width = Math.min(LEFT + columns.total * w + 8, 16000), height = TOP * 2 + rows * ROW;
  canvas.width = width * ratio; canvas.height = height * ratio;
  canvas.style.width = width + "px"; canvas.style.height = height + "px";
  const c = canvas.getContext("2d"), style = getComputedStyle(document.documentElement);
  c.scale(ratio, ratio);
  c.font = "11px system-ui";
  for (let n = 0; n < rows; n++) {
    if (group(n) % 2 === 1) {
      c.fillStyle = style.getPropertyValue("--back"); c.fillRect(0, TOP + n * ROW, width, ROW);
    }
    c.fillStyle = color(n); c.beginPath(); c.arc(9, TOP + n * ROW + ROW / 2, 4.5, 0, 7); c.fill();
    c.fillStyle = style.getPropertyValue("--soft");
    c.fillText(label(n).replace("global ", "").replace(/\\), .*/, ")"), 19, TOP + n * ROW + 12);
  }
  const now = L.events[steps[at]];
  steps.forEach((i, order) => {
    const e = L.events[i];
    if (e[1] >= rows) return;
    const x = LEFT + columns.get(i) * w, y = TOP + e[1] * ROW;
    c.globalAlpha = order <= at ? 1 : 0.28;
    if (e[0] === BARRIER) {
      c.fillStyle = style.getPropertyValue("--wall"); c.fillRect(x + w / 2 - 2.5, y, 5, ROW);
    } else if (e[0] === ALGORITHM) {
      c.strokeStyle = style.getPropertyValue("--soft"); c.lineWidth = 1.5; c.strokeRect(x + w / 2 - 2, y, 4, ROW);
    } else if (e[0] === SUBGROUP) {
      const m = x + w / 2, h = Math.min(w / 2, ROW / 2 - 3);
      c.fillStyle = style.getPropertyValue("--soft"); c.beginPath(); c.moveTo(m, y + ROW / 2 - h);
      c.lineTo(m + h, y + ROW / 2); c.lineTo(m, y + ROW / 2 + h); c.lineTo(m - h, y + ROW / 2); c.fill();
    } else if (e[0] === LINE) {
      c.fillStyle = color(e[1]); c.fillRect(x + w * 0.3, y + ROW / 2 - 1, w * 0.4, 2);
    } else if (e[0] === WRITE) {
      c.fillStyle = color(e[1]); c.fillRect(x + 1, y + 3, w - 2, ROW - 6);
    } else {
      c.strokeStyle = color(e[1]); c.lineWidth = 2; c.setLineDash(e[0] === ATOMIC ? [3, 2] : []);
      c.strokeRect(x + 2, y + 4, Math.max(w - 4, 1), ROW - 8); c.setLineDash([]);
    }
  });
  c.globalAlpha = 1;
  if (now && now[1] < rows) {
    const view = canvas.parentElement, y = TOP + now[1] * ROW, x = LEFT + columns.get(steps[at]) * w;
    const high = view.clientHeight, wide = view.clientWidth;
    if (y < view.scrollTop || y > view.scrollTop + high - 2 * ROW) view.scrollTop = y - high / 2;
    if (x < view.scrollLeft || x > view.scrollLeft + wide - 2 * w) view.scrollLeft = x - wide / 2;
    c.strokeStyle = "#f59e0b"; c.lineWidth = 2.5;
    c.strokeRect(LEFT + columns.get(steps[at]) * w - 0.5, TOP + now[1] * ROW + 1, w + 1, ROW - 2);
  }
}
function drawSource() {
  const pane = $("source"); pane.textContent = "";
  L.sources.forEach((source, number) => {
    const file = document.createElement("div"); file.className = "file"; file.textContent = source.file;
    if (!number || L.sources[number - 1].file !== source.file) pane.append(file);
    else { file.textContent = "\u22ef"; pane.append(file); }
    source.lines.forEach((text, i) => {
      const row = make("div"), n = make("span"), code = make("span");
      row.className = "row"; row.id = "s" + number + "-" + (source.first + i);
      n.textContent = source.first + i; code.textContent = text; row.append(n, code);
      const known = L.lines[source.file + ":" + (source.first + i)];
      if (known) {
        const stat = document.createElement("span"), parts = [];
        stat.className = "stat" + (known[5] > 1 || known[6] > 1 || known[8] > 1 ? " bad" : "");
        if (known[2]) parts.push(known[2] + " r");
        if (known[3]) parts.push(known[3] + " w");
        if (known[7]) parts.push(known[7] + " at");
        if (known[5]) parts.push(known[5] + " seg");
        if (known[6]) parts.push(known[6] + " bank");
        if (known[8] > 1) parts.push(known[8] + " at one element");
        if (known[1] < 1) parts.push(Math.round(known[1] * 100) + "% active");
        stat.textContent = parts.join("  ");
        row.title = "run " + known[0] + " times, " + known[2] + " reads, " + known[3] + " writes, " + known[4] +
          " bytes; segments of a sub-group's access: " + (known[5] || "none") +
          ", bank turns: " + (known[6] || "none") +
          (known[7] ? "; " + known[7] + " atomics, " + known[8] + " of a sub-group at one element" : "");
        row.append(stat);
      }
      pane.append(row);
    });
  });
}
function makeMemory() {
  const pane = $("memory"); pane.textContent = ""; cells = [];
  L.arrays.forEach((a, number) => {
    const block = make("div"), head = make("h3"), grid = make("div");
    block.className = "array"; grid.className = "grid";
    head.append(a.name);
    const small = document.createElement("small");
    const whose = a.space === "private" ? " of the work-item that runs" : "";
    small.textContent = "  " + a.space + " memory" + whose + ", shape (" + a.shape.join(", ") + "), " + a.dtype +
      (a.cells.length < a.size ? "; " + a.cells.length + " of " + a.size + " elements" : "");
    head.append(small);
    const last = a.shape[a.shape.length - 1];
    if (a.shape.length > 1 && a.cells.length === a.size && last <= 64) {
      grid.classList.add("table"); grid.style.gridTemplateColumns = "repeat(" + last + ", 60px)";
    }
    cells[number] = new Map();
    a.cells.forEach(e => {
      const cell = make("div"), id = make("i"), value = make("span");
      cell.className = "cell"; id.textContent = place(a, e).slice(a.name.length + 1, -1); cell.append(id, value);
      cell.dataset.array = number; cell.dataset.element = e;
      grid.append(cell); cells[number].set(e, {cell, value});
    });
    block.append(head, grid); pane.append(block);
  });
}
function drawMemory() {
  const now = steps.length ? steps[at] : -1, last = now < 0 ? null : L.events[now];
  const first = (a, i) => ({v: a.initial ? a.initial[i] : undefined, e: null});
  const state = L.arrays.map(a => new Map(a.cells.map((e, i) => [e, first(a, i)])));
  let running = null;
  for (let i = 0; i <= now; i++) {
    const e = L.events[i];
    if (group(e[1]) !== running) {
      running = group(e[1]);
      L.arrays.forEach((a, n) => { if (a.space === "local") state[n].forEach(s => { s.v = undefined; s.e = null; }); });
    }
    if (e[0] !== READ && e[0] !== WRITE && e[0] !== ATOMIC) continue;
    if (L.arrays[e[4]].space === "private" && e[1] !== last[1]) continue;  // each work-item has its own
    const s = state[e[4]].get(e[5]);
    if (!s) continue;
    s.v = e[6];
    if (e[0] === READ) s.r = e; else s.e = e;
  }
  state.forEach((known, number) => known.forEach((s, e) => {
    const shown = cells[number].get(e);
    shown.value.textContent = s.v === undefined ? "\\u00b7" : short(s.v);
    shown.cell.style.background = s.e ? color(s.e[1]) : "";
    shown.cell.style.color = s.e ? "#fff" : "";
    shown.cell.style.borderColor = s.r ? color(s.r[1]) : s.e ? "transparent" : "";
    shown.cell.classList.toggle("last", !!last && last[4] === number && last[5] === e);
    shown.tip = (s.v === undefined ? "not written" : place(L.arrays[number], e) + " = " + spell(s.v)) +
      (s.e ? "\\nwritten by " + label(s.e[1]) + ", line " + lineOf(s.e) : "") +
      (s.r ? "\\nlast read by " + label(s.r[1]) + ", line " + lineOf(s.r) : "");
  }));
}
function go(to) {
  at = Math.max(0, Math.min(to, steps.length - 1));
  $("seek").value = at;
  $("count").textContent = steps.length ? "step " + (at + 1) + " of " + steps.length : "nothing ran";
  const e = steps.length ? L.events[steps[at]] : null;
  document.querySelectorAll("#source .here").forEach(row => {
    row.classList.remove("here"); row.style.boxShadow = "";
  });
  if (e) {
    const site = L.sites[e[3]], row = $("s" + site[0] + "-" + site[1]), pane = $("source");
    $("now").textContent = label(e[1]) + " " + told(e) + ", line " + site[1] + (e[2] ? ", after " + e[2] + " wall" +
      (e[2] > 1 ? "s" : "") : "");
    $("now").style.borderLeftColor = color(e[1]);
    if (row) {
      row.classList.add("here"); row.style.boxShadow = "inset 4px 0 " + color(e[1]);
      if (row.offsetTop - pane.offsetTop < pane.scrollTop ||
          row.offsetTop - pane.offsetTop > pane.scrollTop + pane.clientHeight - 30)
        pane.scrollTop = row.offsetTop - pane.offsetTop - pane.clientHeight / 2;
    }
  }
  drawTimeline(); drawMemory();
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
  const phase = L.events[steps[at]][2], home = group(L.events[steps[at]][1]);
  let to = at + 1;
  while (to < steps.length - 1 && L.events[steps[to]][2] === phase && group(L.events[steps[to]][1]) === home) to++;
  go(to);
}
function near(event) {
  const box = $("timeline").getBoundingClientRect(), w = pitch();
  const column = Math.floor((event.clientX - box.left - LEFT) / w);
  const item = Math.floor((event.clientY - box.top - TOP) / ROW);
  return steps.findIndex(i => L.events[i][1] === item && columns.get(i) === column);
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
$("timeline").onclick = event => { const i = near(event); if (i >= 0) { stop(); go(i); } };
$("timeline").onmousemove = event => {
  const i = near(event), e = i < 0 ? null : L.events[steps[i]];
  tip(e && label(e[1]) + "\\n" + told(e) + "\\nline " + lineOf(e), event);
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
    b: nextWall, " ": play};
  if (keys[event.key] && event.target.id !== "seek") {
    event.preventDefault(); if (event.key !== " ") stop(); keys[event.key]();
  }
};
window.onresize = () => { if (L) drawTimeline(); };
if (launches.length) {
  const wanted = new URLSearchParams(location.hash.slice(1));
  $("launch").value = Math.min(+(wanted.get("launch") || 0), launches.length - 1);
  choose(+$("launch").value);
  if (wanted.has("step")) go(+wanted.get("step"));
} else $("kernel").textContent = "nothing was launched";
"""
