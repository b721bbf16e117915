/**
 * Every route that reads is refused to somebody of the same organization, who may see the organization and holds nothing in
 * it; a list shows them less. `writes.test.ts` does the same for the routes that write. What every member may do is refused to
 * others of the organization (`refusedToNonMembers`); what is refused to nobody stands in `goldens/without-refusal.txt`.
 */
import { beforeAll, describe, expect, it } from "vitest";
import { type Answer, type Caller, useApi } from "../support/api.ts";
import { inProject, makeOrganization, makeTeam, makeVarset, unique } from "../support/builders.ts";
import { readReasons } from "../support/lists.ts";
import { isRefused, type Lowly, makeLowly, makeNonMembers, refusedToNonMembers } from "../support/lowly.ts";
import { staged } from "../support/scenes.ts";
import { makeTenant, routes, type Tenant, writes } from "../support/tenant.ts";

const open = readReasons("test/goldens/without-refusal.txt");
const api = useApi();
let tenant: Tenant;
let lowly: Lowly;
let nonMembers: Awaited<ReturnType<typeof makeNonMembers>>;

beforeAll(async () => {
  tenant = await makeTenant(api);
  lowly = await makeLowly(api, tenant);
  nonMembers = await makeNonMembers(api, tenant);
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
    const isForMembers = open.has(route.id) || route.id in refusedToNonMembers;
    const message = isForMembers
      ? "a member without access is refused; remove the route from refusedToNonMembers (test/support/lowly.ts) or test/goldens/without-refusal.txt"
      : "no member is refused; if every member may read it, add the route to refusedToNonMembers in test/support/lowly.ts";
    expect(wasRefused, message).toBe(!isForMembers);
  });

  it("is known, where it is refused to nobody", () => {
    expect([...open.keys()].filter((id) => !routes.some((route) => route.id === id))).toEqual([]);
  });
});

/** With its last character before `/actions` replaced: another secret, or another signature. */
const altered = (path: string) =>
  path.replace(/(.)(?=$|\/actions\/)/, (last) => (last === "A" || last === "Q" ? "g" : "A"));

describe("what every member may do", () => {
  it.each(Object.entries(refusedToNonMembers))("is refused to others: %s", async (id, refused) => {
    const route = routes.find((each) => each.id === id);
    if (route === undefined) throw new Error(`there is no operation ${id}`);
    const { method } = route.operation;
    const request = await staged(route, { api, tenant });
    if (refused === "altered path") {
      const path = altered(request.path);
      expect(path).not.toBe(request.path);
      expect((await api.nobody.send(method, path, request.body)).status).toBe(404);
    } else if (refused === "altered body") {
      const body = JSON.parse(JSON.stringify(request.body).replace(String(tenant.owner.token), unique("none")));
      expect((await api.nobody.send(method, request.path, body)).status).toBe(401);
    } else for (const each of refused) expect((await request.send(nonMembers[each])).status, each).toBe(404);
  });
});
