/** `node packaging/with-node.ts FOLDER`: what `npm run build` made, with its own Node, as images have it. */
import { fillWithNode } from "./archives.ts";

const [folder] = process.argv.slice(2);
if (folder === undefined) throw new Error("Name the folder that is to be made.");
await fillWithNode(folder);
