/** The SQL versions of functions in `access/` agree with them. */
import { sql } from "kysely";
import { describe, expect, it } from "vitest";
import { projectLevelMask, workspaceLevelMask } from "../../../src/access/levels.ts";
import {
  everywhereOf,
  organizationBit,
  organizationPermissionNames,
  ownersAccess,
} from "../../../src/access/organization.ts";
import { everything, maskOf } from "../../../src/access/permission-set.ts";
import { fulfils, levelOf, reachPermissionNames, thingKinds, wantedOn } from "../../../src/access/reach.ts";
import { everywhereIn, fulfilsIn, levelIn, wide } from "../../../src/resources/shared/grants/sums.ts";
import { useApi } from "../../support/api.ts";

const api = useApi();

/** The value of an expression for each of some numbers, computed by the database. */
async function told<Value>(
  numbers: readonly number[],
  expression: (mask: ReturnType<typeof wide>) => unknown,
): Promise<Value[]> {
  const rows = sql.join(
    numbers.map((mask, at) => sql`select ${sql.lit(at)} as at, ${wide(mask)} as mask`),
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
    everything,
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
    expect((await told<number>(pairs, everywhereIn)).map(Number)).toEqual(pairs.map(everywhereOf));
  });

  it("levels, and whether a permission is reached", async () => {
    for (const kind of thingKinds) {
      expect(await told<string>(masks, (mask) => levelIn(kind, mask))).toEqual(
        masks.map((mask) => levelOf(kind, mask)),
      );
      for (const name of [undefined, ...reachPermissionNames.slice(0, 4), "can-force-delete", "can-create-workspace"]) {
        const wanted = wantedOn(kind, name, { owner: false, allowForceDeleteWorkspaces: 1 });
        const asked = { sees: wide(wanted.sees), any: wide(wanted.any) };
        const flags = await told<number>(masks, (mask) => sql`case when ${fulfilsIn(mask, asked)} then 1 else 0 end`);
        expect(flags.map(Number)).toEqual(masks.map((mask) => Number(fulfils(mask, wanted))));
      }
    }
  });
});
