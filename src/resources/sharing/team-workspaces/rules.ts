/** Pure rules of team access to workspaces. */
import { grant, type Granted } from "../../../access/granted.ts";
import { type WorkspaceLevel, workspaceLevel } from "../../../access/levels.ts";
import {
  seesWorkspace,
  teamRecordPermissions,
  workspacePermissionNeeds,
  workspaceRightsOf,
} from "../../../access/permissions.ts";
import type { UpdateAttributes } from "../../../jsonapi/define.ts";
import { kebab } from "../../../kernel/names.ts";
import { type Chosen, type Given, givenAfter } from "../../shared/grants/records.ts";
import type { teamWorkspaces, TeamWorkspaceView } from "./definition.ts";
import type { WorkspacePlace } from "./store.ts";

const managing = "can-manage-team-access";
const needs = workspacePermissionNeeds["can-update"];

/** Who may not manage access to a workspace is told that there is none, as the specification says. Raises `not-found`. */
export function grantPlace<Right extends "can-read" | typeof managing>(
  place: WorkspacePlace,
  permission: Right,
): Granted<WorkspacePlace, Right> {
  return grant(place, {
    thing: "workspace",
    permission,
    visible: seesWorkspace(place.held),
    allowed: permission === "can-read" || workspaceRightsOf(place.held)[managing],
    needs,
    otherwise: "hide",
  });
}

/** Raises `not-found`, also for who may see the record but not manage it. */
export function grantRecord<Permission extends "can-read" | "can-manage">(
  record: TeamWorkspaceView,
  permission: Permission,
): Granted<TeamWorkspaceView, Permission> {
  const held = teamRecordPermissions({
    ...record,
    readsThing: seesWorkspace(record.held),
    rights: workspaceRightsOf(record.held),
    seesSecretTeams: record.standing.seesSecretTeams,
  });
  return grant(record, {
    thing: "team access",
    permission,
    visible: held["can-read"],
    allowed: held[permission],
    needs,
    otherwise: "hide",
  });
}

/** The permissions that a body chooses. */
export function chosenIn(attributes: UpdateAttributes<typeof teamWorkspaces>): Chosen {
  const chosen = Object.entries(attributes).filter(([name]) => name !== "access");
  return Object.fromEntries(chosen.map(([name, value]) => [kebab(name), value]));
}

export function givenBy(level: string, chosen: Chosen, before?: Given): Given {
  return givenAfter(level, chosen, workspaceLevel(level as WorkspaceLevel), before);
}

/** Whose access a record is, and on what, as the audit trail tells it. */
export function boundTo(record: TeamWorkspaceView): object {
  return { team: record.teamId, workspace: record.workspaceId };
}
