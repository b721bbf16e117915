/** `/metrics`: every metric has the right type and is documented; the dashboard and the alert rules use no unknown one. */
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { createVault } from "../../src/database/vault.ts";
import { backupJobSummary, contentsJobSummary, jobs } from "../../src/jobs/index.ts";
import { BackgroundJobRunner } from "../../src/jobs/runner.ts";
import { newId, tokenHash } from "../../src/kernel/ids.ts";
import { operatorContext } from "../../src/service.ts";
import { useApi } from "../support/api.ts";
import { makeOrganization, makeUser, makeWorkspace } from "../support/builders.ts";
import { describeOnce } from "../support/engine-independent.ts";
import { stateOf, writeState } from "../support/states.ts";

const api = useApi();

async function scrape(): Promise<string> {
  const answer = await fetch(`${api.url}/metrics`, { headers: { authorization: `Bearer ${api.admin.token}` } });
  expect(answer.status).toBe(200);
  return answer.text();
}

/** Metrics about the whole register. */
async function figures(): Promise<Record<string, number>> {
  const lines = (await scrape()).split("\n").filter((line) => line !== "" && !line.startsWith("#"));
  return Object.fromEntries(
    lines.map((line) => [line.slice(0, line.lastIndexOf(" ")), Number(line.split(" ").at(-1))]),
  );
}

const count = () => {
  const { options } = operatorContext(api.database, { organizationCreation: "site-admins" }, "test");
  return new BackgroundJobRunner({
    database: api.audited,
    vault: createVault(Buffer.alloc(32, 7)),
    options,
    jobs,
  }).runNow("figures");
};

const types = async () =>
  new Map([...(await scrape()).matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name, type]) => [name!, type!]));

describeOnce("the metrics", () => {
  it("have the type that their name implies, and a help text", async () => {
    const text = await scrape();
    const all = await types();
    expect(all.size).toBeGreaterThan(30);
    for (const [name, type] of all) {
      expect(name, name).toMatch(/^(cadastre|process)_[a-z]+(_[a-z]+)*$/);
      expect(type === "counter", name).toBe(name.endsWith("_total"));
      expect(text, name).toMatch(new RegExp(`^# HELP ${name} [A-Z0-9].*\\.$`, "m"));
      // Base units only.
      expect(name).not.toMatch(/_(ms|milliseconds|minutes|hours|kib|mib|kilobytes|percent)(_|$)/);
    }
    expect([...all].filter(([, type]) => type === "histogram").map(([name]) => name)).toEqual(
      expect.arrayContaining(["cadastre_http_request_duration_seconds", "cadastre_phase_seconds"]),
    );
  });

  it("include version and database", async () => {
    const [line] = /^cadastre_build_info\{.*$/m.exec(await scrape()) ?? [];
    expect(line).toBe(
      `cadastre_build_info{version="0.0.0-test",node="${process.versions.node}",database="${api.database.dialect.name}"} 1`,
    );
  });

  it("are exactly those in docs/reference/metrics.md", async () => {
    const rows = readFileSync("docs/reference/metrics.md", "utf8").matchAll(
      /^\| `((?:cadastre|process)_[a-z_]+)` \|/gm,
    );
    const documented = [...rows].map(([, name]) => name!);
    expect(documented.toSorted()).toEqual([...(await types()).keys()].toSorted());
  });

  it("cover all jobs of docs/reference/jobs.md", () => {
    const rows = readFileSync("docs/reference/jobs.md", "utf8").matchAll(
      /^\| `([a-z-]+)` \| \d+ (?:second|minute|hour|day)/gm,
    );
    expect([...rows].map(([, name]) => name!).toSorted()).toEqual(
      [...jobs, contentsJobSummary, backupJobSummary].map(({ name }) => name).toSorted(),
    );
  });

  it.each(["deploy/grafana/cadastre.json", "deploy/prometheus/alerts.yaml"])(
    "%s asks for none that there is not",
    async (file) => {
      const all = await types();
      const series = [...all].flatMap(([name, type]) =>
        type === "histogram" ? [`${name}_bucket`, `${name}_sum`, `${name}_count`] : [name],
      );
      const asked = new Set(readFileSync(file, "utf8").match(/\b(?:cadastre|process)_[a-z_]+\b/g));
      expect(asked.size).toBeGreaterThan(10);
      expect([...asked].filter((name) => !series.includes(name))).toEqual([]);
    },
  );

  it("the dashboard's panels have unique ids and don't overlap", () => {
    const { panels } = JSON.parse(readFileSync("deploy/grafana/cadastre.json", "utf8")) as {
      panels: { id: number; gridPos: { x: number; y: number; w: number; h: number } }[];
    };
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
    const cells = panels.flatMap(({ gridPos: { x, y, w, h } }) =>
      Array.from({ length: w * h }, (_, cell) => `${x + (cell % w)},${y + Math.floor(cell / w)}`),
    );
    expect(new Set(cells).size).toBe(cells.length);
  });

  it("take the same number of statements with any amount of data", async () => {
    const cost = async () => {
      // After a change the token is looked up again, once.
      await scrape();
      const before = api.database.statementCount();
      await scrape();
      return api.database.statementCount() - before;
    };
    const before = await cost();
    const org = await makeOrganization(api);
    for (let index = 0; index < 3; index += 1) await makeWorkspace(api, org.name);
    await count();
    expect(await cost()).toBe(before);
    expect(before).toBeLessThanOrEqual(10);
  });
});

describe("the totals of the whole register", () => {
  it("are counted by a job, and equal on every server", async () => {
    await api.database.write((tx) => tx.db.deleteFrom("meta").where("name", "=", "figures").execute());
    // Unknown is not zero.
    expect(
      Object.keys(await figures()).filter((name) =>
        /^cadastre_(stored|.*expiring|workspaces$|database_size)/.test(name),
      ),
    ).toEqual([]);
    await count();
    const before = await figures();
    const org = await makeOrganization(api);
    const workspace = await makeWorkspace(api, org.name);
    const state = stateOf({});
    await writeState(org.owner, workspace.id, state);
    await count();
    const after = await figures();
    const grown = (name: string) => after[name]! - before[name]!;
    expect(grown("cadastre_workspaces")).toBe(1);
    expect(grown("cadastre_organizations")).toBe(1);
    expect(grown('cadastre_stored_contents{kind="state"}')).toBe(1);
    expect(grown('cadastre_stored_bytes{kind="state"}')).toBe(Buffer.byteLength(state));
    expect(after["cadastre_database_size_bytes"]).toBeGreaterThan(100_000);
    expect(after["cadastre_figures_timestamp_seconds"]).toBeGreaterThanOrEqual(
      before["cadastre_figures_timestamp_seconds"]!,
    );
  });

  it("count expiring tokens, without sessions and short-lived tokens", async () => {
    await count();
    const before = await figures();
    const { id: userId } = await makeUser(api);
    const hour = 3_600_000;
    const inMs = (ms: number) => new Date(Date.now() + ms).toISOString();
    const token = (kind: string, madeMs: number, endsMs: number | null) => ({
      id: newId("authentication-tokens"),
      kind,
      userId,
      teamId: null,
      organizationId: null,
      isLegacy: 0,
      hash: tokenHash(newId("users")),
      description: null,
      createdById: userId,
      createdAt: inMs(madeMs),
      expiredAt: endsMs === null ? null : inMs(endsMs),
      lastUsedAt: null,
      version: 1,
    });
    const rows = [
      token("user", -48 * hour, 2 * hour),
      token("user", -48 * hour, 3 * 24 * hour),
      token("user", -1 * hour, 20 * 24 * hour),
      // Expired, without expiry, long-lived, created for an hour, and a session.
      token("user", -48 * hour, -hour),
      token("user", -48 * hour, null),
      token("user", -48 * hour, 60 * 24 * hour),
      token("user", -hour / 2, hour / 2),
      token("session", -48 * hour, 2 * hour),
    ];
    await api.database.write((tx) => tx.db.insertInto("tokens").values(rows).execute());
    await count();
    const after = await figures();
    const grown = (days: string) => {
      const name = `cadastre_tokens_expiring{kind="user",within_days="${days}"}`;
      return after[name]! - before[name]!;
    };
    expect([grown("1"), grown("7"), grown("30")]).toEqual([1, 2, 3]);
    expect(after['cadastre_tokens_expiring{kind="team",within_days="30"}']).toBe(0);
  });

  it("count more contents than one statement reads", async () => {
    const org = await makeOrganization(api);
    const rows = Array.from({ length: 4_100 }, (_, index) => ({
      id: newId("contents"),
      organizationId: org.id,
      stateVersionId: null,
      configurationVersionId: null,
      runId: null,
      ownerId: null,
      kind: "plan",
      size: 3,
      md5: "",
      chunkCount: 0,
      // The last is not uploaded yet.
      complete: index === 0 ? 0 : 1,
      touchedAt: new Date().toISOString(),
    }));
    await api.database.write(async (tx) => {
      for (let from = 0; from < rows.length; from += 1_000)
        await tx.db
          .insertInto("contents")
          .values(rows.slice(from, from + 1_000))
          .execute();
    });
    await count();
    const after = await figures();
    expect(after['cadastre_stored_contents{kind="plan"}']).toBe(4_099);
    expect(after['cadastre_stored_bytes{kind="plan"}']).toBe(3 * 4_099);
    await api.database.write((tx) => tx.db.deleteFrom("contents").where("kind", "=", "plan").execute());
  });
});
