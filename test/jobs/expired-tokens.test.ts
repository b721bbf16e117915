/** The job `expired-tokens` removes expired tokens, with an audit event; valid ones stay. And the metrics of jobs. */
import { describe, expect, it } from "vitest";
import { createVault } from "../../src/database/vault.ts";
import { jobs } from "../../src/jobs/index.ts";
import { BackgroundJobRunner } from "../../src/jobs/runner.ts";
import { newId, tokenHash } from "../../src/kernel/ids.ts";
import { removeExpiredTokens } from "../../src/resources/identity/authentication-tokens/writes.ts";
import { operatorContext } from "../../src/service.ts";
import { useApi } from "../support/api.ts";
import { makeOrganization, makeUser } from "../support/builders.ts";
import { jobContextOf } from "../support/states.ts";
import { hourMs } from "./support.ts";

const api = useApi();
const name = "expired-tokens";

const newRunner = () =>
  new BackgroundJobRunner({
    database: api.audited,
    vault: createVault(Buffer.alloc(32, 7)),
    options: operatorContext(api.database, { organizationCreation: "site-admins" }, "test").options,
    jobs,
  });

const inMs = (ms: number) => new Date(Date.now() + ms).toISOString();

/** Tokens of a user; the API creates none that have already expired. */
async function addTokens(userId: string, expiries: readonly (string | null)[], organizationId: string | null = null) {
  const rows = expiries.map((expiredAt) => ({
    id: newId("authentication-tokens"),
    kind: organizationId === null ? "user" : "organization",
    userId: organizationId === null ? userId : null,
    teamId: null,
    organizationId,
    isLegacy: 0,
    hash: tokenHash(newId("users")),
    description: "for a while",
    createdById: userId,
    createdAt: inMs(-hourMs),
    expiredAt,
    lastUsedAt: null,
    version: 1,
  }));
  await api.database.write((tx) => tx.db.insertInto("tokens").values(rows).execute());
  return rows.map(({ id }) => id);
}

const remaining = async (ids: readonly string[]) =>
  (await api.database.reader.db.selectFrom("tokens").select("id").where("id", "in", ids).execute()).map(({ id }) => id);

const removals = (ids: readonly string[]) =>
  api.database.reader.db
    .selectFrom("auditEvents")
    .selectAll()
    .where("subjectId", "in", ids)
    .orderBy("subjectId")
    .execute();

async function metrics(): Promise<string> {
  const answer = await fetch(`${api.url}/metrics`, { headers: { authorization: `Bearer ${api.admin.token}` } });
  return answer.text();
}

describe("expired tokens", () => {
  it("are removed with audit events, and valid ones stay", async () => {
    const { id: userId } = await makeUser(api);
    const { id: organizationId } = await makeOrganization(api);
    const gone = [
      ...(await addTokens(userId, [inMs(-1_000), inMs(-hourMs)])),
      ...(await addTokens(userId, [inMs(-1_000)], organizationId)),
    ];
    const living = await addTokens(userId, [inMs(hourMs), null]);
    expect(await newRunner().runNow(name)).toEqual({ handled: 3 });
    expect(await remaining(gone)).toEqual([]);
    expect((await remaining(living)).sort()).toEqual([...living].sort());
    const events = await removals([...gone, ...living]);
    expect(events.map(({ subjectId }) => subjectId)).toEqual([...gone].sort());
    for (const event of events) {
      expect(event).toMatchObject({ action: "authentication-tokens.delete", actorKind: "operator", after: null });
      expect(event.requestId).toMatch(/^job-expired-tokens-/);
      expect(JSON.parse(event.before ?? "")).toMatchObject({ description: "for a while" });
    }
    expect(events.filter((event) => event.organizationId === organizationId)).toHaveLength(1);
    expect(await newRunner().runNow(name)).toEqual({ handled: 0 });
  });

  it("are removed in batches, those that expired first before others", async () => {
    const { id: userId } = await makeUser(api);
    const ids = await addTokens(userId, [inMs(-1_000), inMs(-3_000), inMs(-2_000)]);
    const { context, capability } = jobContextOf(api);
    const remove = () => api.audited.write((tx) => removeExpiredTokens(tx, context, capability, 2));
    expect(await remove()).toBe(2);
    expect(await remaining(ids)).toEqual([ids[0]]);
    expect(await remove()).toBe(1);
    expect(await remove()).toBe(0);
  });

  it("more than a batch are removed in one run", async () => {
    const { id: userId } = await makeUser(api);
    const ids = await addTokens(
      userId,
      Array.from({ length: 1_001 }, (_, position) => inMs(-1_000 - position)),
    );
    expect(await newRunner().runNow(name)).toEqual({ handled: 1_001 });
    expect(await remaining(ids)).toEqual([]);
  });
});

describe("the metrics", () => {
  it("report the results of jobs", async () => {
    const runner = newRunner();
    await runner.runNow(name);
    const row = await api.database.reader.db
      .selectFrom("jobs")
      .selectAll()
      .where("name", "=", name)
      .executeTakeFirstOrThrow();
    const text = await metrics();
    for (const [metric, value] of [
      ["runs_total", row.runsTotal],
      ["failures_total", 0],
      ["handled_total", row.handledTotal],
      ["running", 0],
      ["last_success_timestamp_seconds", (row.succeededMs ?? 0) / 1000],
      ["last_duration_seconds", ((row.finishedMs ?? 0) - (row.startedMs ?? 0)) / 1000],
    ] as const) {
      expect(text).toContain(`\ncadastre_job_${metric}{job="${name}"} ${value}\n`);
    }
    expect(text).toContain("# TYPE cadastre_job_runs_total counter");
  });

  it("report a run, and do not count an expired lease", async () => {
    const hold = (leaseUntilMs: number) =>
      api.database.write((tx) =>
        tx.db.updateTable("jobs").set({ holder: "host-1-a", leaseUntilMs }).where("name", "=", name).execute(),
      );
    await hold(Number.MAX_SAFE_INTEGER);
    const during = await metrics();
    expect(during).toContain(`cadastre_job_running{job="${name}"} 1`);
    expect(during).not.toContain(`cadastre_job_last_duration_seconds{`);
    const runs = (text: string) => /cadastre_job_runs_total\{.*/.exec(text)?.[0];
    expect(runs(await metrics())).toBe(runs(during));
    await hold(1);
    expect(await metrics()).toContain(`cadastre_job_running{job="${name}"} 0`);
  });
});
