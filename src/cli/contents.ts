/** `cadastre contents …`: moves contents between the database and the object store, and adopts the place of a restored register. */
import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { openPlace, startPlace } from "../contents.ts";
import type { Database } from "../database/database.ts";
import { forgetJob, holderOf } from "../jobs/lease.ts";
import { BackgroundJobRunner } from "../jobs/runner.ts";
import { conflict } from "../kernel/errors.ts";
import { SettingError } from "../kernel/settings.ts";
import { counted } from "../kernel/text.ts";
import { type ContentsAddress, parseContents, placeName } from "../object-store/address.ts";
import type { JobContext } from "../resources/shared/job-context.ts";
import type { ContentPlace } from "../resources/shared/contents/content-place.ts";
import { returnToPlace } from "../resources/shared/contents/left-place.ts";
import { moveContents, type MoveTarget, contentMoveJob } from "../resources/shared/contents/moving.ts";
import { newProgress, type RelocationProgress } from "../resources/shared/contents/relocating-all.ts";
import { countByPlace } from "../resources/shared/contents/relocation-store.ts";
import { registerIdentity } from "../resources/shared/contents/register-identity.ts";
import { plainLog } from "../resources/runs/phases/logs.ts";
import { flagOldLogs, moveEndedLogs } from "../resources/runs/phases/moved-logs.ts";
import { recordEvent } from "../resources/shared/audit-events/writes.ts";
import { removeAbandonedUploads } from "../resources/state/state-versions/maintenance/maintenance.ts";
import { operatorContext, type PreparedRegister } from "../service.ts";
import type { Settings } from "../settings.ts";
import { type Command, type CommandResult, stopSignal, type Terminal, UsageError } from "./command.ts";
import { databaseSettings, withDatabase } from "./database.ts";

export const contentSettings = [
  ...databaseSettings,
  "contents",
  "contentsKeepDays",
] as const satisfies readonly (keyof Settings)[];

export const moveContentsCommand: Command = {
  name: "contents move",
  summary: "Move states, configurations, plans and logs to the object store or back; servers can keep running",
  settings: contentSettings,
  options: {
    to: {
      shape: "PLACE",
      doc: "database, or the object store that CADASTRE_CONTENTS names, such as s3://BUCKET/PREFIX.",
      required: true,
    },
  },
  details: [
    "Every content is copied, compared with the original byte by byte, and then read from its new place. The original stays for CADASTRE_CONTENTS_KEEP_DAYS. You can stop the command and run it again at any time.",
    "Before you move to a store, set CADASTRE_CONTENTS on every server and restart them. Before you set CADASTRE_CONTENTS back to database, move to the database: from then on, running servers store new contents there.",
    "Example: CADASTRE_CONTENTS='s3://acme-states?region=eu-central-1' cadastre contents move --to s3://acme-states",
  ],
  async run({ terminal, value, settings: read }) {
    const settings = read();
    const target = targetOf(value("to") ?? "", settings);
    return withDatabase(settings, async (register) => {
      await refuseOtherPlaces(register.database, settings.contents);
      if (settings.contents === "database") return terminal.out("Every content is already in the database.");
      return withPlace(settings, register.database, (place) => move(register, { settings, place, target }, terminal));
    });
  },
};

/** Throws UsageError or `conflict`. */
function targetOf(text: string, { contents }: Settings): MoveTarget {
  const to = parseTarget(text);
  if (to === "database") return "database";
  const current = contents === "database" ? contents : placeName(contents);
  if (placeName(to) === current) return "place";
  throw conflict(
    `--to names ${placeName(to)}, but CADASTRE_CONTENTS names ${current}. Set CADASTRE_CONTENTS to the new place on every server, restart them, and run this command with the same setting.`,
  );
}

function parseTarget(text: string): ContentsAddress {
  try {
    return parseContents(text);
  } catch (error) {
    if (!(error instanceof SettingError)) throw error;
    throw new UsageError(`--to ${error.message} See 'cadastre contents move --help'.`);
  }
}

/** Only one place at a time can be read. Throws `conflict`. */
async function refuseOtherPlaces({ reader }: Database, contents: ContentsAddress): Promise<void> {
  const current = contents === "database" ? undefined : placeName(contents);
  const other = (await countByPlace(reader)).find(({ place }) => place !== current);
  if (other !== undefined)
    throw conflict(
      `${counted(other.count, "content is", "contents are")} in ${other.place}, but CADASTRE_CONTENTS is ${current ?? "database"}. Set it to ${other.place} for this command; to use another place, run 'cadastre contents move --to database' with that setting first.`,
    );
}

/** Throws `conflict` or SettingError if the place is unavailable, refuses, or belongs to another register. */
export async function withPlace<T>(
  settings: Settings,
  database: Database,
  work: (place: ContentPlace) => Promise<T>,
): Promise<T> {
  const place = openPlace(settings);
  if (place === undefined) throw conflict("CADASTRE_CONTENTS is database. Set it to the object store.");
  try {
    let warning: string | undefined;
    await startPlace(settings, place, database, (sentence) => (warning = sentence));
    if (warning !== undefined) throw conflict(`${place.name} is not available. Nothing was changed. Try again later.`);
    return await work(place);
  } finally {
    place.stop();
  }
}

interface MoveRequest {
  readonly settings: Settings;
  readonly place: ContentPlace;
  readonly target: MoveTarget;
}

const progressIntervalMs = 2_000;
/** How long the next command waits after a kill. */
const leaseMs = 5_000;

async function move(
  { database, vault }: Pick<PreparedRegister, "database" | "vault">,
  { settings, place, target }: MoveRequest,
  terminal: Terminal,
): Promise<CommandResult> {
  const progress = newProgress();
  const damagedLogs = new Map<string, unknown>();
  const job = {
    name: contentMoveJob,
    doc: "moves contents.",
    everyMs: 1_000,
    async run(work: JobContext) {
      if (target === "place") {
        await work.step(returnToPlace);
        progress.moved += await moveLogs(work, damagedLogs);
      }
      await moveContents(work, place, target, progress);
      // What was deleted is not moved, and a start without the place would be refused because of it.
      if (target === "database") await removeAbandonedUploads(work);
      return progress.moved;
    },
  };
  const { organizationCreation } = settings;
  const options = {
    organizationCreation,
    edition: "self-hosted",
    globalRemoteStateDefault: false,
    publicUrl: "",
  } as const;
  const runner = new BackgroundJobRunner({
    database,
    vault,
    options: { ...options, contentPlace: place },
    jobs: [job],
    leaseMs,
  });
  const stop = stopSignal();
  stop.addEventListener("abort", () => void runner.stop(), { once: true });
  await waitForLease(database, terminal, stop);
  const timer = setInterval(() => terminal.note(progressLine(progress)), progressIntervalMs);
  try {
    await runner.runNow(contentMoveJob);
    await database.write((tx) => forgetJob(tx, contentMoveJob));
    for (const [id, error] of damagedLogs) terminal.note(`The log ${id} was not moved: ${(error as Error).message}`);
    const { exitCode } = report(terminal, target === "database" ? "the database" : place.name, progress);
    return { exitCode: damagedLogs.size > 0 ? 1 : exitCode };
  } finally {
    clearInterval(timer);
    await runner.stop();
  }
}

async function moveLogs(work: JobContext, damaged: Map<string, unknown>): Promise<number> {
  await flagOldLogs(work);
  return moveEndedLogs(work, (vault, log) => plainLog(work.context.database.reader, vault, log), damaged);
}

/** A killed command holds its lease for a moment. Throws `conflict` if another one is running. */
async function waitForLease({ reader }: Database, { note }: Terminal, signal: AbortSignal): Promise<void> {
  const pollMs = 500;
  for (let waitedMs = 0; (await holderOf(reader, contentMoveJob)) !== undefined; waitedMs += pollMs) {
    if (waitedMs === 0) note("waiting for another 'contents move', which is running or was just killed");
    if (waitedMs > leaseMs + 2 * pollMs)
      throw conflict("Another 'cadastre contents move' is running. Wait until it is done, or stop it first.");
    await sleep(pollMs, undefined, { signal });
  }
}

const progressLine = ({ moved, left, bytes }: RelocationProgress) =>
  `moved ${moved} of ${counted(moved + left, "content")} (${counted(bytes, "byte")})`;

function report(
  { out, note }: Terminal,
  to: string,
  { moved, left, bytes, damaged }: RelocationProgress,
): CommandResult {
  out(`Moved ${counted(moved, "content")} (${counted(bytes, "byte")}) to ${to}.`);
  for (const [id, reason] of damaged) note(`${id} was not moved: ${reason}`);
  if (to === "the database")
    out(
      "New contents go to the database now. Set CADASTRE_CONTENTS=database on every server, and restart them. Objects stay in the store until a server that has the old setting deletes them, or you do.",
    );
  const others = left - damaged.size;
  if (others > 0)
    out(
      `${counted(others, "content")} came up meanwhile. Run the command again when every server has the new setting.`,
    );
  return { exitCode: damaged.size > 0 ? 1 : 0 };
}

export const adoptContentsCommand: Command = {
  name: "contents adopt",
  summary: "Make the object store's place that of this restored register",
  settings: contentSettings,
  details: [
    "A restored register has a new id, and deletes nothing in the place of the register that was backed up. This command gives the place to the restored register: the other one can't start with it any more, and if it is running, it stops writing to it within a minute.",
    "Objects that the other register wrote after the backup stay in the bucket.",
    "Example: cadastre contents adopt",
  ],
  async run({ terminal, settings: read }) {
    const settings = read();
    await withDatabase(settings, ({ database }) =>
      withPlace(settings, database, async (place) => {
        const identity = await registerIdentity(database);
        if ((await place.readOwner(identity)) === "own")
          return terminal.out(`${place.name} already belongs to this register, ${identity.id}.`);
        // Before the marker: an adoption without its event would be unexplained.
        const context = operatorContext(database, settings, `cli-${randomUUID()}`);
        await database.write((tx) =>
          recordEvent(tx, context, {
            organizationId: null,
            verb: "adopt",
            subject: { type: "registers", id: identity.id },
            after: { place: place.name, origin: identity.origin },
          }),
        );
        await place.takeOver(identity);
        terminal.out(
          `${place.name} now belongs to this register, ${identity.id}, and no longer to ${identity.origin}. Servers that still run for that register stop writing to it within a minute; stop them.`,
        );
      }),
    );
  },
};
