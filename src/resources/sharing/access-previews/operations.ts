/** The operation of access previews: parse → apply in one transaction → compare → report, and roll back or commit. */
import type { Tx } from "../../../database/database.ts";
import type { MountedResource } from "../../../jsonapi/define.ts";
import { AppError, invalid } from "../../../kernel/errors.ts";
import { newId } from "../../../kernel/ids.ts";
import type { OrganizationView } from "../../identity/organizations/definition.ts";
import { loadOrganization } from "../../identity/organizations/reads.ts";
import { type Context, implement } from "../../shared/context.ts";
import { atChange, applyChanges, type ChangeResult, refuseUnseen } from "./apply-changes.ts";
import { type ChangeParser, type ParsedChange, type AccessChangeRequest } from "./changes.ts";
import { accessPreviews, type PreviewView, shownRule } from "./definition.ts";
import { describeEffects } from "./described-effects.ts";
import { finishEvaluation, startEvaluation } from "./evaluation.ts";
import type { SnapshotComparison } from "./snapshots.ts";
import { accessVersionOf } from "./reads.ts";

export function accessPreviewResource(parseChanges: ChangeParser): MountedResource<Context> {
  return implement(accessPreviews, {
    previewAccess: ({ context, params, body }) =>
      preview(parseChanges, context, params.organizationName, body.data.attributes),
  });
}

interface PreviewRequest {
  readonly changes: readonly AccessChangeRequest[];
  readonly "access-version"?: string | null | undefined;
  readonly apply?: boolean | undefined;
}

interface PreviewResult {
  readonly organization: OrganizationView;
  readonly accessVersion: string;
  readonly results: readonly ChangeResult[];
  readonly comparison: SnapshotComparison;
}

/** Throws `precondition-failed` if access has changed since the given version; when applying, also the first refusal. */
async function preview(
  parseChanges: ChangeParser,
  context: Context,
  organizationName: string,
  request: PreviewRequest,
) {
  const { apply = false, "access-version": expected } = request;
  const changes = parseChanges(request.changes);
  const jobsToWake = new Set<string>();
  const inside: Context = { ...context, wake: (job) => void jobsToWake.add(job) };
  const work = (tx: Tx) => run(tx, inside, organizationName, changes, { apply, expected: expected ?? undefined });
  const { database } = context;
  const result = apply ? await database.write(work) : await database.runAndRollBack(work);
  if (apply) for (const job of jobsToWake) context.wake?.(job);
  return { view: await viewOf(context, request.changes, result, apply) };
}

/** Locks the organization against all other writes. */
async function run(
  tx: Tx,
  context: Context,
  organizationName: string,
  changes: readonly ParsedChange[],
  { apply, expected }: { readonly apply: boolean; readonly expected: string | undefined },
): Promise<PreviewResult> {
  const organization = await loadOrganization(tx, context, organizationName, "removal");
  const accessVersion = await accessVersionOf(tx, organization.id);
  if (expected !== undefined && expected !== accessVersion) throw changedMeanwhile();
  const started = await startEvaluation(tx, context, organization, changes);
  const { missing, canRead } = started;
  const { results, faults } = await applyChanges(tx, context, changes, missing, canRead);
  const refuseUnseenFirst = () => refuseUnseen(tx, context, changes, results, missing, canRead);
  // Before the other faults, which would reveal what exists.
  if (apply || faults.length > 0) await refuseUnseenFirst();
  if (faults.length > 0) throw invalid([...faults]);
  if (apply) throwFirstRefusal(results);
  const { comparison } = await finishEvaluation(tx, context, started);
  if (!apply) await refuseUnseenFirst();
  return { organization, accessVersion, results, comparison };
}

const changedMeanwhile = (): AppError =>
  new AppError(
    "precondition-failed",
    "Access has changed since that access-version, so the preview may be out of date. Nothing was changed. Preview the changes again, then apply them with the access-version of the new preview.",
  );

function throwFirstRefusal(results: readonly ChangeResult[]): void {
  for (const [position, { refusal }] of results.entries()) if (refusal !== undefined) throw atChange(refusal, position);
}

async function viewOf(
  context: Context,
  sent: readonly AccessChangeRequest[],
  { organization, accessVersion, results, comparison }: PreviewResult,
  applied: boolean,
): Promise<PreviewView> {
  const { reader } = context.database;
  const effects = await describeEffects(reader, context, organization, comparison, applied);
  const changes = sent.map(({ method, path }, position) => {
    const { refusal, rules = [] } = results[position] ?? {};
    return {
      method,
      path,
      allowed: refusal === undefined,
      refusal: refusal?.message ?? null,
      rules: rules.map(shownRule),
    };
  });
  return {
    id: newId("access-previews"),
    organizationName: organization.name,
    accessVersion: applied ? await accessVersionOf(reader, organization.id) : accessVersion,
    applied,
    allowed: changes.every(({ allowed }) => allowed),
    changes,
    ...effects,
  };
}
