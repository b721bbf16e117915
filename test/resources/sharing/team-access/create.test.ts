/** createTeamProject and createTeamWorkspace over HTTP. */
import { describe, expect, it } from "vitest";
import { type Caller, useApi } from "../../../support/api.ts";
import { data, details, inProject, pointers, resource } from "../../../support/builders.ts";
import { describeOnce } from "../../../support/engine-independent.ts";
import { attributesOf, column, type Kind, kinds, pointerTo, shown, useTwin } from "./kinds.ts";

const api = useApi();
const forEver = { "expires-at": null, reason: null };
const newTeam = async (org: { name: string }): Promise<string> => (await api.makeTeam(org.name)).id;

describe.each(kinds)("create$noun: created", (kind) => {
  const { type, subject, levels, implied, choices } = kind;
  const twin = useTwin(api, kind);
  const chosen = Object.entries(choices).flatMap(([path, all]) => all.map((value) => [path, value] as const));

  it.each(levels)("%s: 200 with what the level implies", async (access) => {
    const teamId = await newTeam(twin.org);
    const answer = await twin.create({ access }, teamId);
    expect(answer.status).toBe(200);
    const { id } = answer.body.data;
    expect(id).toMatch(new RegExp(`^${kind.prefix}-`));
    expect(answer.headers.get("etag")).toBe('"1"');
    const related = (relatedType: string, relatedId: string) => ({
      data: { type: relatedType, id: relatedId },
      links: { related: `/api/v2/${relatedType}/${relatedId}` },
    });
    expect(answer.body).toEqual({
      data: {
        id,
        type,
        attributes: { access, ...forEver, ...attributesOf(column(implied, levels.indexOf(access))) },
        relationships: { team: related("teams", teamId), [subject]: related(`${subject}s`, twin.target.id) },
        links: { self: `/api/v2/${type}/${id}` },
      },
    });
    expect(data(await twin.show(id))).toEqual(answer.body.data);
  });

  it.each(chosen)("custom %s = %s, and the defaults for the rest", async (path, value) => {
    const sent = { access: "custom", ...attributesOf({ [path]: value }) };
    const made = data(await twin.create(sent, await newTeam(twin.org)));
    const expected = attributesOf({ ...column(implied, -1), ...shown({ [path]: value }) });
    expect(made.attributes).toEqual({ access: "custom", ...forEver, ...expected });
  });

  it("takes sentinel-mocks for policy-mocks, and refuses the two with different values", async () => {
    const mocks = kind.runs.replace("runs", "sentinel-mocks");
    const teamId = await newTeam(twin.org);
    const made = data(await twin.create({ access: "custom", ...attributesOf({ [mocks]: "read" }) }, teamId));
    expect(made.attributes).toMatchObject(attributesOf(shown({ [mocks.replace("sentinel", "policy")]: "read" })));
    const both = attributesOf({ [mocks]: "read", [mocks.replace("sentinel", "policy")]: "none" });
    expect((await twin.create({ access: "custom", ...both }, await newTeam(twin.org))).status).toBe(422);
  });

  it("records who got which access to what", async () => {
    const teamId = await newTeam(twin.org);
    const made = data(await twin.create({ access: "write" }, teamId));
    const event = (await twin.events("create")).find((item) => JSON.stringify(item).includes(made.id));
    expect(event.attributes.before).toBeNull();
    expect(event.attributes.after).toMatchObject({ access: "write", team: teamId, [subject]: twin.target.id });
  });

  it("takes effect with the member's next request", async () => {
    const fresh = await twin.makeTarget();
    const teamId = await newTeam(twin.org);
    const member = await api.makeMember(twin.org.name, [teamId]);
    const status = async () => (await member.get(`/${subject}s/${fresh.id}`)).status;
    expect(await status()).toBe(404);
    const { id } = await twin.record({ access: "read" }, fresh.id, teamId);
    expect(await status()).toBe(200);
    data(await twin.org.owner.delete(`/${type}/${id}`));
    expect(await status()).toBe(404);
  });
});

describeOnce.each(kinds)("create$noun: 422 for what the body shows", (kind) => {
  const { type, levels, choices } = kind;
  const twin = useTwin(api, kind);
  const paths = Object.keys(choices);
  const create = (attributes: object) => twin.create(attributes, "team-unknown");

  it.each(levels.slice(0, -1).flatMap((level) => paths.map((path) => [level, path] as const)))(
    "%s with a chosen %s",
    async (level, path) => {
      const answer = await create({ access: level, ...attributesOf({ [path]: choices[path]?.[0] }) });
      expect(answer.status).toBe(422);
      const human = path.replaceAll(/[-.]/g, " ");
      expect(details(answer)).toEqual([
        `${human[0]?.toUpperCase()}${human.slice(1)} is read-only when access level is '${level}'; use the 'custom' access level to set this attribute.`,
      ]);
      expect(pointers(answer)).toEqual([pointerTo(path)]);
    },
  );

  it("reports every permission in one response", async () => {
    const answer = await create({ access: "read", ...attributesOf(column(choices, -1)) });
    expect(details(answer)).toHaveLength(paths.length);
  });

  it.each([kind.noLevel, "none", "", "Admin", null, 5, undefined])("access %j", async (access) => {
    const answer = await create({ access });
    expect(answer.status).toBe(422);
    expect(pointers(answer)).toEqual(["/data/attributes/access"]);
  });

  it.each(paths.flatMap((path) => ["everything", null, 7].map((value) => [path, value] as const)))(
    "%s = %j",
    async (path, value) => {
      const answer = await create({ access: "custom", ...attributesOf({ [path]: value }) });
      expect(answer.status).toBe(422);
      expect(pointers(answer)).toEqual([pointerTo(path)]);
    },
  );

  it.each(kind.refused)("%j", async (attributes) => {
    expect((await create({ access: "custom", ...attributes })).status).toBe(422);
  });

  it("without a team and a target, and of another type", async () => {
    const answer = await twin.org.owner.post(`/${type}`, resource(type, { access: "read" }));
    expect(answer.status).toBe(422);
    expect(pointers(answer)).toEqual(["/data/relationships/team", `/data/relationships/${kind.subject}`]);
    const [other = ""] = kinds.map((each) => each.type).filter((each) => each !== type);
    const body = resource(other, { access: "read" }, kind.on(twin.target.id, await newTeam(twin.org)));
    expect((await twin.org.owner.post(`/${type}`, body)).status).toBe(422);
  });
});

describe.each(kinds)("create$noun: refused because of stored data", (kind) => {
  const twin = useTwin(api, kind);

  it("422: a second record for the same team and target", async () => {
    const teamId = await newTeam(twin.org);
    data(await twin.create({ access: "read" }, teamId));
    const answer = await twin.create({ access: "admin" }, teamId);
    expect(answer.status).toBe(422);
    expect(details(answer)).toEqual(["Team has already been taken"]);
    expect((await twin.create({ access: "read" }, teamId, (await twin.makeTarget()).id)).status).toBe(200);
  });

  it("422: of many at the same time one is created", async () => {
    const teamId = await newTeam(twin.org);
    const answers = await Promise.all(Array.from({ length: 8 }, () => twin.create({ access: "read" }, teamId)));
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, ...Array(7).fill(422)]);
  });

  it("422: the owners team", async () => {
    const answer = await twin.create({ access: "read" }, twin.org.ownersTeamId);
    expect(answer.status).toBe(422);
    expect(details(answer)[0]).toContain("owners team");
  });

  it("404: an unknown target or team, and those of another organization, also to a site admin", async () => {
    const teamId = await newTeam(twin.org);
    const other = await api.makeOrganization();
    const theirs = await newTeam(other);
    const foreign = await (kind.subject === "project" ? api.makeProject : api.makeWorkspace)(other.name);
    const status = async (...wanted: [teamId: string, targetId?: string, caller?: Caller]) =>
      (await twin.create({ access: "read" }, ...wanted)).status;
    expect(await status(teamId, "none-unknown")).toBe(404);
    expect(await status("team-unknown")).toBe(404);
    expect(await status(theirs)).toBe(404);
    expect(await status(teamId, foreign.id)).toBe(404);
    expect(await status(theirs, twin.target.id, api.admin)).toBe(404);
  });

  it("404: a secret team that the caller can't see", async () => {
    const secret = await api.makeTeam(twin.org.name, { visibility: "secret" });
    const fresh = await twin.makeTarget();
    const admin = await twin.holding({ access: "admin" }, fresh.id);
    expect((await twin.create({ access: "read" }, secret.id, fresh.id, admin)).status).toBe(404);
    expect((await twin.create({ access: "read" }, secret.id, fresh.id)).status).toBe(200);
  });

  it("404, not 403: for callers who can read the target but not manage its access", async () => {
    const reader = await api.makeHolder(twin.org.name, `read-${kind.subject}s`);
    const answer = await twin.create({ access: "custom" }, await newTeam(twin.org), twin.target.id, reader);
    expect(answer.status).toBe(404);
  });

  it("200: the organization token grants what it can't use itself", async () => {
    const token = await api.makeOrganizationToken(twin.org.name);
    const answer = await twin.create({ access: "admin" }, await newTeam(twin.org), twin.target.id, token);
    expect(answer.status).toBe(200);
  });
});

const [ofProjects, ofWorkspaces] = kinds as [Kind, Kind];

describe("createTeamProject", () => {
  const twin = useTwin(api, ofProjects);

  it("counts the team until it is deleted, and increments the project's version", async () => {
    const fresh = await twin.makeTarget();
    const shownNow = () => twin.org.owner.get(`/projects/${fresh.id}`);
    const count = async () => data(await shownNow()).attributes["team-count"];
    const before = await shownNow();
    const [first, second] = [
      await twin.record({ access: "read" }, fresh.id),
      await twin.record({ access: "read" }, fresh.id),
    ];
    expect((await shownNow()).headers.get("etag")).not.toBe(before.headers.get("etag"));
    expect(await count()).toBe(data(before).attributes["team-count"] + 2);
    data(await twin.org.owner.delete(`/teams/${first.relationships.team.data.id}`));
    expect(await count()).toBe(data(before).attributes["team-count"] + 1);
    expect((await twin.org.owner.delete(`/team-projects/${second.id}`)).status).toBe(204);
    expect(await count()).toBe(0);
  });

  it.each([
    ["a level", { access: "read" }],
    ["maintain, whose workspace admin no custom set has", { access: "maintain" }],
    ["one permission", { access: "custom", "workspace-access": { move: true } }],
    ["a higher value", { access: "custom", "workspace-access": { runs: "plan" } }],
    ["reading variable sets", { access: "custom", "project-access": { "variable-sets": "read" } }],
    ["overriding policies", { access: "custom", "workspace-access": { "policy-overrides": true } }],
  ])("403: %s, by a caller with only teams: manage", async (_, attributes) => {
    const held = { access: "custom", "project-access": { teams: "manage" } };
    const fresh = await twin.makeTarget();
    const manager = await twin.holding(held, fresh.id);
    const teamId = await newTeam(twin.org);
    const answer = await twin.create(attributes, teamId, fresh.id, manager);
    expect(answer.status).toBe(403);
    expect(details(answer)[0]).toContain("You can't grant what you don't have yourself");
    expect((await twin.create(held, teamId, fresh.id, manager)).status).toBe(200);
  });
});

describe("createTeamWorkspace", () => {
  const twin = useTwin(api, ofWorkspaces);

  it.each([
    ["404", "'manage' on the project's teams alone: that is no admin of the project"],
    ["200", "the admins of the workspace"],
    ["200", "the admins of the project"],
  ])("%s for %s", async (status, who) => {
    const { name } = twin.org;
    const project = await api.makeProject(name);
    const held = await api.makeWorkspace(name, {}, inProject(project.id));
    const teamId = await newTeam(twin.org);
    const managing = { access: "custom", "project-access": { teams: "manage" } };
    if (who.includes("workspace")) await twin.record({ access: "admin" }, held.id, teamId);
    else await api.makeTeamProject(project.id, teamId, status === "404" ? managing : { access: "admin" });
    const caller = await api.makeMember(name, [teamId]);
    const access = status === "404" ? "custom" : "admin";
    expect((await twin.create({ access }, await newTeam(twin.org), held.id, caller)).status).toBe(Number(status));
    expect((await caller.get(`/team-workspaces?filter[workspace][id]=${held.id}`)).status).toBe(200);
  });
});
