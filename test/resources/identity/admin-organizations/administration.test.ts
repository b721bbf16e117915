/** /admin/organizations: the settings of site admins; 404 for everybody else. */
import { beforeEach, describe, expect, it } from "vitest";
import { type Caller, type Json, useApi } from "../../../support/api.ts";
import { data, details, type Org, pointers, resource, unique } from "../../../support/builders.ts";

const api = useApi();
let org: Org;
beforeEach(async () => {
  org = await api.makeOrganization();
});

const at = (name = org.name) => `/admin/organizations/${name}`;
const show = async (name = org.name): Promise<Json> => data(await api.admin.get(at(name)));
const update = (attributes: object, caller: Caller = api.admin) =>
  caller.patch(at(), resource("organizations", attributes));
const listed = async (query: string): Promise<string[]> =>
  data(await api.admin.get(`/admin/organizations${query}`)).map(({ id }: Json) => id);

const initially = {
  "is-disabled": false,
  "workspace-limit": null,
  "access-beta-tools": false,
  "global-module-sharing": false,
  "global-provider-sharing": false,
  "terraform-worker-sudo-enabled": false,
  "apply-timeout": null,
  "terraform-build-worker-apply-timeout": null,
  "plan-timeout": null,
  "terraform-build-worker-plan-timeout": null,
  "sso-enabled": false,
};

describe("showAdminOrganization", () => {
  it("200: the site admin settings, and the owners", async () => {
    const admin = data(await api.admin.get("/account/details"));
    expect(await show()).toEqual({
      id: org.name,
      type: "organizations",
      attributes: {
        name: org.name,
        "external-id": org.id,
        "notification-email": "org@example.com",
        ...initially,
      },
      relationships: {
        owners: { data: [admin.id, org.owner.id].toSorted().map((id) => ({ id, type: "users" })) },
        "module-consumers": { links: { related: `/api/v2${at()}/relationships/module-consumers` } },
      },
      links: { self: `/api/v2${at()}` },
    });
    const { body } = await api.admin.get(`${at(org.name.toUpperCase())}?include=owners`);
    expect(body.included.map((user: Json) => user.attributes.email)).toContain(org.owner.email);
  });

  it("changes the ETag when an owner is added or removed", async () => {
    const tag = async () => (await api.admin.get(at())).headers.get("etag");
    const before = await tag();
    await api.makeMember(org.name);
    expect(await tag()).toBe(before);
    await api.makeMember(org.name, [org.ownersTeamId]);
    expect(await tag()).not.toBe(before);
  });
});

describe("listAdminOrganizations", () => {
  it("200: all organizations, with pages and owners", async () => {
    const admin = data(await api.admin.get("/account/details"));
    const people = { data: [{ type: "users", id: admin.id }] };
    await org.owner.delete(`/teams/${org.ownersTeamId}/relationships/users`, people);
    const answer = await api.admin.get(`/admin/organizations?q[name]=${org.name}&include=owners`);
    expect(answer.body.data).toEqual([await show()]);
    expect(answer.body.included.map(({ id }: Json) => id)).toEqual([org.owner.id]);
    expect(answer.body.meta.pagination["total-count"]).toBe(1);
    expect(await listed("?page[size]=1&page[number]=9999")).toEqual([]);
  });

  it("searches by part of the name or email address; `q` takes precedence", async () => {
    const email = `${unique("notices")}@example.com`;
    const other = await api.makeOrganization({ email });
    expect(await listed(`?q=${email.slice(0, 12).toUpperCase()}`)).toEqual([other.name]);
    expect(await listed(`?q=${other.name}`)).toEqual([other.name]);
    expect(await listed(`?q[email]=${email}`)).toEqual([other.name]);
    expect(await listed(`?q[email]=${email}&q[name]=${org.name}`)).toEqual([]);
    expect(await listed(`?q=${org.name}&q[email]=${email}`)).toEqual([org.name]);
  });

  it("filters by shared modules or providers", async () => {
    const by = (query: string) => listed(`?q=${org.name}&${query}`);
    expect(await by("filter[module_producer]=true")).toEqual([]);
    expect(await by("filter[module_producer]=false")).toEqual([org.name]);
    const consumer = await api.makeOrganization();
    const body = { data: [{ type: "organizations", id: consumer.name }] };
    await api.admin.patch(`${at()}/relationships/module-consumers`, body);
    expect(await by("filter[module_producer]=true")).toEqual([org.name]);
    expect(await by("filter[provider_producer]=true")).toEqual([]);
    await update({ "global-module-sharing": true, "global-provider-sharing": true });
    expect(await by("filter[module_producer]=true&filter[provider_producer]=true")).toEqual([org.name]);
    expect((await api.admin.get("/admin/organizations?filter[module_producer]=maybe")).status).toBe(400);
  });
});

describe("updateAdminOrganization: a value, null, absent", () => {
  const values: [string, unknown][] = [
    ["is-disabled", true],
    ["workspace-limit", 42],
    ["workspace-limit", 0],
    ["access-beta-tools", true],
    ["global-module-sharing", true],
    ["global-provider-sharing", true],
    ["terraform-worker-sudo-enabled", true],
  ];
  it.each(values)("%s: sets %j and nothing else", async (attribute, value) => {
    const before = await show();
    const answer = await update({ [attribute]: value });
    expect(answer.status).toBe(200);
    expect(answer.body.data).toEqual({ ...before, attributes: { ...before.attributes, [attribute]: value } });
    expect(await show()).toEqual(answer.body.data);
  });

  it.each(["apply", "plan"])("%s-timeout: accepts both spellings, and null clears it", async (phase) => {
    const [name, older] = [`${phase}-timeout`, `terraform-build-worker-${phase}-timeout`];
    expect(data(await update({ [name]: "24h" })).attributes).toMatchObject({ [name]: "24h", [older]: "24h" });
    expect(data(await update({ [older]: "1h30m" })).attributes).toMatchObject({ [name]: "1h30m", [older]: "1h30m" });
    expect(data(await update({ [name]: "2h", [older]: "2h" })).attributes[name]).toBe("2h");
    expect((await update({ [name]: "2h", [older]: "3h" })).status).toBe(422);
    expect(data(await update({ [name]: null })).attributes).toMatchObject({ [name]: null, [older]: null });
  });

  it("workspace-limit: null clears it", async () => {
    await update({ "workspace-limit": 42 });
    expect(data(await update({ "workspace-limit": null })).attributes["workspace-limit"]).toBeNull();
  });

  it.each([
    ["is-disabled", null],
    ["access-beta-tools", "yes"],
    ["global-module-sharing", 1],
    ["workspace-limit", -1],
    ["workspace-limit", 1.5],
    ["apply-timeout", "soon"],
    ["plan-timeout", ""],
  ])("422: %s is not %j", async (attribute, value) => {
    const answer = await update({ [attribute]: value });
    expect(answer.status).toBe(422);
    expect(pointers(answer)).toEqual([`/data/attributes/${attribute}`]);
  });

  it("absent or read-only: writes nothing, and the ETag stays", async () => {
    const before = await api.admin.get(at());
    const answer = await update({ name: "another", "notification-email": "x@example.com", "sso-enabled": true });
    expect(answer.body.data).toEqual(before.body.data);
    expect(answer.headers.get("etag")).toBe(before.headers.get("etag"));
  });

  it("accepts a blank type, as clients send it, and no other type", async () => {
    const body = (type: unknown) => ({ data: { type, attributes: { "access-beta-tools": true } } });
    for (const type of ["", undefined, "organizations"])
      expect((await api.admin.patch(at(), body(type))).status).toBe(200);
    const answer = await api.admin.patch(at(), body("workspaces"));
    expect([answer.status, ...details(answer)]).toEqual([422, "Type must be 'organizations'"]);
  });

  it("records an event in the organization's audit log", async () => {
    await update({ "workspace-limit": 5 });
    const [event] = data(await org.owner.get(`/organizations/${org.name}/audit-events?filter[subject][id]=${org.id}`));
    expect(event.attributes).toMatchObject({
      action: "organizations.update",
      "actor-name": "admin",
      before: { "workspace-limit": null },
      after: { "workspace-limit": 5 },
    });
  });
});

describe("deleteAdminOrganization", () => {
  it("204: deletes the organization with everything in it", async () => {
    expect((await api.admin.delete(at())).status).toBe(204);
    expect((await api.admin.get(at())).status).toBe(404);
    expect((await org.owner.get(`/organizations/${org.name}`)).status).toBe(404);
    expect((await api.admin.delete(at())).status).toBe(404);
  });
});

describe("the administration of an organization that refuses users' tokens", () => {
  it("still works", async () => {
    const owners = await api.makeTeamToken(org.ownersTeamId);
    data(await owners.patch(`/organizations/${org.name}`, resource("organizations", { "user-tokens-enabled": false })));
    expect((await api.admin.get(`/organizations/${org.name}`)).status).toBe(401);
    expect(await listed(`?q=${org.name}`)).toEqual([org.name]);
    expect((await update({ "workspace-limit": 7 })).status).toBe(200);
  });
});

describe("everybody but site admins", () => {
  it("404: on every operation, also for owners", async () => {
    const callers = [
      org.owner,
      await api.makeMember(org.name),
      await api.makeTeamToken(org.ownersTeamId),
      await api.makeOrganizationToken(org.name),
    ];
    const consumers = `${at()}/relationships/module-consumers`;
    for (const caller of callers) {
      expect((await caller.get("/admin/organizations")).status).toBe(404);
      expect((await caller.get(at())).status).toBe(404);
      expect((await update({ "workspace-limit": 1 }, caller)).status).toBe(404);
      expect((await caller.delete(at())).status).toBe(404);
      expect((await caller.get(consumers)).status).toBe(404);
      expect((await caller.patch(consumers, { data: [] })).status).toBe(404);
    }
    expect((await show()).attributes).toMatchObject(initially);
  });
});
