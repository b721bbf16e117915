/** Inserts runs and their phases directly, for tests that don't depend on how a run gets there. */
import { randomUUID } from "node:crypto";
import type { RunPhaseTable, RunTable } from "../../src/database/schema/runs.ts";
import { createVault } from "../../src/database/vault.ts";
import { createdColumns } from "../../src/jsonapi/columns.ts";
import { newId, tokenHash } from "../../src/kernel/ids.ts";
import { now } from "../../src/kernel/time.ts";
import { logUrl } from "../../src/resources/runs/phases/log-urls.ts";
import { noFindings } from "../../src/resources/runs/assessment-results/rules.ts";
import { newPhase } from "../../src/resources/runs/phases/rules.ts";
import { runs } from "../../src/resources/runs/runs/definition.ts";
import { initialRunColumns } from "../../src/resources/runs/runs/rules.ts";
import { insertContents, prepareContent } from "../../src/resources/shared/contents/contents.ts";
import type { Api, Json } from "./api.ts";

/** The key of test servers. */
export const testVault = createVault(Buffer.alloc(32, 7));

export interface StoredRun {
  readonly id: string;
  readonly organizationId: string;
  readonly plan: RunPhaseTable;
  readonly apply: RunPhaseTable;
}

export async function storeRun(
  api: Pick<Api, "database">,
  workspace: Json,
  organizationId: string,
  columns: Partial<RunTable> = {},
): Promise<StoredRun> {
  const run = { ...runRow(workspace.id, organizationId), ...columns };
  const [plan, apply] = (["plan", "apply"] as const).map((kind) => phaseRow(run, kind));
  if (plan === undefined || apply === undefined) throw new Error("a run has two phases");
  await api.database.write(async (tx) => {
    await tx.db.insertInto("runs").values(run).execute();
    await tx.db.insertInto("runPhases").values([plan, apply]).execute();
  });
  return { id: run.id, organizationId, plan, apply };
}

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

export async function storeFinishedPlan(
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
  database.write((tx) =>
    tx.db.updateTable("runPhases").set({ status, logEnded: 1 }).where("id", "=", plan.id).execute(),
  );

export async function storeEndedRun(
  api: Pick<Api, "database">,
  workspace: Json,
  organizationId: string,
): Promise<StoredRun> {
  const run = await storeFinishedPlan(api, workspace, organizationId);
  await storeOutput(api, run, "errored-state", "{}");
  await api.database.write(async (tx) => {
    const ended = { status: "planned_and_finished", endedAt: now() };
    await tx.db.updateTable("runs").set(ended).where("id", "=", run.id).execute();
    const unreachable = { status: "unreachable", logEnded: 1 };
    await tx.db.updateTable("runPhases").set(unreachable).where("id", "=", run.apply.id).execute();
  });
  return run;
}

export async function storeAssessment(
  { database }: Pick<Api, "database">,
  target: { readonly organizationId: string; readonly workspaceId: string; readonly runId: string },
): Promise<string> {
  const id = newId("assessment-results");
  const row = {
    id,
    ...target,
    finished: 1,
    succeeded: 1,
    errorMsg: null,
    ...noFindings,
    createdAt: now(),
    version: 1,
  };
  await database.write((tx) => tx.db.insertInto("assessmentResults").values(row).execute());
  return id;
}

export async function logUrlOf({ url, admin, database }: Api, phaseId: string): Promise<string> {
  const { id: tokenId } = await database.reader.db
    .selectFrom("tokens")
    .select("id")
    .where("hash", "=", tokenHash(admin.token ?? ""))
    .executeTakeFirstOrThrow();
  return logUrl({ actor: { tokenId } as never, vault: testVault, options: { publicUrl: url } as never }, phaseId);
}

function runRow(workspaceId: string, organizationId: string): RunTable {
  return {
    ...initialRunColumns,
    ...createdColumns(runs, { message: "" }),
    id: newId("runs"),
    organizationId,
    workspaceId,
    // Beyond the positions of all other runs.
    position: 1_000_000 + Number.parseInt(randomUUID().slice(0, 8), 16),
    status: "planning",
    statusTimestamps: "{}",
    operation: "plan_only",
    source: "tfe-api",
    triggerReason: "manual",
    planOnly: 1,
    autoApply: 0,
    creatorMayApply: 0,
    structured: 1,
    variables: null,
    engine: "terraform",
    engineVersion: "1.5.7",
    executionMode: "remote",
    agentPoolId: null,
    configurationVersionId: null,
    planId: newId("plans"),
    applyId: newId("applies"),
    createdByKind: null,
    createdById: null,
    createdByName: null,
    causedByRunId: null,
    chainLength: 0,
    commitSha: null,
    createdAt: now(),
  };
}

function phaseRow(run: RunTable, kind: "plan" | "apply"): RunPhaseTable {
  const claimed = kind === "plan" && { status: "running", attempt: 1 };
  return { ...newPhase(kind, run), statusTimestamps: "{}", ...claimed };
}
