// The list of conversations: a row whose conversation went on moves up.
import { phrase } from "./phrases.js";

const at = (row) => Number(row.dataset.at);
const pinned = 1e14; // as the server lifts them

function settle(row) {
  const list = row.parentElement;
  const rows = [...list.querySelectorAll(":scope > .row[data-at]")].filter((r) => r !== row);
  const after = rows.find((r) => at(r) < at(row));
  const before = after ? rows[rows.indexOf(after) - 1] : rows.at(-1);
  if (row.previousElementSibling?.matches(".row") && row.previousElementSibling === before) return;
  if (after) after.before(row);
  if (at(row) >= pinned) return;
  let head = row.previousElementSibling;
  while (head && !head.matches(".group")) head = head.previousElementSibling;
  if (head?.dataset.group === "Today") return;
  const today = document.createElement("h3");
  today.className = "group";
  today.dataset.group = today.textContent = phrase("today");
  row.before(today);
}

function tidy(list) {
  for (const g of list.querySelectorAll(".group[data-group]")) {
    if (!g.nextElementSibling?.matches(".row")) g.remove();
  }
}

export function list() {
  document.addEventListener("htmx:after:swap", (e) => {
    const box = document.getElementById("thread-list");
    if (!box || e.target.id !== "stream") return;
    const rows = [...box.querySelectorAll(":scope > .row[data-at]")];
    const wrong = rows.filter((r, i) => i > 0 && at(r) > at(rows[i - 1]));
    for (const r of wrong) settle(r);
    if (wrong.length) tidy(box);
  });
}
