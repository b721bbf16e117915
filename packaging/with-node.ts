/** `node packaging/with-node.ts FOLDER`: copies the build together with its Node, for container images. */
import { fillWithNode } from "./archives.ts";

const [folder] = process.argv.slice(2);
if (folder === undefined) throw new Error("Usage: node packaging/with-node.ts FOLDER");
await fillWithNode(folder);
