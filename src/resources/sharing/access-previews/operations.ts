/** The operation of access previews: parse → apply in one transaction → compare → report, and roll back or commit. */
import { type Actor, principalOf } from "../../../access/actor.ts";
import type { Tx } from "../../../database/database.ts";
import type { MountedResource } from "../../../jsonapi/define.ts";
import { AppError, invalid } from "../../../kernel/errors.ts";
import { newId } from "../../../kernel/ids.ts";
import { fold } from "../../../kernel/text.ts";
import type { OrganizationView } from "../../identity/organizations/definition.ts";
import { loadOrganization } from "../../identity/organizations/reads.ts";
import { readableProjects } from "../../register/projects/reads.ts";
import { type Context, implement } from "../../shared/context.ts";
import { type ChangeParser, type ParsedChange, type AccessChangeRequest } from "./changes.ts";
import { accessPreviews, type PreviewView, type HiddenCounts } from "./definition.ts";
import { effectsOn, isEmptyEffect, type PreviewEffects } from "./effects.ts";
import { type SubjectEffect, nameEffects } from "./naming.ts";
import {
  compareSnapshots,
  affectedScopeOf,
  takeFinalSnapshot,
  takeSnapshot,
  type SnapshotComparison,
  type PreviewSubject,
} from "./snapshots.ts";
import { atChange, applyChanges, type CanReadChange, type ChangeResult, refuseUnseen } from "./apply-changes.ts";
import { accessVersionOf, findReferenced, type ReferencedRow, readableAmong } from "./store.ts";

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
  const referenced = await findReferenced(
    tx,
    organization.id,
    changes.flatMap(({ references }) => references.map(({ id }) => id)),
    changes.flatMap(({ moves }) => moves?.name ?? []),
  );
  const missing = unknownReferencePositions(organization, changes, referenced);
  const existing = changes.filter((_, position) => !missing.has(position));
  const affected = await affectedScopeOf(tx, organization, existing, referenced);
  const before = await takeSnapshot(tx, context, organization, affected);
  const canRead = moveReadCheck(tx, context, organization);
  const { results, faults } = await applyChanges(tx, context, changes, missing, canRead);
  const refuseUnseenFirst = () => refuseUnseen(tx, context, changes, results, missing, canRead);
  // Before the other faults, which would reveal what exists.
  if (apply || faults.length > 0) await refuseUnseenFirst();
  if (faults.length > 0) throw invalid([...faults]);
  if (apply) throwFirstRefusal(results);
  const after = await takeFinalSnapshot(tx, context, organization, affected, before);
  if (!apply) await refuseUnseenFirst();
  const comparison = compareSnapshots(organization, affected, before, after, principalOf(context.actor));
  return { organization, accessVersion, results, comparison };
}

const changedMeanwhile = (): AppError =>
  new AppError(
    "precondition-failed",
    "Access has changed since that access-version, so the preview may be out of date. Nothing was changed. Preview the changes again, then apply them with the access-version of the new preview.",
  );

function unknownReferencePositions(
  organization: OrganizationView,
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
  const effects = [...(await effectsOnAll(comparison))];
  const [gains, losses] = (["gains", "losses"] as const).map((side) => sideOf(effects, side)) as [
    EffectSide,
    EffectSide,
  ];
  const visible = [...gains.visible, ...losses.visible];
  const named = await nameEffects(reader, context, organization, comparison, visible, applied);
  const changes = sent.map(({ method, path }, position) => {
    const refusal = results[position]?.refusal;
    return { method, path, allowed: refusal === undefined, refusal: refusal?.message ?? null };
  });
  return {
    id: newId("access-previews"),
    organizationName: organization.name,
    accessVersion: applied ? await accessVersionOf(reader, organization.id) : accessVersion,
    applied,
    allowed: changes.every(({ allowed }) => allowed),
    changes,
    gains: named.slice(0, gains.visible.length),
    losses: named.slice(gains.visible.length),
    unseenGains: gains.unseen,
    unseenLosses: losses.unseen,
  };
}

interface EffectSide {
  readonly visible: readonly SubjectEffect[];
  readonly unseen: HiddenCounts;
}

function sideOf(effects: readonly (readonly [PreviewSubject, PreviewEffects])[], side: "gains" | "losses"): EffectSide {
  const all = effects
    .map(([subject, both]): SubjectEffect => ({ subject, effect: both[side] }))
    .filter(({ effect }) => !isEmptyEffect(effect));
  const unseen = (type: PreviewSubject["type"]) =>
    all.filter(({ subject }) => !subject.isVisible && subject.type === type).length;
  return {
    visible: all.filter(({ subject }) => subject.isVisible).toSorted(bySubject),
    unseen: { teams: unseen("teams"), users: unseen("users") },
  };
}

const bySubject = ({ subject: a }: SubjectEffect, { subject: b }: SubjectEffect): number =>
  a.type === b.type ? (fold(a.name) < fold(b.name) ? -1 : 1) : a.type < b.type ? -1 : 1;

async function effectsOnAll({ previewed, subjects }: SnapshotComparison): Promise<Map<PreviewSubject, PreviewEffects>> {
  const known = new Map<string, PreviewEffects>();
  const all = new Map<PreviewSubject, PreviewEffects>();
  for (const subject of subjects) {
    const key = `${subject.type} ${subject.equivalenceKey}`;
    let effects = known.get(key);
    if (effects === undefined) {
      effects = effectsOn(asActor(subject, previewed.organizationId), previewed, subject.before, subject.after);
      known.set(key, effects);
      await new Promise(setImmediate);
    }
    all.set(subject, effects);
  }
  return all;
}

function asActor({ type, id, name, isSiteAdmin }: PreviewSubject, organizationId: string): Actor {
  if (type === "teams") return { kind: "team", teamId: id, name, organizationId, tokenId: "" };
  return { kind: "user", userId: id, name, siteAdmin: isSiteAdmin, tokenId: "", tokenAgeMs: 0 };
}
