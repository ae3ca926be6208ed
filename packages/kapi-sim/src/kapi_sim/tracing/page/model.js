"use strict";
// What the page shows of a launch, worked out without a document: Node runs this file in the tests.
const LINE = 0, READ = 1, WRITE = 2, BARRIER = 3, ATOMIC = 4, ALGORITHM = 5, SUBGROUP = 6;

const spell = v => typeof v === "number" ? String(+v.toPrecision(6)) : v === null ? "?" : String(v);
const short = v => {
  const t = typeof v === "number" ? String(+v.toPrecision(3)) : spell(v);
  return t.length > 7 && typeof v === "number" ? (+v).toExponential(1) : t;
};
const indices = (a, e) => {
  const index = [];
  for (let d = a.shape.length - 1; d >= 0; d--) { index.unshift(e % a.shape[d]); e = Math.floor(e / a.shape[d]); }
  return index.join(", ");
};
const place = (a, e) => a.name + "[" + indices(a, e) + "]";
const brief = (a, e) => (a.name.length > 4 ? a.name.slice(0, 3) + "." : a.name) + "[" + indices(a, e).replaceAll(" ", "") + "]";
const isWall = e => e[0] === BARRIER || e[0] === ALGORITHM;
const isAccess = e => e[0] === READ || e[0] === WRITE || e[0] === ATOMIC;
const groupOf = (L, n) => L.groupSize > 1 ? Math.floor(n / L.groupSize) : -1;
const lineOf = (L, e) => L.sites[e[3]][1];
const label = (L, n) => L.names[n] || "work-item " + n;
const color = (L, n) => L.colors[n] || "#888";

function told(L, e) {
  const a = L.arrays[e[4]];
  if (e[0] === READ) return "reads " + place(a, e[5]) + " = " + spell(e[6]);
  if (e[0] === WRITE) return "writes " + spell(e[6]) + " to " + place(a, e[5]);
  if (e[0] === ATOMIC) return "uses " + place(a, e[5]) + " atomically, which is then " + spell(e[6]);
  if (e[0] === ALGORITHM) return L.words.meets + e[6];
  if (e[0] === SUBGROUP) return L.words.meetsSubgroup + e[6];
  return e[0] === BARRIER ? "waits at the barrier" : "comes to this line";
}

// The events of the failure that conflict, the earlier one first.
const rings = L => L.failure && L.failure.event !== null && L.failure.other !== null ?
  [L.failure.other, L.failure.event] : [];

// The numbers of the events that are steps: all, or those that are more than a line; and what ended the launch.
function stepsOf(L, all) {
  const steps = [];
  L.events.forEach((e, i) => {
    if (all || e[0] !== LINE || (L.failure && L.failure.event === i)) steps.push(i);
  });
  return steps;
}

// The step at which the page opens: what ended the launch, else the first.
function opening(L, steps) {
  const at = L.failure && L.failure.event !== null ? steps.indexOf(L.failure.event) : 0;
  return at < 0 ? Math.max(steps.length - 1, 0) : at;
}

// By event its column.  Work-items between two barriers stand below each other, not behind each other.
function layout(L, steps) {
  const columns = new Map(), used = new Map(), start = new Map(), width = new Map();
  const phases = [...new Set(steps.map(i => L.events[i][2]))].sort((x, y) => x - y);
  for (const i of steps) {
    const e = L.events[i], key = e[2] + "/" + e[1], n = used.get(key) || 0;
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
  return {columns, start, total: Math.max(x, 1)};
}

// Where the missing barrier would stand: for each work-item of the group that came by, the column before which.
function missingWall(L, steps, where) {
  const [one, two] = rings(L), gap = L.failure && L.failure.barrier;
  if (one === undefined || !gap) return [];
  const phase = L.events[two][2], home = groupOf(L, L.events[two][1]);
  if (home < 0 || groupOf(L, L.events[one][1]) !== home || L.events[one][2] !== phase) return [];
  const [source, line, side] = gap;
  const isPast = i => {
    const [file, at] = L.sites[L.events[i][3]];
    if (side === "within") return file === source && (at > line || (at === line && L.events[i][0] === WRITE));
    return file === source && (side === "after" ? at !== line : at >= line);
  };
  const columns = new Map();
  for (const i of steps) {
    const e = L.events[i];
    if (e[2] !== phase || groupOf(L, e[1]) !== home || isWall(e)) continue;
    if (!columns.has(e[1])) columns.set(e[1], {end: 0, is: false, isReady: false});
    const row = columns.get(e[1]), past = isPast(i);
    if (row.is) continue;
    // A barrier after a line stands where the work-item has come by the line and goes on.
    row.is = past && (side !== "after" || row.isReady);
    row.isReady = row.isReady || !past;
    row.end = where.columns.get(i) + (row.is ? 0 : 1);
  }
  // One of the accesses comes before the barrier, the other one after it, whatever loops there are.
  for (const [i, other] of [[one, two], [two, one]]) {
    const past = isPast(i) && !isPast(other);
    const at = where.columns.get(i), row = columns.get(L.events[i][1]);
    if (past) { row.end = Math.min(row.end, at); row.is = true; } else row.end = Math.max(row.end, at + 1);
  }
  const most = Math.max(...[...columns.values()].map(c => c.end));
  const first = home * L.groupSize, wall = [];
  for (let n = first; n < first + L.groupSize; n++) {
    const known = columns.get(n);
    wall.push({item: n, column: known && known.is ? known.end : most});
  }
  return wall;
}

// What memory holds after an event: by array and element the value, and who wrote and read it last.
function memoryAt(L, now) {
  const first = (a, i) => ({v: a.initial ? a.initial[i] : undefined, e: null});
  const state = L.arrays.map(a => new Map(a.cells.map((e, i) => [e, first(a, i)])));
  const last = now < 0 ? null : L.events[now];
  let running = null;
  for (let i = 0; i <= now; i++) {
    const e = L.events[i];
    if (groupOf(L, e[1]) !== running) {
      running = groupOf(L, e[1]);
      L.arrays.forEach((a, n) => { if (a.space === "local") state[n].forEach(s => { s.v = undefined; s.e = null; }); });
    }
    if (!isAccess(e)) continue;
    if (L.arrays[e[4]].space === "private" && e[1] !== last[1]) continue;  // each work-item has its own
    const s = state[e[4]].get(e[5]);
    if (!s) continue;
    s.v = e[6];
    if (e[0] === READ) s.r = e; else s.e = e;
  }
  return state;
}

if (typeof module !== "undefined") {
  module.exports = {spell, short, place, brief, told, rings, stepsOf, opening, layout, missingWall, memoryAt, groupOf, lineOf};
}
