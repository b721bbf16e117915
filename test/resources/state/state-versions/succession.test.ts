/** What may follow what: serial, lineage and MD5; and who may write at all. */
import { beforeAll, describe, expect, it } from "vitest";
import { type Caller, type Json, useApi } from "../../../support/api.ts";
import {
  data,
  grantWorkspace,
  makeMember,
  makeOrganizationToken,
  makeTeam,
  makeTeamToken,
  type Member,
} from "../../../support/builders.ts";
import { lineage, md5, put, stateOf } from "../../../support/states.ts";
import { expectFault, expectRefused, expectSent, uploadUrlOf, useStage } from "./support.ts";

const api = useApi();
const stage = useStage(api);

const other = "00000000-e579-fb7c-ffdd-f0c858a647a7";
/** What the CLI shows to somebody who pushed with '-force', which it does not pass on with a 'cloud' block. */
const byForce =
  "and push it without '-force', or send 'force': true to the API: with a 'cloud' block the CLI never sends it.";
const remedy = (latest: number) =>
  `Pull the latest state and start from it. To replace it, raise 'serial' in yours above ${latest}, ${byForce}`;
const older = (serial: number, latest: number) =>
  `The state's serial ${serial} is older than the latest one, ${latest}: somebody wrote state since. ${remedy(latest)}`;
const twice = (serial: number) => `There is another state with the serial ${serial} already. ${remedy(serial)}`;
const foreign = (latest = 1) =>
  `The state's lineage ${other} is not the workspace's, ${lineage}: it is the state of something else. Check which workspace you write to. To replace its state, set 'lineage' in yours to the workspace's and 'serial' above ${latest}, ${byForce}`;

describe("the serial", () => {
  it("goes up, by any number", async () => {
    for (const serial of [1, 2, 10]) await stage.write(stateOf({ serial }));
    expect((await stage.current()).body.data.attributes.serial).toBe(10);
  });

  it("never goes back: 409", async () => {
    const version = await stage.write(stateOf({ serial: 5 }));
    await stage.lock();
    expectRefused(await stage.send(stateOf({ serial: 4 })), 409, older(4, 5));
    expect(await stage.currentId()).toBe(version.id);
  });

  it("is not used twice by different states: 409", async () => {
    await stage.write(stateOf({ serial: 5 }));
    await stage.lock();
    expectRefused(
      await stage.send(stateOf({ serial: 5, outputs: { a: { value: 1, type: "number" } } })),
      409,
      twice(5),
    );
  });

  it("of the same state once more is accepted, as whoever tries again would have it", async () => {
    const first = await stage.write(stateOf({ serial: 5 }));
    const second = await stage.write(stateOf({ serial: 5 }));
    expect(second.id).not.toBe(first.id);
    expect(await stage.currentId()).toBe(second.id);
  });

  it("is compared with what was written under the same lock, and with what is awaited", async () => {
    await stage.lock();
    await stage.sent(stateOf({ serial: 3 }));
    expectRefused(await stage.send(stateOf({ serial: 2 })), 409, older(2, 3));
    await stage.announce(stateOf({ serial: 8 }));
    expectRefused(await stage.send(stateOf({ serial: 7 })), 409, older(7, 8));
  });

  it("is not compared with what was discarded", async () => {
    await stage.lock();
    await stage.announce(stateOf({ serial: 8 }));
    await stage.forceUnlock();
    expect((await stage.write(stateOf({ serial: 2 }))).attributes.status).toBe("finalized");
  });

  it("of what is announced is checked like that of what is sent", async () => {
    await stage.write(stateOf({ serial: 5 }));
    await stage.lock();
    expectRefused(await stage.send(stateOf({ serial: 4 }), { state: undefined }), 409, older(4, 5));
  });
});

describe("the lineage", () => {
  it("of another history: 409", async () => {
    await stage.write(stateOf());
    await stage.lock();
    expectRefused(await stage.send(stateOf({ serial: 2, lineage: other })), 409, foreign());
  });

  it("is read from the state where it is not sent", async () => {
    await stage.write(stateOf(), { lineage: undefined });
    await stage.lock();
    expectRefused(await stage.send(stateOf({ serial: 2, lineage: other }), { lineage: undefined }), 409, foreign());
    expect((await stage.send(stateOf({ serial: 2 }), { lineage: undefined })).status).toBe(201);
  });

  it("is read from what is uploaded where it was not announced", async () => {
    await stage.write(stateOf());
    await stage.lock();
    const strange = stateOf({ serial: 2, lineage: other });
    const version = await stage.announce(strange, { lineage: undefined });
    const answer = await put(uploadUrlOf(version), strange);
    expectRefused(answer, 409, foreign());
    expect(await stage.status(version.id)).toBe("pending");
  });

  it("of a state that has none fits everything", async () => {
    await stage.write(JSON.stringify({ version: 4, serial: 1 }));
    await stage.write(stateOf({ serial: 2 }));
    await stage.write(JSON.stringify({ version: 4, serial: 3 }));
    await stage.write(stateOf({ serial: 4, lineage: other }));
  });
});

describe("force", () => {
  it("passes over serial and lineage", async () => {
    await stage.write(stateOf({ serial: 5 }));
    const back = await stage.write(stateOf({ serial: 2, lineage: other }), { force: true });
    expect((await stage.current()).body.data.id).toBe(back.id);
    const same = stateOf({ serial: 2, lineage: other, outputs: { a: { value: 1, type: "number" } } });
    expect((await stage.write(same, { force: true })).attributes.serial).toBe(2);
  });

  it("passes over both for what is uploaded, whether its lineage was announced or not", async () => {
    for (const [serial, announcedLineage] of [
      [9, other],
      [4, undefined],
    ] as const) {
      await stage.write(stateOf({ serial: 10 }), { force: true });
      await stage.lock();
      const state = stateOf({ serial, lineage: other });
      const version = await stage.announce(state, { force: true, lineage: announcedLineage });
      expectSent(await put(uploadUrlOf(version), state));
      await stage.unlock();
      expect(await stage.currentId()).toBe(version.id);
    }
  });

  it("never passes over the MD5", async () => {
    await stage.lock();
    expectFault(await stage.send(stateOf(), { force: true, md5: md5("another") }), "md5", /^Md5 is not the MD5/);
    const version = await stage.announce(stateOf(), { force: true });
    expectFault(await put(uploadUrlOf(version), stateOf({ serial: 2 })), "md5", /^Md5 is not the MD5/);
  });

  it("that is false passes over nothing", async () => {
    await stage.write(stateOf({ serial: 5 }));
    await stage.lock();
    expect((await stage.send(stateOf({ serial: 4 }), { force: false })).status).toBe(409);
  });
});

describe("only the holder of the lock writes", () => {
  let team: Json;
  let colleague: Member;
  let writer: Member;
  let token: Caller;
  beforeAll(async () => {
    team = await makeTeam(api, stage.org.name);
    [writer, colleague] = [
      await makeMember(api, stage.org.name, [team.id]),
      await makeMember(api, stage.org.name, [team.id]),
    ];
    token = await makeTeamToken(api, team.id);
  });
  const allow = () => grantWorkspace(api, stage.org.id, stage.workspace.id, team.id, "write");
  const heldBy = (name: string) =>
    `Unable to write state. The workspace is locked by ${name}, who alone may write state until it is unlocked.`;

  it.each<[string, () => Caller, () => Caller, () => string]>([
    ["a colleague", () => writer, () => colleague, () => `User ${writer.username}`],
    ["an owner", () => writer, () => stage.owner, () => `User ${writer.username}`],
    ["a site admin", () => writer, () => api.admin, () => `User ${writer.username}`],
    ["the holder's team", () => writer, () => token, () => `User ${writer.username}`],
    ["a member of the team that holds it", () => token, () => writer, () => `Team ${team.attributes.name}`],
  ])("not %s: 409 that names the holder", async (_, holder, caller, name) => {
    await allow();
    await stage.lock(holder());
    expectRefused(await stage.send(stateOf(), {}, caller()), 409, heldBy(name()));
    expectRefused(await stage.send(stateOf(), { state: undefined }, caller()), 409, heldBy(name()));
    expect((await stage.send(stateOf(), {}, holder())).status).toBe(201);
  });

  it("with whichever token", async () => {
    await allow();
    await stage.lock(writer);
    const again = data(await writer.post(`/users/${writer.id}/authentication-tokens`)).attributes.token;
    expect((await stage.send(stateOf(), {}, api.as(again))).status).toBe(201);
  });

  it("a team by its token, in whose name the version is", async () => {
    await allow();
    await stage.lock(token);
    const version = await stage.sent(stateOf(), {}, token);
    expect(version.relationships["created-by"].data).toEqual({ id: team.id, type: "teams" });
    const next = await stage.announce(stateOf({ serial: 2 }), {}, token);
    expectSent(await put(uploadUrlOf(next), stateOf({ serial: 2 })));
    await stage.unlock(token);
    const [, uploaded] = await stage.events(next.id);
    expect(uploaded).toMatchObject({ "actor-kind": "team", "actor-id": team.id, action: "state-versions.upload" });
    expect(await stage.currentId()).toBe(next.id);
  });

  it("never the organization's token", async () => {
    const organization = await makeOrganizationToken(api, stage.org.name);
    for (const attributes of [{}, { state: undefined }]) {
      await stage.lock();
      const answer = await stage.send(stateOf(), attributes, organization);
      expect(answer.status).toBe(403);
      await stage.unlock();
      expect((await stage.send(stateOf(), attributes, organization)).status).toBe(403);
    }
  });
});
