/**
 * What the database needs to know to find and count what somebody can reach without bringing every row: each `can-*` as bits, the
 * level that a sum of grants amounts to, and who may ask about whom. All of it follows from what decides (`permissions/`, `levels.ts`,
 * `organization.ts`): here is no second opinion.
 */
import type { Access } from "./effective.ts";
import {
  projectLevelMask,
  projectLevelNames,
  workspaceLevel,
  workspaceLevelMask,
  workspaceLevelNames,
} from "./levels.ts";
import {
  everywhereOf,
  organizationBit,
  organizationPermissionNames,
  ownersAccess,
  type Standing,
} from "./organization.ts";
import { everything, ladders, type Mask, maskOf, permissionNames } from "./permission-set.ts";
import { organizationPermissions, type TeamFacts, teamPermissions } from "./permissions/organization.ts";
import { projectPermissionNames, projectPermissions } from "./permissions/project.ts";
import { workspacePermissionNames, workspacePermissions } from "./permissions/workspace.ts";

export type ThingKind = "project" | "workspace";
export const thingKinds: readonly ThingKind[] = ["project", "workspace"];

/** What beside the grants decides: whether the holder owns the organization, and whether that lets admins force deletions. */
export interface Owning {
  readonly owner: boolean;
  readonly allowForceDeleteWorkspaces: number;
}

/** Every `can-*` on a thing, as its document shows them. */
export function permissionsOn(kind: ThingKind, access: Access, owning: Owning): Readonly<Record<string, boolean>> {
  return kind === "project" ? projectPermissions(access) : workspacePermissions({ access, ...owning });
}

const namesOn: Readonly<Record<ThingKind, readonly string[]>> = {
  project: projectPermissionNames,
  workspace: workspacePermissionNames,
};

/** Every `can-*` that may be asked for: some are of workspaces, some of projects, and some of both. */
export const reachPermissionNames: readonly string[] = [
  ...new Set([...workspacePermissionNames, ...projectPermissionNames]),
];

/** What seeing a thing at all is called there. */
const seeing: Readonly<Record<ThingKind, string>> = { project: "can-read", workspace: "can-read-settings" };

const singleBits: readonly Mask[] = Array.from({ length: 31 }, (_, position) => 1 << position).filter(
  (bit) => (everything & bit) !== 0,
);

/**
 * The bits of which a sum of grants needs any to give a permission: none of them where nothing gives it, all of them where whoever
 * sees the thing has it. Found by asking the function that decides; `test/access/reach.test.ts` compares the two for every sum.
 */
export function bitsGiving(kind: ThingKind, permission: string, owning: Owning): Mask {
  if (!namesOn[kind].includes(permission)) return 0;
  const gives = (mask: Mask) => permissionsOn(kind, { mask }, owning)[permission] === true;
  if (gives(0)) return everything;
  return singleBits.filter(gives).reduce((mask, bit) => mask | bit, 0);
}

const anybody: Owning = { owner: false, allowForceDeleteWorkspaces: 0 };

/** The bits of which any lets its holder see the thing. */
export const seeingBits: Readonly<Record<ThingKind, Mask>> = {
  project: bitsGiving("project", seeing.project, anybody),
  workspace: bitsGiving("workspace", seeing.workspace, anybody),
};

/** A question about a sum of grants: is the thing seen, and is any of these bits held. Both, or the thing is not there. */
export interface Wanted {
  readonly sees: Mask;
  readonly any: Mask;
}

/** Without a permission: whether it is reached at all. */
export function wantedOn(kind: ThingKind, permission: string | undefined, owning: Owning): Wanted {
  const sees = seeingBits[kind];
  return { sees, any: permission === undefined ? sees : bitsGiving(kind, permission, owning) };
}

export function fulfils(mask: Mask, { sees, any }: Wanted): boolean {
  return (mask & sees) !== 0 && (mask & any) !== 0;
}

// --- levels

/** The permissions that levels on a workspace are about; what a project's grants give beside them is about the project. */
const ofWorkspaces = maskOf(
  Object.fromEntries(
    permissionNames.filter((name) => name in workspaceLevel("admin")).map((name) => [name, ladders[name].at(-1)]),
  ),
);

const named = <Level extends string>(names: readonly Level[], maskOfLevel: (level: Level) => Mask) =>
  names.filter((name) => name !== "custom").map((name): readonly [Level, Mask] => [name, maskOfLevel(name)]);

/** By kind: which bits count, and what each named level has of them. Whatever fits none is `custom`. */
export const levelsOn: Readonly<
  Record<ThingKind, { readonly counts: Mask; readonly levels: readonly (readonly [string, Mask])[] }>
> = {
  project: { counts: everything, levels: named(projectLevelNames, projectLevelMask) },
  workspace: { counts: ofWorkspaces, levels: named(workspaceLevelNames, workspaceLevelMask) },
};

export function levelNames(kind: ThingKind): string[] {
  return [...levelsOn[kind].levels.map(([name]) => name), "custom"];
}

/** The level that gives exactly this on the thing. */
export function levelOf(kind: ThingKind, mask: Mask): string {
  const { counts, levels } = levelsOn[kind];
  return levels.find(([, gives]) => (mask & counts) === gives)?.[0] ?? "custom";
}

// --- what organization-level permissions give, bit by bit

/** What owners alone hold, by which they are known. */
export const ownersBit: Mask =
  ownersAccess & ~organizationPermissionNames.map(organizationBit).reduce((mask, bit) => mask | bit, 0);

/** Each bit of `teams.organization_access` that gives anything on projects and workspaces, with what it gives; the sum is their OR. */
export const everywhereByBit: readonly { readonly bit: Mask; readonly gives: Mask }[] = [
  ...organizationPermissionNames.map(organizationBit),
  ownersBit,
]
  .map((bit) => ({ bit, gives: everywhereOf(bit) }))
  .filter(({ gives }) => gives !== 0);

// --- who may ask

/** Whoever manages the organization's people or its teams asks about all of them, as far as they are known to it. */
export function managesHolders(standing: Standing): boolean {
  const held = organizationPermissions(standing);
  return held["can-manage-memberships"] || held["can-create-team"];
}

/** Its own members and its own token; and whoever manages it, or the organization's memberships. */
export function mayAskAboutTeam(standing: Standing, team: TeamFacts): boolean {
  const held = teamPermissions(standing, team);
  const manages = held["can-update"] || organizationPermissions(standing)["can-manage-memberships"];
  return held["can-read"] && (team.includesActor === 1 || manages);
}

/** Oneself; and whoever manages the organization's memberships. */
export function mayAskAboutPerson(standing: Standing, isSelf: boolean): boolean {
  return standing.member && (isSelf || organizationPermissions(standing)["can-manage-memberships"]);
}
