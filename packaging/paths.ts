/** Source and target directories. */
import { join } from "node:path";
import { fileURLToPath } from "node:url";

export const root = fileURLToPath(new URL("..", import.meta.url));
export const packageFolder = join(root, "dist/package");
export const releaseFolder = join(root, "dist/release");
