/** Imports the finished runs of a workspace as history, without logs. It must not execute anything. */
import { AppError } from "../../kernel/errors.ts";
import { counted } from "../../kernel/text.ts";
import { importRuns, type HistoricPhase, type HistoricRun } from "../../resources/runs/runs/history.ts";
import { isFinal } from "../../resources/runs/runs/state-machine.ts";
import { readLatestRun } from "../store.ts";
import {
  flagOf,
  isObject,
  MissingResource,
  numberOf,
  objectOf,
  relatedId,
  textOf,
  type WireResource,
} from "../wire.ts";
import type { Importer } from "./importer.ts";
import { type WorkspaceHistory, timestampOf } from "./states.ts";

const kind = "runs";
const runsPerBatch = 50;

interface SourceRun {
  readonly run: WireResource;
  readonly included: readonly WireResource[];
}

export async function importRunHistory(importer: Importer, history: WorkspaceHistory): Promise<void> {
  const { label } = history;
  const pending: SourceRun[] = [];
  for (const read of await listSourceRuns(importer, history)) {
    if (importer.localIdOf(kind, read.run.id) !== undefined) importer.report.count(kind, "existing");
    else if (isFinal(statusOf(read.run))) pending.push(read);
    else
      importer.report.skip(
        kind,
        `${label}, ${read.run.id}`,
        `its status at the source is ${textOf(read.run, "status") ?? "unknown"}; import again once it has finished`,
      );
  }
  if (importer.dry) importer.report.count(kind, "imported", pending.length);
  else await importInOrder(importer, history, pending);
}

async function importInOrder(
  importer: Importer,
  history: WorkspaceHistory,
  pending: readonly SourceRun[],
): Promise<void> {
  const { localId, label } = history;
  if (pending.length === 0) return;
  // Not necessarily the newest: a run that finished late was imported late.
  const latest = await readLatestRun(importer.request.context.database.reader, localId);
  let after = latest !== undefined && importer.wasImported(kind, latest) ? latest : undefined;
  for (let start = 0; start < pending.length; start += runsPerBatch) {
    importer.request.signal?.throwIfAborted();
    const part = pending.slice(start, start + runsPerBatch);
    const historic = part.map((read) => historicOf(read, history));
    try {
      const ids = await importRuns(importer.request.context, localId, after, historic, (tx, created) =>
        importer.link(
          part.map(({ run }, index) => ({ kind, sourceId: run.id, ourId: created[index] ?? "" })),
          tx,
        ),
      );
      after = ids.at(-1) ?? after;
      importer.report.count(kind, "imported", part.length);
    } catch (error) {
      if (!(error instanceof AppError) || error.code !== "conflict") throw error;
      importer.report.count(kind, "skipped", pending.length - start);
      importer.report.gap(kind, `${label}, ${counted(pending.length - start, "run")}`, error.message);
      return;
    }
  }
}

async function listSourceRuns(importer: Importer, { workspace, label }: WorkspaceHistory): Promise<SourceRun[]> {
  const path = `/workspaces/${workspace.id}/runs`;
  for (const query of ["?include=plan,apply,created_by", ""]) {
    try {
      const runs: SourceRun[] = [];
      for await (const { resources, included } of importer.source.pages(path + query))
        for (const run of resources) runs.push({ run, included: includedFor(run, included) });
      return runs.toReversed();
    } catch (error) {
      if (!(error instanceof MissingResource)) throw error;
      if (query === "") importer.report.gap(kind, label, error.message);
    }
  }
  return [];
}

function includedFor(run: WireResource, included: readonly WireResource[]): WireResource[] {
  const ids = new Set(["plan", "apply", "created-by"].map((name) => relatedId(run, name)));
  return included.filter(({ id }) => ids.has(id));
}

/** The source can have final statuses that Cadastre doesn't have. */
const equivalentStatuses: Readonly<Record<string, string>> = {
  force_canceled: "canceled",
  policy_soft_failed: "errored",
};

const statusOf = (run: WireResource): string => {
  const status = textOf(run, "status") ?? "";
  return equivalentStatuses[status] ?? status;
};

function historicOf({ run, included }: SourceRun, { people }: WorkspaceHistory): HistoricRun {
  const status = statusOf(run) as HistoricRun["status"];
  const timestamps = stampsOf(run);
  const createdAt = timestampOf(textOf(run, "created-at"));
  const creatorId = relatedId(run, "created-by");
  const user = included.find(({ id }) => id === creatorId);
  const phases = phasesAfter(status, "planned-at" in timestamps || "planned-and-finished-at" in timestamps);
  const phase = (name: "plan" | "apply") =>
    phaseOf(
      included.find(({ id }) => id === relatedId(run, name)),
      phases[name],
    );
  return {
    status,
    timestamps,
    createdAt,
    endedAt: timestampOf(Object.values(timestamps).toSorted().at(-1) ?? createdAt),
    message: (textOf(run, "message") ?? "").slice(0, 4096),
    source: textOf(run, "source") ?? "tfe-api",
    triggerReason: textOf(run, "trigger-reason") ?? "manual",
    isDestroy: flagOf(run, "is-destroy"),
    refresh: run.attributes["refresh"] !== false,
    refreshOnly: flagOf(run, "refresh-only"),
    planOnly: flagOf(run, "plan-only"),
    autoApply: flagOf(run, "auto-apply"),
    allowEmptyApply: flagOf(run, "allow-empty-apply"),
    hasChanges: flagOf(run, "has-changes"),
    engineVersion: textOf(run, "terraform-version") ?? textOf(run, "engine-version") ?? null,
    creator: {
      userId: people.userId(creatorId),
      name: people.name(creatorId) ?? (user && textOf(user, "username")) ?? null,
    },
    plan: phase("plan"),
    apply: phase("apply"),
  };
}

const stampsOf = (thing: WireResource): Record<string, string> =>
  Object.fromEntries(
    Object.entries(objectOf(thing, "status-timestamps")).filter(
      (entry): entry is [string, string] => typeof entry[1] === "string",
    ),
  );

type PhaseEnd = HistoricPhase["status"];

/** For sources that don't show the phases. */
function phasesAfter(status: HistoricRun["status"], wasPlanned: boolean): { plan: PhaseEnd; apply: PhaseEnd } {
  if (status === "applied") return { plan: "finished", apply: "finished" };
  if (status === "planned_and_finished") return { plan: "finished", apply: "unreachable" };
  if (status === "discarded") return { plan: wasPlanned ? "finished" : "unreachable", apply: "unreachable" };
  return wasPlanned ? { plan: "finished", apply: status } : { plan: status, apply: "unreachable" };
}

const phaseEnds: readonly string[] = ["finished", "errored", "canceled", "unreachable"];

function phaseOf(shown: WireResource | undefined, otherwise: PhaseEnd): HistoricPhase {
  const phase = shown ?? { attributes: {}, id: "", type: "", relationships: {} };
  const status = textOf(phase, "status") ?? "";
  return {
    status: phaseEnds.includes(status) ? (status as PhaseEnd) : otherwise,
    timestamps: isObject(phase.attributes["status-timestamps"]) ? stampsOf(phase) : {},
    additions: numberOf(phase, "resource-additions"),
    changes: numberOf(phase, "resource-changes"),
    destructions: numberOf(phase, "resource-destructions"),
    imports: numberOf(phase, "resource-imports"),
    invocations: numberOf(phase, "action-invocations"),
  };
}
