/** Configurations, and the delivery job. */
import { notificationSenders } from "../../../../src/jobs/index.ts";
import { deliverNotifications, type DeliveryLimits } from "../../../../src/resources/shared/outbox/delivery.ts";
import type { ServiceOptions } from "../../../../src/resources/shared/context.ts";
import type { Answer, Api, Caller, Json } from "../../../support/api.ts";
import { data, resource, unique } from "../../../support/builders.ts";
import { allowed } from "../../../support/receiver.ts";
import { jobContextOf } from "../../../support/states.ts";

export const bodyOf = (attributes: object, relationships: object = {}): object =>
  resource(
    "notification-configurations",
    { name: unique("notify"), "destination-type": "generic", ...attributes },
    relationships,
  );

export const post = (caller: Caller, parentPath: string, attributes: object, relationships?: object): Promise<Answer> =>
  caller.post(`${parentPath}/notification-configurations`, bodyOf(attributes, relationships));

export async function make(
  caller: Caller,
  parentPath: string,
  attributes: object,
  relationships?: object,
): Promise<Json> {
  return data(await post(caller, parentPath, attributes, relationships));
}

/** Without waiting for retries. */
const fastLimits: DeliveryLimits = { concurrencyMax: 32, perDestinationMax: 4, tickMs: 5, lingerMs: -1 };

/** Runs the job. Returns the number of attempts. */
export async function deliver(
  api: Api,
  options: Partial<ServiceOptions> = {},
  limits: Partial<DeliveryLimits> = {},
  signal?: AbortSignal,
): Promise<number> {
  const { context, ...work } = jobContextOf(api, signal === undefined ? {} : { signal });
  const sendOptions = {
    ...context.options,
    publicUrl: "https://cadastre.example",
    privateAddresses: allowed,
    ...options,
  };
  return deliverNotifications({ ...work, context: { ...context, options: sendOptions } }, notificationSenders, {
    ...fastLimits,
    ...limits,
  });
}

/** Makes pending retries due. */
export async function makeDue(api: Api): Promise<void> {
  await api.database.write((tx) =>
    tx.db.updateTable("notices").set({ dueMs: 0 }).where("state", "=", "waiting").execute(),
  );
}
