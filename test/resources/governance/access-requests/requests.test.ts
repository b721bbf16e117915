/** Access requests: creation, what readers see, approval, denial and withdrawal. */
import { beforeAll, describe, expect, it } from "vitest";
import { type Caller, type Json, useApi } from "../../../support/api.ts";
import { data, details, inProject, type Member, type Org, pointers, resource } from "../../../support/builders.ts";
import { approve, decide, deny, makeRequest, readRequest, sendRequest } from "../../../support/access-requests.ts";
import { joining, moving, permitting, projectGrant } from "../../../support/previews.ts";

const api = useApi();
let org: Org;
let project: string;
/** Reads the project. */
let readers: Json;
let reader: Member;
/** Administers the project. */
let admins: Json;
let admin: Member;

beforeAll(async () => {
  org = await api.makeOrganization();
  project = (await api.makeProject(org.name, { name: "network" })).id;
  await api.makeWorkspace(org.name, {}, inProject(project));
  readers = await api.makeTeam(org.name, { name: "readers" });
  reader = await api.makeMember(org.name, [readers.id]);
  await api.makeTeamProject(project, readers.id, { access: "read" });
  admins = await api.makeTeam(org.name, { name: "admins" });
  admin = await api.makeMember(org.name, [admins.id]);
  await api.makeTeamProject(project, admins.id, { access: "admin" });
});

const path = () => `/organizations/${org.name}/access-requests`;
const newTeam = async () => (await api.makeTeam(org.name)).id as string;
const grant = (teamId: string, access = "write") => projectGrant(access, teamId, project);
const ask = (changes: Json[], more: object = {}, caller: Caller = reader) =>
  makeRequest(caller, org.name, changes, more);
const ids = async (caller: Caller, query = "") => data(await caller.get(`${path()}${query}`)).map(({ id }: Json) => id);
const grantsOf = async (teamId: string) =>
  data(await org.owner.get(`/team-projects?filter[project][id]=${project}`)).filter(
    ({ relationships }: Json) => relationships.team.data.id === teamId,
  );

describe("createAccessRequest", () => {
  it("stores changes that the caller can't make itself, with their effects as of now", async () => {
    const team = await newTeam();
    const request = await ask([grant(team)]);
    expect(request).toMatchObject({
      type: "access-requests",
      id: expect.stringMatching(/^areq-/),
      attributes: {
        status: "pending",
        reason: "Incident 4711",
        changes: [grant(team)],
        "duration-seconds": null,
        "decided-at": null,
        "decision-comment": null,
        "access-version": expect.any(String),
        rules: [],
        permissions: { "can-approve": false, "can-deny": false, "can-withdraw": true },
      },
      relationships: {
        requester: { data: { type: "users", id: reader.id } },
        "decided-by": { data: null },
        offer: { data: null },
        organization: { data: { type: "organizations", id: org.name } },
      },
    });
    const { effects, "created-at": created, "lapses-at": lapses } = request.attributes;
    expect(effects.gains.map(({ subject }: Json) => subject.id)).toEqual([team]);
    expect(Date.parse(lapses) - Date.parse(created)).toBeGreaterThan(604_790_000);
    expect(await grantsOf(team)).toEqual([]);
  });

  it("waits as long as the organization says", async () => {
    const other = await api.makeOrganization();
    data(
      await other.owner.patch(
        `/organizations/${other.name}`,
        resource("organizations", { "access-request-lapse-seconds": 3600 }),
      ),
    );
    const team = await api.makeTeam(other.name);
    const member = await api.makeMember(other.name);
    const request = await makeRequest(member, other.name, [permitting(team.id, "manage-projects")]);
    const { "created-at": created, "lapses-at": lapses } = request.attributes;
    expect(Math.round((Date.parse(lapses) - Date.parse(created)) / 1000)).toBe(3600);
  });

  it("404 for what the caller can't see: a project, a secret team, a user outside of the organization", async () => {
    const hidden = await api.makeProject(org.name);
    const secret = await api.makeTeam(org.name, { visibility: "secret" });
    const stranger = await api.makeMember((await api.makeOrganization()).name);
    const visible = await newTeam();
    for (const change of [
      projectGrant("read", visible, hidden.id),
      joining(secret.id, reader.username),
      joining(visible, stranger.username),
      joining(visible, stranger.id),
      projectGrant("read", "team-0000000000000000", project),
    ]) {
      const answer = await sendRequest(reader, org.name, [grant(visible), change]);
      expect([answer.status, pointers(answer)]).toEqual([404, ["/data/attributes/changes/1"]]);
    }
  });

  it("422 for malformed changes, with pointers", async () => {
    const answer = await sendRequest(reader, org.name, [
      { method: "POST", path: "/nowhere" },
      { ...grant(readers.id), body: resource("team-projects", { access: "all" }) },
    ]);
    expect(answer.status).toBe(422);
    expect(pointers(answer)).toEqual(
      expect.arrayContaining([
        "/data/attributes/changes/0/path",
        "/data/attributes/changes/1/body/data/attributes/access",
      ]),
    );
    const level = grant(readers.id);
    level.body.data.attributes["project-access"] = { settings: "update" };
    expect(pointers(await sendRequest(reader, org.name, [level]))).toEqual([
      "/data/attributes/changes/0/body/data/attributes/project-access/settings",
    ]);
  });

  it("422 without a reason or changes, with more than 20 of them or 64 KiB, and for a duration out of range", async () => {
    const team = await newTeam();
    for (const reason of ["", "  "])
      expect(pointers(await sendRequest(reader, org.name, [grant(team)], { reason }))).toEqual([
        "/data/attributes/reason",
      ]);
    expect(pointers(await sendRequest(reader, org.name, []))).toEqual(["/data/attributes/changes"]);
    const many = Array.from({ length: 21 }, () => grant(team));
    expect(pointers(await sendRequest(reader, org.name, many))).toEqual(["/data/attributes/changes"]);
    const large = { ...grant(team), body: { ...grant(team).body, junk: "x".repeat(65_536) } };
    const tooLong = await sendRequest(reader, org.name, [large]);
    expect([tooLong.status, pointers(tooLong)]).toEqual([422, ["/data/attributes/changes"]]);
    for (const seconds of [299, 31_536_001])
      expect(pointers(await sendRequest(reader, org.name, [grant(team)], { "duration-seconds": seconds }))).toEqual([
        "/data/attributes/duration-seconds",
      ]);
  });

  it("422 with a duration for anything but new grants and seats", async () => {
    const team = await newTeam();
    const changes = [
      grant(team),
      permitting(team, "manage-projects"),
      moving(project, (await api.makeWorkspace(org.name)).id),
    ];
    const answer = await sendRequest(org.owner, org.name, changes, { "duration-seconds": 3600 });
    expect([answer.status, pointers(answer)]).toEqual([
      422,
      ["/data/attributes/changes/1/path", "/data/attributes/changes/2/path"],
    ]);
  });

  it("422 for attributes that don't change access, which the effects don't show", async () => {
    const team = permitting(await newTeam(), "manage-projects");
    team.body.data.attributes["sso-team-id"] = "everybody";
    const move = moving(project, (await api.makeWorkspace(org.name)).id);
    const answer = await sendRequest(org.owner, org.name, [team, grant(readers.id, "read"), move]);
    expect([answer.status, pointers(answer)]).toEqual([
      422,
      ["/data/attributes/changes/0/body/data/attributes/sso-team-id"],
    ]);
  });

  it("accepts a change that is impossible now", async () => {
    const request = await ask([grant(readers.id)]);
    expect(request.attributes.status).toBe("pending");
    const answer = await approve(org.owner, request.id);
    expect([answer.status, details(answer)[0]]).toEqual([409, expect.stringContaining("Team has already been taken")]);
    expect((await readRequest(reader, request.id)).attributes.status).toBe("pending");
  });

  it("403 for tokens of teams and organizations, and for users who are not active members", async () => {
    const outside = await api.makeUser({ "is-site-admin": true });
    const team = await newTeam();
    for (const caller of [await api.makeTeamToken(admins.id), await api.makeOrganizationToken(org.name), outside])
      expect((await sendRequest(caller, org.name, [grant(team)])).status).toBe(403);
  });

  it("409 above 50 pending requests of a user", async () => {
    const busy = await api.makeMember(org.name, [readers.id]);
    const change = grant(await newTeam());
    for (let count = 0; count < 50; count += 1) await ask([change], {}, busy);
    const answer = await sendRequest(busy, org.name, [change]);
    expect([answer.status, details(answer)[0]]).toEqual([409, expect.stringContaining("50 pending")]);
    const [first] = await ids(busy);
    data(await decide(busy, first, "withdraw"));
    expect((await sendRequest(busy, org.name, [change])).status).toBe(201);
  });
});

describe("who sees a request", () => {
  it("the requester, users who could make all its changes, and owners; nobody else", async () => {
    const team = await newTeam();
    const request = await ask([grant(team)]);
    const other = await api.makeMember(org.name, [readers.id]);
    for (const caller of [reader, admin, org.owner])
      expect((await readRequest(caller, request.id)).id).toBe(request.id);
    expect((await other.get(`/access-requests/${request.id}`)).status).toBe(404);
    expect((await approve(other, request.id)).status).toBe(404);
    for (const caller of [reader, admin, org.owner]) expect(await ids(caller)).toContain(request.id);
    expect(await ids(other)).not.toContain(request.id);
    data(await approve(admin, request.id));
    for (const caller of [reader, admin, org.owner])
      expect((await readRequest(caller, request.id)).id).toBe(request.id);
    expect((await other.get(`/access-requests/${request.id}`)).status).toBe(404);
  });

  it("lists by status, requester, and what is mine", async () => {
    const one = await ask([grant(await newTeam())]);
    const two = await ask([grant(await newTeam())]);
    data(await deny(admin, two.id));
    expect(await ids(admin, "?filter[status]=pending&page[size]=100")).toContain(one.id);
    expect(await ids(admin, "?filter[status]=denied")).toContain(two.id);
    expect(await ids(admin, "?filter[status]=denied")).not.toContain(one.id);
    expect(await ids(admin, `?filter[requester]=${reader.id}&page[size]=100`)).toEqual(
      expect.arrayContaining([one.id, two.id]),
    );
    expect(await ids(admin, `?filter[requester]=${admin.id}`)).toEqual([]);
    expect(await ids(admin, "?filter[mine]=to-decide&page[size]=100")).toContain(one.id);
    expect(await ids(admin, "?filter[mine]=to-decide&page[size]=100")).not.toContain(two.id);
    expect(await ids(reader, "?filter[mine]=to-decide")).toEqual([]);
    expect(await ids(reader, "?filter[mine]=requested&page[size]=100")).toEqual(
      expect.arrayContaining([one.id, two.id]),
    );
    const listed = data(await admin.get(`${path()}?page[size]=100`));
    expect(listed.every(({ attributes }: Json) => attributes.effects === null)).toBe(true);
    expect((await admin.get(`${path()}?filter[status]=open`)).status).toBe(400);
  });
});

describe("approveAccessRequest", () => {
  it("makes the changes as the approver, and names the request in their audit events", async () => {
    const team = await newTeam();
    const request = await ask([grant(team), joining(team, reader.username)]);
    const answer = data(await approve(org.owner, request.id, { comment: "Fine." }));
    expect(answer).toMatchObject({
      attributes: { status: "approved", "decision-comment": "Fine.", "decided-at": expect.any(String) },
      relationships: { "decided-by": { data: { type: "users", id: org.owner.id } } },
    });
    expect(answer.attributes.permissions).toEqual({ "can-approve": false, "can-deny": false, "can-withdraw": false });
    expect(answer.attributes.effects.gains.map(({ subject }: Json) => subject.id).toSorted()).toEqual(
      [reader.id, team].toSorted(),
    );
    const shown = await readRequest(reader, request.id);
    expect(shown.attributes.effects.gains[0]).toMatchObject({
      projects: [{ count: 1, named: [{ id: project, name: "network" }] }],
    });
    expect(await grantsOf(team)).toHaveLength(1);
    const events = data(await org.owner.get(`/organizations/${org.name}/audit-events`));
    const ofRequest = events.filter(({ attributes }: Json) => attributes["access-request-id"] === request.id);
    expect(ofRequest.map(({ attributes }: Json) => attributes.action).toSorted()).toEqual([
      "access-requests.approve",
      "access-requests.create",
      "team-projects.create",
      "teams.add-members",
    ]);
    const made = ofRequest.find(({ attributes }: Json) => attributes.action === "team-projects.create");
    expect(made.attributes).toMatchObject({ "actor-id": org.owner.id });
    expect(made.attributes.related).toEqual(
      expect.arrayContaining([{ type: "access-requests", id: request.id, name: "Incident 4711", deleted: false }]),
    );
  });

  it("ends each grant and seat so long after the approval, or at its own earlier expiry", async () => {
    const team = await newTeam();
    const soon = new Date(Date.now() + 600_000).toISOString();
    const early = projectGrant("read", await newTeam(), project);
    early.body.data.attributes["expires-at"] = soon;
    const request = await ask([grant(team), joining(team, reader.username), early], { "duration-seconds": 3600 });
    const approved = data(await approve(org.owner, request.id));
    const end = Date.parse(approved.attributes["decided-at"]) + 3_600_000;
    const [record] = await grantsOf(team);
    expect(Math.abs(Date.parse(record.attributes["expires-at"]) - end)).toBeLessThan(60_000);
    const [other] = await grantsOf(early.body.data.relationships.team.data.id);
    expect(other.attributes["expires-at"]).toBe(soon);
    const shown = data(await org.owner.get(`/teams/${team}?include=users`));
    expect(Math.abs(Date.parse(shown.relationships.users.data[0].meta["expires-at"]) - end)).toBeLessThan(60_000);
  });

  it("403 for the requester, also an owner", async () => {
    const request = await ask([grant(await newTeam())], {}, org.owner);
    const answer = await approve(org.owner, request.id);
    expect([answer.status, details(answer)[0]]).toEqual([403, expect.stringContaining("your own access request")]);
  });

  it("403 for a beneficiary: who joins, stays longer, or belongs to a team that gains", async () => {
    const team = await newTeam();
    const owner = await api.makeMember(org.name, [org.ownersTeamId, team]);
    const refused = async (changes: Json[]) => {
      const request = await ask(changes);
      const answer = await approve(owner, request.id);
      expect([answer.status, details(answer)[0]]).toEqual([403, expect.stringContaining("gain access")]);
      expect((await readRequest(owner, request.id)).attributes.permissions["can-approve"]).toBe(false);
      expect(await ids(owner, "?filter[mine]=to-decide&page[size]=100")).not.toContain(request.id);
      expect((await deny(owner, request.id)).status).toBe(403);
      data(await decide(reader, request.id, "withdraw"));
    };
    await refused([grant(team)]);
    await refused([joining(await newTeam(), owner.username)]);
    await refused([permitting(team, "manage-projects")]);
    const inAnHour = new Date(Date.now() + 3_600_000).toISOString();
    const record = await api.makeTeamProject(project, team, { access: "read", "expires-at": inAnHour });
    await refused([
      { method: "PATCH", path: `/team-projects/${record.id}`, body: resource("team-projects", { "expires-at": null }) },
    ]);
    const temporary = { data: [{ type: "users", id: owner.username, meta: { "expires-at": inAnHour } }] };
    const seats = await newTeam();
    await org.owner.post(`/teams/${seats}/relationships/users`, temporary);
    await refused([
      {
        ...joining(seats, owner.username),
        body: { data: [{ type: "users", id: owner.username, meta: { "expires-at": null } }] },
      },
    ]);
    await refused([{ method: "DELETE", path: `/team-projects/${record.id}` }, grant(team, "read")]);
  });

  it("403 for a user who can't make every change, with the reason", async () => {
    const request = await ask([grant(await newTeam()), permitting(await newTeam(), "manage-projects")]);
    const answer = await approve(admin, request.id);
    expect(answer.status).toBe(404);
    const lead = await api.makeMember(org.name, [
      (await api.makeTeam(org.name, { "organization-access": { "manage-projects": true } })).id,
    ]);
    const narrow = await ask([projectGrant("admin", await newTeam(), project)]);
    expect((await approve(lead, narrow.id)).status).toBe(200);
  });

  it("403 for tokens of teams and organizations, also to deny", async () => {
    const request = await ask([grant(await newTeam())]);
    for (const caller of [await api.makeTeamToken(admins.id), await api.makeOrganizationToken(org.name)])
      for (const answer of [await approve(caller, request.id), await deny(caller, request.id)])
        expect([answer.status, details(answer)[0]]).toEqual([403, expect.stringContaining("Tokens of teams")]);
  });

  it("422 without an access-version, 412 with an old one", async () => {
    const request = await ask([grant(await newTeam())]);
    const missing = await decide(admin, request.id, "approve");
    expect([missing.status, pointers(missing)]).toEqual([422, ["/data/attributes/access-version"]]);
    const old = await readRequest(admin, request.id);
    await api.makeTeamProject(project, await newTeam(), { access: "read" });
    const stale = await decide(admin, request.id, "approve", { "access-version": old.attributes["access-version"] });
    expect(stale.status).toBe(412);
    expect((await readRequest(admin, request.id)).attributes["access-version"]).not.toBe(
      old.attributes["access-version"],
    );
    data(await approve(admin, request.id));
  });

  it("409 after a change has become impossible, with nothing applied", async () => {
    const [one, two] = [await newTeam(), await newTeam()];
    const workspace = await api.makeWorkspace(org.name, {}, { project: { data: { type: "projects", id: project } } });
    const onWorkspace = {
      method: "POST",
      path: "/team-workspaces",
      body: resource(
        "team-workspaces",
        { access: "read" },
        {
          team: { data: { type: "teams", id: two } },
          workspace: { data: { type: "workspaces", id: workspace.id } },
        },
      ),
    };
    const request = await ask([grant(one), onWorkspace]);
    data(await org.owner.delete(`/workspaces/${workspace.id}`));
    const answer = await approve(org.owner, request.id);
    expect(answer.status).toBe(409);
    expect(await grantsOf(one)).toEqual([]);
    expect((await readRequest(reader, request.id)).attributes).toMatchObject({ status: "pending" });
    expect((await approve(admin, request.id)).status).toBe(409);
    data(await deny(admin, request.id));
  });

  it("409 if the requester is no longer an active member", async () => {
    const leaver = await api.makeMember(org.name, [readers.id]);
    const request = await ask([grant(await newTeam())], {}, leaver);
    data(await org.owner.delete(`/organization-memberships/${leaver.membershipId}`));
    const answer = await approve(admin, request.id);
    expect([answer.status, details(answer)[0]]).toEqual([409, expect.stringContaining("no longer an active member")]);
    expect((await readRequest(admin, request.id)).attributes.status).toBe("pending");
  });

  it("409 on anything after the decision", async () => {
    const decisions = [
      (id: string) => approve(admin, id),
      (id: string) => deny(admin, id),
      (id: string) => decide(reader, id, "withdraw"),
    ];
    for (const decideIt of decisions) {
      const { id } = await ask([grant(await newTeam())]);
      data(await decideIt(id));
      const answers = [await approve(admin, id), await deny(admin, id), await decide(reader, id, "withdraw")];
      expect(answers.map(({ status }) => status)).toEqual([409, 409, 409]);
    }
  });
});
