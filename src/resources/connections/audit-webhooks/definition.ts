/** An audit webhook: an organization's system is told of what is in the audit trail, and of locks that are held too long. */
import { z } from "zod";
import type { Standing } from "../../../access/organization.ts";
import type { AuditWebhookTable } from "../../../database/schema/notices.ts";
import { defineResource } from "../../../jsonapi/define.ts";
import { flag, nullIfBlank, text, timestamp } from "../../../jsonapi/schemas.ts";
import { activityDurationPattern, activityDurationSentence } from "../../../kernel/time.ts";
import type { OrganizationFacts } from "../../identity/organizations/definition.ts";
import type { DeliveryResponse } from "../../shared/outbox/delivery.ts";
import { listedDeliveries } from "../deliveries.ts";

const accessChanged = "access.changed";
export const lockHeld = "lock.held";

/** `*` for every event of the trail, `workspaces.*` for all of one kind, `workspaces.lock` for one action. */
const pattern = /^(\*|[a-z][a-z-]*\.(\*|[a-z][a-z-]*))$/;

const eventName = z
  .string()
  .max(100)
  .regex(pattern, {
    error: `must be '${accessChanged}', '${lockHeld}', an action such as 'workspaces.lock', all of a kind such as 'workspaces.*', or '*'`,
  });

/** What decides who may do what: records, teams and who is in them, memberships, tokens and trusts, and where a workspace is. */
const accessKinds: ReadonlySet<string> = new Set([
  "team-projects",
  "team-workspaces",
  "teams",
  "organization-memberships",
  "authentication-tokens",
  "identity-trusts",
  "organization-token-ttl-policies",
]);
const accessActions: ReadonlySet<string> = new Set(["projects.move-workspaces", "users.delete"]);

/** What an event of the trail is called for a webhook that wants these; undefined where it wants none of it. */
export function nameFor(wanted: readonly string[], action: string): string | undefined {
  const [kind = ""] = action.split(".");
  if (wanted.includes(accessChanged) && (accessKinds.has(kind) || accessActions.has(action))) return accessChanged;
  return wanted.some((each) => each === "*" || each === action || each === `${kind}.*`) ? action : undefined;
}

/** The token is not part of it: nothing that is shown needs it. */
export interface AuditWebhookView extends Omit<AuditWebhookTable, "url" | "token">, OrganizationFacts {
  readonly standing: Standing;
  /** Opened. */
  readonly shownUrl: string;
}

const name = text({ min: 1, max: 90, pattern: /\S/, sentence: "can't be blank" });
const url = text({
  min: 1,
  max: 2048,
  pattern: /^https?:\/\/[^\s@]+$/i,
  sentence: "must be an address that begins with https://, without a user name",
});
const events = z
  .array(eventName)
  .min(1, { error: "can't be empty: name at least one event" })
  .max(50, { error: "can't have more than 50 items" });

const needs = "an owner, or the organization's token";
const byId = "/audit-webhooks/:audit_webhook_id";
const ofOrganization = "/organizations/:organization_name/audit-webhooks";

export const auditWebhooks = defineResource<AuditWebhookView>()(({ required, optional, readOnly, toOne }) => ({
  type: "audit-webhooks",
  doc: "Tells an organization's own system of changes as they are made, and of locks that are held for too long.",
  id: (webhook) => webhook.id,
  version: (webhook) => [webhook.version, webhook.organizationFacts],
  attributes: {
    name: required(name, "Unique in the organization, ignoring case.", { folded: true }),
    enabled: optional(flag(), "Whether it is told. An address is asked first, and must answer with 2xx.", {
      default: false,
    }),
    url: required(url, "Where to. Stored encrypted, and not part of the audit trail.", {
      column: false,
      audited: false,
      from: ({ shownUrl }) => shownUrl,
    }),
    token: optional(nullIfBlank(text({ min: 1, max: 512 })), "What the body is signed with; always shown as null.", {
      column: false,
      audited: false,
      from: () => null,
    }),
    events: required(
      events,
      "Of what: `access.changed`, `lock.held`, an action of the trail (`workspaces.lock`), all of a kind (`workspaces.*`), or `*`.",
      { column: false, from: (webhook) => JSON.parse(webhook.events) as string[] },
    ),
    "lock-held-longer-than": optional(
      text({ max: 5, pattern: activityDurationPattern, sentence: activityDurationSentence }),
      "How long a workspace is locked by a person or a team before `lock.held` is told: `36h`, `2d`.",
      { default: "24h" },
    ),
    "delivery-responses": readOnly(
      z.array(z.record(z.string(), z.unknown())),
      "What the last attempt was answered with; empty before there was one.",
      {
        audited: false,
        from: ({ lastDelivery, shownUrl }) =>
          lastDelivery === null ? [] : [{ url: shownUrl, ...(JSON.parse(lastDelivery) as DeliveryResponse) }],
      },
    ),
    "created-at": readOnly(timestamp(), "When it was made."),
    "updated-at": readOnly(timestamp(), "When it was last changed."),
  },
  relationships: {
    organization: toOne("organizations", "Whose trail it is.", { id: (webhook) => webhook.organizationName }),
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
      summary: "Have a system told of what is in the audit trail; where it is enabled, it is asked whether it listens",
      needs,
      body: "create",
      answer: "created",
      example: {
        data: {
          type: "audit-webhooks",
          attributes: {
            name: "security",
            url: "https://siem.example/cadastre",
            token: "a secret of both",
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
      summary: "Change an audit webhook; what is enabled anew, or led elsewhere, is asked first",
      needs,
      body: "update",
      answer: "document",
      example: { data: { type: "audit-webhooks", attributes: { events: ["*"] } } },
    },
    deleteAuditWebhook: {
      method: "DELETE",
      path: byId,
      summary: "Delete an audit webhook; what still waits to be told is not",
      needs,
      answer: "nothing",
    },
    listAuditWebhookDeliveries: {
      ...listedDeliveries,
      path: `${byId}/deliveries`,
      summary: "List what was told by an audit webhook, and what came of it, the newest first",
      needs,
    },
    verifyAuditWebhook: {
      method: "POST",
      path: `${byId}/actions/verify`,
      summary: "Ask now whether it listens: 400 where it does not",
      needs,
      answer: "document",
    },
  },
}));
