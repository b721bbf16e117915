/** Inserts and deletes the managed resources of states. */
import { sql } from "kysely";
import type { Tx } from "../../../database/database.ts";
import type { StateResourceTable } from "../../../database/schema/state.ts";
import type { StateRemover, StateWriter } from "../state-writers.ts";

/** Databases limit the number of parameters in a statement. */
const rowsPerStatement = 500;

/** A resource of the previous version keeps its id, creation time and, if unchanged, last change. Repeating a call is safe. */
export async function insertResources(
  tx: Tx,
  _by: StateWriter,
  rows: readonly StateResourceTable[],
  predecessorId: string | undefined,
): Promise<void> {
  for (let start = 0; start < rows.length; start += rowsPerStatement)
    await insertSome(tx, rows.slice(start, start + rowsPerStatement), predecessorId ?? "");
}

async function insertSome(tx: Tx, rows: readonly StateResourceTable[], predecessorId: string): Promise<void> {
  const [first] = rows;
  if (first === undefined) return;
  const { organizationId, stateVersionId, createdAt } = first;
  const values = rows.map(
    (row) =>
      sql`(${row.id}, ${row.address}, ${row.name}, ${row.nameIndex}, ${row.type}, ${row.module}, ${row.provider}, ${row.fingerprint})`,
  );
  const isSame = sql`b.fingerprint = n.fingerprint`;
  await sql`
    with n (id, address, name, name_index, type, module, provider, fingerprint) as (values ${sql.join(values)})
    insert into state_resources (organization_id, state_version_id, id, address, name, name_index, type, module, provider,
      fingerprint, created_at, updated_at, modified_by_state_version_id)
    select ${organizationId}, ${stateVersionId}, coalesce(b.id, n.id), n.address, n.name, n.name_index, n.type, n.module,
      n.provider, n.fingerprint, coalesce(b.created_at, ${createdAt}),
      case when ${isSame} then b.updated_at else ${createdAt} end,
      case when ${isSame} then b.modified_by_state_version_id else ${stateVersionId} end
    from n left join state_resources as b on b.state_version_id = ${predecessorId} and b.address = n.address
    where 1 = 1
    on conflict (state_version_id, address) do nothing`.execute(tx.db);
}

export async function deleteResources(tx: Tx, _by: StateRemover, stateVersionId: string): Promise<void> {
  await tx.db.deleteFrom("stateResources").where("stateVersionId", "=", stateVersionId).execute();
}

/** Returns the last deleted address for `after`: starting over would scan rows that are deleted but not yet vacuumed. */
export async function deleteSomeResources(
  tx: Tx,
  _by: StateRemover,
  stateVersionId: string,
  { after, limit }: { readonly after: string; readonly limit: number },
): Promise<string | undefined> {
  const next = await tx.db
    .selectFrom("stateResources")
    .select("address")
    .where("stateVersionId", "=", stateVersionId)
    .where("address", ">", after)
    .orderBy("address")
    .limit(limit)
    .execute();
  const last = next.at(-1)?.address;
  if (last === undefined) return undefined;
  await tx.db
    .deleteFrom("stateResources")
    .where("stateVersionId", "=", stateVersionId)
    .where("address", ">", after)
    .where("address", "<=", last)
    .execute();
  return next.length < limit ? undefined : last;
}
