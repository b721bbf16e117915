/** Compares the data after a proof with the responses: nothing acknowledged is missing, nothing refused is present. */
import { createHash } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { exchange, type Json, type Target } from "./client.ts";
import type { Event, History } from "./history.ts";
import { afterwards, finalStateFaults, seenAt, viewOfKey, presenceOf, type Window } from "./final-state.ts";
import type { World } from "./world.ts";

export interface Aftermath {
  readonly faults: readonly string[];
  /** How many acknowledged writes were checked. */
  readonly found: number;
}

export async function aftermathOf(world: World, server: Target, history: History): Promise<Aftermath> {
  const { events } = history;
  const auditEvents = await auditEventsOf(world);
  return joined([
    await createdFaults(world, events, auditEvents, afterwards),
    valueFaults(events, auditEvents, afterwards),
    leaseFaults(events, auditEvents),
    await stateFaults(world, server, events, afterwards),
    await workloadFaults(world, events, auditEvents, afterwards),
    await runFaults(world, events),
  ]);
}

/** The same for a snapshot, in which runs were in progress and locks were held. */
export async function momentFaults(
  world: World,
  server: Target,
  history: Pick<History, "events">,
  window: Window,
): Promise<Aftermath> {
  const { events } = history;
  const auditEvents = await auditEventsOf(world);
  return joined([
    await createdFaults(world, events, auditEvents, window),
    valueFaults(events, auditEvents, window),
    await stateFaults(world, server, events, window),
    await workloadFaults(world, events, auditEvents, window),
  ]);
}

const auditEventsOf = (world: World): Promise<Json[]> => world.all(`/organizations/${world.organization}/audit-events`);

const joined = (parts: readonly Aftermath[]): Aftermath => ({
  faults: parts.flatMap(({ faults }) => faults),
  found: parts.reduce((sum, { found }) => sum + found, 0),
});

const mustCount = (events: readonly Event[], window: Window): number =>
  events.filter((event) => presenceOf(event, window) === "must").length;

/** The resources of the workloads. */
async function workloadFaults(
  world: World,
  events: readonly Event[],
  auditEvents: readonly Json[],
  window: Window,
): Promise<Aftermath> {
  const own = of(events, "kept");
  const lists = new Map<string, Json[]>();
  for (const { key } of own) {
    const { list } = viewOfKey(key);
    if (!lists.has(list)) lists.set(list, await world.all(list));
  }
  const audited = new Set(auditEvents.map(({ attributes }) => attributes["request-id"] as string));
  const faults = finalStateFaults(own, (view) => seenAt(view, lists.get(view.list) ?? []), audited, window);
  return { faults, found: mustCount(own, window) };
}

const of = (events: readonly Event[], proof: string, kind?: string) =>
  events.filter((event) => event.proof === proof && (kind === undefined || event.kind === kind));

/** Every acknowledged workspace exists with exactly one audit event; one with an unknown outcome has at most one. */
async function createdFaults(
  world: World,
  events: readonly Event[],
  auditEvents: readonly Json[],
  window: Window,
): Promise<Aftermath> {
  const listed = await world.all(`/organizations/${world.organization}/workspaces`);
  const names = new Set(listed.map(({ attributes }) => attributes.name as string));
  const audited = new Map<string, number>();
  for (const { attributes } of auditEvents)
    if (attributes.action === "workspaces.create") {
      const name = attributes.after?.name ?? "";
      audited.set(name, (audited.get(name) ?? 0) + 1);
    }
  const faults: string[] = [];
  const created = of(events, "made");
  for (const event of created) {
    const { value } = event;
    const [presence, exists, times] = [presenceOf(event, window), names.has(value), audited.get(value) ?? 0];
    if (presence === "must" && !exists) faults.push(`an acknowledged workspace is lost: ${value}`);
    if (presence === "not" && exists) faults.push(`a workspace was refused but exists: ${value}`);
    if (times !== (exists ? 1 : 0)) faults.push(`the audit log has ${times} events for ${value}`);
  }
  return { faults, found: mustCount(created, window) };
}

/** A change leaves one audit event, however often its transaction was retried. */
function valueFaults(events: readonly Event[], auditEvents: readonly Json[], window: Window): Aftermath {
  const written = of(events, "values", "write");
  const audited = new Map<string, number>();
  for (const { attributes } of auditEvents)
    if (attributes.action === "workspaces.update") {
      const value = attributes.after?.description ?? "";
      audited.set(value, (audited.get(value) ?? 0) + 1);
    }
  const faults = written.flatMap((event) => {
    const { value } = event;
    const [presence, times] = [presenceOf(event, window), audited.get(value) ?? 0];
    if (presence === "must" && times !== 1) return [`an acknowledged value left ${times} events: ${value}`];
    if (presence === "not" && times > 0) return [`a value was refused but written: ${value}`];
    return times > 1 ? [`a value was written ${times} times: ${value}`] : [];
  });
  return { faults, found: mustCount(written, window) };
}

/** A lease is ended by a background job or by the next caller, but only once. */
function leaseFaults(events: readonly Event[], auditEvents: readonly Json[]): Aftermath {
  const keys = new Set(of(events, "leases").map(({ key }) => key));
  const faults = [...keys].flatMap((key) => {
    const own = auditEvents.filter(({ relationships, attributes }) => subjectOf(relationships, attributes) === key);
    const count = (action: string) => own.filter(({ attributes }) => attributes.action === action).length;
    const [taken, ended] = [count("workspaces.lock"), count("workspaces.expire-lock")];
    return ended > taken || ended < taken - 1 ? [`${ended} of ${taken} leases on ${key} ended`] : [];
  });
  return { faults, found: 0 };
}

const subjectOf = (relationships: Json, attributes: Json): string | undefined =>
  relationships?.subject?.data?.id ?? attributes["subject-id"];

async function stateFaults(world: World, server: Target, events: readonly Event[], window: Window): Promise<Aftermath> {
  const written = of(events, "states", "state");
  const faults: string[] = [];
  for (const [key, own] of Map.groupBy(written, (event) => event.key)) {
    // Versions without content are not states yet.
    const listed = await world.all(`/workspaces/${key}/state-versions`);
    const versions = listed.filter(({ attributes }) => attributes.status === "finalized");
    const serials = versions.map(({ attributes }) => attributes.serial as number);
    if (new Set(serials).size !== serials.length) faults.push(`a serial of ${key} exists twice: ${serials.join()}`);
    for (const event of own) {
      const [serial, digest] = event.value.split(" ");
      const presence = presenceOf(event, window);
      const version = versions.find(({ attributes }) => attributes.serial === Number(serial));
      if (presence === "not" && version !== undefined) faults.push(`a state was refused but exists: ${key} ${serial}`);
      if (presence === "must" && version === undefined) faults.push(`an acknowledged state is lost: ${key} ${serial}`);
      if (presence === "not" || version === undefined) continue;
      if ((await digestOf(world, server, version.id)) !== digest)
        faults.push(`a state has different content: ${key} ${serial}`);
    }
  }
  return { faults, found: mustCount(written, window) };
}

async function digestOf(world: World, server: Target, id: string): Promise<string> {
  const url = `${server.url}/api/v2/state-versions/${id}/download`;
  const { text } = await exchange(url, "GET", { authorization: `Bearer ${world.adminToken}` });
  return createHash("md5").update(text).digest("hex");
}

/** How long the server can take to end jobs whose claim was never received. */
const runEndTimeoutMs = 90_000;

/** Every queued run ends, and a run whose finish was acknowledged has succeeded. */
async function runFaults(world: World, events: readonly Event[]): Promise<Aftermath> {
  const queued = of(events, "runs", "queue").filter(({ outcome }) => outcome === "done");
  const finished = new Set(
    of(events, "jobs", "finish")
      .filter(({ outcome }) => outcome === "done")
      .map(({ value }) => value.split(" ")[0]),
  );
  const deadline = performance.now() + runEndTimeoutMs;
  const faults: string[] = [];
  for (const { value: id } of queued) {
    let status = "";
    for (;;) {
      ({ status } = (await world.get(`/runs/${id}`)).attributes);
      if (/^(planned_and_finished|errored)$/.test(status) || performance.now() > deadline) break;
      await sleep(500);
    }
    if (
      finished.has(id) ? status !== "planned_and_finished" : status !== "planned_and_finished" && status !== "errored"
    )
      faults.push(`the run ${id} is ${status}`);
  }
  return { faults, found: queued.length };
}
