/** A workspace, as its pages show it. */
import type { Resource } from "../../api/client.ts";

export interface Place {
  readonly organization: string;
  readonly workspace: Resource<"workspaces">;
  readonly included: readonly any[];
  readonly etag: string | undefined;
}
