/** A notification configuration: whom to tell of what happens in a workspace, in a project's workspaces, or to a team. */
import { z } from "zod";
import type { NotificationConfigurationTable } from "../../../database/schema/notices.ts";
import { defineResource } from "../../../jsonapi/define.ts";
import { flag, nullIfBlank, oneOf, text, timestamp } from "../../../jsonapi/schemas.ts";
import type { DeliveryResponse } from "../../shared/outbox/delivery.ts";
import { listedDeliveries } from "../deliveries.ts";
import { type SubscribableType, triggerNames } from "./triggers.ts";

const destinationTypes = ["generic", "slack", "microsoft-teams", "email"] as const;

/** The token is not part of it: nothing that is shown needs it. */
export interface NotificationConfigurationView extends Omit<NotificationConfigurationTable, "url" | "token"> {
  /** Opened. */
  readonly shownUrl: string | null;
  readonly userIds: readonly string[];
  /** How many of them are only invited: their ids change when they come in. */
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
  sentence: "must be an address that begins with https://, without a user name",
});
const address = text({ min: 3, max: 254, pattern: /^[^\s@,;<>"]+@[^\s@,;<>"]+$/, sentence: "is not a mail address" });
const listed = <Item extends z.ZodType>(item: Item, max: number) =>
  z.array(item).max(max, { error: `can't have more than ${max} items` });

const readers = "admin access to the workspace or project; for a team, whoever may manage it";
const senders = `${readers} and holds what the team holds`;
const byId = "/notification-configurations/:notification_configuration_id";
const example = {
  data: {
    type: "notification-configurations",
    attributes: {
      name: "Deployments",
      "destination-type": "generic",
      enabled: false,
      url: "https://hooks.example/terraform",
      token: "a secret of both",
      triggers: ["run:needs_attention", "run:errored"],
    },
  },
};

const responsesOf = ({ lastDelivery, shownUrl }: NotificationConfigurationView): object[] =>
  lastDelivery === null ? [] : [{ url: shownUrl, ...(JSON.parse(lastDelivery) as DeliveryResponse) }];

const ofSubscribable = <const Path extends string>(path: Path, noun: string, needs: string) => ({
  list: {
    method: "GET",
    path,
    summary: `List the notification configurations of a ${noun}, the oldest first`,
    needs,
    query: { paged: "if-asked" },
    answer: "list",
  } as const,
  create: {
    method: "POST",
    path,
    summary: `Have somebody told of what happens ${noun === "team" ? "to a team" : `in a ${noun}`}; where it is enabled, they are asked whether they listen`,
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
  ({ once, required, optional, readOnly, toOne, toMany }) => ({
    type: "notification-configurations",
    alsoTyped: "notification-configuration",
    doc: "Tells somebody of what happens in a workspace, in all workspaces of a project, or in those that a team may read.",
    id: (configuration) => configuration.id,
    version: ({ version, userIds, invitedCount }) => [version, userIds.length, invitedCount],
    attributes: {
      name: required(name, "What it is called."),
      "destination-type": once(
        oneOf(destinationTypes),
        "How they are told: JSON to an address, a message to Slack or to Microsoft Teams, or mail.",
      ),
      enabled: optional(flag(), "Whether they are told. An address is asked first, and must answer with 2xx.", {
        default: false,
      }),
      url: optional(nullIfBlank(url), "Where to; not for mail. Stored encrypted, and not part of the audit trail.", {
        column: false,
        audited: false,
        from: ({ shownUrl }) => shownUrl,
      }),
      token: optional(
        nullIfBlank(text({ min: 1, max: 512 })),
        "What the body is signed with, for `generic` alone; always shown as null.",
        { column: false, audited: false, from: () => null },
      ),
      triggers: optional(
        listed(oneOf(triggerNames), triggerNames.length),
        "Of what they are told. `change_request:created` is for teams, and never happens here.",
        { column: false, from: ({ triggers }) => JSON.parse(triggers) as string[] },
      ),
      "email-addresses": optional(listed(address, 50).nullable(), "Whom to send mail, beside those of `users`.", {
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
        "What the last attempt was answered with, whether it was to ask or to tell; empty before there was one.",
        { audited: false, from: responsesOf },
      ),
      "created-at": readOnly(timestamp(), "When it was made."),
      "updated-at": readOnly(timestamp(), "When it was last changed."),
    },
    relationships: {
      subscribable: toOne(["workspaces", "projects", "teams"], "What it is about.", {
        id: (configuration) => configuration.subscribableId,
        type: subscribableTypeOf,
      }),
      users: toMany(
        "users",
        "Whom of the organization to send mail, also who is only invited; for a team, all of its members where none is named. An update of a configuration for mail that names none leaves none.",
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
        needs: `${teamManagers}, who holds what the team holds`,
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
        summary: "Change a notification configuration; what is enabled anew, or led elsewhere, is asked first",
        needs: senders,
        body: "update",
        answer: "document",
        example: { data: { type: "notification-configurations", attributes: { name: "Deployments of the week" } } },
      },
      deleteNotificationConfiguration: {
        method: "DELETE",
        path: byId,
        summary: "Delete a notification configuration; what still waits to be told is not",
        needs: readers,
        answer: "nothing",
      },
      listNotificationDeliveries: {
        ...listedDeliveries,
        path: `${byId}/deliveries`,
        summary: "List what was told by a notification configuration, and what came of it, the newest first",
        needs: senders,
      },
      verifyNotificationConfiguration: {
        method: "POST",
        path: `${byId}/actions/verify`,
        summary: "Ask now whether they listen: 400 where they do not",
        needs: senders,
        answer: "document",
      },
    },
  }),
);
