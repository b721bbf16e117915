/** GET /organizations/:organization_name/audit-events: who can read the log, filters, and pages by cursor. */
import { beforeAll, describe, expect, it } from "vitest";
import { newId } from "../../../../src/kernel/ids.ts";
import { type Caller, type Json, useApi } from "../../../support/api.ts";
import { data, details, type Org, pointers } from "../../../support/builders.ts";

const api = useApi();
let org: Org;
beforeAll(async () => {
  org = await api.makeOrganization();
});

interface Told {
  readonly createdAt: string;
  readonly actorId?: string;
  readonly subjectType?: string;
  readonly subjectId?: string;
  readonly verb?: string;
}

/** Events of the past, as precise as a test needs them. */
async function tell(organizationId: string, events: readonly Told[]): Promise<string[]> {
  const rows = events.map(
    ({ createdAt, actorId = "user-x", subjectType = "things", subjectId = "t-1", verb = "do" }) => ({
      id: newId("audit-events"),
      organizationId,
      actorKind: "user",
      actorId,
      actorName: "someone",
      tokenId: null,
      action: `${subjectType}.${verb}`,
      subjectType,
      subjectId,
      before: null,
      after: null,
      requestId: "request",
      createdAt,
    }),
  );
  await api.database.write((tx) => tx.db.insertInto("auditEvents").values(rows).execute());
  return rows.map(({ id }) => id);
}

const path = (name = org.name) => `/organizations/${name}/audit-events`;
const idsOf = (body: Json): string[] => body.data.map(({ id }: Json) => id);

async function walk(
  caller: Caller,
  first: string,
  between: () => Promise<unknown> = async () => {},
): Promise<string[]> {
  const seen: string[] = [];
  let next: string | null = `/api/v2${first}`;
  while (next !== null) {
    const { status, body }: { status: number; body: Json } = await caller.get(next);
    expect(status).toBe(200);
    seen.push(...idsOf(body));
    next = body.links.next;
    await between();
  }
  return seen;
}

describe("listAuditEvents: access", () => {
  const everyButOwnership = ["manage-projects", "manage-workspaces", "manage-teams", "manage-membership"];

  it.each<[string, () => Promise<Caller>, number]>([
    ["an owner", async () => org.owner, 200],
    ["a site admin", async () => api.admin, 200],
    ["the organization's token", () => api.makeOrganizationToken(org.name), 200],
    ["the owners team's token", () => api.makeTeamToken(org.ownersTeamId), 200],
    ["a plain member", () => api.makeMember(org.name), 403],
    ["a holder of much", () => api.makeHolder(org.name, ...everyButOwnership), 403],
    ["a team's token", async () => api.makeTeamToken((await api.makeTeam(org.name)).id), 403],
    ["a stranger", () => api.makeUser(), 404],
    ["an owner of another organization", async () => (await api.makeOrganization()).owner, 404],
    ["no token", async () => api.nobody, 401],
  ])("%s", async (_, make, status) => {
    const answer = await (await make()).get(path());
    expect(answer.status).toBe(status);
    if (status === 403) expect(details(answer)[0]).toContain("ownership of the organization");
    expect(answer.body.data === undefined).toBe(status !== 200);
  });

  it("shows no other organization's events, nor those of none", async () => {
    const other = await api.makeOrganization();
    const project = await api.makeProject(other.name);
    const trail = data(await org.owner.get(`${path()}?page[size]=100`));
    expect(trail.length).toBeGreaterThan(0);
    expect(trail.map((event: Json) => event.attributes["subject-id"])).not.toContain(project.id);
    expect(trail.map((event: Json) => event.attributes["subject-type"])).not.toContain("users");
  });
});

describe("listAuditEvents: filters", () => {
  let own: Org;
  let ids: string[];
  beforeAll(async () => {
    own = await api.makeOrganization();
    ids = await tell(own.id, [
      { createdAt: "2021-01-01T00:00:00.000Z", actorId: "user-a", subjectType: "projects", subjectId: "prj-1" },
      { createdAt: "2021-01-02T00:00:00.000Z", actorId: "user-b", subjectType: "projects", subjectId: "prj-2" },
      { createdAt: "2021-01-03T00:00:00.000Z", actorId: "user-a", subjectType: "teams", subjectId: "team-1" },
      {
        createdAt: "2021-01-04T00:00:00.000Z",
        actorId: "user-a",
        subjectType: "projects",
        subjectId: "prj-1",
        verb: "end",
      },
      { createdAt: "2021-01-04T00:00:00.001Z", actorId: "user-b", subjectType: "teams", subjectId: "team-2" },
    ]);
  });

  it.each<[string, number[]]>([
    ["filter[actor][id]=user-a", [3, 2, 0]],
    ["filter[actor][id]=user-A", []],
    ["filter[action]=projects.do", [1, 0]],
    ["filter[action]=projects", []],
    ["filter[action]=projects.end", [3]],
    ["filter[subject][type]=teams", [4, 2]],
    ["filter[subject][id]=prj-1", [3, 0]],
    ["filter[since]=2021-01-03T00:00:00Z", [4, 3, 2]],
    ["filter[since]=2021-01-03T00:00:00.001Z", [4, 3]],
    ["filter[until]=2021-01-03T00:00:00Z", [1, 0]],
    ["filter[until]=2021-01-03T00:00:00.001Z", [2, 1, 0]],
    ["filter[since]=2021-01-02T00:00:00Z&filter[until]=2021-01-04T00:00:00Z", [2, 1]],
    ["filter[since]=2021-01-02T02:00:00%2B02:00&filter[until]=2021-01-02T00:00:00.001Z", [1]],
    ["filter%5Bactor%5D%5Bid%5D=user-a&filter%5Bsubject%5D%5Btype%5D=projects", [3, 0]],
    ["filter[actor][id]=user-b&filter[subject][id]=prj-1", []],
  ])("%s", async (query, expected) => {
    const past = query.includes("until") ? "" : "&filter[until]=2021-02-01T00:00:00Z";
    const { body } = await own.owner.get(`${path(own.name)}?${query}${past}`);
    expect(idsOf(body)).toEqual(expected.map((number) => ids[number]));
  });

  it("work for real events", async () => {
    const project = await api.makeProject(own.name);
    const events = data(await own.owner.get(`${path(own.name)}?filter[subject][id]=${project.id}`));
    expect(events.map((event: Json) => event.attributes.action)).toEqual(["projects.create"]);
  });

  it.each(["filter[since]", "filter[until]"])("%s is 400 if it is not a time", async (parameter) => {
    for (const value of ["", "yesterday", "2021-01-01", "2021-13-01T00:00:00Z", "1609459200"]) {
      const answer = await own.owner.get(`${path(own.name)}?${parameter}=${value}`);
      expect(answer.status).toBe(400);
      expect(pointers(answer)).toEqual([parameter]);
    }
  });

  it("an unknown include is 400", async () => {
    const answer = await own.owner.get(`${path(own.name)}?include=moon`);
    expect(answer.status).toBe(400);
    expect(details(answer)[0]).toContain("include parameter");
  });
});

describe("listAuditEvents: pages by cursor", () => {
  let own: Org;
  let told: string[];
  const before2020 = "filter[until]=2020-01-01T00:00:00Z";
  beforeAll(async () => {
    own = await api.makeOrganization();
    const instants = Array.from({ length: 23 }, (_, number) => `2019-01-01T00:00:00.00${Math.floor(number / 8)}Z`);
    told = await tell(
      own.id,
      instants.map((createdAt) => ({ createdAt })),
    );
  });

  it("shows 20 by default, newest first, and leads on", async () => {
    const { body } = await own.owner.get(`${path(own.name)}?${before2020}`);
    expect(body.data).toHaveLength(20);
    const times = body.data.map((event: Json) => event.attributes["created-at"]);
    expect(times).toEqual(times.toSorted().toReversed());
    expect(body.links.self).toContain(path(own.name));
    expect(body.links.next).toContain("page%5Bcursor%5D=");
    expect((await own.owner.get(body.links.next)).body.data).toHaveLength(3);
  });

  it.each([1, 4, 22, 23, 24, 100])("visits every event once, %i at a time", async (size) => {
    const seen = await walk(own.owner, `${path(own.name)}?${before2020}&page[size]=${size}`);
    expect(seen).toHaveLength(told.length);
    expect(new Set(seen)).toEqual(new Set(told));
  });

  it("does so while new events are added", async () => {
    const atFirst = idsOf((await own.owner.get(`${path(own.name)}?page[size]=100`)).body);
    const seen = await walk(own.owner, `${path(own.name)}?page[size]=5`, () => api.makeProject(own.name));
    expect(seen).toEqual(atFirst);
  });

  it("limits the size to 100, and has no next page when all events are shown", async () => {
    const { id, name, owner } = await api.makeOrganization();
    await tell(
      id,
      Array.from({ length: 120 }, () => ({ createdAt: "2018-01-01T00:00:00.000Z" })),
    );
    const { body } = await owner.get(`${path(name)}?${before2020}&page[size]=1000`);
    expect(body.data).toHaveLength(100);
    const last = (await owner.get(body.links.next)).body;
    expect(last.data).toHaveLength(20);
    expect(last.links.next).toBeNull();
  });

  it("with another organization's cursor still shows only its own", async () => {
    const next: string = (await own.owner.get(`${path(own.name)}?page[size]=1`)).body.links.next;
    const cursor = new URL(next, "http://x").searchParams.get("page[cursor]");
    const other = await api.makeOrganization();
    const answer = await own.owner.get(`${path(other.name)}?page[cursor]=${cursor}`);
    expect(answer.status).toBe(404);
    const shown = data(await other.owner.get(`${path(other.name)}?page[cursor]=${cursor}`));
    expect(shown.filter((event: Json) => told.includes(event.id))).toEqual([]);
  });

  const encoded = (text: string) => Buffer.from(text).toString("base64url");
  it.each([
    ["empty", ""],
    ["not encoded", "2021-01-01T00:00:00.000Z ae-1"],
    ["nonsense", "abc"],
    ["other text", encoded("x y")],
    ["no id", encoded("2021-01-01T00:00:00.000Z")],
    ["another thing's id", encoded("2021-01-01T00:00:00.000Z prj-1")],
    ["a time that is none", encoded("2021-99-01T00:00:00.000Z ae-1")],
    ["too much", encoded("2021-01-01T00:00:00.000Z ae-1 x")],
    ["U+0000 inside", encoded("2021-01-01T00:00:00.000Z ae-1\0")],
    ["padding", `${encoded("2021-01-01T00:00:00.000Z ae-1")}%3D%3D`],
  ])("a cursor that is none is 400: %s", async (_, cursor) => {
    const answer = await own.owner.get(`${path(own.name)}?page[cursor]=${cursor}`);
    expect(answer.status).toBe(400);
    expect(pointers(answer)).toEqual(["page[cursor]"]);
  });

  it.each(["0", "-1", "x", ""])("page[size]=%s is 400", async (size) => {
    const answer = await own.owner.get(`${path(own.name)}?page[size]=${size}`);
    expect(answer.status).toBe(400);
    expect(pointers(answer)).toEqual(["page[size]"]);
  });
});
