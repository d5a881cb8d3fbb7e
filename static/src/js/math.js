// Formulas: typeset as MathML by Temml, which is loaded only when there is one.
let temml;
const where = () => document.querySelector("script[data-temml]").dataset.temml;

async function typeset() {
  const open = ".math:not([data-set])";
  if (!document.querySelector(open)) return;
  temml ??= import(where());
  const { default: engine } = await temml;
  for (const node of document.querySelectorAll(open)) { // asked anew: others may have waited for the engine too
    const source = node.textContent;
    node.dataset.set = "";
    node.title = source;
    try {
      engine.render(source, node, { displayMode: node.dataset.math === "block", throwOnError: true, maxExpand: 500 });
    } catch {
      node.textContent = source; // what cannot be set stays readable as it was written
    }
  }
}

export function math() {
  typeset();
  let due = 0;
  document.addEventListener("htmx:after:swap", () => { due ||= requestAnimationFrame(() => { due = 0; typeset(); }); });
}
