/** Metrics about runs and agents. */
import { expect, it } from "vitest";
import { useApi } from "../support/api.ts";
import { makeOrganization } from "../support/builders.ts";
import { makeAgent, makeSitePool } from "../support/agent-callers.ts";
import { makeRun, makeRunnable } from "../support/runs.ts";

const api = useApi();

async function figures(): Promise<Record<string, number>> {
  const answer = await fetch(`${api.url}/metrics`, { headers: { authorization: `Bearer ${api.admin.token}` } });
  const lines = (await answer.text()).split("\n");
  const ours = lines.filter((line) => /^cadastre_(phase|agent)/.test(line));
  return Object.fromEntries(ours.map((line) => [line.split(" ")[0], Number(line.split(" ")[1])]));
}

const plansFailed = 'cadastre_phase_seconds_count{phase="plan",result="errored"}';

it("shows queued and running phases with their ages, and agents by status", async () => {
  const org = await makeOrganization(api);
  expect(await figures()).toMatchObject({
    'cadastre_phases_queued{phase="plan"}': 0,
    'cadastre_phases_running{phase="apply"}': 0,
  });
  const agent = await makeAgent(api, await makeSitePool(api));
  const gone = await makeAgent(api, await makeSitePool(api));
  await api.database.write((tx) =>
    tx.db.updateTable("agents").set({ lastPingMs: 0 }).where("id", "=", gone.id).execute(),
  );
  for (let count = 0; count < 3; count += 1) {
    const { id } = await makeRunnable(api, org.name, { "terraform-version": "1.9.5" });
    await makeRun(org.owner, id);
  }
  await api.database.write((tx) =>
    tx.db
      .updateTable("runPhases")
      .set((row) => ({ queuedMs: row("queuedMs", "-", 60_000) }))
      .where("status", "=", "queued")
      .execute(),
  );
  const before = (await figures())[plansFailed] ?? 0;
  const ended = await agent.job();
  await ended.act("finish", { result: "errored" });
  await agent.job();
  const seen = await figures();
  expect(seen).toMatchObject({
    'cadastre_phases_queued{phase="plan"}': 1,
    'cadastre_phases_queued{phase="apply"}': 0,
    'cadastre_phases_running{phase="plan"}': 1,
    'cadastre_agents{status="idle"}': 1,
    'cadastre_agents{status="unknown"}': 1,
  });
  // A counter of the process, in which other tests may have ended phases.
  expect((seen[plansFailed] ?? 0) - before).toBe(1);
  expect(seen['cadastre_phase_oldest_wait_seconds{phase="plan"}']).toBeGreaterThanOrEqual(60);
});
