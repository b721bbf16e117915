/** SQL of data retention policies. */
import { sql } from "kysely";
import { type Actor, principalOf } from "../../../access/actor.ts";
import type { Granted } from "../../../access/granted.ts";
import { checkedStandingOf } from "../../../access/organization.ts";
import { workspacePermissions } from "../../../access/permissions/workspace.ts";
import type { Tx } from "../../../database/database.ts";
import { prepared } from "../../../database/prepared.ts";
import type { DataRetentionPolicyTable } from "../../../database/schema/workspaces.ts";
import { fold } from "../../../kernel/text.ts";
import {
  standingColumns,
  type StandingInput,
  workspaceAccessColumns,
  workspacePermissionInputOf,
} from "../../shared/grants/reads.ts";
import type { OrganizationView } from "../../identity/organizations/definition.ts";
import { updateRow } from "../../shared/versions.ts";
import type { WorkspaceView } from "../workspaces/view.ts";
import { openWithId } from "../../shared/open-organizations.ts";

type Nullable<Row> = { [Name in keyof Row]: Row[Name] | null };

/** The policy's columns are null if there is none. */
interface RetentionPolicyRow extends Nullable<DataRetentionPolicyTable>, StandingInput {
  readonly holderOrganizationId: string;
  readonly allowForceDeleteWorkspaces: number;
}
interface WorkspacePolicyRow extends RetentionPolicyRow {
  readonly projectAccess: number | null;
  readonly workspaceAccess: number | null;
}

const organizationPolicyId = (organizationId: string) => sql`(
  select id from data_retention_policies
  where organization_id = ${sql.ref(organizationId)} and workspace_id is null order by id limit 1)`;

const policyOnWorkspace = prepared<{ id: string; principal: string }, WorkspacePolicyRow>((db, { id, principal }) =>
  db
    .selectFrom("workspaces as w")
    .innerJoin("organizations as o", openWithId("w.organizationId"))
    .leftJoin("dataRetentionPolicies as d", (join) =>
      join.on(
        sql.ref("d.id"),
        "=",
        sql<string>`coalesce(
          (select id from data_retention_policies where workspace_id = w.id), ${organizationPolicyId("w.organization_id")})`,
      ),
    )
    .selectAll("d")
    .select(["w.organizationId as holderOrganizationId", "o.allowForceDeleteWorkspaces"])
    .select(workspaceAccessColumns(principal))
    .where("w.id", "=", id),
);

const policyOnOrganization = prepared<{ nameKey: string; principal: string }, RetentionPolicyRow>(
  (db, { nameKey, principal }) =>
    db
      .selectFrom("openOrganizations as o")
      .leftJoin("dataRetentionPolicies as d", (join) =>
        join.on(sql.ref("d.id"), "=", sql<string>`${organizationPolicyId("o.id")}`),
      )
      .selectAll("d")
      .select(["o.id as holderOrganizationId", "o.allowForceDeleteWorkspaces"])
      .select(standingColumns(sql.ref("o.id"), principal))
      .where("o.nameKey", "=", nameKey),
);

export interface RetentionPolicyLookup {
  readonly isVisible: boolean;
  readonly policy: DataRetentionPolicyTable | undefined;
}

export async function findEffectivePolicy(tx: Tx, actor: Actor, workspaceId: string): Promise<RetentionPolicyLookup> {
  const [row] = await policyOnWorkspace(tx, { id: workspaceId, principal: principalOf(actor) });
  if (row === undefined) return { isVisible: false, policy: undefined };
  const permissions = workspacePermissions(
    workspacePermissionInputOf(actor, { ...row, organizationId: row.holderOrganizationId }),
  );
  return { isVisible: permissions["can-read-settings"], policy: policyIn(row) };
}

export async function findOrganizationPolicy(
  tx: Tx,
  actor: Actor,
  organizationName: string,
): Promise<RetentionPolicyLookup> {
  const [row] = await policyOnOrganization(tx, { nameKey: fold(organizationName), principal: principalOf(actor) });
  if (row === undefined) return { isVisible: false, policy: undefined };
  const standing = checkedStandingOf(actor, { ...row, organizationId: row.holderOrganizationId });
  return { isVisible: standing.member, policy: policyIn(row) };
}

function policyIn(row: RetentionPolicyRow): DataRetentionPolicyTable | undefined {
  const { id, organizationId, workspaceId, kind, deleteOlderThanNDays, createdAt, version } = row;
  if (id === null) return undefined;
  return {
    id,
    organizationId,
    workspaceId,
    kind,
    deleteOlderThanNDays,
    createdAt,
    version,
  } as DataRetentionPolicyTable;
}

export type PolicyHolder =
  | { readonly workspace: Granted<WorkspaceView, "can-update"> }
  | { readonly organization: Granted<OrganizationView, "can-update"> };

export function holderColumns(holder: PolicyHolder): Pick<DataRetentionPolicyTable, "organizationId" | "workspaceId"> {
  return "workspace" in holder
    ? { organizationId: holder.workspace.organizationId, workspaceId: holder.workspace.id }
    : { organizationId: holder.organization.id, workspaceId: null };
}

/** The caller has locked the holder's row. */
export async function findOwnPolicy(tx: Tx, holder: PolicyHolder): Promise<DataRetentionPolicyTable | undefined> {
  const { organizationId, workspaceId } = holderColumns(holder);
  const query = tx.db.selectFrom("dataRetentionPolicies").selectAll().where("organizationId", "=", organizationId);
  return (
    workspaceId === null
      ? query.where("workspaceId", "is", null).orderBy("id")
      : query.where("workspaceId", "=", workspaceId)
  ).executeTakeFirst();
}

export async function insertPolicy(tx: Tx, _on: PolicyHolder, row: DataRetentionPolicyTable): Promise<void> {
  await tx.db.insertInto("dataRetentionPolicies").values(row).execute();
}

export async function updatePolicyRow(
  tx: Tx,
  _on: PolicyHolder,
  id: string,
  changes: Partial<DataRetentionPolicyTable>,
): Promise<void> {
  await updateRow(tx, "dataRetentionPolicies", id, changes);
}

export async function deletePolicyRow(tx: Tx, _on: PolicyHolder, id: string): Promise<void> {
  await tx.db.deleteFrom("dataRetentionPolicies").where("id", "=", id).execute();
}
