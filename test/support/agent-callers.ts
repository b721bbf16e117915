/** Agents and runs as callers: agent pools with a token, and phases in execution. */
import { newId, newToken, tokenHash } from "../../src/kernel/ids.ts";
import type { Answer, Api, Caller, Json } from "./api.ts";
import { data, type Org, resource, unique } from "./builders.ts";

export interface Pool {
  readonly id: string;
  readonly tokenId: string;
  readonly agent: Caller;
}

export async function makePool(api: Api, org: Pick<Org, "name" | "owner">, attributes: object = {}): Promise<Pool> {
  const body = resource("agent-pools", { name: unique("pool"), ...attributes });
  const { id } = data(await org.owner.post(`/organizations/${org.name}/agent-pools`, body));
  const token = data(
    await org.owner.post(
      `/agent-pools/${id}/authentication-tokens`,
      resource("authentication-tokens", { description: "agents" }),
    ),
  );
  return { id, tokenId: token.id, agent: api.as(token.attributes.token) };
}

export interface RunCaller extends Caller {
  readonly runId: string;
  readonly phaseId: string;
}

/** Inserts a run with a phase in execution. With `holding` it holds the workspace's lock and applies. */
export async function makeRunCaller(
  api: Api,
  workspace: { readonly id: string; readonly organizationId: string },
  { holding = false, phase = holding ? "apply" : "plan" }: { holding?: boolean; phase?: "plan" | "apply" } = {},
): Promise<RunCaller> {
  const [runId, planId, applyId, secret] = [newId("runs"), newId("plans"), newId("applies"), newToken()];
  const phaseId = phase === "apply" ? applyId : planId;
  const { organizationId, id: workspaceId } = workspace;
  const createdAt = new Date().toISOString();
  await api.database.write(async (tx) => {
    const { count } = await tx.db
      .selectFrom("runs")
      .select((select) => select.fn.countAll<number>().as("count"))
      .where("workspaceId", "=", workspaceId)
      .executeTakeFirstOrThrow();
    await tx.db
      .insertInto("runs")
      .values({
        id: runId,
        organizationId,
        workspaceId,
        position: Number(count) + 1,
        status: phase === "apply" ? "applying" : "planning",
        statusTimestamps: "{}",
        operation: "plan_and_apply",
        message: "a run",
        source: "tfe-api",
        triggerReason: "manual",
        isDestroy: 0,
        refresh: 1,
        refreshOnly: 0,
        planOnly: holding ? 0 : 1,
        savePlan: 0,
        autoApply: 0,
        allowEmptyApply: 0,
        allowConfigGeneration: 0,
        debuggingMode: 0,
        structured: 1,
        engine: "terraform",
        engineVersion: "1.5.7",
        executionMode: "remote",
        planId,
        applyId,
        hasChanges: 0,
        chainLength: 0,
        createdAt,
        version: 1,
      } as never)
      .execute();
    await tx.db
      .insertInto("runPhases")
      .values({
        id: phaseId,
        organizationId,
        workspaceId,
        runId,
        kind: phase,
        status: "running",
        statusTimestamps: "{}",
        hasChanges: 0,
        generatedConfiguration: 0,
        resourceAdditions: 0,
        resourceChanges: 0,
        resourceDestructions: 0,
        resourceImports: 0,
        actionInvocations: 0,
        logBytes: 0,
        logEnded: 0,
        pool: "site",
        engine: "terraform",
        engineVersion: "1.5.7",
        rank: 1,
        attempt: 1,
        engineStarted: 1,
        tokenHash: tokenHash(secret),
        createdAt,
        version: 1,
      } as never)
      .execute();
    if (holding)
      await tx.db
        .updateTable("workspaces")
        .set({ lockedByType: "runs", lockedById: runId, lockedByName: runId })
        .where("id", "=", workspaceId)
        .execute();
  });
  return { ...api.as(secret), runId, phaseId };
}

export async function makeSitePool(api: Api): Promise<Pool> {
  const { id } = data(await api.admin.post("/admin/agent-pools", resource("agent-pools", { name: unique("pool") })));
  const token = data(
    await api.admin.post(
      `/admin/agent-pools/${id}/authentication-tokens`,
      resource("authentication-tokens", { description: "agents" }),
    ),
  );
  return { id, tokenId: token.id, agent: api.as(token.attributes.token) };
}

export const engines = { terraform: ["1.5.7", "1.9.5", "1.15.5"], tofu: ["1.10.6"] };

export interface Agent extends Caller {
  readonly id: string;
  claim(wait?: number, has?: object): Promise<Answer>;
  job(): Promise<Job>;
}

export interface Job {
  readonly id: string;
  readonly attempt: number;
  readonly attributes: Json;
  act(name: string, body?: object): Promise<Answer>;
  put(path: string, query: string, bytes: string | Uint8Array): Promise<Answer>;
  get(path: string): Promise<Answer>;
  readonly run: Caller;
}

export async function makeAgent(api: Api, pool: Pool, name = unique("agent")): Promise<Agent> {
  const registered = data(
    await pool.agent.post("/agents", resource("agents", { name, version: "0.0.0", engines, sandbox: "none" })),
  );
  const claim = (wait = 0, has: object = engines) =>
    pool.agent.post(`/agents/${registered.id}/actions/claim`, { wait, engines: has });
  return {
    ...pool.agent,
    id: registered.id,
    claim,
    job: async () => {
      const answer = await claim();
      if (answer.status !== 200) throw new Error(`no job: ${answer.status} ${JSON.stringify(answer.body)}`);
      return jobOf(api, pool.agent, answer.body.data);
    },
  };
}

export function jobOf(api: Api, caller: Caller, { id, attributes }: Json): Job {
  const { attempt } = attributes;
  return {
    id,
    attempt,
    attributes,
    run: api.as(attributes.token),
    act: (name, body = {}) => caller.post(`/agent-jobs/${id}/actions/${name}`, { attempt, ...body }),
    put: (path, query, bytes) =>
      caller.send("PUT", `/agent-jobs/${id}/${path}?attempt=${attempt}${query}`, Buffer.from(bytes).toString(), {
        "content-type": "application/octet-stream",
      }),
    get: (path) => caller.get(`/agent-jobs/${id}/${path}?attempt=${attempt}`),
  };
}
