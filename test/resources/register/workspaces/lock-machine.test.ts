/** The lock under load: concurrent callers on two servers, and random sequences against a model. */
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openDatabase } from "../../../../src/database/engines/open.ts";
import { type Api, type Caller, type Json, startApiOn, useApi } from "../../../support/api.ts";
import { data, type Member, type Org } from "../../../support/builders.ts";
import { deep, seed } from "../../../support/depth.ts";
import { sampled } from "../../../support/engine-independent.ts";
import { pathById } from "./support.ts";

const api = useApi();
let second: Api;
let org: Org;
beforeAll(async () => {
  const database = openDatabase(api.address);
  second = await startApiOn({ address: api.address, database, drop: () => database.close() });
  org = await api.makeOrganization();
});
afterAll(async () => {
  await second.stop();
});

const onBoth = (token: string | undefined): readonly Caller[] => [api.as(token), second.as(token)];

describe("concurrent callers on two servers with one database", () => {
  const attempts = 100;
  let workspace: Json;
  let people: Member[];
  beforeAll(async () => {
    workspace = await api.makeWorkspace(org.name);
    const team = await api.makeTeam(org.name);
    await api.grantWorkspace(workspace.id, team.id, "write");
    people = [];
    for (let number = 0; number < 4; number += 1) people.push(await api.makeMember(org.name, [team.id]));
  });
  /** Attempts spread over people and servers. */
  const atOnce = (action: string) =>
    Promise.all(
      Array.from({ length: attempts }, (_, number) => {
        const caller = onBoth(people[number % people.length]?.token)[number % 2] as Caller;
        return caller.post(`${pathById(workspace)}/actions/${action}`, { reason: `attempt ${number}` });
      }),
    );

  it("exactly one lock succeeds, its caller holds the lock, and exactly one unlock succeeds", async () => {
    for (let round = 0; round < 3; round += 1) {
      const locks = await atOnce("lock");
      const won = locks.filter(({ status }) => status === 200);
      expect(won).toHaveLength(1);
      expect(locks.filter(({ status }) => status === 409)).toHaveLength(attempts - 1);
      const shown = data(await org.owner.get(pathById(workspace)));
      expect(won[0]?.body.data.attributes["locked-reason"]).toBe(shown.attributes["locked-reason"]);
      expect(won[0]?.body.data.relationships["locked-by"]).toEqual(shown.relationships["locked-by"]);
      const unlocks = await atOnce("unlock");
      expect(unlocks.filter(({ status }) => status === 200)).toHaveLength(1);
      expect(unlocks.filter(({ status }) => status === 409)).toHaveLength(attempts - 1);
      expect(data(await org.owner.get(pathById(workspace))).attributes.locked).toBe(false);
    }
  });

  it("leaves one event for each success", async () => {
    const rows = await api.database.reader.db
      .selectFrom("auditEvents")
      .select("action")
      .where("subjectId", "=", workspace.id)
      .where("action", "in", ["workspaces.lock", "workspaces.unlock"])
      .execute();
    expect(rows.map(({ action }) => action).sort()).toEqual([
      ...Array.from({ length: 3 }, () => "workspaces.lock"),
      ...Array.from({ length: 3 }, () => "workspaces.unlock"),
    ]);
  });
});

interface Person {
  readonly name: string;
  readonly caller: () => Caller;
  /** The holder of the caller's lock; null for callers who can't lock. */
  readonly holder: () => { type: string; id: string } | null;
  readonly mayLock: boolean;
  readonly mayForce: boolean;
}

describe("random sequences", () => {
  const cast: Person[] = [];
  let workspace: Json;
  beforeAll(async () => {
    workspace = await api.makeWorkspace(org.name);
    const team = await api.makeTeam(org.name);
    await api.grantWorkspace(workspace.id, team.id, "write");
    const [one, two] = [await api.makeMember(org.name, [team.id]), await api.makeMember(org.name, [team.id])];
    const again = data(await one.post(`/users/${one.id}/authentication-tokens`)).attributes.token;
    const reader = await api.makeHolder(org.name, "read-workspaces");
    const [teamToken, organizationToken] = [
      await api.makeTeamToken(team.id),
      await api.makeOrganizationToken(org.name),
    ];
    const user = (name: string, caller: Caller, id: string, mayLock: boolean, mayForce: boolean): Person => ({
      name,
      caller: () => caller,
      holder: () => ({ type: "users", id }),
      mayLock,
      mayForce,
    });
    cast.push(
      user("one", one, one.id, true, false),
      user("one with another token", second.as(again), one.id, true, false),
      user("two", second.as(two.token), two.id, true, false),
      user("an owner", org.owner, org.owner.id, true, true),
      user("a reader", reader, reader.id, false, false),
      {
        name: "the team",
        caller: () => teamToken,
        holder: () => ({ type: "teams", id: team.id }),
        mayLock: true,
        mayForce: false,
      },
      { name: "the organization", caller: () => organizationToken, holder: () => null, mayLock: false, mayForce: true },
    );
  });

  interface State {
    readonly by: { type: string; id: string } | null;
    readonly reason: string | null;
  }
  const free: State = { by: null, reason: null };

  /** The table of states and transitions. */
  function model(state: State, person: Person, action: string, reason: string): { status: number; next: State } {
    const locked = state.by !== null;
    if (action === "force-unlock") {
      if (!person.mayForce) return { status: 404, next: state };
      return locked ? { status: 200, next: free } : { status: 409, next: state };
    }
    if (!person.mayLock) return { status: 404, next: state };
    if (action === "lock")
      return locked ? { status: 409, next: state } : { status: 200, next: { by: person.holder(), reason } };
    const own = state.by?.id === person.holder()?.id && state.by?.type === person.holder()?.type;
    return locked && own ? { status: 200, next: free } : { status: 409, next: state };
  }

  it(
    "answer and leave the lock as the model says",
    async () => {
      const step = fc.record({
        who: fc.nat(6),
        action: fc.constantFrom("lock", "lock", "unlock", "unlock", "force-unlock"),
        reason: fc.string({ maxLength: 5 }).filter((text) => text.isWellFormed() && !text.includes("\0")),
      });
      await fc.assert(
        fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 12 }), async (steps) => {
          await org.owner.post(`${pathById(workspace)}/actions/force-unlock`);
          let state = free;
          for (const { who, action, reason } of steps) {
            const person = cast[who] as Person;
            const { status, next } = model(state, person, action, reason);
            const answer = await person.caller().post(`${pathById(workspace)}/actions/${action}`, { reason });
            expect(answer.status, `${person.name}: ${action}`).toBe(status);
            state = next;
            const { attributes, relationships } = data(await org.owner.get(pathById(workspace)));
            expect(relationships["locked-by"].data).toEqual(state.by);
            expect([attributes.locked, attributes["locked-reason"]]).toEqual([state.by !== null, state.reason]);
          }
        }),
        { seed, numRuns: sampled(deep(18, 500)) },
      );
    },
    deep(120_000, 900_000),
  );
});
