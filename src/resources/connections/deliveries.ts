/** A delivery: a notification, its number of attempts, and the response to the last one. */
import { z } from "zod";
import type { NotificationTable } from "../../database/schema/notices.ts";
import { defineResource, type Operation } from "../../jsonapi/define.ts";
import { text, timestamp, wholeNumber } from "../../jsonapi/schemas.ts";
import type { DeliveryResponse } from "../shared/outbox/delivery.ts";

export type DeliveryView = Omit<NotificationTable, "content" | "secret" | "onceKey">;

const response = z.object({
  code: z.string(),
  body: z.string(),
  headers: z.record(z.string(), z.array(z.string())),
  "sent-at": z.string(),
  successful: z.string(),
});

export const deliveries = defineResource<DeliveryView>()(({ readOnly }) => ({
  type: "deliveries",
  doc: "The delivery of a notification: how often it was attempted, and with what result. Kept for 30 days after it has finished.",
  id: (delivery) => delivery.id,
  version: (delivery) => delivery.version,
  attributes: {
    event: readOnly(text(), "The event: a trigger, or an audited action.", {
      from: ({ eventName }) => eventName,
    }),
    place: readOnly(text().nullable(), "The workspace, as ORGANIZATION/WORKSPACE; null if the event has none."),
    state: readOnly(text(), "`waiting`, `delivered`, or `failed` after the last attempt."),
    attempts: readOnly(wholeNumber(), "The number of attempts."),
    response: readOnly(
      response.nullable(),
      "The response to the last attempt, truncated. Without a response, `code` is empty and `body` gives the reason. Null before the first attempt.",
      { from: (delivery) => (delivery.response === null ? null : (JSON.parse(delivery.response) as DeliveryResponse)) },
    ),
    "next-attempt-at": readOnly(timestamp().nullable(), "When the next attempt is made; null once it has finished.", {
      from: ({ state, dueMs }) => (state === "waiting" ? new Date(Number(dueMs)).toISOString() : null),
    }),
    "created-at": readOnly(timestamp(), "When the event happened."),
    "finished-at": readOnly(timestamp().nullable(), "When it was delivered, or failed for the last time."),
  },
  relationships: {},
  operations: {},
}));

export const listDeliveriesOperation = {
  method: "GET",
  query: { paged: true },
  answer: "list",
  answerType: "deliveries",
} as const satisfies Partial<Operation>;
