/** What previews and access requests do before and after they run changes: snapshots, and their comparison. */
import { principalOf } from "../../../access/actor.ts";
import type { Tx } from "../../../database/database.ts";
import { fold } from "../../../kernel/text.ts";
import type { OrganizationView } from "../../identity/organizations/definition.ts";
import { readableProjects } from "../../register/projects/reads.ts";
import type { Context } from "../../shared/context.ts";
import type { CanReadChange } from "./apply-changes.ts";
import type { ParsedChange } from "./changes.ts";
import {
  type AccessSnapshot,
  type AffectedScope,
  affectedScopeOf,
  compareSnapshots,
  type InitialAccessSnapshot,
  type SnapshotComparison,
  takeFinalSnapshot,
  takeSnapshot,
} from "./snapshots.ts";
import { findReferenced, readableAmong, type ReferencedRow } from "./store.ts";

/** Access before the changes. */
export interface EvaluationStart {
  readonly organization: OrganizationView;
  readonly referenced: readonly ReferencedRow[];
  /** Positions of changes that name something outside of the organization. */
  readonly missing: ReadonlySet<number>;
  readonly affected: AffectedScope;
  readonly before: InitialAccessSnapshot;
  readonly canRead: CanReadChange;
}

/** The caller has locked the organization with `removal`. */
export async function startEvaluation(
  tx: Tx,
  context: Context,
  organization: OrganizationView,
  changes: readonly ParsedChange[],
): Promise<EvaluationStart> {
  const { referenced, missing } = await loadReferences(tx, organization, changes);
  const existing = changes.filter((_, position) => !missing.has(position));
  const affected = await affectedScopeOf(tx, organization, existing, referenced);
  const before = await takeSnapshot(tx, context, organization, affected);
  return { organization, referenced, missing, affected, before, canRead: moveReadCheck(tx, context, organization) };
}

export interface EvaluationEnd {
  readonly after: AccessSnapshot;
  readonly comparison: SnapshotComparison;
}

/** Call after the changes, in the same transaction. */
export async function finishEvaluation(
  tx: Tx,
  context: Context,
  { organization, affected, before }: EvaluationStart,
): Promise<EvaluationEnd> {
  const after = await takeFinalSnapshot(tx, context, organization, affected, before);
  const callerId = principalOf(context.actor);
  return { after, comparison: compareSnapshots(organization, affected, before, after, callerId) };
}

export async function loadReferences(
  tx: Tx,
  organization: Pick<OrganizationView, "id" | "name">,
  changes: readonly ParsedChange[],
): Promise<Pick<EvaluationStart, "referenced" | "missing">> {
  const ids = changes.flatMap(({ references }) => references.map(({ id }) => id));
  const names = changes.flatMap(({ moves }) => moves?.name ?? []);
  const referenced = await findReferenced(tx, organization.id, ids, names);
  return { referenced, missing: unknownReferencePositions(organization, changes, referenced) };
}

function unknownReferencePositions(
  organization: Pick<OrganizationView, "name">,
  changes: readonly ParsedChange[],
  rows: readonly ReferencedRow[],
): ReadonlySet<number> {
  const found = new Set(rows.flatMap(({ type, id, name }) => [`${type} ${id}`, `${type} named ${name}`]));
  const isMissing = ({ references, params, moves }: ParsedChange): boolean => {
    const { organizationName = organization.name } = params;
    return (
      fold(organizationName) !== fold(organization.name) ||
      (moves?.name !== undefined && !found.has(`workspaces named ${moves.name}`)) ||
      references.some(({ type, id }) => !found.has(`${type} ${id}`))
    );
  };
  return new Set(changes.flatMap((change, position) => (isMissing(change) ? [position] : [])));
}

/** The handlers check the right to move before the workspaces and the new project, so this checks whether the caller can read these. */
function moveReadCheck(tx: Tx, context: Context, organization: OrganizationView): CanReadChange {
  return async ({ moves }) => {
    if (moves === undefined) return true;
    const [project] = await readableProjects(tx, context, [moves.to]);
    const workspaces = await readableAmong(tx, context, organization, moves.ids);
    return project?.organizationId === organization.id && moves.ids.every((id) => workspaces.has(id));
  };
}
