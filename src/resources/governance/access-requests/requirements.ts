/** Derives what somebody needs to make all changes of a request, in a form that SQL compares with a caller's grants. Pure. */
import {
  type ProjectLevel,
  projectLevelMask,
  projectLevelNames,
  type WorkspaceLevel,
  workspaceLevelMask,
  workspaceLevelNames,
} from "../../../access/levels.ts";
import { organizationBit } from "../../../access/organization.ts";
import { maskOf, type Mask } from "../../../access/permission-set.ts";
import { ownersBit } from "../../../access/reach.ts";
import { neverExpires } from "../../shared/grants/in-force.ts";
import type { ParsedChange } from "../../sharing/access-previews/changes.ts";
import type { EvaluationEnd, EvaluationStart } from "../../sharing/access-previews/evaluation.ts";
import { gainedSeats } from "./beneficiaries.ts";
import { type GrantInput, kindOf, type SeatInput } from "./changes.ts";

export interface Requirement {
  /** `team`: can see it. `team-access`: has all that the team gives. Otherwise: has the permissions of the mask. */
  readonly kind: "organization" | "project" | "workspace" | "team" | "team-access";
  readonly subjectId: string;
  /** Of a workspace. */
  readonly projectId: string | null;
  readonly mask: Mask;
  /** Null: now is enough. */
  readonly endsAt: string | null;
}

const managesTeamsOfProject = maskOf({ settings: "read", teams: "manage" });
const managesTeamsOfWorkspace = maskOf({ runs: "read", workspaceAdmin: true });
const administersProject = maskOf({ settings: "delete", teams: "manage", create: true, move: true });
const movesOutOf = maskOf({ move: true });
const movesInto = maskOf({ settings: "read", move: true });

type Target = "project" | "workspace";

interface TeamInput {
  readonly attributes: { readonly organizationAccess?: object };
}

interface TriedChanges {
  readonly start: EvaluationStart;
  readonly end: EvaluationEnd;
  readonly isComplete: boolean;
}

export function requirementsOf(changes: readonly ParsedChange[], trial: TriedChanges): Requirement[] {
  const { start } = trial;
  const found = changes.flatMap((change) => requirementsOfChange(change, trial));
  const projects = new Map(
    start.referenced.flatMap(({ id, type, targetId, projectId }) =>
      type === "workspaces" ? [[id, projectId]] : type === "team-workspaces" ? [[targetId, projectId]] : [],
    ),
  );
  const located = found.map((one) => ({ ...one, projectId: projects.get(one.subjectId) ?? null }));
  return [...new Map(located.map((one) => [JSON.stringify(one), one])).values()];
}

const needs = (
  kind: Requirement["kind"],
  subjectId: string,
  mask: Mask,
  endsAt: string | null = null,
): Requirement => ({ kind, subjectId, projectId: null, mask, endsAt });

function requirementsOfChange(change: ParsedChange, trial: TriedChanges): Requirement[] {
  const { start, end } = trial;
  const { params, references, input } = change;
  const [first, second] = references.map(({ id }) => id);
  switch (kindOf(change)) {
    case "POST /team-projects":
      return newGrant("project", first, second, input as GrantInput, end);
    case "POST /team-workspaces":
      return newGrant("workspace", first, second, input as GrantInput, end);
    case "PATCH /team-projects/:team_project_id":
    case "DELETE /team-projects/:team_project_id":
      return changedGrant("project", first, start, end);
    case "PATCH /team-workspaces/:team_workspace_id":
    case "DELETE /team-workspaces/:team_workspace_id":
      return changedGrant("workspace", first, start, end);
    case "POST /teams/:team_id/relationships/users":
    case "POST /teams/:team_id/relationships/organization-memberships":
      return [
        ...ofTeam(params["teamId"], "manage-membership", start),
        ...newSeats(params["teamId"] ?? "", input as readonly SeatInput[], trial),
      ];
    case "DELETE /teams/:team_id/relationships/users":
    case "DELETE /teams/:team_id/relationships/organization-memberships":
      return ofTeam(params["teamId"], "manage-membership", start);
    case "PATCH /teams/:team_id":
      return changedTeam(params["teamId"] ?? "", (input as TeamInput).attributes, start, end);
    case "DELETE /teams/:team_id":
      return ofTeam(params["teamId"], "manage-teams", start);
    case "DELETE /organization-memberships/:membership_id":
      return removedMember(first, start);
    default:
      return movedWorkspaces(change, start);
  }
}

function newGrant(
  kind: Target,
  teamId = "",
  targetId = "",
  { attributes }: GrantInput,
  { after }: EvaluationEnd,
): Requirement[] {
  return [
    needs("team", teamId, 0),
    needs(kind, targetId, kind === "project" ? managesTeamsOfProject : managesTeamsOfWorkspace),
    needs(
      kind,
      targetId,
      levelMaskOf(kind, attributes.access) ?? recordOf(kind, after, teamId, targetId)?.permissions ?? 0,
      attributes.expiresAt ?? neverExpires,
    ),
  ];
}

function levelMaskOf(kind: Target, level: string | undefined): Mask | undefined {
  if (level === undefined || level === "custom") return undefined;
  const names: readonly string[] = kind === "project" ? projectLevelNames : workspaceLevelNames;
  if (!names.includes(level)) return undefined;
  return kind === "project" ? projectLevelMask(level as ProjectLevel) : workspaceLevelMask(level as WorkspaceLevel);
}

function recordOf(kind: Target, { records }: EvaluationEnd["after"], teamId: string, targetId: string) {
  return kind === "project"
    ? records.onProjects.find((row) => row.teamId === teamId && row.projectId === targetId)
    : records.onWorkspaces.find((row) => row.teamId === teamId && row.workspaceId === targetId);
}

function changedGrant(kind: Target, id: string | undefined, start: EvaluationStart, end: EvaluationEnd): Requirement[] {
  const referenced = start.referenced.find((row) => row.id === id);
  const [teamId, targetId] = [referenced?.teamId ?? "", referenced?.targetId ?? ""];
  const manages = needs(kind, targetId, kind === "project" ? managesTeamsOfProject : managesTeamsOfWorkspace);
  const [before, after] = [start.before, end.after].map((snapshot) => recordOf(kind, snapshot, teamId, targetId));
  if (after === undefined) return [manages];
  const [endBefore, endAfter] = [before?.expiresAt ?? neverExpires, after.expiresAt ?? neverExpires];
  const added = endAfter > endBefore ? after.permissions : after.permissions & ~(before?.permissions ?? 0);
  return added === 0 ? [manages] : [manages, needs(kind, targetId, added, endAfter)];
}

function ofTeam(teamId = "", permission: "manage-teams" | "manage-membership", { before }: EvaluationStart) {
  const access = before.teams.find(({ id }) => id === teamId)?.organizationAccess ?? 0;
  const mask = (access & ownersBit) === 0 ? organizationBit(permission) : ownersBit;
  return [needs("team", teamId, 0), needs("organization", "", mask)];
}

/** Seats that exist already and don't end later give nothing. */
function newSeats(teamId: string, seats: readonly SeatInput[], { start, end, isComplete }: TriedChanges) {
  const givesNothing = isComplete && gainedSeats(start, end).every((seat) => seat.teamId !== teamId);
  return givesNothing ? [] : [needs("team-access", teamId, 0, latestEnd(seats))];
}

const latestEnd = (members: readonly SeatInput[]): string =>
  members
    .map(({ meta }) => meta?.expiresAt ?? neverExpires)
    .toSorted()
    .at(-1) ?? neverExpires;

function changedTeam(
  teamId: string,
  { organizationAccess }: TeamInput["attributes"],
  start: EvaluationStart,
  { after }: EvaluationEnd,
): Requirement[] {
  const accessIn = (teams: EvaluationStart["before"]["teams"]) =>
    teams.find(({ id }) => id === teamId)?.organizationAccess ?? 0;
  const [before, now] = [accessIn(start.before.teams), accessIn(after.teams)];
  return [
    ...ofTeam(teamId, "manage-teams", start),
    ...(organizationAccess === undefined || now === before
      ? []
      : [
          needs("organization", "", organizationBit("manage-organization-access")),
          needs("organization", "", now & ~before, neverExpires),
        ]),
  ];
}

function removedMember(membershipId: string | undefined, { referenced, before }: EvaluationStart): Requirement[] {
  const teamIds = referenced.flatMap(({ id, teamId }) => (id === membershipId && teamId !== null ? [teamId] : []));
  const isOwner = before.teams.some(
    ({ id, organizationAccess }) => teamIds.includes(id) && (organizationAccess & ownersBit) !== 0,
  );
  return [needs("organization", "", isOwner ? ownersBit : organizationBit("manage-membership"))];
}

function movedWorkspaces({ moves, operation }: ParsedChange, { referenced }: EvaluationStart): Requirement[] {
  if (moves === undefined) return [];
  const moved = referenced.filter(
    ({ type, id, name }) =>
      type === "workspaces" && (moves.ids.includes(id) || (moves.name !== undefined && name === moves.name)),
  );
  const isUpdate = operation.method === "PATCH";
  return [
    needs("project", moves.to, isUpdate ? administersProject : movesInto),
    ...moved.flatMap(({ id, projectId }) => [
      needs("project", projectId ?? "", isUpdate ? administersProject : movesOutOf),
      ...(isUpdate ? [needs("workspace", id, managesTeamsOfWorkspace)] : []),
    ]),
  ];
}
