// The flow of messages: follow the answer while the reader is at the end, keep
// the place when earlier messages come in above.
const near = 64; // px from the end that still count as the end
const flow = () => document.getElementById("flow");
let following = true;

const fromEnd = (f) => f.scrollHeight - f.scrollTop - f.clientHeight;

export function follow() {
  following = true;
  const f = flow();
  if (f) f.scrollTop = f.scrollHeight;
  offer();
}

function offer() {
  const button = document.getElementById("latest");
  if (button) button.hidden = following;
}

// oneDayOnce hides the label of a day that has already begun above.
function oneDayOnce() {
  let day = "";
  for (const m of document.querySelectorAll("#messages > .msg")) {
    const label = m.querySelector(":scope > .day");
    if (label) label.hidden = m.dataset.day === day;
    day = m.dataset.day;
  }
}

export function conversation() {
  const f = flow();
  if (!f) return;
  const here = location.hash.startsWith("#m-") && document.getElementById(location.hash.slice(1));
  if (here) {
    following = false;
    here.scrollIntoView({ block: "center" });
    here.classList.add("found");
  } else {
    follow();
  }
  // Scroll events come late: by then the answer may have grown past the end that
  // was scrolled to. Only moving up is a wish to stay behind.
  let last = f.scrollTop;
  f.addEventListener("scroll", () => {
    if (fromEnd(f) < near) following = true;
    else if (f.scrollTop < last) following = false;
    last = f.scrollTop;
    offer();
  }, { passive: true });

  const grown = new ResizeObserver(() => { if (following) f.scrollTop = f.scrollHeight; });
  const messages = new MutationObserver(oneDayOnce);
  const watch = () => {
    const body = document.getElementById("conversation");
    if (!body || body.dataset.watched) return;
    body.dataset.watched = "yes";
    grown.observe(body);
    messages.observe(document.getElementById("messages"), { childList: true });
    oneDayOnce();
  };
  watch();
  document.addEventListener("htmx:after:swap", watch); // the whole conversation may have been replaced

  const dock = document.querySelector(".dock");
  new ResizeObserver(() => {
    document.documentElement.style.setProperty("--dock", `${dock.offsetHeight}px`);
    if (following) f.scrollTop = f.scrollHeight;
  }).observe(dock);

  let end = 0;
  document.addEventListener("htmx:before:swap", (e) => { if (e.target.closest?.("#earlier")) end = f.scrollHeight - f.scrollTop; });
  document.addEventListener("htmx:after:swap", () => {
    if (!end) return;
    f.scrollTop = f.scrollHeight - end;
    end = 0;
  });
  document.getElementById("latest")?.addEventListener("click", follow);
}
