/**
 * The service is killed while callers write: afterwards every acknowledged change is complete, and
 * no other change is partial.
 */
import { createHash, randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { type Caller, callerOn } from "../support/api.ts";
import { data, resource, unique } from "../support/builders.ts";
import type { Engine } from "../support/database.ts";
import { deep } from "../support/depth.ts";
import { pendingStateAttributes, stateAttributes, managed, md5, post, put, stateOf } from "../support/states.ts";
import { dropRegistersAfterwards, newRegister, type Service, startService, stopService } from "./support.ts";
import { scaled, until } from "../support/waiting.ts";

dropRegistersAfterwards();

const kills = deep(2, 20);
const writers = 4;
const adminToken = "the-admin-of-a-killed-service";

/** The changes that the service has acknowledged. */
interface Acknowledged {
  readonly workspaces: Set<string>;
  /** The digests of states, by the version's id. */
  readonly states: Map<string, string>;
  readonly vars: Map<string, string>;
  /** The workspace of each writer, and the last acknowledged serial there. */
  readonly serials: Map<string, number>;
}

describe.concurrent.each<Engine>(["sqlite", "postgres"])("killed again and again on %s", (engine) => {
  test("loses no acknowledged change and leaves no partial one", { timeout: scaled(600_000) }, async () => {
    const settings = {
      ...(await newRegister(engine)),
      CADASTRE_ADMIN_TOKEN: adminToken,
      CADASTRE_LOG_LEVEL: "fatal",
    };
    const known: Acknowledged = { workspaces: new Set(), states: new Map(), vars: new Map(), serials: new Map() };
    const organization = unique("org");
    for (let round = 0; round < kills; round += 1) {
      const service = await startService(settings);
      if (round === 0) await prepare(service, organization, known);
      await verify(service, organization, known);
      await writeUntilKilled(service, organization, known, Math.random() * 400);
    }
    const last = await startService(settings);
    await verify(last, organization, known);
    expect(known.states.size).toBeGreaterThan(kills);
    expect((await stopService(last)).code).toBe(0);
  });
});

async function prepare(service: Service, organization: string, known: Acknowledged): Promise<void> {
  const admin = callerOn(service.url, adminToken);
  data(await admin.post("/organizations", resource("organizations", { name: organization, email: "a@example.com" })));
  for (let writer = 0; writer < writers; writer += 1) {
    const made = await admin.post(
      `/organizations/${organization}/workspaces`,
      resource("workspaces", { name: unique("ws") }),
    );
    known.serials.set(data(made).id, 0);
  }
}

async function writeUntilKilled(
  service: Service,
  organization: string,
  known: Acknowledged,
  afterMs: number,
): Promise<void> {
  const admin = callerOn(service.url, adminToken);
  const writing = [...known.serials.keys()].map(async (workspaceId) => {
    try {
      for (;;) await writeOnce(admin, organization, workspaceId, known);
    } catch {
      // The service is gone.
    }
  });
  const before = known.states.size;
  // Some time after a change was acknowledged, on a machine of any speed.
  await until(() => known.states.size > before + 1);
  await sleep(afterMs);
  service.process.kill("SIGKILL");
  await service.ended;
  await Promise.all(writing);
}

/** A workspace, a variable and a state; the state alternately in the request and by its URL, small and of several chunks. */
async function writeOnce(admin: Caller, organization: string, workspaceId: string, known: Acknowledged): Promise<void> {
  const name = unique("ws");
  data(await admin.post(`/organizations/${organization}/workspaces`, resource("workspaces", { name })));
  known.workspaces.add(name);
  const variable = resource("vars", { key: unique("key"), value: name, category: "terraform" });
  const made = data(await admin.post(`/workspaces/${workspaceId}/vars`, variable));
  known.vars.set(`/workspaces/${workspaceId}/vars/${made.id}`, name);
  await admin.post(`/workspaces/${workspaceId}/actions/lock`);
  await writeState(admin, workspaceId, known);
  await admin.post(`/workspaces/${workspaceId}/actions/unlock`);
}

async function writeState(admin: Caller, workspaceId: string, known: Acknowledged): Promise<void> {
  // Beyond everything that was written but not acknowledged before the last kill.
  const serial = (known.serials.get(workspaceId) ?? 0) + 1 + Math.floor(Math.random() * 3);
  const byUrl = serial % 2 === 0;
  // Several chunks each; those of a deep run are too large to be parsed within their request.
  const padding = randomBytes(byUrl ? deep(450_000, 700_000) : 2_000).toString("hex");
  const state = stateOf({ serial, resources: [managed("one"), managed("two", 1, { padding })] });
  const version = data(await post(admin, workspaceId, byUrl ? pendingStateAttributes(state) : stateAttributes(state)));
  if (byUrl) {
    const sent = await put(version.attributes["hosted-state-upload-url"], state);
    if (sent.status !== 204) throw new Error(`the upload was answered ${sent.status}`);
  }
  known.states.set(version.id, md5(state));
  known.serials.set(workspaceId, serial);
}

async function verify(service: Service, organization: string, known: Acknowledged): Promise<void> {
  const admin = callerOn(service.url, adminToken);
  for (const name of known.workspaces)
    expect((await admin.get(`/organizations/${organization}/workspaces/${name}`)).status).toBe(200);
  for (const [path, value] of known.vars) expect(data(await admin.get(path)).attributes.value).toBe(value);
  for (const [id, digest] of known.states) expect(await digestOf(service, id), id).toBe(digest);
  for (const workspaceId of known.serials.keys()) {
    await admin.post(`/workspaces/${workspaceId}/actions/force-unlock`);
    await verifyVersions(service, admin, workspaceId, known);
  }
}

/** Also unacknowledged changes: each is complete or absent. */
async function verifyVersions(
  service: Service,
  admin: Caller,
  workspaceId: string,
  known: Acknowledged,
): Promise<void> {
  const listed = data(await admin.get(`/workspaces/${workspaceId}/state-versions?page[size]=100`));
  const finalized = listed.filter(
    ({ attributes }: { attributes: { status: string } }) => attributes.status === "finalized",
  );
  const serials = finalized.map(({ attributes }: { attributes: { serial: number } }) => attributes.serial);
  expect(serials).toEqual(serials.toSorted((left: number, right: number) => right - left));
  for (const { id } of finalized) expect(await digestOf(service, id)).toMatch(/^[0-9a-f]{32}$/);
  for (const { attributes } of listed) expect(attributes.status).toMatch(/^(finalized|discarded)$/);
  if (finalized.length === 0) return;
  const current = data(await admin.get(`/workspaces/${workspaceId}/current-state-version`));
  expect(current.id).toBe(finalized[0].id);
  // A job parses a large state; the next server takes it over from the killed one.
  const resourceCount = async () => data(await admin.get(`/workspaces/${workspaceId}`)).attributes["resource-count"];
  await until(async () => (await resourceCount()) === 2);
  known.serials.set(workspaceId, Math.max(known.serials.get(workspaceId) ?? 0, serials[0]));
}

/** Of a version's download; fails if it is truncated. */
async function digestOf(service: Service, id: string): Promise<string> {
  const response = await fetch(`${service.url}/api/v2/state-versions/${id}/download`, {
    headers: { authorization: `Bearer ${adminToken}` },
  });
  if (response.status !== 200) return `answered ${response.status}`;
  return createHash("md5")
    .update(Buffer.from(await response.arrayBuffer()))
    .digest("hex");
}
