/** Creates, renews and deletes webhooks at providers. Compares existing with required ones, so that no change is missed. */
import { newId } from "../../../kernel/ids.ts";
import { now } from "../../../kernel/time.ts";
import { webhookUrlOf } from "../../register/workspaces/view.ts";
import { providerBackoffMs } from "../../shared/backoff.ts";
import { ApiFault, callApi, type OpenConnection, openConnection } from "../connections.ts";
import { runInSlots } from "../slots.ts";
import { recordFailure } from "../vcs-events/writes.ts";
import {
  deleteWebhook,
  type DueWebhook,
  findDueWebhooks,
  findMissingWebhooks,
  insertWebhooks,
  updateWebhook,
} from "./store.ts";
import type { JobContext } from "../../shared/job-context.ts";

export const webhookJob = "vcs-webhooks";

const slots = 4;
const attemptsMax = 4;
const batch = 100;
/** After the last attempt, before starting over. */
const pauseMs = 24 * 3600 * 1000;

export async function syncWebhooks(job: JobContext): Promise<number> {
  const { context, capability, signal, step } = job;
  while (!signal.aborted) {
    const missing = await findMissingWebhooks(context.database.reader, batch);
    if (missing.length === 0) break;
    const initial = { webhookIds: null, secretNumber: 0, attempts: 0, dueMs: 0, createdAt: now() };
    const rows = missing.map((webhook) => ({ ...webhook, ...initial, id: newId("vcs-webhooks") }));
    await step((tx) => insertWebhooks(tx, capability, rows));
  }
  return runInSlots<DueWebhook>(
    {
      slots,
      next: (inProgress) =>
        findDueWebhooks(
          context.database.reader,
          inProgress.map(({ id }) => id),
          slots,
        ),
      work: (due) => syncWebhook(job, due),
    },
    signal,
  );
}

async function syncWebhook(job: JobContext, due: DueWebhook): Promise<void> {
  const { context, capability, step } = job;
  const connection = await openConnection(context.database.reader, context, due.oauthTokenId ?? due.anyTokenId);
  try {
    if (due.oauthTokenId === null || due.identifier === null) {
      if (connection !== undefined) await removeWebhooks(job, connection, due);
      await step((tx) => deleteWebhook(tx, capability, due.id));
    } else if (connection !== undefined) await createWebhooks(job, connection, due, due.identifier);
  } catch (error) {
    if (!(error instanceof ApiFault)) throw error;
    await handleFailure(job, due, error);
  }
}

/** Webhooks with an earlier secret are removed afterwards, so that no event is missed. */
async function createWebhooks(
  job: JobContext,
  connection: OpenConnection,
  due: DueWebhook,
  identifier: string,
): Promise<void> {
  const { context, capability, step } = job;
  const [secret] = connection.webhookSecrets;
  if (secret === undefined)
    throw new ApiFault("its OAuth client has no webhook-secret yet; set one, or send null to generate one", true);
  const { provider } = connection;
  const url = webhookUrlOf(context.options, connection.id);
  const ids: string[] = [];
  for (const call of provider.addWebhookCalls(connection, identifier, { url, secret }))
    ids.push(provider.parseWebhookId(await callApi(context, connection, call)) ?? "");
  const created = { webhookIds: ids.join(" "), secretNumber: connection.webhookSecretNumber, attempts: 0 };
  await step((tx) => updateWebhook(tx, capability, due.id, created, 0));
  await removeWebhooks(job, connection, due).catch((error: unknown) => {
    // The old webhook does no harm: its secret expires.
    if (!(error instanceof ApiFault)) throw error;
  });
}

async function removeWebhooks({ context }: JobContext, connection: OpenConnection, due: DueWebhook): Promise<void> {
  const ids = due.webhookIds?.split(" ").filter((id) => id !== "") ?? [];
  const { provider } = connection;
  for (const id of ids)
    await callApi(context, connection, provider.removeWebhookCall(connection, due.identifier ?? due.repository, id));
}

/** An unneeded webhook that can't be removed is left at the provider. */
async function handleFailure({ capability, step }: JobContext, due: DueWebhook, error: ApiFault): Promise<void> {
  const attempts = due.attempts + 1;
  const isOver = error.isFinal || attempts >= attemptsMax;
  await step(async (tx) => {
    if (isOver && due.oauthTokenId === null) return deleteWebhook(tx, capability, due.id);
    const wait = isOver ? pauseMs : providerBackoffMs(attempts);
    await updateWebhook(tx, capability, due.id, { attempts: isOver ? 0 : attempts }, wait);
    if (!isOver) return undefined;
    const target = { organizationId: due.organizationId, workspaceId: null, oauthClientId: due.oauthClientId };
    const detail = `the webhook of ${due.identifier} could not be created: ${error.message} Create it at the provider, with the workspace's webhook-url and the connection's webhook-secret.`;
    return recordFailure(tx, capability, "webhook", { ...target, repository: due.repository }, detail);
  });
}
