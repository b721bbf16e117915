/** Every transition over HTTP: the resulting run, plan, apply, lock and events. */
import { beforeAll, describe, expect, it } from "vitest";
import type { TransitionInput } from "../../../../src/resources/runs/runs/rules.ts";
import { type Json, useApi } from "../../../support/api.ts";
import { data, details, makeOrganization, type Org } from "../../../support/builders.ts";
import { advanceRun, applyTransition, makeRun, makeRunnable, passCoolOff, showRun } from "../../../support/runs.ts";
import { lock } from "../../../support/states.ts";

const api = useApi();
let org: Org;

beforeAll(async () => {
  org = await makeOrganization(api);
});

const postAction = (id: string, action: string, body?: object) => org.owner.post(`/runs/${id}/actions/${action}`, body);

interface RunState {
  readonly run: Json;
  readonly statuses: readonly [run: string, plan: string, apply: string];
  /** The holder of the workspace's lock. */
  readonly heldBy: string | null;
  readonly current: string | null;
}

async function loadRunState(id: string): Promise<RunState> {
  const run = await showRun(org.owner, id);
  const plan = data(await org.owner.get(`/runs/${id}/plan`));
  const apply = data(await org.owner.get(`/runs/${id}/apply`));
  const workspace = data(await org.owner.get(`/workspaces/${run.relationships.workspace.data.id}`));
  return {
    run,
    statuses: [run.attributes.status, plan.attributes.status, apply.attributes.status],
    heldBy: workspace.relationships["locked-by"].data?.id ?? null,
    current: workspace.relationships["current-run"].data?.id ?? null,
  };
}

const stampsOf = ({ run }: RunState): string[] => Object.keys(run.attributes["status-timestamps"]).toSorted();

async function eventsOf(id: string): Promise<string[]> {
  const rows = await api.database.reader.db
    .selectFrom("runEvents")
    .select("action")
    .where("runId", "=", id)
    .orderBy("position")
    .execute();
  return rows.map((row) => row.action);
}

async function runIn(
  attributes: object = {},
  workspaceAttributes: object = {},
): Promise<{ id: string; workspaceId: string }> {
  const workspace = await makeRunnable(api, org.name, workspaceAttributes);
  return { id: (await makeRun(org.owner, workspace.id, attributes)).id, workspaceId: workspace.id };
}

const planned: TransitionInput = { event: "phase-finished", hasChanges: true };
const unchanged: TransitionInput = { event: "phase-finished", hasChanges: false };

describe("a finished plan", () => {
  it.each([
    ["without changes", {}, unchanged, ["planned_and_finished", "finished", "unreachable"], false],
    [
      "plan-only, with changes",
      { "plan-only": true },
      planned,
      ["planned_and_finished", "finished", "unreachable"],
      false,
    ],
    [
      "plan-only, without",
      { "plan-only": true },
      unchanged,
      ["planned_and_finished", "finished", "unreachable"],
      false,
    ],
    ["save-plan, with changes", { "save-plan": true }, planned, ["planned_and_saved", "finished", "pending"], false],
    [
      "save-plan, without",
      { "save-plan": true },
      unchanged,
      ["planned_and_finished", "finished", "unreachable"],
      false,
    ],
    ["empty, to be applied", { "allow-empty-apply": true }, unchanged, ["apply_queued", "finished", "queued"], true],
    ["with changes, auto-apply", { "auto-apply": true }, planned, ["apply_queued", "finished", "queued"], true],
    ["with changes", {}, planned, ["planned", "finished", "pending"], true],
    ["failed", {}, { event: "phase-errored" }, ["errored", "errored", "unreachable"], false],
  ] as const)("%s", async (_, attributes, ending, statuses, holds) => {
    const { id } = await runIn(attributes);
    await applyTransition(api, id, { event: "claim" });
    expect((await loadRunState(id)).statuses).toEqual(["planning", "running", "pending"]);
    await applyTransition(api, id, ending as TransitionInput);
    const shown = await loadRunState(id);
    expect(shown.statuses).toEqual(statuses);
    expect(shown.heldBy).toBe(holds ? id : null);
    expect(shown.run.attributes["has-changes"]).toBe(ending === planned);
  });

  it("has exactly the timestamps of its transitions", async () => {
    const { id } = await runIn({ "auto-apply": true });
    await advanceRun(api, id, "planned");
    expect(stampsOf(await loadRunState(id))).toEqual([
      "apply-queued-at",
      "confirmed-at",
      "plan-queueable-at",
      "plan-queued-at",
      "planned-at",
      "planning-at",
    ]);
    expect(await eventsOf(id)).toEqual(["created", "queued", "planning", "planned", "confirmed"]);
  });

  it("lost before its engine was started: it is queued again", async () => {
    const { id } = await runIn();
    await applyTransition(api, id, {
      event: "claim",
      phase: { agentId: "agent-1", attempt: 1, tokenHash: `hash of ${id}` },
    });
    await applyTransition(api, id, { event: "phase-returned" });
    const shown = await loadRunState(id);
    expect(shown.statuses).toEqual(["plan_queued", "queued", "pending"]);
    expect([shown.heldBy, shown.run.attributes["position-in-queue"] > 0]).toEqual([id, true]);
  });
});

describe("applyRun", () => {
  it("202: a planned run is confirmed and queued", async () => {
    const { id } = await runIn();
    await advanceRun(api, id, "planned");
    const { actions } = (await loadRunState(id)).run.attributes;
    expect(actions).toMatchObject({ "is-confirmable": true, "is-discardable": true });
    const answer = await postAction(id, "apply");
    expect([answer.status, answer.body]).toEqual([202, undefined]);
    const shown = await loadRunState(id);
    expect(shown.statuses).toEqual(["apply_queued", "finished", "queued"]);
    expect(shown.run.relationships["confirmed-by"].data).toEqual(shown.run.relationships["created-by"].data);
    expect([shown.heldBy, shown.current]).toEqual([id, id]);
  });

  it("202: a saved plan takes the lock, and is the current run from then on", async () => {
    const { id } = await runIn({ "save-plan": true });
    await advanceRun(api, id, "planned");
    expect(await loadRunState(id)).toMatchObject({ heldBy: null, current: null });
    expect((await postAction(id, "apply")).status).toBe(202);
    const statuses = ["apply_queued", "finished", "queued"];
    expect(await loadRunState(id)).toMatchObject({ heldBy: id, current: id, statuses });
  });

  it("409: a saved plan, while the workspace is locked", async () => {
    const { id, workspaceId } = await runIn({ "save-plan": true });
    await advanceRun(api, id, "planned");
    await lock(org.owner, workspaceId);
    const refused = await postAction(id, "apply");
    expect(refused.status).toBe(409);
    expect(details(refused)[0]).toContain("the workspace is locked");
    expect((await loadRunState(id)).statuses[0]).toBe("planned_and_saved");
  });

  it.each([
    ["ok", { event: "phase-finished" }, ["applied", "finished", "finished"]],
    ["failed", { event: "phase-errored" }, ["errored", "finished", "errored"]],
  ] as const)("its apply %s", async (_, ending, statuses) => {
    const { id } = await runIn({ "auto-apply": true });
    await advanceRun(api, id, "planned");
    await applyTransition(api, id, { event: "claim" });
    expect((await loadRunState(id)).statuses).toEqual(["applying", "finished", "running"]);
    await applyTransition(api, id, ending);
    expect(await loadRunState(id)).toMatchObject({ statuses, heldBy: null, current: id });
  });
});

describe("discardRun", () => {
  it("202: a pending run", async () => {
    const { id, workspaceId } = await runIn();
    const second = await makeRun(org.owner, workspaceId);
    expect((await postAction(second.id, "discard")).status).toBe(202);
    expect((await loadRunState(second.id)).statuses).toEqual(["discarded", "unreachable", "unreachable"]);
    expect(await loadRunState(id)).toMatchObject({ heldBy: id, current: id });
  });

  it.each([{}, { "save-plan": true }])("202: a planned run %j", async (attributes) => {
    const { id } = await runIn(attributes);
    await advanceRun(api, id, "planned");
    expect((await postAction(id, "discard", { comment: "Not today" })).status).toBe(202);
    expect(await loadRunState(id)).toMatchObject({ statuses: ["discarded", "finished", "unreachable"], heldBy: null });
    const comments = (await org.owner.get(`/runs/${id}/comments`)).body.data;
    expect(comments.map((comment: Json) => comment.attributes.body)).toEqual(["Not today"]);
    expect((await eventsOf(id)).slice(-2)).toEqual(["commented", "discarded"]);
  });
});

describe("cancelRun", () => {
  it.each([
    ["queued", async () => {}, ["canceled", "canceled", "unreachable"]],
    [
      "confirmed",
      async (id: string) => {
        await advanceRun(api, id, "planned");
        await postAction(id, "apply");
      },
      ["canceled", "finished", "canceled"],
    ],
  ] as const)("202: at once, while nothing is executed: %s", async (_, prepare, statuses) => {
    const { id } = await runIn();
    await prepare(id);
    expect((await postAction(id, "cancel")).status).toBe(202);
    const shown = await loadRunState(id);
    expect(shown).toMatchObject({ statuses, heldBy: null });
    const { "canceled-at": asked, "force-cancel-available-at": from, actions } = shown.run.attributes;
    expect(Date.parse(from) - Date.parse(asked)).toBe(15_000);
    expect(actions).toEqual({
      "is-cancelable": false,
      "is-confirmable": false,
      "is-discardable": false,
      "is-force-cancelable": false,
    });
  });

  it("202: a pending run, whose log ends", async () => {
    const { workspaceId } = await runIn();
    const second = await makeRun(org.owner, workspaceId);
    expect((await postAction(second.id, "cancel")).status).toBe(202);
    expect((await loadRunState(second.id)).statuses).toEqual(["canceled", "canceled", "unreachable"]);
    const apply = data(await org.owner.get(`/runs/${second.id}/apply`));
    const log = await api.nobody.get(apply.attributes["log-read-url"].replace(/^https?:\/\/[^/]+/, ""));
    expect([log.status, log.body]).toEqual([200, "\u0002\u0003"]);
  });

  it("202: the engine of a plan is interrupted; the run is canceled, however the plan ends", async () => {
    for (const ending of [planned, { event: "phase-errored" }, { event: "phase-returned" }] as const) {
      const { id } = await runIn();
      await applyTransition(api, id, { event: "claim" });
      expect((await postAction(id, "cancel")).status).toBe(202);
      const shown = await loadRunState(id);
      expect(shown).toMatchObject({ statuses: ["planning", "running", "pending"], heldBy: id });
      expect(shown.run.attributes.actions["is-cancelable"]).toBe(false);
      await applyTransition(api, id, ending);
      expect(await loadRunState(id)).toMatchObject({ statuses: ["canceled", "canceled", "unreachable"], heldBy: null });
      expect((await eventsOf(id)).slice(-2)).toEqual(["cancel_requested", "canceled"]);
    }
  });

  it.each([
    [{ event: "phase-finished" }, ["applied", "finished", "finished"]],
    [{ event: "phase-errored" }, ["canceled", "finished", "canceled"]],
  ] as const)("202: a canceled apply still gets the status of its result: %j", async (ending, statuses) => {
    const { id } = await runIn({ "auto-apply": true });
    await advanceRun(api, id, "planned");
    await applyTransition(api, id, { event: "claim" });
    expect((await postAction(id, "cancel")).status).toBe(202);
    await applyTransition(api, id, ending);
    expect(await loadRunState(id)).toMatchObject({ statuses, heldBy: null });
  });
});

describe("forceCancelRun", () => {
  it.each([
    ["planning", {}, ["canceled", "canceled", "unreachable"]],
    ["applying", { "auto-apply": true }, ["canceled", "finished", "canceled"]],
  ] as const)("202: %s, once the engine had its time to stop", async (status, attributes, statuses) => {
    const { id } = await runIn(attributes);
    await advanceRun(api, id, status === "planning" ? "planning" : "planned");
    if (status === "applying") await applyTransition(api, id, { event: "claim" });
    expect((await postAction(id, "force-cancel")).status).toBe(409);
    expect((await postAction(id, "cancel")).status).toBe(202);
    const early = await postAction(id, "force-cancel");
    expect([early.status, details(early)[0]]).toEqual([409, expect.stringContaining("force-cancel-available-at")]);
    await passCoolOff(api, id);
    expect((await loadRunState(id)).run.attributes.actions["is-force-cancelable"]).toBe(true);
    expect((await postAction(id, "force-cancel")).status).toBe(202);
    const shown = await loadRunState(id);
    expect(shown).toMatchObject({ statuses, heldBy: null });
    expect(shown.run.attributes["status-timestamps"]["force-canceled-at"]).toBeDefined();
    // A late report changes nothing.
    await expect(applyTransition(api, id, { event: "phase-finished" })).rejects.toThrow(/has ended/);
    const found = await org.owner.get(
      `/workspaces/${shown.run.relationships.workspace.data.id}/runs?filter[status]=force_canceled`,
    );
    expect(found.body.data.map((run: Json) => run.id)).toEqual([id]);
  });
});

describe("forceExecuteRun", () => {
  it("202: discards the planned run, and the pending runs before it", async () => {
    const { id, workspaceId } = await runIn();
    const others = [await makeRun(org.owner, workspaceId), await makeRun(org.owner, workspaceId)];
    const last = await makeRun(org.owner, workspaceId);
    const after = await makeRun(org.owner, workspaceId);
    await advanceRun(api, id, "planned");
    expect((await postAction(last.id, "force-execute")).status).toBe(202);
    expect((await loadRunState(id)).statuses[0]).toBe("discarded");
    for (const other of others) {
      const shown = await loadRunState(other.id);
      expect(shown.statuses).toEqual(["discarded", "unreachable", "unreachable"]);
      expect(stampsOf(shown)).toEqual(["discarded-at", "plan-queueable-at"]);
      const log = await api.nobody.get(
        data(await org.owner.get(`/runs/${other.id}/plan`)).attributes["log-read-url"].replace(/^https?:\/\/[^/]+/, ""),
      );
      expect(log.body).toBe("\u0002\u0003");
    }
    expect(await loadRunState(last.id)).toMatchObject({ heldBy: last.id, current: last.id });
    expect((await loadRunState(last.id)).statuses[0]).toBe("plan_queued");
    expect((await loadRunState(after.id)).statuses[0]).toBe("pending");
    expect(await eventsOf(last.id)).toEqual(["created", "force_executed", "queued"]);
  });

  it("403: it is not pending, or no run holds the workspace lock", async () => {
    const { id, workspaceId } = await runIn();
    expect((await postAction(id, "force-execute")).status).toBe(403);
    const other = await makeRunnable(api, org.name);
    await lock(org.owner, other.id);
    const waiting = await makeRun(org.owner, other.id);
    expect(waiting.attributes.status).toBe("pending");
    expect((await postAction(waiting.id, "force-execute")).status).toBe(403);
    expect(workspaceId).not.toBe(other.id);
  });

  it("409: the run that holds the lock can't be discarded", async () => {
    const { workspaceId } = await runIn();
    const second = await makeRun(org.owner, workspaceId);
    const refused = await postAction(second.id, "force-execute");
    expect([refused.status, details(refused)[0]]).toEqual([409, expect.stringContaining("can't be discarded")]);
  });
});

/** Every status in which a run can stay, and how it gets there. */
const resting: Readonly<Record<string, (id: string, workspaceId: string) => Promise<string | void>>> = {
  pending: async (_, workspaceId) => (await makeRun(org.owner, workspaceId)).id,
  plan_queued: async () => {},
  planning: (id) => advanceRun(api, id, "planning"),
  planned: (id) => advanceRun(api, id, "planned"),
  planned_and_finished: (id) => advanceRun(api, id, "finished"),
  errored: (id) => advanceRun(api, id, "errored"),
  apply_queued: async (id) => {
    await advanceRun(api, id, "planned");
    await postAction(id, "apply");
  },
  applying: async (id) => {
    await advanceRun(api, id, "planned");
    await postAction(id, "apply");
    await applyTransition(api, id, { event: "claim" });
  },
  applied: async (id) => {
    await advanceRun(api, id, "planned");
    await postAction(id, "apply");
    await applyTransition(api, id, { event: "claim" });
    await applyTransition(api, id, { event: "phase-finished" });
  },
  discarded: async (id) => {
    await advanceRun(api, id, "planned");
    await postAction(id, "discard");
  },
  canceled: async (id) => {
    await postAction(id, "cancel");
  },
};

const allowed: Readonly<Record<string, readonly string[]>> = {
  apply: ["planned"],
  discard: ["pending", "planned"],
  cancel: ["pending", "plan_queued", "planning", "apply_queued", "applying"],
  "force-cancel": [],
};

describe("409: an action that the status does not allow, with a message, and without changes", () => {
  const refusals = Object.entries(allowed).flatMap(([action, statuses]) =>
    Object.keys(resting)
      .filter((status) => !statuses.includes(status))
      .map((status) => [action, status] as const),
  );
  it.each(refusals)("%s of a run that is %s", async (action, status) => {
    const { id: first, workspaceId } = await runIn();
    const id = (await resting[status]?.(first, workspaceId)) ?? first;
    const before = await loadRunState(id);
    expect(before.statuses[0]).toBe(status);
    const refused = await postAction(id, action);
    expect(refused.status).toBe(409);
    expect(details(refused)[0]).toMatch(/^The run can't be .*\.$/);
    expect(await loadRunState(id)).toEqual(before);
  });
});
