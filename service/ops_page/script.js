
"use strict";
// Everything from the server becomes text (textContent, setAttribute), never markup. Nodes are made once and changed in
// place, so that focus, selection, scroll and open details stay where they are.
(() => {
  const EVERY_MS = 3000, PATIENCE_MS = 6000, SVG = "http://www.w3.org/2000/svg", STORE = "research-mcp token";
  const at = (id) => document.getElementById(id);
  const ROLES = { search: "Search", images: "Pictures", read: "Read", rerank: "Rerank", robots: "robots.txt" };

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
    if (value < 1000) return `${Math.round(value)} ms`;
    return value < 100000 ? `${(value / 1000).toFixed(1)} s` : span(value / 1000);
  }
  function span(seconds) {
    if (seconds < 100) return `${Math.round(seconds)} s`;
    if (seconds < 7200) return `${Math.round(seconds / 60)} min`;
    if (seconds < 172800) return `${Math.floor(seconds / 3600)} h ${Math.round((seconds % 3600) / 60)} min`;
    return `${Math.round(seconds / 86400)} days`;
  }
  const kinds = (counts) =>
    Object.entries(counts).sort((a, b) => b[1] - a[1]).map(([kind, count]) => `${kind} ${number(count)}`).join(", ");
  const clock = (date) => date.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", second: "2-digit" });

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

  // --- all calls -----------------------------------------------------------------------------------------------------

  const [allCalls, drawAllCalls] = bars(), [allTimes, drawAllTimes] = curve();
  at("hour-calls").append(allCalls);
  at("hour-times").append(allTimes);

  function showCalls(data) {
    const tools = Object.entries(data.service.calls), seen = data.history.calls;
    const total = tools.reduce((count, [, calls]) => count + calls.total, 0);
    const running = tools.reduce((count, [, calls]) => count + calls.in_flight, 0);
    at("nothing").hidden = total > 0;
    put(at("nothing"), `Nothing has happened yet: no tool was called since the start, ${span(data.service.uptime_s)} ago.`);
    for (const figure of [allCalls, allTimes]) figure.closest("figure").hidden = total === 0;
    drawAllCalls(seen);
    drawAllTimes(seen);
    const ready = data.roles.filter((role) => role.groups.length).map(({ role, groups }) => {
      const names = new Set(groups.flat()), able = data.ready[role].filter((name) => names.has(name)).length;
      return [`${ROLES[role] ?? role}: ready`, `${able} of ${names.size}`, able ? "" : "none can be asked"];
    });
    sync(at("tiles"), [
      ["Running now", number(running), ""],
      ["Answered", number(sum(seen.answered)), ""],
      ["Failed", number(sum(seen.failed)), ""],
      ["Mean duration", ms(mean(seen)), sum(seen.timed) ? `longest ${ms(most(seen.longest_ms))}` : ""],
      ...ready,
    ], ([name]) => name, ([name]) => {
      const value = make("span"), small = make("small");
      return [make("div", {}, make("dt", {}, name), make("dd", {}, value, small)), ([, figure, more]) => {
        put(value, figure);
        put(small, more);
      }];
    });
    sync(at("tools"), tools, ([name]) => name, ([name]) => {
      const cells = [0, 1, 2, 3].map(() => make("td"));
      return [make("tr", {}, make("th", { scope: "row" }, name), ...cells), ([, calls]) =>
        [calls.total, calls.ok, calls.failed, calls.in_flight].forEach((value, index) => put(cells[index], number(value)))];
    });
  }

  // --- providers -----------------------------------------------------------------------------------------------------

  const COLUMNS = ["Provider", "State", "Calls, last hour", "Durations, last hour", "Load", "Quota", "Since the start"];

  function showRoles(data) {
    const actors = new Map(data.actors.map((actor) => [actor.instance, actor]));
    const placed = new Set(data.roles.flatMap(({ groups }) => groups.flat()));
    const others = data.actors.filter((actor) => !placed.has(actor.instance) && !isAbsent(actor));
    const shown = data.roles.filter(({ groups }) => groups.length);
    if (others.length) shown.push({ role: "not asked by any order", groups: others.map((actor) => [actor.instance]) });
    sync(at("roles"), shown, ({ role }) => role, ({ role }) => {
      const title = make("h3", {}, ROLES[role] ?? role), count = make("span", { class: "quiet" });
      const heads = COLUMNS.map((name) => make("th", { scope: "col", role: "columnheader" }, name));
      const table = make("table", { role: "table" }, make("caption", {}, title, count),
        make("thead", { role: "rowgroup" }, make("tr", { role: "row" }, ...heads)));
      return [make("div", { class: "role" }, table), ({ groups }) => {
        put(count, plural(groups.flat().length, "provider", "providers"));
        syncProviders(table, groups, actors, data.history.instances);
      }];
    });
    sync(at("absent"), ["unconfigured", "disabled"], (state) => state, () => {
      const line = make("p");
      return [line, (state) => {
        const names = data.actors.filter((actor) => actor.state === state).map((actor) => actor.instance);
        line.hidden = !names.length;
        put(line, `${state === "disabled" ? "Disabled" : "Not configured"}: ${names.join(", ")}`);
      }];
    });
  }
  const isAbsent = (actor) => actor.state === "unconfigured" || actor.state === "disabled";

  function syncProviders(table, groups, actors, histories) {
    if (!rows.has(table)) rows.set(table, new Map([["head", [table.tHead]], ["caption", [table.caption]]]));
    const items = groups.flatMap((group, place) => group.map((name, turn) => ({
      actor: actors.get(name), seen: histories[name] ?? IDLE,
      rank: `${place + 1}${group.length > 1 ? String.fromCharCode(97 + turn) : ""}`,
    })));
    const fixed = [{ key: "caption" }, { key: "head" }];
    sync(table, [...fixed, ...items], (item) => item.key ?? `of ${item.actor.instance}`, provider);
  }

  function provider({ actor }) {
    const cell = (name, ...children) => make("td", { role: "cell", "data-name": name }, ...children);
    const small = () => make("small");
    const rank = make("span", { class: "rank" }), kind = small();
    const state = make("span", { class: "badge" }), stateMore = small();
    const [calls, drawCalls] = bars(), callsMore = small(), [times, drawTimes] = curve(), timesMore = small();
    const load = make("span"), loadMore = small(), slot = small();
    const quota = make("span"), used = make("meter", { min: "0", "aria-label": "Quota used" }), quotaMore = small();
    const answered = make("span"), failed = make("span", { class: "kinds" }), skipped = small();
    const error = make("bdi", { dir: "auto" });
    const errorRow = make("tr", { class: "error", role: "row" },
      make("td", { role: "cell", colspan: String(COLUMNS.length) }, make("span", { class: "quiet" }, "Last error: "), error));
    const name = make("th", { scope: "row", role: "rowheader" }, rank, make("bdi", {}, actor.instance), kind);
    const callsCell = cell(COLUMNS[2], calls, callsMore), timesCell = cell(COLUMNS[3], times, timesMore);
    callsCell.classList.add("c-calls");
    timesCell.classList.add("c-times");
    const body = make("tbody", { role: "rowgroup" }, make("tr", { role: "row" }, name, cell(COLUMNS[1], state, stateMore),
      callsCell, timesCell, cell(COLUMNS[4], load, loadMore, slot), cell(COLUMNS[5], quota, used, quotaMore),
      cell(COLUMNS[6], answered, failed, skipped)), errorRow);
    return [body, ({ actor, seen, rank: place }) => {
      put(rank, `${place} `);
      put(kind, [actor.type === actor.instance ? "" : actor.type, actor.proxy && `through ${actor.proxy}`].filter(Boolean).join(", "));
      badge(state, ...stateOf(actor));
      put(stateMore, actor.restarts ? plural(actor.restarts, "restart", "restarts") : "");
      drawCalls(seen);
      put(callsMore, hourOf(seen));
      drawTimes(seen);
      const { p50, p95, p99 } = actor.latency_ms;
      put(timesMore, p50 === null ? "none finished yet" : `p50 ${ms(p50)}, p95 ${ms(p95)}, p99 ${ms(p99)}`);
      put(load, `${actor.in_flight} of ${actor.workers} in flight`);
      put(loadMore, `mailbox ${actor.mailbox.depth} of ${actor.mailbox.capacity}`);
      put(slot, slotOf(actor.throttle));
      showQuota(actor, quota, used, quotaMore);
      put(answered, actor.calls.total ? `${number(actor.calls.ok)} answered, ${number(actor.calls.empty)} empty` : "no calls yet");
      mark(failed, "data-tone", sum(actor.calls.failed) ? "bad" : "quiet");
      put(failed, sum(actor.calls.failed) ? `failed: ${kinds(actor.calls.failed)}` : "");
      put(skipped, [sum(actor.calls.skipped) && `skipped: ${kinds(actor.calls.skipped)}`,
        actor.calls.late && `${number(actor.calls.late)} late`].filter(Boolean).join("; "));
      errorRow.hidden = !actor.last_error;
      put(error, actor.last_error ?? "");
    }];
  }
  function stateOf({ state, breaker }) {
    if (state !== "running") return [state === "retired" ? "bad" : "warn", state];
    if (breaker.state === "open") return ["bad", `open, ${span(breaker.reopens_in_s ?? 0)}`];
    return breaker.state === "half_open" ? ["warn", "half open"] : ["ok", "running"];
  }
  function hourOf(seen) {
    const answered = sum(seen.answered), failed = sum(seen.failed);
    return answered || failed ? `${number(answered)} answered, ${number(failed)} failed` : "none";
  }
  function slotOf({ rate, next_slot_in_s: wait }) {
    if (rate === null) return "no rate";
    return `${rate}, ${wait >= 0.05 ? `next slot in ${wait < 10 ? wait.toFixed(1) : Math.round(wait)} s` : "slot free"}`;
  }
  function showQuota({ quota, billed }, text, meter, more) {
    const bill = billed.units ? `billed ${number(billed.units)}` : "";
    meter.hidden = quota.limit === null;
    if (quota.limit === null) {
      put(text, "no quota");
      put(more, bill);
      return;
    }
    put(text, `${number(quota.remaining)} of ${number(quota.limit)} left`);
    for (const [name, value] of [["max", quota.limit], ["high", quota.limit * 0.8], ["low", 0], ["optimum", 0], ["value", quota.used]])
      mark(meter, name, String(value));
    const day = quota.resets_at === null ? "" : `resets ${quota.resets_at.slice(0, 10)}`;
    put(more, [`per ${quota.period}`, day, bill].filter(Boolean).join(", "));
  }

  // --- the last calls ------------------------------------------------------------------------------------------------

  const ENDED = { ok: ["ok", "answered"], failed: ["bad", "failed"], given_up: ["warn", "given up"] };
  const TONES = { ok: "ok", success: "ok", empty: "quiet", skipped: "quiet", late: "warn", failed: "bad", timeout: "bad" };
  let starts = 0;

  function showRecent(data) {
    at("none").hidden = data.recent.length > 0;
    sync(at("recent"), data.recent, (call) => `${starts} ${call.number}`, (call) => [recentCall(call)]);
  }
  function recentCall(call) {
    const ended = new Date(Date.now() - 1000 * call.ago_s);
    const subjects = call.parts.map((part) => part.about), count = subjects.length + call.more_parts;
    const what = subjects[0] ?? call.asked ?? call.rejected ?? "";
    const [tone, word] = ENDED[call.ended];
    const summary = make("summary", {},
      make("time", { class: "when", datetime: ended.toISOString() }, clock(ended)), make("span", { class: "tool" }, call.tool),
      make("span", { class: "what" }, make("bdi", { dir: "auto" }, what), count > 1 ? ` and ${number(count - 1)} more` : ""),
      make("span", { class: "badge ended", "data-tone": tone }, word), make("span", { class: "took" }, ms(call.ms)),
      make("span", { class: "way" }, wayOf(call)));
    return make("li", {}, make("details", {}, summary, make("div", { class: "parts" }, ...partsOf(call))));
  }
  function wayOf(call) {
    if (call.rejected) return "refused before anybody was asked";
    const steps = call.parts.flatMap((part) => part.steps), asked = steps.filter((step) => step.status !== "skipped");
    if (!asked.length) return steps.length ? `${plural(steps.length, "provider", "providers")} skipped` : "no steps";
    const told = asked.slice(0, 6).map((step) => `${step.instance} ${step.reason ?? step.status}`);
    return told.join(" \u00b7 ") + (asked.length > 6 ? ` and ${number(asked.length - 6)} more` : "");
  }
  function partsOf(call) {
    const parts = call.parts.map((part) => make("div", {},
      make("p", { class: "about" }, make("bdi", { dir: "auto" }, part.about)),
      make("p", { class: "quiet" }, part.status === null ? "not finished" : `${part.status}, ${ms(part.ms)}`),
      make("ul", { class: "steps" }, ...part.steps.map(stepOf))));
    if (call.rejected) parts.push(make("p", {}, make("bdi", { dir: "auto" }, call.rejected)));
    if (!parts.length) parts.push(make("p", { class: "quiet" }, "No provider was asked: nothing to ask, or the page was at hand."));
    if (call.more_parts) parts.push(make("p", { class: "quiet" }, `${number(call.more_parts)} more are not kept.`));
    return parts;
  }
  function stepOf(step) {
    const outcome = step.reason && step.status !== "ok" ? `${step.status}: ${step.reason}` : step.status;
    return make("li", {}, make("span", { class: "instance" }, step.instance),
      make("span", {}, make("span", { class: "badge", "data-tone": TONES[step.status] ?? "quiet" }, outcome)),
      make("bdi", { class: "detail quiet", dir: "auto" }, step.detail ?? ""), make("span", { class: "took" }, ms(step.ms)));
  }

  // --- the whole -----------------------------------------------------------------------------------------------------

  let uptime = 0;
  function show(data) {
    const { service } = data;
    if (service.uptime_s < uptime) {
      starts += 1;
      say(`The server was started anew ${span(service.uptime_s)} ago.`);
    }
    uptime = service.uptime_s;
    put(at("name"), service.name);
    document.title = `${service.name}: operations`;
    put(at("about"), `${service.version}, toolset ${service.toolset}, up ${span(service.uptime_s)}`);
    at("figures").hidden = false;
    showNotices(service);
    showCalls(data);
    showRoles(data);
    showRecent(data);
  }
  function showNotices({ draining, ledger, warnings, log }) {
    const lost = log.dropped_stderr + log.dropped_file;
    const told = [draining && ["warn", "Shutting down: new calls are refused."],
      ledger.problem && ["bad", `Ledger: ${ledger.problem}`],
      lost && ["warn", `${plural(lost, "line", "lines")} of the log could not be written.`],
      ...warnings.map((text) => ["warn", text])].filter(Boolean);
    sync(at("notices"), told, ([, text]) => text, ([tone, text]) => [make("li", { "data-tone": tone, dir: "auto" }, text)]);
  }

  // --- contact -------------------------------------------------------------------------------------------------------

  let seenAt = null, timer = 0, isAsking = false, isPaused = false, state = "";
  const say = (text) => put(at("says"), text);

  function contact(next, tone, text, sentence) {
    badge(at("contact"), tone, text);
    if (next !== state && (state || next !== "live")) say(sentence);
    state = next;
    tick();
  }
  function tick() {
    const ago = seenAt === null ? null : span((performance.now() - seenAt) / 1000);
    if (ago === null) put(at("seen"), state === "gone" ? "not seen yet" : "");
    else put(at("seen"), state === "gone" ? `last seen ${ago} ago` : `updated ${ago} ago`);
  }
  function token(value) {
    if (value === "") sessionStorage.removeItem(STORE);
    else if (value !== undefined) sessionStorage.setItem(STORE, value);
    return sessionStorage.getItem(STORE);
  }
  function askForToken() {
    const had = token();
    token("");
    at("sign-in").hidden = false;
    at("forget").hidden = at("figures").hidden = true;
    put(at("wrong"), had ? "The server does not accept that token." : "");
    contact("closed", "warn", "Token needed", "This server asks for a token.");
    at("token").focus();
  }
  async function ask() {
    const key = token(), headers = key ? { Authorization: `Bearer ${key}` } : {};
    const answer = await fetch("ops/data", { headers, cache: "no-store", signal: AbortSignal.timeout(PATIENCE_MS) });
    if (answer.status === 401) return askForToken();
    if (!answer.ok) throw new Error(`it answers with status ${answer.status}`);
    const data = await answer.json();
    at("sign-in").hidden = true;
    at("forget").hidden = !key;
    seenAt = performance.now();
    contact("live", "ok", "Live", "The server can be reached again.");
    show(data);
  }
  function gone(error) {
    const why = error instanceof TypeError || error.name === "TimeoutError" ? "it does not answer" : error.message;
    contact("gone", "bad", "Not reached", `The server cannot be reached: ${why}.`);
    mark(at("contact"), "title", why);
  }
  async function poll() {
    if (isAsking || isPaused || document.hidden) return;
    clearTimeout(timer);
    isAsking = true;
    try {
      await ask();
    } catch (error) {
      gone(error);
    }
    isAsking = false;
    if (state !== "closed") timer = setTimeout(poll, EVERY_MS);
  }

  at("pause").addEventListener("click", () => {
    isPaused = !isPaused;
    mark(at("pause"), "aria-pressed", String(isPaused));
    put(at("pause"), isPaused ? "Resume" : "Pause");
    if (isPaused) contact("paused", "quiet", "Paused", "Paused.");
    else poll();
  });
  at("forget").addEventListener("click", () => {
    token("");
    location.reload();
  });
  at("sign-in").addEventListener("submit", (event) => {
    event.preventDefault();
    token(at("token").value.trim());
    at("token").value = "";
    poll();
  });
  document.addEventListener("visibilitychange", () => state !== "closed" && poll());
  setInterval(tick, 1000);
  poll();
})();
