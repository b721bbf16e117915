/** Permissions as bits, one for each step up to a value: the OR of two is the higher. See docs/decisions/0003-grants-as-bits.md. */

export const permissionLadders = {
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

export type Permission = keyof typeof permissionLadders;
export type PermissionValue<P extends Permission> = (typeof permissionLadders)[P][number];
export type PermissionSet = { readonly [P in Permission]: PermissionValue<P> };

export type Mask = number;

export const permissionNames = Object.keys(permissionLadders) as Permission[];

/** A step's index is its bit. Append only: the numbers are stored. At most 31, because bitwise operations have 32 bits with a sign. */
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

/** Precomputed, because a page of a list needs about a hundred. */
const bits: Readonly<Record<string, Record<string, Mask>>> = Object.fromEntries(
  permissionNames.map((name) => [
    name,
    Object.fromEntries(steps.flatMap(([of, value], position) => (of === name ? [[String(value), 1 << position]] : []))),
  ]),
);

export function permissionBit<P extends Permission>(permission: P, value: PermissionValue<P>): Mask {
  return bits[permission]?.[String(value)] ?? 0;
}

export function maskOf(set: Partial<PermissionSet>): Mask {
  let mask = 0;
  for (const permission of permissionNames) {
    const ladder: readonly unknown[] = permissionLadders[permission];
    const reached = set[permission] === undefined ? 0 : ladder.indexOf(set[permission]);
    for (let step = 1; step <= reached; step += 1) mask |= permissionBit(permission, ladder[step] as never);
  }
  return mask;
}

export function permissionValue<P extends Permission>(mask: Mask, permission: P): PermissionValue<P> {
  const ladder = permissionLadders[permission];
  let value: PermissionValue<P> = ladder[0];
  for (const candidate of ladder) {
    if ((mask & permissionBit(permission, candidate as PermissionValue<P>)) !== 0)
      value = candidate as PermissionValue<P>;
  }
  return value;
}

export function permissionSetOf(mask: Mask): PermissionSet {
  return Object.fromEntries(
    permissionNames.map((permission) => [permission, permissionValue(mask, permission)]),
  ) as PermissionSet;
}

export function hasPermission<P extends Permission>(mask: Mask, permission: P, value: PermissionValue<P>): boolean {
  const bit = permissionBit(permission, value);
  return (mask & bit) === bit;
}

export function missingPermissions(granted: Mask, requested: Mask): Permission[] {
  const missing = requested & ~granted;
  return permissionNames.filter(
    (permission) => (maskOf({ [permission]: permissionLadders[permission].at(-1) }) & missing) !== 0,
  );
}

/** Never stored. Set for a run of another workspace, which can read the shared state and see nothing else. */
export const sharedStateBit: Mask = 1 << 30;

export const allPermissions: Mask = steps.reduce((mask, _, position) => mask | (1 << position), 0);
