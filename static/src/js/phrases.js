// The words the scripts show, kept in the page with all others (#phrases).
const box = () => document.getElementById("phrases")?.content;

export const phrase = (name) => box()?.querySelector(`[data-for="${name}"]`)?.textContent ?? "";

// piece returns a fresh copy of the component kept under name.
export const piece = (name) => box()?.querySelector(`[data-for="${name}"] > *`)?.cloneNode(true);
