// The composer: keys, draft, sending once, Stop, what it says while the server is gone.
import { connected, onConnection, suspect } from "./connection.js";
import { follow } from "./flow.js";
import { apply, post } from "./net.js";
import { notify } from "./notices.js";
import { phrase } from "./phrases.js";
import { attachments, emptied, uploading } from "./upload.js";

const form = () => document.getElementById("composer");
const text = () => document.getElementById("text");
const key = () => `ash:draft:${form().dataset.thread || "new"}`;

function note(words) {
  const n = document.getElementById("composer-note");
  if (n && n.textContent !== words) n.textContent = words;
}

function keep() {
  try {
    if (text().value) localStorage.setItem(key(), text().value);
    else localStorage.removeItem(key());
  } catch { /* storage is full or switched off: the draft then lives as long as the page */ }
}

function restore() {
  try {
    text().value ||= localStorage.getItem(key()) ?? "";
  } catch { /* as above */ }
}

// uuid works where crypto.randomUUID does not: on plain HTTP from another machine.
function uuid() {
  const b = crypto.getRandomValues(new Uint8Array(16));
  b[6] = (b[6] & 15) | 64;
  b[8] = (b[8] & 63) | 128;
  const h = [...b].map((x) => x.toString(16).padStart(2, "0")).join("");
  return h.replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}

function reflect() {
  const f = form();
  const filled = text().value.trim() !== "" || f.querySelector("#chips .chip:not(.bad)") !== null;
  f.classList.toggle("filled", filled);
  for (const b of f.querySelectorAll(".send:not(.stop)")) b.disabled = !connected();
  note(connected() ? (uploading() ? phrase("uploading") : "") : phrase("kept"));
  if (!CSS.supports("field-sizing", "content")) {
    text().style.height = "auto";
    text().style.height = `${text().scrollHeight}px`;
  }
}

function sent() {
  text().value = "";
  emptied();
  keep();
  form().setAttribute("hx-vals", JSON.stringify({ form: uuid() }));
  reflect();
  follow();
}

export const running = () => document.querySelector("#composer-action.running") !== null;

async function stop() {
  const body = new FormData();
  try {
    const answer = await post(`/chat/${form().dataset.thread}/stop`, body);
    apply(await answer.text());
  } catch {
    notify("unsent");
  }
}

let entered = false; // Enter is down and has been taken

function keys(e) {
  if (e.key !== "Enter" || e.shiftKey || e.isComposing || e.keyCode === 229) return;
  e.preventDefault();
  entered = true;
  form().requestSubmit(form().querySelector(".send:not(.stop)"));
}

// guard lets a submit through only when it can be one message.
function guard(e) {
  if (e.target !== form() || e.submitter?.matches("[data-stop]")) return;
  const halt = () => { e.preventDefault(); e.stopImmediatePropagation(); };
  if (!form().classList.contains("filled")) return halt();
  if (!connected()) { suspect(); return halt(); }
  if (uploading()) { halt(); uploading().then(() => form().requestSubmit()); }
}

export function composer() {
  if (!form()) return;
  restore();
  attachments(form(), reflect);
  reflect();
  onConnection(reflect);
  text().addEventListener("input", () => { reflect(); keep(); suspect(); });
  text().addEventListener("focus", suspect);
  text().addEventListener("keydown", keys);
  text().addEventListener("keyup", () => { entered = false; });
  text().addEventListener("beforeinput", (e) => { if (entered && e.inputType === "insertLineBreak") e.preventDefault(); });
  addEventListener("pagehide", keep);
  document.addEventListener("submit", guard, true);
  document.addEventListener("click", (e) => {
    if (!e.target.closest("[data-stop]")) return;
    e.preventDefault();
    e.stopImmediatePropagation();
    stop();
  }, true);
  document.addEventListener("htmx:after:request", (e) => {
    if (e.target === form() && e.detail.ctx.response.status < 300) sent();
  });
  document.addEventListener("htmx:after:swap", reflect);
  document.addEventListener("keydown", (e) => {
    if (e.defaultPrevented || document.querySelector("dialog[open], details.menu[open], .edit")) return;
    if (e.key === "Escape" && running()) stop();
    if (e.key === "ArrowUp" && e.target === text() && text().value === "") {
      const last = [...document.querySelectorAll("#messages .me [data-edit]")].at(-1);
      if (last) { e.preventDefault(); last.click(); }
    }
  });
  if (matchMedia("(min-width: 721px) and (hover: hover)").matches && !location.hash) text().focus();
}
