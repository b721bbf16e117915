/** The bits that the database uses agree with the deciding functions, for every possible sum of grants. */
import { describe, expect, it } from "vitest";
import {
  projectLevelMask,
  projectLevelNames,
  workspaceLevelMask,
  workspaceLevelNames,
} from "../../src/access/levels.ts";
import {
  organizationWideMaskOf,
  organizationBit,
  organizationPermissionNames,
  ownersAccess,
} from "../../src/access/organization.ts";
import {
  allPermissions,
  permissionLadders,
  type Mask,
  maskOf,
  permissionNames,
} from "../../src/access/permission-set.ts";
import { canSeeWorkspace } from "../../src/access/permissions/workspace.ts";
import {
  bitsGiving,
  organizationWideMaskByBit,
  meetsRequirement,
  levelOf,
  type OwnershipInput,
  permissionsOn,
  reachPermissionNames,
  targetKinds,
  maskRequirementFor,
} from "../../src/access/reach.ts";
import { deep } from "../support/depth.ts";

/** Every combination of values. A quick run takes an even sample. */
function* everySum(): Generator<Mask> {
  const steps = permissionNames.map((name) => permissionLadders[name].map((value) => maskOf({ [name]: value })));
  function* from(position: number, mask: Mask): Generator<Mask> {
    const values = steps[position];
    if (values === undefined) yield mask;
    else for (const value of values) yield* from(position + 1, mask | value);
  }
  yield* from(0, 0);
}
const all = Int32Array.from(everySum());
const sums = all.filter((_, position) => position % deep(41, 1) === 0);

const situations: readonly OwnershipInput[] = [false, true].flatMap((owner) =>
  [0, 1].map((allowForceDeleteWorkspaces) => ({ owner, allowForceDeleteWorkspaces })),
);

describe("bitsGiving", () => {
  it("covers every sum", () => {
    expect(all.length).toBe(permissionNames.reduce((count, name) => count * permissionLadders[name].length, 1));
    expect(new Set(all).size).toBe(all.length);
  });

  it.each(targetKinds)("any of the bits gives the permission, and nothing else does: %s", (kind) => {
    for (const owning of situations) {
      const asked = reachPermissionNames.map((name) => ({ name, bits: bitsGiving(kind, name, owning) }));
      const wrong = sums.findLast((mask) => {
        const held = permissionsOn(kind, { mask }, owning);
        // Owners have some of them without any grant.
        return mask !== 0 && asked.some(({ name, bits }) => ((mask & bits) !== 0) !== (held[name] ?? false));
      });
      expect(wrong, JSON.stringify(owning)).toBeUndefined();
    }
  });

  it.each(targetKinds)("what is not visible is not in reach, whatever else is granted: %s", (kind) => {
    const owning = { owner: false, allowForceDeleteWorkspaces: 1 };
    const seen = (mask: Mask) =>
      kind === "project" ? permissionsOn(kind, { mask }, owning)["can-read"] : canSeeWorkspace({ mask });
    const wanted = maskRequirementFor(kind, undefined, owning);
    expect(sums.find((mask) => meetsRequirement(mask, wanted) !== seen(mask))).toBeUndefined();
    const deleting = maskRequirementFor(kind, "can-destroy", owning);
    expect(meetsRequirement(maskOf({ settings: "none", delete: true }), deleting)).toBe(false);
  });

  it("a permission of projects only does not apply to workspaces, and vice versa", () => {
    const owning = { owner: true, allowForceDeleteWorkspaces: 1 };
    expect(bitsGiving("workspace", "can-create-workspace", owning)).toBe(0);
    expect(bitsGiving("project", "can-queue-apply", owning)).toBe(0);
    expect(bitsGiving("workspace", "can-force-delete", owning)).toBe(allPermissions);
  });
});

describe("levelOf", () => {
  it("recognizes each level; anything in between is custom", () => {
    for (const name of projectLevelNames.filter((level) => level !== "custom"))
      expect(levelOf("project", projectLevelMask(name))).toBe(name);
    for (const name of workspaceLevelNames.filter((level) => level !== "custom"))
      expect(levelOf("workspace", workspaceLevelMask(name))).toBe(name);
    expect(levelOf("workspace", workspaceLevelMask("write") | maskOf({ runTasks: true }))).toBe("custom");
    expect(levelOf("project", projectLevelMask("write") | maskOf({ move: true }))).toBe("custom");
  });

  it("maps a level on the project to one on its workspaces", () => {
    const onWorkspaces = projectLevelNames.slice(0, 4).map((name) => levelOf("workspace", projectLevelMask(name)));
    expect(onWorkspaces).toEqual(["read", "write", "admin", "admin"]);
    expect(levelOf("workspace", allPermissions)).toBe("admin");
  });
});

describe("organizationWideMaskByBit", () => {
  it("adds up to what the combined permissions give", () => {
    const bits = [...organizationPermissionNames.map(organizationBit), 1];
    const sumOf = (access: Mask) =>
      organizationWideMaskByBit.reduce((mask, { bit, gives }) => ((access & bit) === 0 ? mask : mask | gives), 0);
    for (const left of bits)
      for (const right of bits) expect(sumOf(left | right)).toBe(organizationWideMaskOf(left | right));
    expect(sumOf(ownersAccess)).toBe(allPermissions);
    expect(sumOf(0)).toBe(0);
  });
});
