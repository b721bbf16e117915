/** Whatever is sent to a route that writes: never a 500, and never half a change. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { useApi } from "../support/api.ts";
import { deep, seed } from "../support/depth.ts";
import { sampled } from "../support/once.ts";
import { fingerprint } from "../support/register.ts";
import { exampleFor, intact, makeTenant, pathOf, routes, type Tenant, writes } from "../support/tenant.ts";
import { mutated, wildJson } from "../support/wild.ts";

const api = useApi();

describe("random bodies", () => {
  let last: Tenant | undefined;

  const withBody = routes.filter(
    ({ operation }) => writes(operation) && operation.body !== undefined && !operation.signed,
  );

  it.each(withBody)("leave $id standing", async (route) => {
    let tenant = await intact(api, last);
    const bodies = fc.oneof(
      { weight: 1, arbitrary: wildJson },
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
