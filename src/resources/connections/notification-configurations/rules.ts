/** Pure rules of notification configurations. */
import type { NotificationConfigurationTable } from "../../../database/schema/notices.ts";
import { changedColumns, createdColumns } from "../../../jsonapi/columns.ts";
import type { CreateAttributes, UpdateAttributes } from "../../../jsonapi/define.ts";
import { attributeFault, type Fault, relationshipFault } from "../../../kernel/errors.ts";
import { hostOf } from "../../shared/outbox/webhook.ts";
import { notificationConfigurations, type NotificationConfigurationView, subscribableTypeOf } from "./definition.ts";
import { triggersFor } from "./triggers.ts";

export type ConfigurationUpdateInput = UpdateAttributes<typeof notificationConfigurations>;
type ConfigurationCreateInput = CreateAttributes<typeof notificationConfigurations>;

export const urlOwner = (id: string): string => `notification_configurations/${id}/url`;
export const tokenOwner = (id: string): string => `notification_configurations/${id}/token`;

export const configurationsMax = 20;
const usersMax = 100;

export interface ConfigurationDraft {
  readonly view: NotificationConfigurationView;
  readonly token: string | null | undefined;
  readonly userIds: readonly string[];
}

type ConfigurationIdentity = Pick<
  NotificationConfigurationTable,
  "id" | "organizationId" | "workspaceId" | "projectId" | "teamId" | "subscribableId" | "createdAt"
>;

export function newConfiguration(
  attributes: ConfigurationCreateInput,
  userIds: readonly string[],
  identity: ConfigurationIdentity,
): ConfigurationDraft {
  const { url = null, token = null, triggers = [], emailAddresses } = attributes;
  const view = {
    ...createdColumns(notificationConfigurations, attributes),
    ...identity,
    triggers: listOf(triggers),
    emailAddresses: listOf(emailAddresses ?? []),
    destination: destinationOf(attributes.destinationType, url),
    lastDelivery: null,
    updatedAt: identity.createdAt,
    version: 1,
    decryptedUrl: url,
    userIds: unique(userIds).toSorted(),
    invitedCount: 0,
  };
  return { view, token, userIds: view.userIds };
}

/** Without `userIds`, a mail configuration loses all its users. */
export function changedConfiguration(
  before: NotificationConfigurationView,
  attributes: ConfigurationUpdateInput,
  userIds: readonly string[] | undefined,
): ConfigurationDraft {
  const { url = before.decryptedUrl, token, triggers, emailAddresses } = attributes;
  const view = {
    ...before,
    ...changedColumns(notificationConfigurations, attributes),
    ...(triggers !== undefined && { triggers: listOf(triggers) }),
    ...(emailAddresses !== undefined && { emailAddresses: listOf(emailAddresses ?? []) }),
    decryptedUrl: url,
    destination: destinationOf(before.destinationType, url),
    userIds: unique(userIds ?? []).toSorted(),
  };
  return { view, token, userIds: view.userIds };
}

const unique = <T>(items: readonly T[]): T[] => [...new Set(items)];
const listOf = (items: readonly string[]): string => JSON.stringify(unique(items));

const destinationOf = (destinationType: string, url: string | null): string =>
  destinationType === "email" ? "email" : hostOf(url ?? "");

export function configurationFaults({ view, token, userIds }: ConfigurationDraft): Fault[] {
  const { destinationType: type, decryptedUrl } = view;
  const faults: Fault[] = [];
  if (type === "email") {
    if (decryptedUrl !== null)
      faults.push(attributeFault("url", "Url can't be set for mail. Use users or email-addresses instead"));
  } else {
    if (decryptedUrl === null) faults.push(attributeFault("url", "Url can't be blank"));
    if (view.emailAddresses !== "[]")
      faults.push(attributeFault("email-addresses", "Email addresses can only be set for mail"));
    if (userIds.length > 0) faults.push(relationshipFault("users", "Users can only be named for mail"));
  }
  if (token && type !== "generic")
    faults.push(
      attributeFault("token", "Token can only be set for generic destinations, because the others are not signed"),
    );
  if (userIds.length > usersMax)
    faults.push(
      relationshipFault(
        "users",
        `Users can have at most ${usersMax} entries. Use the email address of a mailing list instead`,
      ),
    );
  return [...faults, ...triggerFaults(view)];
}

function triggerFaults(view: NotificationConfigurationView): Fault[] {
  const type = subscribableTypeOf(view);
  const known: readonly string[] = triggersFor(type);
  const unsupported = (JSON.parse(view.triggers) as string[]).filter((trigger) => !known.includes(trigger));
  return unsupported.map((trigger) =>
    attributeFault("triggers", `Triggers can't include ${trigger}, which is only available for teams`),
  );
}

export const tooMany = (noun: string): Fault => ({
  detail: `The ${noun} has ${configurationsMax} notification configurations already, and can't have more. Delete one first.`,
  pointer: "/data",
});

export interface NamedMember {
  readonly membershipId: string;
  readonly userId: string;
  readonly isInvited: boolean;
}

export function unknownUserFaults(userIds: readonly string[], members: readonly NamedMember[]): Fault[] {
  const known = new Set(members.map(({ userId }) => userId));
  return userIds
    .filter((id) => !known.has(id))
    .map((id) => relationshipFault("users", `There is no user '${id}' in this organization`));
}

export const countInvited = (members: readonly NamedMember[]): number =>
  members.filter(({ isInvited }) => isInvited).length;

export function needsVerification(
  before: NotificationConfigurationView | undefined,
  draft: ConfigurationDraft,
): boolean {
  const { view, token } = draft;
  if (view.enabled === 0 || view.destinationType === "email") return false;
  return before?.enabled !== 1 || before.decryptedUrl !== view.decryptedUrl || token !== undefined;
}
