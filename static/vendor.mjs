// Copies what Ash ships of other projects from node_modules into static/vendor,
// as it is, with licences. Run it after changing a version in package.json.
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";

const copies = {
  "htmx.js": "htmx.org/dist/htmx.min.js",
  "hx-sse.js": "htmx.org/dist/ext/hx-sse.min.js",
  "hx-upsert.js": "htmx.org/dist/ext/hx-upsert.min.js",
  "temml.mjs": "temml/dist/temml.mjs",
  "geist.woff2": "@fontsource-variable/geist/files/geist-latin-wght-normal.woff2",
  "geist-mono.woff2": "@fontsource-variable/geist-mono/files/geist-mono-latin-wght-normal.woff2",
};
const licences = {
  "LICENSE-htmx": "htmx.org/LICENSE",
  "LICENSE-temml": "temml/LICENSE",
  "LICENSE-geist": "@fontsource-variable/geist/LICENSE",
  "LICENSE-lucide": "lucide-static/LICENSE",
  "LICENSE-tailwindcss": "tailwindcss/LICENSE",
};
const packages = ["htmx.org", "temml", "@fontsource-variable/geist", "@fontsource-variable/geist-mono", "lucide-static", "tailwindcss"];

mkdirSync("static/vendor", { recursive: true });
for (const [to, from] of Object.entries({ ...copies, ...licences })) copyFileSync(`node_modules/${from}`, `static/vendor/${to}`);
const versions = packages.map((p) => `${p} ${JSON.parse(readFileSync(`node_modules/${p}/package.json`, "utf8")).version}`);
writeFileSync("static/vendor/VERSIONS", versions.join("\n") + "\n");
