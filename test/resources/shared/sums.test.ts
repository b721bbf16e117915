/** The SQL versions of functions in `access/` agree with them. */
import { sql } from "kysely";
import { describe, expect, it } from "vitest";
import { projectLevelMask, workspaceLevelMask } from "../../../src/access/levels.ts";
import {
  organizationWideMaskOf,
  organizationBit,
  organizationPermissionNames,
  ownersAccess,
} from "../../../src/access/organization.ts";
import { allPermissions, maskOf } from "../../../src/access/permission-set.ts";
import {
  meetsRequirement,
  levelOf,
  reachPermissionNames,
  targetKinds,
  maskRequirementFor,
} from "../../../src/access/reach.ts";
import {
  organizationWideMaskSql,
  meetsRequirementSql,
  levelSql,
  bigintMask,
} from "../../../src/resources/shared/grants/sums.ts";
import { useApi } from "../../support/api.ts";

const api = useApi();

/** The value of an expression for each of some numbers, computed by the database. */
async function evaluate<Value>(
  numbers: readonly number[],
  expression: (mask: ReturnType<typeof bigintMask>) => unknown,
): Promise<Value[]> {
  const rows = sql.join(
    numbers.map((mask, at) => sql`select ${sql.lit(at)} as at, ${bigintMask(mask)} as mask`),
    sql` union all `,
  );
  const found = await sql<{ value: Value }>`
    select ${expression(sql.ref<number>("numbers.mask") as never)} as value from (${rows}) as numbers order by at`.execute(
    api.database.reader.db,
  );
  return found.rows.map(({ value }) => value);
}

const masks = [
  ...new Set([
    0,
    allPermissions,
    ...(["read", "write", "maintain", "admin", "custom"] as const).map(projectLevelMask),
    ...(["read", "plan", "write", "admin", "custom"] as const).map(workspaceLevelMask),
    maskOf({ delete: true }),
    maskOf({ settings: "read", create: true }),
    workspaceLevelMask("write") | maskOf({ runTasks: true }),
  ]),
];

describe("sums in the database", () => {
  it("what organization-level permissions give everywhere", async () => {
    const bits = [0, 1, ownersAccess, ...organizationPermissionNames.map(organizationBit)];
    const pairs = [...bits, organizationBit("read-projects") | organizationBit("manage-workspaces")];
    expect((await evaluate<number>(pairs, organizationWideMaskSql)).map(Number)).toEqual(
      pairs.map(organizationWideMaskOf),
    );
  });

  it("levels, and whether a permission is reached", async () => {
    for (const kind of targetKinds) {
      expect(await evaluate<string>(masks, (mask) => levelSql(kind, mask))).toEqual(
        masks.map((mask) => levelOf(kind, mask)),
      );
      for (const name of [undefined, ...reachPermissionNames.slice(0, 4), "can-force-delete", "can-create-workspace"]) {
        const wanted = maskRequirementFor(kind, name, { owner: false, allowForceDeleteWorkspaces: 1 });
        const asked = { sees: bigintMask(wanted.sees), any: bigintMask(wanted.any) };
        const flags = await evaluate<number>(
          masks,
          (mask) => sql`case when ${meetsRequirementSql(mask, asked)} then 1 else 0 end`,
        );
        expect(flags.map(Number)).toEqual(masks.map((mask) => Number(meetsRequirement(mask, wanted))));
      }
    }
  });
});
