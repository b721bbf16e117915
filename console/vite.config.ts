/** How the console is built: `npm run build:console`, and by the server at its start when the sources are newer than the files. */
import react from "@vitejs/plugin-react";
import { fileURLToPath } from "node:url";
import { defineConfig, type Plugin } from "vite";

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));

/**
 * Puts the stylesheet behind the frame: browsers draw nothing until a stylesheet in the head has come, and this one is large. The frame has
 * its own small style in the page. Scripts wait for the stylesheet wherever it is; the theme's variables, in the root, have to come after it.
 */
const stylesheetBehindFrame: Plugin = {
  name: "stylesheet-behind-frame",
  transformIndexHtml: {
    order: "post",
    handler: (html) => {
      const link = /\s*<link rel="stylesheet"[^>]*>/g;
      const links = html.match(link) ?? [];
      return html.replace(link, "").replace(/\s*<div id="root">/, (root) => `${links.join("")}${root}`);
    },
  },
};

/**
 * A first visit takes few requests: each area's pages are one file, with what only they use; everything else, also the libraries, is another.
 */
const areas: [name: string, pages: RegExp][] = [
  ["sign-in", /\/pages\/(sign-in|first-start)\//],
  ["site", /\/pages\/(site|account)\//],
  ["workspace", /\/pages\/(runs|states|variables|workspace|repository)\//],
  ["access", /\/pages\/(grant|who-can|teams|people|reach|tokens|move)\//],
  ["lists", /\/pages\/(organization|organizations|workspaces|projects|resources|tags|audit)\//],
  ["settings", /\/pages\//],
];

interface ModuleGraph {
  getModuleInfo(
    id: string,
  ): { readonly importers: readonly string[]; readonly dynamicImporters: readonly string[] } | null;
}

function chunkOf(id: string, graph: ModuleGraph): string {
  const [users, seen, open] = [new Set<string>(), new Set<string>(), [id]];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (seen.has(next)) continue;
    seen.add(next);
    const { importers = [], dynamicImporters = [] } = graph.getModuleInfo(next) ?? {};
    if (dynamicImporters.length > 0) users.add(areas.find(([, pages]) => pages.test(next))?.[0] ?? "main");
    if (importers.length === 0 && dynamicImporters.length === 0) users.add("main");
    open.push(...importers);
  }
  const [user = "main"] = users;
  return users.size === 1 ? user : "main";
}

export default defineConfig({
  root: here("."),
  base: "/app/",
  plugins: [react(), stylesheetBehindFrame],
  build: {
    outDir: here("../dist/console"),
    emptyOutDir: true,
    // Beside the organizations, of which one may be called `assets`.
    assetsDir: "~/assets",
    target: "es2023",
    // The policy allows no data: addresses, but for pictures; every file is loaded from where it lies.
    assetsInlineLimit: 0,
    reportCompressedSize: false,
    chunkSizeWarningLimit: 1_000,
    // One file: each page's own is smaller than a request.
    cssCodeSplit: false,
    rolldownOptions: {
      output: {
        codeSplitting: {
          // A module is where `chunkOf` says, also when another file needs it.
          includeDependenciesRecursively: false,
          groups: [{ name: chunkOf, debugName: "areas" }],
        },
      },
    },
  },
  server: { proxy: { "/api": "http://127.0.0.1:8080", "/oauth": "http://127.0.0.1:8080" } },
});
