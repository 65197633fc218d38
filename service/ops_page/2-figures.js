
// What is shown of an answer of /ops/data: all calls, providers, the last calls.

const ROLES = { search: "Search", images: "Pictures", read: "Read", rerank: "Rerank", robots: "robots.txt" };

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

const firsts = new Map();  // under which role the figures of a provider stand
let histories = {}, actors = new Map();

function showRoles(data) {
  histories = data.history.instances;
  actors = new Map(data.actors.map((actor) => [actor.instance, actor]));
  const placed = new Set(data.roles.flatMap(({ groups }) => groups.flat()));
  const others = data.actors.filter((actor) => !placed.has(actor.instance) && !isAbsent(actor));
  const shown = data.roles.filter(({ groups }) => groups.length);
  if (others.length) shown.push({ role: "not asked by any order", groups: others.map((actor) => [actor.instance]) });
  firsts.clear();
  sync(at("roles"), shown, ({ role }) => role, ({ role }) => {
    const title = make("h3", {}, ROLES[role] ?? role), count = make("span", { class: "quiet" });
    const heads = COLUMNS.map((name) => make("th", { scope: "col", role: "columnheader" }, name));
    const table = make("table", { role: "table" }, make("caption", {}, title, count),
      make("thead", { role: "rowgroup" }, make("tr", { role: "row" }, ...heads)));
    return [make("div", { class: "role" }, table), ({ groups }) => {
      put(count, plural(groups.flat().length, "provider", "providers"));
      syncProviders(table, role, groups);
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

function syncProviders(table, role, groups) {
  if (!rows.has(table)) rows.set(table, new Map([["head", [table.tHead]], ["caption", [table.caption]]]));
  const items = groups.flatMap((group, place) => group.map((name, turn) => ({
    actor: actors.get(name), seen: histories[name] ?? IDLE, elsewhere: elsewhere(name, role),
    rank: `${place + 1}${group.length > 1 ? String.fromCharCode(97 + turn) : ""}`,
  })));
  const fixed = [{ key: "caption" }, { key: "head" }];
  sync(table, [...fixed, ...items], (item) => item.key ?? `of ${item.actor.instance}`, provider);
}

/** The role under which a provider's figures stand already, so that they are not there twice. */
function elsewhere(name, role) {
  if (!firsts.has(name)) firsts.set(name, role);
  return firsts.get(name) === role ? "" : ROLES[firsts.get(name)];
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
  const figures = [callsCell, timesCell, cell(COLUMNS[4], load, loadMore, slot),
    cell(COLUMNS[5], quota, used, quotaMore), cell(COLUMNS[6], answered, failed, skipped)];
  const other = make("td", { role: "cell", colspan: "5", class: "quiet" });
  const body = make("tbody", { role: "rowgroup" },
    make("tr", { role: "row" }, name, cell(COLUMNS[1], state, stateMore), ...figures, other), errorRow);
  return [body, ({ actor, seen, rank: place, elsewhere: role }) => {
    put(rank, `${place} `);
    put(kind, [actor.type === actor.instance ? "" : actor.type, actor.proxy && `through ${actor.proxy}`].filter(Boolean).join(", "));
    badge(state, ...stateOf(actor));
    put(stateMore, actor.restarts ? plural(actor.restarts, "restart", "restarts") : "");
    for (const figure of figures) figure.hidden = role !== "";
    other.hidden = role === "";
    errorRow.hidden = role !== "" || !actor.last_error;
    if (role) {
      put(other, `Figures: under ${role}`);
      return;
    }
    body.classList.toggle("idle", seen === IDLE);
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

function showRecent(data) {
  at("none").hidden = data.recent.length > 0;
  sync(at("recent"), data.recent, (call) => `${data.process} ${call.number}`, (call) => [recentCall(call)]);
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
    make("ul", { class: "steps" }, ...part.steps.map(stepOf)),
    make("p", { class: "quiet" }, part.more_steps ? `${plural(part.more_steps, "more step is", "more steps are")} not kept.` : "")));
  if (call.rejected) parts.push(make("p", {}, make("bdi", { dir: "auto" }, call.rejected)));
  if (!parts.length) parts.push(make("p", { class: "quiet" }, "No provider was asked: nothing to ask, or the page was at hand."));
  if (call.more_parts) parts.push(make("p", { class: "quiet" }, `${number(call.more_parts)} more are not kept.`));
  return parts;
}
function stepOf(step) {
  const outcome = step.reason && step.status !== "ok" ? `${step.status}: ${step.reason}` : step.status;
  return make("li", {}, make("span", { class: "instance" }, step.instance),
    make("span", {}, make("span", { class: "badge", "data-tone": TONES[step.status] ?? "quiet" }, outcome)),
    make("span", { class: "took" }, ms(step.ms)), make("bdi", { class: "detail quiet", dir: "auto" }, step.detail ?? ""));
}
