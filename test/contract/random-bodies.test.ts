/** Whatever is sent to a route that writes: never a 500, and never half a change. */
import fc from "fast-check";
import { sql } from "kysely";
import { describe, expect, it } from "vitest";
import { tablesAfter } from "../../src/backup/tables.ts";
import { migrations } from "../../src/database/migrate.ts";
import { useApi } from "../support/api.ts";
import { deep, seed } from "../support/depth.ts";
import { intact, makeTenant, pathOf, type Route, routes, type Tenant, writes } from "../support/tenant.ts";

const api = useApi();

const scalar = fc.oneof(
  fc.string({ maxLength: 12 }),
  fc.string({ unit: "binary", maxLength: 8 }),
  fc.integer(),
  fc.double(),
  fc.boolean(),
  fc.constant(null),
  fc.constantFrom(
    "",
    "admin",
    "owners",
    "custom",
    "🍄",
    "\u0000",
    "\ud800",
    "9999d",
    "-1",
    "1e999",
    "__proto__",
    "' OR 1=1 --",
    "%",
    "a".repeat(300),
  ),
);
const names = fc.constantFrom(
  "data",
  "type",
  "attributes",
  "relationships",
  "id",
  "name",
  "email",
  "teams",
  "description",
  "organization-access",
);
const json = fc.letrec((tie) => ({
  value: fc.oneof({ maxDepth: 4, withCrossShrink: true }, scalar, tie("array"), tie("object")),
  array: fc.array(tie("value"), { maxLength: 4 }),
  object: fc.dictionary(fc.oneof(names, fc.string({ maxLength: 6 })), tie("value"), { maxKeys: 5 }),
})).value;

/** A body that is accepted, with one place in it replaced: this gets past the first checks. */
function mutated(example: unknown): fc.Arbitrary<unknown> {
  const places = placesIn(example);
  return fc.tuple(fc.constantFrom(...places), json).map(([place, value]) => replaceAt(example, place, value));
}

type Place = readonly (string | number)[];

function placesIn(value: unknown, at: Place = []): Place[] {
  if (typeof value !== "object" || value === null) return [at];
  return [at, ...Object.entries(value).flatMap(([name, member]) => placesIn(member, [...at, name]))];
}

function replaceAt(value: unknown, [first, ...rest]: Place, replacement: unknown): unknown {
  if (first === undefined) return replacement;
  if (Array.isArray(value))
    return value.map((member, index) =>
      String(index) === String(first) ? replaceAt(member, rest, replacement) : member,
    );
  return { ...(value as object), [first]: replaceAt((value as Record<string, unknown>)[first], rest, replacement) };
}

/** Tables without a version: their rows are added and removed, and counting them tells. */
const unversioned = new Set([
  "meta",
  "jobs",
  "state_contents",
  "state_chunks",
  "state_version_outputs",
  "state_resources",
  "migrations",
  "team_members",
  "agent_pool_scopes",
  "oauth_client_projects",
  "varset_workspaces",
  "varset_projects",
  "remote_state_consumers",
  "workspace_tags",
  "tag_bindings",
  "audit_events",
]);

/**
 * What every table holds, so that a change of any row shows: how many rows there are, and the sum of their versions, which
 * every change raises. One statement, because it is asked before and after each body.
 */
async function fingerprint(): Promise<string> {
  const tables = tablesAfter(migrations.map((migration) => migration.name));
  const counts = tables.map((name) => {
    const versions = unversioned.has(name) ? sql`0` : sql`coalesce(sum(version), 0)`;
    return sql`(select cast(count(*) as text) || '/' || cast(${versions} as text) from ${sql.table(name)})`;
  });
  const result =
    await sql<object>`select ${sql.join(counts.map((count, index) => sql`${count} as ${sql.ref(`t${index}`)}`))}`.execute(
      api.database.reader.db,
    );
  return JSON.stringify(result.rows[0]);
}

describe("random bodies", () => {
  let last: Tenant | undefined;

  const withBody = routes.filter(
    ({ operation }) => writes(operation) && operation.body !== undefined && !operation.signed,
  );

  it.each(withBody)("leave $id standing", async (route) => {
    let tenant = await intact(api, last);
    const bodies = fc.oneof({ weight: 1, arbitrary: json }, { weight: 3, arbitrary: mutated(fitted(route, tenant)) });
    await fc.assert(
      fc.asyncProperty(bodies, fc.boolean(), async (body, asAdmin) => {
        const { operation } = route;
        const before = await fingerprint();
        const caller = asAdmin ? api.admin : tenant.callers.owner;
        const answer = await caller.send(
          operation.method,
          pathOf(operation, tenant.params),
          JSON.stringify(body) ?? "",
        );
        expect(answer.status, JSON.stringify(answer.body)).toBeLessThan(500);
        if (answer.status < 400) {
          // It went through, so it may have renamed or removed what the next body needs.
          if (operation.method === "DELETE" || /rename|ByName|Organization$/.test(route.id))
            tenant = await makeTenant(api);
          return;
        }
        expect(answer.body.errors.length).toBeGreaterThan(0);
        for (const error of answer.body.errors) {
          expect(error).toMatchObject({
            status: String(answer.status),
            title: expect.any(String),
            detail: expect.any(String),
          });
        }
        expect(await fingerprint()).toBe(before);
      }),
      { numRuns: deep(14, 1500), seed },
    );
    last = tenant;
  });

  /** Examples name things that no tenant has; these name the tenant's own. */
  function fitted({ operation }: Route, tenant: Tenant): unknown {
    const text = JSON.stringify(operation.example)
      .replaceAll("ou-1234567890abcdef", tenant.member.membershipId)
      .replaceAll("prj-1234567890abcdef", tenant.defaultProjectId)
      .replaceAll("ws-1234567890abcdef", tenant.params["workspace_id"] ?? "")
      .replaceAll("team-1234567890abcdef", tenant.teamId)
      .replaceAll('"ada"', JSON.stringify(tenant.member.username));
    return JSON.parse(text);
  }
});
