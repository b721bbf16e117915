/** The effects of an expired lease on pending states and queued runs. */
import { beforeAll, describe, expect, it } from "vitest";
import { expireLeases } from "../../../../src/resources/register/workspaces/maintenance.ts";
import { type Caller, type Json, useApi } from "../../../support/api.ts";
import { data, details, type Member, type Org } from "../../../support/builders.ts";
import { useMovableClock } from "../../../support/clock.ts";
import { makeRun, makeRunnable, showRun } from "../../../support/runs.ts";
import {
  pendingStateAttributes,
  stateAttributes,
  post,
  put,
  stateOf,
  jobContextOf,
  writeState,
} from "../../../support/states.ts";

const api = useApi();
let org: Org;
let teamId: string;
let one: Member;

beforeAll(async () => {
  org = await api.makeOrganization();
  teamId = (await api.makeTeam(org.name)).id;
  one = await api.makeMember(org.name, [teamId]);
});
const pass = useMovableClock();

async function shared(made?: Json): Promise<string> {
  const { id } = made ?? (await api.makeWorkspace(org.name));
  await api.grantWorkspace(id, teamId, "write");
  return id;
}
const leased = async (caller: Caller, id: string): Promise<Json> =>
  data(await caller.post(`/workspaces/${id}/actions/lock`, { "lease-seconds": 60 }));
const show = async (id: string): Promise<Json> => data(await one.get(`/workspaces/${id}`));

describe("state past the lease", () => {
  it("the state finalized under it becomes current, whichever request comes first, and its holder can't write any more", async () => {
    const id = await shared();
    await writeState(one, id, stateOf({ serial: 1, outputs: { size: { value: 1, type: "number" } } }));
    await leased(one, id);
    const written = data(
      await post(one, id, stateAttributes(stateOf({ serial: 2, outputs: { size: { value: 2, type: "number" } } }))),
    );
    const outputs = async () => (await one.get(`/workspaces/${id}/current-state-version-outputs`)).body.data;
    expect((await outputs())[0].attributes.value).toBe(1);
    expect((await outputs())[0].attributes.value).toBe(1);
    pass(61);
    expect((await outputs())[0].attributes.value).toBe(2);
    expect(data(await one.get(`/workspaces/${id}/current-state-version`)).id).toBe(written.id);
    expect((await show(id)).relationships["current-state-version"].data.id).toBe(written.id);
    const late = await post(one, id, stateAttributes(stateOf({ serial: 3 })));
    expect([late.status, ...details(late)]).toEqual([409, expect.stringContaining("not locked")]);
  });

  it("a request for the current version ends the lease too, also if it is the first version", async () => {
    const id = await shared();
    await leased(one, id);
    const written = data(await post(one, id, stateAttributes(stateOf())));
    expect((await one.get(`/workspaces/${id}/current-state-version`)).status).toBe(404);
    pass(61);
    expect(data(await one.get(`/workspaces/${id}/current-state-version`)).id).toBe(written.id);
  });

  it("pending versions are discarded: an upload is too late, and the latest finalized version counts", async () => {
    const id = await shared();
    await leased(one, id);
    const first = data(await post(one, id, stateAttributes(stateOf({ serial: 1 }))));
    const state = stateOf({ serial: 2 });
    const pending = data(await post(one, id, pendingStateAttributes(state)));
    pass(61);
    const late = await put(pending.attributes["hosted-state-upload-url"], state);
    expect([late.status, ...details(late)]).toEqual([409, expect.stringContaining("its status is discarded")]);
    await expireLeases(jobContextOf(api));
    expect((await show(id)).relationships["current-state-version"].data.id).toBe(first.id);
    const given = data(await one.get(`/state-versions/${pending.id}`));
    expect(given.attributes.status).toBe("discarded");
  });
});

describe("runs past the lease", () => {
  it("the job starts the next waiting run", async () => {
    const id = await shared(await makeRunnable(api, org.name));
    await leased(one, id);
    const run = await makeRun(org.owner, id);
    expect((await showRun(org.owner, run.id)).attributes).toMatchObject({
      status: "pending",
      "waiting-for": expect.stringContaining("holds the lock"),
    });
    pass(61);
    expect((await showRun(org.owner, run.id)).attributes["waiting-for"]).toBe(
      "Waiting to start: the workspace is no longer locked.",
    );
    expect(await expireLeases(jobContextOf(api))).toBeGreaterThanOrEqual(1);
    expect((await showRun(org.owner, run.id)).attributes.status).toBe("plan_queued");
    expect((await show(id)).relationships["locked-by"].data).toEqual({ type: "runs", id: run.id });
    expect(await expireLeases(jobContextOf(api))).toBe(0);
  });

  it("a new run is queued immediately, behind those that waited", async () => {
    const id = await shared(await makeRunnable(api, org.name));
    await leased(one, id);
    pass(61);
    const run = await makeRun(org.owner, id);
    expect(run.attributes.status).toBe("plan_queued");

    const other = await shared(await makeRunnable(api, org.name));
    await leased(one, other);
    const waiting = await makeRun(org.owner, other);
    pass(61);
    const later = await makeRun(org.owner, other);
    expect(later.attributes.status).toBe("pending");
    expect((await showRun(org.owner, waiting.id)).attributes.status).toBe("plan_queued");
  });

  it("discarding a waiting run fails, because it has started by then", async () => {
    const id = await shared(await makeRunnable(api, org.name));
    await leased(one, id);
    const run = await makeRun(org.owner, id);
    pass(61);
    // The run has started by now: only pending runs are discarded.
    const answer = await org.owner.post(`/runs/${run.id}/actions/discard`);
    expect(answer.status).toBe(409);
  });
});
