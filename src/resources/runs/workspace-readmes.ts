/** The readme of a workspace's current configuration, available as an included resource of the workspace. */
import type { Tx } from "../../database/database.ts";
import type { Vault } from "../../database/vault.ts";
import { defineResource } from "../../jsonapi/define.ts";
import { text } from "../../jsonapi/schemas.ts";
import { readSmallContents } from "../shared/contents/contents.ts";

interface WorkspaceReadmeView {
  readonly id: string;
  readonly rawMarkdown: string;
}

export const workspaceReadmes = defineResource<WorkspaceReadmeView>()(({ readOnly }) => ({
  type: "workspace-readme",
  doc: "The readme in the working directory of a workspace's current configuration.",
  id: ({ id }) => id,
  attributes: { "raw-markdown": readOnly(text(), "The readme's text.") },
  relationships: {},
  operations: {},
}));

/** Per response. Readmes of a list that exceed it are left out, and shown with the single workspace. */
const responseBytesMax = 8 * 1024 * 1024;

export async function readmesOf(
  tx: Tx,
  { vault }: { readonly vault: Vault },
  configurationVersionIds: readonly string[],
): Promise<WorkspaceReadmeView[]> {
  const owned = { column: "configurationVersionId", ids: configurationVersionIds, kind: "readme" } as const;
  const found = await readSmallContents(tx, vault, owned, responseBytesMax);
  return [...found].map(([id, bytes]) => ({ id, rawMarkdown: Buffer.from(bytes).toString("utf8") }));
}
