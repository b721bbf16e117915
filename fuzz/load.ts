/** Sends the requests with some concurrency. The tenants are recreated now and then, because random requests destroy much of them. */
import fc from "fast-check";
import { idPrefixes } from "../src/kernel/ids.ts";
import { data, resource, unique } from "../test/support/builders.ts";
import { randomFrom, typeOfParam } from "../test/support/stress/world.ts";
import { makeTenant } from "../test/support/tenant.ts";
import { describe } from "./document.ts";
import { Pool, type Sender } from "./pool.ts";
import { requestFrom, type Draft, Drafts, type Request } from "./requests.ts";
import { type Answer, faultsOf, send } from "./sending.ts";
import { adminToken, type FuzzedSite } from "./site.ts";
import { isSuccess, Staging } from "./staging.ts";
import { Webhooks } from "./webhooks.ts";

export interface FuzzOptions {
  readonly seed: number;
  readonly requests: number;
  readonly concurrency: number;
  /** No request is started after this time. */
  readonly minutesMax: number;
  /** Called after every thousand requests. */
  readonly onProgress: (outcome: Outcome) => Promise<void>;
}

export interface Outcome {
  sent: number;
  readonly statuses: Map<number, number>;
  /** One per kind, with the request and the response. */
  readonly faults: Map<string, string>;
  /** Operations that succeeded at least once. */
  readonly reached: Set<string>;
  readonly operations: readonly string[];
  /** Requests that could not be prepared because of concurrent ones. */
  unprepared: number;
}

const requestsPerTenant = 200;
const draftsAtOnce = 200;
const progressEvery = 1_000;
/** How often a request is prepared to succeed, and how often it is a webhook. */
const [stagedEvery, webhookEvery] = [10, 25];
/** Fuzzing stops after this many, because one bug can cause many faults. */
const faultsMax = 30;

const typesOfPrefixes = new Map(Object.entries(idPrefixes).map(([type, prefix]) => [prefix as string, type]));
const typeOfPrefix = (prefix: string): string => typesOfPrefixes.get(prefix) ?? prefix;

export async function sendRequests(site: FuzzedSite, options: FuzzOptions): Promise<Outcome> {
  const description = await describe(site.url, adminToken);
  const { all } = new Drafts(description);
  const chance = randomFrom(options.seed);
  const { id: adminId } = data(await site.api.admin.get("/account/details"));
  const pool = new Pool(chance, [adminId, "admin"]);
  const outcome: Outcome = {
    sent: 0,
    statuses: new Map(),
    faults: new Map(),
    reached: new Set(),
    operations: description.operations.map(({ id }) => id),
    unprepared: 0,
  };
  const drafts = draftsOf(all, options.seed);
  const staging = new Staging(site.api, description.operations, chance);
  const webhooks = await Webhooks.prepare(site.api, description.operations);
  let started = 0;
  const untilMs = performance.now() + options.minutesMax * 60_000;
  const isOver = () => started >= options.requests || performance.now() > untilMs;
  const worker = async () => {
    while (!isOver() && outcome.faults.size < faultsMax && site.ended() === undefined) {
      started += 1;
      const number = started;
      if (number % requestsPerTenant === 1) await newTenant(site, pool, outcome);
      if (number % stagedEvery === 0) await prepared(staging, pool, outcome);
      else if (number % webhookEvery === 1)
        await sent(site, pool, webhooks.next(options.seed + number * 3), provider, outcome);
      else await one(site, pool, nextOf(drafts), outcome);
      if (number % progressEvery === 0) await options.onProgress(outcome);
    }
  };
  await newTenant(site, pool, outcome);
  await Promise.all(Array.from({ length: options.concurrency }, worker));
  if (site.ended() !== undefined) outcome.faults.set("ended", `The server exited: ${site.ended()}.`);
  return outcome;
}

/** Depends only on the seed, not on the responses. */
function* draftsOf(all: fc.Arbitrary<Draft>, seed: number): Generator<Draft, never> {
  for (let batch = 0; ; batch += 1) yield* fc.sample(all, { seed: (seed * 7_919 + batch) | 0, numRuns: draftsAtOnce });
}

/** Destructive operations are rare, otherwise most requests would get 404. */
const destructive =
  /^(delete|safeDelete|forceDelete)(Admin)?(Organization|Workspace|WorkspaceByName|Project|User|Team)$/;

function nextOf(drafts: Generator<Draft, never>): Draft {
  for (;;) {
    const draft = drafts.next().value;
    if (!destructive.test(draft.operation.id) || draft.choice % 8 === 0) return draft;
  }
}

/** The sender of webhooks, which are signed and need no token. */
const provider: Sender = { kind: "a provider", headers: {} };

/** Counts the request as unprepared if a concurrent one removed what it needs. */
async function prepared(staging: Staging, pool: Pool, outcome: Outcome): Promise<void> {
  try {
    for (const { request, by, answer } of await staging.next()) {
      outcome.sent += 1;
      record(outcome, request, { kind: by, headers: {} }, answer);
      if (answer.status < 300) learn(pool, answer);
    }
  } catch {
    outcome.unprepared += 1;
  }
}

async function one(site: FuzzedSite, pool: Pool, draft: Draft, outcome: Outcome): Promise<void> {
  const request = requestFrom(draft, pool, typeOfPrefix);
  await sent(site, pool, request, pool.senders[draft.choice % pool.senders.length]!, outcome);
}

async function sent(site: FuzzedSite, pool: Pool, request: Request, sender: Sender, outcome: Outcome): Promise<void> {
  // A separate client address, so that wrong tokens don't affect the rate limit of others.
  const address = `198.51.${100 + (outcome.sent % 100)}.${outcome.sent % 250}`;
  outcome.sent += 1;
  try {
    const answer = await send(site.url, request, { ...sender.headers, "x-forwarded-for": address });
    record(outcome, request, sender, answer);
    if (answer.status < 300) learn(pool, answer);
    if (answer.status === 401) pool.dropSender(sender);
  } catch (error) {
    const { message, name } = error as Error;
    addFault(outcome, `${request.operation.id} no response`, `No response (${name}: ${message})`, request, sender);
  }
}

function record(outcome: Outcome, request: Request, sender: Sender, answer: Answer): void {
  const { status } = answer;
  outcome.statuses.set(status, (outcome.statuses.get(status) ?? 0) + 1);
  if (isSuccess(status)) outcome.reached.add(request.operation.id);
  for (const fault of faultsOf(request, answer))
    addFault(
      outcome,
      `${request.operation.id} ${status} ${fault}`,
      `The response ${fault}: ${status} ${answer.text.slice(0, 500)}`,
      request,
      sender,
    );
}

function addFault(outcome: Outcome, kind: string, what: string, request: Request, sender: Sender): void {
  if (outcome.faults.has(kind)) return;
  const { method, target, body, headers } = request;
  const sent =
    typeof body === "string" ? body : body === undefined ? "" : `base64:${Buffer.from(body).toString("base64")}`;
  const lines = [
    `${request.operation.id}: ${what}`,
    `  ${method} ${target.slice(0, 600)}  as ${sender.kind}  ${JSON.stringify(headers)}`,
    `  ${sent.slice(0, 2_000)}`,
  ];
  outcome.faults.set(kind, lines.join("\n"));
}

function learn(pool: Pool, { text, headers }: Answer): void {
  const [cookie] = headers["set-cookie"] ?? [];
  const session = /^cadastre_session=[^;]+/.exec(cookie ?? "")?.[0];
  if (session !== undefined) pool.addSender({ kind: "a session", headers: { cookie: session } });
  if (text.length > 2_000_000 || !text.startsWith("{")) return;
  try {
    pool.collect(JSON.parse(text));
  } catch {
    // The content type is checked elsewhere.
  }
}

const bearer = (kind: string, token: string | undefined): Sender => ({
  kind,
  headers: token === undefined ? {} : { authorization: `Bearer ${token}` },
});

/** A new tenant and a new site admin, because earlier ones may be gone. */
async function newTenant(site: FuzzedSite, pool: Pool, outcome: Outcome): Promise<void> {
  const { api } = site;
  try {
    const attributes = { username: unique("root"), email: `${unique("root")}@example.com`, "is-site-admin": true };
    const user = data(await api.admin.post("/admin/users", resource("users", attributes)));
    const made = resource("authentication-tokens", { description: "fuzz" });
    const token = data(await api.admin.post(`/users/${user.id}/authentication-tokens`, made)).attributes.token;
    const tenant = await makeTenant(api);
    const { owner, ...others } = tenant.callers;
    const senders = [
      ...Array.from({ length: 4 }, () => bearer("a site admin", token)),
      ...Array.from({ length: 6 }, () => bearer("an owner", owner.token)),
      ...Object.entries(others).map(([kind, caller]) => bearer(kind, caller.token)),
      { ...bearer("nobody", undefined), isNobody: true },
      { ...bearer("a wrong token", "cadastre-nobody-has-this-token-0123456789abcdefgh"), isNobody: true },
    ];
    pool.forget();
    for (const [param, id] of Object.entries(tenant.params)) pool.add(typeOfParam(param), id);
    for (const sender of senders) pool.addSender(sender);
  } catch (error) {
    // A concurrent request can remove what it needs; server errors are reported with the requests.
    if (pool.senders.length === 0) throw error;
    outcome.statuses.set(0, (outcome.statuses.get(0) ?? 0) + 1);
  }
}
