/** /admin/terraform-versions: managed by site admins; 404 for everybody else. */
import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { shippedReleases as knownReleases } from "../../../../src/database/migrations/0008-identity.ts";
import { newestRelease } from "../../../../src/resources/site/terraform-versions/reads.ts";
import { type Answer, type Caller, type Json, useApi } from "../../../support/api.ts";
import { data, details, type Org, pointers, resource } from "../../../support/builders.ts";

const api = useApi();
let org: Org;
beforeAll(async () => {
  org = await api.makeOrganization();
});

const sha = "a".repeat(64);
let counter = 0;
const nextVersion = () => `0.1.${(counter += 1)}`;
const create = (attributes: object, caller: Caller = api.admin) =>
  caller.post("/admin/terraform-versions", resource("terraform-versions", attributes));
const list = async (query = "") => api.admin.get(`/admin/terraform-versions${query}`);
const newest = () => api.database.write((tx) => newestRelease(tx));

let version: Json;
beforeEach(async () => {
  version = data(await create({ version: nextVersion(), url: "https://example.com/engine.zip", sha }));
});
const at = () => `/admin/terraform-versions/${version.id}`;
const update = (attributes: object) => api.admin.patch(at(), resource("terraform-versions", attributes));

function expectRefused(answer: Answer, attribute: string, detail: string): void {
  expect(answer.status).toBe(422);
  expect(pointers(answer)).toEqual([`/data/attributes/${attribute}`]);
  expect(details(answer)).toEqual([detail]);
}

describe("createTerraformVersion", () => {
  it("answers 201 with the document that show and list give", async () => {
    const text = nextVersion();
    const answer = await create({ version: text, url: "https://example.com/x", sha, official: true, beta: true });
    expect(answer.status).toBe(201);
    const { id } = answer.body.data;
    expect(answer.body.data).toEqual({
      id: expect.stringMatching(/^tool-/),
      type: "terraform-versions",
      attributes: {
        version: text,
        url: "https://example.com/x",
        sha,
        official: true,
        enabled: true,
        beta: true,
        deprecated: false,
        "deprecated-reason": null,
        archs: [{ url: "https://example.com/x", sha, os: "linux", arch: "amd64" }],
        usage: 0,
        "created-at": expect.stringMatching(/Z$/),
      },
      links: { self: `/api/v2/admin/terraform-versions/${id}` },
    });
    expect(data(await api.admin.get(`/admin/terraform-versions/${id}`))).toEqual(answer.body.data);
    expect(data(await list(`?filter[version]=${text}`))).toEqual([answer.body.data]);
  });

  it("uses defaults for absent attributes", async () => {
    expect(data(await create({ version: nextVersion() })).attributes).toMatchObject({
      url: null,
      sha: null,
      official: false,
      enabled: true,
      beta: false,
    });
  });

  it.each(["1.5", "v1.5.7", "~> 1.5.0", "latest", "one"])("refuses the version %j", async (text) => {
    expectRefused(await create({ version: text }), "version", "Version must be an exact version such as 1.9.5");
  });

  it.each([{}, { version: "" }])("refuses %j", async (attributes) => {
    expectRefused(await create(attributes), "version", "Version can't be blank");
  });

  it.each(["ftp://example.com", "example.com", "https://", "https://user:secret@example.com/x", "https://a b"])(
    "refuses the url %j",
    async (url) => {
      const sentence = "Url must be a URL that starts with http:// or https://, without a username";
      expectRefused(await create({ version: nextVersion(), url }), "url", sentence);
    },
  );

  it.each(["abc", "g".repeat(64)])("refuses the sha %j", async (text) => {
    expectRefused(
      await create({ version: nextVersion(), sha: text }),
      "sha",
      "Sha must be a SHA-256 hash with 64 hex digits",
    );
  });

  it("rejects a taken version, and accepts only one of concurrent requests", async () => {
    expectRefused(await create({ version: version.attributes.version }), "version", "Version has already been taken");
    const text = nextVersion();
    const answers = await Promise.all(Array.from({ length: 6 }, () => create({ version: text })));
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 422, 422, 422, 422, 422]);
  });
});

describe("listTerraformVersions", () => {
  it("shows pages, newest first, with the total", async () => {
    const latest = data(await create({ version: nextVersion() }));
    const answer = await list("?page[size]=2");
    expect(answer.body.data).toHaveLength(2);
    expect(answer.body.data[0].id).toBe(latest.id);
    expect(answer.body.meta.pagination["total-count"]).toBeGreaterThan(2);
    expect((await list("?page[number]=999&page[size]=100")).body.data).toEqual([]);
  });

  it("filters by exact version and searches by part", async () => {
    const [one, two] = [`0.77.${(counter += 1)}`, `0.778.${counter}`];
    await create({ version: one });
    await create({ version: two });
    const found = async (query: string) =>
      data(await list(query))
        .map((item: Json) => item.attributes.version)
        .sort();
    expect(await found(`?filter[version]=${one}`)).toEqual([one]);
    expect(await found("?filter[version]=0.77")).toEqual([]);
    expect(await found("?search[version]=0.77")).toEqual([one, two].sort());
    expect(await found("?search[version]=%25")).toEqual([]);
    expect(await found("?search[version]=0.77.")).toEqual([one]);
  });
});

describe("updateTerraformVersion: a value, null, absent", () => {
  it.each([
    ["official", true],
    ["enabled", false],
    ["beta", true],
    ["version", "0.2.1"],
  ])("%s: a value is set, and the rest stays", async (attribute, value) => {
    const answer = await update({ [attribute]: value });
    expect(answer.status).toBe(200);
    expect(answer.body.data).toEqual({ ...version, attributes: { ...version.attributes, [attribute]: value } });
    expect(data(await api.admin.get(at()))).toEqual(answer.body.data);
  });

  it.each([
    ["url", "http://example.com/other"],
    ["sha", "B".repeat(64)],
  ])("%s: a value is set, in the list of archives too, and the rest stays", async (attribute, value) => {
    const answer = await update({ [attribute]: value });
    expect(answer.status).toBe(200);
    const archs = [{ ...version.attributes.archs[0], [attribute]: value }];
    expect(answer.body.data).toEqual({ ...version, attributes: { ...version.attributes, [attribute]: value, archs } });
    expect(data(await api.admin.get(at()))).toEqual(answer.body.data);
  });

  it.each(["url", "sha"])("%s: null clears it", async (attribute) => {
    expect(data(await update({ [attribute]: null })).attributes[attribute]).toBeNull();
  });

  it.each(["version", "official", "enabled", "beta", "deprecated", "archs"])(
    "%s: null is refused",
    async (attribute) => {
      const answer = await update({ [attribute]: null });
      expect(answer.status).toBe(422);
      expect(pointers(answer)).toEqual([`/data/attributes/${attribute}`]);
    },
  );

  it("absent or read-only: nothing changes, and the ETag stays", async () => {
    const tag = (await api.admin.get(at())).headers.get("etag");
    const answer = await update({ usage: 5, "created-at": "2020-01-01T00:00:00Z" });
    expect(answer.body.data).toEqual(version);
    expect(answer.headers.get("etag")).toBe(tag);
  });

  it("rejects the number of another version, and accepts its own", async () => {
    const other = data(await create({ version: nextVersion() }));
    expectRefused(await update({ version: other.attributes.version }), "version", "Version has already been taken");
    expect((await update({ version: version.attributes.version })).status).toBe(200);
  });
});

describe("deleteTerraformVersion", () => {
  it("removes it", async () => {
    expect((await api.admin.delete(at())).status).toBe(204);
    expect((await api.admin.get(at())).status).toBe(404);
    expect((await api.admin.delete(at())).status).toBe(404);
  });
});

describe("everybody but site admins", () => {
  it("gets 404 from every operation", async () => {
    const callers = [org.owner, await api.makeTeamToken(org.ownersTeamId), await api.makeOrganizationToken(org.name)];
    for (const caller of callers) {
      const body = resource("terraform-versions", { enabled: false });
      expect((await caller.get("/admin/terraform-versions")).status).toBe(404);
      expect((await create({ version: nextVersion() }, caller)).status).toBe(404);
      expect((await caller.get(at())).status).toBe(404);
      expect((await caller.patch(at(), body)).status).toBe(404);
      expect((await caller.delete(at())).status).toBe(404);
    }
    expect(data(await api.admin.get(at()))).toEqual(version);
  });
});

describe("the audit log", () => {
  it("records each change, outside of organizations' audit logs", async () => {
    await update({ enabled: false });
    await api.admin.delete(at());
    const events = await api.database.reader.db
      .selectFrom("auditEvents")
      .selectAll()
      .where("subjectId", "=", version.id)
      .execute();
    expect(events.map(({ action }) => action).sort()).toEqual([
      "terraform-versions.create",
      "terraform-versions.delete",
      "terraform-versions.update",
    ]);
    expect(events.every(({ organizationId }) => organizationId === null)).toBe(true);
    const changed = events.find(({ action }) => action.endsWith("update"));
    expect(JSON.parse(changed?.before ?? "")).toMatchObject({ version: version.attributes.version, enabled: true });
    expect(JSON.parse(changed?.after ?? "")).toMatchObject({ enabled: false });
  });
});

describe("newestRelease", () => {
  it("follows what site admins add, disable and remove", async () => {
    const shipped = knownReleases.at(-1);
    expect(await newest()).toBe(shipped);
    const beta = data(await create({ version: "98.0.0", beta: true }));
    expect(await newest()).toBe(shipped);
    const added = data(await create({ version: "97.10.0" }));
    await create({ version: "97.9.0" });
    expect(await newest()).toBe("97.10.0");
    const patch = (id: string, attributes: object) =>
      api.admin.patch(`/admin/terraform-versions/${id}`, resource("terraform-versions", attributes));
    await patch(beta.id, { beta: false });
    expect(await newest()).toBe("98.0.0");
    await patch(beta.id, { enabled: false });
    expect(await newest()).toBe("97.10.0");
    await api.admin.delete(`/admin/terraform-versions/${added.id}`);
    expect(await newest()).toBe("97.9.0");
  });
});
