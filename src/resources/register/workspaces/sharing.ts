/** Validates a workspace's remote-state sharing. */
import type { WorkspaceTable } from "../../../database/schema/workspaces.ts";
import { attributeFault, type Fault } from "../../../kernel/errors.ts";

export interface SharingInput {
  readonly globalRemoteState?: boolean | undefined;
  readonly projectRemoteState?: boolean | undefined;
}

function conflictingSharing(): Fault {
  return attributeFault(
    "project-remote-state",
    "Project remote state cannot be enabled when global remote state sharing is enabled",
  );
}

export function sharingFaults({ globalRemoteState, projectRemoteState }: SharingInput): Fault[] {
  return globalRemoteState === true && projectRemoteState === true ? [conflictingSharing()] : [];
}

export function sharingFaultsOf(after: Pick<WorkspaceTable, "globalRemoteState" | "projectRemoteState">): Fault[] {
  return after.globalRemoteState === 1 && after.projectRemoteState === 1 ? [conflictingSharing()] : [];
}
