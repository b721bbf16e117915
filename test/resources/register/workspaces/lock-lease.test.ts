/** Locks with a lease: duration, renewal and expiry. */
import { beforeAll, describe, expect, it, vi } from "vitest";
import { expireLeases } from "../../../../src/resources/register/workspaces/maintenance.ts";
import { type Answer, type Caller, type Json, useApi } from "../../../support/api.ts";
import { data, details, type Member, type Org, pointers } from "../../../support/builders.ts";
import { inMs, useMovableClock } from "../../../support/clock.ts";
import { makeRun, makeRunnable } from "../../../support/runs.ts";
import { jobContextOf } from "../../../support/states.ts";
import { describeOnce } from "../../../support/engine-independent.ts";

const api = useApi();
let org: Org;
let teamId: string;
let one: Member;
let two: Member;

beforeAll(async () => {
  org = await api.makeOrganization();
  teamId = (await api.makeTeam(org.name)).id;
  one = await api.makeMember(org.name, [teamId]);
  two = await api.makeMember(org.name, [teamId]);
});
const pass = useMovableClock();

async function shared(made?: Json): Promise<string> {
  const { id } = made ?? (await api.makeWorkspace(org.name));
  await api.grantWorkspace(id, teamId, "write");
  return id;
}
const act = (caller: Caller, id: string, action: string, body?: object): Promise<Answer> =>
  caller.post(`/workspaces/${id}/actions/${action}`, body);
const leased = async (caller: Caller, id: string, seconds = 60): Promise<Json> =>
  data(await act(caller, id, "lock", { reason: "for a while", "lease-seconds": seconds }));
const show = async (id: string): Promise<Json> => data(await one.get(`/workspaces/${id}`));
const auditEventsOf = (id: string, action: string) =>
  api.database.reader.db
    .selectFrom("auditEvents")
    .selectAll()
    .where("subjectId", "=", id)
    .where("action", "=", `workspaces.${action}`)
    .execute();

describe("lockWorkspace with lease-seconds", () => {
  it("200: shows when it was locked, when it expires and by whom", async () => {
    const id = await shared();
    const before = Date.now();
    const { attributes, relationships } = await leased(one, id, 30);
    expect(attributes).toMatchObject({ locked: true, "locked-reason": "for a while" });
    const [at, until] = [Date.parse(attributes["locked-at"]), Date.parse(attributes["lock-expires-at"])];
    expect(at).toBeGreaterThanOrEqual(before);
    expect(until - at).toBe(30_000);
    expect(relationships["locked-by"].data).toEqual({ type: "users", id: one.id });
    expect((await show(id)).attributes).toEqual(attributes);
    const [event] = await auditEventsOf(id, "lock");
    expect(JSON.parse(event?.after ?? "")).toMatchObject({ "lock-expires-at": attributes["lock-expires-at"] });
  });

  it("200: omitted or null, the lock does not expire", async () => {
    for (const body of [{}, { "lease-seconds": null }, undefined]) {
      const id = await shared();
      const { attributes } = data(await act(one, id, "lock", body));
      expect(attributes["lock-expires-at"]).toBeNull();
      expect(attributes["locked-at"]).not.toBeNull();
      pass(100 * 86_400);
      expect((await show(id)).attributes).toMatchObject({ locked: true, "lock-expires-at": null });
      vi.useRealTimers();
      const free = data(await act(one, id, "unlock"));
      expect(free.attributes).toMatchObject({ locked: false, "locked-at": null, "lock-expires-at": null });
    }
  });

  it("200: together with the reason in data.attributes too", async () => {
    const body = { data: { attributes: { reason: "", "lease-seconds": 86_400 } } };
    const { attributes } = data(await act(one, await shared(), "lock", body));
    expect(attributes["lock-expires-at"]).not.toBeNull();
  });

  it.each([29, 2_592_001, 0, -1, 30.5, "60", true])("422: %j is no time for a lease", async (seconds) => {
    const id = await shared();
    const answer = await act(one, id, "lock", { "lease-seconds": seconds });
    expect(answer.status).toBe(422);
    expect(pointers(answer)).toEqual(["/lease-seconds"]);
    expect((await show(id)).attributes.locked).toBe(false);
  });

  it("200: a week, and as much as 30 days", async () => {
    for (const seconds of [604_800, 2_592_000]) {
      const { attributes } = await leased(one, await shared(), seconds);
      expect(Date.parse(attributes["lock-expires-at"]) - Date.parse(attributes["locked-at"])).toBe(seconds * 1000);
    }
  });

  it("a run's lock shows when it was locked, and does not expire", async () => {
    const id = await shared(await makeRunnable(api, org.name));
    await makeRun(org.owner, id);
    const { attributes, relationships } = await show(id);
    expect(relationships["locked-by"].data.type).toBe("runs");
    expect(attributes["locked-at"]).not.toBeNull();
    expect(attributes["lock-expires-at"]).toBeNull();
    const answer = await act(org.owner, id, "renew-lock");
    expect([answer.status, ...details(answer)]).toEqual([409, expect.stringContaining("locked by Run")]);
  });
});

describe("lockWorkspace with expires-at", () => {
  it("200: expires at that time; a renewal repeats the duration or sets another time", async () => {
    const id = await shared();
    const end = inMs(3_600_000);
    const { attributes } = data(await act(one, id, "lock", { reason: "", "expires-at": end }));
    expect(attributes["lock-expires-at"]).toBe(end);
    pass(1800);
    const before = Date.now();
    const renewed = data(await act(one, id, "renew-lock"));
    const left = Date.parse(renewed.attributes["lock-expires-at"]) - before;
    expect(Math.round(left / 60_000)).toBe(60);
    const later = inMs(7_200_000);
    const body = { data: { attributes: { "expires-at": later } } };
    expect(data(await act(one, id, "renew-lock", body)).attributes["lock-expires-at"]).toBe(later);
    pass(7201);
    expect((await show(id)).attributes.locked).toBe(false);
  });

  it("200: with null, the lock does not expire", async () => {
    const { attributes } = data(await act(one, await shared(), "lock", { "expires-at": null }));
    expect(attributes["lock-expires-at"]).toBeNull();
  });

  it("422: in the past, too soon, more than 30 days away, not a time, or together with lease-seconds", async () => {
    const id = await shared();
    const ends = [inMs(-1000), inMs(10_000), inMs(31 * 86_400_000), "tomorrow", 3600];
    const both = { "expires-at": inMs(60_000), "lease-seconds": 60 };
    for (const sent of [...ends.map((end) => ({ "expires-at": end })), both])
      for (const [body, pointer] of [
        [sent, "/expires-at"],
        [{ data: { attributes: sent } }, "/data/attributes/expires-at"],
      ] as const) {
        const answer = await act(one, id, "lock", body);
        expect([answer.status, pointers(answer)]).toEqual([422, [pointer]]);
      }
    expect((await show(id)).attributes.locked).toBe(false);
  });

  it("422: with one of them at the top of the body and the other one in data, also for a renewal", async () => {
    const [id, seconds, end] = [await shared(), { "lease-seconds": 60 }, { "expires-at": inMs(60_000) }];
    for (const action of ["lock", "renew-lock"])
      for (const body of [
        { ...seconds, data: { attributes: end } },
        { ...end, data: { attributes: seconds } },
      ]) {
        const answer = await act(one, id, action, body);
        expect([answer.status, ...details(answer)]).toEqual([422, expect.stringContaining("send one of them")]);
      }
  });
});

describe("renewWorkspaceLock", () => {
  it("200: for the same duration or for the requested one, from now on", async () => {
    const id = await shared();
    const first = await leased(one, id, 60);
    pass(40);
    const before = Date.now();
    const leftMs = ({ attributes }: Json) => Date.parse(attributes["lock-expires-at"]) - before;
    const renewed = data(await act(one, id, "renew-lock"));
    expect(renewed.attributes["locked-at"]).toBe(first.attributes["locked-at"]);
    expect(leftMs(renewed)).toBeGreaterThanOrEqual(60_000);
    expect(leftMs(data(await act(one, id, "renew-lock", { "lease-seconds": 600 })))).toBeGreaterThanOrEqual(600_000);
    expect(leftMs(data(await act(one, id, "renew-lock", {})))).toBeGreaterThanOrEqual(600_000);
    pass(300);
    expect((await show(id)).attributes.locked).toBe(true);
    const events = await auditEventsOf(id, "renew-lock");
    expect(events.map(({ actorId }) => actorId)).toEqual([one.id, one.id, one.id]);
  });

  it("200: a team's lock by the team's token", async () => {
    const id = await shared();
    const team = await api.makeTeamToken(teamId);
    await leased(team, id);
    expect((await act(team, id, "renew-lock")).status).toBe(200);
    expect((await act(one, id, "renew-lock")).status).toBe(409);
  });

  it("409: for another caller, a lock without a lease, an unlocked workspace and an expired lease", async () => {
    const id = await shared();
    const refused = async (caller: Caller) => {
      const answer = await act(caller, id, "renew-lock", { "lease-seconds": 60 });
      expect(answer.status).toBe(409);
      return details(answer)[0];
    };
    expect(await refused(one)).toContain("The workspace is not locked");
    await act(one, id, "lock");
    expect(await refused(one)).toContain("The lock has no lease");
    await act(one, id, "unlock");
    await leased(one, id);
    expect(await refused(two)).toContain("is locked by User");
    expect(await refused(org.owner)).toContain("Only the lock holder can renew the lock");
    pass(61);
    expect(await refused(one)).toContain("its lease has expired. Lock it again");
  });

  it("422: an invalid duration; 404: for callers who can't lock", async () => {
    const id = await shared();
    await leased(one, id);
    const answer = await act(one, id, "renew-lock", { "lease-seconds": 5 });
    expect([answer.status, ...pointers(answer)]).toEqual([422, "/lease-seconds"]);
    const stranger = await api.makeMember(org.name);
    expect((await act(stranger, id, "renew-lock")).status).toBe(404);
  });
});

describe("past its lease", () => {
  it("a workspace is unlocked for everybody, in documents, lists and includes, though nothing was written", async () => {
    const id = await shared();
    await leased(one, id, 30);
    const list = `/organizations/${org.name}/workspaces?page[size]=100&include=locked_by`;
    const listed = async () => {
      const { body } = await one.get(list);
      return body.data.find((each: Json) => each.id === id);
    };
    expect((await listed()).attributes.locked).toBe(true);
    pass(31);
    const seen = await listed();
    expect(seen.attributes).toMatchObject({
      locked: false,
      "locked-reason": null,
      "locked-at": null,
      "lock-expires-at": null,
    });
    expect(seen.relationships["locked-by"].data).toBeNull();
    expect((await show(id)).attributes.locked).toBe(false);
    const unlock = await act(one, id, "unlock");
    expect([unlock.status, ...details(unlock)]).toEqual([409, expect.stringContaining("already unlocked")]);
    expect((await act(org.owner, id, "force-unlock")).status).toBe(409);
  });

  it("another caller can lock, and the expiry is audited once, without an actor, before that lock", async () => {
    const id = await shared();
    const { attributes } = await leased(one, id);
    expect((await act(two, id, "lock")).status).toBe(409);
    pass(61);
    const { relationships } = await leased(two, id);
    expect(relationships["locked-by"].data.id).toBe(two.id);
    await expireLeases(jobContextOf(api));
    const events = await auditEventsOf(id, "expire-lock");
    expect(events).toHaveLength(1);
    const [event] = events;
    expect(event).toMatchObject({ actorKind: "operator", tokenId: null });
    expect(JSON.parse(event?.before ?? "")).toEqual({
      locked: true,
      "locked-by": one.id,
      reason: "for a while",
      "lock-expires-at": attributes["lock-expires-at"],
    });
    expect(JSON.parse(event?.after ?? "")).toMatchObject({ locked: false, "locked-by": null });
  });

  it("a safe delete goes through", async () => {
    const id = await shared();
    await leased(org.owner, id);
    expect((await act(org.owner, id, "safe-delete")).status).toBe(409);
    pass(61);
    expect((await act(org.owner, id, "safe-delete")).status).toBe(204);
  });

  it("cached responses from before the expiry are never returned again", async () => {
    const { name } = await api.makeOrganization().then(async (other) => {
      await api.makeWorkspace(other.name, { name: "held" });
      return other;
    });
    const { id } = data(await api.admin.get(`/organizations/${name}/workspaces/held`));
    await leased(api.admin, id, 60);
    const paths = [`/workspaces/${id}`, `/organizations/${name}/workspaces/held`, `/organizations/${name}/workspaces`];
    const locked = async () => {
      const answers = await Promise.all(paths.map((path) => api.admin.get(path)));
      return answers.map(({ body }) => [body.data].flat()[0].attributes.locked);
    };
    const [yes, no] = [paths.map(() => true), paths.map(() => false)];
    for (let time = 0; time < 3; time += 1) expect(await locked()).toEqual(yes);
    pass(59);
    expect(await locked()).toEqual(yes);
    // The list comes first, so that no earlier request has ended the lease.
    pass(2);
    const list = await api.admin.get(paths[2] ?? "");
    expect(list.body.data[0].attributes.locked).toBe(false);
    expect(await locked()).toEqual(no);
  });

  it("a change with the ETag of that document succeeds", async () => {
    const id = await shared();
    const old = (await org.owner.get(`/workspaces/${id}`)).headers.get("etag") ?? "";
    await leased(one, id);
    pass(61);
    const body = { data: { type: "workspaces", attributes: { description: "free" } } };
    const stale = await org.owner.patch(`/workspaces/${id}`, body, { "if-match": old });
    expect(stale.status).toBe(412);
    const fresh = (await org.owner.get(`/workspaces/${id}`)).headers.get("etag") ?? "";
    expect((await org.owner.patch(`/workspaces/${id}`, body, { "if-match": fresh })).status).toBe(200);
  });
});

describeOnce("two at once past the lease", () => {
  it("exactly one caller gets the lock, and the expiry is audited once", async () => {
    const id = await shared();
    await leased(org.owner, id);
    pass(61);
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, each) => leasedBy(each % 2 === 0 ? one : two, id)),
    );
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    expect(await auditEventsOf(id, "expire-lock")).toHaveLength(1);
  });
  const leasedBy = (caller: Caller, id: string) => act(caller, id, "lock", { "lease-seconds": 60 });
});

describe("filter[locked-longer-than]", () => {
  it("finds workspaces that are locked for longer, and none whose lease has expired", async () => {
    const own = await api.makeOrganization();
    const [free, leasedOne, held] = await Promise.all(
      ["free", "leased", "held"].map((name) => api.makeWorkspace(own.name, { name })),
    );
    await leased(own.owner, leasedOne?.id, 7200);
    await act(own.owner, held?.id, "lock");
    const found = async (age: string, more = "") => {
      const answer = await own.owner.get(
        `/organizations/${own.name}/workspaces?filter[locked-longer-than]=${age}${more}`,
      );
      expect(answer.status).toBe(200);
      const names = answer.body.data.map((each: Json) => each.attributes.name);
      expect(answer.body.meta.pagination["total-count"]).toBe(names.length);
      return names;
    };
    expect(await found("1m")).toEqual([]);
    pass(61);
    expect(await found("1m")).toEqual(["held", "leased"]);
    expect(await found("0m")).toEqual(["held", "leased"]);
    expect(await found("1m", "&sort=-name")).toEqual(["leased", "held"]);
    expect(await found("1m", "&search[name]=eld")).toEqual(["held"]);
    expect(await found("1h")).toEqual([]);
    pass(3600);
    expect(await found("1h")).toEqual(["held", "leased"]);
    pass(3600);
    expect(await found("1h")).toEqual(["held"]);
    pass(86_400);
    expect(await found("1d")).toEqual(["held"]);
    expect(free?.attributes.locked).toBe(false);
  });

  it("shows only workspaces that the caller can read", async () => {
    const id = await shared();
    const other = await api.makeWorkspace(org.name);
    for (const each of [id, other.id]) await act(org.owner, each, "lock");
    pass(120);
    const { body } = await one.get(
      `/organizations/${org.name}/workspaces?filter[locked-longer-than]=1m&page[size]=100`,
    );
    const ids = body.data.map((each: Json) => each.id);
    expect(ids).toContain(id);
    expect(ids).not.toContain(other.id);
  });

  it.each(["30", "m", "30s", "1w", "-1h", "00m", "1.5h", "100000d", "", "1h2m"])("400: %j is no age", async (age) => {
    const answer = await one.get(`/organizations/${org.name}/workspaces?filter[locked-longer-than]=${age}`);
    expect(answer.status).toBe(400);
    expect(answer.body.errors[0].source.parameter).toBe("filter[locked-longer-than]");
  });
});

describeOnce("metrics", () => {
  it("count the locks by kind of holder and lease, and report the age of the oldest", async () => {
    const figures = async (): Promise<Record<string, number>> => {
      const answer = await fetch(`${api.url}/metrics`, { headers: { authorization: `Bearer ${api.admin.token}` } });
      const lines = (await answer.text()).split("\n").filter((line) => line.startsWith("cadastre_workspace_lock"));
      return Object.fromEntries(lines.map((line) => [line.split(" ")[0], Number(line.split(" ")[1])]));
    };
    const before = await figures();
    const of = (name: string, holder: string) => `cadastre_workspace_lock${name}{holder="${holder}"}`;
    const team = await api.makeTeamToken(teamId);
    await leased(team, await shared());
    await act(one, await shared(), "lock");
    const after = await figures();
    const grown = (name: string, holder: string) => (after[of(name, holder)] ?? 0) - (before[of(name, holder)] ?? 0);
    expect([grown("s", "team"), grown("s", "user"), grown("s", "run")]).toEqual([1, 1, 0]);
    expect([grown("s_with_lease", "team"), grown("s_with_lease", "user")]).toEqual([1, 0]);
    pass(61);
    const later = await figures();
    expect((later[of("s", "team")] ?? 0) - (after[of("s", "team")] ?? 0)).toBeLessThanOrEqual(-1);
    expect(later[of("_oldest_age_seconds", "user")]).toBeGreaterThanOrEqual(61);
  });
});
