/** GET /admin/feature-sets: equivalent plans with different names. */
import { describe, expect, it } from "vitest";
import { type Json, useApi } from "../../../support/api.ts";
import { data, makeOrganization, makeOrganizationToken, makeUser } from "../../../support/builders.ts";

const api = useApi();
const names = async (query = ""): Promise<string[]> =>
  data(await api.admin.get(`/admin/feature-sets${query}`)).map((set: Json) => set.attributes.name);

describe("listFeatureSets", () => {
  it("200: all of them, in pages", async () => {
    const answer = await api.admin.get("/admin/feature-sets");
    expect(answer.status).toBe(200);
    expect(answer.body.data[0]).toEqual({
      id: "fs-business",
      type: "feature-sets",
      attributes: { name: "Business", identifier: "business", cost: 0 },
    });
    expect(await names()).toEqual(["Business", "Free", "Standard (entitlement)"]);
    expect(answer.body.meta.pagination["total-count"]).toBe(3);
    expect(await names("?page[size]=2&page[number]=2")).toEqual(["Standard (entitlement)"]);
    expect(await names("?page[number]=9")).toEqual([]);
  });

  it("200: q matches part of the name, ignoring case", async () => {
    expect(await names("?q=Business")).toEqual(["Business"]);
    expect(await names("?q=standard%20(ENT")).toEqual(["Standard (entitlement)"]);
    expect(await names("?q=")).toHaveLength(3);
    expect(await names("?q=%25")).toEqual([]);
  });

  it("404: for everybody but site admins; 401 without a token", async () => {
    const org = await makeOrganization(api);
    for (const caller of [org.owner, await makeUser(api), await makeOrganizationToken(api, org.name)])
      expect((await caller.get("/admin/feature-sets")).status).toBe(404);
    expect((await api.nobody.get("/admin/feature-sets")).status).toBe(401);
  });
});
