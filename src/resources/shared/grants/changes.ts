/** The change of a record of team access: the same for projects and for workspaces, whatever each of them stores. */
import type { Access } from "../../../access/effective.ts";
import type { Granted } from "../../../access/granted.ts";
import type { Standing } from "../../../access/organization.ts";
import type { Tx } from "../../../database/database.ts";
import type { DocumentAnswer, IfMatch, ResourceDefinition } from "../../../jsonapi/define.ts";
import { refuseIfAny } from "../../../kernel/errors.ts";
import { recordChange } from "../audit-events/writes.ts";
import { changesOf } from "../changes.ts";
import type { Context } from "../context.ts";
import { checkIfMatch } from "../preconditions.ts";
import { afterUpdate } from "../versions.ts";
import { type Chosen, type Given, readOnlyFaults, refuseGivingMore } from "./records.ts";

interface RecordView extends Given {
  readonly id: string;
  readonly organizationId: string;
  readonly version: number;
  readonly held: Access;
  readonly standing: Standing;
}

/** What one of the two kinds brings. */
export interface RecordKind<View extends RecordView> {
  readonly definition: ResourceDefinition<View>;
  /** With its row locked. Raises `not-found`. */
  readonly load: (tx: Tx, context: Context, id: string) => Promise<Granted<View, "can-manage">>;
  readonly givenBy: (level: string, chosen: Chosen, before: Given) => Given;
  readonly store: (tx: Tx, record: Granted<View, "can-manage">, given: Given) => Promise<void>;
  /** Whose access it is, and on what, as the audit trail tells it. */
  readonly boundTo: (record: View) => object;
}

interface Wanted {
  readonly id: string;
  readonly level: string | undefined;
  readonly chosen: Chosen;
  readonly ifMatch: IfMatch;
}

/** Raises `invalid` for permissions beside a named level, and `forbidden` for more than the caller holds. */
export async function changeRecord<View extends RecordView>(
  kind: RecordKind<View>,
  context: Context,
  { id, level, chosen, ifMatch }: Wanted,
): Promise<DocumentAnswer<View>> {
  if (level !== undefined) refuseIfAny(readOnlyFaults(level, chosen));
  return context.database.write(async (tx) => {
    const record = await kind.load(tx, context, id);
    const after = level ?? record.access;
    const given = kind.givenBy(after, chosen, record);
    refuseGivingMore(record, record.permissions, given.permissions);
    checkIfMatch(ifMatch, kind.definition, record);
    refuseIfAny(readOnlyFaults(after, chosen));
    if (changesOf<Given>(record, given) === undefined) return { view: record };
    await kind.store(tx, record, given);
    const view = afterUpdate(record, given as Partial<View>);
    await recordAccess(tx, context, kind, { before: record, after: view });
    return { view };
  });
}

/** Beside the level and the permissions, the trail tells whose they are and on what. */
export async function recordAccess<View extends RecordView>(
  tx: Tx,
  context: Context,
  { definition, boundTo }: Pick<RecordKind<View>, "definition" | "boundTo">,
  change: { before?: View; after?: View },
): Promise<void> {
  const { before, after } = change;
  await recordChange(tx, context, definition, change, {
    before: before && boundTo(before),
    after: after && boundTo(after),
  });
}
