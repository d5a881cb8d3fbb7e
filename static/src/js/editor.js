// Settings and Identity: themes that change at once, texts that are not lost.
import { post } from "./net.js";
import { notify } from "./notices.js";
import { phrase } from "./phrases.js";

function wear(theme) {
  const root = document.documentElement;
  if (theme === "system") delete root.dataset.theme;
  else root.dataset.theme = theme;
}

function themes(form) {
  form.addEventListener("submit", async (e) => {
    e.preventDefault();
    wear(e.submitter.value);
    for (const b of form.querySelectorAll("button")) b.ariaPressed = String(b === e.submitter);
    const body = new FormData(form, e.submitter);
    try {
      const answer = await post(form.action, body, { keepalive: true }); // also when the page is left at once
      if (!answer.ok) throw new Error(`status ${answer.status}`);
    } catch {
      notify("unsent");
    }
  });
}

function guard(form) {
  const area = form.querySelector("textarea");
  let saved = "unsaved" in form.dataset ? null : area.defaultValue; // of a conflict nothing is saved yet
  const dirty = () => area.value !== saved;
  const note = document.getElementById("dirty");
  area.addEventListener("input", () => { note.textContent = dirty() ? phrase("unsaved") : ""; });
  addEventListener("beforeunload", (e) => { if (dirty()) e.preventDefault(); });
  const decided = () => { saved = area.value; };
  form.addEventListener("submit", decided);
  for (const f of document.querySelectorAll(".conflict form")) f.addEventListener("submit", decided);
  for (const a of document.querySelectorAll(".conflict a.btn")) a.addEventListener("click", decided);
  form.addEventListener("keydown", (e) => {
    if (e.key === "s" && (e.ctrlKey || e.metaKey)) {
      e.preventDefault();
      form.requestSubmit();
    }
  });
}

export function editors() {
  document.addEventListener("htmx:after:request", (e) => { // the palette's commands
    const theme = e.target.matches?.('form[action="/settings/theme"]') && e.target.querySelector("[name=theme]");
    if (theme && e.detail.ctx.response.status < 300) wear(theme.value);
  });
  const theme = document.querySelector("[data-theme-form]");
  if (theme) themes(theme);
  const file = document.querySelector("form[data-guard]");
  if (file) guard(file);
}
