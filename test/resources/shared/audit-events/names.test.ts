/** GET /organizations/:organization_name/audit-events: the names of subjects, also of deleted ones. */
import { beforeAll, describe, expect, it } from "vitest";
import { type Json, useApi } from "../../../support/api.ts";
import { data, type Org, resource, unique } from "../../../support/builders.ts";
import { makeSitePool } from "../../../support/agent-callers.ts";
import { makeConfiguration, makeRun, makeRunnable } from "../../../support/runs.ts";
import { stateOf, writeState } from "../../../support/states.ts";

const api = useApi();
let org: Org;
beforeAll(async () => {
  org = await api.makeOrganization();
});

/** The newest event of a kind, or of a thing. */
async function newest(filter: string): Promise<Json> {
  const [event] = data(await org.owner.get(`/organizations/${org.name}/audit-events?${filter}&page[size]=1`));
  expect(event, filter).toBeDefined();
  return event.attributes;
}
const namesIn = (event: Json): string[] => event.related.map(({ type, name }: Json) => `${type} ${name}`);

describe("listAuditEvents: names", () => {
  it("a grant names its team and its project, also once both are deleted", async () => {
    const team = await api.makeTeam(org.name, { name: "on-call" });
    const project = await api.makeProject(org.name, { name: "Payments" });
    const record = await api.makeTeamProject(project.id, team.id, { access: "write" });
    const granted = await newest(`filter[subject][id]=${record.id}`);
    expect(granted["subject-name"]).toBeNull();
    expect(namesIn(granted)).toEqual(["teams on-call", "projects Payments"]);
    data(await org.owner.patch(`/projects/${project.id}`, resource("projects", { name: "Payouts" })));
    expect(namesIn(await newest(`filter[subject][id]=${record.id}`))).toEqual(["teams on-call", "projects Payouts"]);
    await org.owner.delete(`/team-projects/${record.id}`);
    await org.owner.delete(`/teams/${team.id}`);
    await org.owner.delete(`/projects/${project.id}`);
    expect(namesIn(await newest("filter[action]=team-projects.create"))).toEqual(["teams on-call", "projects Payouts"]);
    expect(namesIn(await newest("filter[action]=team-projects.delete"))).toEqual(["teams on-call", "projects Payouts"]);
  });

  it("a subject has the name that it had at the time", async () => {
    const project = await api.makeProject(org.name, { name: "Before" });
    data(await org.owner.patch(`/projects/${project.id}`, resource("projects", { name: "After" })));
    const events = data(
      await org.owner.get(`/organizations/${org.name}/audit-events?filter[subject][id]=${project.id}`),
    );
    expect(events.map(({ attributes }: Json) => attributes["subject-name"])).toEqual(["After", "Before"]);
  });

  it("runs, states and locks name their workspace, also once it is deleted", async () => {
    const workspace = await api.makeWorkspace(org.name, { name: "ledger" });
    await makeConfiguration(api, workspace.id);
    const run = await makeRun(org.owner, workspace.id);
    await org.owner.post(`/runs/${run.id}/actions/cancel`, { comment: "never mind" });
    await org.owner.post(`/workspaces/${workspace.id}/actions/force-unlock`);
    await writeState(org.owner, workspace.id, stateOf({ serial: 1 }));
    const variable = resource("vars", { key: "region", value: "eu", category: "terraform" });
    data(await org.owner.post(`/workspaces/${workspace.id}/vars`, variable));
    const actions = ["runs.create", "runs.cancel", "comments.create", "state-versions.create"];
    const all = async () => {
      for (const action of [...actions, "workspaces.lock", "vars.create"])
        expect([action, namesIn(await newest(`filter[action]=${action}`))]).toEqual([
          action,
          expect.arrayContaining(["workspaces ledger"]),
        ]);
      expect((await newest("filter[action]=vars.create"))["subject-name"]).toBe("region");
    };
    await all();
    expect((await org.owner.delete(`/workspaces/${workspace.id}`)).status).toBe(204);
    await all();
  });

  it("ids in texts of users stay text", async () => {
    const member = await api.makeMember(org.name);
    const other = await api.makeOrganization();
    const hidden = await api.makeTeam(other.name, { name: unique("hidden") });
    const pool = await makeSitePool(api);
    const workspace = await makeRunnable(api, org.name, { name: "production" });
    const sandbox = await api.makeWorkspace(org.name, { name: "sandbox" });
    for (const description of [hidden.id, pool.id, member.id, sandbox.id]) {
      const variable = resource("vars", { key: unique("key"), value: "", description, category: "terraform" });
      const { id } = data(await org.owner.post(`/workspaces/${workspace.id}/vars`, variable));
      const { related } = await newest(`filter[subject][id]=${id}`);
      expect(related.map((thing: Json) => thing.id)).toEqual([id, workspace.id]);
    }
    const run = await makeRun(org.owner, workspace.id);
    data(await org.owner.post(`/runs/${run.id}/comments`, resource("comments", { body: sandbox.id })));
    expect(namesIn(await newest("filter[action]=comments.create"))).not.toContain("workspaces sandbox");
  });

  it("a variable belongs to its set, also once the set is deleted; deleted subjects are marked", async () => {
    const workspace = await api.makeWorkspace(org.name, { name: unique("assigned") });
    const assigned = { workspaces: { data: [{ type: "workspaces", id: workspace.id }] } };
    const set = data(
      await org.owner.post(
        `/organizations/${org.name}/varsets`,
        resource("varsets", { name: "credentials", global: false }, assigned),
      ),
    );
    const variable = resource("vars", { key: "region", value: "eu", category: "terraform" });
    const { id } = data(await org.owner.post(`/varsets/${set.id}/relationships/vars`, variable));
    const related = async () => (await newest(`filter[subject][id]=${id}`)).related;
    const named = (deleted: boolean) => [
      { type: "vars", id, name: "region", deleted },
      { type: "varsets", id: set.id, name: "credentials", deleted },
    ];
    expect(await related()).toEqual(named(false));
    expect((await org.owner.delete(`/varsets/${set.id}`)).status).toBe(204);
    expect(await related()).toEqual(named(true));
  });

  it("members by their user names, also once they are removed", async () => {
    const member = await api.makeMember(org.name);
    const [membership] = data(
      await org.owner.get(`/organizations/${org.name}/organization-memberships?q=${member.username}`),
    );
    expect((await org.owner.delete(`/organization-memberships/${membership.id}`)).status).toBe(204);
    expect((await newest("filter[action]=organization-memberships.delete"))["subject-name"]).toBe(member.username);
  });

  it("the event of a deleted team or project lists the access that ended with it", async () => {
    const [team, other] = [await api.makeTeam(org.name), await api.makeTeam(org.name)];
    const [project, kept] = [await api.makeProject(org.name), await api.makeProject(org.name, { name: "Kept" })];
    const workspace = await api.makeWorkspace(org.name, { name: unique("granted") });
    const member = await api.makeMember(org.name, [team.id]);
    const [expiresAt, reason] = ["2099-01-01T00:00:00.000Z", "incident 7"];
    await api.makeTeamProject(kept.id, team.id, { access: "write", "expires-at": expiresAt, reason });
    await api.makeTeamWorkspace(workspace.id, team.id, { access: "plan" });
    await api.makeTeamProject(project.id, other.id, { access: "read" });
    const deleting = async (path: string) => {
      const before = api.database.statementCount();
      expect((await org.owner.delete(path)).status).toBe(204);
      return api.database.statementCount() - before;
    };
    const [plain, empty] = [await api.makeTeam(org.name), await api.makeProject(org.name)];
    expect(await deleting(`/teams/${team.id}`)).toBe(await deleting(`/teams/${plain.id}`));
    expect(await deleting(`/projects/${project.id}`)).toBe(await deleting(`/projects/${empty.id}`));
    const ofTeam = await newest(`filter[subject][id]=${team.id}`);
    expect(ofTeam.before).toMatchObject({
      grants: [
        { project: kept.id, access: "write", "expires-at": expiresAt, reason },
        { workspace: workspace.id, access: "plan" },
      ],
      members: [{ membership: expect.stringMatching(/^ou-/), username: member.username }],
    });
    expect(namesIn(ofTeam)).toContain("projects Kept");
    expect((await newest(`filter[subject][id]=${plain.id}`)).before).not.toHaveProperty("grants");
    expect((await newest(`filter[subject][id]=${project.id}`)).before).toMatchObject({
      grants: [{ team: other.id, access: "read" }],
    });
  });

  it("in a number of statements that does not grow", async () => {
    const statements = async (size: number) => {
      await org.owner.get(`/organizations/${org.name}/audit-events?page[size]=${size}`);
      const before = api.database.statementCount();
      await org.owner.get(`/organizations/${org.name}/audit-events?page[size]=${size}`);
      return api.database.statementCount() - before;
    };
    expect(await statements(100)).toBe(await statements(2));
  });
});
