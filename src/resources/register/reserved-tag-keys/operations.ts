/** Operations on reserved tag keys: load → authorize → decide → write. */
import type { Granted } from "../../../access/granted.ts";
import type { Tx } from "../../../database/database.ts";
import { changedColumns } from "../../../jsonapi/columns.ts";
import { notFound, throwIfInvalid } from "../../../kernel/errors.ts";
import { newId } from "../../../kernel/ids.ts";
import { now } from "../../../kernel/time.ts";
import { recordChange } from "../../shared/audit-events/writes.ts";
import { authorizeOrganization, loadOrganization } from "../../identity/organizations/reads.ts";
import { changesOf } from "../../shared/changes.ts";
import { type Context, implement } from "../../shared/context.ts";
import type { RowLock } from "../../shared/locks.ts";
import { afterUpdate } from "../../shared/versions.ts";
import { reservedTagKeys, type ReservedTagKeyView } from "./definition.ts";
import { authorizeReservedTagKey, keyTakenFault, newReservedTagKey } from "./rules.ts";
import {
  deleteReservedTagKeyRow,
  findReservedTagKey,
  reservedTagKeyViewIn,
  insertReservedTagKey,
  isKeyTaken,
  listReservedTagKeyRows,
  updateReservedTagKeyRow,
} from "./store.ts";

export const reservedTagKeyResource = implement(reservedTagKeys, {
  async createReservedTagKey({ context, params, body }) {
    return context.database.write(async (tx) => {
      const organization = authorizeOrganization(
        await loadOrganization(tx, context, params.organizationName),
        "can-update",
      );
      const identity = { id: newId("reserved-tag-keys"), organizationId: organization.id, createdAt: now() };
      const row = newReservedTagKey(body.attributes, identity);
      throwIfInvalid((await isKeyTaken(tx, organization.id, row.key)) ? [keyTakenFault()] : []);
      await insertReservedTagKey(tx, organization, row);
      const view = reservedTagKeyViewIn(row, organization);
      await recordChange(tx, context, reservedTagKeys, { after: view });
      return { view };
    });
  },

  async listReservedTagKeys({ context, params, query }) {
    const tx = context.database.reader;
    const organization = await loadOrganization(tx, context, params.organizationName);
    return listReservedTagKeyRows(tx, organization, query.page);
  },

  async updateReservedTagKey({ context, params, body }) {
    return context.database.write(async (tx) => {
      const reserved = await loadToChange(tx, context, params.reservedTagKeyId);
      context.ifMatch.check(reserved);
      const requested = changesOf<ReservedTagKeyView>(reserved, changedColumns(reservedTagKeys, body.attributes));
      if (requested === undefined) return { view: reserved };
      const isTaken = requested.key !== undefined && (await isKeyTaken(tx, reserved.organizationId, requested.key));
      throwIfInvalid(isTaken ? [keyTakenFault()] : []);
      const changes = { ...requested, updatedAt: now() };
      await updateReservedTagKeyRow(tx, reserved, changes);
      const changed = afterUpdate<ReservedTagKeyView>(reserved, changes);
      await recordChange(tx, context, reservedTagKeys, { before: reserved, after: changed });
      return { view: changed };
    });
  },

  async deleteReservedTagKey({ context, params }) {
    await context.database.write(async (tx) => {
      const reserved = await loadToChange(tx, context, params.reservedTagKeyId, "removal");
      context.ifMatch.check(reserved);
      await deleteReservedTagKeyRow(tx, reserved);
      await recordChange(tx, context, reservedTagKeys, { before: reserved });
    });
  },
});

/** Throws `not-found` or `forbidden`. */
async function loadToChange(
  tx: Tx,
  { actor }: Context,
  id: string,
  lock: RowLock = "change",
): Promise<Granted<ReservedTagKeyView, "can-update">> {
  const reserved = await findReservedTagKey(tx, actor, id, lock);
  if (reserved === undefined) throw notFound("reserved tag key");
  return authorizeReservedTagKey(reserved);
}
