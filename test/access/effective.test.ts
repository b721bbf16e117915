/** The sum of grants, and its explanation: pure, over random grants. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Actor } from "../../src/access/actor.ts";
import { effectiveAccess } from "../../src/access/effective.ts";
import { explainGrants, sourcedGrantsOf, standingFromTeams, type TeamAccessRow } from "../../src/access/explain.ts";
import { organizationWideMaskOf, organizationPermissionNames, ownersAccess } from "../../src/access/organization.ts";
import {
  allPermissions,
  permissionLadders,
  maskOf,
  type PermissionSet,
  permissionNames,
  permissionSetOf,
} from "../../src/access/permission-set.ts";
import { deep, seed } from "../support/depth.ts";

const options = { numRuns: deep(300, 20_000), seed };

const permissions = fc
  .record(
    Object.fromEntries(
      permissionNames.map((name) => [name, fc.constantFrom(...(permissionLadders[name] as readonly unknown[]))]),
    ),
  )
  .map((set) => maskOf(set as Partial<PermissionSet>));
const organizationAccess = fc
  .subarray([...organizationPermissionNames.keys()])
  .map((positions) => positions.reduce((mask, position) => mask | (1 << (position + 1)), 0));

const instant = fc.integer({ min: 1, max: 9 }).map((hour) => `2030-01-01T0${hour}:00:00.000Z`);

const holding = (index: number): fc.Arbitrary<TeamAccessRow> =>
  fc
    .record({
      organizationAccess,
      owners: fc.integer({ min: 0, max: 11 }).map((draw) => draw === 0),
      project: fc.option(permissions),
      workspace: fc.option(permissions),
      ends: fc.tuple(fc.option(instant), fc.option(instant), fc.option(instant)),
    })
    .map(
      ({ organizationAccess, owners, project, workspace, ends: [membershipUntil, projectUntil, workspaceUntil] }) => ({
        teamId: `team-${index}`,
        teamName: `team ${index}`,
        isOwners: Number(owners),
        organizationAccess: owners ? ownersAccess : organizationAccess,
        projectRecordId: project === null ? null : `tprj-${index}`,
        projectLevel: project === null ? null : "custom",
        projectPermissions: project,
        workspaceRecordId: workspace === null ? null : `tws-${index}`,
        workspaceLevel: workspace === null ? null : "custom",
        workspacePermissions: workspace,
        membershipUntil,
        membershipReason: membershipUntil && "in the team",
        projectUntil: project === null ? null : projectUntil,
        projectReason: "on the project",
        workspaceUntil: workspace === null ? null : workspaceUntil,
        workspaceReason: null,
      }),
    );
const holdings = fc.tuple(holding(0), holding(1), holding(2), holding(3)).chain((all) => fc.subarray(all));

const person: Actor = { kind: "user", userId: "user-1", name: "ada", siteAdmin: false, tokenId: "", tokenAgeMs: 0 };
const explainFor = (actor: Actor, teams: readonly TeamAccessRow[]) =>
  explainGrants(sourcedGrantsOf(actor, standingFromTeams(actor, "org-1", 1, teams), teams));
const rank = (name: keyof PermissionSet, value: unknown) =>
  (permissionLadders[name] as readonly unknown[]).indexOf(value);

describe("the sum of grants", () => {
  it("is the highest value of each permission", () => {
    fc.assert(
      fc.property(fc.array(permissions, { maxLength: 6 }), (masks) => {
        const sum = permissionSetOf(effectiveAccess(...masks).mask);
        for (const name of permissionNames) {
          const highest = Math.max(0, ...masks.map((mask) => rank(name, permissionSetOf(mask)[name])));
          expect(rank(name, sum[name])).toBe(highest);
        }
      }),
      options,
    );
  });

  it("never shrinks with another grant, never grows without one, and does not depend on order", () => {
    fc.assert(
      fc.property(fc.array(permissions, { maxLength: 6 }), permissions, (masks, added) => {
        const before = effectiveAccess(...masks).mask;
        const after = effectiveAccess(...masks, added).mask;
        expect(before & ~after).toBe(0);
        expect(effectiveAccess(...masks.toReversed(), added).mask).toBe(after);
        for (const left of masks.keys()) expect(effectiveAccess(...masks.toSpliced(left, 1)).mask & ~before).toBe(0);
      }),
      options,
    );
  });
});

describe("the explanation", () => {
  it("always agrees with the decision, which is computed like in the database", () => {
    fc.assert(
      fc.property(holdings, (teams) => {
        const standing = standingFromTeams(person, "org-1", 1, teams);
        const or = (pick: (team: TeamAccessRow) => number | null) =>
          teams.reduce((mask, team) => mask | (pick(team) ?? 0), 0);
        const decided = effectiveAccess(
          standing.organizationWideMask,
          or((team) => team.projectPermissions),
          or((team) => team.workspacePermissions),
        );
        expect(explainFor(person, teams).access).toEqual(decided);
        expect(standing.organizationWideMask).toBe(organizationWideMaskOf(or((team) => team.organizationAccess)));
      }),
      options,
    );
  });

  it("names exactly the grants that give the value: without all of them it is lower", () => {
    fc.assert(
      fc.property(holdings, (teams) => {
        const grants = sourcedGrantsOf(person, standingFromTeams(person, "org-1", 1, teams), teams);
        const { access, permissions: explained } = explainGrants(grants);
        for (const name of permissionNames) {
          const { value, givenBy } = explained[name];
          expect(value).toBe(permissionSetOf(access.mask)[name]);
          const rest = grants.filter(({ source }) => !givenBy.includes(source));
          const without = permissionSetOf(effectiveAccess(...rest).mask)[name];
          if (givenBy.length === 0) expect(value).toBe(permissionLadders[name][0]);
          else expect(rank(name, without)).toBeLessThan(rank(name, value));
          for (const { mask, source } of grants) {
            if (givenBy.includes(source)) expect(permissionSetOf(mask)[name]).toBe(value);
          }
        }
      }),
      options,
    );
  });

  it("says until when: as long as an unexpired grant gives the value, and no longer", () => {
    const isLeft = (until: string | null | undefined, at: string) => !until || until > at;
    const leftOf = (team: TeamAccessRow, at: string): TeamAccessRow => ({
      ...team,
      projectRecordId: isLeft(team.projectUntil, at) ? team.projectRecordId : null,
      workspaceRecordId: isLeft(team.workspaceUntil, at) ? team.workspaceRecordId : null,
    });
    fc.assert(
      fc.property(holdings, instant, (teams, at) => {
        const now = explainFor(person, teams).permissions;
        const left = teams.filter((team) => isLeft(team.membershipUntil, at)).map((team) => leftOf(team, at));
        const then = explainFor(person, left).permissions;
        for (const name of permissionNames) {
          const { value, until } = now[name];
          if (value === permissionLadders[name][0]) expect(until).toBeNull();
          else expect(then[name].value === value).toBe(isLeft(until, at));
        }
      }),
      options,
    );
  });

  it("covers site admins and organization tokens", () => {
    const admin = explainFor({ ...person, siteAdmin: true }, []);
    expect(admin.access.mask).toBe(allPermissions);
    expect(admin.permissions.move.givenBy).toEqual([{ kind: "site-admin" }]);
    const token: Actor = { kind: "organization", organizationId: "org-1", name: "acme", tokenId: "" };
    const byToken = explainFor(token, []).permissions;
    expect(byToken.move).toEqual({ value: true, until: null, givenBy: [{ kind: "organization-token" }] });
    expect(byToken.locking).toEqual({ value: false, until: null, givenBy: [] });
    expect(byToken.runs.value).toBe("read");
    const foreign = explainGrants(sourcedGrantsOf(token, standingFromTeams(token, "org-2", 0, []), []));
    expect(foreign.access.mask).toBe(0);
  });
});
