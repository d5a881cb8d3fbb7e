// Whether the server is there. The stream tells at once when it breaks; for a
// connection that dies in silence the page asks when it matters.
import { signedOut } from "./net.js";
import { phrase } from "./phrases.js";

const stream = () => document.getElementById("stream");
const quiet = 5000; // ms without a sign of life before asking
const linger = 2000; // ms a tab nobody looks at keeps its stream
let state = "on"; // on, off (just lost), wait (reconnecting)
let alive = Date.now();
let shown = 0;
let said = "";
let watchers = [];

export const connected = () => state === "on";
export const onConnection = (f) => watchers.push(f);

function show(text) {
  clearTimeout(shown);
  said = text;
  document.documentElement.dataset.connection = state;
  mark();
}

// mark says it in the pill, also in one that has just come with a new head.
function mark() {
  for (const pill of document.querySelectorAll("#connection")) {
    pill.dataset.state = state;
    if (pill.textContent !== said) pill.textContent = said;
  }
}

function become(next) {
  if (next === state) return;
  const before = state;
  state = next;
  if (next === "off") {
    show(phrase("lost"));
    shown = setTimeout(() => become("wait"), 900);
  } else if (next === "wait") {
    show(phrase("reconnecting"));
  } else if (before !== "on") {
    show(phrase("back"));
    shown = setTimeout(() => show(""), 2500);
  }
  for (const f of watchers) f(state === "on");
}

const lost = () => { if (state === "on") become("off"); };
function back() {
  alive = Date.now();
  become("on");
}

// A browser opens six connections to a server and no more, however many tabs it has. So
// a tab that nobody looks at keeps its stream only while an answer is being written in it.
let resting = false;
let resume = ""; // the last event seen, when the stream was given back

function rest() {
  const open = stream()?._htmx?.sse;
  if (!document.hidden || !open || document.querySelector("#composer-action.running")) return;
  resting = true;
  resume = open.lastEventId || resume;
  open.abortController.abort();
}

function wake() {
  if (!resting) return;
  resting = false;
  const from = new URL(stream().getAttribute("hx-sse:connect"), location.href);
  if (resume) from.searchParams.set("since", resume);
  window.htmx.ajax("GET", from.pathname + from.search, { source: stream(), timeout: 8000 });
}

const unseen = () => { if (document.hidden) setTimeout(rest, linger); };

let asking = false;

// doubt asks the server whether it is there and renews a stream that only seems alive.
export async function doubt() {
  if (asking) return;
  asking = true;
  try {
    const answer = await fetch("/healthz", { cache: "no-store", signal: AbortSignal.timeout(1500) });
    if (!answer.ok) throw new Error(`status ${answer.status}`);
    alive = Date.now();
    if (state !== "on") renew();
  } catch {
    lost();
    setTimeout(doubt, 1000);
  } finally {
    asking = false;
  }
}

function renew() {
  const element = stream();
  if (!element) return back();
  const open = element._htmx?.sse;
  if (open?.reader) open.reader.cancel();
  else if (open) open.delayCanceller?.(); // it waits before its next try: no need to
  else window.htmx.trigger(element, "ash:connect");
}

export function suspect() {
  if (Date.now() - alive > quiet || state !== "on") doubt();
}

export function connection() {
  const on = (name, f) => document.addEventListener(name, f);
  on("htmx:sse:after:connection", (e) => { if (e.detail.connection.status < 300) back(); });
  on("htmx:sse:before:connection", (e) => {
    if (e.detail.connection.attempt === 0) return;
    if (resting) e.preventDefault();
    else lost();
  });
  on("htmx:sse:after:connection", unseen);
  on("ash:turn", unseen);
  on("visibilitychange", () => (document.hidden ? unseen() : wake()));
  on("htmx:sse:error", (e) => (e.detail.status === 401 ? signedOut() : lost()));
  on("htmx:sse:before:message", () => { alive = Date.now(); if (state !== "on") back(); });
  on("ash:bye", lost);
  on("ash:out", signedOut);
  on("htmx:response:error", (e) => { if (e.detail.ctx?.response?.status === 401) signedOut(); });
  on("htmx:after:swap", mark);

  // The extension retries only what was open once: the first attempt is ours to repeat.
  const again = (e) => {
    if (e.target !== stream()) return;
    lost();
    setTimeout(() => { if (!stream()?._htmx?.sse) window.htmx.trigger(stream(), "ash:connect"); }, 1000);
  };
  on("htmx:error", (e) => (e.target === stream() ? again(e) : doubt()));
  on("htmx:response:error", again);

  // A browser may keep the page it leaves, with its stream and one of the six connections
  // it has for a server. So the stream ends with the page, and a page that comes back is loaded anew.
  addEventListener("pagehide", () => stream()?._htmx?.sse?.abortController?.abort());
  addEventListener("pageshow", (e) => { if (e.persisted && stream()) location.reload(); });

  addEventListener("offline", doubt);
  addEventListener("online", doubt);
  on("visibilitychange", () => { if (!document.hidden) suspect(); });
  setInterval(() => { if (!document.hidden && stream()) suspect(); }, quiet);
}
