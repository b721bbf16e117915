/** Pure rules of reach. */
import type { Actor } from "../../../access/actor.ts";
import { effectiveAccess } from "../../../access/effective.ts";
import { sourcedGrantsOf } from "../../../access/explain.ts";
import { noRestrictions, type OrganizationStanding, checkedStandingOf } from "../../../access/organization.ts";
import { canManageToken } from "../../../access/permissions/organization.ts";
import {
  levelNames,
  levelOf,
  canReadPersonReach,
  canReadTeamReach,
  permissionsOn,
  type TargetKind,
  maskRequirementFor,
} from "../../../access/reach.ts";
import { AppError, notFound } from "../../../kernel/errors.ts";
import { fold } from "../../../kernel/text.ts";
import type { ExplainedSubject } from "../access-explanations/definition.ts";
import type { ReachView } from "./definition.ts";
import type { ReachSearch, ReachedTarget } from "./store.ts";
import { type SubjectReference, type SubjectRow, type ReachTally, parseTallies } from "./subject.ts";

export interface ReachSubject {
  readonly actor: Actor;
  readonly standing: OrganizationStanding;
  readonly shown: ExplainedSubject;
  readonly organizationId: string;
  readonly organizationName: string;
  readonly allowForceDeleteWorkspaces: number;
  readonly caller: OrganizationStanding;
  readonly tallies: readonly ReachTally[];
  readonly workspaces: number;
  readonly refused: string | undefined;
  /** In milliseconds; the result expires with the token. */
  readonly until: number;
}

const tokenThing = "authentication token";

/** Throws `not-found`, and `bad-request` for a user token without an organization. */
export function authorizeReach(actor: Actor, reference: SubjectReference, row: SubjectRow | undefined): SubjectRow {
  const thing = { team: "team", user: "organization", token: tokenThing }[reference.by];
  if (row === undefined) throw notFound(thing);
  const standing = checkedStandingOf(actor, { ...row, organizationId: row.organizationId ?? "" });
  if (reference.by === "token") refuseToken(actor, reference, row, standing);
  if (row.organizationName === null || (!standing.member && reference.by !== "team")) throw notFound("organization");
  if (reference.by === "team" && !canReadTeamReach(standing, row)) throw notFound("team");
  if (reference.by === "user" && !canQueryPerson(actor, row, standing)) throw notFound("user");
  return row;
}

function canQueryPerson(
  actor: Actor,
  { userId, subjectIsMember }: SubjectRow,
  standing: OrganizationStanding,
): boolean {
  const isSelf = actor.kind === "user" && actor.userId === userId;
  return userId !== null && (isSelf || subjectIsMember > 0) && canReadPersonReach(standing, isSelf);
}

function refuseToken(
  actor: Actor,
  { organizationName }: SubjectReference & { readonly by: "token" },
  row: SubjectRow,
  standing: OrganizationStanding,
): void {
  const isOfTeam = row.teamId !== null && canReadTeamReach(standing, row);
  if (!isOfTeam && !canManageToken(actor, { ...row, standing })) throw notFound(tokenThing);
  if (row.userId !== null && organizationName === undefined) {
    const parameter = "filter[organization][name]";
    const detail = `A user token can reach every organization of its user. Name one of them with ${parameter}.`;
    throw new AppError("bad-request", [{ parameter, detail }]);
  }
  const isAnother = organizationName !== undefined && fold(organizationName) !== fold(row.organizationName ?? "");
  if (isAnother) throw notFound("organization");
}

function actorOf(row: SubjectRow, now: number): Actor {
  const { subjectKind: kind, subjectId: id, subjectName, organizationId, organizationName } = row;
  const name = subjectName ?? "";
  const tokenId = "";
  switch (kind) {
    case "user": {
      const tokenAgeMs = row.tokenCreatedAt === null ? 0 : Math.max(0, now - Date.parse(row.tokenCreatedAt));
      return { kind, userId: id ?? "", name, siteAdmin: row.subjectIsSiteAdmin === 1, tokenId, tokenAgeMs };
    }
    case "team":
      return { kind, teamId: id ?? "", name, organizationId: organizationId ?? "", tokenId };
    case "organization":
      return { kind, organizationId: organizationId ?? "", name: organizationName ?? "", tokenId };
    default:
      return { kind, auditedOrganizationId: organizationId ?? "", name: organizationName ?? "", tokenId };
  }
}

function shownAs(actor: Actor, organizationName: string): ExplainedSubject {
  if (actor.kind === "user") return { type: "users", id: actor.userId, name: actor.name };
  if (actor.kind === "team") return { type: "teams", id: actor.teamId, name: actor.name };
  return { type: "organizations", id: organizationName, name: organizationName };
}

const expired = "The token has expired.";

function expiriesOf({
  tokenCreatedAt,
  tokenExpiredAt,
  tokenMaxMs,
  userTokenMaxMs,
}: SubjectRow): readonly [number, number] {
  const never = Number.POSITIVE_INFINITY;
  if (tokenCreatedAt === null) return [never, never];
  const atAge = (ms: number | null) => (ms === null ? never : Date.parse(tokenCreatedAt) + Number(ms));
  const given = tokenExpiredAt === null ? never : Date.parse(tokenExpiredAt);
  return [Math.min(given, atAge(tokenMaxMs)), atAge(userTokenMaxMs)];
}

/** Accepts or refuses a token as in its own requests. */
function standingOfSubject(
  actor: Actor,
  row: SubjectRow,
  now: number,
): { standing: OrganizationStanding; refused?: string } {
  const { organizationId, subjectTeamAccess: teamAccess, subjectIsMember: isMember } = row;
  const standingRow = { organizationId: organizationId ?? "", teamAccess, isMember };
  const unrestricted = checkedStandingOf(actor, { ...standingRow, ...noRestrictions });
  if (row.tokenCreatedAt === null) return { standing: unrestricted };
  if (expiriesOf(row)[0] <= now) return { standing: unrestricted, refused: expired };
  try {
    const { organizationDisabled, userTokenMaxMs } = row;
    return { standing: checkedStandingOf(actor, { ...standingRow, organizationDisabled, userTokenMaxMs }) };
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return { standing: unrestricted, refused: error.message };
  }
}

export function subjectOf(caller: Actor, row: SubjectRow, now: number): ReachSubject {
  const actor = actorOf(row, now);
  const organizationName = row.organizationName ?? "";
  const { standing, refused } = standingOfSubject(actor, row, now);
  return {
    actor,
    standing,
    shown: shownAs(actor, organizationName),
    organizationId: row.organizationId ?? "",
    organizationName,
    allowForceDeleteWorkspaces: row.allowForceDeleteWorkspaces ?? 0,
    caller: checkedStandingOf(caller, { ...row, organizationId: row.organizationId ?? "" }),
    tallies: refused === undefined ? parseTallies(row.tallies) : [],
    workspaces: Number(row.everything ?? 0),
    refused,
    until: Math.min(...expiriesOf(row).filter((end) => end > now)),
  };
}

export const visibleIn = (tallies: readonly ReachTally[]): number => sumOf(tallies.filter((tally) => tally.isVisible));

const sumOf = (tallies: readonly ReachTally[]): number => tallies.reduce((sum, { count }) => sum + count, 0);

export function reachSearchFor(caller: Actor, subject: ReachSubject, permission: string | undefined): ReachSearch {
  const ownership = { owner: subject.standing.owner, allowForceDeleteWorkspaces: subject.allowForceDeleteWorkspaces };
  const { organizationId, standing, actor } = subject;
  return {
    organizationId,
    principal: actor.kind === "user" ? actor.userId : actor.kind === "team" ? actor.teamId : "",
    everywhere: standing.organizationWideMask,
    required: {
      project: maskRequirementFor("project", permission, ownership),
      workspace: maskRequirementFor("workspace", permission, ownership),
    },
    actor: caller,
    standing: subject.caller,
    matching: visibleIn(subject.tallies),
    workspaces: subject.workspaces,
  };
}

/** Calls the functions that decide about the subject's own requests. Grants from teams that the caller can't see count without a name. */
export function viewOf(subject: ReachSubject, { teamRows, ...target }: ReachedTarget): ReachView {
  const { standing, allowForceDeleteWorkspaces, organizationName } = subject;
  const grants = sourcedGrantsOf(subject.actor, standing, teamRows).filter(({ mask }) => mask !== 0);
  const access = effectiveAccess(...grants);
  const visible = new Set(
    teamRows.filter(({ isVisibleToCaller }) => isVisibleToCaller === 1).map(({ teamId }) => teamId),
  );
  const shown = grants.filter(({ source }) => !("team" in source) || visible.has(source.team.id));
  return {
    ...target,
    level: levelOf(target.kind, access.mask),
    permissions: permissionsOn(target.kind, access, { owner: standing.owner, allowForceDeleteWorkspaces }),
    grants: shown,
    hiddenSources: grants.length - shown.length,
    subject: subject.shown,
    organizationName,
  };
}

export function metaOf({ tallies, refused }: ReachSubject): Record<string, unknown> {
  const of = (kind: TargetKind, isVisible: boolean) =>
    tallies.filter((tally) => tally.kind === kind && tally.isVisible === isVisible);
  const levels = (kind: TargetKind) =>
    Object.fromEntries(
      levelNames(kind).map((level) => [level, sumOf(of(kind, true).filter((tally) => tally.level === level))]),
    );
  return {
    totals: { projects: levels("project"), workspaces: levels("workspace") },
    hidden: { projects: sumOf(of("project", false)), workspaces: sumOf(of("workspace", false)) },
    ...(refused !== undefined && { refused }),
  };
}
