/** Who sees access offers, and which of their teams; what callers without that access can't do while others write. */
import { setTimeout as sleep } from "node:timers/promises";
import { beforeAll, describe, expect, inject, it } from "vitest";
import type { Tx } from "../../../../src/database/database.ts";
import { type Caller, type Json, useApi } from "../../../support/api.ts";
import { data, type Member, type Org, pointers, resource } from "../../../support/builders.ts";
import { makeOffer, offer, offersOf, seatIn, takeBody, teamsNamed } from "../../../support/offers.ts";

const api = useApi();
let org: Org;
let onCall: Json;
let developers: Json;
let approvers: Json;
let dev: Member;
let approver: Member;
let outsider: Member;
let manager: Member & { teamId: string };

beforeAll(async () => {
  org = await api.makeOrganization();
  onCall = await api.makeTeam(org.name);
  developers = await api.makeTeam(org.name);
  approvers = await api.makeTeam(org.name);
  dev = await api.makeMember(org.name, [developers.id]);
  approver = await api.makeMember(org.name, [approvers.id]);
  outsider = await api.makeMember(org.name);
  manager = await api.makeHolder(org.name, "manage-teams");
});

const linkOf = (made: Json) => `/access-offers/${made.id}`;
const patch = (caller: Caller, made: Json, attributes: object, relationships?: object) =>
  caller.patch(linkOf(made), resource("access-offers", attributes, relationships));

/** Runs `work` while another transaction has the organization locked, which then does `before` and commits. */
async function whileLocked<Result>(id: string, work: () => Promise<Result>, before?: (tx: Tx) => Promise<unknown>) {
  const [locked, done] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const holding = api.database.write(async (tx) => {
    const row = tx.db.selectFrom("organizations as o").select("o.id").where("o.id", "=", id);
    await row.modifyEnd(tx.dialect.lockRows("o", "removal")).execute();
    locked.resolve();
    await done.promise;
    await before?.(tx);
  });
  await locked.promise;
  const working = work();
  if (before === undefined) await working.finally(done.resolve);
  else await sleep(500).then(done.resolve);
  await holding;
  return working;
}

describe("while the organization is locked", () => {
  it.runIf(inject("engine") === "postgres")("404 without waiting: callers who can't see the offer", async () => {
    const made = await makeOffer(org.owner, org.name, [seatIn(onCall.id)], [developers.id]);
    const stranger = await api.makeUser();
    const answers = await whileLocked(org.id, () =>
      Promise.all([
        patch(stranger, made, { description: "mine" }),
        stranger.delete(linkOf(made)),
        stranger.post(`${linkOf(made)}/actions/take`, takeBody()),
      ]),
    );
    expect(answers.map(({ status }) => status)).toEqual([404, 404, 404]);
  });

  it("403: an owner whom the other transaction removes from the team creates no offer", async () => {
    const leaver = await api.makeHolder(org.name, "manage-membership");
    const joining = { data: [{ type: "users", id: leaver.id }] };
    expect((await org.owner.post(`/teams/${org.ownersTeamId}/relationships/users`, joining)).status).toBe(204);
    const answer = await whileLocked(
      org.id,
      () => leaver.post(offersOf(org.name), offer([seatIn(onCall.id)], [developers.id])),
      ({ db }) =>
        db.deleteFrom("teamMembers").where("userId", "=", leaver.id).where("teamId", "=", org.ownersTeamId).execute(),
    );
    expect(answer.status).toBe(403);
  });
});

describe("seeing offers", () => {
  let made: Json;
  let secret: Json;

  beforeAll(async () => {
    secret = await api.makeTeam(org.name, { visibility: "secret" });
    made = await makeOffer(org.owner, org.name, [seatIn(onCall.id)], [developers.id]);
    data(
      await patch(
        org.owner,
        made,
        {},
        {
          "eligible-teams": teamsNamed(developers.id, secret.id),
          "approver-teams": teamsNamed(approvers.id),
        },
      ),
    );
  });

  const idsFor = async (caller: Caller) =>
    (await caller.get(`${offersOf(org.name)}?page[size]=100`)).body.data.map(({ id }: Json) => id);

  it("managers, and members of eligible and approver teams see it; others get 404", async () => {
    for (const caller of [org.owner, manager, dev, approver, await api.makeTeamToken(developers.id)]) {
      expect((await caller.get(linkOf(made))).status).toBe(200);
      expect(await idsFor(caller)).toContain(made.id);
    }
    expect((await outsider.get(linkOf(made))).status).toBe(404);
    expect(await idsFor(outsider)).toEqual([]);
    expect((await (await api.makeUser()).get(linkOf(made))).status).toBe(404);
  });

  it("teams that the caller can't see are left out, and an update keeps them", async () => {
    const shown = async (caller: Caller): Promise<string[]> =>
      data(await caller.get(linkOf(made))).relationships["eligible-teams"].data.map(({ id }: Json) => id);
    expect(await shown(org.owner)).toEqual([developers.id, secret.id].sort());
    expect(await shown(dev)).toEqual([developers.id]);
    const own = await api.makeHolder(org.name, "manage-teams", "manage-membership");
    expect(await shown(own)).toEqual([developers.id]);
    data(await patch(own, made, {}, { "eligible-teams": teamsNamed(approvers.id) }));
    expect(await shown(own)).toEqual([approvers.id]);
    expect(await shown(org.owner)).toEqual([approvers.id, secret.id].sort());
    expect(pointers(await patch(own, made, {}, { "eligible-teams": teamsNamed(secret.id) }))).toEqual([
      "/data/relationships/eligible-teams/data/0/id",
    ]);
    data(await patch(org.owner, made, {}, { "eligible-teams": teamsNamed(developers.id, secret.id) }));
  });

  it("permissions are the caller's", async () => {
    const permissions = async (caller: Caller) => data(await caller.get(linkOf(made))).attributes.permissions;
    expect(await permissions(dev)).toEqual({ "can-update": false, "can-destroy": false, "can-take": true });
    expect(await permissions(approver)).toEqual({ "can-update": false, "can-destroy": false, "can-take": false });
    expect(await permissions(manager)).toEqual({ "can-update": true, "can-destroy": true, "can-take": false });
    const token = await permissions(await api.makeTeamToken(developers.id));
    expect(token["can-take"]).toBe(false);
  });

  it("the list is by name, in pages, and ends with the membership", async () => {
    const other = await api.makeOrganization();
    const team = await api.makeTeam(other.name);
    const member = await api.makeMember(other.name, [team.id]);
    for (const name of ["b", "C", "a"])
      await makeOffer(other.owner, other.name, [seatIn(team.id)], [team.id], { name });
    const page = await member.get(`${offersOf(other.name)}?page[size]=2`);
    expect(page.body.data.map(({ attributes }: Json) => attributes.name)).toEqual(["a", "b"]);
    expect(page.body.meta.pagination["total-count"]).toBe(3);
    await other.owner.delete(`/teams/${team.id}/relationships/users`, { data: [{ type: "users", id: member.id }] });
    expect((await member.get(offersOf(other.name))).body.data).toEqual([]);
  });

  it("a deleted team is gone from the offer, whose ETag changes", async () => {
    const extra = await api.makeTeam(org.name);
    const own = await makeOffer(org.owner, org.name, [seatIn(onCall.id)], [developers.id, extra.id]);
    const before = (await org.owner.get(linkOf(own))).headers.get("etag");
    await org.owner.delete(`/teams/${extra.id}`);
    const after = await org.owner.get(linkOf(own));
    expect(after.body.data.relationships["eligible-teams"].data).toEqual([{ type: "teams", id: developers.id }]);
    expect(after.headers.get("etag")).not.toBe(before);
  });
});
