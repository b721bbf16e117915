/** The readmes of workspaces, to be shown beside them. */
import type { Tx } from "../../../database/database.ts";
import type { Vault } from "../../../database/vault.ts";
import { readSmallContents } from "../../shared/contents/contents.ts";
import type { WorkspaceReadmeView } from "./definition.ts";

/** One has at most 1 MiB; of a page of them, those are shown that fit. The others are there for whoever shows one workspace. */
const bytesAtOnce = 8 * 1024 * 1024;

/** Two statements. */
export async function readmesOf(
  tx: Tx,
  { vault }: { readonly vault: Vault },
  configurationVersionIds: readonly string[],
): Promise<WorkspaceReadmeView[]> {
  const owned = { column: "configurationVersionId", ids: configurationVersionIds, kind: "readme" } as const;
  const found = await readSmallContents(tx, vault, owned, bytesAtOnce);
  return [...found].map(([id, bytes]) => ({ id, rawMarkdown: Buffer.from(bytes).toString("utf8") }));
}
