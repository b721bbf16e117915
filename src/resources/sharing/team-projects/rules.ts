/** Pure rules of team access to projects. */
import { grant, type Granted } from "../../../access/granted.ts";
import { type ProjectLevel, projectLevel } from "../../../access/levels.ts";
import {
  projectPermissions,
  projectRightNeeds,
  projectRightsOf,
  teamRecordPermissions,
} from "../../../access/permissions.ts";
import type { UpdateAttributes } from "../../../jsonapi/define.ts";
import { type Chosen, type Given, givenAfter } from "../../shared/grants/records.ts";
import type { teamProjects, TeamProjectView } from "./definition.ts";
import type { ProjectPlace } from "./store.ts";

type Attributes = UpdateAttributes<typeof teamProjects>;

const managing = "can-manage-team-access";

/** Who may not manage access to a project is told that there is none, as the specification says. Raises `not-found`. */
export function grantPlace<Right extends "can-read" | typeof managing>(
  place: ProjectPlace,
  permission: Right,
): Granted<ProjectPlace, Right> {
  const visible = projectPermissions(place.held)["can-read"];
  return grant(place, {
    thing: "project",
    permission,
    visible,
    allowed: permission === "can-read" ? visible : projectRightsOf(place.held)[managing],
    needs: projectRightNeeds[managing],
    otherwise: "hide",
  });
}

/** Raises `not-found`, also for who may see the record but not manage it. */
export function grantRecord<Permission extends "can-read" | "can-manage">(
  record: TeamProjectView,
  permission: Permission,
): Granted<TeamProjectView, Permission> {
  const held = teamRecordPermissions({
    ...record,
    readsThing: projectPermissions(record.held)["can-read"],
    rights: projectRightsOf(record.held),
    seesSecretTeams: record.standing.seesSecretTeams,
  });
  return grant(record, {
    thing: "team access",
    permission,
    visible: held["can-read"],
    allowed: held[permission],
    needs: projectRightNeeds[managing],
    otherwise: "hide",
  });
}

/** The permissions that a body chooses. */
export function chosenIn({ projectAccess = {}, workspaceAccess = {} }: Attributes): Chosen {
  const within = (parent: string, chosen: object) =>
    Object.entries(chosen).map(([name, value]) => [`${parent}.${name}`, value]);
  return Object.fromEntries([
    ...within("project-access", projectAccess),
    ...within("workspace-access", workspaceAccess),
  ]);
}

export function givenBy(level: string, chosen: Chosen, before?: Given): Given {
  return givenAfter(level, chosen, projectLevel(level as ProjectLevel), before);
}

/** Whose access a record is, and on what, as the audit trail tells it. */
export function boundTo(record: TeamProjectView): object {
  return { team: record.teamId, project: record.projectId };
}
