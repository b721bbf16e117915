import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { effectiveAccess } from "../../src/access/effective.ts";
import {
  permissionBit,
  allPermissions,
  hasPermission,
  permissionLadders,
  maskOf,
  missingPermissions,
  type Permission,
  permissionNames,
  type PermissionSet,
  permissionSetOf,
  permissionValue,
} from "../../src/access/permission-set.ts";

const runs = { seed: 20260101, numRuns: 200 };

const anySet = fc.record(
  Object.fromEntries(permissionNames.map((name) => [name, fc.constantFrom(...permissionLadders[name])])),
) as unknown as fc.Arbitrary<PermissionSet>;
const anyStep = fc
  .constantFrom(...permissionNames)
  .chain((name) => fc.constantFrom(...permissionLadders[name]).map((value) => [name, value] as [Permission, never]));

/** How far up its ladder a value is. */
const height = (set: PermissionSet, name: Permission) =>
  (permissionLadders[name] as readonly unknown[]).indexOf(set[name]);

describe("the ladders", () => {
  it("are those of the specification and of the clients, lowest value first", () => {
    expect(permissionLadders).toEqual({
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
    });
  });

  it("have the bits that are stored in databases", () => {
    const stored = permissionNames.flatMap((name) =>
      permissionLadders[name]
        .slice(1)
        .map((value) => [`${name}=${String(value)}`, permissionBit(name, value as never)]),
    );
    expect(Object.fromEntries(stored)).toEqual({
      "settings=read": 1,
      "settings=update": 2,
      "settings=delete": 4,
      "teams=read": 8,
      "teams=manage": 16,
      "runs=read": 32,
      "runs=plan": 64,
      "runs=apply": 128,
      "policyMocks=read": 256,
      "stateVersions=read-outputs": 512,
      "stateVersions=read": 1024,
      "stateVersions=write": 2048,
      "variables=read": 4096,
      "variables=write": 8192,
      "create=true": 16384,
      "move=true": 32768,
      "locking=true": 65536,
      "delete=true": 131072,
      "runTasks=true": 262144,
      "workspaceAdmin=true": 524288,
      "variableSets=read": 1048576,
      "variableSets=write": 2097152,
      "policyOverrides=true": 4194304,
    });
    expect(allPermissions).toBe(8388607);
  });
});

describe("a set and its number", () => {
  it("are each other's inverse", () => {
    fc.assert(
      fc.property(anySet, (set) => {
        expect(permissionSetOf(maskOf(set))).toEqual(set);
      }),
      runs,
    );
  });

  it("give the number back for every number that a set has", () => {
    fc.assert(
      fc.property(anySet, (set) => {
        const mask = maskOf(set);
        expect(maskOf(permissionSetOf(mask))).toBe(mask);
      }),
      runs,
    );
  });

  it("grant nothing at zero, and everything at the top", () => {
    const lowest = Object.fromEntries(permissionNames.map((name) => [name, permissionLadders[name][0]]));
    const highest = Object.fromEntries(permissionNames.map((name) => [name, permissionLadders[name].at(-1)]));
    expect(permissionSetOf(0)).toEqual(lowest);
    expect(permissionSetOf(allPermissions)).toEqual(highest);
    expect(maskOf({})).toBe(0);
  });
});

describe("hasPermission", () => {
  it("is true for a value and all below it, and false for all above", () => {
    fc.assert(
      fc.property(anySet, anyStep, (set, [name, value]) => {
        const wanted = (permissionLadders[name] as readonly unknown[]).indexOf(value);
        expect(hasPermission(maskOf(set), name, value)).toBe(height(set, name) >= wanted);
      }),
      runs,
    );
  });
});

describe("the sum of grants", () => {
  it("takes the highest value of each permission", () => {
    fc.assert(
      fc.property(fc.array(anySet, { minLength: 1, maxLength: 6 }), (sets) => {
        const { mask } = effectiveAccess(...sets.map(maskOf));
        for (const name of permissionNames) {
          const highest = Math.max(...sets.map((set) => height(set, name)));
          expect(permissionValue(mask, name)).toBe(permissionLadders[name][highest]);
        }
      }),
      runs,
    );
  });

  it("never loses a permission with another grant", () => {
    fc.assert(
      fc.property(fc.array(anySet, { maxLength: 5 }), anySet, anyStep, (sets, added, [name, value]) => {
        const before = effectiveAccess(...sets.map(maskOf)).mask;
        const after = effectiveAccess(...sets.map(maskOf), maskOf(added)).mask;
        if (hasPermission(before, name, value)) expect(hasPermission(after, name, value)).toBe(true);
        expect(missingPermissions(after, before)).toEqual([]);
      }),
      runs,
    );
  });

  it("does not depend on the order of grants, or on duplicates", () => {
    fc.assert(
      fc.property(fc.array(anySet.map(maskOf), { maxLength: 6 }), (masks) => {
        const { mask } = effectiveAccess(...masks);
        expect(effectiveAccess(...masks.toReversed(), ...masks).mask).toBe(mask);
      }),
      runs,
    );
  });

  it("ignores levels without a grant, and treats records like numbers", () => {
    expect(effectiveAccess(null, undefined, { mask: maskOf({ runs: "plan" }) }, maskOf({ create: true })).mask).toBe(
      maskOf({ runs: "plan", create: true }),
    );
    expect(effectiveAccess().mask).toBe(0);
  });
});

describe("missingPermissions", () => {
  it("names the permissions of which a higher value is requested than granted", () => {
    fc.assert(
      fc.property(anySet, anySet, (held, wanted) => {
        const higher = permissionNames.filter((name) => height(wanted, name) > height(held, name));
        expect(missingPermissions(maskOf(held), maskOf(wanted)).toSorted()).toEqual(higher.toSorted());
      }),
      runs,
    );
  });
});
