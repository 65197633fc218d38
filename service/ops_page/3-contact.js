
// Asking for the figures, and telling whether the server can be reached.

const EVERY_MS = 3000, PATIENCE_MS = 6000, STORE = "research-mcp token";

// --- the whole -----------------------------------------------------------------------------------------------------

let process = null, isOneOfMany = false;
/** `silence`: seconds since the last answer before this one. A process that is older than that is another replica. */
function show(data, silence) {
  const { service } = data;
  if (process !== null && data.process !== process) {
    if (service.uptime_s > silence) isOneOfMany = true;
    else say(`The server was started anew ${span(service.uptime_s)} ago.`);
  }
  process = data.process;
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
    isOneOfMany && ["quiet", "Replicas answer in turn here; each shows its own figures. Ask one by its own address."],
    ...warnings.map((text) => ["warn", text])].filter(Boolean);
  sync(at("notices"), told, ([, text]) => text, ([tone, text]) => [make("li", { "data-tone": tone, dir: "auto" }, text)]);
}

// --- contact -------------------------------------------------------------------------------------------------------

let seenAt = null, why = "", timer = 0, isAsking = false, isPaused = false, state = "";
const say = (text) => put(at("says"), text);

function contact(next, tone, text, sentence) {
  badge(at("contact"), tone, text);
  if (next !== state && (state || next !== "live")) say(sentence);
  state = next;
  mark(document.body, "data-contact", state);
  tick();
}
function tick() {
  const ago = seenAt === null ? null : span((performance.now() - seenAt) / 1000);
  const last = ago === null ? "not seen yet" : `last seen ${ago} ago`;
  put(at("seen"), state === "gone" ? `${last}; ${why}` : ago === null ? "" : `updated ${ago} ago`);
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
  const data = await answer.json().catch(() => ({}));
  if (!data.service?.calls || !Array.isArray(data.actors)) throw new Error("what answers is no research-mcp");
  at("sign-in").hidden = true;
  at("forget").hidden = !key;
  const silence = seenAt === null ? 0 : (performance.now() - seenAt) / 1000;
  seenAt = performance.now();
  contact("live", "ok", "Live", state === "gone" ? "The server can be reached again." : "Live.");
  show(data, silence);
}
function gone(error) {
  why = error instanceof TypeError || error.name === "TimeoutError" ? "it does not answer" : error.message;
  contact("gone", "bad", "Not reached", `The server cannot be reached: ${why}.`);
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
  const given = at("token").value.trim();
  at("token").value = "";
  if (!/^[!-~]+$/.test(given)) {
    put(at("wrong"), "A token has no such characters.");
    return;
  }
  token(given);
  poll();
});
document.addEventListener("visibilitychange", () => state !== "closed" && poll());
setInterval(tick, 1000);
poll();
