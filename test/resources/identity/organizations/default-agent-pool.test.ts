/** The default agent pool of an organization: set only in agent mode. */
import { beforeEach, describe, expect, it } from "vitest";
import { useApi } from "../../../support/api.ts";
import { data, details, makeOrganization, type Org, pointers, resource } from "../../../support/builders.ts";

const api = useApi();
let org: Org;
let pool: string;
const makePool = async (name: string): Promise<string> =>
  data(await org.owner.post(`/organizations/${org.name}/agent-pools`, resource("agent-pools", { name }))).id;
beforeEach(async () => {
  org = await makeOrganization(api);
  pool = await makePool("first");
});

const update = (attributes: object, id?: string | null) =>
  org.owner.patch(
    `/organizations/${org.name}`,
    resource(
      "organizations",
      attributes,
      id === undefined ? undefined : { "default-agent-pool": { data: id && { type: "agent-pools", id } } },
    ),
  );
const shown = async () => {
  const { attributes, relationships } = data(await org.owner.get(`/organizations/${org.name}`));
  return [attributes["default-execution-mode"], relationships["default-agent-pool"].data?.id ?? null];
};
const agent = { "default-execution-mode": "agent" };

describe("the default agent pool", () => {
  it.each([
    ["no mode", {}],
    ["remote", { "default-execution-mode": "remote" }],
    ["local", { "default-execution-mode": "local" }],
  ])("422: sent while the mode is not agent: %s", async (_, attributes) => {
    const answer = await update(attributes, pool);
    expect(answer.status).toBe(422);
    expect(pointers(answer)).toEqual(["/data/relationships/default-agent-pool"]);
    expect(details(answer)).toEqual(["Default agent pool must not be specified unless using 'agent' execution mode"]);
    expect(await shown()).toEqual(["remote", null]);
  });

  it("200: set together with agent mode, then changed alone; null is rejected, absent stays", async () => {
    expect((await update(agent, pool)).status).toBe(200);
    expect(await shown()).toEqual(["agent", pool]);
    const second = await makePool("second");
    expect((await update({}, second)).status).toBe(200);
    expect(await shown()).toEqual(["agent", second]);
    expect((await update({}, null)).status).toBe(422);
    expect((await update({ email: "other@example.com" })).status).toBe(200);
    expect(await shown()).toEqual(["agent", second]);
  });

  it.each(["remote", "local"])("200: is cleared when the mode changes to %s", async (mode) => {
    data(await update(agent, pool));
    const answer = await update({ "default-execution-mode": mode });
    expect(data(answer).relationships["default-agent-pool"].data).toBeNull();
    expect(await shown()).toEqual([mode, null]);
    expect((await update(agent)).status).toBe(422);
  });

  it("422: the current pool, sent while the mode changes", async () => {
    data(await update(agent, pool));
    expect((await update({ "default-execution-mode": "remote" }, pool)).status).toBe(422);
    expect((await update({ "default-execution-mode": "remote" }, null)).status).toBe(200);
    expect(await shown()).toEqual(["remote", null]);
  });

  it("200: null without a pool changes nothing", async () => {
    const before = (await org.owner.get(`/organizations/${org.name}`)).headers.get("etag");
    expect((await update({}, null)).headers.get("etag")).toBe(before);
  });
});
