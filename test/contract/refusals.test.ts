/**
 * Every route that reads is refused to somebody of the same organization, who may see the organization and holds nothing in
 * it; a list shows them less. What every member may read stands in `goldens/without-refusal.txt`, with its reason.
 * `writes.test.ts` sees to the routes that write.
 */
import { beforeAll, describe, expect, it } from "vitest";
import { type Answer, type Caller, useApi } from "../support/api.ts";
import { inProject, makeOrganization, makeTeam, makeVarset } from "../support/builders.ts";
import { readReasons } from "../support/lists.ts";
import { isRefused, type Lowly, makeLowly } from "../support/lowly.ts";
import { staged } from "../support/scenes.ts";
import { makeTenant, routes, type Tenant, writes } from "../support/tenant.ts";

const open = readReasons("test/goldens/without-refusal.txt");
const api = useApi();
let tenant: Tenant;
let lowly: Lowly;

beforeAll(async () => {
  tenant = await makeTenant(api);
  lowly = await makeLowly(api, tenant);
  // Of what only some may see, there is something to see.
  await makeOrganization(api);
  await makeTeam(api, tenant.name, { visibility: "secret" });
  await makeVarset(api, tenant.name, {}, { parent: inProject(tenant.projectId).project });
});

/** How many a list shows; undefined for what is no list. */
const lengthOf = ({ body }: Answer): number | undefined => (Array.isArray(body?.data) ? body.data.length : undefined);

describe("a route that reads", () => {
  it.each(routes.filter(({ operation }) => !writes(operation)))("is refused to some: $id", async (route) => {
    const request = await staged(route, { api, tenant });
    const answersTo = async (callers: readonly Caller[]) => {
      const answers: Answer[] = [];
      for (const caller of callers) answers.push(await request.send(caller));
      return answers;
    };
    const high = await answersTo([...request.callers, tenant.owner, api.admin]);
    const told = high.map(({ status, body }) => `${status} ${JSON.stringify(body)}`).join("\n");
    expect(
      high.some(({ status }) => status === 200),
      `it goes through for nobody; does test/support/scenes.ts need a line for it?\n${told}`,
    ).toBe(true);
    const most = Math.max(...high.map((answer) => lengthOf(answer) ?? 0));
    const low = await answersTo(lowly.map(([, caller]) => caller));
    const wasRefused = low.some((answer) => isRefused(answer) || (lengthOf(answer) ?? most) < most);
    expect(wasRefused, "whether somebody of low standing is refused").toBe(!open.has(route.id));
  });

  it("is known, where it is refused to nobody", () => {
    expect([...open.keys()].filter((id) => !routes.some((route) => route.id === id))).toEqual([]);
  });
});
