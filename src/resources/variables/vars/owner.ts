/** The owner of variables, a workspace or a variable set, with the proof of permission. */
import type { Granted } from "../../../access/granted.ts";
import type { VarsetView } from "../varsets/definition.ts";
import type { WorkspaceView } from "../../register/workspaces/view.ts";

export type ReadableWorkspace = Granted<WorkspaceView, "can-read-variable">;

export type ReadableVarOwner =
  | { readonly column: "workspaceId"; readonly resource: ReadableWorkspace }
  | { readonly column: "varsetId"; readonly resource: Granted<VarsetView, "can-read"> };

/** The owner is locked, so that concurrent requests can't add the same key or exceed the limit. */
export type WritableVarOwner =
  | { readonly column: "workspaceId"; readonly resource: Granted<WorkspaceView, "can-update-variable"> }
  | { readonly column: "varsetId"; readonly resource: Granted<VarsetView, "can-manage"> };

export const nounOf = ({ column }: WritableVarOwner): string =>
  column === "workspaceId" ? "workspace" : "variable set";

export function ownerColumns({ column, resource }: WritableVarOwner) {
  return {
    organizationId: resource.organizationId,
    workspaceId: column === "workspaceId" ? resource.id : null,
    varsetId: column === "varsetId" ? resource.id : null,
  };
}
