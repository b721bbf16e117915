/** The background job that sends commit statuses to providers, with retries and backoff. */
import { providerBackoffMs } from "../../shared/backoff.ts";
import { ApiFault, callApi, openConnection } from "../connections.ts";
import { recordFailure } from "../vcs-events/writes.ts";
import { runInSlots } from "../slots.ts";
import { isLast, statusOf } from "./rules.ts";
import { type DueStatus, findDueStatuses, updateStatus } from "./store.ts";
import type { JobContext } from "../../shared/job-context.ts";

const slots = 8;
const perTokenMax = 2;
const attemptsMax = 8;

export async function sendStatuses(job: JobContext): Promise<number> {
  const { context, signal } = job;
  return runInSlots<DueStatus>(
    {
      slots,
      next: async (inProgress) => {
        const busy = inProgress.map(({ runId }) => runId);
        const found = await findDueStatuses(context.database.reader, busy, slots * 4);
        const tokensInUse = inProgress.map(({ oauthTokenId }) => oauthTokenId);
        return found.filter(({ oauthTokenId }) => {
          tokensInUse.push(oauthTokenId);
          return tokensInUse.filter((each) => each === oauthTokenId).length <= perTokenMax;
        });
      },
      work: (due) => send(job, due),
    },
    signal,
  );
}

async function send({ context, capability, step }: JobContext, due: DueStatus): Promise<void> {
  const status = statusOf(due, context.options.publicUrl);
  const connection = await openConnection(context.database.reader, context, due.oauthTokenId);
  if (connection === undefined) return;
  try {
    await callApi(context, connection, connection.provider.statusCall(connection, due.repository, status));
    const done = { state: status.state, attempts: 0 };
    await step((tx) => updateStatus(tx, capability, due.runId, done, isLast(status.state) ? null : 0));
  } catch (error) {
    if (!(error instanceof ApiFault)) throw error;
    const attempts = due.attempts + 1;
    const isOver = error.isFinal || attempts >= attemptsMax;
    await step(async (tx) => {
      await updateStatus(tx, capability, due.runId, { attempts }, isOver ? null : providerBackoffMs(attempts));
      if (!isOver) return;
      const detail = `the status of commit ${due.sha.slice(0, 7)} could not be sent: ${error.message}`;
      const { organizationId, workspaceId, repository } = due;
      await recordFailure(
        tx,
        capability,
        "status",
        { organizationId, workspaceId, repository, oauthClientId: connection.id },
        detail,
      );
    });
  }
}
