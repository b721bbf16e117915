/** Agents and runs as callers: pools with a token, and phases that an agent executes. */
import { newId, newToken, tokenHash } from "../../src/kernel/ids.ts";
import type { Api, Caller } from "./api.ts";
import { data, type Org, resource, unique } from "./builders.ts";

export interface Pool {
  readonly id: string;
  readonly tokenId: string;
  readonly agent: Caller;
}

/** A pool of an organization, and its agents' token. */
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

/**
 * A run whose plan is being executed, put into the register as it is then, and the token of it. `holding`: it has the workspace's
 * lock.
 */
export async function makeRunCaller(
  api: Api,
  workspace: { readonly id: string; readonly organizationId: string },
  { holding = false }: { readonly holding?: boolean } = {},
): Promise<RunCaller> {
  const [runId, phaseId, applyId, secret] = [newId("runs"), newId("plans"), newId("applies"), newToken()];
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
        status: "planning",
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
        planId: phaseId,
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
        kind: "plan",
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
