/** Many agents at the same time: each job goes to one agent, in order, and signals go to the right one. */
import { setTimeout as pause } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { type Json, useApi } from "../../../support/api.ts";
import { makeOrganization } from "../../../support/builders.ts";
import { makeAgent, makeSitePool } from "../../../support/agent-callers.ts";
import { makeRun, makeRunnable } from "../../../support/runs.ts";

const api = useApi();
const [workspaceCount, runsEach, claimers] = [20, 10, 20];

describe("20 claimers of 200 queued jobs", () => {
  it("get each job exactly once, in order", async () => {
    const org = await makeOrganization(api);
    const pool = await makeSitePool(api);
    const runIds: string[] = [];
    for (let count = 0; count < workspaceCount; count += 1) {
      const { id } = await makeRunnable(api, org.name, { "terraform-version": "1.9.5" });
      for (let each = 0; each < runsEach; each += 1)
        runIds.push((await makeRun(org.owner, id, { "plan-only": each > 0 })).id);
    }
    const queued = await api.database.reader.db
      .selectFrom("runPhases")
      .select(["runId", "rank", "queuedMs", "id"])
      .where("status", "=", "queued")
      .orderBy("rank")
      .orderBy("queuedMs")
      .orderBy("id")
      .execute();
    expect(queued.length).toBe(workspaceCount * runsEach);
    const place = new Map(queued.map(({ runId }, at) => [runId, at]));
    const claimed: string[][] = await Promise.all(
      Array.from({ length: claimers }, async () => {
        const agent = await makeAgent(api, pool);
        const own: string[] = [];
        for (let misses = 0; misses < 3;) {
          const answer = await agent.claim();
          if (answer.status === 200) own.push((answer.body as Json).data.attributes["run-id"]);
          else misses += 1;
        }
        return own;
      }),
    );
    expect(claimed.flat().toSorted()).toEqual(runIds.toSorted());
    // Applies and plans that can be applied come before plan-only runs; a locked workspace is skipped.
    const ranks = claimed.map((own) => own.map((id) => queued[place.get(id) ?? 0]?.rank));
    for (const own of ranks) expect(own).toEqual(own.toSorted());
    if (api.database.reader.dialect.name === "sqlite")
      for (const own of claimed) {
        const places = own.map((id) => place.get(id) ?? -1);
        expect(places).toEqual(places.toSorted((a, b) => a - b));
      }
  });
});

describe("heartbeats that arrive while others wait", () => {
  it("get no signal, as long as nobody cancels", async () => {
    const org = await makeOrganization(api);
    const pool = await makeSitePool(api);
    const jobs: { agent: Awaited<ReturnType<typeof makeAgent>>; path: string; attempt: number }[] = [];
    for (let count = 0; count < 3; count += 1) {
      const { id } = await makeRunnable(api, org.name, { "terraform-version": "1.9.5" });
      await makeRun(org.owner, id);
      const agent = await makeAgent(api, pool);
      const { attributes, ...job } = (await agent.claim()).body.data;
      jobs.push({ agent, path: `/agent-jobs/${job.id}/actions/heartbeat`, attempt: attributes.attempt });
    }
    // Spread over several polls, so that some arrive during one.
    const beats = Array.from({ length: 90 }, async (_, beat) => {
      const { agent, path, attempt } = jobs[beat % jobs.length]!;
      await pause(beat * 2);
      return (await agent.post(path, { attempt, wait: 1 })).body;
    });
    expect(new Set((await Promise.all(beats)).map(({ signal }) => signal))).toEqual(new Set([null]));
  });
});
