/** Takes snapshots of grants before and after the changes, in their transaction and in a constant number of statements. */
import type { Tx } from "../../../database/database.ts";
import type { OrganizationView } from "../../identity/organizations/definition.ts";
import type { Context } from "../../shared/context.ts";
import type { ParsedChange } from "./changes.ts";
import type { SubjectPosition, TeamGrants, PreviewedOrganization } from "./effects.ts";
import {
  findPeople,
  findMovingWorkspaces,
  findProjectRecords,
  findProjects,
  findMemberships,
  findTeams,
  findWorkspaceRecords,
  type ReferencedRow,
  type PersonRow,
  type ProjectRecordRow,
  type PreviewProjectRow,
  type TeamMembershipRow,
  type PreviewTeamRow,
  teamsOnProjects,
  type ProjectScope,
  type WorkspaceRecordRow,
  type PreviewWorkspaceRow,
} from "./store.ts";

export interface AffectedScope {
  readonly teamIds: readonly string[];
  readonly userIds: readonly string[];
  readonly workspaceIds: readonly string[];
  readonly within: ProjectScope;
}

/** Records and moves matter in their projects; memberships and organization-level permissions matter everywhere. */
export async function affectedScopeOf(
  tx: Tx,
  organization: OrganizationView,
  changes: readonly ParsedChange[],
  referenced: readonly ReferencedRow[],
): Promise<AffectedScope> {
  const moving = changes.flatMap(({ moves }) => moves ?? []);
  const ids = new Set(moving.flatMap((move) => move.ids));
  const names = new Set(moving.flatMap(({ name }) => name ?? []));
  const movingRows = referenced.filter(
    ({ type, id, name }) => type === "workspaces" && (ids.has(id) || (name !== null && names.has(name))),
  );
  const movedBetween = [...movingRows.flatMap(({ projectId }) => projectId ?? []), ...moving.map(({ to }) => to)];
  const isEverywhere = changes.some(
    ({ references, moves }) =>
      moves === undefined && references.every(({ type }) => type === "teams" || type === "organization-memberships"),
  );
  const onProjects = moving.length === 0 ? [] : await teamsOnProjects(tx, organization.id, movedBetween);
  return {
    teamIds: distinct([...referenced.flatMap(({ teamId }) => teamId ?? []), ...onProjects]),
    userIds: distinct(referenced.flatMap(({ userId }) => userId ?? [])),
    workspaceIds: distinct(movingRows.map(({ id }) => id)),
    within: isEverywhere
      ? "everywhere"
      : distinct([...referenced.flatMap(({ projectId }) => projectId ?? []), ...movedBetween]),
  };
}

const distinct = (values: readonly string[]): string[] => [...new Set(values)];

interface TeamRecords {
  readonly onProjects: readonly ProjectRecordRow[];
  readonly onWorkspaces: readonly WorkspaceRecordRow[];
}

async function findRecords(tx: Tx, organizationId: string, teamIds: readonly string[], within: ProjectScope) {
  return {
    onProjects: await findProjectRecords(tx, organizationId, teamIds, within),
    onWorkspaces: await findWorkspaceRecords(tx, organizationId, teamIds, within),
  };
}

export interface AccessSnapshot {
  readonly teams: readonly PreviewTeamRow[];
  readonly memberships: readonly TeamMembershipRow[];
  readonly people: readonly PersonRow[];
  readonly records: TeamRecords;
  readonly movingWorkspaces: readonly PreviewWorkspaceRow[];
}

export interface InitialAccessSnapshot extends AccessSnapshot {
  /** With the caller's access before the changes, which must not reveal what the caller would gain by them. */
  readonly projects: readonly PreviewProjectRow[];
}

export async function takeSnapshot(
  tx: Tx,
  context: Context,
  organization: OrganizationView,
  { teamIds, userIds, workspaceIds, within }: AffectedScope,
): Promise<InitialAccessSnapshot> {
  const memberships = await findMemberships(tx, organization.id, "teamId", teamIds);
  return {
    teams: await findTeams(tx, context, organization, teamIds),
    memberships,
    people: await findPeople(tx, organization.id, distinct([...userIds, ...memberships.map(({ userId }) => userId)])),
    records: await findRecords(tx, organization.id, teamIds, within),
    movingWorkspaces: await findMovingWorkspaces(tx, organization.id, workspaceIds),
    projects: await findProjects(tx, context, organization.id, within),
  };
}

export async function takeFinalSnapshot(
  tx: Tx,
  context: Context,
  organization: OrganizationView,
  affected: AffectedScope,
  before: AccessSnapshot,
): Promise<AccessSnapshot> {
  const { id } = organization;
  const members = await findMemberships(tx, id, "teamId", affected.teamIds);
  const userIds = distinct([...before.people.map((person) => person.id), ...members.map(({ userId }) => userId)]);
  const memberships = await findMemberships(tx, id, "userId", userIds);
  const teamIds = distinct([...affected.teamIds, ...memberships.map(({ teamId }) => teamId)]);
  return {
    memberships,
    people: await findPeople(tx, id, userIds),
    teams: await findTeams(tx, context, organization, teamIds),
    records: await findRecords(tx, id, teamIds, affected.within),
    movingWorkspaces: await findMovingWorkspaces(tx, id, affected.workspaceIds),
  };
}

export interface PreviewSubject {
  readonly type: "teams" | "users";
  readonly id: string;
  readonly name: string;
  readonly isSiteAdmin: boolean;
  readonly isVisible: boolean;
  /** Equal for users in the same teams, on whom the changes have the same effects. */
  readonly equivalenceKey: string;
  readonly before: SubjectPosition;
  readonly after: SubjectPosition;
}

export interface TrackedWorkspace extends PreviewWorkspaceRow {
  readonly projectBefore: string;
}

export interface SnapshotComparison {
  readonly previewed: PreviewedOrganization;
  readonly subjects: readonly PreviewSubject[];
  readonly projects: readonly PreviewProjectRow[];
  readonly known: ReadonlyMap<string, TrackedWorkspace>;
}

export function compareSnapshots(
  organization: OrganizationView,
  affected: AffectedScope,
  before: InitialAccessSnapshot,
  after: AccessSnapshot,
  callerId: string,
): SnapshotComparison {
  const sides = sidesOf(affected, before, after);
  const known = knownWorkspaces(before, after);
  const projects = projectsAfterMoves(before, after);
  const workspaceProjects = [...known].map(
    ([id, { projectBefore, projectId }]) => [id, { before: projectBefore, after: projectId }] as const,
  );
  return {
    subjects: [...teamsOf(sides, before), ...peopleOf(sides, new Set([...affected.userIds, callerId]), before, after)],
    projects,
    known,
    previewed: {
      organizationId: organization.id,
      allowForceDeleteWorkspaces: organization.allowForceDeleteWorkspaces,
      projects,
      workspaceProjects: new Map(workspaceProjects),
      movedIds: new Set(after.movingWorkspaces.map(({ workspaceId }) => workspaceId)),
    },
  };
}

type TeamGrantsLookup = (teamId: string) => TeamGrants | undefined;

interface ComparisonSides {
  readonly grantsBefore: TeamGrantsLookup;
  readonly grantsAfter: TeamGrantsLookup;
  readonly membershipsBefore: ReadonlyMap<string, readonly string[]>;
  readonly membershipsAfter: ReadonlyMap<string, readonly string[]>;
  readonly visibleTeams: ReadonlySet<string>;
}

function sidesOf({ teamIds }: AffectedScope, before: AccessSnapshot, after: AccessSnapshot): ComparisonSides {
  const affectedTeams = new Set(teamIds);
  const grantsBefore = grantsOf(before.teams, before.records);
  const grantsAfter = grantsOf(after.teams, after.records);
  // By the caller's access before the changes, which must not reveal what the caller would gain by them.
  const visible = before.teams.filter(({ isVisible }) => isVisible === 1);
  return {
    grantsBefore: (id) => (affectedTeams.has(id) ? grantsBefore : grantsAfter).get(id),
    grantsAfter: (id) => grantsAfter.get(id),
    membershipsBefore: byPerson([
      ...before.memberships,
      ...after.memberships.filter(({ teamId }) => !affectedTeams.has(teamId)),
    ]),
    membershipsAfter: byPerson(after.memberships),
    visibleTeams: new Set(visible.map(({ id }) => id)),
  };
}

function positionOf(isMember: number, teamIds: readonly string[], grants: TeamGrantsLookup): SubjectPosition {
  return { isMember: isMember > 0, teams: teamIds.flatMap((id) => grants(id) ?? []) };
}

function teamsOf(
  { grantsBefore, grantsAfter, visibleTeams }: ComparisonSides,
  before: AccessSnapshot,
): PreviewSubject[] {
  return before.teams.map(({ id, name }) => ({
    type: "teams",
    id,
    name,
    isSiteAdmin: false,
    isVisible: visibleTeams.has(id),
    equivalenceKey: id,
    before: positionOf(0, [id], grantsBefore),
    after: positionOf(0, [id], grantsAfter),
  }));
}

/** Named users are visible; others only through an affected team that the caller can see. */
function peopleOf(
  sides: ComparisonSides,
  named: ReadonlySet<string>,
  before: AccessSnapshot,
  after: AccessSnapshot,
): PreviewSubject[] {
  const known = new Map(before.people.map((person) => [person.id, person]));
  return after.people.map((person) => {
    const { id, name, isSiteAdmin, isMember } = person;
    const personBefore = known.get(id) ?? person;
    const [teamsBefore, teamsAfter] = [sides.membershipsBefore.get(id) ?? [], sides.membershipsAfter.get(id) ?? []];
    const equivalenceKey = [
      isSiteAdmin,
      personBefore.isMember,
      isMember,
      ...[teamsBefore, teamsAfter].map((all) => all.toSorted().join()),
    ];
    return {
      type: "users",
      id,
      name,
      isSiteAdmin: isSiteAdmin === 1,
      isVisible: named.has(id) || [...teamsBefore, ...teamsAfter].some((teamId) => sides.visibleTeams.has(teamId)),
      equivalenceKey: equivalenceKey.join(" "),
      before: positionOf(personBefore.isMember, teamsBefore, sides.grantsBefore),
      after: positionOf(isMember, teamsAfter, sides.grantsAfter),
    };
  });
}

function projectsAfterMoves(
  { projects, movingWorkspaces }: InitialAccessSnapshot,
  after: AccessSnapshot,
): PreviewProjectRow[] {
  const changes = new Map<string, number>();
  const count = (rows: AccessSnapshot["movingWorkspaces"], change: 1 | -1): void => {
    for (const { projectId } of rows) changes.set(projectId, (changes.get(projectId) ?? 0) + change);
  };
  count(movingWorkspaces, -1);
  count(after.movingWorkspaces, 1);
  return projects.map((project) => ({
    ...project,
    workspaceCount: project.workspaceCount + (changes.get(project.id) ?? 0),
  }));
}

function knownWorkspaces(before: AccessSnapshot, after: AccessSnapshot): Map<string, TrackedWorkspace> {
  const projectsBefore = new Map(before.movingWorkspaces.map(({ workspaceId, projectId }) => [workspaceId, projectId]));
  const rows = [...before.records.onWorkspaces, ...after.records.onWorkspaces, ...after.movingWorkspaces];
  return new Map(
    rows.map(({ workspaceId, name, projectId }) => [
      workspaceId,
      { workspaceId, name, projectId, projectBefore: projectsBefore.get(workspaceId) ?? projectId },
    ]),
  );
}

function grantsOf(
  teams: readonly PreviewTeamRow[],
  { onProjects, onWorkspaces }: TeamRecords,
): Map<string, TeamGrants> {
  const grants = new Map(
    teams.map(({ id, organizationAccess }) => [
      id,
      { organizationAccess, projects: new Map<string, number>(), workspaces: new Map<string, number>() },
    ]),
  );
  for (const { teamId, projectId, permissions } of onProjects) grants.get(teamId)?.projects.set(projectId, permissions);
  for (const { teamId, workspaceId, permissions } of onWorkspaces)
    grants.get(teamId)?.workspaces.set(workspaceId, permissions);
  return grants;
}

function byPerson(memberships: readonly TeamMembershipRow[]): Map<string, string[]> {
  const teams = new Map<string, string[]>();
  for (const { userId, teamId } of memberships) {
    const known = teams.get(userId);
    if (known === undefined) teams.set(userId, [teamId]);
    else known.push(teamId);
  }
  return teams;
}
