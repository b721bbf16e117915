/** Whatever is sent to a route that writes: never a 500, and never half a change. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { useApi } from "../support/api.ts";
import { deep, seed } from "../support/depth.ts";
import { sampled } from "../support/once.ts";
import { fingerprint } from "../support/register.ts";
import { exampleFor, intact, makeTenant, pathOf, routes, type Tenant, writes } from "../support/tenant.ts";

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

describe("random bodies", () => {
  let last: Tenant | undefined;

  const withBody = routes.filter(
    ({ operation }) => writes(operation) && operation.body !== undefined && !operation.signed,
  );

  it.each(withBody)("leave $id standing", async (route) => {
    let tenant = await intact(api, last);
    const bodies = fc.oneof(
      { weight: 1, arbitrary: json },
      { weight: 3, arbitrary: mutated(exampleFor(route.operation, tenant)) },
    );
    // A refusal leaves what was there before, so what is seen after it is what the next body finds.
    let seen: string | undefined;
    await fc.assert(
      fc.asyncProperty(bodies, fc.boolean(), async (body, asAdmin) => {
        const { operation } = route;
        const before = seen ?? (await fingerprint(api.database));
        seen = undefined;
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
        const after = await fingerprint(api.database);
        expect(after).toBe(before);
        seen = after;
      }),
      { numRuns: sampled(deep(14, 1500)), seed },
    );
    last = tenant;
  });
});
