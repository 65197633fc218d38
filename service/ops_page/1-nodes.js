
"use strict";
// Nodes, figures in words, and sparklines. These files are one script, in the order of their names.
//
// Everything from the server becomes text (textContent, setAttribute), never markup. Nodes are made once and changed in
// place, so that focus, selection, scroll and open details stay where they are.

const SVG = "http://www.w3.org/2000/svg";
const at = (id) => document.getElementById(id);

// --- nodes ---------------------------------------------------------------------------------------------------------

function make(name, attributes = {}, ...children) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  node.append(...children);
  return node;
}
function put(node, text) {
  if (node.textContent !== text) node.textContent = text;
  return node;
}
function mark(node, name, value) {
  if (node.getAttribute(name) !== value) node.setAttribute(name, value);
  return node;
}
function badge(node, tone, text) {
  return put(mark(node, "data-tone", tone), text);
}
const rows = new WeakMap();
/** One child of `parent` for each item, in order; made by `create`, which returns [node, update]. */
function sync(parent, items, keyOf, create) {
  const kept = rows.get(parent) || new Map();
  rows.set(parent, kept);
  const wanted = new Set(items.map(keyOf));
  for (const [key, [node]] of kept) {
    if (wanted.has(key) || node.contains(document.activeElement)) continue;
    node.remove();
    kept.delete(key);
  }
  let place = parent.firstElementChild;
  for (const item of items) {
    const key = keyOf(item);
    if (!kept.has(key)) kept.set(key, create(item));
    const [node, update] = kept.get(key);
    if (update) update(item);
    if (node === place) place = place.nextElementSibling;
    else parent.insertBefore(node, place);
  }
}

// --- figures -------------------------------------------------------------------------------------------------------

const numbers = new Intl.NumberFormat("en");
const number = (value) => numbers.format(value);
const sum = (values) => Object.values(values).reduce((total, value) => total + value, 0);
const most = (values) => Math.max(0, ...values.map((value) => value ?? 0));
const plural = (count, one, many) => `${number(count)} ${count === 1 ? one : many}`;
function ms(value) {
  if (value === null || value === undefined) return "\u2013";
  if (value < 1000) return `${Math.round(value)}\u00a0ms`;
  return value < 100000 ? `${(value / 1000).toFixed(1)}\u00a0s` : span(value / 1000);
}
function span(seconds) {
  if (seconds < 100) return `${Math.round(seconds)}\u00a0s`;
  if (seconds < 7200) return `${Math.round(seconds / 60)}\u00a0min`;
  if (seconds < 172800) return `${Math.floor(seconds / 3600)}\u00a0h ${Math.round((seconds % 3600) / 60)}\u00a0min`;
  return `${Math.round(seconds / 86400)}\u00a0days`;
}
const kinds = (counts) =>
  Object.entries(counts).sort((a, b) => b[1] - a[1]).map(([kind, count]) => `${kind} ${number(count)}`).join(", ");
const clock = (date) => date.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" });

// --- sparklines ----------------------------------------------------------------------------------------------------

const HEIGHT = 30;
function drawing(...classes) {
  const root = document.createElementNS(SVG, "svg");
  root.setAttribute("class", "spark");
  root.setAttribute("role", "img");
  root.setAttribute("viewBox", `0 0 60 ${HEIGHT}`);
  root.setAttribute("preserveAspectRatio", "none");
  const paths = classes.map((name) => {
    const path = document.createElementNS(SVG, "path");
    path.setAttribute("class", name);
    root.append(path);
    return path;
  });
  return [root, paths];
}
/** Answered calls as bars above the line and failed ones below it, so that no colour is needed to tell them apart. */
function bars() {
  const [root, [up, down, axis]] = drawing("up", "down", "axis");
  return [root, (seen) => {
    const above = most(seen.answered), below = most(seen.failed);
    const scale = (HEIGHT - 2) / Math.max(1, above + below), line = above + below ? 1 + above * scale : HEIGHT - 1;
    const bar = (sign) => (count, minute) =>
      count ? `M${minute + 0.12} ${line}v${(sign * Math.max(1.5, count * scale)).toFixed(2)}h.76V${line}Z` : "";
    mark(up, "d", seen.answered.map(bar(-1)).join(""));
    mark(down, "d", seen.failed.map(bar(1)).join(""));
    mark(axis, "d", `M0 ${line}H60`);
    mark(root, "aria-label", callsText(seen));
  }];
}
function callsText(seen) {
  const answered = sum(seen.answered), failed = sum(seen.failed), late = sum(seen.late);
  if (!answered && !failed && !late) return "No calls in the last hour";
  const busiest = seen.answered.map((count, minute) => count + seen.failed[minute]);
  const peak = Math.max(...busiest), ago = 59 - busiest.lastIndexOf(peak);
  const when = ago ? `${plural(ago, "minute", "minutes")} ago` : "this minute";
  return `Last hour: ${number(answered)} answered, ${number(failed)} failed, ${number(late)} given up; ` +
    `most in a minute: ${number(peak)}, ${when}`;
}
function curve() {
  const [root, [axis, path]] = drawing("axis", "curve");
  return [root, (seen) => {
    const scale = (HEIGHT - 4) / Math.max(1, most(seen.mean_ms));
    let before = false;
    const points = seen.mean_ms.map((value, minute) => {
      const alone = !before;
      before = value !== null;
      if (value === null) return "";
      const height = (HEIGHT - 2 - value * scale).toFixed(2);
      return alone ? `M${minute + 0.2} ${height}H${minute + 0.8}` : `L${minute + 0.5} ${height}`;
    });
    mark(axis, "d", `M0 ${HEIGHT - 1}H60`);
    mark(path, "d", points.join(""));
    mark(root, "aria-label", timesText(seen));
  }];
}
function timesText(seen) {
  if (!sum(seen.timed)) return "No call finished in the last hour";
  return `Durations in the last hour: mean ${ms(mean(seen))}, longest ${ms(most(seen.longest_ms))}`;
}
const mean = (seen) => {
  const count = sum(seen.timed);
  return count ? seen.mean_ms.reduce((total, value, minute) => total + (value ?? 0) * seen.timed[minute], 0) / count : null;
};
const QUIET = Array(60).fill(0), NEVER = Array(60).fill(null);
const IDLE = { answered: QUIET, failed: QUIET, late: QUIET, timed: QUIET, mean_ms: NEVER, longest_ms: NEVER };
