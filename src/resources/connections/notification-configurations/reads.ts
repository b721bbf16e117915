/** Loads notification configurations and checks permissions on them. */
import { authorize } from "../../../access/granted.ts";
import { teamPermissionNeeds } from "../../../access/permissions/organization.ts";
import { projectPermissionNeeds } from "../../../access/permissions/project.ts";
import { workspacePermissionNeeds } from "../../../access/permissions/workspace.ts";
import type { Tx } from "../../../database/database.ts";
import { notFound } from "../../../kernel/errors.ts";
import type { Context } from "../../shared/context.ts";
import type { TeamView } from "../../identity/teams/definition.ts";
import { refuseExceedingOwnAccess } from "../../identity/teams/reads.ts";
import { invitedUserId } from "../../identity/users/definition.ts";
import type { RowLock } from "../../shared/locks.ts";
import { decryptUrl } from "./sender.ts";
import { type NotificationConfigurationView, subscribableTypeOf } from "./definition.ts";
import { type ConfigurationRow, findConfigurationForActor, type ManagedRow, type NotifiableRow } from "./store.ts";

const needs = {
  workspaces: workspacePermissionNeeds["can-update"],
  projects: projectPermissionNeeds["can-update"],
  teams: teamPermissionNeeds["can-update"],
} as const;

export type TeamWithStanding = Pick<TeamView, "id" | "standing">;

export interface LoadedConfiguration {
  readonly view: ManagedRow<NotificationConfigurationView>;
  readonly token: Uint8Array | null;
  readonly team: TeamWithStanding | undefined;
}

/** Throws `forbidden`, or `not-found` if the caller can't see its workspace, project or team. */
export async function loadConfiguration(
  tx: Tx,
  context: Context,
  id: string,
  lock: RowLock = false,
): Promise<LoadedConfiguration> {
  const thing = "notification configuration";
  const row = await findConfigurationForActor(tx, context.actor, id, lock);
  if (row === undefined) throw notFound(thing);
  const view = authorize(toView(context, row), {
    thing,
    permission: "can-update",
    visible: row.isVisible,
    allowed: row.isManaged,
    needs: needs[subscribableTypeOf(row)],
  });
  const { teamId, standing, token } = row;
  return { view, token, team: teamId === null ? undefined : { id: teamId, standing } };
}

/** For callers who change where messages go. Throws `forbidden` or `not-found`. */
export async function loadForNotifying(
  tx: Tx,
  context: Context,
  id: string,
  lock: RowLock = false,
): Promise<{ view: NotifiableRow<NotificationConfigurationView>; token: Uint8Array | null }> {
  const { view, token, team } = await loadConfiguration(tx, context, id, lock);
  return { view: await authorizeNotifying(tx, context, view, team), token };
}

/** A team's messages reveal every workspace whose runs it can read, so the caller needs at least the team's access. Throws `forbidden`. */
export async function authorizeNotifying<Row extends { readonly organizationId: string }>(
  tx: Tx,
  context: Context,
  managed: ManagedRow<Row>,
  team: TeamWithStanding | undefined,
): Promise<NotifiableRow<Row>> {
  if (team !== undefined) await refuseExceedingOwnAccess(tx, context, managed.organizationId, [team]);
  return authorize<Row, "can-notify">(managed, {
    thing: "notification configuration",
    permission: "can-notify",
    visible: true,
    allowed: true,
    needs: "at least its team's access",
  });
}

/** Callers who can change the address can see it. */
export function toView(context: Pick<Context, "vault">, row: ConfigurationRow): NotificationConfigurationView {
  const members = row.memberIds === null ? [] : row.memberIds.split(",").map(parseMember);
  return {
    id: row.id,
    organizationId: row.organizationId,
    workspaceId: row.workspaceId,
    projectId: row.projectId,
    teamId: row.teamId,
    subscribableId: row.subscribableId,
    name: row.name,
    destinationType: row.destinationType,
    destination: row.destination,
    enabled: row.enabled,
    triggers: row.triggers,
    emailAddresses: row.emailAddresses,
    lastDelivery: row.lastDelivery,
    createdAt: row.createdAt,
    updatedAt: row.updatedAt,
    version: row.version,
    decryptedUrl: decryptUrl(context.vault, row),
    userIds: members.map(({ userId }) => userId).toSorted(),
    invitedCount: members.filter(({ isInvited }) => isInvited).length,
  };
}

function parseMember(id: string): { userId: string; isInvited: boolean } {
  const userId = invitedUserId(id);
  return { userId, isInvited: userId !== id };
}
