/** One agent for each job, started by the numbers of the queue: every run is executed once and in order, and no agent is left. */
import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { afterAll, expect, test } from "vitest";
import { dropRegistersAfterwards, newRegister } from "../cli/support.ts";
import { data } from "../support/builders.ts";
import type { Engine } from "../support/database.ts";
import { deep } from "../support/depth.ts";
import { addFakeEngine } from "../support/engines.ts";
import { Site } from "../support/site.ts";
import { scaled } from "../support/waiting.ts";
import { openFolder } from "./support/agent.ts";

dropRegistersAfterwards();
const engines = openFolder();
addFakeEngine(engines);
const folders = [engines];
afterAll(() => folders.forEach((folder) => rmSync(folder, { recursive: true, force: true })));

const [workspaceCount, runsEach, agentsMax] = [deep(2, 20), deep(3, 10), deep(3, 8)];
/** Others find no changes and end with their plan. */
const runsPerChange = deep(2, 5);

interface QueuedRun {
  readonly id: string;
  readonly workspaceId: string;
  readonly isChange: boolean;
}

async function queueRuns(site: Site, ledger: string): Promise<QueuedRun[]> {
  const runs: QueuedRun[] = [];
  for (let number = 0; number < workspaceCount; number += 1) {
    const workspaceId = await site.workspace(`w-${number}`);
    for (let each = 0; each < runsEach; each += 1) {
      const settings = { resources: { step: String(Math.floor(each / runsPerChange)) }, ledger, elsewhere: true };
      const configuration = await site.configuration(workspaceId, { "stand-in.json": JSON.stringify(settings) });
      const id = await site.run(workspaceId, configuration);
      runs.push({ id, workspaceId, isChange: each % runsPerChange === 0 });
    }
  }
  return runs;
}

/** Rarely, so that the machine is there for the agents. */
async function waitForAgents(site: Site, last: readonly string[]): Promise<void> {
  const isActive = async (id: string) => !/applied|finished|errored|canceled/.test(await site.statusOf(id));
  for (const id of last) while (await isActive(id)) await pause(500);
  while (site.scheduler.pids.length > 0) await pause(100);
}

/** With the reason of an errored run. */
async function outcomeOf(site: Site, runId: string): Promise<string> {
  const status = await site.statusOf(runId);
  if (status !== "errored") return status;
  const phases = await Promise.all(["plan", "apply"].map((phase) => site.admin.get(`/runs/${runId}/${phase}`)));
  return `errored: ${phases.map((phase) => data(phase).attributes["error-message"]).join(" ")}`;
}

const startedAt = async (site: Site, runId: string): Promise<string> =>
  data(await site.admin.get(`/runs/${runId}/plan`)).attributes["status-timestamps"]["started-at"];

test.each<Engine>(["sqlite", "postgres"])("on %s", { timeout: scaled(1_800_000) }, async (engine) => {
  const folder = openFolder();
  folders.push(folder);
  const register = await newRegister(engine);
  const site = await Site.open({ register, folder, engines, slots: agentsMax, executes: "scheduler" });
  try {
    const ledger = join(folder, "ledger");
    const unavailable = await site.workspace("unavailable", { "terraform-version": "1.9.9" });
    const left = await site.run(unavailable, await site.configuration(unavailable, { "stand-in.json": "{}" }));
    const runs = await queueRuns(site, ledger);
    const workspaces = [...new Set(runs.map((run) => run.workspaceId))];
    await waitForAgents(
      site,
      workspaces.map((id) => runs.findLast((run) => run.workspaceId === id)!.id),
    );
    for (const { id, isChange } of runs)
      expect(await outcomeOf(site, id)).toBe(isChange ? "applied" : "planned_and_finished");
    const entries = readFileSync(ledger, "utf8").trim().split("\n");
    const jobs = [...site.output.matchAll(/job started run=(\S+) phase=(\S+)/g)].map(
      ([, id, phase]) => `${id} ${phase}`,
    );
    for (const workspaceId of workspaces) {
      const own = runs.filter((run) => run.workspaceId === workspaceId);
      const applied = own.filter(({ isChange }) => isChange).map(({ id }) => id);
      // Each once, and in the order of their creation.
      expect(entries.filter((entry) => applied.some((id) => entry === `${id} begins`))).toEqual(
        applied.map((id) => `${id} begins`),
      );
      expect((await site.statesOf(workspaceId)).map(({ runId }) => runId)).toEqual(applied);
      const plannedAt = await Promise.all(own.map(({ id }) => startedAt(site, id)));
      expect(plannedAt).toEqual(plannedAt.toSorted());
      expect(await site.isLocked(workspaceId)).toBe(false);
    }
    const expected = runs.flatMap(({ id, isChange }) => (isChange ? [`${id} plan`, `${id} apply`] : [`${id} plan`]));
    expect(jobs.toSorted()).toEqual(expected.toSorted());
    // A job that no agent can execute starts none.
    expect(await site.statusOf(left)).toBe("plan_queued");
    const queue = data(await site.admin.get(`/admin/agent-pools/${site.pool}/queue`));
    expect(queue.attributes).toEqual({ waiting: 0, running: 0 });
    expect(data(await site.admin.get(`/admin/agent-pools/${site.pool}/agents`))).toEqual([]);
    const { started, exitCodes } = site.scheduler;
    expect(exitCodes).toEqual(Array.from({ length: started }, () => 0));
    expect(started).toBeLessThanOrEqual(2 * expected.length + agentsMax);
  } finally {
    await site.close();
  }
});
