/** A deleted organization doesn't exist for anybody from then on, while a job empties it. */
import { sql } from "kysely";
import { describe, expect, it } from "vitest";
import { tablesAfter } from "../../../../src/backup/format.ts";
import { migrations } from "../../../../src/database/migrate.ts";
import { jobs } from "../../../../src/jobs/index.ts";
import { emptyClosedOrganizations } from "../../../../src/resources/identity/organizations/emptying.ts";
import { type Json, useApi } from "../../../support/api.ts";
import { data, makeUser, resource } from "../../../support/builders.ts";
import { jobContextOf } from "../../../support/states.ts";
import { makeTenant, pathOf, routes, type Tenant, writes } from "../../../support/tenant.ts";

const api = useApi();

const close = async (tenant: Tenant) => data(await tenant.owner.delete(`/organizations/${tenant.name}`));

/** Of the user, not of the organization. */
/** What site admins see, and belongs to no organization. */
const isOfSite = /User|SiteAgent|TerraformVersion/;
const ofUsers = new Set(["showUser", "listUserTokens", "createUserToken", "deleteSession"]);

async function rowsOf(id: string): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const table of tablesAfter(migrations.map(({ name }) => name))) {
    const { rows } = await sql<{ name: string }>`${
      api.database.dialect.name === "sqlite"
        ? sql`select name from pragma_table_info(${table})`
        : sql`select column_name as name from information_schema.columns where table_name = ${table}`
    }`.execute(api.database.reader.db);
    const column = table === "organizations" ? "id" : "organization_id";
    if (rows.every(({ name }) => name !== column)) continue;
    const found = await sql<{ number: number }>`
      select count(*) as number from ${sql.table(table)} where ${sql.ref(column)} = ${id}`.execute(
      api.database.reader.db,
    );
    counts[table] = Number(found.rows[0]?.number);
  }
  return counts;
}

const withRows = (counts: Record<string, number>) => Object.keys(counts).filter((table) => counts[table] !== 0);

describe("an organization that was deleted and is not empty yet", () => {
  it("401 for its tokens, 404 for users: on every route of its resources", async () => {
    const tenant = await makeTenant(api);
    const audit = `/organizations/${tenant.name}/authentication-token?token=audit-trails`;
    const auditor = api.as(data(await tenant.owner.post(audit)).attributes.token);
    await close(tenant);
    expect(withRows(await rowsOf(tenant.id))).toContain("workspaces");
    const { owner, member, ...tokens } = tenant.callers;
    const named = routes.filter(
      ({ id, operation }) => operation.path.includes(":") && !operation.isSigned && !ofUsers.has(id),
    );
    const answered: unknown[] = [];
    for (const [position, { id, operation }] of named.entries()) {
      const strangers = { user: position % 2 === 0 ? owner : member, admin: api.admin };
      for (const [kind, caller] of Object.entries(strangers)) {
        if (kind === "admin" && isOfSite.test(id)) continue;
        const { status } = await caller.send(operation.method, pathOf(operation, tenant.params), operation.example);
        if (status !== 404) answered.push([id, kind, status]);
      }
    }
    expect(answered).toEqual([]);
    for (const token of [...Object.values(tokens), auditor])
      for (const path of ["/organizations", `/organizations/${tenant.name}`, `/organization/audit-trails`])
        expect((await token.get(path)).status).toBe(401);
  });

  it("is in no response to anybody, also not to a site admin, and not in a cached one", async () => {
    const tenant = await makeTenant(api);
    const unnamed = routes.filter(({ operation }) => !operation.path.includes(":") && !writes(operation));
    const callers = { ...tenant.callers, admin: api.admin };
    for (const { operation } of unnamed) for (const caller of Object.values(callers)) await caller.get(operation.path);
    await close(tenant);
    const secrets = [tenant.name, tenant.id].concat(Object.values(tenant.params).filter((text) => /-/.test(text)));
    const elsewhere = new Set([
      tenant.params.site_agent_pool_id,
      tenant.params.terraform_version_id,
      tenant.params.user_id,
      tenant.params.id,
      tenant.owner.id,
      tenant.member.id,
    ]);
    const shown: unknown[] = [];
    for (const { id, operation } of unnamed.filter(({ id }) => !/^(showAccount|listSessions|.*Audit.*)$/.test(id)))
      for (const [kind, caller] of Object.entries(callers)) {
        const text = JSON.stringify((await caller.get(`${operation.path}?page[size]=100`)).body ?? {});
        for (const secret of secrets)
          if (!elsewhere.has(secret) && text.includes(secret)) shown.push([id, kind, secret]);
      }
    expect(shown).toEqual([]);
  });

  it("leaves its name free at once, and the new organization inherits nothing", async () => {
    const tenant = await makeTenant(api);
    await close(tenant);
    const again = await api.admin.post(
      "/organizations",
      resource("organizations", { name: tenant.name, email: "a@b.c" }),
    );
    expect(again.status).toBe(201);
    expect(data(await api.admin.get(`/organizations/${tenant.name}/workspaces`))).toEqual([]);
    expect((await tenant.owner.get(`/organizations/${tenant.name}`)).status).toBe(404);
    await emptyClosedOrganizations(jobContextOf(api));
    expect((await api.admin.get(`/organizations/${tenant.name}`)).status).toBe(200);
  });

  it("cannot be reached by the name that it has until it is empty", async () => {
    const tenant = await makeTenant(api);
    await close(tenant);
    for (const caller of [tenant.owner, api.admin])
      expect((await caller.get(`/organizations/${encodeURIComponent(`/${tenant.id}`)}`)).status).toBe(404);
  });

  it("is left alone by every background job, and none of them waits or fails because of it", async () => {
    const tenant = await makeTenant(api);
    await close(tenant);
    const { db } = api.database.reader;
    const past = "2020-01-01T00:00:00.000Z";
    // Everything in it is overdue.
    await api.database.write(async (tx) => {
      const inIt = (table: string, set: string) =>
        sql`update ${sql.table(table)} set ${sql.raw(set)} where organization_id = ${tenant.id}`.execute(tx.db);
      await inIt("workspaces", `lock_expires_at = '${past}', auto_destroy_at = '${past}', auto_destroy_status = null`);
      await inIt("runs", `status = 'planned_and_saved', ended_at = null, created_at = '${past}'`);
      await inIt("run_phases", `status = 'running', heard_ms = 1, claimed_ms = 1`);
      await inIt("state_versions", `resources_processed = 0, superseded = 1`);
      await inIt("configuration_versions", `status = 'pending', upload_expires_at = '${past}'`);
      await inIt("notices", `state = 'waiting', due_ms = 0`);
      await inIt("vcs_events", `outcome = null, due_ms = 0`);
      await inIt("vcs_webhooks", `due_ms = 0`);
      await inIt("data_retention_policies", `delete_older_than_n_days = 1`);
    });
    const before = await rowsOf(tenant.id);
    const events = () => db.selectFrom("auditEvents").select("id").where("organizationId", "=", tenant.id).execute();
    const eventsBefore = (await events()).length;
    for (const job of jobs.filter(({ run }) => run !== emptyClosedOrganizations)) await job.run(jobContextOf(api));
    const after = await rowsOf(tenant.id);
    // Lists of resources belong to states that are gone.
    expect({ ...after, state_resources: 0 }).toEqual({ ...before, state_resources: 0 });
    expect((await events()).length).toBe(eventsBefore);
    await emptyClosedOrganizations(jobContextOf(api));
  });

  it("is not counted in the site's statistics", async () => {
    const { db } = api.database.reader;
    const figures = async () => {
      await jobs.find(({ name }) => name === "figures")?.run(jobContextOf(api));
      const { value } = await db
        .selectFrom("meta")
        .select("value")
        .where("name", "=", "figures")
        .executeTakeFirstOrThrow();
      const { organizations, workspaces } = JSON.parse(value) as Json;
      return { organizations, workspaces };
    };
    const before = await figures();
    const tenant = await makeTenant(api);
    expect(await figures()).not.toEqual(before);
    await close(tenant);
    expect(await figures()).toEqual(before);
  });
});

describe("the job that empties closed organizations", () => {
  it("deletes every row of it but the audit log, records that, and leaves others alone", async () => {
    const [tenant, other] = [await makeTenant(api), await makeTenant(api)];
    const untouched = await rowsOf(other.id);
    await close(tenant);
    const stranger = await makeUser(api);
    expect((await stranger.get(`/organizations/${tenant.name}`)).status).toBe(404);
    await emptyClosedOrganizations(jobContextOf(api));
    await jobs.find(({ name }) => name === "superseded-resources")?.run(jobContextOf(api));
    for (const job of jobs.filter(({ name }) => /^(state-contents|content-cleanup|contents|abandoned.*)$/.test(name)))
      await job.run(jobContextOf(api));
    expect(await rowsOf(other.id)).toEqual(untouched);
    const left = withRows(await rowsOf(tenant.id));
    expect(
      left.filter(
        (table) => !["audit_events", "audit_notices", "contents", "content_chunks", "state_resources"].includes(table),
      ),
    ).toEqual([]);
    const events = await api.database.reader.db
      .selectFrom("auditEvents")
      .select(["action", "actorKind"])
      .where("organizationId", "=", tenant.id)
      .where("subjectId", "=", tenant.id)
      .orderBy("createdAt")
      .orderBy("id")
      .execute();
    expect(
      events
        .slice(-2)
        .map(({ action }) => action)
        .toSorted(),
    ).toEqual(["organizations.delete", "organizations.empty"]);
    const { rows } = await sql`select id from contents where organization_id = ${tenant.id}
      and (state_version_id is not null or configuration_version_id is not null or run_id is not null)`.execute(
      api.database.reader.db,
    );
    expect(rows).toEqual([]);
  });

  it("continues where a stopped one ended", async () => {
    const tenant = await makeTenant(api);
    await close(tenant);
    const stop = new AbortController();
    const work = jobContextOf(api, { signal: stop.signal });
    let steps = 0;
    const interrupted = emptyClosedOrganizations({
      ...work,
      step: async (step, options) => {
        steps += 1;
        if (steps === 20) stop.abort(new Error("stopped"));
        return work.step(step, options);
      },
    });
    await expect(interrupted).rejects.toThrow("stopped");
    expect(withRows(await rowsOf(tenant.id))).toContain("organizations");
    expect(await emptyClosedOrganizations(jobContextOf(api))).toBeGreaterThan(0);
    expect(withRows(await rowsOf(tenant.id))).not.toContain("organizations");
  });
});
