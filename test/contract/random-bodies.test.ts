/** Whatever is sent to a route that writes: never a 500, and never half a change. */
import { createHash } from "node:crypto";
import fc from "fast-check";
import { sql } from "kysely";
import { describe, expect, it } from "vitest";
import { useApi } from "../support/api.ts";
import { deep, seed } from "../support/depth.ts";
import { makeTenant, pathOf, type Route, routes, type Tenant, writes } from "../support/tenant.ts";

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

/** Everything in the register, as one number: when a token was last used is written off the path, so it is left out. */
async function fingerprint(): Promise<string> {
  const hash = createHash("sha256");
  for (const table of [
    "users",
    "organizations",
    "organization_memberships",
    "teams",
    "team_members",
    "projects",
    "team_projects",
    "workspaces",
    "team_workspaces",
    "ssh_keys",
    "agent_pools",
    "agent_pool_scopes",
    "oauth_clients",
    "oauth_tokens",
    "engine_versions",
    "remote_state_consumers",
    "data_retention_policies",
    "reserved_tag_keys",
    "audit_events",
  ]) {
    const rows = (await sql`select * from ${sql.table(table)}`.execute(api.database.reader.db)).rows.map((row) =>
      JSON.stringify(row),
    );
    hash.update(table).update(rows.toSorted().join("\n"));
  }
  const tokens = await sql`select id, hash, expired_at from tokens order by id`.execute(api.database.reader.db);
  return hash.update(JSON.stringify(tokens.rows)).digest("hex");
}

describe("random bodies", () => {
  const withBody = routes.filter(({ operation }) => writes(operation) && operation.body !== undefined);

  it.each(withBody)("leave $id standing", async (route) => {
    let tenant = await makeTenant(api);
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
          // It went through, so it may have renamed or emptied what the next body needs.
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
      { numRuns: deep(25, 1500), seed },
    );
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
