/** Pure rules of remote-state consumers: who may see and change the list, and what can't be on it. */
import type { Access } from "../../../access/effective.ts";
import { grant, type Granted } from "../../../access/granted.ts";
import { holdsOrganization } from "../../../access/organization.ts";
import { workspacePermissionNeeds, workspacePermissions } from "../../../access/permissions/workspace.ts";
import type { Identifier } from "../../../jsonapi/define.ts";
import type { Fault } from "../../../kernel/errors.ts";
import type { OrganizationView } from "../../identity/organizations/definition.ts";

/** The workspace whose state is read, with what the caller holds on it. */
export interface SharingWorkspace {
  readonly id: string;
  readonly projectId: string;
  readonly globalRemoteState: number;
  readonly projectRemoteState: number;
  readonly access: Access;
  readonly organization: OrganizationView;
}

/** The specification lists 404 and no 403, so a caller who may not is told that there is nothing. Raises `not-found`. */
export function grantSharing<Permission extends "can-read-settings" | "can-update">(
  workspace: SharingWorkspace,
  permission: Permission,
): Granted<SharingWorkspace, Permission> {
  const held = permissionsOn(workspace);
  return grant(workspace, {
    thing: "workspace",
    permission,
    visible: held["can-read-settings"],
    allowed: held[permission],
    needs: workspacePermissionNeeds[permission],
    otherwise: "hide",
  });
}

/** The whole list is replaced only by whoever manages all workspaces. Raises `not-found`. */
export function grantReplacing(workspace: SharingWorkspace): Granted<SharingWorkspace, "can-update"> {
  const { standing } = workspace.organization;
  return grant(workspace, {
    thing: "workspace",
    permission: "can-update",
    visible: permissionsOn(workspace)["can-read-settings"],
    allowed: standing.owner || holdsOrganization(standing, "manage-workspaces"),
    needs: "the organization permission 'manage-workspaces'",
    otherwise: "hide",
  });
}

function permissionsOn({ access, organization }: SharingWorkspace) {
  const { allowForceDeleteWorkspaces } = organization;
  return workspacePermissions({ access, owner: organization.standing.owner, allowForceDeleteWorkspaces });
}

/** While the state is shared with everybody, or with the whole project, there is no list to change. */
export function sharedFaults(workspace: Pick<SharingWorkspace, "globalRemoteState" | "projectRemoteState">): Fault[] {
  const refused = (setting: string, whole: string): Fault => ({
    pointer: "/data",
    detail: `Remote state consumers can't be changed while ${setting} is true: every workspace of the ${whole} may read the state. Set it to false first`,
  });
  if (workspace.globalRemoteState === 1) return [refused("global-remote-state", "organization")];
  return workspace.projectRemoteState === 1 ? [refused("project-remote-state", "project")] : [];
}

/** Those of the named ones that are not there for the caller. */
export function unknownFaults(named: readonly Identifier[], readable: ReadonlySet<string>): Fault[] {
  return named.flatMap(({ id }, position) =>
    readable.has(id)
      ? []
      : [
          {
            pointer: `/data/${position}/id`,
            detail: `Workspace '${id}' does not exist in this organization, or you are not allowed to see it`,
          },
        ],
  );
}

/** A workspace reads its own state anyway; naming it is a mistake. */
export function selfFaults(named: readonly Identifier[], workspace: SharingWorkspace): Fault[] {
  return named.flatMap(({ id }, position) =>
    id === workspace.id
      ? [{ pointer: `/data/${position}/id`, detail: "A workspace can't be a consumer of its own state" }]
      : [],
  );
}
