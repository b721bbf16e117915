/** What the changes of an offer name, after it was renamed or deleted. */
import { beforeAll, expect, it } from "vitest";
import { type Caller, type Json, useApi } from "../../../support/api.ts";
import { data, type Org, resource } from "../../../support/builders.ts";
import { makeOffer, seatIn } from "../../../support/offers.ts";
import { joining } from "../../../support/previews.ts";

const api = useApi();
let org: Org;
let team: string;
let developers: string;

beforeAll(async () => {
  org = await api.makeOrganization();
  [team, developers] = [(await api.makeTeam(org.name)).id, (await api.makeTeam(org.name)).id];
});

const make = (...changes: Json[]) => makeOffer(org.owner, org.name, changes, [developers]);
const patch = (caller: Caller, { id }: Json, attributes: object) =>
  caller.patch(`/access-offers/${id}`, resource("access-offers", attributes));

it("200: it can be disabled, and not otherwise changed, when a change names a deleted team; its last writer stays", async () => {
  const gone = await api.makeTeam(org.name);
  const made = await make(seatIn(gone.id));
  const other = await api.makeMember(org.name, [org.ownersTeamId]);
  await org.owner.delete(`/teams/${gone.id}`);
  for (const attributes of [{ description: "a" }, { enabled: false, description: "a" }, { enabled: true }])
    expect((await patch(other, made, attributes)).status).toBe(404);
  expect(data(await patch(other, made, { enabled: false })).attributes.enabled).toBe(false);
  const { writerId } = await api.database.reader.db
    .selectFrom("accessOffers")
    .select("writerId")
    .where("id", "=", made.id)
    .executeTakeFirstOrThrow();
  expect(writerId).toBe(org.owner.id);
});

it("200: usernames are stored as ids, because a name can pass to another account", async () => {
  const member = await api.makeMember(org.name);
  const changes = [seatIn(team), joining(team, member.username.toUpperCase())];
  const made = await make(...changes);
  expect(made.attributes.changes[1].body.data).toEqual([{ type: "users", id: member.id }]);
  expect(data(await patch(org.owner, made, { changes })).attributes.changes).toEqual(made.attributes.changes);
});
