/**
 * A webhook on its way in: known by its connection's secret before anything of it is read, stored in one transaction, and left to the
 * job. Nothing that takes long happens here.
 */
import { Capability } from "../../../access/capability.ts";
import { createHash } from "node:crypto";
import type { VcsDeliveryTable, VcsEventTable } from "../../../database/schema/vcs.ts";
import { parseBounded, TooManyMembers } from "../../../kernel/bounded-json.ts";
import { AppError } from "../../../kernel/errors.ts";
import { newId } from "../../../kernel/ids.ts";
import { now } from "../../../kernel/time.ts";
import { type KnownConnection, knownConnection } from "../../connections/oauth-clients/reads.ts";
import type { Context } from "../../shared/context.ts";
import { tellVcsEvent } from "../../shared/measures.ts";
import type { Inbound, Received } from "../providers/provider.ts";
import { providerOf } from "../providers/providers.ts";
import { type Happening, nameOf } from "../triggers/happening.ts";
import { holdWorkspacesOf, insertDeliveries, insertEvents } from "./store.ts";

const issueCapability = Capability.issuer("webhook");

/** The job that works off what arrives. */
export const workingOffJob = "vcs-events";

/** Many commits, each with its files: what the largest provider sends at most. */
export const deliveryBytesMax = 25 * 1024 * 1024;

/** Undefined: there is no such connection, and nothing is to be read. */
export const connectionOf = (context: Context, id: string): Promise<KnownConnection | undefined> =>
  knownConnection(context.database.reader, context, id);

/** `stored`, or why not: it was stored before, or is about nothing that we know. */
export type Receipt = "stored" | "repeated" | "unknown";

/** Raises `unauthorized` for what is not signed with the connection's secret. */
export async function receive(context: Context, connection: KnownConnection, inbound: Inbound): Promise<Receipt> {
  const provider = providerOf(connection.serviceProvider);
  // Each of them, whether or not one was right: so the time tells nothing.
  const authentic = connection.webhookSecrets.map((secret) => provider.isAuthentic(inbound, secret));
  if (!authentic.includes(true)) throw told("refused", refusal(connection));
  const capability = issueCapability(connection.id);
  const received = provider.read(inbound, parsed(inbound.body), connection);
  const receipt = received === undefined ? "unknown" : await store(context, capability, connection, received, inbound);
  tellVcsEvent({ provider: connection.serviceProvider, result: receipt });
  if (receipt === "stored") context.wake?.(workingOffJob);
  return receipt;

  function told(result: string, error: AppError): AppError {
    tellVcsEvent({ provider: connection.serviceProvider, result });
    return error;
  }
}

const refusal = ({ webhookSecrets }: KnownConnection): AppError =>
  new AppError(
    "unauthorized",
    webhookSecrets.length === 0
      ? "This connection has no webhook-secret yet. Set one on its OAuth client, and the same at the provider."
      : "The webhook is not signed with this connection's webhook-secret. Set the same secret at the provider.",
  );

/** Undefined for what is no JSON. Raises `too-large`. */
function parsed(body: Uint8Array): unknown {
  try {
    return parseBounded(body);
  } catch (error) {
    if (error instanceof TooManyMembers)
      throw new AppError("too-large", `${error.message} Push fewer commits at once, or start a run by hand.`);
    return undefined;
  }
}

async function store(
  context: Context,
  capability: Capability<"webhook">,
  connection: KnownConnection,
  { repository, deliveryId, happenings }: Received,
  { body }: Inbound,
): Promise<Receipt> {
  if (happenings.length === 0) return "unknown";
  // What has no name of its own is known by what it says.
  const deliveryKey = deliveryId?.slice(0, 256) || createHash("sha256").update(body).digest("hex");
  const deliveries = happenings.map((happening, position) =>
    newDelivery(connection, { happening, position, deliveryKey }),
  );
  return context.database.write(async (tx) => {
    const workspaceIds = await holdWorkspacesOf(tx, connection.id, repository);
    if (workspaceIds.length === 0) return "unknown";
    const fresh = await insertDeliveries(tx, capability, deliveries);
    if (fresh.size === 0) return "repeated";
    const events = deliveries.flatMap(({ id, createdAt }, position) =>
      fresh.has(id)
        ? workspaceIds.map((workspaceId) =>
            newEvent(
              { connection, repository, workspaceId, deliveryId: id, createdAt },
              happenings[position] as Happening,
            ),
          )
        : [],
    );
    await insertEvents(tx, capability, events);
    return "stored";
  });
}

interface Told {
  readonly happening: Happening;
  readonly position: number;
  readonly deliveryKey: string;
}

function newDelivery({ id, organizationId }: KnownConnection, { happening, ...place }: Told): VcsDeliveryTable {
  return {
    id: newId("vcs-deliveries"),
    organizationId,
    oauthClientId: id,
    ...place,
    happening: JSON.stringify(happening),
    createdAt: now(),
  };
}

interface Place {
  readonly connection: Pick<KnownConnection, "id" | "organizationId">;
  readonly repository: string;
  readonly workspaceId: string;
  readonly deliveryId: string;
  readonly createdAt: string;
}

function newEvent({ connection, ...place }: Place, happening: Happening): VcsEventTable {
  return {
    ...undecided,
    id: newId("vcs-events"),
    organizationId: connection.organizationId,
    oauthClientId: connection.id,
    ...place,
    kind: happening.kind,
    branch: happening.kind === "push" ? happening.branch : happening.kind === "tag" ? null : happening.target,
    tag: happening.kind === "tag" ? happening.tag : null,
    pullRequest: happening.kind === "pull-request" ? happening.number : null,
    commitSha: happening.sha,
    detail: `${nameOf(happening)} waits to be worked off`,
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
