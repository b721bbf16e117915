/** Generated texts that are reviewed like code. After an intended change, `npx vitest run --project pure -u` updates them. */
import { describe, expect, it } from "vitest";
import { projectLevelMask, projectLevelNames, workspaceLevelMask, workspaceLevelNames } from "../src/access/levels.ts";
import {
  organizationWideMaskOf,
  organizationBit,
  organizationPermissionNames,
  ownersAccess,
} from "../src/access/organization.ts";
import { projectPermissions, projectRightsOf } from "../src/access/permissions/project.ts";
import { workspacePermissions, workspaceRightsOf } from "../src/access/permissions/workspace.ts";
import { type Mask, permissionNames, permissionSetOf } from "../src/access/permission-set.ts";
import { describeApi } from "../src/http/server.ts";
import {
  type Abilities,
  byOrganizationPermission,
  byProjectGrant,
  byWorkspaceGrant,
  endpoints,
  organizationTokenAbilities,
  outsider,
  ownerAbilities,
  plainMember,
} from "./support/abilities.ts";
import { callersOf } from "../src/jsonapi/openapi.ts";
import { documentExceptions } from "../conformance/openapi-exceptions.ts";
import { exceptions } from "../conformance/exceptions.ts";
import { providerExceptions } from "../conformance/provider-exceptions.ts";
import { readReasons } from "./support/exception-lists.ts";
import { routes } from "./support/tenant.ts";

describe("goldens", () => {
  it("routes.txt: every route, its operation and its permitted callers", async () => {
    const lines = routes.map(
      ({ id, operation }) => `${operation.method.padEnd(6)} ${operation.path}\n       ${id}: ${callersOf(operation)}`,
    );
    await expect(`${lines.toSorted().join("\n")}\n`).toMatchFileSnapshot("goldens/routes.txt");
  });

  it("openapi.json: the OpenAPI document", async () => {
    await expect(`${JSON.stringify(describeApi("0.0.0"), null, 2)}\n`).toMatchFileSnapshot("goldens/openapi.json");
  });

  it("permissions.txt: the permissions of each level and organization-level permission", async () => {
    await expect(permissionTables()).toMatchFileSnapshot("goldens/permissions.txt");
  });
});

/** A shorter list fails too: write its new length here, so that it can't grow again. */
describe("a list of exceptions has the expected length, which may only shrink", () => {
  it.each<[list: string, length: number, entries: { readonly size: number } | { readonly length: number }]>([
    ["operations that every caller may call", 1, readReasons("test/goldens/without-refusal.txt")],
    ["writes without an audit event", 8, readReasons("test/goldens/without-event.txt")],
    ["settings that the HCL export omits", 19, readReasons("test/goldens/without-hcl.txt")],
    ["tests of the Go client", 10, exceptions],
    ["findings in the OpenAPI document", 7, documentExceptions],
    ["tests of the Terraform provider", 38, providerExceptions],
  ])("%s: %d", (_, length, entries) => {
    const message = "a shorter list: write its length here; a longer one: fix the cause instead of adding an exception";
    expect("size" in entries ? entries.size : entries.length, message).toBe(length);
  });
});

const named = (level: string) => (level === "custom" ? "custom (defaults)" : level);

function permissionTables(): string {
  const onProject = projectLevelNames.map((level): [string, Mask] => [named(level), projectLevelMask(level)]);
  const onWorkspace = workspaceLevelNames.map((level): [string, Mask] => [named(level), workspaceLevelMask(level)]);
  const organization = organizationPermissionNames.map((name): [string, Mask] => [
    name,
    organizationWideMaskOf(organizationBit(name)),
  ]);
  const onTheProject = (mask: Mask) => ({ ...projectPermissions({ mask }), ...projectRightsOf({ mask }) });
  const onTheWorkspace = (mask: Mask) => ({
    ...workspacePermissions({ access: { mask }, owner: false, allowForceDeleteWorkspaces: 0 }),
    ...workspaceRightsOf({ mask }),
  });
  return (
    [
      "Permissions of a team-project grant on a project and its workspaces, by level",
      table(onProject),
      "Permissions of a team-workspace grant on a workspace, by level",
      table(onWorkspace),
      "Permissions of an organization-level permission on every project and workspace",
      table([["owners", organizationWideMaskOf(ownersAccess)], ...organization]),
      "What a caller with this level on the project can do to it (✔ allowed, · refused)",
      transposed(canTable(onProject, onTheProject)),
      "What a caller with this level on the project can do to its workspaces (✔ allowed, · refused)",
      transposed(canTable(onProject, onTheWorkspace)),
      "What a caller with this level on the workspace can do to it (✔ allowed, · refused)",
      transposed(canTable(onWorkspace, onTheWorkspace)),
      "The HTTP status of each endpoint for a caller with this level on the project (200, 201 and 204: done;\n409: permitted, but the resource's state does not allow it; 403: refused; 404: refused, without revealing that the resource exists;\n422: the caller can't see the project in the body)",
      outcomes(byProjectGrant.map(([name, , abilities]) => [name, abilities])),
      "The same, with this level on the workspace only",
      outcomes(byWorkspaceGrant.map(([name, , abilities]) => [name, abilities])),
      "The same, with this organization-level permission only",
      outcomes(byOrganizationPermission),
      "The same, by kind of caller",
      outcomes([
        ["owner, site admin, owners team's token", ownerAbilities],
        ["organization's token", organizationTokenAbilities],
        ["member without a grant", plainMember],
        ["user outside the organization", outsider],
      ]),
    ].join("\n\n") + "\n"
  );
}

/** Rows are levels, columns are permissions. */
function table(columns: [string, Mask][]): string {
  const header = ["", ...permissionNames];
  const rows = columns.map(([name, mask]) => [
    name,
    ...Object.values(permissionSetOf(mask)).map((value) =>
      value === true ? "✔" : value === false || value === "none" ? "·" : String(value),
    ),
  ]);
  return aligned([header, ...rows]);
}

function canTable(columns: [string, Mask][], flagsOf: (mask: Mask) => Record<string, boolean>): string[][] {
  const rows = columns.map(([name, mask]) => [name, ...Object.values(flagsOf(mask)).map((may) => (may ? "✔" : "·"))]);
  return [["", ...Object.keys(flagsOf(0))], ...rows];
}

/** Rows become columns: for tables that would be too wide. */
function transposed(rows: string[][]): string {
  return aligned((rows[0] ?? []).map((_, column) => rows.map((row) => row[column] ?? "")));
}

/** The statuses that test/resources/access-explanations/matrix.test.ts expects of a running server. Columns are numbered. */
function outcomes(columns: readonly (readonly [string, Abilities])[]): string {
  const numbers = columns.map((_, index) => String(index + 1));
  const legend = columns.map(([name], index) => `${String(index + 1).padStart(4)}  ${name}`).join("\n");
  const rows = endpoints.map(({ name, expected }) => [
    name,
    ...columns.map(([, abilities]) => String(expected((ability) => abilities.has(ability)))),
  ]);
  return `${legend}\n\n${aligned([["", ...numbers], ...rows])}`;
}

function aligned(rows: string[][]): string {
  const widths = rows[0]?.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0))) ?? [];
  return rows
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join("  ")
        .trimEnd(),
    )
    .join("\n");
}
