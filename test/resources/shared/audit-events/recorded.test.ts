/** The audit events of changes of projects and organizations: one each, or none if refused. */
import { sql } from "kysely";
import { beforeEach, describe, expect, it } from "vitest";
import { tokenHash } from "../../../../src/kernel/ids.ts";
import { type Answer, type Caller, type Json, useApi } from "../../../support/api.ts";
import { data, type Org, resource, unique } from "../../../support/builders.ts";

const api = useApi();
let org: Org;
beforeEach(async () => {
  org = await api.makeOrganization();
});

const countAll = async (): Promise<number> => {
  const { db } = api.database.reader;
  const [row] = await db
    .selectFrom("auditEvents")
    .select(sql<number>`count(*)`.as("count"))
    .execute();
  return Number(row?.count);
};

/** Does something that succeeds, and returns the one event that it recorded. */
async function eventOf(work: () => Promise<Answer>, name = org.name): Promise<{ answer: Answer; event: Json }> {
  const before = await countAll();
  const answer = await work();
  data(answer);
  expect(await countAll()).toBe(before + 1);
  const requestId = answer.headers.get("x-request-id");
  const newest = data(await api.admin.get(`/organizations/${name}/audit-events?page[size]=5`));
  const events = newest.filter((event: Json) => event.attributes["request-id"] === requestId);
  expect(events).toHaveLength(1);
  return { answer, event: events[0] };
}

const createProject = (caller: Caller, attributes: object = {}) =>
  caller.post(`/organizations/${org.name}/projects`, resource("projects", { name: unique("project"), ...attributes }));
const auditedProject = ({ attributes }: Json) => ({
  "default-agent-pool": null,
  "default-execution-mode": attributes["default-execution-mode"],
  "setting-overwrites": attributes["setting-overwrites"],
  name: attributes.name,
  description: attributes.description,
  "auto-destroy-activity-duration": attributes["auto-destroy-activity-duration"],
  "created-at": attributes["created-at"],
});
function auditedOrganization({ attributes }: Json): Json {
  const { permissions: _, ...audited } = attributes;
  return audited;
}

describe("projects", () => {
  it("createProject records projects.create with all attributes", async () => {
    const { answer, event } = await eventOf(() => createProject(org.owner, { description: "secret plans" }));
    const token = data(await org.owner.get(`/users/${org.owner.id}/authentication-tokens`))[0];
    expect(event).toEqual({
      id: expect.stringMatching(/^ae-/),
      type: "audit-events",
      attributes: {
        action: "projects.create",
        "actor-kind": "user",
        "actor-id": org.owner.id,
        "actor-name": org.owner.username,
        "token-id": token.id,
        "subject-type": "projects",
        "subject-id": answer.body.data.id,
        "subject-name": answer.body.data.attributes.name,
        related: [
          { type: "projects", id: answer.body.data.id, name: answer.body.data.attributes.name, deleted: false },
        ],
        before: null,
        after: auditedProject(answer.body.data),
        "request-id": expect.any(String),
        "access-request-id": null,
        "created-at": expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      },
      relationships: { organization: { data: { id: org.name, type: "organizations" } } },
    });
  });

  it("updateProject records projects.update with before and after", async () => {
    const project = await api.makeProject(org.name, { description: "old" });
    const change = resource("projects", { description: null, "auto-destroy-activity-duration": "2d" });
    const { answer, event } = await eventOf(() => org.owner.patch(`/projects/${project.id}`, change));
    expect(event.attributes).toMatchObject({ action: "projects.update", "subject-id": project.id });
    expect(event.attributes.before).toEqual(auditedProject(project));
    expect(event.attributes.after).toEqual(auditedProject(answer.body.data));
    expect(event.attributes.after).toMatchObject({ description: null, "auto-destroy-activity-duration": "2d" });
  });

  it("deleteProject records projects.delete with the last attributes", async () => {
    const project = await api.makeProject(org.name);
    const { event } = await eventOf(() => org.owner.delete(`/projects/${project.id}`));
    expect(event.attributes).toMatchObject({
      action: "projects.delete",
      "subject-type": "projects",
      "subject-id": project.id,
      before: auditedProject(project),
      after: null,
    });
  });
});

describe("organizations", () => {
  it("createOrganization records organizations.create in the new log, and nothing else", async () => {
    const name = unique("org");
    const body = resource("organizations", { name, email: "a@b.c" });
    const { answer, event } = await eventOf(() => api.admin.post("/organizations", body), name);
    expect(event.attributes).toMatchObject({
      action: "organizations.create",
      "subject-type": "organizations",
      "subject-id": answer.body.data.attributes["external-id"],
      before: null,
      after: auditedOrganization(answer.body.data),
    });
    expect(data(await api.admin.get(`/organizations/${name}/audit-events`))).toHaveLength(1);
  });

  it("updateOrganization records organizations.update, in the same log under the new name", async () => {
    const before = data(await org.owner.get(`/organizations/${org.name}`));
    const name = unique("renamed");
    const change = resource("organizations", { name, "session-timeout": 9, "cost-estimation-enabled": true });
    const { answer, event } = await eventOf(() => org.owner.patch(`/organizations/${org.name}`, change), name);
    expect(event.attributes).toMatchObject({ action: "organizations.update", "subject-id": org.id });
    expect(event.attributes.before).toEqual(auditedOrganization(before));
    expect(event.attributes.after).toEqual(auditedOrganization(answer.body.data));
    expect(event.relationships.organization.data.id).toBe(name);
  });

  it("deleteOrganization records organizations.delete; the log stays in the database", async () => {
    const project = await api.makeProject(org.name);
    const shown = data(await org.owner.get(`/organizations/${org.name}`));
    const before = await countAll();
    data(await org.owner.delete(`/organizations/${org.name}`));
    expect(await countAll()).toBe(before + 1);
    const rows = await api.database.reader.db
      .selectFrom("auditEvents")
      .selectAll()
      .where("organizationId", "=", org.id)
      .execute();
    const deletion = rows.find((row) => row.action === "organizations.delete");
    expect(deletion).toMatchObject({ actorId: org.owner.id, subjectId: org.id, after: null });
    expect(JSON.parse(deletion?.before ?? "null")).toEqual(auditedOrganization(shown));
    expect(rows.filter((row) => row.subjectId === project.id).map((row) => row.action)).toEqual(["projects.create"]);
  });
});

describe("the actor", () => {
  it.each<[string, () => Promise<{ caller: Caller; kind: string; id: string }>]>([
    ["a site admin", async () => ({ caller: api.admin, kind: "user", id: (await account(api.admin)).id })],
    [
      "a team's token",
      async () => {
        const { teamId } = await api.makeHolder(org.name, "manage-projects");
        return { caller: await api.makeTeamToken(teamId), kind: "team", id: teamId };
      },
    ],
    [
      "the organization's token",
      async () => ({ caller: await api.makeOrganizationToken(org.name), kind: "organization", id: org.id }),
    ],
  ])("%s", async (_, make) => {
    const { caller, kind, id } = await make();
    const { event } = await eventOf(() => createProject(caller));
    expect(event.attributes).toMatchObject({ "actor-kind": kind, "actor-id": id });
    expect(event.attributes["token-id"]).toMatch(/^at-/);
    expect(event.attributes["actor-name"]).not.toBe("");
  });

  const account = async (caller: Caller) => data(await caller.get("/account/details"));
});

describe("no event is recorded by", () => {
  it("a change that changes nothing", async () => {
    const project = await api.makeProject(org.name);
    const before = await countAll();
    data(await org.owner.patch(`/projects/${project.id}`, resource("projects", { name: project.attributes.name })));
    data(await org.owner.patch(`/organizations/${org.name}`, resource("organizations", { email: "org@example.com" })));
    expect(await countAll()).toBe(before);
  });

  it("a refused one", async () => {
    const project = await api.makeProject(org.name);
    const [member, stranger] = [await api.makeMember(org.name), await api.makeUser()];
    const before = await countAll();
    const path = `/projects/${project.id}`;
    const change = resource("projects", { description: "x" });
    const stale = { "if-match": '"x"' };
    const answers = [
      await api.nobody.delete(path),
      await stranger.patch(path, change),
      await stranger.delete(`/organizations/${org.name}`),
      await member.delete(`/organizations/${org.name}`),
      await member.patch(`/organizations/${org.name}`, resource("organizations", { email: "a@b.c" })),
      await createProject(member),
      await createProject(org.owner, { name: "x" }),
      await createProject(org.owner, { name: "Default Project" }),
      await org.owner.patch(path, resource("projects", { name: "Default Project" })),
      await org.owner.patch(path, change, stale),
      await org.owner.delete(path, undefined, stale),
      await org.owner.delete(`/projects/${org.defaultProjectId}`),
      await org.owner.patch(
        `/organizations/${org.name}`,
        resource("organizations", { "default-execution-mode": "agent" }),
      ),
      await api.admin.post("/organizations", resource("organizations", { name: org.name, email: "a@b.c" })),
      await stranger.post("/organizations", resource("organizations", { name: unique("org"), email: "a@b.c" })),
    ];
    expect(answers.map(({ status }) => status)).toEqual([
      401, 404, 404, 403, 403, 403, 422, 422, 422, 412, 412, 409, 422, 422, 403,
    ]);
    expect(await countAll()).toBe(before);
  });

  it("reading", async () => {
    const before = await countAll();
    data(await org.owner.get(`/organizations/${org.name}/projects`));
    data(await org.owner.get(`/organizations/${org.name}/audit-events`));
    expect(await countAll()).toBe(before);
  });
});

describe("secrets", () => {
  it("are in no event, neither tokens nor their hashes", async () => {
    const callers = [org.owner, await api.makeOrganizationToken(org.name), await api.makeTeamToken(org.ownersTeamId)];
    for (const caller of callers) data(await createProject(caller));
    const rows = await api.database.reader.db.selectFrom("auditEvents").selectAll().execute();
    expect(rows.filter((row) => row.action.startsWith("authentication-tokens.")).length).toBeGreaterThan(0);
    const trail = JSON.stringify(rows);
    for (const { token = "" } of callers) {
      expect(token.length).toBeGreaterThan(20);
      expect(trail).not.toContain(token);
      expect(trail).not.toContain(tokenHash(token));
    }
  });
});
