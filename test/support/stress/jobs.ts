/** The background work of servers: jobs, recording token use, and the work of agents. */
import { recordTokenUses, removeExpiredTokens } from "../../../src/resources/identity/authentication-tokens/writes.ts";
import {
  enforceRetention,
  removeAbandonedUploads,
  removeSupersededResources,
} from "../../../src/resources/state/state-versions/maintenance/maintenance.ts";
import { AppError } from "../../../src/kernel/errors.ts";
import type { TransitionInput } from "../../../src/resources/runs/runs/rules.ts";
import type { Api } from "../api.ts";
import { applyTransition } from "../runs.ts";
import { jobContextOf } from "../states.ts";
import type { World } from "./world.ts";

const longAgo = "2020-01-01T00:00:00.000Z";

/** Without the lease, so that they run on all servers concurrently. */
export async function runBackgroundWork(api: Api, world: World): Promise<void> {
  const work = jobContextOf(api);
  const tasks = [
    () => enforceRetention(work),
    () => removeAbandonedUploads(work),
    () => removeSupersededResources(work),
    () => api.audited.write((tx) => removeExpiredTokens(tx, work.context, work.capability, 20)),
    () => recordAllTokenUses(api, world),
    () => ageOneState(api, world),
    () => executeSome(api, world),
    () => executeSome(api, world),
  ];
  await world.one(tasks)();
}

async function recordAllTokenUses({ database }: Api, world: World): Promise<void> {
  const rows = await database.reader.db.selectFrom("tokens").select("id").execute();
  const uses = world.some(rows, rows.length, rows.length).map(({ id }) => [id, new Date().toISOString()] as const);
  await database.write((tx) => recordTokenUses(tx, new Map(uses)));
}

/** Retention needs something to remove. */
async function ageOneState({ database }: Api, world: World): Promise<void> {
  const rows = await database.reader.db.selectFrom("stateVersions").select("id").execute();
  const id = world.one(rows)?.id;
  if (id !== undefined)
    await database.write((tx) =>
      tx.db.updateTable("stateVersions").set({ createdAt: longAgo }).where("id", "=", id).execute(),
    );
}

/** Claims and finishes jobs as agents would. The server refuses those that were canceled meanwhile. */
async function executeSome(api: Api, world: World): Promise<void> {
  const rows = await api.database.reader.db
    .selectFrom("runs")
    .select(["id", "status"])
    .where("status", "in", ["plan_queued", "planning", "apply_queued", "applying"])
    .execute();
  for (const { id, status } of world.some(rows, 0, 3)) {
    const ending: TransitionInput = world.happens(0.8)
      ? { event: "phase-finished", ...(status === "planning" && { hasChanges: world.happens(0.7) }) }
      : { event: "phase-errored" };
    await applyTransition(api, id, status.endsWith("queued") ? { event: "claim" } : ending).catch((error: unknown) => {
      if (!(error instanceof AppError && ["conflict", "not-found"].includes(error.code))) throw error;
    });
  }
}
