// Dialogs: the palette (Ctrl/⌘ K), the sheet of a row's actions, menus.
const mac = /Mac|iP(hone|ad)/.test(navigator.platform);
const palette = () => document.getElementById("palette");
const items = () => [...palette().querySelectorAll(".results .item")];

function choose(to) {
  const all = items();
  const at = all.findIndex((i) => i.ariaSelected === "true");
  const next = all[Math.min(Math.max(to(at), 0), all.length - 1)];
  all.forEach((item, i) => {
    item.id = `found-${i}`;
    item.ariaSelected = String(item === next);
  });
  palette().querySelector("input[name=q]").setAttribute("aria-activedescendant", next?.id ?? "");
  next?.scrollIntoView({ block: "nearest" });
}

function open() {
  const p = palette();
  if (p.open) return p.close();
  const input = p.querySelector("input[name=q]");
  p.showModal();
  input.select();
  window.htmx.trigger(input, "ash:open");
}

function keys(e) {
  if (e.key === "ArrowDown") choose((at) => at + 1);
  else if (e.key === "ArrowUp") choose((at) => at - 1);
  else if (e.key === "Enter" && items().length) (items().find((i) => i.ariaSelected === "true") ?? items()[0]).click();
  else if (e.key === "Escape") palette().close(); // a search field would only empty itself
  else return;
  e.preventDefault();
}

function menus() {
  const openMenus = () => document.querySelectorAll("details.menu[open], details.receipt[open]");
  document.addEventListener("click", (e) => {
    for (const m of openMenus()) if (!m.contains(e.target)) m.open = false;
  });
  document.addEventListener("keydown", (e) => {
    if (e.key !== "Escape") return;
    for (const m of openMenus()) {
      m.open = false;
      m.querySelector("summary").focus();
    }
  });
  document.addEventListener("htmx:after:request", (e) => {
    if (e.detail.ctx.response.status >= 400) return;
    const menu = e.target.closest?.("details.menu");
    if (menu) menu.open = false;
    if (e.target.matches?.("form")) e.target.closest("dialog")?.close();
  });
}

export function dialogs() {
  if (!palette()) return; // a page for somebody who is not in
  for (const k of document.querySelectorAll("[data-mod]")) k.textContent = (mac ? "⌘" : "Ctrl ") + k.dataset.mod;
  document.addEventListener("keydown", (e) => {
    if (e.key.toLowerCase() === "k" && (mac ? e.metaKey : e.ctrlKey) && !e.shiftKey && !e.altKey) {
      e.preventDefault();
      open();
    }
  });
  const p = palette();
  p.querySelector("form").addEventListener("keydown", keys);
  for (const d of document.querySelectorAll("dialog")) {
    d.addEventListener("click", (e) => { if (e.target === d) d.close(); }); // the backdrop
  }
  document.addEventListener("htmx:after:swap", (e) => {
    if (e.target.matches?.("[data-sheet]")) document.getElementById("sheet").showModal();
    if (p.open) choose(() => 0);
  });
  menus();
}
