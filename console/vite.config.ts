/** The console's build: `npm run build:console`, and the server's start if the sources are newer. */
import react from "@vitejs/plugin-react";
import { fileURLToPath } from "node:url";
import { defineConfig, type Plugin } from "vite";

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));

/** Browsers render nothing until the head's stylesheets are loaded, so this one follows the shell. The root's theme variables follow it. */
const stylesheetAfterShell: Plugin = {
  name: "stylesheet-after-shell",
  transformIndexHtml: {
    order: "post",
    handler: (html) => {
      const link = /\s*<link rel="stylesheet"[^>]*>/g;
      const links = html.match(link) ?? [];
      return html.replace(link, "").replace(/\s*<div id="root">/, (root) => `${links.join("")}${root}`);
    },
  },
};

/** Few requests on a first visit: one file for each area, and one for everything else. */
const areas: [name: string, pages: RegExp][] = [
  ["sign-in", /\/pages\/(sign-in|first-start)\//],
  ["site", /\/pages\/(site|account)\//],
  ["workspace", /\/pages\/(runs|states|variables|workspace|repository)\//],
  ["access", /\/pages\/(access-[a-z]+|grant|who-can|teams|people|reach|tokens|move)\//],
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
  plugins: [react(), stylesheetAfterShell],
  build: {
    outDir: here("../dist/console"),
    emptyOutDir: true,
    // Separate from organizations, one of which may be called `assets`.
    assetsDir: "~/assets",
    target: "es2023",
    // The content security policy allows data: URLs only for images.
    assetsInlineLimit: 0,
    reportCompressedSize: false,
    chunkSizeWarningLimit: 1_000,
    // Each page's styles are smaller than a request.
    cssCodeSplit: false,
    rolldownOptions: {
      output: {
        codeSplitting: {
          // `chunkOf` decides the file, also for modules that other files import.
          includeDependenciesRecursively: false,
          groups: [{ name: chunkOf, debugName: "areas" }],
        },
      },
    },
  },
  server: { proxy: { "/api": "http://127.0.0.1:8080", "/oauth": "http://127.0.0.1:8080" } },
});
