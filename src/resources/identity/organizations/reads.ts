/** Reads of organizations for other modules, with the caller's access to them. */
import { authorize, type Granted } from "../../../access/granted.ts";
import {
  canReadAuditLog,
  type OrganizationFlag,
  organizationPermissionNeeds,
  organizationPermissions,
} from "../../../access/permissions/organization.ts";
import { canReadEntitlements } from "../../../access/run.ts";
import type { Tx } from "../../../database/database.ts";
import type { OrganizationTable } from "../../../database/schema/identity.ts";
import { conflict, notFound } from "../../../kernel/errors.ts";
import { counted } from "../../../kernel/text.ts";
import type { SiteAdminProof } from "../../shared/administration.ts";
import type { Context } from "../../shared/context.ts";
import type { RowLock } from "../../shared/locks.ts";
import type { OrganizationView } from "./definition.ts";
import { findOrganization } from "./store.ts";

export { type OrganizationRow, toOrganizationView } from "./store.ts";

export async function loadOrganization(
  tx: Tx,
  context: Pick<Context, "actor">,
  name: string,
  lock: RowLock = false,
): Promise<OrganizationView> {
  const organization = await findOrganization(tx, context.actor, name, lock);
  if (organization === undefined || !organization.standing.member) throw notFound("organization");
  return organization;
}

/** Finds disabled organizations too. */
export async function findOrganizationByName(
  tx: Tx,
  _by: SiteAdminProof,
  name: string,
): Promise<OrganizationView | undefined> {
  return findOrganization(tx, { kind: "operator" }, name);
}

/** Throws `not-found`. */
export async function loadOrganizationForEntitlements(
  tx: Tx,
  context: Pick<Context, "actor">,
  name: string,
): Promise<OrganizationView> {
  const organization = await findOrganization(tx, context.actor, name);
  if (organization === undefined || !canReadEntitlements(context.actor, organization)) throw notFound("organization");
  return organization;
}

export async function loadOrganizationToAudit(
  tx: Tx,
  context: Pick<Context, "actor">,
  name: string,
): Promise<OrganizationView> {
  const organization = await findOrganization(tx, context.actor, name);
  if (organization === undefined) throw notFound("organization");
  if (canReadAuditLog(context.actor, organization.id, organization.standing)) return organization;
  return authorizeOrganization(organization, "can-manage-auditing");
}

/** Call after adding a workspace. Where there is a limit, only one transaction at a time passes, so that the count is exact. Throws `conflict`. */
export async function refuseWorkspacesBeyondLimit(
  tx: Tx,
  { organizationId, workspaceLimit }: Pick<OrganizationTable, "workspaceLimit"> & { readonly organizationId: string },
): Promise<void> {
  if (!workspaceLimit) return;
  // The last in the lock order.
  await tx.db
    .selectFrom("accessVersions as a")
    .select("a.version")
    .where("a.organizationId", "=", organizationId)
    .modifyEnd(tx.dialect.lockRows("a", "change"))
    .execute();
  const { count } = await tx.db
    .selectFrom("projects")
    .select((select) => select.fn.sum<number>("workspaceCount").as("count"))
    .where("organizationId", "=", organizationId)
    .executeTakeFirstOrThrow();
  if (Number(count) > workspaceLimit)
    throw conflict(
      `The organization has reached its limit of ${counted(workspaceLimit, "workspace")} (workspace-limit). Delete a workspace, or ask a site admin to raise the limit.`,
    );
}

export function authorizeOrganization<Permission extends OrganizationFlag>(
  organization: OrganizationView,
  permission: Permission,
  needs: string = organizationPermissionNeeds[permission] ?? "ownership of the organization",
): Granted<OrganizationView, Permission> {
  return authorize(organization, {
    thing: "organization",
    permission,
    visible: organization.standing.member,
    allowed: organizationPermissions(organization.standing)[permission],
    needs,
  });
}

export const organizationsByName = (
  tx: Tx,
  context: Pick<Context, "actor">,
  names: readonly string[],
): Promise<OrganizationView[]> => Promise.all(names.map((name) => loadOrganization(tx, context, name)));
