import { describe, expect, it } from "vitest";
import { type Actor, actorId, actorName, isSiteAdmin, principalOf, tokenIdOf } from "../../src/access/actor.ts";
import { authorize } from "../../src/access/granted.ts";
import {
  type OrganizationPermission,
  organizationBit,
  ownersAccess,
  type OrganizationStanding,
  noRestrictions,
  checkedStandingOf,
} from "../../src/access/organization.ts";
import { canManageToken, organizationPermissions, teamPermissions } from "../../src/access/permissions/organization.ts";
import { projectPermissions } from "../../src/access/permissions/project.ts";
import { maskOf } from "../../src/access/permission-set.ts";
import { AppError } from "../../src/kernel/errors.ts";

const ada: Actor = { kind: "user", userId: "user-1", name: "ada", siteAdmin: false, tokenId: "at-1", tokenAgeMs: 0 };
const network: Actor = { kind: "team", teamId: "team-1", name: "network", organizationId: "org-1", tokenId: "at-2" };
const acme: Actor = { kind: "organization", organizationId: "org-1", name: "acme", tokenId: "at-3" };

const row = (teamAccess: number | null, isMember = 1) => ({
  organizationId: "org-1",
  teamAccess,
  isMember,
  ...noRestrictions,
});
const holding = (...names: OrganizationPermission[]): OrganizationStanding =>
  checkedStandingOf(ada, row(names.reduce((mask, name) => mask | organizationBit(name), 0)));
const owner = checkedStandingOf(ada, row(ownersAccess));
const organizationToken = checkedStandingOf(acme, row(null, 0));
const stranger = checkedStandingOf(ada, row(null, 0));

const team = { isOwners: 0, visibility: "organization", allowMemberTokenManagement: 0, includesActor: 0 };
const granted = (flags: Record<string, boolean>) => Object.keys(flags).filter((name) => flags[name]);

describe("actors", () => {
  it("have a principal if they are users or teams", () => {
    expect([ada, network, acme, { kind: "operator" } as const].map(principalOf)).toEqual(["user-1", "team-1", "", ""]);
  });

  it("are distinguishable in the audit log", () => {
    const operator: Actor = { kind: "operator" };
    expect([ada, network, acme, operator].map(actorId)).toEqual(["user-1", "team-1", "org-1", "operator"]);
    expect([ada, network, acme, operator].map(actorName)).toEqual(["ada", "network", "acme", "operator"]);
    expect([ada, network, acme, operator].map(tokenIdOf)).toEqual(["at-1", "at-2", "at-3", null]);
  });

  it("are site admins if they are users with the flag, or the operator", () => {
    expect(isSiteAdmin({ ...ada, siteAdmin: true })).toBe(true);
    expect(isSiteAdmin({ kind: "operator" })).toBe(true);
    expect([ada, network, acme].some(isSiteAdmin)).toBe(false);
  });
});

describe("permissions on a project", () => {
  it.each([
    [{}, []],
    [{ runs: "apply" }, []],
    [{ settings: "read" }, ["can-read"]],
    [{ settings: "update" }, ["can-read", "can-update"]],
    [{ settings: "delete" }, ["can-read", "can-update", "can-destroy"]],
    [{ settings: "read", create: true }, ["can-read", "can-create-workspace"]],
  ] as const)("%j gives %j", (set, expected) => {
    expect(granted(projectPermissions({ mask: maskOf(set) }))).toEqual(expected);
  });
});

describe("permissions on an organization", () => {
  it.each<[OrganizationPermission, string[]]>([
    ["manage-workspaces", ["can-create-workspace", "can-delete-tags"]],
    ["read-workspaces", []],
    ["manage-projects", ["can-create-project", "can-create-workspace"]],
    ["read-projects", []],
    ["manage-teams", ["can-create-team"]],
    ["manage-membership", ["can-manage-memberships"]],
    ["manage-organization-access", []],
    ["access-secret-teams", []],
    ["manage-vcs-settings", ["can-update-oauth", "can-update-ssh-keys"]],
    ["manage-agent-pools", ["can-update-agent-pools"]],
    ["manage-policies", ["can-update-sentinel"]],
    ["manage-policy-overrides", []],
    ["manage-run-tasks", ["can-manage-run-tasks"]],
    ["manage-modules", []],
    ["manage-providers", []],
  ])("%s gives %j", (name, expected) => {
    expect(granted(organizationPermissions(holding(name)))).toEqual(["can-traverse", ...expected]);
  });

  it("are all granted to an owner and to the organization token", () => {
    expect(Object.values(organizationPermissions(owner))).not.toContain(false);
    expect(Object.values(organizationPermissions(organizationToken))).not.toContain(false);
  });

  it("are all denied to a non-member", () => {
    expect(granted(organizationPermissions(stranger))).toEqual([]);
  });
});

describe("permissions on a team", () => {
  const all = [
    "can-read",
    "can-update",
    "can-destroy",
    "can-update-membership",
    "can-update-organization-access",
    "can-update-api-token",
  ];

  it("are all granted to an owner and to the organization token", () => {
    expect(granted(teamPermissions(owner, team))).toEqual(all);
    expect(granted(teamPermissions(organizationToken, { ...team, visibility: "secret" }))).toEqual(all);
  });

  it.each<[OrganizationPermission, string[]]>([
    ["manage-teams", ["can-update", "can-destroy", "can-update-api-token"]],
    ["manage-membership", ["can-update-membership"]],
    ["manage-organization-access", ["can-update-organization-access"]],
    ["manage-projects", []],
  ])("%s gives %j on a visible team", (name, expected) => {
    expect(granted(teamPermissions(holding(name), team))).toEqual(["can-read", ...expected]);
  });

  it("let only members of the owners team and site admins manage it, and nobody delete it", () => {
    const owners = { ...team, isOwners: 1, includesActor: 1, allowMemberTokenManagement: 1 };
    expect(granted(teamPermissions(owner, owners))).toEqual([
      "can-read",
      "can-update",
      "can-update-membership",
      "can-update-api-token",
    ]);
    const managers = holding("manage-teams", "manage-membership", "manage-organization-access");
    expect(granted(teamPermissions(managers, owners))).toEqual(["can-read"]);
    expect(granted(teamPermissions(organizationToken, owners))).toEqual(["can-read"]);
  });

  it("hide a secret team from all but its members, owners and holders of access-secret-teams", () => {
    const secret = { ...team, visibility: "secret" };
    expect(teamPermissions(holding("manage-teams"), secret)["can-read"]).toBe(false);
    expect(teamPermissions(holding(), { ...secret, includesActor: 1 })["can-read"]).toBe(true);
    expect(teamPermissions(holding("access-secret-teams"), secret)["can-read"]).toBe(true);
    expect(teamPermissions(owner, secret)["can-read"]).toBe(true);
  });

  it("hide every team from non-members", () => {
    expect(granted(teamPermissions(stranger, team))).toEqual([]);
  });

  it("let members manage the token only if the team allows it", () => {
    const own = { ...team, includesActor: 1 };
    expect(teamPermissions(holding(), own)["can-update-api-token"]).toBe(false);
    expect(teamPermissions(holding(), { ...own, allowMemberTokenManagement: 1 })["can-update-api-token"]).toBe(true);
    expect(teamPermissions(holding(), { ...team, allowMemberTokenManagement: 1 })["can-update-api-token"]).toBe(false);
  });
});

describe("who can manage a token", () => {
  const token = { ...team, userId: null, teamId: null, standing: stranger };

  it("a user's: the user and site admins", () => {
    const theirs = { ...token, userId: "user-1" };
    expect(canManageToken(ada, theirs)).toBe(true);
    expect(canManageToken({ ...ada, userId: "user-2" }, theirs)).toBe(false);
    expect(canManageToken({ ...ada, userId: "user-2", siteAdmin: true }, theirs)).toBe(true);
    expect(canManageToken(acme, { ...theirs, standing: organizationToken })).toBe(false);
  });

  it("an organization's: its owners", () => {
    expect(canManageToken(ada, { ...token, standing: owner })).toBe(true);
    expect(canManageToken(ada, { ...token, standing: holding("manage-teams", "manage-membership") })).toBe(false);
  });

  it("a team's: callers who can see the team and update its token", () => {
    const theirs = { ...token, teamId: "team-1", standing: holding("manage-teams") };
    expect(canManageToken(ada, theirs)).toBe(true);
    expect(canManageToken(ada, { ...theirs, visibility: "secret" })).toBe(false);
    expect(canManageToken(ada, { ...theirs, standing: holding("manage-membership") })).toBe(false);
  });
});

describe("a refusal", () => {
  const check = { thing: "team", permission: "can-update", visible: true, allowed: false, needs: "more" } as const;
  const codeOf = (facts: Partial<Parameters<typeof authorize>[1]>): string => {
    try {
      authorize({}, { ...check, ...facts });
      return "granted";
    } catch (error) {
      return error instanceof AppError ? error.code : "unknown";
    }
  };

  it("is 'not found' for what can't be seen, 'forbidden' for what can", () => {
    expect(codeOf({})).toBe("forbidden");
    expect(codeOf({ visible: false })).toBe("not-found");
    expect(codeOf({ visible: false, allowed: true })).toBe("not-found");
    expect(codeOf({ whenDenied: "hide" })).toBe("not-found");
    expect(codeOf({ whenDenied: "forbid" })).toBe("forbidden");
    expect(codeOf({ allowed: true })).toBe("granted");
  });

  it("names what is missing", () => {
    expect(() => authorize({}, check)).toThrow(/needs more \(can-update\)/);
  });
});
