/** What neighbours ask of organizations: the one they work in, with what the caller is there. */
import { grant, type Granted } from "../../../access/granted.ts";
import {
  mayReadAuditTrail,
  type OrganizationFlag,
  organizationPermissionNeeds,
  organizationPermissions,
} from "../../../access/permissions/organization.ts";
import { mayReadEntitlements } from "../../../access/run.ts";
import type { Tx } from "../../../database/database.ts";
import type { OrganizationTable } from "../../../database/schema/identity.ts";
import { conflict, notFound } from "../../../kernel/errors.ts";
import { counted } from "../../../kernel/text.ts";
import type { Administration } from "../../shared/administration.ts";
import type { Context } from "../../shared/context.ts";
import type { Lock } from "../../shared/locks.ts";
import type { OrganizationView } from "./definition.ts";
import { findOrganization } from "./store.ts";

export { type OrganizationRow, toOrganizationView } from "./store.ts";

/** Raises `not-found` where the caller may not know of the organization. */
export async function loadOrganization(
  tx: Tx,
  context: Pick<Context, "actor">,
  name: string,
  lock: Lock = false,
): Promise<OrganizationView> {
  const organization = await findOrganization(tx, context.actor, name, lock);
  if (organization === undefined || !organization.standing.member) throw notFound("organization");
  return organization;
}

/** For whoever administers the register: any that there is, whatever it refuses. */
export async function organizationOfName(
  tx: Tx,
  _by: Administration,
  name: string,
): Promise<OrganizationView | undefined> {
  return findOrganization(tx, { kind: "operator" }, name);
}

/** The same for whoever asks what the organization can do: a run, too. Raises `not-found`. */
export async function loadOrganizationToUse(
  tx: Tx,
  context: Pick<Context, "actor">,
  name: string,
): Promise<OrganizationView> {
  const organization = await findOrganization(tx, context.actor, name);
  if (organization === undefined || !mayReadEntitlements(context.actor, organization)) throw notFound("organization");
  return organization;
}

/** The organization whose audit trail the caller may read. Raises `not-found` or `forbidden`. */
export async function loadOrganizationToAudit(
  tx: Tx,
  context: Pick<Context, "actor">,
  name: string,
): Promise<OrganizationView> {
  const organization = await findOrganization(tx, context.actor, name);
  if (organization === undefined) throw notFound("organization");
  if (mayReadAuditTrail(context.actor, organization.id, organization.standing)) return organization;
  return grantOrganization(organization, "can-manage-auditing");
}

/**
 * After a workspace was put into the organization: it may not have more than a site admin allows. Where there is such a limit the
 * organization is held by now, so that two who come at once can't both be the last. Raises `conflict`.
 */
export async function refuseWorkspacesBeyondLimit(
  tx: Tx,
  { id, workspaceLimit }: Pick<OrganizationTable, "id" | "workspaceLimit">,
): Promise<void> {
  if (!workspaceLimit) return;
  const { count } = await tx.db
    .selectFrom("projects")
    .select((select) => select.fn.sum<number>("workspaceCount").as("count"))
    .where("organizationId", "=", id)
    .executeTakeFirstOrThrow();
  if (Number(count) > workspaceLimit)
    throw conflict(
      `The organization has ${counted(workspaceLimit, "workspace")}, as many as it may have (workspace-limit). Delete one that is not needed, or ask a site admin for more.`,
    );
}

/** Raises `forbidden`, or `not-found` where the caller may not know of the organization. */
export function grantOrganization<Permission extends OrganizationFlag>(
  organization: OrganizationView,
  permission: Permission,
  needs: string = organizationPermissionNeeds[permission] ?? "ownership of the organization",
): Granted<OrganizationView, Permission> {
  return grant(organization, {
    thing: "organization",
    permission,
    visible: organization.standing.member,
    allowed: organizationPermissions(organization.standing)[permission],
    needs,
  });
}

/** Organizations by their names; documents of one list all have the same. Raises `not-found`. */
export const organizationsByName = (
  tx: Tx,
  context: Pick<Context, "actor">,
  names: readonly string[],
): Promise<OrganizationView[]> => Promise.all(names.map((name) => loadOrganization(tx, context, name)));
