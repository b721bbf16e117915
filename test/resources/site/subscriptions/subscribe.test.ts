/** POST /admin/organizations/:organization_name/subscription: accepted without effect. */
import { beforeAll, describe, expect, it } from "vitest";
import { useApi } from "../../../support/api.ts";
import { data, type Org, pointers } from "../../../support/builders.ts";

const api = useApi();
let org: Org;
beforeAll(async () => {
  org = await api.makeOrganization();
});
const path = () => `/admin/organizations/${org.name}/subscription`;
const to = (id: unknown, type = "subscription", attributes?: object) => ({
  data: { type, attributes, relationships: { "feature-set": { data: { type: "feature-sets", id } } } },
});

describe("subscribeOrganization", () => {
  it("200: accepts any limits and dates, without effect", async () => {
    const before = await org.owner.get(`/organizations/${org.name}`);
    const set = data(await org.owner.get(`/organizations/${org.name}/entitlement-set`));
    const answer = await api.admin.post(path(), to("fs-free", "subscription", { "runs-ceiling": 1, "end-at": "x" }));
    expect(answer.status).toBe(200);
    expect(answer.body).toEqual({
      data: {
        id: org.id.replace("org-", "sub-"),
        type: "subscriptions",
        attributes: { "is-active": true, "end-at": null, "runs-ceiling": null, "agents-ceiling": null },
        relationships: {
          organization: {
            data: { id: org.name, type: "organizations" },
            links: { related: `/api/v2/organizations/${org.name}` },
          },
          "feature-set": { data: { id: "fs-free", type: "feature-sets" } },
        },
      },
    });
    const after = await org.owner.get(`/organizations/${org.name}`);
    expect([after.body, after.headers.get("etag")]).toEqual([before.body, before.headers.get("etag")]);
    expect(data(await org.owner.get(`/organizations/${org.name}/entitlement-set`))).toEqual(set);
    expect((await api.admin.post(path(), to("fs-business", "subscriptions"))).status).toBe(200);
  });

  it.each([
    ["an unknown feature set", to("fs-unknown"), "/data/relationships/feature-set"],
    ["an id that is no text", to(7), "/data/relationships/feature-set/data/id"],
    ["an empty id", to(""), "/data/relationships/feature-set/data/id"],
    ["another type", to("fs-free", "organizations"), "/data/type"],
    ["no feature set", { data: { type: "subscription" } }, "/data/relationships"],
    ["no data", {}, "/data"],
  ])("422: %s", async (_, body, pointer) => {
    const answer = await api.admin.post(path(), body);
    expect(answer.status).toBe(422);
    expect(pointers(answer)).toEqual([pointer]);
  });

  it("404: for everybody but site admins, and for an unknown organization; 401 without a token", async () => {
    for (const caller of [org.owner, await api.makeUser(), await api.makeOrganizationToken(org.name)])
      expect((await caller.post(path(), to("fs-free"))).status).toBe(404);
    expect((await api.admin.post("/admin/organizations/none-such/subscription", to("fs-free"))).status).toBe(404);
    expect((await api.nobody.post(path(), to("fs-free"))).status).toBe(401);
  });
});
