/**
 * The server's time grows at most linearly with its input: hostile input of growing size for every field, query parameter, path, header and
 * content, generated from the OpenAPI document, so that new fields are covered. `npm run test:growth` tries every kind of text everywhere;
 * otherwise each field gets a few.
 */
import { beforeAll, describe, expect, inject, it } from "vitest";
import { Description, type Operation } from "../../fuzz/document.ts";
import { readFileSync } from "node:fs";
import { globs, wildcard } from "../../src/kernel/patterns.ts";
import { claimsMatch } from "../../src/resources/identity/identity-trusts/rules.ts";
import { redactPlanBytes, readPlanMembers } from "../../src/resources/runs/plan-outputs/plan-bytes.ts";
import { parseLargeStates } from "../../src/resources/state/state-versions/maintenance/maintenance.ts";
import { maskedValues } from "../../src/kernel/secret-spellings.ts";
import { type Caller, useApi } from "../support/api.ts";
import { deep, isDeep } from "../support/depth.ts";
import { expectLinear } from "../support/growth.ts";
import {
  hostileArchives,
  hostileFields,
  hostilePlans,
  hostileStates,
  hostileTexts,
  someTexts,
  withAt,
} from "../support/hostile.ts";
import { prepareRequest } from "../support/scenes.ts";
import { jobContextOf } from "../support/states.ts";
import { reuseTenant, makeTenant, pathOf, type Route, routes, type Tenant, withQuery } from "../support/tenant.ts";

const api = useApi();
const document = new Description(
  JSON.parse(readFileSync(new URL("../goldens/openapi.json", import.meta.url), "utf8")) as never,
);
const byId = new Map(document.operations.map((operation) => [operation.id, operation]));
const isStream = ({ operation }: Route) => typeof operation.body === "object" && "stream" in operation.body;
const stepsOf = deep(2, 4);
/** Hardly any of this depends on the engine. */
const describeOnSqlite = describe.runIf(isDeep || inject("engine") === "sqlite");

let tenant: Tenant;
let round = 0;
beforeAll(async () => {
  tenant = await makeTenant(api);
});

const described = (route: Route): Operation => {
  const found = byId.get(route.id);
  if (found === undefined) {
    const command = "npx vitest run --project pure -u test/goldens.test.ts";
    throw new Error(`test/goldens/openapi.json has no ${route.id}; update it with ${command}`);
  }
  return found;
};

describeOnSqlite("the measurement", () => {
  it("refuses cost that grows more than fivefold with each doubling and accepts linear cost", async () => {
    const steep = (size: number) => {
      let sum = 0;
      for (let step = 0; step < size ** 2.5; step += 1) sum += step % 7;
      return sum;
    };
    await expect(expectLinear("steep", steep, 1200, 1)).rejects.toThrow(/steep: a quarter, half and all/);
    await expectLinear("letters", (size) => JSON.parse(JSON.stringify(Array.from({ length: size }, String))), 400_000);
  });
});

describeOnSqlite("fields of bodies", () => {
  const bodyBytesMax = deep(300_000, 900_000);
  const withBody = routes.filter((route) => route.operation.body !== undefined && !isStream(route));

  it.each(withBody)("$id", async (route) => {
    tenant = await reuseTenant(api, tenant);
    const request = await prepareRequest(route, { api, tenant });
    const caller: Caller = request.callers[0] ?? (/admin/i.test(route.operation.path) ? api.admin : tenant.owner);
    for (const { schema = {} } of Object.values(described(route).bodies))
      for (const { place, make, sizesMax } of hostileFields(document, schema, bodyBytesMax))
        for (const sizeMax of sizesMax)
          for (const family of someTexts((round += 1), isDeep).slice(0, deep(1, 100)))
            await expectLinear(
              `${route.id} ${place.join(".")}: ${family}`,
              async (size) => {
                const body = JSON.stringify(withAt(request.body, place, make(family, size)));
                const { status } = await request.send(caller, body);
                expect(status, `${route.id} ${place.join(".")}: ${family}, ${size} bytes`).toBeLessThan(500);
              },
              sizeMax,
              stepsOf,
            );
  });
});

describeOnSqlite("addresses and headers", () => {
  const queryBytesMax = 2_600;
  const gets = routes.filter(({ operation }) => operation.method === "GET" && !operation.isSigned);

  it.each(gets)("parameters of $id", async (route) => {
    tenant = await reuseTenant(api, tenant);
    const path = pathOf(route.operation, tenant.params);
    const names = described(route).parameters.filter((each) => each.in === "query");
    for (const { name } of [...names, { name: "include" }, { name: "unknown" }])
      for (const family of someTexts((round += 1), isDeep)) {
        const send = (size: number) => {
          const value = encodeURIComponent(hostileTexts[family]?.(size) ?? "").slice(0, 7_800);
          return api.admin.get(withQuery(path, `?${encodeURIComponent(name)}=${value.replace(/%.?$/, "")}`));
        };
        await expectLinear(`${route.id} ?${name}: ${family}`, send, queryBytesMax, 1);
      }
    const last = path.split("?")[0]?.replace(/[^/]*$/, "") ?? "";
    for (const family of someTexts((round += 1), isDeep))
      await expectLinear(
        `${route.id} in its path: ${family}`,
        (size) => api.admin.get(last + encodeURIComponent(hostileTexts[family]?.(size) ?? "").slice(0, 7_800)),
        queryBytesMax,
        1,
      );
  });

  const headers = [
    "accept",
    "accept-encoding",
    "authorization",
    "content-type",
    "cookie",
    "forwarded",
    "if-match",
    "if-none-match",
    "origin",
    "range",
    "referer",
    "traceparent",
    "user-agent",
    "x-forwarded-for",
    "x-forwarded-host",
    "x-forwarded-proto",
    "x-request-id",
    "x-terraform-integration",
  ];

  it.each(headers)("%s", async (name) => {
    const paths = [
      `/organizations/${tenant.name}/workspaces`,
      `/workspaces/${tenant.params["workspace_id"]}`,
      "/api/v2/openapi.json",
      "/api/v2/ping",
    ];
    for (const path of paths)
      for (const family of isDeep ? Object.keys(hostileTexts) : someTexts((round += 1), false)) {
        const value = (size: number) => (hostileTexts[family]?.(size) ?? "").replaceAll("\n", "");
        await expectLinear(
          `${name} of ${path}: ${family}`,
          (size) => api.admin.get(path, { [name]: value(size) }),
          12_000,
          1,
        );
        await expectLinear(
          `${name} of a change: ${family}`,
          (size) => api.admin.patch(`/workspaces/${tenant.params["workspace_id"]}`, "{}", { [name]: value(size) }),
          12_000,
          1,
        );
      }
  });
});

describeOnSqlite("contents", () => {
  const bytesMax = deep(2, 16) * 1024 * 1024;
  const kinds = { ...hostileStates, ...hostileArchives, ...(isDeep ? { ...hostilePlans, ...hostileTexts } : {}) };

  it.each(routes.filter(isStream))("$id", async (route) => {
    tenant = await reuseTenant(api, tenant);
    for (const [kind, make] of Object.entries(kinds))
      await expectLinear(
        `${route.id}: ${kind}`,
        async (size) => {
          const request = await prepareRequest(route, { api, tenant });
          await request.send(request.callers[0] ?? tenant.owner, make(size));
          await parseLargeStates(jobContextOf(api));
        },
        // A log arrives in pieces, and is truncated beyond its limit.
        route.id === "logJob" ? 200_000 : bytesMax,
        deep(1, 3),
      );
  });

  it.each(Object.entries(hostilePlans))("a plan of %s", async (kind, make) => {
    const secrets = [
      { value: "hunter2", hcl: false },
      { value: "aaaa", hcl: false },
      { value: `${"a".repeat(500)}b`, hcl: false },
    ];
    const attempt = (work: () => unknown) => {
      try {
        return work();
      } catch {
        // A refusal must not take long either.
        return undefined;
      }
    };
    await expectLinear(
      kind,
      (size) => {
        const bytes = Buffer.from(make(size));
        attempt(() => redactPlanBytes({ plan: bytes, schemas: bytes, secrets }));
        attempt(() => readPlanMembers(bytes, ["resource_drift", "checks"]));
      },
      deep(1, 16) * 512 * 1024,
      deep(2, 3),
    );
  });
});

describeOnSqlite("patterns and the texts that they match", () => {
  const kinds = Object.entries(hostileTexts).filter((_, index) => isDeep || index % 3 === 0);

  it.each(kinds)("%s", async (kind, make) => {
    for (const pattern of [`${"*a".repeat(255)}b`, make(512)].slice(0, deep(1, 2))) {
      await expectLinear(`${kind} and a wildcard`, (size) => wildcard(pattern)(make(size)), 100_000, 2);
      await expectLinear(`${kind} and a glob`, (size) => globs([pattern])(make(size)), 4_000, 2);
      await expectLinear(
        `${kind} as a claim`,
        (size) => claimsMatch({ sub: pattern }, { sub: [make(size)] }),
        100_000,
        2,
      );
    }
    await expectLinear(`${kind} in HCL`, (size) => maskedValues({ value: make(size), hcl: true }), 256 * 1024, 3);
  });
});
