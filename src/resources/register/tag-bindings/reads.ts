/** The effective key-value tags of workspaces and projects, for other resources. */
import { sql } from "kysely";
import type { Tx } from "../../../database/database.ts";
import type { EffectiveBinding } from "./definition.ts";

export async function effectiveOnWorkspaces(tx: Tx, workspaceIds: readonly string[]): Promise<EffectiveBinding[]> {
  const chosen = tx.dialect.isOneOf(sql.ref("w.id"), workspaceIds);
  const result = await sql<EffectiveBinding>`
    select b.id as id, b.key as key, b.value as value, w.id as owner_id, null as inherited_from
    from workspaces as w inner join tag_bindings as b on b.workspace_id = w.id where ${chosen}
    union all
    select b.id, b.key, b.value, w.id, w.project_id
    from workspaces as w inner join tag_bindings as b on b.project_id = w.project_id
    where ${chosen} and not exists (select 1 from tag_bindings as own where own.workspace_id = w.id and own.key = b.key)
    order by 4, 2`.execute(tx.db);
  return result.rows;
}

export async function effectiveOnProjects(tx: Tx, projectIds: readonly string[]): Promise<EffectiveBinding[]> {
  const rows = await tx.db
    .selectFrom("tagBindings")
    .selectAll()
    .where(tx.dialect.isOneOf(sql.ref("projectId"), projectIds))
    .orderBy("projectId")
    .orderBy("key")
    .execute();
  return rows.map(({ id, key, value, projectId }) => ({
    id,
    key,
    value,
    ownerId: projectId ?? "",
    inheritedFrom: null,
  }));
}
