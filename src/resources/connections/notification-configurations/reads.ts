/** How a notification configuration is loaded and granted. */
import { grant } from "../../../access/granted.ts";
import { projectPermissionNeeds, teamPermissionNeeds, workspacePermissionNeeds } from "../../../access/permissions.ts";
import type { Tx } from "../../../database/database.ts";
import { notFound } from "../../../kernel/errors.ts";
import type { Context } from "../../shared/context.ts";
import { invitedUserId } from "../../identity/users/definition.ts";
import type { Lock } from "../../shared/locks.ts";
import { openedUrl } from "./courier.ts";
import { type NotificationConfigurationView, subscribableTypeOf } from "./definition.ts";
import { type ConfigurationRow, findConfigurationForActor, type Managed } from "./store.ts";

const needs = {
  workspaces: workspacePermissionNeeds["can-update"],
  projects: projectPermissionNeeds["can-update"],
  teams: teamPermissionNeeds["can-update"],
} as const;

/** Raises `forbidden`, or `not-found` where the caller may not see what it is subscribed to. */
export async function loadConfiguration(
  tx: Tx,
  context: Context,
  id: string,
  lock: Lock = false,
): Promise<{ view: Managed<NotificationConfigurationView>; token: Uint8Array | null }> {
  const thing = "notification configuration";
  const row = await findConfigurationForActor(tx, context.actor, id, lock);
  if (row === undefined) throw notFound(thing);
  const view = grant(toView(context, row), {
    thing,
    permission: "can-update",
    visible: row.isVisible,
    allowed: row.isManaged,
    needs: needs[subscribableTypeOf(row)],
  });
  return { view, token: row.token };
}

/** What it shows: of what is sealed the address alone, which those see who may change it. */
export function toView(context: Pick<Context, "vault">, row: ConfigurationRow): NotificationConfigurationView {
  const named = row.memberIds === null ? [] : row.memberIds.split(",").map(memberOf);
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
    shownUrl: openedUrl(context.vault, row),
    userIds: named.map(({ userId }) => userId).toSorted(),
    invitedCount: named.filter(({ isInvited }) => isInvited).length,
  };
}

/** Of `ConfigurationRow.memberIds`. */
function memberOf(id: string): { userId: string; isInvited: boolean } {
  const userId = invitedUserId(id);
  return { userId, isInvited: userId !== id };
}
