/** Operations on team access records of both kinds: load → authorize → decide → write. */
import type { Tx } from "../../../database/database.ts";
import type { DocumentAnswer, ListAnswer } from "../../../jsonapi/define.ts";
import type { Page } from "../../../jsonapi/query.ts";
import { notFound, throwIfInvalid } from "../../../kernel/errors.ts";
import { newId } from "../../../kernel/ids.ts";
import { now } from "../../../kernel/time.ts";
import { loadTeam } from "../../identity/teams/reads.ts";
import { recordChange } from "../../shared/audit-events/writes.ts";
import { changesOf } from "../../shared/changes.ts";
import type { ConditionalContext, Context } from "../../shared/context.ts";
import { afterUpdate } from "../../shared/versions.ts";
import { mergeExpiry, expiryOrNever, noExpiry, type GrantExpiryInput } from "../../shared/grants/expiry.ts";
import { originOf } from "../../shared/grants/origin.ts";
import { hasExpirableAccess } from "../../shared/grants/reads.ts";
import type { AccessKind, AccessRecord, ChosenPermissions, AccessTerms, CallerAccess } from "./kind.ts";
import {
  auditedTargets,
  newlyGranted,
  authorizeTarget,
  authorizeRecord,
  levelAfter,
  newRecordFaults,
  readOnlyFaults,
  refuseGrantingLonger,
  refuseGrantingMore,
  ruledGrant,
  ruledOrganizationOf,
} from "./rules.ts";
import { deleteRecord, findRecordOf, insertRecord, listRecords, updateRecord } from "./store.ts";
import { removeExpiredRecord } from "./writes.ts";

interface TeamAccessInput {
  readonly teamId: string | null;
  readonly targetId: string | null;
  readonly level: string;
  readonly chosen: ChosenPermissions;
  readonly expiry: GrantExpiryInput;
}

interface TeamAccessUpdateInput {
  readonly id: string;
  readonly level: string | undefined;
  readonly chosen: ChosenPermissions;
  readonly expiry: GrantExpiryInput;
}

export async function listAccess(
  kind: AccessKind,
  context: Context,
  targetId: string,
  page: Page | undefined,
): Promise<ListAnswer<AccessRecord>> {
  const tx = context.database.reader;
  const target = authorizeTarget(kind, await loadTarget(tx, context, kind, targetId), "can-read");
  return listRecords(tx, context.actor, kind, target, page);
}

export async function showAccess(
  kind: AccessKind,
  context: Context,
  id: string,
): Promise<DocumentAnswer<AccessRecord>> {
  return { view: await loadRecord(context.database.reader, context, kind, id) };
}

/** Throws `invalid` for permissions next to a named level. */
export async function createAccess(
  kind: AccessKind,
  context: Context,
  { teamId, targetId, level, chosen, expiry }: TeamAccessInput,
): Promise<DocumentAnswer<AccessRecord>> {
  throwIfInvalid(readOnlyFaults(level, chosen));
  return context.database.write(async (tx) => {
    const team = await loadTeam(tx, context, teamId ?? "", "change");
    const target = authorizeTarget(
      kind,
      await loadTarget(tx, context, kind, targetId ?? "", "change"),
      "can-manage-team-access",
    );
    if (team.organizationId !== target.organizationId) throw notFound("team");
    const terms = { ...levelAfter(kind, level, chosen), ...mergeExpiry(noExpiry, expiry) };
    await refuseExcess(tx, context, kind, target, terms);
    const present = await findRecordOf(tx, kind.tables, target, team.id);
    throwIfInvalid(newRecordFaults(team, present?.isInForce === 1));
    await context.hooks.accessRules.enforceRules(tx, context, target, [
      ruledGrant(kind, "grant", { ...terms, targetId: target.targetId, teamId: team.id }, terms.permissions),
    ]);
    // The expired record was not removed yet.
    if (present !== undefined) await removeExpiredRecord(tx, context, kind, target, present);
    const { organizationId, callerAccess, standing } = target;
    const identity = { id: newId(kind.definition.type), organizationId, createdAt: now(), version: 1 };
    const row = { ...identity, targetId: target.targetId, teamId: team.id, ...terms };
    await insertRecord(tx, kind.tables, target, { ...row, ...originOf(context) });
    const { visibility: teamVisibility, includesActor } = team;
    const view = { ...row, callerAccess, standing, teamVisibility, includesActor };
    await recordAccess(tx, context, kind, { after: view });
    return { view };
  });
}

export async function updateAccess(
  kind: AccessKind,
  context: ConditionalContext,
  { id, level, chosen, expiry }: TeamAccessUpdateInput,
): Promise<DocumentAnswer<AccessRecord>> {
  if (level !== undefined) throwIfInvalid(readOnlyFaults(level, chosen));
  return context.database.write(async (tx) => {
    const record = authorizeRecord(kind, await loadRecord(tx, context, kind, id, "change"), "can-manage");
    const after = level ?? record.access;
    const terms = { ...levelAfter(kind, after, chosen, record), ...mergeExpiry(record, expiry) };
    await refuseExcess(tx, context, kind, record, terms, record);
    context.ifMatch.check(record);
    throwIfInvalid(readOnlyFaults(after, chosen));
    const changes = changesOf<AccessTerms>(record, terms);
    if (changes === undefined) return { view: record };
    const change = ruledGrant(kind, "update", { ...record, ...terms }, newlyGranted(terms, record));
    await context.hooks.accessRules.enforceRules(tx, context, ruledOrganizationOf(record), [change]);
    const origin = newlyGranted(terms, record) === 0 ? {} : originOf(context);
    await updateRecord(tx, kind.tables, record, { ...changes, ...origin });
    const view = afterUpdate<AccessRecord>(record, changes);
    await recordAccess(tx, context, kind, { before: record, after: view });
    return { view };
  });
}

export async function deleteAccess(kind: AccessKind, context: ConditionalContext, id: string): Promise<void> {
  await context.database.write(async (tx) => {
    const record = authorizeRecord(kind, await loadRecord(tx, context, kind, id, "change"), "can-manage");
    context.ifMatch.check(record);
    const change = ruledGrant(kind, "revoke", { ...record, ...noExpiry }, 0);
    await context.hooks.accessRules.enforceRules(tx, context, ruledOrganizationOf(record), [change]);
    await deleteRecord(tx, kind.tables, record);
    await recordAccess(tx, context, kind, { before: record });
  });
}

/** Nobody can grant more than they have, nor for longer. Throws `forbidden`. */
async function refuseExcess(
  tx: Tx,
  context: Context,
  kind: AccessKind,
  at: CallerAccess & { readonly targetId: string },
  after: AccessTerms,
  before?: AccessTerms,
): Promise<void> {
  const added = newlyGranted(after, before);
  refuseGrantingMore(at, added);
  if (added === 0 || !hasExpirableAccess(context.actor)) return;
  refuseGrantingLonger(
    await kind.find.callerAccess(tx, context.actor, at.targetId, expiryOrNever(after)),
    added,
    after,
  );
}

async function loadTarget(
  tx: Tx,
  context: Context,
  { find, thing }: AccessKind,
  id: string,
  lock: "change" | false = false,
) {
  const target = await find.target(tx, context.actor, id, lock);
  if (target === undefined) throw notFound(thing);
  return target;
}

async function loadRecord(tx: Tx, context: Context, kind: AccessKind, id: string, lock: "change" | false = false) {
  const record = await kind.find.record(tx, context.actor, id, lock);
  if (record === undefined) throw notFound("team access");
  return authorizeRecord(kind, record, "can-read");
}

async function recordAccess(
  tx: Tx,
  context: Context,
  kind: AccessKind,
  change: { before?: AccessRecord; after?: AccessRecord },
): Promise<void> {
  await recordChange(tx, context, kind.definition, change, {
    before: change.before && auditedTargets(kind, change.before),
    after: change.after && auditedTargets(kind, change.after),
  });
}
