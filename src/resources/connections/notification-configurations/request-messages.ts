/** The text of notifications about access requests, in messages and in mail. Pure. */
import { counted } from "../../../kernel/text.ts";
import type { MessageFact, NotificationOrigin } from "./messages.ts";
import type { AccessRequestTriggerEvent } from "./triggers.ts";

export type RequestEvent = AccessRequestTriggerEvent & { readonly organizationName: string };

export function requestHeading({ trigger, requestedBy, status }: RequestEvent): string {
  if (trigger === "access-request:break-glass") return `${requestedBy} used break-glass access`;
  return trigger === "access-request:created"
    ? `${requestedBy} asks for access`
    : `The access request of ${requestedBy} is ${status}`;
}

export function requestFacts(event: RequestEvent): readonly MessageFact[] {
  const facts: readonly (readonly [string, string | null])[] = [
    ["Organization", event.organizationName],
    ["Event", event.trigger],
    ["Access request", event.requestId],
    ["Requested by", event.requestedBy],
    ["Reason", event.reason],
    ["Offer", event.offerName],
    ["Duration", event.durationSeconds === null ? null : counted(event.durationSeconds, "second")],
    ["Status", event.status],
    ["Decided by", event.decidedBy],
    ["Comment", event.decisionComment],
    ["Lapses at", event.status === "pending" ? event.lapsesAt : null],
  ];
  return facts.flatMap(([label, value]) => (value === null ? [] : [[label, value] as const]));
}

/** In the console. */
export const requestUrlOf = (publicUrl: string, { organizationName, requestId }: RequestEvent): string =>
  `${publicUrl}/app/${encodeURIComponent(organizationName)}/access-requests/${requestId}`;

export const requestPayload = ({ configurationId, publicUrl }: NotificationOrigin, event: RequestEvent): object => ({
  payload_version: "2",
  notification_configuration_id: configurationId,
  notification_configuration_url: `${publicUrl}/api/v2/notification-configurations/${configurationId}`,
  trigger_scope: "access-request",
  trigger: event.trigger,
  message: requestHeading(event),
  details: {
    access_request_id: event.requestId,
    access_request_url: requestUrlOf(publicUrl, event),
    status: event.status,
    requested_by: event.requestedBy,
    reason: event.reason,
    duration_seconds: event.durationSeconds,
    offer_name: event.offerName,
    created_at: event.createdAt,
    lapses_at: event.lapsesAt,
    decided_by: event.decidedBy,
    decided_at: event.decidedAt,
    decision_comment: event.decisionComment,
    organization_name: event.organizationName,
  },
});

export function requestMail(publicUrl: string, event: RequestEvent): { subject: string; text: string } {
  const heading = requestHeading(event);
  const lines = requestFacts(event).map(([label, value]) => `${label}: ${value}`);
  return {
    subject: `${event.organizationName}: ${heading}`,
    text: [heading, "", ...lines, "", requestUrlOf(publicUrl, event), ""].join("\n"),
  };
}
