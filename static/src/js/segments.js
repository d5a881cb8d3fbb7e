// A row of tabs wider than a phone is scrolled to the one that is open.
export function segments() {
  for (const row of document.querySelectorAll(".seg")) {
    const open = row.querySelector("[aria-current]");
    if (open) row.scrollLeft = open.offsetLeft - row.offsetLeft - (row.clientWidth - open.clientWidth) / 2;
  }
}
