/**
 * The work of the job that keeps webhooks at providers as workspaces need them: one for each repository of a connection. It compares
 * what there is with what there is to be, so that nothing is forgotten, whatever happened in between.
 */
import { newId } from "../../../kernel/ids.ts";
import { now } from "../../../kernel/time.ts";
import { webhookUrlOf } from "../../register/workspaces/view.ts";
import { backoffMs } from "../../shared/backoff.ts";
import { ApiFault, callApi, type OpenConnection, openConnection } from "../connections.ts";
import { inSlots } from "../slots.ts";
import { noteFailure } from "../vcs-events/writes.ts";
import {
  deleteWebhook,
  type DueWebhook,
  findDueWebhooks,
  findMissing,
  insertWebhooks,
  updateWebhook,
} from "./store.ts";
import type { JobWork } from "../../shared/job-work.ts";

/** The job that does this. */
export const webhookJob = "vcs-webhooks";

const slots = 4;
const attemptsMax = 4;
const batch = 100;
/** After so long it is worth another try: somebody may have mended what was in the way. */
const givenUpMs = 24 * 3600 * 1000;

export async function keepWebhooks(work: JobWork): Promise<number> {
  const { context, capability, signal, step } = work;
  while (!signal.aborted) {
    const missing = await findMissing(context.database.reader, batch);
    if (missing.length === 0) break;
    const begun = { webhookIds: null, secretNumber: 0, attempts: 0, dueMs: 0, createdAt: now() };
    const rows = missing.map((wanted) => ({ ...wanted, ...begun, id: newId("vcs-webhooks") }));
    await step((tx) => insertWebhooks(tx, capability, rows));
  }
  return inSlots<DueWebhook>(
    {
      slots,
      next: (underway) =>
        findDueWebhooks(
          context.database.reader,
          underway.map(({ id }) => id),
          slots,
        ),
      work: (due) => keep(work, due),
    },
    signal,
  );
}

async function keep(work: JobWork, due: DueWebhook): Promise<void> {
  const { context, capability, step } = work;
  const connection = await openConnection(context.database.reader, context, due.oauthTokenId ?? due.anyTokenId);
  try {
    if (due.oauthTokenId === null || due.identifier === null) {
      if (connection !== undefined) await takeAway(work, connection, due);
      await step((tx) => deleteWebhook(tx, capability, due.id));
    } else if (connection !== undefined) await make(work, connection, due, due.identifier);
  } catch (error) {
    if (!(error instanceof ApiFault)) throw error;
    await giveWay(work, due, error);
  }
}

/** With the secret that is in force; one that was made with an earlier one goes afterwards, so that nothing is missed. */
async function make(work: JobWork, connection: OpenConnection, due: DueWebhook, identifier: string): Promise<void> {
  const { context, capability, step } = work;
  const [secret] = connection.webhookSecrets;
  if (secret === undefined)
    throw new ApiFault("its OAuth client has no webhook-secret yet; send one, or null to have one made", true);
  const { provider } = connection;
  const url = webhookUrlOf(context.options, connection.id);
  const ids: string[] = [];
  for (const call of provider.addWebhooks(connection, identifier, { url, secret }))
    ids.push(provider.webhookId(await callApi(context, connection, call)) ?? "");
  const made = { webhookIds: ids.join(" "), secretNumber: connection.webhookSecretNumber, attempts: 0 };
  await step((tx) => updateWebhook(tx, capability, due.id, made, 0));
  await takeAway(work, connection, due).catch((error: unknown) => {
    // It refuses nothing and tells nothing: the secret that it was made with ends by itself.
    if (!(error instanceof ApiFault)) throw error;
  });
}

async function takeAway({ context }: JobWork, connection: OpenConnection, due: DueWebhook): Promise<void> {
  const ids = due.webhookIds?.split(" ").filter((id) => id !== "") ?? [];
  const { provider } = connection;
  for (const id of ids)
    await callApi(context, connection, provider.removeWebhook(connection, due.identifier ?? due.repository, id));
}

/** One that is not needed and can't be taken away is left to whoever has it there. */
async function giveWay({ capability, step }: JobWork, due: DueWebhook, error: ApiFault): Promise<void> {
  const attempts = due.attempts + 1;
  const isOver = error.isFinal || attempts >= attemptsMax;
  await step(async (tx) => {
    if (isOver && due.oauthTokenId === null) return deleteWebhook(tx, capability, due.id);
    const wait = isOver ? givenUpMs : backoffMs(attempts);
    await updateWebhook(tx, capability, due.id, { attempts: isOver ? 0 : attempts }, wait);
    if (!isOver) return undefined;
    const place = { organizationId: due.organizationId, workspaceId: null, oauthClientId: due.oauthClientId };
    const detail = `the webhook of ${due.identifier} could not be made: ${error.message} Make it by hand, with the workspace's webhook-url and the connection's webhook-secret.`;
    return noteFailure(tx, capability, "webhook", { ...place, repository: due.repository }, detail);
  });
}
