// Attachments: picked, dropped, pasted. Each is sent at once, so that a refusal
// is known before the message goes.
import { post } from "./net.js";
import { phrase, piece } from "./phrases.js";

const longPaste = 8192; // characters from which pasted text becomes a file
const pending = new Set();
let changed = () => {};

const chips = () => document.getElementById("chips");

// uploading is a promise for the end of all uploads, or null.
export const uploading = () => (pending.size ? Promise.all(pending) : null);

export function emptied() {
  chips().replaceChildren();
}

function chip(name, words) {
  const li = piece("chip");
  li.classList.remove("bad");
  li.querySelector("b").textContent = name;
  li.querySelector("small").textContent = words;
  chips().append(li);
  return li;
}

function refuse(li, words) {
  li.classList.add("bad");
  li.querySelector("small").textContent = words;
}

const megabytes = (n) => `${Math.round(n / 1e6)} MB`;

async function send(file, limit) {
  const li = chip(file.name, phrase("uploading"));
  if (limit && file.size > limit) return refuse(li, `${megabytes(file.size)} ${phrase("too-large")} ${megabytes(limit)}`);
  const body = new FormData();
  body.append("file", file, file.name);
  try {
    const answer = await post("/attachments", body);
    const made = document.createRange().createContextualFragment(await answer.text()).querySelector("li.chip");
    if (!made) throw new Error(`status ${answer.status}`);
    if (li.isConnected) li.replaceWith(made);
  } catch {
    refuse(li, phrase("upload-failed"));
  }
}

function take(files, form) {
  const limit = Number(form.dataset.maxFile);
  for (const file of files) {
    const work = send(file, limit).finally(() => { pending.delete(work); changed(); });
    pending.add(work);
  }
  changed();
}

export function attachments(form, onChange) {
  changed = onChange;
  const picker = form.querySelector("#files");
  picker.removeAttribute("name"); // sent one by one instead of with the form
  picker.addEventListener("change", () => { take(picker.files, form); picker.value = ""; });

  form.addEventListener("click", (e) => {
    const remove = e.target.closest("[data-remove]");
    if (!remove) return;
    remove.closest(".chip").remove();
    onChange();
    form.querySelector("#text").focus();
  });
  form.addEventListener("paste", (e) => {
    const files = [...e.clipboardData.files];
    const words = e.clipboardData.getData("text/plain");
    if (files.length && !words) {
      e.preventDefault();
      take(files, form);
    } else if (words.length > longPaste) {
      e.preventDefault();
      take([new File([words], `${phrase("paste")}.txt`, { type: "text/plain" })], form);
    }
  });

  const area = form.closest(".chat") ?? form;
  const carries = (e) => [...(e.dataTransfer?.types ?? [])].includes("Files");
  area.addEventListener("dragover", (e) => { if (carries(e)) { e.preventDefault(); form.classList.add("dropping"); } });
  area.addEventListener("dragleave", (e) => { if (!area.contains(e.relatedTarget)) form.classList.remove("dropping"); });
  area.addEventListener("drop", (e) => {
    form.classList.remove("dropping");
    if (carries(e)) { e.preventDefault(); take(e.dataTransfer.files, form); }
  });
}
