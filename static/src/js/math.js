// Formulas: typeset as MathML by Temml, which is loaded only when there is one.
let temml;
const where = () => document.querySelector("script[data-temml]").dataset.temml;

async function typeset() {
  const nodes = document.querySelectorAll(".math:not([data-set])");
  if (!nodes.length) return;
  temml ??= import(where());
  const { default: engine } = await temml;
  for (const node of nodes) {
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
