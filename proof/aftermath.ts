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
  const trail = await trailOf(world);
  return joined([
    await madeFaults(world, events, trail, afterwards),
    valueFaults(events, trail, afterwards),
    leaseFaults(events, trail),
    await stateFaults(world, server, events, afterwards),
    await thingFaults(world, events, trail, afterwards),
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
  const trail = await trailOf(world);
  return joined([
    await madeFaults(world, events, trail, window),
    valueFaults(events, trail, window),
    await stateFaults(world, server, events, window),
    await thingFaults(world, events, trail, window),
  ]);
}

const trailOf = (world: World): Promise<Json[]> => world.all(`/organizations/${world.organization}/audit-events`);

const joined = (parts: readonly Aftermath[]): Aftermath => ({
  faults: parts.flatMap(({ faults }) => faults),
  found: parts.reduce((sum, { found }) => sum + found, 0),
});

const mustCount = (events: readonly Event[], window: Window): number =>
  events.filter((event) => presenceOf(event, window) === "must").length;

/** The resources of the workloads. */
async function thingFaults(
  world: World,
  events: readonly Event[],
  trail: readonly Json[],
  window: Window,
): Promise<Aftermath> {
  const own = of(events, "kept");
  const lists = new Map<string, Json[]>();
  for (const { key } of own) {
    const { list } = viewOfKey(key);
    if (!lists.has(list)) lists.set(list, await world.all(list));
  }
  const told = new Set(trail.map(({ attributes }) => attributes["request-id"] as string));
  const faults = finalStateFaults(own, (view) => seenAt(view, lists.get(view.list) ?? []), told, window);
  return { faults, found: mustCount(own, window) };
}

const of = (events: readonly Event[], proof: string, kind?: string) =>
  events.filter((event) => event.proof === proof && (kind === undefined || event.kind === kind));

/** Every acknowledged workspace exists with exactly one audit event; one with an unknown outcome has at most one. */
async function madeFaults(
  world: World,
  events: readonly Event[],
  trail: readonly Json[],
  window: Window,
): Promise<Aftermath> {
  const listed = await world.all(`/organizations/${world.organization}/workspaces`);
  const names = new Set(listed.map(({ attributes }) => attributes.name as string));
  const told = new Map<string, number>();
  for (const { attributes } of trail)
    if (attributes.action === "workspaces.create") {
      const name = attributes.after?.name ?? "";
      told.set(name, (told.get(name) ?? 0) + 1);
    }
  const faults: string[] = [];
  const made = of(events, "made");
  for (const event of made) {
    const { value } = event;
    const [presence, isThere, times] = [presenceOf(event, window), names.has(value), told.get(value) ?? 0];
    if (presence === "must" && !isThere) faults.push(`an acknowledged workspace is lost: ${value}`);
    if (presence === "not" && isThere) faults.push(`a workspace was refused, and is there: ${value}`);
    if (times !== (isThere ? 1 : 0)) faults.push(`the audit log has ${times} events for ${value}`);
  }
  return { faults, found: mustCount(made, window) };
}

/** A change leaves one audit event, however often its transaction was retried. */
function valueFaults(events: readonly Event[], trail: readonly Json[], window: Window): Aftermath {
  const written = of(events, "values", "write");
  const told = new Map<string, number>();
  for (const { attributes } of trail)
    if (attributes.action === "workspaces.update") {
      const value = attributes.after?.description ?? "";
      told.set(value, (told.get(value) ?? 0) + 1);
    }
  const faults = written.flatMap((event) => {
    const { value } = event;
    const [presence, times] = [presenceOf(event, window), told.get(value) ?? 0];
    if (presence === "must" && times !== 1) return [`an acknowledged value left ${times} events: ${value}`];
    if (presence === "not" && times > 0) return [`a value was refused, and was written: ${value}`];
    return times > 1 ? [`a value was written ${times} times: ${value}`] : [];
  });
  return { faults, found: mustCount(written, window) };
}

/** A lease is ended by a background job or by the next caller, but only once. */
function leaseFaults(events: readonly Event[], trail: readonly Json[]): Aftermath {
  const keys = new Set(of(events, "leases").map(({ key }) => key));
  const faults = [...keys].flatMap((key) => {
    const own = trail.filter(({ relationships, attributes }) => subjectOf(relationships, attributes) === key);
    const count = (action: string) => own.filter(({ attributes }) => attributes.action === action).length;
    const [given, ended] = [count("workspaces.lock"), count("workspaces.expire-lock")];
    return ended > given || ended < given - 1 ? [`of ${given} leases on ${key} ${ended} ended`] : [];
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
    if (new Set(serials).size !== serials.length) faults.push(`a serial of ${key} is there twice: ${serials.join()}`);
    for (const event of own) {
      const [serial, digest] = event.value.split(" ");
      const presence = presenceOf(event, window);
      const version = versions.find(({ attributes }) => attributes.serial === Number(serial));
      if (presence === "not" && version !== undefined)
        faults.push(`a state was refused, and is there: ${key} ${serial}`);
      if (presence === "must" && version === undefined) faults.push(`an acknowledged state is lost: ${key} ${serial}`);
      if (presence === "not" || version === undefined) continue;
      if ((await digestOf(world, server, version.id)) !== digest) faults.push(`a state is another: ${key} ${serial}`);
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
const runsPatienceMs = 90_000;

/** Every queued run ends, and a run whose finish was acknowledged has succeeded. */
async function runFaults(world: World, events: readonly Event[]): Promise<Aftermath> {
  const queued = of(events, "runs", "queue").filter(({ outcome }) => outcome === "done");
  const finished = new Set(
    of(events, "jobs", "finish")
      .filter(({ outcome }) => outcome === "done")
      .map(({ value }) => value.split(" ")[0]),
  );
  const deadline = performance.now() + runsPatienceMs;
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
