/** The audit log can't be changed, and no change happens without it. */
import { CompiledQuery } from "kysely";
import { beforeAll, describe, expect, it } from "vitest";
import { useApi } from "../../../support/api.ts";
import { data, makeOrganization, makeProject, type Org, resource, unique } from "../../../support/builders.ts";
import { withAuditLogBlocked } from "../../../support/database-snapshots.ts";

const api = useApi();
let org: Org;
beforeAll(async () => {
  org = await makeOrganization(api);
  await makeProject(api, org.name);
});

const run = (statement: string) => api.database.write((tx) => tx.db.executeQuery(CompiledQuery.raw(statement)));
const rows = () => api.database.reader.db.selectFrom("auditEvents").selectAll().orderBy("id").execute();

describe("an event can't be changed or removed", () => {
  const copied = `SELECT id, organization_id, actor_kind, 'x', actor_name, token_id, action, subject_type, subject_id, before,
    after, request_id, created_at, access_request_id FROM audit_events WHERE true`;

  it.each([
    ["UPDATE", "UPDATE audit_events SET actor_id = 'x'"],
    ["UPDATE of the same value", "UPDATE audit_events SET actor_id = actor_id"],
    ["DELETE", "DELETE FROM audit_events"],
    ["INSERT … ON CONFLICT", `INSERT INTO audit_events ${copied} ON CONFLICT (id) DO UPDATE SET actor_id = 'x'`],
  ])("by %s", async (_, statement) => {
    const before = await rows();
    expect(before.length).toBeGreaterThan(1);
    await expect(run(statement)).rejects.toThrow("append-only");
    expect(await rows()).toEqual(before);
  });

  it("with engine-specific statements", async () => {
    const before = await rows();
    const statement =
      api.database.dialect.name === "sqlite"
        ? `INSERT OR REPLACE INTO audit_events ${copied}`
        : "TRUNCATE audit_events";
    await expect(run(statement)).rejects.toThrow("append-only");
    expect(await rows()).toEqual(before);
  });

  it("over HTTP", async () => {
    const before = await rows();
    const [event] = data(await org.owner.get(`/organizations/${org.name}/audit-events`));
    for (const path of [`/organizations/${org.name}/audit-events`, `/audit-events/${event.id}`]) {
      for (const method of ["POST", "PUT", "PATCH", "DELETE"]) {
        expect((await api.admin.send(method, path, resource("audit-events", { action: "x" }))).status).toBe(404);
      }
    }
    expect(await rows()).toEqual(before);
  });
});

describe("a change whose event can't be written", () => {
  it("does not happen, and the response reveals no internals", async () => {
    const project = await makeProject(api, org.name);
    const [made, name] = [unique("project"), unique("org")];
    const organization = data(await org.owner.get(`/organizations/${org.name}`));
    const answers = await withAuditLogBlocked(api.database, async () => [
      await org.owner.post(`/organizations/${org.name}/projects`, resource("projects", { name: made })),
      await org.owner.patch(`/projects/${project.id}`, resource("projects", { description: "x" })),
      await org.owner.delete(`/projects/${project.id}`),
      await api.admin.post("/organizations", resource("organizations", { name, email: "a@b.c" })),
      await org.owner.patch(`/organizations/${org.name}`, resource("organizations", { email: "a@b.c" })),
      await org.owner.delete(`/organizations/${org.name}`),
    ]);
    for (const { status, body } of answers) {
      expect(status).toBe(500);
      expect(JSON.stringify(body)).not.toContain("audit_events");
    }
    expect(data(await org.owner.get(`/organizations/${org.name}/projects?filter[names]=${made}`))).toEqual([]);
    expect(data(await org.owner.get(`/projects/${project.id}`))).toEqual(project);
    expect((await api.admin.get(`/organizations/${name}`)).status).toBe(404);
    expect(data(await org.owner.get(`/organizations/${org.name}`))).toEqual(organization);
  });

  it("happens when the audit log is available again", async () => {
    const before = await rows();
    data(await org.owner.post(`/organizations/${org.name}/projects`, resource("projects", { name: unique("p") })));
    expect(await rows()).toHaveLength(before.length + 1);
  });
});
