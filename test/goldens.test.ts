/** Texts that are reviewed like code. After a change that is meant, `npx vitest run --project pure -u` writes them anew. */
import { describe, expect, it } from "vitest";
import { projectLevelMask, projectLevelNames } from "../src/access/levels.ts";
import {
  everywhereOf,
  organizationBit,
  organizationPermissionNames,
  ownersAccess,
} from "../src/access/organization.ts";
import { projectPermissions } from "../src/access/permissions.ts";
import { type Mask, permissionNames, setOf } from "../src/access/permission-set.ts";
import { describeApi } from "../src/http/server.ts";
import { routes } from "./support/tenant.ts";

describe("goldens", () => {
  it("routes.txt: every route, its operation and who may call it", async () => {
    const lines = routes.map(
      ({ id, operation }) => `${operation.method.padEnd(6)} ${operation.path}\n       ${id}: ${operation.needs}`,
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

function permissionTables(): string {
  const levels = projectLevelNames.map((level): [string, Mask] => [
    level === "custom" ? "custom (defaults)" : level,
    projectLevelMask(level),
  ]);
  const organization = organizationPermissionNames.map((name): [string, Mask] => [
    name,
    everywhereOf(organizationBit(name)),
  ]);
  return (
    [
      "What a team-project record gives on a project and its workspaces, by level",
      table(levels),
      "What an organization-level permission gives on every project and workspace",
      table([["owners", everywhereOf(ownersAccess)], ...organization]),
      "What a caller with this level may do to the project (✔ may, · may not)",
      canTable(levels),
    ].join("\n\n") + "\n"
  );
}

/** Rows are permissions, columns are levels; long tables are turned, so that a row is a level. */
function table(columns: [string, Mask][]): string {
  const header = ["", ...permissionNames];
  const rows = columns.map(([name, mask]) => [
    name,
    ...Object.values(setOf(mask)).map((value) =>
      value === true ? "✔" : value === false || value === "none" ? "·" : String(value),
    ),
  ]);
  return aligned([header, ...rows]);
}

function canTable(columns: [string, Mask][]): string {
  const names = Object.keys(projectPermissions({ mask: 0 }));
  const rows = columns.map(([name, mask]) => [
    name,
    ...Object.values(projectPermissions({ mask })).map((may) => (may ? "✔" : "·")),
  ]);
  return aligned([["", ...names], ...rows]);
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
