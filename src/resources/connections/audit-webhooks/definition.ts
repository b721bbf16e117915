/** An audit webhook: sends an organization's audit events, and reports of long-held locks, to an external system. */
import { z } from "zod";
import type { OrganizationStanding } from "../../../access/organization.ts";
import type { AuditWebhookTable } from "../../../database/schema/notices.ts";
import { defineResource } from "../../../jsonapi/define.ts";
import { flag, nullIfBlank, text, timestamp } from "../../../jsonapi/schemas.ts";
import { activityDurationPattern, activityDurationSentence } from "../../../kernel/time.ts";
import type { OrganizationFacts } from "../../identity/organizations/definition.ts";
import type { DeliveryResponse } from "../../shared/outbox/delivery.ts";
import { listDeliveriesOperation } from "../deliveries.ts";

const accessChanged = "access.changed";
export const lockHeldEvent = "lock.held";

/** `*` for every audit event, `workspaces.*` for all of one type, `workspaces.lock` for one action. */
const eventPattern = /^(\*|[a-z][a-z-]*\.(\*|[a-z][a-z-]*))$/;

const eventName = z
  .string()
  .max(100)
  .regex(eventPattern, {
    error: `must be '${accessChanged}', '${lockHeldEvent}', an action such as 'workspaces.lock', all of a type such as 'workspaces.*', or '*'`,
  });

const accessTypes: ReadonlySet<string> = new Set([
  "team-projects",
  "team-workspaces",
  "teams",
  "organization-memberships",
  "authentication-tokens",
  "identity-trusts",
  "organization-token-ttl-policies",
]);
const accessActions: ReadonlySet<string> = new Set(["projects.move-workspaces", "users.delete"]);

export function subscribedEventName(subscriptions: readonly string[], action: string): string | undefined {
  const [type = ""] = action.split(".");
  if (subscriptions.includes(accessChanged) && (accessTypes.has(type) || accessActions.has(action)))
    return accessChanged;
  return subscriptions.some((each) => each === "*" || each === action || each === `${type}.*`) ? action : undefined;
}

export interface AuditWebhookView extends Omit<AuditWebhookTable, "url" | "token">, OrganizationFacts {
  readonly standing: OrganizationStanding;
  readonly decryptedUrl: string;
}

const name = text({ min: 1, max: 90, pattern: /\S/, sentence: "can't be blank" });
const url = text({
  min: 1,
  max: 2048,
  pattern: /^https?:\/\/[^\s@]+$/i,
  sentence: "must begin with https:// and contain no user name",
});
const events = z
  .array(eventName)
  .min(1, { error: "can't be empty. Name at least one event" })
  .max(50, { error: "can't have more than 50 items" });

const needs = "an owner, or the organization's token";
const byId = "/audit-webhooks/:audit_webhook_id";
const ofOrganization = "/organizations/:organization_name/audit-webhooks";

export const auditWebhooks = defineResource<AuditWebhookView>()(({ required, optional, readOnly, toOne }) => ({
  type: "audit-webhooks",
  doc: "Sends audit events, and notifications about locks that are held too long, to an organization's own system.",
  id: (webhook) => webhook.id,
  version: (webhook) => [webhook.version, webhook.organizationFactsVersion],
  attributes: {
    name: required(name, "Unique in the organization, ignoring case.", { folded: true }),
    enabled: optional(
      flag(),
      "Whether events are sent. Before it is enabled, the address must respond to a test event with 2xx.",
      {
        default: false,
      },
    ),
    url: required(url, "The address that events are sent to. Stored encrypted, and not part of the audit log.", {
      column: false,
      audited: false,
      from: ({ decryptedUrl }) => decryptedUrl,
    }),
    token: optional(nullIfBlank(text({ min: 1, max: 512 })), "The key that signs the body; always shown as null.", {
      column: false,
      audited: false,
      from: () => null,
    }),
    events: required(
      events,
      "The events to send: `access.changed`, `lock.held`, an audited action (`workspaces.lock`), all actions of a type (`workspaces.*`), or `*`.",
      { column: false, from: (webhook) => JSON.parse(webhook.events) as string[] },
    ),
    "lock-held-longer-than": optional(
      text({ max: 5, pattern: activityDurationPattern, sentence: activityDurationSentence }),
      "How long a user or a team must hold a workspace's lock before `lock.held` is sent: `36h`, `2d`.",
      { default: "24h" },
    ),
    "delivery-responses": readOnly(
      z.array(z.record(z.string(), z.unknown())),
      "The response to the last attempt; empty before the first.",
      {
        audited: false,
        from: ({ lastDelivery, decryptedUrl }) =>
          lastDelivery === null ? [] : [{ url: decryptedUrl, ...(JSON.parse(lastDelivery) as DeliveryResponse) }],
      },
    ),
    "created-at": readOnly(timestamp(), "When it was created."),
    "updated-at": readOnly(timestamp(), "When it was last changed."),
  },
  relationships: {
    organization: toOne("organizations", "The organization whose audit events are sent.", {
      id: (webhook) => webhook.organizationName,
    }),
  },
  links: (webhook) => ({ self: `/api/v2/audit-webhooks/${webhook.id}` }),
  operations: {
    listAuditWebhooks: {
      method: "GET",
      path: ofOrganization,
      summary: "List audit webhooks, by name",
      needs,
      query: { paged: true },
      answer: "list",
    },
    createAuditWebhook: {
      method: "POST",
      path: ofOrganization,
      summary: "Create an audit webhook; if it is enabled, its address must respond to a test event",
      needs,
      body: "create",
      answer: "created",
      example: {
        data: {
          type: "audit-webhooks",
          attributes: {
            name: "security",
            url: "https://siem.example/cadastre",
            token: "a shared secret",
            events: ["access.changed", "lock.held", "workspaces.force-unlock"],
            "lock-held-longer-than": "36h",
          },
        },
      },
    },
    showAuditWebhook: { method: "GET", path: byId, summary: "Show an audit webhook", needs, answer: "document" },
    updateAuditWebhook: {
      method: "PATCH",
      path: byId,
      summary:
        "Update an audit webhook; if it is enabled, or its address or token changes, the address must respond to a test event",
      needs,
      body: "update",
      answer: "document",
      example: { data: { type: "audit-webhooks", attributes: { events: ["*"] } } },
    },
    deleteAuditWebhook: {
      method: "DELETE",
      path: byId,
      summary: "Delete an audit webhook and its pending deliveries",
      needs,
      answer: "nothing",
    },
    listAuditWebhookDeliveries: {
      ...listDeliveriesOperation,
      path: `${byId}/deliveries`,
      summary: "List the deliveries of an audit webhook and their results, newest first",
      needs,
    },
    verifyAuditWebhook: {
      method: "POST",
      path: `${byId}/actions/verify`,
      summary: "Send a test event now; responds with 400 if the address does not accept it",
      needs,
      answer: "document",
    },
  },
}));
