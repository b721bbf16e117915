import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Actor } from "../../src/access/actor.ts";
import {
  organizationWideMaskOf,
  hasOrganizationPermission,
  missingOrganizationPermissions,
  noRestrictions,
  organizationAccessOf,
  organizationBit,
  organizationMaskOf,
  type OrganizationPermission,
  organizationPermissionNames,
  ownersAccess,
  checkedStandingOf,
} from "../../src/access/organization.ts";
import { allPermissions, hasPermission, permissionSetOf } from "../../src/access/permission-set.ts";
import { canReadAuditLog } from "../../src/access/permissions/organization.ts";

const runs = { seed: 20260102, numRuns: 200 };

const user = (siteAdmin = false, tokenAgeMs = 0): Actor => ({
  kind: "user",
  userId: "user-1",
  name: "ada",
  siteAdmin,
  tokenId: "at-1",
  tokenAgeMs,
});
const team: Actor = { kind: "team", teamId: "team-1", name: "network", organizationId: "org-1", tokenId: "at-1" };
const organization: Actor = { kind: "organization", organizationId: "org-1", name: "acme", tokenId: "at-1" };
const auditor: Actor = { kind: "audit-trails", auditedOrganizationId: "org-1", name: "acme", tokenId: "at-1" };
const row = (teamAccess: number | null, isMember = 1) => ({
  organizationId: "org-1",
  teamAccess,
  isMember,
  ...noRestrictions,
});

const anyAccess = fc.subarray([...organizationPermissionNames]).map((names) => maskOfAll(names));
const maskOfAll = (names: readonly OrganizationPermission[]) =>
  names.reduce((mask, name) => mask | organizationBit(name), 0);

describe("organization-level permissions", () => {
  it("are those of the specification and of the clients, with the bits that are stored in databases", () => {
    expect(Object.fromEntries(organizationPermissionNames.map((name) => [name, organizationBit(name)]))).toEqual({
      "manage-workspaces": 2,
      "read-workspaces": 4,
      "manage-projects": 8,
      "read-projects": 16,
      "manage-teams": 32,
      "manage-membership": 64,
      "manage-organization-access": 128,
      "access-secret-teams": 256,
      "manage-vcs-settings": 512,
      "manage-agent-pools": 1024,
      "manage-policies": 2048,
      "manage-policy-overrides": 4096,
      "manage-run-tasks": 8192,
      "manage-modules": 16384,
      "manage-providers": 32768,
      "delegate-policy-overrides": 65536,
    });
    expect(ownersAccess).toBe(131071);
  });

  it("are the same as an object and as a number", () => {
    fc.assert(
      fc.property(anyAccess, (mask) => {
        expect(organizationMaskOf(organizationAccessOf(mask))).toBe(mask);
      }),
      runs,
    );
  });

  it("keep what is left out, set what is true and clear what is false", () => {
    fc.assert(
      fc.property(anyAccess, fc.constantFrom(...organizationPermissionNames), fc.boolean(), (base, name, value) => {
        const mask = organizationMaskOf({ [name]: value }, base);
        expect(organizationAccessOf(mask)).toEqual({ ...organizationAccessOf(base), [name]: value });
      }),
      runs,
    );
  });

  it("can't name the owners' own bit", () => {
    const all = Object.fromEntries(organizationPermissionNames.map((name) => [name, true]));
    expect(organizationMaskOf(all) & 1).toBe(0);
    expect(ownersAccess & 1).toBe(1);
  });
});

describe("what they give on every project and workspace", () => {
  const nothing = permissionSetOf(0);
  const gives: Partial<Record<OrganizationPermission, object>> = {
    "manage-projects": permissionSetOf(allPermissions),
    "manage-workspaces": {
      ...nothing,
      settings: "read",
      runs: "apply",
      policyMocks: "read",
      stateVersions: "write",
      variables: "write",
      create: true,
      locking: true,
      delete: true,
      runTasks: true,
      workspaceAdmin: true,
      variableSets: "write",
      policyOverrides: true,
    },
    "read-projects": {
      ...nothing,
      settings: "read",
      runs: "read",
      stateVersions: "read",
      variables: "read",
      variableSets: "read",
    },
    "read-workspaces": { ...nothing, runs: "read", stateVersions: "read", variables: "read" },
  };

  it.each(organizationPermissionNames)("%s", (name) => {
    expect(permissionSetOf(organizationWideMaskOf(organizationBit(name)))).toEqual(gives[name] ?? nothing);
  });

  it("is the sum, and everything for owners", () => {
    const both = organizationBit("read-projects") | organizationBit("read-workspaces");
    expect(organizationWideMaskOf(both)).toBe(organizationWideMaskOf(organizationBit("read-projects")));
    expect(organizationWideMaskOf(ownersAccess)).toBe(allPermissions);
    expect(organizationWideMaskOf(1)).toBe(allPermissions);
  });

  it("never shrinks with another permission", () => {
    fc.assert(
      fc.property(anyAccess, fc.constantFrom(...organizationPermissionNames), (access, name) => {
        const before = organizationWideMaskOf(access);
        expect(before & ~organizationWideMaskOf(access | organizationBit(name))).toBe(0);
      }),
      runs,
    );
  });
});

describe("an actor's standing in an organization", () => {
  const stranger = {
    member: false,
    owner: false,
    managesOwnersTeam: false,
    seesSecretTeams: false,
    organization: 0,
    organizationWideMask: 0,
    grantableMask: 0,
  };
  const owner = {
    member: true,
    owner: true,
    managesOwnersTeam: true,
    seesSecretTeams: true,
    organization: ownersAccess,
    organizationWideMask: allPermissions,
    grantableMask: allPermissions,
  };

  it("a user without a membership has none", () => {
    expect(checkedStandingOf(user(), row(null, 0))).toEqual(stranger);
  });

  it("a member without a team can see the organization and has no access", () => {
    expect(checkedStandingOf(user(), row(null))).toEqual({ ...stranger, member: true });
  });

  it("a member has the sum of their teams' access", () => {
    const access = organizationBit("manage-teams") | organizationBit("read-projects");
    const standing = checkedStandingOf(user(), row(access));
    expect(standing).toEqual({
      ...stranger,
      member: true,
      organization: access,
      organizationWideMask: organizationWideMaskOf(access),
      grantableMask: organizationWideMaskOf(access),
    });
    expect(hasOrganizationPermission(standing, "manage-teams")).toBe(true);
    expect(hasOrganizationPermission(standing, "manage-membership")).toBe(false);
  });

  it("a member of the owners team has all permissions, and can manage the owners team", () => {
    expect(checkedStandingOf(user(), row(ownersAccess))).toEqual(owner);
  });

  it("a site admin is an owner everywhere, in a team or not", () => {
    expect(checkedStandingOf(user(true), row(null, 0))).toEqual(owner);
    expect(checkedStandingOf(user(true), row(organizationBit("read-projects")))).toEqual(owner);
    expect(checkedStandingOf({ kind: "operator" }, row(null, 0))).toEqual(owner);
  });

  it("a team token is what its team is, and a member without any membership", () => {
    const access = organizationBit("access-secret-teams");
    expect(checkedStandingOf(team, row(access, 0))).toMatchObject({
      member: true,
      owner: false,
      seesSecretTeams: true,
    });
    expect(checkedStandingOf(team, row(0, 0))).toEqual({ ...stranger, member: true });
    expect(checkedStandingOf(team, row(null, 0))).toEqual(stranger);
    expect(checkedStandingOf(team, row(ownersAccess, 0))).toMatchObject({
      member: true,
      owner: true,
      organizationWideMask: allPermissions,
    });
  });

  it("an organization token owns its organization, but can't manage the owners team", () => {
    const standing = checkedStandingOf(organization, row(null, 0));
    expect(standing).toMatchObject({ member: true, owner: true, managesOwnersTeam: false, seesSecretTeams: true });
    expect(standing.organization).toBe(ownersAccess);
  });

  it("an organization token does not lock, run or write state, but can grant all of that to others", () => {
    const standing = checkedStandingOf(organization, row(null, 0));
    expect(permissionSetOf(standing.organizationWideMask)).toEqual({
      ...permissionSetOf(allPermissions),
      runs: "read",
      stateVersions: "read",
      locking: false,
    });
    expect(standing.grantableMask).toBe(allPermissions);
  });

  it("an organization token has no standing elsewhere", () => {
    expect(checkedStandingOf(organization, { ...row(null, 0), organizationId: "org-2" })).toEqual(stranger);
  });

  it("never has more than an owner, and only organization tokens can grant more than they have", () => {
    fc.assert(
      fc.property(anyAccess, fc.constantFrom(user(), team), (access, actor) => {
        const standing = checkedStandingOf(actor, row(access));
        expect(standing.owner).toBe(false);
        expect(standing.organization & ~ownersAccess).toBe(0);
        expect(standing.grantableMask).toBe(standing.organizationWideMask);
        expect(hasPermission(standing.organizationWideMask, "settings", "delete")).toBe(
          (access & organizationBit("manage-projects")) !== 0,
        );
      }),
      runs,
    );
  });
});

describe("an organization that refuses user tokens", () => {
  const refusing = (access: number | null, isMember: number) => ({ ...row(access, isMember), userTokenMaxMs: 0 });

  it("raises `unauthorized` for a user with access otherwise", () => {
    for (const [actor, facts] of [
      [user(), refusing(null, 1)],
      [user(), refusing(ownersAccess, 1)],
      [user(), refusing(organizationBit("manage-teams"), 0)],
      [user(true), refusing(null, 0)],
    ] as const)
      expect(() => checkedStandingOf(actor, facts)).toThrow(expect.objectContaining({ code: "unauthorized" }));
  });

  it("makes no difference to everybody else", () => {
    for (const [actor, access, isMember] of [
      [user(), null, 0],
      [team, organizationBit("manage-teams"), 0],
      [team, ownersAccess, 0],
      [organization, null, 0],
      [auditor, null, 0],
      [{ kind: "operator" }, null, 0],
    ] as const)
      expect(checkedStandingOf(actor, refusing(access, isMember))).toEqual(
        checkedStandingOf(actor, row(access, isMember)),
      );
  });
});

describe("an organization that limits the age of user tokens", () => {
  const bounding = (access: number | null, isMember = 1) => ({ ...row(access, isMember), userTokenMaxMs: 1000 });

  it("raises `unauthorized` for an older one, also a site admin's", () => {
    for (const [actor, facts] of [
      [user(false, 1000), bounding(null)],
      [user(false, 5000), bounding(ownersAccess)],
      [user(true, 1000), bounding(null, 0)],
    ] as const)
      expect(() => checkedStandingOf(actor, facts)).toThrow(expect.objectContaining({ code: "unauthorized" }));
  });

  it("accepts a younger one, and stays hidden from non-members", () => {
    expect(checkedStandingOf(user(false, 999), bounding(ownersAccess))).toMatchObject({ owner: true });
    expect(checkedStandingOf(user(false, 5000), bounding(null, 0))).toMatchObject({ member: false });
    expect(checkedStandingOf(team, bounding(0, 0))).toMatchObject({ member: true });
  });
});

describe("an organization that is disabled", () => {
  const disabled = (access: number | null, isMember = 1) => ({ ...row(access, isMember), organizationDisabled: 1 });

  it("raises `not-found` for everybody who belongs to it", () => {
    for (const [actor, facts] of [
      [user(), disabled(null)],
      [user(), disabled(ownersAccess)],
      [team, disabled(0, 0)],
      [organization, disabled(null, 0)],
      [auditor, disabled(null, 0)],
    ] as const)
      expect(() => checkedStandingOf(actor, facts)).toThrow(expect.objectContaining({ code: "not-found" }));
  });

  it("makes no difference to site admins, the operator and non-members", () => {
    for (const actor of [user(true), { kind: "operator" }] as const)
      expect(checkedStandingOf(actor, disabled(null, 0))).toMatchObject({ owner: true });
    expect(checkedStandingOf(user(), disabled(null, 0))).toMatchObject({ member: false });
    expect(checkedStandingOf({ ...auditor, auditedOrganizationId: "org-2" } as Actor, disabled(null, 0))).toMatchObject(
      {
        member: false,
      },
    );
  });
});

describe("the audit log token", () => {
  it("has no standing, and reads only its organization's audit log", () => {
    const standing = checkedStandingOf(auditor, row(null, 0));
    expect(standing).toMatchObject({
      member: false,
      owner: false,
      organization: 0,
      organizationWideMask: 0,
      grantableMask: 0,
    });
    expect(canReadAuditLog(auditor, "org-1", standing)).toBe(true);
    expect(canReadAuditLog(auditor, "org-2", standing)).toBe(false);
    expect(canReadAuditLog(user(), "org-1", checkedStandingOf(user(), row(null, 1)))).toBe(false);
    expect(canReadAuditLog(user(), "org-1", checkedStandingOf(user(), row(ownersAccess, 1)))).toBe(true);
  });
});

describe("which organization-level permissions are missing", () => {
  it("are exactly those requested and not granted", () => {
    fc.assert(
      fc.property(anyAccess, anyAccess, (held, wanted) => {
        const missing = missingOrganizationPermissions(checkedStandingOf(user(), row(held)), wanted);
        expect(maskOfAll(missing)).toBe(wanted & ~held);
      }),
      runs,
    );
  });

  it("are none for an owner", () => {
    expect(missingOrganizationPermissions(checkedStandingOf(organization, row(null, 0)), ownersAccess)).toEqual([]);
  });
});
