// Toasts: they leave by themselves unless something can be done about them.
import { phrase, piece } from "./phrases.js";

const stay = { plain: 6000, undo: 15000 };
const box = () => document.getElementById("notices");

// notify shows one of the page's phrases, or a text of the server's.
export function notify(name, text = phrase(name)) {
  const toast = piece("toast");
  if (!toast || [...box().children].some((t) => t.querySelector("p").textContent === text)) return;
  toast.querySelector("p").textContent = text;
  box().append(toast);
}

function leave(toast) {
  const time = toast.hasAttribute("data-leaves") ? stay.plain : toast.querySelector("[data-undo]") ? stay.undo : 0;
  if (!time) return;
  let timer = setTimeout(() => toast.remove(), time);
  toast.addEventListener("pointerenter", () => clearTimeout(timer));
  toast.addEventListener("pointerleave", () => { timer = setTimeout(() => toast.remove(), stay.plain); });
}

export function notices() {
  for (const toast of box().children) leave(toast);
  new MutationObserver((changes) => {
    for (const c of changes) for (const node of c.addedNodes) if (node.nodeType === 1) leave(node);
  }).observe(box(), { childList: true });

  document.addEventListener("click", (e) => {
    const close = e.target.closest("[data-close]");
    close?.closest("dialog")?.close();
    close?.closest(".toast")?.remove();
  });
  document.addEventListener("htmx:after:request", (e) => {
    if (e.detail.ctx.response.status < 400) e.target.closest?.("[data-undo]")?.closest(".toast").remove();
  });

  // An answer that is no fragment of ours (a proxy's page, say) is not put into the page.
  document.addEventListener("htmx:response:error", (e) => {
    const { ctx } = e.detail;
    if (ctx.text?.includes("<hx-")) return;
    ctx.swap = "none";
    ctx.text = "";
    if (!e.target.matches("#stream, [data-quiet]")) notify("unsent");
  });
  document.addEventListener("htmx:error", (e) => {
    if (e.target.matches("#stream, [data-quiet]")) return; // what the person did not ask for
    notify(e.detail.ctx?.request?.signal?.reason === "timeout" ? "timeout" : "unsent");
  });
}
