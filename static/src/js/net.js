// Requests the scripts make themselves, with what the server asks of them.
const token = () => document.querySelector('meta[name="csrf-token"]')?.content ?? "";

export function post(url, body, options = {}) {
  return fetch(url, {
    method: "POST", body, credentials: "same-origin", ...options,
    headers: { "X-CSRF-Token": token(), "HX-Request": "true", Accept: "text/html", ...options.headers },
  });
}

// apply puts the fragments of an answer where they belong, as htmx would.
export function apply(html) {
  if (html.includes("<hx-")) window.htmx.swap({ sourceElement: document.body, target: document.body, swap: "none", text: html });
}
