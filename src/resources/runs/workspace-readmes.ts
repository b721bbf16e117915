/** A workspace's readme: that of its current configuration. It is shown beside the workspace, and has no routes of its own. */
import type { Tx } from "../../database/database.ts";
import type { Vault } from "../../database/vault.ts";
import { defineResource } from "../../jsonapi/define.ts";
import { text } from "../../jsonapi/schemas.ts";
import { readSmallContents } from "../shared/contents/contents.ts";

interface WorkspaceReadmeView {
  /** The configuration version that it was found in. */
  readonly id: string;
  readonly rawMarkdown: string;
}

export const workspaceReadmes = defineResource<WorkspaceReadmeView>()(({ readOnly }) => ({
  type: "workspace-readme",
  doc: "The readme in the working directory of a workspace's current configuration.",
  id: ({ id }) => id,
  attributes: { "raw-markdown": readOnly(text(), "Its text.") },
  relationships: {},
  operations: {},
}));

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
