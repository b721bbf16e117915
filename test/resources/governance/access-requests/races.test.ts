/** Decisions of one access request that meet: one wins. And requests that lapse. */
import { beforeAll, describe, expect, it } from "vitest";
import { createVault } from "../../../../src/database/vault.ts";
import { jobs } from "../../../../src/jobs/index.ts";
import { BackgroundJobRunner } from "../../../../src/jobs/runner.ts";
import { operatorContext } from "../../../../src/service.ts";
import { type Answer, type Caller, type Json, useApi } from "../../../support/api.ts";
import { data, details, inProject, type Member, type Org, pointers, resource } from "../../../support/builders.ts";
import { approve, decide, deny, makeRequest, readRequest } from "../../../support/access-requests.ts";
import { projectGrant } from "../../../support/previews.ts";

const api = useApi();
let org: Org;
let second: Member;
let requester: Member;
let project: string;

beforeAll(async () => {
  org = await api.makeOrganization();
  second = await api.makeMember(org.name, [org.ownersTeamId]);
  project = (await api.makeProject(org.name)).id;
  await api.makeWorkspace(org.name, {}, inProject(project));
  requester = await api.makeReader(org.name, project);
});

async function makePending(): Promise<{ id: string; teamId: string; version: string }> {
  const team = await api.makeTeam(org.name);
  const request = await makeRequest(requester, org.name, [projectGrant("write", team.id, project)]);
  return {
    id: request.id,
    teamId: team.id,
    version: (await readRequest(org.owner, request.id)).attributes["access-version"],
  };
}

const approveAt = (caller: Caller, { id, version }: { id: string; version: string }): Promise<Answer> =>
  decide(caller, id, "approve", { "access-version": version });

const grantsOf = async (teamId: string): Promise<Json[]> =>
  data(await org.owner.get(`/team-projects?filter[project][id]=${project}&page[size]=100`)).filter(
    ({ relationships }: Json) => relationships.team.data.id === teamId,
  );

const lapse = (id: string) =>
  api.database.write(async ({ db }) => {
    await db.updateTable("accessRequests").set({ lapsesAt: "2020-01-01T00:00:00.000Z" }).where("id", "=", id).execute();
  });

const recordLapsed = () =>
  new BackgroundJobRunner({
    database: api.audited,
    vault: createVault(Buffer.alloc(32, 7)),
    options: operatorContext(api.database, { organizationCreation: "site-admins" }, "test").options,
    jobs,
  }).runNow("lapsed-requests");

describe("two decisions at once", () => {
  it("two approvals: one is 200, the other 409, and the changes are made once", async () => {
    for (let round = 0; round < 5; round += 1) {
      const pending = await makePending();
      const answers = await Promise.all([approveAt(org.owner, pending), approveAt(second, pending)]);
      expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 409]);
      expect(await grantsOf(pending.teamId)).toHaveLength(1);
    }
  });

  it("an approval and a withdrawal: one is 200, the other 409", async () => {
    for (let round = 0; round < 5; round += 1) {
      const pending = await makePending();
      const [approved, withdrawn] = await Promise.all([
        approveAt(org.owner, pending),
        decide(requester, pending.id, "withdraw"),
      ]);
      expect([approved.status, withdrawn.status].toSorted()).toEqual([200, 409]);
      expect(await grantsOf(pending.teamId)).toHaveLength(approved.status === 200 ? 1 : 0);
      const { status } = (await readRequest(requester, pending.id)).attributes;
      expect(status).toBe(approved.status === 200 ? "approved" : "withdrawn");
    }
  });

  it("an approval and a denial: one is 200, the other 409", async () => {
    const pending = await makePending();
    const [approved, denied] = await Promise.all([approveAt(org.owner, pending), deny(second, pending.id)]);
    expect([approved.status, denied.status].toSorted()).toEqual([200, 409]);
    expect(await grantsOf(pending.teamId)).toHaveLength(approved.status === 200 ? 1 : 0);
  });

  it("an approval and the lapse: the request is approved with its changes, or lapsed without", async () => {
    for (let round = 0; round < 5; round += 1) {
      const pending = await makePending();
      const [approved] = await Promise.all([
        approveAt(org.owner, pending),
        lapse(pending.id).then(() => recordLapsed()),
      ]);
      const { status } = (await readRequest(requester, pending.id)).attributes;
      expect([approved.status, status]).toEqual(approved.status === 200 ? [200, "approved"] : [409, "lapsed"]);
      expect(await grantsOf(pending.teamId)).toHaveLength(approved.status === 200 ? 1 : 0);
    }
  });

  it("an approval and a new rule that forbids it: the rule was first, or the grant", async () => {
    for (let round = 0; round < 3; round += 1) {
      const pending = await makePending();
      const policy = `forbid (principal, action == Action::"grant", resource == Project::"${project}");`;
      const rule = resource("access-rules", { name: `frozen-${round}`, policy, enforcement: "forbid" });
      const [approved, made] = await Promise.all([
        approveAt(org.owner, pending),
        org.owner.post(`/organizations/${org.name}/access-rules`, rule),
      ]);
      expect(made.status).toBe(201);
      expect([200, 403]).toContain(approved.status);
      const { status } = (await readRequest(requester, pending.id)).attributes;
      expect(status).toBe(approved.status === 200 ? "approved" : "pending");
      expect(await grantsOf(pending.teamId)).toHaveLength(approved.status === 200 ? 1 : 0);
      const refused = await approve(second, (await makePending()).id);
      expect([refused.status, details(refused)[0]]).toEqual([403, expect.stringContaining(`frozen-${round}`)]);
      data(await org.owner.delete(`/access-rules/${data(made).id}`));
    }
  });
});

it.each([3599, 2_592_001, 0.5, null])("422 for lapse seconds of %s", async (seconds) => {
  const attributes = { "access-request-lapse-seconds": seconds };
  const answer = await org.owner.patch(`/organizations/${org.name}`, resource("organizations", attributes));
  expect([answer.status, pointers(answer)]).toEqual([422, ["/data/attributes/access-request-lapse-seconds"]]);
});

describe("after lapses-at", () => {
  it("every read says lapsed at once, and nothing can be decided; the job only stores it", async () => {
    const { id, version } = await makePending();
    await lapse(id);
    const path = `/organizations/${org.name}/access-requests`;
    const listed = async (query: string) => data(await org.owner.get(`${path}?${query}`)).map((one: Json) => one.id);
    const expectLapsed = async () => {
      expect((await readRequest(requester, id)).attributes).toMatchObject({
        status: "lapsed",
        effects: null,
        "decided-at": null,
        permissions: { "can-approve": false, "can-deny": false, "can-withdraw": false },
      });
      expect(await listed("filter[status]=lapsed")).toContain(id);
      expect(await listed("filter[status]=pending")).not.toContain(id);
      expect(await listed("filter[mine]=to-decide")).not.toContain(id);
      const answers = [
        await approveAt(org.owner, { id, version }),
        await deny(org.owner, id),
        await decide(requester, id, "withdraw"),
      ];
      expect(answers.map(({ status }) => status)).toEqual([409, 409, 409]);
    };
    await expectLapsed();
    await recordLapsed();
    await expectLapsed();
    const events = data(await org.owner.get(`/organizations/${org.name}/audit-events?filter[subject][id]=${id}`));
    expect(events.map(({ attributes }: Json) => attributes.action)).toEqual([
      "access-requests.lapse",
      "access-requests.create",
    ]);
  });
});
