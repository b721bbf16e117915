/** A delivery: something that somebody was to be told, how often that was tried, and what the last attempt was answered with. */
import { z } from "zod";
import type { NoticeTable } from "../../database/schema/notices.ts";
import { defineResource, type Operation } from "../../jsonapi/define.ts";
import { text, timestamp, wholeNumber } from "../../jsonapi/schemas.ts";
import type { DeliveryResponse } from "../shared/outbox/delivery.ts";

/** What was told is not part of it: whoever was told has it. */
export type DeliveryView = Omit<NoticeTable, "content" | "secret" | "onceKey">;

const response = z.object({
  code: z.string(),
  body: z.string(),
  headers: z.record(z.string(), z.array(z.string())),
  "sent-at": z.string(),
  successful: z.string(),
});

export const deliveries = defineResource<DeliveryView>()(({ readOnly }) => ({
  type: "deliveries",
  doc: "Something that somebody was told, or is to be: how often it was tried, and what came of it. Kept for 30 days after its end.",
  id: (delivery) => delivery.id,
  version: (delivery) => delivery.version,
  attributes: {
    event: readOnly(text(), "What happened: a trigger, or an event of the audit trail.", {
      from: ({ eventName }) => eventName,
    }),
    place: readOnly(text().nullable(), "Where, as ORGANIZATION/WORKSPACE; null for what has no such place."),
    state: readOnly(text(), "`waiting`, `delivered`, or `failed` after the last attempt."),
    attempts: readOnly(wholeNumber(), "How often it was tried."),
    response: readOnly(
      response.nullable(),
      "What the last attempt was answered with, cut: `code` is empty where nobody answered, and `body` then says why. Null before the first.",
      { from: (delivery) => (delivery.response === null ? null : (JSON.parse(delivery.response) as DeliveryResponse)) },
    ),
    "next-attempt-at": readOnly(timestamp().nullable(), "When it is tried next; null once it has ended.", {
      from: ({ state, dueMs }) => (state === "waiting" ? new Date(Number(dueMs)).toISOString() : null),
    }),
    "created-at": readOnly(timestamp(), "When it happened."),
    "finished-at": readOnly(timestamp().nullable(), "When it was delivered, or given up."),
  },
  relationships: {},
  operations: {},
}));

/** For whatever things are told by. */
export const listedDeliveries = {
  method: "GET",
  query: { paged: true },
  answer: "list",
  answers: "deliveries",
} as const satisfies Partial<Operation>;
