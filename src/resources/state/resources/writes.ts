/** What becomes of the list of resources when states are written, read and removed. */
import { sql } from "kysely";
import type { Tx } from "../../../database/database.ts";
import type { StateResourceTable } from "../../../database/schema/state.ts";
import type { StateRemover, StateWriter } from "../proofs.ts";

/** Many rows need many statements, each of a size that an engine takes. */
const rowsPerStatement = 500;

/**
 * The resources of one version. One that the version before had too is the same one: its id, its age and, unless it was
 * changed, who changed it last. Those that are there already, from a try that was broken off, stay as they are.
 */
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
  const told = rows.map(
    (row) =>
      sql`(${row.id}, ${row.address}, ${row.name}, ${row.nameIndex}, ${row.type}, ${row.module}, ${row.provider}, ${row.fingerprint})`,
  );
  const isSame = sql`b.fingerprint = n.fingerprint`;
  await sql`
    with n (id, address, name, name_index, type, module, provider, fingerprint) as (values ${sql.join(told)})
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

/**
 * Some of a version's resources, those after an address. Gives the last one that went, to go on after it: to look from the
 * start again would pass over all that went before, which a database only forgets later. Undefined once all are gone.
 */
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
