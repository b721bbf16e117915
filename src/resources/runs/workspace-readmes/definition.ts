/** A workspace's readme: that of its current configuration. It is shown beside the workspace, and has no routes of its own. */
import { defineResource } from "../../../jsonapi/define.ts";
import { text } from "../../../jsonapi/schemas.ts";

export interface WorkspaceReadmeView {
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
