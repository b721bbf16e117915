/** Rows of runs as they are stored, for what is about their phases alone: how a run gets there is another subject. */
import { randomUUID } from "node:crypto";
import type { RunPhaseTable, RunTable } from "../../src/database/schema/runs.ts";
import { createVault } from "../../src/database/vault.ts";
import { newId } from "../../src/kernel/ids.ts";
import { now } from "../../src/kernel/time.ts";
import { logUrl } from "../../src/resources/runs/phases/log-urls.ts";
import { nothingFound } from "../../src/resources/runs/assessment-results/rules.ts";
import { insertContents, prepareContent } from "../../src/resources/shared/contents/contents.ts";
import type { Api, Json } from "./api.ts";

/** The one that servers of tests seal with. */
export const testVault = createVault(Buffer.alloc(32, 7));

export interface StoredRun {
  readonly id: string;
  readonly organizationId: string;
  readonly plan: RunPhaseTable;
  readonly apply: RunPhaseTable;
}

/** A run whose plan is being executed. */
export async function storeRun(
  api: Pick<Api, "database">,
  workspace: Json,
  organizationId: string,
  given: Partial<RunTable> = {},
): Promise<StoredRun> {
  const run = { ...runRow(workspace.id, organizationId), ...given };
  const [plan, apply] = (["plan", "apply"] as const).map((kind) => phaseRow(run, kind));
  if (plan === undefined || apply === undefined) throw new Error("a run has two phases");
  await api.database.write(async (tx) => {
    await tx.db.insertInto("runs").values(run).execute();
    await tx.db.insertInto("runPhases").values([plan, apply]).execute();
  });
  return { id: run.id, organizationId, plan, apply };
}

/** What an engine said about a run, as an agent brings it. */
export async function storeOutput(
  { database }: Pick<Api, "database">,
  { id, organizationId }: StoredRun,
  kind: string,
  text: string,
): Promise<void> {
  const owner = { column: "runId", id } as const;
  const content = await prepareContent(testVault, { owner, kind }, Buffer.from(text));
  await database.write((tx) => insertContents(tx, { organizationId }, [content]));
}

/** A run whose plan has ended, with its outputs. */
export async function finishedPlan(
  api: Pick<Api, "database">,
  workspace: Json,
  organizationId: string,
  outputs: { readonly plan?: string; readonly schemas?: string } = {},
): Promise<StoredRun> {
  const run = await storeRun(api, workspace, organizationId);
  await storeOutput(api, run, "plan-json", outputs.plan ?? '{"format_version":"1.2"}');
  await storeOutput(api, run, "provider-schemas", outputs.schemas ?? '{"format_version":"1.0"}');
  await endPlan(api, run);
  return run;
}

export const endPlan = ({ database }: Pick<Api, "database">, { plan }: StoredRun, status = "finished") =>
  database.write((tx) => tx.db.updateTable("runPhases").set({ status }).where("id", "=", plan.id).execute());

/** An assessment that has ended, of a run that is there. */
export async function storeAssessment(
  { database }: Pick<Api, "database">,
  place: { readonly organizationId: string; readonly workspaceId: string; readonly runId: string },
): Promise<string> {
  const id = newId("assessment-results");
  const row = {
    id,
    ...place,
    finished: 1,
    succeeded: 1,
    errorMsg: null,
    ...nothingFound,
    createdAt: now(),
    version: 1,
  };
  await database.write((tx) => tx.db.insertInto("assessmentResults").values(row).execute());
  return id;
}

/** The log of a phase, as the documents of plans and applies show its address. */
export const logUrlOf = ({ url }: Pick<Api, "url">, phaseId: string): string =>
  logUrl({ vault: testVault, options: { publicUrl: url } as never }, phaseId);

function runRow(workspaceId: string, organizationId: string): RunTable {
  return {
    id: newId("runs"),
    organizationId,
    workspaceId,
    // No run of the service comes so late.
    position: 1_000_000 + Number.parseInt(randomUUID().slice(0, 8), 16),
    status: "planning",
    statusTimestamps: "{}",
    operation: "plan_only",
    message: "",
    source: "tfe-api",
    triggerReason: "manual",
    isDestroy: 0,
    refresh: 1,
    refreshOnly: 0,
    planOnly: 1,
    savePlan: 0,
    autoApply: 0,
    allowEmptyApply: 0,
    allowConfigGeneration: 0,
    debuggingMode: 0,
    structured: 1,
    targetAddrs: null,
    replaceAddrs: null,
    policyPaths: null,
    invokeActionAddrs: null,
    variables: null,
    pinnedVariables: null,
    engine: "terraform",
    engineVersion: "1.5.7",
    executionMode: "remote",
    agentPoolId: null,
    configurationVersionId: null,
    inputStateVersionId: null,
    planId: newId("plans"),
    applyId: newId("applies"),
    hasChanges: 0,
    canceledAt: null,
    forceCancelAvailableAt: null,
    forceCanceledAt: null,
    confirmedById: null,
    createdByKind: null,
    createdById: null,
    createdByName: null,
    causedByRunId: null,
    chainLength: 0,
    commitSha: null,
    createdAt: now(),
    endedAt: null,
    version: 1,
  };
}

function phaseRow(run: RunTable, kind: "plan" | "apply"): RunPhaseTable {
  return {
    id: kind === "plan" ? run.planId : run.applyId,
    organizationId: run.organizationId,
    workspaceId: run.workspaceId,
    runId: run.id,
    kind,
    status: kind === "plan" ? "running" : "pending",
    statusTimestamps: "{}",
    hasChanges: 0,
    generatedConfiguration: 0,
    resourceAdditions: 0,
    resourceChanges: 0,
    resourceDestructions: 0,
    resourceImports: 0,
    actionInvocations: 0,
    errorMessage: null,
    logBytes: 0,
    logEnded: 0,
    pool: "site",
    engine: run.engine,
    engineVersion: run.engineVersion,
    rank: 2,
    queuedMs: null,
    attempt: kind === "plan" ? 1 : 0,
    agentId: null,
    agentName: null,
    agentPoolName: null,
    claimedMs: null,
    heardMs: null,
    engineStarted: 0,
    signal: null,
    tokenHash: null,
    createdAt: now(),
    version: 1,
  };
}
