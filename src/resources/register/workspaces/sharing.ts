/** With whom a workspace shares its state: the whole organization, its project, or the workspaces that are named one by one. */
import type { WorkspaceTable } from "../../../database/schema/workspaces.ts";
import { attributeFault, type Fault } from "../../../kernel/errors.ts";

export interface SharingInput {
  readonly globalRemoteState?: boolean | undefined;
  readonly projectRemoteState?: boolean | undefined;
}

function both(): Fault {
  return attributeFault(
    "project-remote-state",
    "Project remote state cannot be enabled when global remote state sharing is enabled",
  );
}

/** What the body alone shows to be wrong. */
export function sharingFaults({ globalRemoteState, projectRemoteState }: SharingInput): Fault[] {
  return globalRemoteState === true && projectRemoteState === true ? [both()] : [];
}

/** The same where one of the two was there before. */
export function sharingFaultsOf(after: Pick<WorkspaceTable, "globalRemoteState" | "projectRemoteState">): Fault[] {
  return after.globalRemoteState === 1 && after.projectRemoteState === 1 ? [both()] : [];
}
