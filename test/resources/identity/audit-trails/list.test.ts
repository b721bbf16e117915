/** GET /organization/audit-trails: the audit log in the format of HCP Terraform. */
import { beforeAll, describe, expect, it } from "vitest";
import { type Caller, type Json, useApi } from "../../../support/api.ts";
import { data, details, type Org } from "../../../support/builders.ts";

const api = useApi();
const path = "/organization/audit-trails";
let org: Org;
let token: Caller;

beforeAll(async () => {
  org = await api.makeOrganization();
  token = await api.makeOrganizationToken(org.name);
});

async function read(query = "", caller = token): Promise<Json> {
  const answer = await caller.get(`${path}${query}`);
  expect(answer.status).toBe(200);
  return answer.body;
}

async function makeAuditLogToken(organizationName: string): Promise<Caller> {
  const created = await org.owner.post(`/organizations/${organizationName}/authentication-token?token=audit-trails`);
  return api.as(data(created).attributes.token);
}

describe("listAuditTrails", () => {
  it("200: events in the format of HCP Terraform, without JSON:API", async () => {
    const { id } = await api.makeProject(org.name, { name: "before" });
    const body = { data: { type: "projects", attributes: { name: "after" } } };
    const answer = await org.owner.patch(`/projects/${id}`, body);
    const all = await read();
    expect(Object.keys(all).sort()).toEqual(["data", "pagination"]);
    const [latest] = all.data;
    expect(latest).toEqual({
      id: expect.stringMatching(/^ae-/),
      version: "0",
      type: "Resource",
      timestamp: expect.stringMatching(/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/),
      auth: {
        accessor_id: org.owner.id,
        description: org.owner.username,
        type: "Client",
        impersonator_id: null,
        organization_id: org.id,
      },
      request: { id: answer.headers.get("x-request-id") },
      resource: {
        id,
        type: "project",
        action: "update",
        meta: {
          before: expect.objectContaining({ name: "before" }),
          after: expect.objectContaining({ name: "after" }),
        },
      },
    });
  });

  it("uses the resource types and actions of HCP Terraform", async () => {
    const { id } = await api.makeWorkspace(org.name);
    await org.owner.post(`/workspaces/${id}/actions/lock`);
    await org.owner.post(`/workspaces/${id}/actions/force-unlock`);
    await org.owner.delete(`/workspaces/${id}`);
    const { data: events } = await read("?page[size]=4");
    const actions = events.map(({ resource }: Json) => `${resource.type}.${resource.action}`);
    expect(actions).toEqual(["workspace.destroy", "workspace.force_unlock", "workspace.lock", "workspace.create"]);
    expect(events[0].resource.meta.after).toBeNull();
    expect(events[3].resource.meta.before).toBeNull();
  });

  it("200: with the audit log token; each organization sees only its own events", async () => {
    const other = await api.makeOrganization();
    const mine = await read("", await makeAuditLogToken(org.name));
    expect(mine.data.length).toBeGreaterThan(0);
    expect(new Set(mine.data.map(({ auth }: Json) => auth.organization_id))).toEqual(new Set([org.id]));
    const theirs = await read("", await api.makeOrganizationToken(other.name));
    expect(new Set(theirs.data.map(({ auth }: Json) => auth.organization_id))).toEqual(new Set([other.id]));
  });

  it("404: with the token of a user, a site admin or a team; the error names the tokens that work", async () => {
    const team = await api.makeTeamToken((await api.makeTeam(org.name)).id);
    for (const caller of [org.owner, api.admin, team]) {
      const answer = await caller.get(path);
      expect([answer.status, ...details(answer)]).toEqual([404, expect.stringContaining("organization token")]);
    }
    expect((await api.nobody.get(path)).status).toBe(401);
  });

  it("paginates by number, newest first, with the total", async () => {
    const { data: all, pagination } = await read();
    expect(pagination).toEqual({
      current_page: 1,
      prev_page: null,
      next_page: null,
      total_pages: 1,
      total_count: all.length,
    });
    const times = all.map(({ timestamp }: Json) => timestamp);
    expect(times).toEqual(times.toSorted().toReversed());
    const size = Math.ceil(all.length / 3);
    const pages = [];
    for (let number = 1; number <= 3; number += 1) pages.push(await read(`?page[number]=${number}&page[size]=${size}`));
    expect(pages.flatMap((page) => page.data)).toEqual(all);
    expect(pages.map((page) => [page.pagination.prev_page, page.pagination.next_page])).toEqual([
      [null, 2],
      [1, 3],
      [2, null],
    ]);
    const past = await read("?page[number]=9");
    expect([past.data, past.pagination.next_page, past.pagination.prev_page]).toEqual([[], null, 1]);
  });

  it("since: only later events", async () => {
    const { data: all } = await read();
    const middle = all[Math.floor(all.length / 2)].timestamp;
    const { data: later, pagination } = await read(`?since=${middle}`);
    expect(later).toEqual(all.filter(({ timestamp }: Json) => timestamp > middle));
    expect(pagination.total_count).toBe(later.length);
    expect((await read(`?since=${all[0].timestamp}`)).data).toEqual([]);
  });

  it.each(["since=yesterday", "page[size]=0", "page[number]=x", "page[size]=-1"])("400: %s", async (query) => {
    const answer = await token.get(`${path}?${query}`);
    expect(answer.status).toBe(400);
    expect(answer.body.errors[0].source.parameter).toBe(query.split("=")[0]);
  });

  it("automatic changes have the type System", async () => {
    const { id } = await api.makeWorkspace(org.name);
    await api.database.write((tx) =>
      tx.db
        .insertInto("auditEvents")
        .values({
          id: "ae-bythesystem00000",
          organizationId: org.id,
          actorKind: "operator",
          actorId: "operator",
          actorName: "operator",
          tokenId: null,
          action: "workspaces.expire-lock",
          subjectType: "workspaces",
          subjectId: id,
          before: null,
          after: null,
          requestId: "job",
          createdAt: "2999-01-01T00:00:00.000Z",
        })
        .execute(),
    );
    const [event] = (await read("?page[size]=1")).data;
    expect([event.auth.type, event.resource.action]).toEqual(["System", "expire_lock"]);
  });
});
