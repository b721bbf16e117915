/** Pure rules of access explanations: who can query whose access, and what an explanation contains. */
import type { Actor } from "../../../access/actor.ts";
import { explain, grantsOf, standingFrom, type TeamHolding } from "../../../access/explain.ts";
import { grant } from "../../../access/granted.ts";
import { projectPermissions, projectRightNeeds, projectRightsOf } from "../../../access/permissions/project.ts";
import {
  seesWorkspace,
  workspacePermissionNeeds,
  workspacePermissions,
  workspaceRightsOf,
} from "../../../access/permissions/workspace.ts";
import { AppError, notFound } from "../../../kernel/errors.ts";
import type { ExplanationView, Subject } from "./definition.ts";
import type { AskedHolding, PersonFacts, Thing } from "./store.ts";

export type Asked = { readonly who: "caller" } | { readonly who: "team" | "user"; readonly id: string };

/** Raises `bad-request` if both are named. */
export function askedBy(actor: Actor, teamId: string | undefined, userId: string | undefined): Asked {
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

const managing = "can-manage-team-access";

/** Raises `not-found` if the caller can't read the target, and `forbidden` if they query others without permission. */
export function grantExplanation(target: Thing, query: Asked): void {
  const noun = target.workspaceId === null ? "project" : "workspace";
  grant(target, {
    thing: noun,
    permission: managing,
    visible: noun === "project" ? projectPermissions(target.granted)["can-read"] : seesWorkspace(target.granted),
    allowed: query.who === "caller" || rightsOn(target)[managing],
    needs: noun === "project" ? projectRightNeeds[managing] : workspacePermissionNeeds["can-update"],
  });
}

export function rightsOn(target: Thing) {
  return target.workspaceId === null ? projectRightsOf(target.granted) : workspaceRightsOf(target.granted);
}

/**
 * The subject in the form of a caller. Raises `not-found` for a team or user that the organization does not have, and for a secret
 * team without access to the target.
 */
export function subjectOf(
  actor: Actor,
  query: Asked,
  target: Thing,
  person: PersonFacts,
  holdings: readonly AskedHolding[],
): Actor {
  if (query.who === "caller") return actor;
  if (query.who === "team") {
    const [team] = holdings;
    const known = target.standing.seesSecretTeams || team?.knownToCaller === 1;
    if (team === undefined || team.teamId !== query.id || !known) throw notFound("team");
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

export function teamAsActor(target: Thing, team: TeamHolding): Actor {
  return {
    kind: "team",
    teamId: team.teamId,
    name: team.teamName,
    organizationId: target.organizationId,
    tokenId: "",
  };
}

/** What a subject can do to a target, and why; decided by the functions that decide about its requests. */
export function explanationOf(
  target: Thing,
  subject: Actor,
  holdings: readonly TeamHolding[],
  isMember = 0,
): ExplanationView {
  const standing = standingFrom(subject, target.organizationId, isMember, holdings);
  const explanation = explain(grantsOf(subject, standing, holdings));
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

function subjectViewOf(subject: Actor, target: Thing): Subject {
  switch (subject.kind) {
    case "user":
      return { type: "users", id: subject.userId, name: subject.name };
    case "team":
      return { type: "teams", id: subject.teamId, name: subject.name };
    default:
      return { type: "organizations", id: target.organizationName, name: target.organizationName };
  }
}
