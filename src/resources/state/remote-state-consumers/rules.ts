/** Pure rules of remote-state consumers: access to the list, and its validation. */
import type { Access } from "../../../access/effective.ts";
import { authorize, type Granted } from "../../../access/granted.ts";
import { hasOrganizationPermission } from "../../../access/organization.ts";
import { workspacePermissionNeeds, workspacePermissions } from "../../../access/permissions/workspace.ts";
import type { ResourceIdentifier } from "../../../jsonapi/define.ts";
import type { Fault } from "../../../kernel/errors.ts";
import type { OrganizationView } from "../../identity/organizations/definition.ts";

export interface SharingWorkspace {
  readonly id: string;
  readonly projectId: string;
  readonly globalRemoteState: number;
  readonly projectRemoteState: number;
  readonly access: Access;
  readonly organization: OrganizationView;
}

/** Throws `not-found`: the specification lists no 403 for these endpoints. */
export function authorizeSharing<Permission extends "can-read-settings" | "can-update">(
  workspace: SharingWorkspace,
  permission: Permission,
): Granted<SharingWorkspace, Permission> {
  const permissions = permissionsOn(workspace);
  return authorize(workspace, {
    thing: "workspace",
    permission,
    visible: permissions["can-read-settings"],
    allowed: permissions[permission],
    needs: workspacePermissionNeeds[permission],
    whenDenied: "hide",
  });
}

/** Replacing the whole list needs a permission on all workspaces. Throws `not-found`. */
export function authorizeReplacing(workspace: SharingWorkspace): Granted<SharingWorkspace, "can-update"> {
  const { standing } = workspace.organization;
  return authorize(workspace, {
    thing: "workspace",
    permission: "can-update",
    visible: permissionsOn(workspace)["can-read-settings"],
    allowed: standing.owner || hasOrganizationPermission(standing, "manage-workspaces"),
    needs: "the organization permission 'manage-workspaces'",
    whenDenied: "hide",
  });
}

function permissionsOn({ access, organization }: SharingWorkspace) {
  const { allowForceDeleteWorkspaces } = organization;
  return workspacePermissions({ access, owner: organization.standing.owner, allowForceDeleteWorkspaces });
}

export function sharedFaults(workspace: Pick<SharingWorkspace, "globalRemoteState" | "projectRemoteState">): Fault[] {
  const fault = (setting: string, scope: string): Fault => ({
    pointer: "/data",
    detail: `Remote state consumers can't be changed while ${setting} is true, because every workspace of the ${scope} can read the state. Set it to false first`,
  });
  if (workspace.globalRemoteState === 1) return [fault("global-remote-state", "organization")];
  return workspace.projectRemoteState === 1 ? [fault("project-remote-state", "project")] : [];
}

export function unknownFaults(items: readonly ResourceIdentifier[], readable: ReadonlySet<string>): Fault[] {
  return items.flatMap(({ id }, position) =>
    readable.has(id)
      ? []
      : [
          {
            pointer: `/data/${position}/id`,
            detail: `Workspace '${id}' does not exist in this organization, or you don't have access to it`,
          },
        ],
  );
}

export function selfFaults(items: readonly ResourceIdentifier[], workspace: SharingWorkspace): Fault[] {
  return items.flatMap(({ id }, position) =>
    id === workspace.id
      ? [{ pointer: `/data/${position}/id`, detail: "A workspace can't be a consumer of its own state" }]
      : [],
  );
}
