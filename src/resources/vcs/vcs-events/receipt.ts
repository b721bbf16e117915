/** Receives webhooks and stores their deliveries and events for the job. Must not read anything before verifying the signature. */
import { Capability } from "../../../access/capability.ts";
import { createHash } from "node:crypto";
import type { VcsDeliveryTable, VcsEventTable } from "../../../database/schema/vcs.ts";
import { parseBounded, TooManyMembers } from "../../../kernel/bounded-json.ts";
import { AppError } from "../../../kernel/errors.ts";
import { newId } from "../../../kernel/ids.ts";
import { now } from "../../../kernel/time.ts";
import { type WebhookConnection, loadWebhookConnection } from "../../connections/oauth-clients/reads.ts";
import type { Context } from "../../shared/context.ts";
import { vcsEventMeasurements } from "../../shared/process-events.ts";
import type { WebhookRequest, ParsedWebhook } from "../providers/provider.ts";
import { providerOf } from "../providers/providers.ts";
import { type VcsRepositoryEvent, eventLabel } from "../triggers/repository-event.ts";
import { lockWorkspacesOf, insertDeliveries, insertEvents } from "./store.ts";

const issueCapability = Capability.issuer("webhook");

export const vcsEventJob = "vcs-events";

/** The largest maximum of all providers, GitHub's. */
export const deliveryBytesMax = 25 * 1024 * 1024;

export const connectionOf = (context: Context, id: string): Promise<WebhookConnection | undefined> =>
  loadWebhookConnection(context.database.reader, context, id);

/** `unknown`: not about a connected repository, or of an unsupported kind. */
export type DeliveryReceipt = "stored" | "repeated" | "unknown";

/** Throws `unauthorized` for an invalid signature. */
export async function receiveWebhook(
  context: Context,
  connection: WebhookConnection,
  inbound: WebhookRequest,
): Promise<DeliveryReceipt> {
  const provider = providerOf(connection.serviceProvider);
  // Always checks all secrets, so that the response time reveals nothing.
  const authentic = connection.webhookSecrets.map((secret) => provider.isAuthentic(inbound, secret));
  if (!authentic.includes(true)) {
    vcsEventMeasurements.publish({ provider: connection.serviceProvider, result: "refused" });
    throw refusal(connection);
  }
  const capability = issueCapability(connection.id);
  const received = provider.parseWebhook(inbound, parseBody(inbound.body), connection);
  const receipt =
    received === undefined ? "unknown" : await storeEvents(context, capability, connection, received, inbound);
  vcsEventMeasurements.publish({ provider: connection.serviceProvider, result: receipt });
  if (receipt === "stored") context.wake?.(vcsEventJob);
  return receipt;
}

const refusal = ({ webhookSecrets }: WebhookConnection): AppError =>
  new AppError(
    "unauthorized",
    webhookSecrets.length === 0
      ? "This connection has no webhook-secret yet. Set one on its OAuth client, and the same at the provider."
      : "The webhook is not signed with this connection's webhook-secret. Set the same secret at the provider.",
  );

function parseBody(body: Uint8Array): unknown {
  try {
    return parseBounded(body);
  } catch (error) {
    if (error instanceof TooManyMembers)
      throw new AppError("too-large", `${error.message} Push fewer commits at a time, or start a run manually.`);
    return undefined;
  }
}

async function storeEvents(
  context: Context,
  capability: Capability<"webhook">,
  connection: WebhookConnection,
  { repository, deliveryId, events }: ParsedWebhook,
  { body }: WebhookRequest,
): Promise<DeliveryReceipt> {
  if (events.length === 0) return "unknown";
  // Without a delivery id, the body identifies a repeated delivery.
  const deliveryKey = deliveryId?.slice(0, 256) || createHash("sha256").update(body).digest("hex");
  const deliveries = events.map((event, position) => newDelivery(connection, { event, position, deliveryKey }));
  return context.database.write(async (tx) => {
    const workspaceIds = await lockWorkspacesOf(tx, connection.id, repository);
    if (workspaceIds.length === 0) return "unknown";
    const newIds = await insertDeliveries(tx, capability, deliveries);
    if (newIds.size === 0) return "repeated";
    const rows = deliveries.flatMap(({ id, createdAt }, position) =>
      newIds.has(id)
        ? workspaceIds.map((workspaceId) =>
            newEvent(
              { connection, repository, workspaceId, deliveryId: id, createdAt },
              events[position] as VcsRepositoryEvent,
            ),
          )
        : [],
    );
    await insertEvents(tx, capability, rows);
    return "stored";
  });
}

interface DeliveredEvent {
  readonly event: VcsRepositoryEvent;
  readonly position: number;
  readonly deliveryKey: string;
}

function newDelivery({ id, organizationId }: WebhookConnection, { event, ...key }: DeliveredEvent): VcsDeliveryTable {
  return {
    id: newId("vcs-deliveries"),
    organizationId,
    oauthClientId: id,
    ...key,
    happening: JSON.stringify(event),
    createdAt: now(),
  };
}

interface NewEventTarget {
  readonly connection: Pick<WebhookConnection, "id" | "organizationId">;
  readonly repository: string;
  readonly workspaceId: string;
  readonly deliveryId: string;
  readonly createdAt: string;
}

function newEvent({ connection, ...target }: NewEventTarget, event: VcsRepositoryEvent): VcsEventTable {
  return {
    ...undecided,
    id: newId("vcs-events"),
    organizationId: connection.organizationId,
    oauthClientId: connection.id,
    ...target,
    kind: event.kind,
    branch: event.kind === "push" ? event.branch : event.kind === "tag" ? null : event.target,
    tag: event.kind === "tag" ? event.tag : null,
    pullRequest: event.kind === "pull-request" ? event.number : null,
    commitSha: event.sha,
    detail: `${eventLabel(event)} is waiting to be processed`,
  };
}

const undecided = {
  outcome: null,
  configurationVersionId: null,
  runId: null,
  attempts: 0,
  dueMs: 0,
  decidedAt: null,
  version: 1,
} as const;
