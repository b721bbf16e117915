/** What the database needs to find and count reachable projects and workspaces. It must be derived from the functions that decide. */
import type { Access } from "./effective.ts";
import {
  projectLevelMask,
  projectLevelNames,
  workspaceLevelPermissions,
  workspaceLevelMask,
  workspaceLevelNames,
} from "./levels.ts";
import {
  organizationWideMaskOf,
  organizationBit,
  organizationPermissionNames,
  ownersAccess,
  type OrganizationStanding,
} from "./organization.ts";
import { allPermissions, permissionLadders, type Mask, maskOf, permissionNames } from "./permission-set.ts";
import { organizationPermissions, type TeamPermissionInput, teamPermissions } from "./permissions/organization.ts";
import { projectPermissionNames, projectPermissions } from "./permissions/project.ts";
import { workspacePermissionNames, workspacePermissions } from "./permissions/workspace.ts";

export type TargetKind = "project" | "workspace";
export const targetKinds: readonly TargetKind[] = ["project", "workspace"];

export interface OwnershipInput {
  readonly owner: boolean;
  readonly allowForceDeleteWorkspaces: number;
}

export function permissionsOn(
  kind: TargetKind,
  access: Access,
  ownership: OwnershipInput,
): Readonly<Record<string, boolean>> {
  return kind === "project" ? projectPermissions(access) : workspacePermissions({ access, ...ownership });
}

const namesOn: Readonly<Record<TargetKind, readonly string[]>> = {
  project: projectPermissionNames,
  workspace: workspacePermissionNames,
};

export const reachPermissionNames: readonly string[] = [
  ...new Set([...workspacePermissionNames, ...projectPermissionNames]),
];

const visibilityPermissions: Readonly<Record<TargetKind, string>> = {
  project: "can-read",
  workspace: "can-read-settings",
};

const singleBits: readonly Mask[] = Array.from({ length: 31 }, (_, position) => 1 << position).filter(
  (bit) => (allPermissions & bit) !== 0,
);

/** Any one of these bits gives the permission. `test/access/reach.test.ts` compares it with the deciding function for every sum. */
export function bitsGiving(kind: TargetKind, permission: string, ownership: OwnershipInput): Mask {
  if (!namesOn[kind].includes(permission)) return 0;
  const gives = (mask: Mask) => permissionsOn(kind, { mask }, ownership)[permission] === true;
  if (gives(0)) return allPermissions;
  return singleBits.filter(gives).reduce((mask, bit) => mask | bit, 0);
}

const nonOwner: OwnershipInput = { owner: false, allowForceDeleteWorkspaces: 0 };

export const visibilityBits: Readonly<Record<TargetKind, Mask>> = {
  project: bitsGiving("project", visibilityPermissions.project, nonOwner),
  workspace: bitsGiving("workspace", visibilityPermissions.workspace, nonOwner),
};

/** A mask must have one of the bits `sees`, and one of the bits `any`. */
export interface MaskRequirement {
  readonly sees: Mask;
  readonly any: Mask;
}

export function maskRequirementFor(
  kind: TargetKind,
  permission: string | undefined,
  ownership: OwnershipInput,
): MaskRequirement {
  const sees = visibilityBits[kind];
  return { sees, any: permission === undefined ? sees : bitsGiving(kind, permission, ownership) };
}

export function meetsRequirement(mask: Mask, { sees, any }: MaskRequirement): boolean {
  return (mask & sees) !== 0 && (mask & any) !== 0;
}

const workspaceLevelBits = maskOf(
  Object.fromEntries(
    permissionNames
      .filter((name) => name in workspaceLevelPermissions("admin"))
      .map((name) => [name, permissionLadders[name].at(-1)]),
  ),
);

const levelMasks = <Level extends string>(names: readonly Level[], maskOfLevel: (level: Level) => Mask) =>
  names.filter((name) => name !== "custom").map((name): readonly [Level, Mask] => [name, maskOfLevel(name)]);

/** Other sums of the bits `counts` are `custom`. */
export const levelsOn: Readonly<
  Record<TargetKind, { readonly counts: Mask; readonly levels: readonly (readonly [string, Mask])[] }>
> = {
  project: { counts: allPermissions, levels: levelMasks(projectLevelNames, projectLevelMask) },
  workspace: { counts: workspaceLevelBits, levels: levelMasks(workspaceLevelNames, workspaceLevelMask) },
};

export function levelNames(kind: TargetKind): string[] {
  return [...levelsOn[kind].levels.map(([name]) => name), "custom"];
}

export function levelOf(kind: TargetKind, mask: Mask): string {
  const { counts, levels } = levelsOn[kind];
  return levels.find(([, gives]) => (mask & counts) === gives)?.[0] ?? "custom";
}

export const ownersBit: Mask =
  ownersAccess & ~organizationPermissionNames.map(organizationBit).reduce((mask, bit) => mask | bit, 0);

export const organizationWideMaskByBit: readonly { readonly bit: Mask; readonly gives: Mask }[] = [
  ...organizationPermissionNames.map(organizationBit),
  ownersBit,
]
  .map((bit) => ({ bit, gives: organizationWideMaskOf(bit) }))
  .filter(({ gives }) => gives !== 0);

export function canListAccessHolders(standing: OrganizationStanding): boolean {
  const permissions = organizationPermissions(standing);
  return permissions["can-manage-memberships"] || permissions["can-create-team"];
}

export function canReadTeamReach(standing: OrganizationStanding, team: TeamPermissionInput): boolean {
  const permissions = teamPermissions(standing, team);
  const manages = permissions["can-update"] || organizationPermissions(standing)["can-manage-memberships"];
  return permissions["can-read"] && (team.includesActor === 1 || manages);
}

export function canReadPersonReach(standing: OrganizationStanding, isSelf: boolean): boolean {
  return standing.member && (isSelf || organizationPermissions(standing)["can-manage-memberships"]);
}
