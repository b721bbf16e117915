/** The releases that ship with the service are rows like any other: listed, shown, changed and removed. */
import { describe, expect, it } from "vitest";
import { downloadOf, shippedReleases } from "../../../../src/database/migrations/0008-identity.ts";
import { newestRelease } from "../../../../src/resources/site/terraform-versions/reads.ts";
import { type Json, useApi } from "../../../support/api.ts";
import { data, details, makeOrganization, makeWorkspace, resource } from "../../../support/builders.ts";

const api = useApi();
const list = "/admin/terraform-versions";
const find = async (version: string): Promise<Json> =>
  data(await api.admin.get(`${list}?filter[version]=${version}`))[0];
const update = (id: string, attributes: object) =>
  api.admin.patch(`${list}/${id}`, resource("terraform-versions", attributes));
const all = async (): Promise<string[]> => {
  const pages = [1, 2, 3].map((page) => api.admin.get(`${list}?page[size]=100&page[number]=${page}`));
  return (await Promise.all(pages)).flatMap((answer) => data(answer).map(({ id }: Json) => id));
};
const newest = () => api.database.write((tx) => newestRelease(tx));

describe("a new database", () => {
  it("lists every release that ships, the newest first", async () => {
    const versions: string[] = [];
    for (let page = 1; versions.length < shippedReleases.length; page += 1) {
      const answer = await api.admin.get(`${list}?page[size]=100&page[number]=${page}`);
      expect(answer.body.meta.pagination["total-count"]).toBe(shippedReleases.length);
      versions.push(...answer.body.data.map(({ attributes }: Json) => attributes.version));
    }
    expect(versions).toEqual(shippedReleases.toReversed());
  });

  it("shows each by its id, as an official release", async () => {
    const found = await find("1.0.4");
    expect(found).toEqual({
      id: expect.stringMatching(/^tool-/),
      type: "terraform-versions",
      attributes: {
        version: "1.0.4",
        url: downloadOf("1.0.4"),
        sha: null,
        archs: [{ url: downloadOf("1.0.4"), sha: "", os: "linux", arch: "amd64" }],
        official: true,
        enabled: true,
        beta: false,
        deprecated: false,
        "deprecated-reason": null,
        usage: 0,
        "created-at": expect.stringMatching(/Z$/),
      },
      links: { self: `/api/v2${list}/${found.id}` },
    });
    expect(data(await api.admin.get(`${list}/${found.id}`))).toEqual(found);
  });

  it("searches by part; an exact filter takes precedence", async () => {
    const versions = async (query: string): Promise<string[]> =>
      data(await api.admin.get(`${list}?page[size]=100&${query}`)).map(({ attributes }: Json) => attributes.version);
    const found = await versions("search[version]=1.14.");
    expect(found).toEqual(shippedReleases.filter((version) => version.includes("1.14.")).toReversed());
    expect(await versions("filter[version]=1.5.7&search[version]=1.14.")).toEqual(["1.5.7"]);
    expect(await versions("filter[version]=1000.1000.42")).toEqual([]);
  });

  it("422: can't be added again", async () => {
    const answer = await api.admin.post(list, resource("terraform-versions", { version: "1.5.7" }));
    expect(answer.status).toBe(422);
    expect(details(answer)).toEqual(["Version has already been taken"]);
  });
});

describe("a release that ships", () => {
  it("200: can be disabled like any other, and new workspaces don't use it", async () => {
    const [before, last] = shippedReleases.slice(-2) as [string, string];
    const org = await makeOrganization(api);
    const engine = async () => (await makeWorkspace(api, org.name)).attributes["terraform-version"];
    expect(await engine()).toBe(last);
    const { id } = await find(last);
    expect(data(await update(id, { enabled: false })).attributes.enabled).toBe(false);
    expect(await engine()).toBe(before);
    expect(data(await update(id, { enabled: true, deprecated: true })).attributes).toMatchObject({ deprecated: true });
    expect(await engine()).toBe(last);
  });

  it("204: can be deleted like any other; without any version, workspaces use latest", async () => {
    const { id } = await find("0.12.0");
    expect((await api.admin.delete(`${list}/${id}`)).status).toBe(204);
    expect(await find("0.12.0")).toBeUndefined();
    const ids = await all();
    // All but one in one statement, because there are hundreds.
    const [last = "", ...others] = ids;
    const { database } = api;
    await database.write((tx) =>
      tx.db.updateTable("engineVersions").set({ enabled: 0 }).where("id", "in", others).execute(),
    );
    expect((await update(last, { enabled: false })).status).toBe(200);
    expect(await newest()).toBe(shippedReleases.at(-1));
    await database.write((tx) => tx.db.deleteFrom("engineVersions").where("id", "in", others).execute());
    expect((await api.admin.delete(`${list}/${last}`)).status).toBe(204);
    expect(await newest()).toBe("latest");
    const org = await makeOrganization(api);
    expect((await makeWorkspace(api, org.name)).attributes["terraform-version"]).toBe("latest");
  });
});
