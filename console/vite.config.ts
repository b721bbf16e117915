/** How the console is built: `npm run build:console`, and the server by itself when its sources are newer than what was built. */
import react from "@vitejs/plugin-react";
import { fileURLToPath } from "node:url";
import { defineConfig } from "vite";

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));

export default defineConfig({
  root: here("."),
  base: "/app/",
  plugins: [react()],
  build: {
    outDir: here("../dist/console"),
    emptyOutDir: true,
    // Beside the organizations, of which one may be called `assets`.
    assetsDir: "~/assets",
    target: "es2023",
    // The policy allows no data: addresses, but for pictures; every file is loaded from where it lies.
    assetsInlineLimit: 0,
    reportCompressedSize: false,
  },
  server: { proxy: { "/api": "http://127.0.0.1:8080", "/oauth": "http://127.0.0.1:8080" } },
});
