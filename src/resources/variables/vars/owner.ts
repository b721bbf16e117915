/** Whose variables they are, a workspace's or a set's, with the proof of what the caller may do with them there. */
import type { Granted } from "../../../access/granted.ts";
import type { VarsetView } from "../varsets/definition.ts";
import type { WorkspaceView } from "../../register/workspaces/view.ts";

export type ReadableWorkspace = Granted<WorkspaceView, "can-read-variable">;

export type Readable =
  | { readonly column: "workspaceId"; readonly thing: ReadableWorkspace }
  | { readonly column: "varsetId"; readonly thing: Granted<VarsetView, "can-read"> };

/** The owner's row is locked: of two who add the same key, or the last one allowed, one comes first. */
export type Writable =
  | { readonly column: "workspaceId"; readonly thing: Granted<WorkspaceView, "can-update-variable"> }
  | { readonly column: "varsetId"; readonly thing: Granted<VarsetView, "can-manage"> };

/** As a sentence begins with it. */
export const nounOf = ({ column }: Writable): string => (column === "workspaceId" ? "A workspace" : "A variable set");

/** The columns that tell whose a new variable is. */
export function ownerColumns({ column, thing }: Writable) {
  return {
    organizationId: thing.organizationId,
    workspaceId: column === "workspaceId" ? thing.id : null,
    varsetId: column === "varsetId" ? thing.id : null,
  };
}
