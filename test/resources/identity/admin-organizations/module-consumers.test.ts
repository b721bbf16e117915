/** Which organizations may use another's modules: stored and shown, for the day there is a registry. */
import { beforeEach, describe, expect, it } from "vitest";
import { type Json, useApi } from "../../../support/api.ts";
import { data, details, makeOrganization, type Org, pointers, resource } from "../../../support/builders.ts";

const api = useApi();
let org: Org;
let [first, second]: Org[] = [];
beforeEach(async () => {
  org = await makeOrganization(api);
  [first, second] = [await makeOrganization(api), await makeOrganization(api)];
});

const at = () => `/admin/organizations/${org.name}`;
const path = () => `${at()}/relationships/module-consumers`;
const replace = (...names: (string | undefined)[]) =>
  api.admin.patch(path(), { data: names.map((id) => ({ type: "organizations", id })) });
const consumers = async (query = ""): Promise<string[]> =>
  data(await api.admin.get(path() + query))
    .map(({ id }: Json) => id)
    .toSorted();
const share = (isOn: boolean) => api.admin.patch(at(), resource("organizations", { "global-module-sharing": isOn }));
const isShared = async () => data(await api.admin.get(at())).attributes["global-module-sharing"];

describe("replaceModuleConsumers", () => {
  it("204: they are the consumers from now on, and no others", async () => {
    expect(await consumers()).toEqual([]);
    expect((await replace(first?.name, second?.name)).status).toBe(204);
    expect(await consumers()).toEqual([first?.name, second?.name].toSorted());
    expect(data(await api.admin.get(`${path()}?page[size]=1`))).toHaveLength(1);
    expect((await replace(second?.name.toUpperCase(), second?.name)).status).toBe(204);
    expect(await consumers()).toEqual([second?.name]);
    expect((await replace()).status).toBe(204);
    expect(await consumers()).toEqual([]);
  });

  it("204: ends the sharing with all; sharing with all ends the list", async () => {
    await share(true);
    await replace(first?.name);
    expect(await isShared()).toBe(false);
    expect(await consumers()).toEqual([first?.name]);
    await share(true);
    expect(await isShared()).toBe(true);
    expect(await consumers()).toEqual([]);
  });

  it("422: an unknown organization, itself, another type; nothing changes", async () => {
    await replace(first?.name);
    const unknown = await replace(second?.name, "unknown");
    expect(unknown.status).toBe(422);
    expect(pointers(unknown)).toEqual(["/data/1/id"]);
    expect(details(unknown)).toEqual(["Organization 'unknown' does not exist"]);
    expect(details(await replace(org.name))).toEqual(["An organization can't be its own consumer"]);
    expect((await api.admin.patch(path(), { data: [{ type: "teams", id: first?.name }] })).status).toBe(422);
    expect(await consumers()).toEqual([first?.name]);
  });

  it("forgets an organization that is deleted, and goes with its own", async () => {
    await replace(first?.name, second?.name);
    await api.admin.delete(`/organizations/${first?.name}`);
    expect(await consumers()).toEqual([second?.name]);
    await api.admin.delete(`/organizations/${org.name}`);
    expect((await api.admin.get(path())).status).toBe(404);
  });

  it("leaves a trace", async () => {
    await replace(first?.name);
    const query = "filter[action]=organizations.replace-module-consumers";
    const [event] = data(await org.owner.get(`/organizations/${org.name}/audit-events?${query}`));
    expect(event.attributes).toMatchObject({
      before: { "module-consumers": [] },
      after: { "module-consumers": [first?.name] },
    });
  });
});
