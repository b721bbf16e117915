/** A notification configuration: who gets notifications about a workspace, a project's workspaces, or a team's workspaces. */
import { z } from "zod";
import type { NotificationConfigurationTable } from "../../../database/schema/notices.ts";
import { defineResource } from "../../../jsonapi/define.ts";
import { flag, nullIfBlank, oneOf, text, timestamp } from "../../../jsonapi/schemas.ts";
import type { DeliveryResponse } from "../../shared/outbox/delivery.ts";
import { listDeliveriesOperation } from "../deliveries.ts";
import { type SubscribableType, triggerNames } from "./triggers.ts";

const destinationTypes = ["generic", "slack", "microsoft-teams", "email"] as const;

export interface NotificationConfigurationView extends Omit<NotificationConfigurationTable, "url" | "token"> {
  readonly decryptedUrl: string | null;
  readonly userIds: readonly string[];
  /** Users who are only invited: their ids change when they join. */
  readonly invitedCount: number;
}

export function subscribableTypeOf(
  row: Pick<NotificationConfigurationTable, "teamId" | "projectId">,
): SubscribableType {
  return row.teamId !== null ? "teams" : row.projectId !== null ? "projects" : "workspaces";
}

const name = text({ min: 1, max: 256, pattern: /\S/, sentence: "can't be blank" });
const url = text({
  min: 1,
  max: 2048,
  pattern: /^https?:\/\/[^\s@]+$/i,
  sentence: "must begin with https:// and contain no user name",
});
const address = text({
  min: 3,
  max: 254,
  pattern: /^[^\s@,;<>"]+@[^\s@,;<>"]+$/,
  sentence: "must be a valid email address",
});
const boundedList = <Item extends z.ZodType>(item: Item, max: number) =>
  z.array(item).max(max, { error: `can't have more than ${max} items` });

const readers = "admin access to the workspace or project; for a team, permission to manage it";
const senders = `${readers} and at least the team's access`;
const byId = "/notification-configurations/:notification_configuration_id";
const example = {
  data: {
    type: "notification-configurations",
    attributes: {
      name: "Deployments",
      "destination-type": "generic",
      enabled: false,
      url: "https://hooks.example/terraform",
      token: "a shared secret",
      triggers: ["run:needs_attention", "run:errored"],
    },
  },
};

const responsesOf = ({ lastDelivery, decryptedUrl }: NotificationConfigurationView): object[] =>
  lastDelivery === null ? [] : [{ url: decryptedUrl, ...(JSON.parse(lastDelivery) as DeliveryResponse) }];

const ofSubscribable = <const Path extends string>(path: Path, noun: string, needs: string) => ({
  list: {
    method: "GET",
    path,
    summary: `List the notification configurations of a ${noun}, oldest first`,
    needs,
    query: { paged: "if-requested" },
    answer: "list",
  } as const,
  create: {
    method: "POST",
    path,
    summary: `Create a notification configuration of a ${noun}; if it is enabled, its address must respond to a test notification`,
    needs,
    body: "create",
    answer: "created",
    example,
  } as const,
});

const ofWorkspace = ofSubscribable(
  "/workspaces/:workspace_id/notification-configurations",
  "workspace",
  "admin access to the workspace",
);
const ofProject = ofSubscribable(
  "/projects/:project_id/notification-configurations",
  "project",
  "admin access to the project",
);
const teamManagers = "an owner, or a team with 'manage-teams'";
const ofTeam = ofSubscribable("/teams/:team_id/notification-configurations", "team", teamManagers);

export const notificationConfigurations = defineResource<NotificationConfigurationView>()(
  ({ requiredFixed, required, optional, readOnly, toOne, toMany }) => ({
    type: "notification-configurations",
    acceptedType: "notification-configuration",
    doc: "Sends notifications about events in a workspace, in all workspaces of a project, or in those that a team can read.",
    id: (configuration) => configuration.id,
    version: ({ version, userIds, invitedCount }) => [version, userIds.length, invitedCount],
    attributes: {
      name: required(name, "The name, for people."),
      "destination-type": requiredFixed(
        oneOf(destinationTypes),
        "How notifications are sent: JSON to an address, a message to Slack or Microsoft Teams, or mail.",
      ),
      enabled: optional(
        flag(),
        "Whether notifications are sent. Before it is enabled, the address must respond to a test notification with 2xx.",
        {
          default: false,
        },
      ),
      url: optional(
        nullIfBlank(url),
        "The address that notifications are sent to; not for mail. Stored encrypted, and not part of the audit log.",
        {
          column: false,
          audited: false,
          from: ({ decryptedUrl }) => decryptedUrl,
        },
      ),
      token: optional(
        nullIfBlank(text({ min: 1, max: 512 })),
        "The key that signs the body; only for `generic`. Always shown as null.",
        { column: false, audited: false, from: () => null },
      ),
      triggers: optional(
        boundedList(oneOf(triggerNames), triggerNames.length),
        "The events to notify about. `change_request:created` is accepted for teams, but never happens.",
        { column: false, from: ({ triggers }) => JSON.parse(triggers) as string[] },
      ),
      "email-addresses": optional(boundedList(address, 50).nullable(), "Recipients of mail, in addition to `users`.", {
        column: false,
        from: ({ emailAddresses }) => JSON.parse(emailAddresses) as string[],
      }),
      "delivery-responses": readOnly(
        z.array(
          z.object({
            url: z.string().nullable(),
            body: z.string(),
            code: z.string(),
            headers: z.record(z.string(), z.array(z.string())),
            "sent-at": z.string(),
            successful: z.string(),
          }),
        ),
        "The response to the last attempt, including tests; empty before the first.",
        { audited: false, from: responsesOf },
      ),
      "created-at": readOnly(timestamp(), "When it was created."),
      "updated-at": readOnly(timestamp(), "When it was last changed."),
    },
    relationships: {
      subscribable: toOne(["workspaces", "projects", "teams"], "The workspace, project or team that it belongs to.", {
        id: (configuration) => configuration.subscribableId,
        type: subscribableTypeOf,
      }),
      users: toMany(
        "users",
        "Members of the organization who receive mail, including invited ones; a team's configuration without any sends mail to all of its members. An update of a mail configuration without users removes them all.",
        { create: "optional", update: "optional", ids: ({ userIds }) => userIds },
      ),
    },
    links: (configuration) => ({ self: `/api/v2/notification-configurations/${configuration.id}` }),
    operations: {
      listWorkspaceNotificationConfigurations: ofWorkspace.list,
      createWorkspaceNotificationConfiguration: ofWorkspace.create,
      listProjectNotificationConfigurations: ofProject.list,
      createProjectNotificationConfiguration: ofProject.create,
      listTeamNotificationConfigurations: ofTeam.list,
      createTeamNotificationConfiguration: {
        ...ofTeam.create,
        needs: `${teamManagers}, with at least the team's access`,
      },
      showNotificationConfiguration: {
        method: "GET",
        path: byId,
        summary: "Show a notification configuration",
        needs: readers,
        answer: "document",
      },
      updateNotificationConfiguration: {
        method: "PATCH",
        path: byId,
        summary:
          "Update a notification configuration; if it is enabled, or its address or token changes, the address must respond to a test notification",
        needs: senders,
        body: "update",
        answer: "document",
        example: { data: { type: "notification-configurations", attributes: { name: "Deployments of the week" } } },
      },
      deleteNotificationConfiguration: {
        method: "DELETE",
        path: byId,
        summary: "Delete a notification configuration and its pending deliveries",
        needs: readers,
        answer: "nothing",
      },
      listNotificationDeliveries: {
        ...listDeliveriesOperation,
        path: `${byId}/deliveries`,
        summary: "List the deliveries of a notification configuration and their results, newest first",
        needs: senders,
      },
      verifyNotificationConfiguration: {
        method: "POST",
        path: `${byId}/actions/verify`,
        summary: "Send a test notification now; responds with 400 if the destination does not accept it",
        needs: senders,
        answer: "document",
      },
    },
  }),
);
