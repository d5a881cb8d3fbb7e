// Tailwind's names for the tokens of static/src/tokens.css: the only colours,
// typefaces, radii and timings Ash has.
const token = (name) => `var(--${name})`;

/** @type {import("tailwindcss").Config} */
export default {
  content: ["./views/**/*.templ"],
  theme: {
    colors: {
      transparent: "transparent",
      current: "currentColor",
      ...Object.fromEntries(
        ["canvas", "surface", "raised", "hairline", "border", "text", "muted", "icon", "accent", "accent-hover", "on-accent",
          "accent-soft", "accent-text", "focus", "danger", "danger-soft", "ok", "ok-soft", "code", "glass", "scrim"]
          .map((name) => [name, token(name)]),
      ),
    },
    fontFamily: {
      sans: ["Geist", "system-ui", "sans-serif"],
      mono: ["Geist Mono", "ui-monospace", "monospace"],
    },
  },
};
