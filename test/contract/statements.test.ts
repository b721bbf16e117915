/**
 * The number of statements of a read does not depend on the amount of data. It is the same on both engines, so a quick run compares sizes
 * only on SQLite. On PostgreSQL every request is sent once. Writes: `write-statements.test.ts`.
 */
import { beforeAll, describe, expect, it } from "vitest";
import { useApi } from "../support/api.ts";
import { isOnBothEngines } from "../support/depth.ts";
import { runsEverything } from "../support/engine-independent.ts";
import { countStatements, makeLargeTenant, makeSmallTenant } from "../support/statements.ts";
import { type Route, routes, type Tenant, writes } from "../support/tenant.ts";

/** Without the response cache, so that every request is counted like the first one. */
const api = useApi({ cacheBytes: 0 });
let small: Tenant;
let large: Tenant;

beforeAll(async () => {
  small = await makeSmallTenant(api);
  large = await makeLargeTenant(api);
});

/** For owners and organization tokens the database executes the same statements. */
const kinds = ["owner", "member", ...(isOnBothEngines ? (["organization token"] as const) : [])] as const;

describe("a read request", () => {
  // A stream keeps querying, which the tests of run-streams count.
  const reads = routes.filter(({ operation }) => !writes(operation) && operation.answer !== "events");
  // Contents and their chunks are separate rows.
  const maxById: Readonly<Record<string, number>> = {
    // Reads two contents, of versions that are looked up one after the other.
    listStateVersionChanges: 7,
    // Reads the names of the resources that events mention, and then of their parents.
    listAuditEvents: 5,
    // Runs the changes and rolls them back, as a preview does.
    showAccessRequest: 36,
  };
  const readStatementsMax = ({ id, operation }: Route) =>
    maxById[id] ?? { document: 2, content: 4 }[operation.answer as "document"] ?? 3;

  it.each(reads)("needs no more statements for a large organization: $id", async (route) => {
    for (const kind of kinds) {
      const counted = await countStatements(api, large.callers[kind], route, large);
      expect(counted.statements, kind).toBeLessThanOrEqual(readStatementsMax(route));
      if (runsEverything)
        expect((await countStatements(api, small.callers[kind], route, small)).statements, kind).toBe(
          counted.statements,
        );
    }
  });

  it.each(reads.filter(({ operation }) => operation.query?.include !== undefined))(
    "needs a constant number of additional statements with include: $id",
    async (route) => {
      const callerIn = (tenant: Tenant) =>
        route.operation.path.startsWith("/admin/") ? api.admin : tenant.callers.owner;
      const plain = await countStatements(api, callerIn(large), route, large);
      for (const name of route.operation.query?.include ?? []) {
        const query = `?include=${name}`;
        const counted = await countStatements(api, callerIn(large), route, large, query);
        expect(counted.status).toBe(200);
        if (runsEverything)
          expect((await countStatements(api, callerIn(small), route, small, query)).statements).toBe(
            counted.statements,
          );
        // One for each relationship in the path, and at least two.
        expect(counted.statements).toBeLessThanOrEqual(plain.statements + Math.max(2, name.split(".").length));
      }
    },
  );
});
