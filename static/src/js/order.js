// Who may write what. The stream tells a conversation in order; the answer to a
// form arrives whenever it does, and may be older than what the stream has
// already shown. So while the stream is connected, an answer only adds.
import { connected } from "./connection.js";

function stale(task) {
  const slot = task.target === "#composer-action" || task.target?.id === "composer-action";
  const first = task.fragment?.firstElementChild?.id ?? "";
  const there = /^[mcg]-/.test(first) && document.getElementById(first);
  return slot || (there && !there.matches(".call.finished")); // of a call that has ended the stream tells nothing any more
}

export function order() {
  document.addEventListener("htmx:before:swap", (e) => {
    const { ctx, tasks } = e.detail;
    if (e.target.id === "stream" || !document.getElementById("stream")?._htmx?.sse || !connected()) return;
    if (ctx.request?.method !== "POST") return;
    for (let i = tasks.length - 1; i >= 0; i--) if (tasks[i].type === "partial" && stale(tasks[i])) tasks.splice(i, 1);
  });
}
