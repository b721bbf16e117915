/**
 * What the database needs to find and count the projects and workspaces that a subject can reach without loading every row: each
 * `can-*` as bits, the level that a sum of grants amounts to, and who can query whose reach. Everything here is derived from the
 * functions that decide (`permissions/`, `levels.ts`, `organization.ts`).
 */
import type { Access } from "./effective.ts";
import {
  projectLevelMask,
  projectLevelNames,
  workspaceLevelPermissions,
  workspaceLevelMask,
  workspaceLevelNames,
} from "./levels.ts";
import {
  everywhereOf,
  organizationBit,
  organizationPermissionNames,
  ownersAccess,
  type OrganizationStanding,
} from "./organization.ts";
import { allPermissions, permissionLadders, type Mask, maskOf, permissionNames } from "./permission-set.ts";
import { organizationPermissions, type TeamFacts, teamPermissions } from "./permissions/organization.ts";
import { projectPermissionNames, projectPermissions } from "./permissions/project.ts";
import { workspacePermissionNames, workspacePermissions } from "./permissions/workspace.ts";

export type TargetKind = "project" | "workspace";
export const targetKinds: readonly TargetKind[] = ["project", "workspace"];

/** What decides besides the grants: ownership of the organization, and whether it lets admins force-delete. */
export interface OwnershipFacts {
  readonly owner: boolean;
  readonly allowForceDeleteWorkspaces: number;
}

export function permissionsOn(
  kind: TargetKind,
  access: Access,
  owning: OwnershipFacts,
): Readonly<Record<string, boolean>> {
  return kind === "project" ? projectPermissions(access) : workspacePermissions({ access, ...owning });
}

const namesOn: Readonly<Record<TargetKind, readonly string[]>> = {
  project: projectPermissionNames,
  workspace: workspacePermissionNames,
};

export const reachPermissionNames: readonly string[] = [
  ...new Set([...workspacePermissionNames, ...projectPermissionNames]),
];

const seeing: Readonly<Record<TargetKind, string>> = { project: "can-read", workspace: "can-read-settings" };

const singleBits: readonly Mask[] = Array.from({ length: 31 }, (_, position) => 1 << position).filter(
  (bit) => (allPermissions & bit) !== 0,
);

/**
 * The bits of which any one gives the permission: zero if nothing does, all of them if everybody who sees the target has it.
 * Derived from the deciding function; `test/access/reach.test.ts` compares the two for every sum.
 */
export function bitsGiving(kind: TargetKind, permission: string, owning: OwnershipFacts): Mask {
  if (!namesOn[kind].includes(permission)) return 0;
  const gives = (mask: Mask) => permissionsOn(kind, { mask }, owning)[permission] === true;
  if (gives(0)) return allPermissions;
  return singleBits.filter(gives).reduce((mask, bit) => mask | bit, 0);
}

const nonOwner: OwnershipFacts = { owner: false, allowForceDeleteWorkspaces: 0 };

export const visibilityBits: Readonly<Record<TargetKind, Mask>> = {
  project: bitsGiving("project", seeing.project, nonOwner),
  workspace: bitsGiving("workspace", seeing.workspace, nonOwner),
};

/** A test of a sum of grants: the target must be visible, and at least one of these bits granted. */
export interface MaskRequirement {
  readonly sees: Mask;
  readonly any: Mask;
}

/** Without a permission: whether the target is visible at all. */
export function maskRequirementFor(
  kind: TargetKind,
  permission: string | undefined,
  owning: OwnershipFacts,
): MaskRequirement {
  const sees = visibilityBits[kind];
  return { sees, any: permission === undefined ? sees : bitsGiving(kind, permission, owning) };
}

export function meetsRequirement(mask: Mask, { sees, any }: MaskRequirement): boolean {
  return (mask & sees) !== 0 && (mask & any) !== 0;
}

// --- levels

/** The permissions that workspace levels define; grants on a project also have some about the project itself. */
const ofWorkspaces = maskOf(
  Object.fromEntries(
    permissionNames
      .filter((name) => name in workspaceLevelPermissions("admin"))
      .map((name) => [name, permissionLadders[name].at(-1)]),
  ),
);

const named = <Level extends string>(names: readonly Level[], maskOfLevel: (level: Level) => Mask) =>
  names.filter((name) => name !== "custom").map((name): readonly [Level, Mask] => [name, maskOfLevel(name)]);

/** By kind: the bits that count, and those that each named level has. Anything else is `custom`. */
export const levelsOn: Readonly<
  Record<TargetKind, { readonly counts: Mask; readonly levels: readonly (readonly [string, Mask])[] }>
> = {
  project: { counts: allPermissions, levels: named(projectLevelNames, projectLevelMask) },
  workspace: { counts: ofWorkspaces, levels: named(workspaceLevelNames, workspaceLevelMask) },
};

export function levelNames(kind: TargetKind): string[] {
  return [...levelsOn[kind].levels.map(([name]) => name), "custom"];
}

export function levelOf(kind: TargetKind, mask: Mask): string {
  const { counts, levels } = levelsOn[kind];
  return levels.find(([, gives]) => (mask & counts) === gives)?.[0] ?? "custom";
}

// --- what organization-level permissions give, by bit

export const ownersBit: Mask =
  ownersAccess & ~organizationPermissionNames.map(organizationBit).reduce((mask, bit) => mask | bit, 0);

/** Each bit of `teams.organization_access` that gives access to projects and workspaces, with that access; the total is their OR. */
export const everywhereByBit: readonly { readonly bit: Mask; readonly gives: Mask }[] = [
  ...organizationPermissionNames.map(organizationBit),
  ownersBit,
]
  .map((bit) => ({ bit, gives: everywhereOf(bit) }))
  .filter(({ gives }) => gives !== 0);

// --- who can query

/** Callers who manage the organization's members or teams can query every holder that is visible to them. */
export function canListAccessHolders(standing: OrganizationStanding): boolean {
  const held = organizationPermissions(standing);
  return held["can-manage-memberships"] || held["can-create-team"];
}

/** The team's members and its token, and callers who manage the team or the organization's memberships. */
export function canReadTeamReach(standing: OrganizationStanding, team: TeamFacts): boolean {
  const held = teamPermissions(standing, team);
  const manages = held["can-update"] || organizationPermissions(standing)["can-manage-memberships"];
  return held["can-read"] && (team.includesActor === 1 || manages);
}

/** The user themselves, and callers who manage the organization's memberships. */
export function canReadPersonReach(standing: OrganizationStanding, isSelf: boolean): boolean {
  return standing.member && (isSelf || organizationPermissions(standing)["can-manage-memberships"]);
}
