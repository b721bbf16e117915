/** SQL of SSH keys. */
import { type Kysely, sql } from "kysely";
import { type Actor, principalOf } from "../../../access/actor.ts";
import type { Granted } from "../../../access/granted.ts";
import { checkedStandingOf } from "../../../access/organization.ts";
import type { Tx } from "../../../database/database.ts";
import type { SshKeyTable } from "../../../database/schema/connections.ts";
import type { Schema } from "../../../database/schema/schema.ts";
import type { Page } from "../../../jsonapi/query.ts";
import { fold } from "../../../kernel/text.ts";
import { standingColumns } from "../../shared/grants/reads.ts";
import { factsColumns, type OrganizationView } from "../../identity/organizations/definition.ts";
import { lockClause, type RowLock } from "../../shared/locks.ts";
import { countOf, fetchPage } from "../../shared/paging.ts";
import { updateRow } from "../../shared/versions.ts";
import type { SshKeyView } from "./definition.ts";
import { openWithId } from "../../shared/open-organizations.ts";

function keys(db: Kysely<Schema>) {
  return db
    .selectFrom("sshKeys as k")
    .innerJoin("organizations as o", openWithId("k.organizationId"))
    .select(factsColumns)
    .select(["k.id", "k.organizationId", "k.name", "k.nameKey", "k.createdAt", "k.version"]);
}

export async function findSshKey(
  tx: Tx,
  actor: Actor,
  id: string,
  lock: RowLock = false,
): Promise<SshKeyView | undefined> {
  const row = await keys(tx.db)
    .select(standingColumns(sql.ref("k.organizationId"), principalOf(actor)))
    .where("k.id", "=", id)
    .modifyEnd(lockClause(tx.dialect, "k", lock))
    .executeTakeFirst();
  return row && { ...row, standing: checkedStandingOf(actor, row) };
}

export async function listSshKeyRows(
  tx: Tx,
  { id, standing }: OrganizationView,
  page: Page,
): Promise<{ views: SshKeyView[]; totalCount: number }> {
  const rows = keys(tx.db).where("k.organizationId", "=", id);
  const found = await fetchPage(tx, {
    rows,
    order: [{ column: "k.nameKey" }, { column: "k.id" }],
    page,
    totals: { totalCount: countOf(rows.clearSelect().select("k.id")) },
  });
  return {
    views: found.rows.map((row) => ({ ...row, standing })),
    totalCount: found.totals.totalCount,
  };
}

export async function isSshKeyNameTaken(tx: Tx, organizationId: string, name: string): Promise<boolean> {
  const row = await tx.db
    .selectFrom("sshKeys")
    .select("id")
    .where("organizationId", "=", organizationId)
    .where("nameKey", "=", fold(name))
    .executeTakeFirst();
  return row !== undefined;
}

export async function insertSshKey(
  tx: Tx,
  _into: Granted<OrganizationView, "can-update-ssh-keys">,
  row: SshKeyTable,
): Promise<void> {
  await tx.db.insertInto("sshKeys").values(row).execute();
}

export async function updateSshKeyRow(
  tx: Tx,
  key: Granted<SshKeyView, "can-update-ssh-keys">,
  changes: Partial<SshKeyTable>,
): Promise<void> {
  await updateRow(tx, "sshKeys", key.id, changes);
}

export async function deleteSshKeyRow(tx: Tx, key: Granted<SshKeyView, "can-update-ssh-keys">): Promise<void> {
  await tx.db.deleteFrom("sshKeys").where("id", "=", key.id).execute();
}
