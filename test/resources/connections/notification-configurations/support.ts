/** Configurations, and the delivery job. */
import { couriers } from "../../../../src/jobs/index.ts";
import { deliverNotifications, type DeliveryLimits } from "../../../../src/resources/shared/outbox/delivery.ts";
import type { ServiceOptions } from "../../../../src/resources/shared/context.ts";
import type { Answer, Api, Caller, Json } from "../../../support/api.ts";
import { data, resource, unique } from "../../../support/builders.ts";
import { allowed } from "../../../support/receiver.ts";
import { upkeepOf } from "../../../support/states.ts";

export const bodyOf = (attributes: object, relationships: object = {}): object =>
  resource(
    "notification-configurations",
    { name: unique("told"), "destination-type": "generic", ...attributes },
    relationships,
  );

export const post = (caller: Caller, place: string, attributes: object, relationships?: object): Promise<Answer> =>
  caller.post(`${place}/notification-configurations`, bodyOf(attributes, relationships));

export async function make(caller: Caller, place: string, attributes: object, relationships?: object): Promise<Json> {
  return data(await post(caller, place, attributes, relationships));
}

/** Without waiting for retries. */
const hasty: DeliveryLimits = { concurrencyMax: 32, perDestinationMax: 4, tickMs: 5, lingerMs: -1 };

/** Runs the job. Returns the number of attempts. */
export async function deliver(
  api: Api,
  options: Partial<ServiceOptions> = {},
  pace: Partial<DeliveryLimits> = {},
  signal?: AbortSignal,
): Promise<number> {
  const { context, ...work } = upkeepOf(api, signal === undefined ? {} : { signal });
  const more = { ...context.options, publicUrl: "https://cadastre.example", privateAddresses: allowed, ...options };
  return deliverNotifications({ ...work, context: { ...context, options: more } }, couriers, { ...hasty, ...pace });
}

/** Makes pending retries due. */
export async function makeDue(api: Api): Promise<void> {
  await api.database.write((tx) =>
    tx.db.updateTable("notices").set({ dueMs: 0 }).where("state", "=", "waiting").execute(),
  );
}
