/**
 * Every read route refuses a caller who can see the organization but has no permissions in it, or shows them a shorter list.
 * `writes.test.ts` checks the write routes. Routes that every member can call refuse callers who are not members
 * (`refusedToNonMembers`); routes that refuse nobody are in `goldens/without-refusal.txt`.
 */
import { beforeAll, describe, expect, it } from "vitest";
import { type Answer, type Caller, useApi } from "../support/api.ts";
import { inProject, makeOrganization, makeTeam, makeVarset, unique } from "../support/builders.ts";
import { readReasons } from "../support/exception-lists.ts";
import {
  isRefused,
  type UnprivilegedCallers,
  makeUnprivileged,
  makeNonMembers,
  refusedToNonMembers,
} from "../support/unprivileged.ts";
import { prepareRequest } from "../support/scenes.ts";
import { makeTenant, routes, type Tenant, writes } from "../support/tenant.ts";

const open = readReasons("test/goldens/without-refusal.txt");
const api = useApi();
let tenant: Tenant;
let unprivileged: UnprivilegedCallers;
let nonMembers: Awaited<ReturnType<typeof makeNonMembers>>;

beforeAll(async () => {
  tenant = await makeTenant(api);
  unprivileged = await makeUnprivileged(api, tenant);
  nonMembers = await makeNonMembers(api, tenant);
  // Resources that only some callers can see must exist.
  await makeOrganization(api);
  await makeTeam(api, tenant.name, { visibility: "secret" });
  await makeVarset(api, tenant.name, {}, { parent: inProject(tenant.projectId).project });
});

/** The length of a list; undefined for other documents. */
const lengthOf = ({ body }: Answer): number | undefined => (Array.isArray(body?.data) ? body.data.length : undefined);

describe("a read route", () => {
  it.each(routes.filter(({ operation }) => !writes(operation)))("refuses some callers: $id", async (route) => {
    const request = await prepareRequest(route, { api, tenant });
    const answersTo = async (callers: readonly Caller[]) => {
      const answers: Answer[] = [];
      for (const caller of callers) answers.push(await request.send(caller));
      return answers;
    };
    const privilegedAnswers = await answersTo([...request.callers, tenant.owner, api.admin]);
    const responses = privilegedAnswers.map(({ status, body }) => `${status} ${JSON.stringify(body)}`).join("\n");
    expect(
      privilegedAnswers.some(({ status }) => status === 200),
      `it succeeds for no caller; does test/support/scenes.ts need an entry for it?\n${responses}`,
    ).toBe(true);
    const longest = Math.max(...privilegedAnswers.map((answer) => lengthOf(answer) ?? 0));
    const unprivilegedAnswers = await answersTo(unprivileged.map(([, caller]) => caller));
    const wasRefused = unprivilegedAnswers.some(
      (answer) => isRefused(answer) || (lengthOf(answer) ?? longest) < longest,
    );
    const isForMembers = open.has(route.id) || route.id in refusedToNonMembers;
    const message = isForMembers
      ? "a member without access is refused; remove it from test/support/unprivileged.ts or test/goldens/without-refusal.txt"
      : "no member is refused; if every member can read it, add the route to refusedToNonMembers in test/support/unprivileged.ts";
    expect(wasRefused, message).toBe(!isForMembers);
  });

  it("exists, if it is listed as refusing nobody", () => {
    expect([...open.keys()].filter((id) => !routes.some((route) => route.id === id))).toEqual([]);
  });
});

/** With its last character before `/actions` replaced: another secret, or another signature. */
const altered = (path: string) =>
  path.replace(/(.)(?=$|\/actions\/)/, (last) => (last === "A" || last === "Q" ? "g" : "A"));

describe("a route that every member can call", () => {
  it.each(Object.entries(refusedToNonMembers))("refuses callers who are not members: %s", async (id, refused) => {
    const route = routes.find((each) => each.id === id);
    if (route === undefined) throw new Error(`there is no operation ${id}`);
    const { method } = route.operation;
    const request = await prepareRequest(route, { api, tenant });
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
