// What can be done with a message on the page: copy it, edit it, look at an image from elsewhere.
import { notify } from "./notices.js";

function legacyCopy(words) {
  const area = document.createElement("textarea");
  area.value = words;
  area.className = "sr";
  document.body.append(area);
  area.select();
  const done = document.execCommand("copy");
  area.remove();
  if (!done) throw new Error("refused");
}

// copy takes a text or a promise of one; the clipboard API wants the promise, and is
// missing on plain HTTP from another machine.
async function copy(words) {
  if (navigator.clipboard?.write && window.ClipboardItem) {
    const blob = Promise.resolve(words).then((t) => new Blob([t], { type: "text/plain" }));
    await navigator.clipboard.write([new ClipboardItem({ "text/plain": blob })]);
  } else {
    legacyCopy(await words);
  }
}

async function source(url) {
  const answer = await fetch(url, { credentials: "same-origin" });
  if (!answer.ok) throw new Error(`status ${answer.status}`);
  return answer.text();
}

async function onCopy(e, button) {
  e.preventDefault();
  const code = button.closest("figure")?.querySelector("code");
  try {
    await copy(code ? code.textContent : source(button.href));
    button.classList.add("did");
    setTimeout(() => button.classList.remove("did"), 1600);
  } catch {
    notify("uncopied");
  }
}

async function onEdit(e, link) {
  e.preventDefault();
  const article = link.closest(".msg");
  if (article.querySelector(".edit")) return;
  await window.htmx.ajax("GET", link.getAttribute("href"), { source: article, target: article, swap: "beforeend" });
  const area = article.querySelector(".edit textarea");
  if (!area) return;
  article.classList.add("editing");
  area.focus();
  area.setSelectionRange(area.value.length, area.value.length);
}

function stopEditing(form) {
  const article = form.closest(".msg");
  form.remove();
  article.classList.remove("editing");
  document.getElementById("text")?.focus();
}

// An image from elsewhere opens in a tab of its own: loaded into this page, it would
// tell its host who reads what, and the page's policy forbids it.
const onRemoteImage = (button) => window.open(button.dataset.src, "_blank", "noopener,noreferrer");

export function messages() {
  document.addEventListener("click", (e) => {
    const hit = (selector) => e.target.closest(selector);
    if (hit("[data-copy]")) onCopy(e, hit("[data-copy]"));
    else if (hit("a[data-edit]")) onEdit(e, hit("a[data-edit]"));
    else if (hit(".msg [data-cancel-edit]")) { e.preventDefault(); stopEditing(hit(".edit")); }
    else if (hit(".remote-image")) onRemoteImage(hit(".remote-image"));
  });
  document.addEventListener("keydown", (e) => {
    const form = e.target.closest?.(".msg .edit");
    if (!form) return;
    if (e.key === "Escape") stopEditing(form);
    if (e.key === "Enter" && !e.shiftKey && !e.isComposing && e.target.matches("textarea")) { e.preventDefault(); form.requestSubmit(); }
  });
  document.addEventListener("htmx:after:request", (e) => {
    if (e.target.matches?.(".msg .edit") && e.detail.ctx.response.status < 300) stopEditing(e.target);
  });
}
