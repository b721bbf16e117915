/** Pure rules of access explanations. */
import type { Actor } from "../../../access/actor.ts";
import { explainGrants, sourcedGrantsOf, standingFromTeams, type TeamAccessRow } from "../../../access/explain.ts";
import { authorize } from "../../../access/granted.ts";
import { projectPermissions, projectRightNeeds, projectRightsOf } from "../../../access/permissions/project.ts";
import {
  canSeeWorkspace,
  workspacePermissionNeeds,
  workspacePermissions,
  workspaceRightsOf,
} from "../../../access/permissions/workspace.ts";
import { AppError, notFound } from "../../../kernel/errors.ts";
import type { ExplanationView, ExplainedSubject } from "./definition.ts";
import type { SubjectTeamRow, ExplainedPersonRow, ExplainedTarget } from "./store.ts";

export type SubjectQuery = { readonly who: "caller" } | { readonly who: "team" | "user"; readonly id: string };

export function parseSubjectQuery(actor: Actor, teamId: string | undefined, userId: string | undefined): SubjectQuery {
  if (teamId !== undefined && userId !== undefined) {
    const detail = "Send either filter[team][id] or filter[user][id], not both.";
    throw new AppError("bad-request", [{ parameter: "filter[user][id]", detail }]);
  }
  const isCaller =
    (actor.kind === "user" && actor.userId === userId) || (actor.kind === "team" && actor.teamId === teamId);
  if (isCaller) return { who: "caller" };
  if (teamId !== undefined) return { who: "team", id: teamId };
  return userId === undefined ? { who: "caller" } : { who: "user", id: userId };
}

const managePermission = "can-manage-team-access";

/** Throws `not-found` if the caller can't read the target, and `forbidden` if they can't query others. */
export function authorizeExplanation(target: ExplainedTarget, query: SubjectQuery): void {
  const noun = target.workspaceId === null ? "project" : "workspace";
  authorize(target, {
    thing: noun,
    permission: managePermission,
    visible:
      noun === "project" ? projectPermissions(target.callerAccess)["can-read"] : canSeeWorkspace(target.callerAccess),
    allowed: query.who === "caller" || rightsOn(target)[managePermission],
    needs: noun === "project" ? projectRightNeeds[managePermission] : workspacePermissionNeeds["can-update"],
  });
}

export function rightsOn(target: ExplainedTarget) {
  return target.workspaceId === null ? projectRightsOf(target.callerAccess) : workspaceRightsOf(target.callerAccess);
}

/** Throws `not-found` for an unknown team or user, and for a secret team without access to the target. */
export function subjectOf(
  actor: Actor,
  query: SubjectQuery,
  target: ExplainedTarget,
  person: ExplainedPersonRow,
  teamRows: readonly SubjectTeamRow[],
): Actor {
  if (query.who === "caller") return actor;
  if (query.who === "team") {
    const [team] = teamRows;
    const isVisible = target.standing.seesSecretTeams || team?.isVisibleToCaller === 1;
    if (team === undefined || team.teamId !== query.id || !isVisible) throw notFound("team");
    return teamAsActor(target, team);
  }
  if (person.personId === null || person.personIsMember === 0) throw notFound("user");
  const { personId: userId, personName, personIsSiteAdmin } = person;
  return {
    kind: "user",
    userId,
    name: personName ?? "",
    siteAdmin: personIsSiteAdmin === 1,
    tokenId: "",
    tokenAgeMs: 0,
  };
}

export function teamAsActor(target: ExplainedTarget, team: TeamAccessRow): Actor {
  return {
    kind: "team",
    teamId: team.teamId,
    name: team.teamName,
    organizationId: target.organizationId,
    tokenId: "",
  };
}

/** Calls the functions that decide about the subject's own requests. */
export function explanationOf(
  target: ExplainedTarget,
  subject: Actor,
  teamRows: readonly TeamAccessRow[],
  isMember = 0,
): ExplanationView {
  const standing = standingFromTeams(subject, target.organizationId, isMember, teamRows);
  const explanation = explainGrants(sourcedGrantsOf(subject, standing, teamRows));
  const { access } = explanation;
  const { organizationName, projectId, workspaceId, allowForceDeleteWorkspaces } = target;
  const can =
    workspaceId === null
      ? { ...projectPermissions(access), ...projectRightsOf(access) }
      : {
          ...workspacePermissions({ access, owner: standing.owner, allowForceDeleteWorkspaces }),
          ...workspaceRightsOf(access),
        };
  return { subject: subjectViewOf(subject, target), organizationName, projectId, workspaceId, explanation, can };
}

function subjectViewOf(subject: Actor, target: ExplainedTarget): ExplainedSubject {
  switch (subject.kind) {
    case "user":
      return { type: "users", id: subject.userId, name: subject.name };
    case "team":
      return { type: "teams", id: subject.teamId, name: subject.name };
    default:
      return { type: "organizations", id: target.organizationName, name: target.organizationName };
  }
}
