/** Creates workspaces with a configuration and their runs, and applies run transitions directly. */
import { operatorContext } from "../../src/service.ts";
import { createVault } from "../../src/database/vault.ts";
import { newId } from "../../src/kernel/ids.ts";
import { lockRun } from "../../src/resources/runs/runs/reads.ts";
import { transitionRun } from "../../src/resources/runs/runs/lifecycle.ts";
import type { TransitionInput } from "../../src/resources/runs/runs/rules.ts";
import type { Api, Answer, Caller, Json } from "./api.ts";
import { data, makeWorkspace, resource } from "./builders.ts";

/** Inserts an uploaded configuration version, which becomes the workspace's current one. */
export async function makeConfiguration(api: Api, workspaceId: string, columns: object = {}): Promise<string> {
  const id = newId("configuration-versions");
  const { organizationId } = await api.database.reader.db
    .selectFrom("workspaces")
    .select("organizationId")
    .where("id", "=", workspaceId)
    .executeTakeFirstOrThrow();
  await api.database.write(async (tx) => {
    const last = await tx.db
      .selectFrom("configurationVersions")
      .select((select) => select.fn.max("position").as("position"))
      .where("workspaceId", "=", workspaceId)
      .executeTakeFirst();
    const row = {
      id,
      organizationId,
      workspaceId,
      position: Number(last?.position ?? 0) + 1,
      source: "tfe-api",
      status: "uploaded",
      statusTimestamps: "{}",
      autoQueueRuns: 0,
      speculative: 0,
      provisional: 0,
      error: null,
      errorMessage: null,
      uploadExpiresAt: "2030-01-01T00:00:00.000Z",
      size: 0,
      hasReadme: 0,
      ingressId: null,
      ingress: null,
      createdByKind: null,
      createdById: null,
      createdByName: null,
      createdByTokenId: null,
      createdAt: new Date().toISOString(),
      approvedAt: new Date().toISOString(),
      version: 1,
      ...columns,
    };
    await tx.db.insertInto("configurationVersions").values(row).execute();
    if (row.speculative === 0 && row.status === "uploaded")
      await tx.db
        .updateTable("workspaces")
        .set({ currentConfigurationVersionId: id })
        .where("id", "=", workspaceId)
        .execute();
  });
  return id;
}

export async function makeRunnable(api: Api, organizationName: string, attributes: object = {}): Promise<Json> {
  const workspace = await makeWorkspace(api, organizationName, { "execution-mode": "remote", ...attributes });
  await makeConfiguration(api, workspace.id);
  return workspace;
}

export const runBody = (workspaceId: string, attributes: object = {}, configurationVersionId?: string): object =>
  resource("runs", attributes, {
    workspace: { data: { type: "workspaces", id: workspaceId } },
    ...(configurationVersionId !== undefined && {
      "configuration-version": { data: { type: "configuration-versions", id: configurationVersionId } },
    }),
  });

export const startRun = (caller: Caller, workspaceId: string, attributes: object = {}): Promise<Answer> =>
  caller.post("/runs", runBody(workspaceId, attributes));

export async function makeRun(caller: Caller, workspaceId: string, attributes: object = {}): Promise<Json> {
  return data(await startRun(caller, workspaceId, attributes));
}

export async function showRun(caller: Caller, id: string): Promise<Json> {
  return data(await caller.get(`/runs/${id}`));
}

export async function applyTransition(api: Api, runId: string, transition: TransitionInput): Promise<void> {
  const context = {
    ...operatorContext(api.audited, { organizationCreation: "site-admins" }, "test"),
    vault: createVault(Buffer.alloc(32, 7)),
  };
  await api.audited.write(async (tx) => {
    await transitionRun(tx, context, (await lockRun(tx, runId)) as never, transition as never);
  });
}

const transitionsTo = {
  planning: [{ event: "claim" }],
  planned: [{ event: "claim" }, { event: "phase-finished", hasChanges: true }],
  finished: [{ event: "claim" }, { event: "phase-finished", hasChanges: false }],
  errored: [{ event: "claim" }, { event: "phase-errored" }],
} as const satisfies Record<string, readonly TransitionInput[]>;

export async function advanceRun(api: Api, runId: string, to: keyof typeof transitionsTo): Promise<void> {
  for (const transition of transitionsTo[to]) await applyTransition(api, runId, transition);
}

export async function cancelLongAgo(api: Api, runId: string): Promise<void> {
  await applyTransition(api, runId, { event: "cancel" });
  await passCoolOff(api, runId);
}

export async function passCoolOff(api: Api, runId: string): Promise<void> {
  await api.database.write(async (tx) => {
    const forceCancelAvailableAt = new Date(Date.now() - 1000).toISOString();
    await tx.db.updateTable("runs").set({ forceCancelAvailableAt }).where("id", "=", runId).execute();
  });
}
