/**
 * The permissions that a grant can hold on a project and its workspaces, and their form as one number.
 *
 * Every permission is a ladder of values, each including those below it. A value is written as one bit per step climbed
 * (`plan` on runs sets the bits of `read` and of `plan`), so that the sum of grants, "the highest value wins", is the
 * bitwise OR of their numbers. That lets the database add up grants and test for one without knowing any level's name.
 * The numbers are stored: a new step or permission goes to the end of `steps`, never in between.
 * See docs/decisions/0003-grants-as-bits.md.
 */

export const ladders = {
  settings: ["none", "read", "update", "delete"],
  teams: ["none", "read", "manage"],
  runs: ["none", "read", "plan", "apply"],
  policyMocks: ["none", "read"],
  stateVersions: ["none", "read-outputs", "read", "write"],
  variables: ["none", "read", "write"],
  create: [false, true],
  move: [false, true],
  locking: [false, true],
  delete: [false, true],
  runTasks: [false, true],
  workspaceAdmin: [false, true],
  variableSets: ["none", "read", "write"],
  policyOverrides: [false, true],
} as const;

export type Permission = keyof typeof ladders;
export type ValueOf<P extends Permission> = (typeof ladders)[P][number];
export type PermissionSet = { readonly [P in Permission]: ValueOf<P> };

/** A PermissionSet as a number. Zero holds nothing. */
export type Mask = number;

export const permissionNames = Object.keys(ladders) as Permission[];

/**
 * The order in which steps were given their bits. Append only: the numbers are in the database. There is room for 31: more
 * would make numbers negative here, where bitwise operations have 32 bits with a sign.
 */
const steps: readonly (readonly [Permission, string | true])[] = [
  ["settings", "read"],
  ["settings", "update"],
  ["settings", "delete"],
  ["teams", "read"],
  ["teams", "manage"],
  ["runs", "read"],
  ["runs", "plan"],
  ["runs", "apply"],
  ["policyMocks", "read"],
  ["stateVersions", "read-outputs"],
  ["stateVersions", "read"],
  ["stateVersions", "write"],
  ["variables", "read"],
  ["variables", "write"],
  ["create", true],
  ["move", true],
  ["locking", true],
  ["delete", true],
  ["runTasks", true],
  ["workspaceAdmin", true],
  ["variableSets", "read"],
  ["variableSets", "write"],
  ["policyOverrides", true],
];

/** By permission, then by value: asked a hundred times for a page, so nothing is put together to ask. */
const bits: Readonly<Record<string, Record<string, Mask>>> = Object.fromEntries(
  permissionNames.map((name) => [
    name,
    Object.fromEntries(steps.flatMap(([of, value], position) => (of === name ? [[String(value), 1 << position]] : []))),
  ]),
);

/** The bit that tells whether a permission reaches a value. The lowest value of a ladder is held by everyone: 0. */
export function bitOf<P extends Permission>(permission: P, value: ValueOf<P>): Mask {
  return bits[permission]?.[String(value)] ?? 0;
}

export function maskOf(set: Partial<PermissionSet>): Mask {
  let mask = 0;
  for (const permission of permissionNames) {
    const ladder: readonly unknown[] = ladders[permission];
    const reached = set[permission] === undefined ? 0 : ladder.indexOf(set[permission]);
    for (let step = 1; step <= reached; step += 1) mask |= bitOf(permission, ladder[step] as never);
  }
  return mask;
}

/** The value that a mask gives for one permission. */
export function valueIn<P extends Permission>(mask: Mask, permission: P): ValueOf<P> {
  const ladder = ladders[permission];
  let value: ValueOf<P> = ladder[0];
  for (const candidate of ladder) {
    if ((mask & bitOf(permission, candidate as ValueOf<P>)) !== 0) value = candidate as ValueOf<P>;
  }
  return value;
}

export function setOf(mask: Mask): PermissionSet {
  return Object.fromEntries(
    permissionNames.map((permission) => [permission, valueIn(mask, permission)]),
  ) as PermissionSet;
}

export function holds<P extends Permission>(mask: Mask, permission: P, value: ValueOf<P>): boolean {
  const bit = bitOf(permission, value);
  return (mask & bit) === bit;
}

/** What of `wanted` is not in `held`; empty when it is all there. */
export function missingFrom(held: Mask, wanted: Mask): Permission[] {
  const missing = wanted & ~held;
  return permissionNames.filter((permission) => (maskOf({ [permission]: ladders[permission].at(-1) }) & missing) !== 0);
}

/**
 * Beside the ladders, and never stored: the workspace shares its state with the caller, a run of another workspace, who may see it for
 * that and nothing else of it.
 */
export const sharedState: Mask = 1 << 30;

export const everything: Mask = steps.reduce((mask, _, position) => mask | (1 << position), 0);
