/** Texts that are reviewed like code. After a change that is meant, `npx vitest run --project pure -u` writes them anew. */
import { describe, expect, it } from "vitest";
import { projectLevelMask, projectLevelNames, workspaceLevelMask, workspaceLevelNames } from "../src/access/levels.ts";
import {
  everywhereOf,
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
  byProjectRecord,
  byWorkspaceRecord,
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
import { readReasons } from "./support/lists.ts";
import { routes } from "./support/tenant.ts";

describe("goldens", () => {
  it("routes.txt: every route, its operation and who may call it", async () => {
    const lines = routes.map(
      ({ id, operation }) => `${operation.method.padEnd(6)} ${operation.path}\n       ${id}: ${callersOf(operation)}`,
    );
    await expect(`${lines.toSorted().join("\n")}\n`).toMatchFileSnapshot("goldens/routes.txt");
  });

  it("openapi.json: the whole interface", async () => {
    await expect(`${JSON.stringify(describeApi("0.0.0"), null, 2)}\n`).toMatchFileSnapshot("goldens/openapi.json");
  });

  it("permissions.txt: what each level and organization-level permission gives", async () => {
    await expect(permissionTables()).toMatchFileSnapshot("goldens/permissions.txt");
  });
});

/** A shorter list fails too: write its new length here, so that it can't grow again. */
describe("a list of exceptions has the length that is written here, and only shrinks", () => {
  it.each<[list: string, length: number, entries: { readonly size: number } | { readonly length: number }]>([
    ["operations that are refused to nobody", 1, readReasons("test/goldens/without-refusal.txt")],
    ["writes that leave no event", 7, readReasons("test/goldens/without-event.txt")],
    ["settings that an export leaves out of HCL", 18, readReasons("test/goldens/without-hcl.txt")],
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
    everywhereOf(organizationBit(name)),
  ]);
  const onTheProject = (mask: Mask) => ({ ...projectPermissions({ mask }), ...projectRightsOf({ mask }) });
  const onTheWorkspace = (mask: Mask) => ({
    ...workspacePermissions({ access: { mask }, owner: false, allowForceDeleteWorkspaces: 0 }),
    ...workspaceRightsOf({ mask }),
  });
  return (
    [
      "What a team-project record gives on a project and its workspaces, by level",
      table(onProject),
      "What a team-workspace record gives on a workspace, by level",
      table(onWorkspace),
      "What an organization-level permission gives on every project and workspace",
      table([["owners", everywhereOf(ownersAccess)], ...organization]),
      "What a caller with this level may do to the project (✔ may, · may not)",
      turned(canTable(onProject, onTheProject)),
      "What a caller with this level on the project may do to its workspaces (✔ may, · may not)",
      turned(canTable(onProject, onTheWorkspace)),
      "What a caller with this level on the workspace may do to it (✔ may, · may not)",
      turned(canTable(onWorkspace, onTheWorkspace)),
      "What each endpoint answers to a caller with this level on the project (a number is the HTTP status;\n200, 201 and 204: done; 409: may, but the thing's state does not allow it; 403: may not; 404: may not, and is not told why;\n422: the project that the body names is none for this caller)",
      outcomes(byProjectRecord.map(([name, , abilities]) => [name, abilities])),
      "The same, with this level on the workspace alone",
      outcomes(byWorkspaceRecord.map(([name, , abilities]) => [name, abilities])),
      "The same, with this organization-level permission alone",
      outcomes(byOrganizationPermission),
      "The same, by who calls",
      outcomes([
        ["owner, site admin, owners team's token", ownerAbilities],
        ["organization's token", organizationTokenAbilities],
        ["member without a grant", plainMember],
        ["stranger", outsider],
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
function turned(rows: string[][]): string {
  return aligned((rows[0] ?? []).map((_, column) => rows.map((row) => row[column] ?? "")));
}

/** What test/resources/access-explanations/matrix.test.ts asks of the running service. Columns are numbered where many. */
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
