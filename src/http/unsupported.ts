/**
 * Paths of the API that clients know and the service does not have yet. Clients take 404 for a missing permission and say so, and try
 * again after 501; what they print as it is, is a 422.
 */
import { AppError } from "../kernel/errors.ts";
import { basePath } from "./respond.ts";

const sentences: readonly (readonly [path: RegExp, sentence: string])[] = [
  [
    /^(?:\/workspaces\/[^/]+)?\/queries(?:\/|$)/,
    "Queries (terraform query) are not supported yet by this server. Set the workspace's execution-mode to 'local' to run terraform query on your machine.",
  ],
];

/** Undefined where a path is simply not there. */
export function unsupportedAt(url: string): AppError | undefined {
  const path = url.replace(/[?#].*$/s, "");
  if (!path.startsWith(basePath)) return undefined;
  const found = sentences.find(([pattern]) => pattern.test(path.slice(basePath.length)));
  return found && new AppError("unsupported", found[1]);
}
