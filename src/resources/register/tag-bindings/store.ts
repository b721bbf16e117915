/** SQL of key-value tags. */
import { sql } from "kysely";
import type { Granted } from "../../../access/granted.ts";
import type { Tx } from "../../../database/database.ts";
import type { ProjectTable } from "../../../database/schema/projects.ts";
import type { TagBindingTable, WorkspaceTable } from "../../../database/schema/workspaces.ts";

/** Proof that the caller can change the bindings or has just created the owner. */
export type BindingOwner =
  | {
      readonly workspace: Granted<
        Pick<WorkspaceTable, "id" | "organizationId">,
        "can-update" | "can-manage-tags" | "can-create-workspace"
      >;
    }
  | { readonly project: Granted<Pick<ProjectTable, "id" | "organizationId">, "can-update" | "can-create-project"> };

export function ownerColumns(
  owner: BindingOwner,
): Pick<TagBindingTable, "organizationId" | "workspaceId" | "projectId"> {
  return "workspace" in owner
    ? { organizationId: owner.workspace.organizationId, workspaceId: owner.workspace.id, projectId: null }
    : { organizationId: owner.project.organizationId, workspaceId: null, projectId: owner.project.id };
}

export async function findBindings(
  tx: Tx,
  of: { readonly workspaceId: string } | { readonly projectId: string },
): Promise<TagBindingTable[]> {
  const query = tx.db.selectFrom("tagBindings").selectAll();
  const own =
    "workspaceId" in of ? query.where("workspaceId", "=", of.workspaceId) : query.where("projectId", "=", of.projectId);
  return own.orderBy("key").execute();
}

export async function upsertBindings(tx: Tx, owner: BindingOwner, rows: readonly TagBindingTable[]): Promise<void> {
  if (rows.length === 0) return;
  const ownerColumn = "workspace" in owner ? "workspaceId" : "projectId";
  await tx.db
    .insertInto("tagBindings")
    .values([...rows])
    .onConflict((conflict) =>
      conflict.columns([ownerColumn, "key"]).doUpdateSet({ value: (set) => set.ref("excluded.value") }),
    )
    .execute();
}

export async function deleteBindings(tx: Tx, owner: BindingOwner): Promise<void> {
  const query = tx.db.deleteFrom("tagBindings");
  await (
    "workspace" in owner
      ? query.where("workspaceId", "=", owner.workspace.id)
      : query.where("projectId", "=", owner.project.id)
  ).execute();
}

/** Reserved without overrides, and set on the project. */
export async function keysFixedByProject(tx: Tx, workspaceId: string, keys: readonly string[]): Promise<string[]> {
  const result = await sql<{ key: string }>`
    select b.key from workspaces as w
    inner join tag_bindings as b on b.project_id = w.project_id
    inner join reserved_tag_keys as r on r.organization_id = w.organization_id and r.key = b.key
    where w.id = ${workspaceId} and r.disable_overrides = 1 and ${tx.dialect.isOneOf(sql.ref("b.key"), keys)}`.execute(
    tx.db,
  );
  return result.rows.map((row) => row.key);
}
