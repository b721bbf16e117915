/** Finds who gains a permission, a seat or a later end through changes: teams, and users who join or stay longer. Pure. */
import type { Actor } from "../../../access/actor.ts";
import { organizationWideMaskOf } from "../../../access/organization.ts";
import type { Mask } from "../../../access/permission-set.ts";
import { neverExpires } from "../../shared/grants/in-force.ts";
import type { EvaluationEnd, EvaluationStart } from "../../sharing/access-previews/evaluation.ts";
import type { AccessSnapshot } from "../../sharing/access-previews/snapshots.ts";

export interface Beneficiaries {
  readonly teamIds: ReadonlySet<string>;
  readonly userIds: ReadonlySet<string>;
}

interface GrantedAccess {
  readonly mask: Mask;
  readonly ends: string;
}

const endOf = ({ expiresAt }: { readonly expiresAt: string | null }): string => expiresAt ?? neverExpires;

/** A team's access to one target, as records with an end. */
type GrantsOn = (teamId: string, workspaceId: string) => readonly GrantedAccess[];

function grantsIn(snapshot: AccessSnapshot) {
  const onProjects = new Map<string, GrantedAccess>();
  const onWorkspaces = new Map<string, GrantedAccess>();
  const projectOf = new Map<string, string>();
  for (const row of snapshot.records.onProjects)
    onProjects.set(`${row.teamId} ${row.projectId}`, { mask: row.permissions, ends: endOf(row) });
  for (const row of snapshot.records.onWorkspaces) {
    onWorkspaces.set(`${row.teamId} ${row.workspaceId}`, { mask: row.permissions, ends: endOf(row) });
    projectOf.set(row.workspaceId, row.projectId);
  }
  for (const { workspaceId, projectId } of snapshot.movingWorkspaces) projectOf.set(workspaceId, projectId);
  const organization = new Map(snapshot.teams.map(({ id, organizationAccess }) => [id, organizationAccess]));
  const managingTokens = new Set(
    snapshot.teams.flatMap(({ id, allowMemberTokenManagement }) => (allowMemberTokenManagement === 1 ? [id] : [])),
  );
  return { onProjects, onWorkspaces, projectOf, organization, managingTokens };
}
type Grants = ReturnType<typeof grantsIn>;

const recordsOn =
  ({ onProjects, onWorkspaces, projectOf }: Grants, otherSnapshot: Grants): GrantsOn =>
  (teamId, workspaceId) => {
    const projectId = projectOf.get(workspaceId) ?? otherSnapshot.projectOf.get(workspaceId) ?? "";
    const records = [onProjects.get(`${teamId} ${projectId}`), onWorkspaces.get(`${teamId} ${workspaceId}`)];
    return records.filter((record) => record !== undefined);
  };

/** Whether `record` gives something that the others don't give for as long. */
function exceeds({ mask, ends }: GrantedAccess, others: readonly GrantedAccess[], organizationWideMask: Mask): boolean {
  const lasting = others.filter((other) => other.ends >= ends);
  return (mask & ~lasting.reduce((sum, other) => sum | other.mask, organizationWideMask)) !== 0;
}

function doesTeamGain(teamId: string, before: Grants, after: Grants, movedIds: readonly string[]): boolean {
  const [accessBefore, accessAfter] = [before, after].map(({ organization }) => organization.get(teamId) ?? 0) as [
    Mask,
    Mask,
  ];
  if ((accessAfter & ~accessBefore) !== 0) return true;
  if (after.managingTokens.has(teamId) && !before.managingTokens.has(teamId)) return true;
  const organizationWideMask = organizationWideMaskOf(accessBefore);
  const keysOf = (records: ReadonlyMap<string, GrantedAccess>) =>
    [...records.keys()].flatMap((key) => (key.startsWith(`${teamId} `) ? [key.slice(teamId.length + 1)] : []));
  const gainsOnProject = keysOf(after.onProjects).some((projectId) => {
    const key = `${teamId} ${projectId}`;
    const [now, earlier] = [after.onProjects.get(key), before.onProjects.get(key)];
    return now !== undefined && exceeds(now, earlier === undefined ? [] : [earlier], organizationWideMask);
  });
  if (gainsOnProject) return true;
  const [recordsBefore, recordsAfter] = [recordsOn(before, after), recordsOn(after, before)];
  return [...keysOf(after.onWorkspaces), ...movedIds].some((workspaceId) => {
    const others = recordsBefore(teamId, workspaceId);
    return recordsAfter(teamId, workspaceId).some((record) => exceeds(record, others, organizationWideMask));
  });
}

/** Seats that the changes created, or that end later. */
export function gainedSeats(
  { affected, before }: EvaluationStart,
  { after }: EvaluationEnd,
): AccessSnapshot["memberships"] {
  const seats = new Map(before.memberships.map((seat) => [`${seat.teamId} ${seat.userId}`, seat]));
  const isAffected = new Set(affected.teamIds);
  return after.memberships.filter((seat) => {
    if (!isAffected.has(seat.teamId)) return false;
    const earlier = seats.get(`${seat.teamId} ${seat.userId}`);
    if (earlier === undefined || endOf(seat) > endOf(earlier)) return true;
    // A seat that a group gave ends with the group.
    return earlier.ssoProviderId !== null && seat.ssoProviderId === null;
  });
}

export function beneficiariesOf(start: EvaluationStart, end: EvaluationEnd): Beneficiaries {
  const { after } = end;
  const [grantsBefore, grantsAfter] = [grantsIn(start.before), grantsIn(after)];
  const movedIds = after.movingWorkspaces.map(({ workspaceId }) => workspaceId);
  const teamIds = start.affected.teamIds.filter((id) => doesTeamGain(id, grantsBefore, grantsAfter, movedIds));
  return { teamIds: new Set(teamIds), userIds: new Set(gainedSeats(start, end).map(({ userId }) => userId)) };
}

/** Counts teams that the changes remove the caller from. If a change fails, its effects are unknown, so the stored beneficiaries count too. */
export function callerGains(
  actor: Actor,
  { isBeneficiary }: { readonly isBeneficiary: boolean },
  {
    start,
    end,
    isComplete,
  }: { readonly start: EvaluationStart; readonly end: EvaluationEnd; readonly isComplete: boolean },
): boolean {
  if (actor.kind !== "user") return false;
  const { userId } = actor;
  const { teamIds, userIds } = beneficiariesOf(start, end);
  const isInGainingTeam = [start.before, end.after].some(({ memberships }) =>
    memberships.some((seat) => seat.userId === userId && teamIds.has(seat.teamId)),
  );
  return userIds.has(userId) || isInGainingTeam || (isBeneficiary && !isComplete);
}

/** A seat that the changes made end earlier than before. */
export function findShortenedSeat(
  { before }: EvaluationStart,
  { after }: EvaluationEnd,
): AccessSnapshot["memberships"][number] | undefined {
  const ends = new Map(before.memberships.map((seat) => [`${seat.teamId} ${seat.userId}`, endOf(seat)]));
  return after.memberships.find((seat) => endOf(seat) < (ends.get(`${seat.teamId} ${seat.userId}`) ?? ""));
}
