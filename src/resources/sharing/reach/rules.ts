/** Pure rules of reach: who may ask about whom, what the subject is in the organization, and what is told of a thing. */
import type { Actor } from "../../../access/actor.ts";
import { effective } from "../../../access/effective.ts";
import { grantsOf } from "../../../access/explain.ts";
import { open, type Standing, standingOf } from "../../../access/organization.ts";
import { mayManageToken } from "../../../access/permissions/organization.ts";
import {
  levelNames,
  levelOf,
  mayAskAboutPerson,
  mayAskAboutTeam,
  permissionsOn,
  type ThingKind,
  wantedOn,
} from "../../../access/reach.ts";
import { AppError, notFound } from "../../../kernel/errors.ts";
import { fold } from "../../../kernel/text.ts";
import type { Subject } from "../access-explanations/definition.ts";
import type { ReachView } from "./definition.ts";
import type { Asked, Reached } from "./store.ts";
import { type SubjectReference, type SubjectRow, type Tally, talliesIn } from "./subject.ts";

/** Whose reach is told, as one who could call, and what everybody's part in it is. */
export interface ReachSubject {
  readonly actor: Actor;
  readonly standing: Standing;
  readonly shown: Subject;
  readonly organizationId: string;
  readonly organizationName: string;
  readonly allowForceDeleteWorkspaces: number;
  /** What the caller is in the organization. */
  readonly caller: Standing;
  readonly tallies: readonly Tally[];
  readonly workspaces: number;
  /** Why the token is not taken. */
  readonly refused: string | undefined;
  /** In milliseconds: when the token ends, by which all of it is another; infinity for what does not end by itself. */
  readonly until: number;
}

// --- who may ask

const tokenThing = "authentication token";

/** Raises `not-found`; `bad-request` where a user's token is asked about without an organization. */
export function grantReach(actor: Actor, reference: SubjectReference, row: SubjectRow | undefined): SubjectRow {
  const thing = { team: "team", user: "organization", token: tokenThing }[reference.by];
  if (row === undefined) throw notFound(thing);
  const standing = standingOf(actor, { ...row, organizationId: row.organizationId ?? "" });
  if (reference.by === "token") refuseToken(actor, reference, row, standing);
  if (row.organizationName === null || (!standing.member && reference.by !== "team")) throw notFound("organization");
  if (reference.by === "team" && !mayAskAboutTeam(standing, row)) throw notFound("team");
  if (reference.by === "user" && !isAskedBy(actor, row, standing)) throw notFound("user");
  return row;
}

/** A member of the organization; or a site admin about itself, who is at home everywhere. */
function isAskedBy(actor: Actor, { userId, subjectIsMember }: SubjectRow, standing: Standing): boolean {
  const isSelf = actor.kind === "user" && actor.userId === userId;
  return userId !== null && (isSelf || subjectIsMember > 0) && mayAskAboutPerson(standing, isSelf);
}

function refuseToken(
  actor: Actor,
  { organizationName }: SubjectReference & { readonly by: "token" },
  row: SubjectRow,
  standing: Standing,
): void {
  const isOfTeam = row.teamId !== null && mayAskAboutTeam(standing, row);
  if (!isOfTeam && !mayManageToken(actor, { ...row, standing })) throw notFound(tokenThing);
  if (row.userId !== null && organizationName === undefined) {
    const parameter = "filter[organization][name]";
    const detail = `A user's token reaches into every organization of the user. Name one of them by ${parameter}.`;
    throw new AppError("bad-request", [{ parameter, detail }]);
  }
  const isAnother = organizationName !== undefined && fold(organizationName) !== fold(row.organizationName ?? "");
  if (isAnother) throw notFound("organization");
}

// --- the subject

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
      return { kind, auditedId: organizationId ?? "", name: organizationName ?? "", tokenId };
  }
}

function shownAs(actor: Actor, organizationName: string): Subject {
  if (actor.kind === "user") return { type: "users", id: actor.userId, name: actor.name };
  if (actor.kind === "team") return { type: "teams", id: actor.teamId, name: actor.name };
  return { type: "organizations", id: organizationName, name: organizationName };
}

const expired = "The token has expired.";

/** When a token ends by itself: everywhere, and in the organization because of its age. People and teams do not. */
function endsOf({ tokenCreatedAt, tokenExpiredAt, tokenMaxMs, userTokenMaxMs }: SubjectRow): readonly [number, number] {
  const never = Number.POSITIVE_INFINITY;
  if (tokenCreatedAt === null) return [never, never];
  const atAge = (ms: number | null) => (ms === null ? never : Date.parse(tokenCreatedAt) + Number(ms));
  const given = tokenExpiredAt === null ? never : Date.parse(tokenExpiredAt);
  return [Math.min(given, atAge(tokenMaxMs)), atAge(userTokenMaxMs)];
}

/** A token is taken or refused like any that is shown at the door; people and teams are not asked for one. */
function standingOfSubject(actor: Actor, row: SubjectRow, now: number): { standing: Standing; refused?: string } {
  const { organizationId, subjectTeamAccess: teamAccess, subjectIsMember: isMember } = row;
  const facts = { organizationId: organizationId ?? "", teamAccess, isMember };
  const openly = standingOf(actor, { ...facts, ...open });
  if (row.tokenCreatedAt === null) return { standing: openly };
  if (endsOf(row)[0] <= now) return { standing: openly, refused: expired };
  try {
    const { organizationDisabled, userTokenMaxMs } = row;
    return { standing: standingOf(actor, { ...facts, organizationDisabled, userTokenMaxMs }) };
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return { standing: openly, refused: error.message };
  }
}

/** From a row for which the caller was let through. */
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
    caller: standingOf(caller, { ...row, organizationId: row.organizationId ?? "" }),
    tallies: refused === undefined ? talliesIn(row.tallies) : [],
    workspaces: Number(row.everything ?? 0),
    refused,
    until: Math.min(...endsOf(row).filter((end) => end > now)),
  };
}

/** How many of them the caller may see. */
export const visibleIn = (tallies: readonly Tally[]): number => sumOf(tallies.filter((tally) => tally.isVisible));

const sumOf = (tallies: readonly Tally[]): number => tallies.reduce((sum, { count }) => sum + count, 0);

export function askedOf(caller: Actor, subject: ReachSubject, permission: string | undefined): Asked {
  const owning = { owner: subject.standing.owner, allowForceDeleteWorkspaces: subject.allowForceDeleteWorkspaces };
  const { organizationId, standing, actor } = subject;
  return {
    organizationId,
    principal: actor.kind === "user" ? actor.userId : actor.kind === "team" ? actor.teamId : "",
    everywhere: standing.everywhere,
    wanted: { project: wantedOn("project", permission, owning), workspace: wantedOn("workspace", permission, owning) },
    actor: caller,
    standing: subject.caller,
    matching: visibleIn(subject.tallies),
    workspaces: subject.workspaces,
  };
}

// --- what is told

/** By the functions that decide about a request of the subject's own. What comes from teams unknown to the caller counts, and is not named. */
export function viewOf(subject: ReachSubject, { holdings, ...thing }: Reached): ReachView {
  const { standing, allowForceDeleteWorkspaces, organizationName } = subject;
  const grants = grantsOf(subject.actor, standing, holdings).filter(({ mask }) => mask !== 0);
  const access = effective(...grants);
  const known = new Set(holdings.filter((holding) => holding.isKnown === 1).map((holding) => holding.teamId));
  const named = grants.filter(({ source }) => !("team" in source) || known.has(source.team.id));
  return {
    ...thing,
    level: levelOf(thing.kind, access.mask),
    permissions: permissionsOn(thing.kind, access, { owner: standing.owner, allowForceDeleteWorkspaces }),
    grants: named,
    hiddenSources: grants.length - named.length,
    subject: subject.shown,
    organizationName,
  };
}

export function metaOf({ tallies, refused }: ReachSubject): Record<string, unknown> {
  const of = (kind: ThingKind, isVisible: boolean) =>
    tallies.filter((tally) => tally.kind === kind && tally.isVisible === isVisible);
  const levels = (kind: ThingKind) =>
    Object.fromEntries(
      levelNames(kind).map((level) => [level, sumOf(of(kind, true).filter((tally) => tally.level === level))]),
    );
  return {
    totals: { projects: levels("project"), workspaces: levels("workspace") },
    hidden: { projects: sumOf(of("project", false)), workspaces: sumOf(of("workspace", false)) },
    ...(refused !== undefined && { refused }),
  };
}
