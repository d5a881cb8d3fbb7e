// What happens while nobody looks: the tab's title counts, and a notification shows if allowed.
import { phrase } from "./phrases.js";

let count = 0;
let title = "";

function show(detail) {
  if (!("Notification" in window) || Notification.permission !== "granted") return;
  const head = detail.asks ? phrase("asks") : phrase("answered");
  const n = new Notification(detail.title || "Ash", { body: detail.text ? `${head}: ${detail.text}` : head, tag: `ash-${detail.thread}` });
  n.onclick = () => {
    window.focus();
    if (detail.thread && !location.pathname.includes(detail.thread)) location.href = `/chat/${detail.thread}`;
    n.close();
  };
}

function parse(data) {
  try {
    return JSON.parse(data) ?? {};
  } catch {
    return {};
  }
}

// retitle follows a conversation that was given a name.
function retitle() {
  const name = document.querySelector("#thread-head h1")?.textContent.trim();
  if (!name || count) return;
  const wanted = `${name} · Ash`;
  if (document.title !== wanted) document.title = wanted;
}

export function background() {
  document.addEventListener("htmx:after:swap", retitle);
  document.addEventListener("ash:done", (e) => {
    if (!document.hidden) return;
    if (!count++) title = document.title;
    document.title = `(${count}) ${title}`;
    show(parse(e.detail?.data));
  });
  document.addEventListener("visibilitychange", () => {
    if (document.hidden || !count) return;
    count = 0;
    document.title = title;
    retitle();
  });
  const button = document.querySelector("[data-notify]");
  if (!button || !("Notification" in window)) return;
  const reflect = () => { button.hidden = Notification.permission !== "default"; };
  button.addEventListener("click", () => Notification.requestPermission().then(reflect));
  reflect();
}
