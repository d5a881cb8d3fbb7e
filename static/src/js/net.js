// Requests the scripts make themselves, with what the server asks of them.
const token = () => document.querySelector('meta[name="csrf-token"]')?.content ?? "";

// signedOut leaves a page whose reader may no longer come in: what it shows is not theirs to see.
let leaving = false;
export function signedOut() {
  if (leaving || location.pathname === "/sign-in") return;
  leaving = true;
  location.replace("/sign-in?signed-out=1&back=" + encodeURIComponent(location.pathname + location.search));
}

export function post(url, body, options = {}) {
  return fetch(url, {
    method: "POST", body, credentials: "same-origin", ...options,
    headers: { "X-CSRF-Token": token(), "HX-Request": "true", Accept: "text/html", ...options.headers },
  }).then((answer) => {
    if (answer.status === 401) signedOut();
    return answer;
  });
}

// apply puts the fragments of an answer where they belong, as htmx would.
export function apply(html) {
  if (html.includes("<hx-")) window.htmx.swap({ sourceElement: document.body, target: document.body, swap: "none", text: html });
}
