/**
 * The database of a running service is lost: connections are cut, it is restarted, it crashes, it hangs. Every response is correct or a
 * 503; acknowledged changes exist afterwards, refused ones don't, and the service recovers
 * automatically.
 */
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { type Answer, type Caller, callerOn, mediaType } from "../support/api.ts";
import { data, resource, unique } from "../support/builders.ts";
import { deep } from "../support/depth.ts";
import { startPostgres, type TestPostgres } from "../support/postgres.ts";
import { managed, post, stateAttributes, stateOf } from "../support/states.ts";
import { encryptionKey, type Service, startService, stopService } from "./support.ts";
import { scaled, until } from "../support/waiting.ts";

const adminToken = "the-admin-of-a-lost-database";
const organization = "acme";
const writers = 6;
const readers = 3;

let postgres: TestPostgres;
beforeAll(async () => {
  postgres = await startPostgres({ durable: true });
});
afterAll(() => postgres.stop());

/** The response to the creation of a name. */
type CreationOutcome = "made" | "refused" | "unknown";

class Crowd {
  readonly outcomes = new Map<string, CreationOutcome>();
  /** For each writer's own workspace: its possible descriptions, the last acknowledged one first. */
  readonly descriptions = new Map<string, string[]>();
  readonly faults: string[] = [];
  /** Requests that are not answered yet. */
  readonly open = new Set<Promise<Answer>>();
  refused = 0;
  made = 0;
  #isOver = false;
  readonly #admin: Caller;
  #underway: Promise<unknown>[] = [];

  constructor(url: string) {
    this.#admin = callerOn(url, adminToken);
  }

  async gather(): Promise<void> {
    for (let index = 0; index < writers; index += 1) {
      const made = await this.#admin.post(`/organizations/${organization}/workspaces`, workspace(unique("own")));
      this.descriptions.set(data(made).id, [""]);
    }
    const own = [...this.descriptions.keys()];
    this.#underway = [
      ...own.map((id) => this.#repeat(() => this.#write(id))),
      ...own.slice(0, readers).map((id) => this.#repeat(() => this.#read(id))),
    ];
  }

  async disperse(): Promise<void> {
    this.#isOver = true;
    await Promise.all(this.#underway);
  }

  async #repeat(step: () => Promise<void>): Promise<void> {
    while (!this.#isOver) {
      try {
        await step();
      } catch (error) {
        this.faults.push(`no answer at all: ${(error as Error).message}`);
        await sleep(100);
      }
    }
  }

  async #write(id: string): Promise<void> {
    const name = unique("ws");
    const created = await this.#judged(
      this.#admin.post(`/organizations/${organization}/workspaces`, workspace(name)),
      201,
    );
    this.outcomes.set(name, created);
    const [last = "", ...perhaps] = this.descriptions.get(id) ?? [];
    const patched = await this.#judged(
      this.#admin.patch(`/workspaces/${id}`, resource("workspaces", { description: name })),
      200,
    );
    if (patched === "made") this.descriptions.set(id, [name]);
    else if (patched === "unknown") this.descriptions.set(id, [last, ...perhaps, name]);
  }

  async #read(id: string): Promise<void> {
    const answer = this.#admin.get(`/workspaces/${id}`);
    if ((await this.#judged(answer, 200)) === "made" && data(await answer).id !== id)
      this.faults.push("another's answer");
    await this.#judged(this.#admin.get(`/organizations/${organization}/workspaces?page[size]=5`), 200);
  }

  async #judged(request: Promise<Answer>, success: number): Promise<CreationOutcome> {
    this.open.add(request);
    const answer = await request.finally(() => this.open.delete(request));
    if (answer.status === success) {
      this.made += 1;
      return "made";
    }
    this.refused += 1;
    const error = answer.body?.errors?.[0];
    const isHonest =
      answer.status === 503 &&
      error?.status === "503" &&
      Number(answer.headers.get("retry-after")) > 0 &&
      answer.headers.get("content-type") === mediaType;
    if (!isHonest) this.faults.push(`${answer.status}: ${JSON.stringify(answer.body)}`);
    await sleep(20);
    return /unknown/.test(error?.detail ?? "") ? "unknown" : "refused";
  }
}

const workspace = (name: string) => resource("workspaces", { name });

/** Until requests succeed again and the service is ready. */
async function untilServing(service: Service, crowd: Crowd): Promise<void> {
  const before = crowd.made;
  await until(async () => (await fetch(`${service.url}/readyz`)).status === 200 && crowd.made > before + 2 * writers);
}

async function cutConnections(): Promise<number> {
  const client = new pg.Client({ connectionString: postgres.url("cadastre") });
  await client.connect();
  const cut = await client.query(
    "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'cadastre'",
  );
  await client.end();
  return cut.rowCount ?? 0;
}

async function hang(service: Service, crowd: Crowd): Promise<void> {
  postgres.pause();
  try {
    expect((await fetch(`${service.url}/readyz`)).status).toBe(503);
    expect((await fetch(`${service.url}/healthz`)).status).toBe(200);
    const before = crowd.refused;
    // All requests are answered before the database continues.
    await Promise.allSettled(crowd.open);
    await until(() => crowd.refused > before + writers);
  } finally {
    postgres.resume();
  }
}

async function verify(service: Service, crowd: Crowd): Promise<void> {
  const admin = callerOn(service.url, adminToken);
  const found = new Map<CreationOutcome, number[]>([
    ["made", []],
    ["refused", []],
    ["unknown", []],
  ]);
  for (const [name, outcome] of crowd.outcomes) {
    const { status } = await admin.get(`/organizations/${organization}/workspaces/${name}`);
    found.get(outcome)?.push(status);
  }
  expect(new Set(found.get("made"))).toEqual(new Set([200]));
  expect(found.get("refused")).not.toContain(200);
  for (const [id, possible] of crowd.descriptions) {
    const { description } = data(await admin.get(`/workspaces/${id}`)).attributes;
    expect(possible).toContain(description ?? "");
  }
}

/** A large state is parsed by a job, which needs its lease and the database. */
async function verifyJobs(service: Service): Promise<void> {
  const admin = callerOn(service.url, adminToken);
  const { id } = data(await admin.post(`/organizations/${organization}/workspaces`, workspace(unique("jobs"))));
  await admin.post(`/workspaces/${id}/actions/lock`);
  const state = stateOf({ resources: [managed("one"), managed("two", 1, { padding: "x".repeat(1_200_000) })] });
  data(await post(admin, id, stateAttributes(state)));
  await admin.post(`/workspaces/${id}/actions/unlock`);
  const resourceCount = async () => data(await admin.get(`/workspaces/${id}`)).attributes["resource-count"];
  await until(async () => (await resourceCount()) === 2);
}

test(
  "loses no acknowledged change, makes no refused one, and recovers automatically",
  {
    timeout: scaled(600_000),
  },
  async () => {
    const admin = new pg.Client({ connectionString: postgres.url("postgres") });
    await admin.connect();
    await admin.query("create database cadastre");
    await admin.end();
    const service = await startService({
      CADASTRE_DATABASE: postgres.url("cadastre"),
      CADASTRE_ENCRYPTION_KEY: encryptionKey,
      CADASTRE_ADMIN_TOKEN: adminToken,
      CADASTRE_LOG_LEVEL: "fatal",
    });
    onTestFinished(() => void service.process.kill("SIGKILL"));
    const email = "a@example.com";
    data(
      await callerOn(service.url, adminToken).post(
        "/organizations",
        resource("organizations", { name: organization, email }),
      ),
    );
    const crowd = new Crowd(service.url);
    await crowd.gather();
    for (let round = 0; round < deep(1, 10); round += 1) {
      for (let times = 0; times < 8; times += 1) {
        expect(await cutConnections()).toBeGreaterThan(0);
        await untilServing(service, crowd);
      }
      await postgres.restart();
      await untilServing(service, crowd);
      await postgres.restart("SIGQUIT");
      await untilServing(service, crowd);
      await hang(service, crowd);
      await untilServing(service, crowd);
    }
    await crowd.disperse();
    expect(crowd.faults).toEqual([]);
    await verify(service, crowd);
    await verifyJobs(service);
    expect(await stopService(service)).toMatchObject({ code: 0, err: "" });
  },
);
