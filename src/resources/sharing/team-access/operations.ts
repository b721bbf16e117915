/** What is done to records of team access, on projects and on workspaces alike: load → authorize → decide → write. */
import type { Tx } from "../../../database/database.ts";
import type { DocumentAnswer, ListAnswer } from "../../../jsonapi/define.ts";
import type { Page } from "../../../jsonapi/query.ts";
import { notFound, refuseIfAny } from "../../../kernel/errors.ts";
import { newId } from "../../../kernel/ids.ts";
import { now } from "../../../kernel/time.ts";
import { loadTeam } from "../../identity/teams/reads.ts";
import { recordChange } from "../../shared/audit-events/writes.ts";
import { changesOf } from "../../shared/changes.ts";
import type { ConditionalContext, Context } from "../../shared/context.ts";
import { afterUpdate } from "../../shared/versions.ts";
import { endingAfter, endOf, lasting, type SentEnding } from "../../shared/grants/ending.ts";
import { holdsByGrants } from "../../shared/grants/reads.ts";
import type { AccessKind, AccessRecord, Chosen, Given, Held } from "./kind.ts";
import {
  boundTo,
  givenAnew,
  grantPlace,
  grantRecord,
  levelAfter,
  newRecordFaults,
  readOnlyFaults,
  refuseGivingLonger,
  refuseGivingMore,
} from "./rules.ts";
import { deleteRecord, findRecordOf, insertRecord, listRecords, updateRecord } from "./store.ts";
import { endRecord } from "./writes.ts";

interface NewAccess {
  readonly teamId: string | null;
  readonly placeId: string | null;
  readonly level: string;
  readonly chosen: Chosen;
  readonly ending: SentEnding;
}

interface ChangedAccess {
  readonly id: string;
  readonly level: string | undefined;
  readonly chosen: Chosen;
  readonly ending: SentEnding;
}

/** A page, or all where none is asked for. */
export async function listAccess(
  kind: AccessKind,
  context: Context,
  placeId: string,
  page: Page | undefined,
): Promise<ListAnswer<AccessRecord>> {
  const tx = context.database.reader;
  const place = grantPlace(kind, await loadPlace(tx, context, kind, placeId), "can-read");
  return listRecords(tx, context.actor, kind, place, page);
}

export async function showAccess(
  kind: AccessKind,
  context: Context,
  id: string,
): Promise<DocumentAnswer<AccessRecord>> {
  return { view: await loadRecord(context.database.reader, context, kind, id) };
}

/** Raises `invalid` for permissions beside a named level, and `forbidden` for more than the caller holds. */
export async function giveAccess(
  kind: AccessKind,
  context: Context,
  { teamId, placeId, level, chosen, ending }: NewAccess,
): Promise<DocumentAnswer<AccessRecord>> {
  refuseIfAny(readOnlyFaults(level, chosen));
  return context.database.write(async (tx) => {
    const team = await loadTeam(tx, context, teamId ?? "", true);
    const place = grantPlace(kind, await loadPlace(tx, context, kind, placeId ?? "", true), "can-manage-team-access");
    if (team.organizationId !== place.organizationId) throw notFound("team");
    const given = { ...levelAfter(kind, level, chosen), ...endingAfter(lasting, ending) };
    await refuseGiving(tx, context, kind, place, given);
    const present = await findRecordOf(tx, kind.tables, place, team.id);
    refuseIfAny(newRecordFaults(team, present?.isInForce === 1));
    // One that has ended makes room, whether or not it was tidied up yet.
    if (present !== undefined) await endRecord(tx, context, kind, place, present);
    const { organizationId, held, standing } = place;
    const identity = { id: newId(kind.definition.type), organizationId, createdAt: now(), version: 1 };
    const row = { ...identity, placeId: place.placeId, teamId: team.id, ...given };
    await insertRecord(tx, kind.tables, place, row);
    const { visibility: teamVisibility, includesActor } = team;
    const view = { ...row, held, standing, teamVisibility, includesActor };
    await recordAccess(tx, context, kind, { after: view });
    return { view };
  });
}

/** Raises `invalid` for permissions beside a named level, and `forbidden` for more than the caller holds. */
export async function changeAccess(
  kind: AccessKind,
  context: ConditionalContext,
  { id, level, chosen, ending }: ChangedAccess,
): Promise<DocumentAnswer<AccessRecord>> {
  if (level !== undefined) refuseIfAny(readOnlyFaults(level, chosen));
  return context.database.write(async (tx) => {
    const record = grantRecord(kind, await loadRecord(tx, context, kind, id, true), "can-manage");
    const after = level ?? record.access;
    const given = { ...levelAfter(kind, after, chosen, record), ...endingAfter(record, ending) };
    await refuseGiving(tx, context, kind, record, given, record);
    context.ifMatch.check(record);
    refuseIfAny(readOnlyFaults(after, chosen));
    const changes = changesOf<Given>(record, given);
    if (changes === undefined) return { view: record };
    await updateRecord(tx, kind.tables, record, changes);
    const view = afterUpdate<AccessRecord>(record, changes);
    await recordAccess(tx, context, kind, { before: record, after: view });
    return { view };
  });
}

export async function takeAccessAway(kind: AccessKind, context: ConditionalContext, id: string): Promise<void> {
  await context.database.write(async (tx) => {
    const record = grantRecord(kind, await loadRecord(tx, context, kind, id, true), "can-manage");
    context.ifMatch.check(record);
    await deleteRecord(tx, kind.tables, record);
    await recordAccess(tx, context, kind, { before: record });
  });
}

/** Nobody gives more than they hold, nor for longer. Raises `forbidden`. */
async function refuseGiving(
  tx: Tx,
  context: Context,
  kind: AccessKind,
  at: Held & { readonly placeId: string },
  after: Given,
  before?: Given,
): Promise<void> {
  const wanted = givenAnew(after, before);
  refuseGivingMore(at, wanted);
  if (wanted === 0 || !holdsByGrants(context.actor)) return;
  refuseGivingLonger(await kind.find.holding(tx, context.actor, at.placeId, endOf(after)), wanted, after);
}

async function loadPlace(tx: Tx, context: Context, { find, thing }: AccessKind, id: string, lock = false) {
  const place = await find.place(tx, context.actor, id, lock);
  if (place === undefined) throw notFound(thing);
  return place;
}

async function loadRecord(tx: Tx, context: Context, kind: AccessKind, id: string, lock = false) {
  const record = await kind.find.record(tx, context.actor, id, lock);
  if (record === undefined) throw notFound("team access");
  return grantRecord(kind, record, "can-read");
}

/** Beside the level and the permissions, the trail tells whose they are and on what. */
async function recordAccess(
  tx: Tx,
  context: Context,
  kind: AccessKind,
  change: { before?: AccessRecord; after?: AccessRecord },
): Promise<void> {
  await recordChange(tx, context, kind.definition, change, {
    before: change.before && boundTo(kind, change.before),
    after: change.after && boundTo(kind, change.after),
  });
}
