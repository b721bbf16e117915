/** Migrates a database to this version's schema: applies each migration once, however many servers start together. */
import { setTimeout as sleep } from "node:timers/promises";
import { CompiledQuery } from "kysely";
import { AppError } from "../kernel/errors.ts";
import { counted } from "../kernel/text.ts";
import { now } from "../kernel/time.ts";
import { type Database, LockTimeout, type Tx } from "./database.ts";
import {
  compatibleFact,
  type CompatibleMigrations,
  formatCompatible,
  parseCompatible,
  readyMigrationFact,
} from "./fence.ts";
import { readFact, setFact } from "./meta.ts";
import { foundation } from "./migrations/0001-foundation.ts";
import { workspaces } from "./migrations/0002-workspaces.ts";
import { state } from "./migrations/0003-state.ts";
import { identity } from "./migrations/0004-identity.ts";
import { projects } from "./migrations/0005-projects.ts";
import { variableSets } from "./migrations/0006-variable-sets.ts";
import { facts } from "./migrations/0007-facts.ts";
import { moreIdentity } from "./migrations/0008-identity.ts";
import { connections } from "./migrations/0010-connections.ts";
import { stateUpkeep } from "./migrations/0011-state.ts";
import { accessVersions } from "./migrations/0012-access-versions.ts";
import { largeOrganizations } from "./migrations/0013-large-organizations.ts";
import { runs } from "./migrations/0014-runs.ts";
import { grantsThatEnd } from "./migrations/0015-grants-that-end.ts";
import { lockLeases } from "./migrations/0016-lock-leases.ts";
import { organizationResources } from "./migrations/0017-organization-resources.ts";
import { imports } from "./migrations/0019-imports.ts";
import { movesOfWorkspaces } from "./migrations/0021-moves-of-workspaces.ts";
import { identityTrusts } from "./migrations/0023-identity-trusts.ts";
import { versionControl } from "./migrations/0026-version-control.ts";
import { signIn } from "./migrations/0022-sign-in.ts";
import { singleSignOn } from "./migrations/0024-single-sign-on.ts";
import { invitationLinks } from "./migrations/0025-invitation-links.ts";
import { notices } from "./migrations/0027-notices.ts";
import { sessionsByTokens } from "./migrations/0029-sessions-by-tokens.ts";
import { mailedInvitations } from "./migrations/0030-mailed-invitations.ts";
import { notifiedMembers } from "./migrations/0032-notified-members.ts";
import { countedFilters } from "./migrations/0033-counted-filters.ts";
import { makersOfLinks } from "./migrations/0034-makers-of-links.ts";
import { membershipsByStatus } from "./migrations/0035-memberships-by-status.ts";
import { countedDifferences } from "./migrations/0036-counted-differences.ts";
import { approvedConfigurations } from "./migrations/0040-approved-configurations.ts";
import { pipelinesTokens } from "./migrations/0041-pipelines-tokens.ts";
import { officialDocument } from "./migrations/0042-official-document.ts";
import { objects } from "./migrations/0050-objects.ts";
import { organizationChanges } from "./migrations/0055-organization-changes.ts";
import { closedOrganizations } from "./migrations/0057-closed-organizations.ts";
import { fetchedEngines } from "./migrations/0059-fetched-engines.ts";
import { offeredEngines } from "./migrations/0060-offered-engines.ts";
import { accessRules } from "./migrations/0061-access-rules.ts";
import { accessRequests } from "./migrations/0062-access-requests.ts";
import { accessOffers } from "./migrations/0063-access-offers.ts";
import { accessViolations } from "./migrations/0064-access-violations.ts";
import type { Migration } from "./migrations/migration.ts";
import { recordOnlineSteps, runOnlineSteps, runOnlineStepsIn } from "./online-steps.ts";

/** In order. Never change a released migration; add the next one. */
export const migrations: readonly Migration[] = [
  foundation,
  workspaces,
  state,
  identity,
  projects,
  variableSets,
  facts,
  moreIdentity,
  connections,
  stateUpkeep,
  accessVersions,
  largeOrganizations,
  runs,
  grantsThatEnd,
  lockLeases,
  organizationResources,
  imports,
  movesOfWorkspaces,
  signIn,
  identityTrusts,
  singleSignOn,
  invitationLinks,
  versionControl,
  notices,
  sessionsByTokens,
  mailedInvitations,
  notifiedMembers,
  countedFilters,
  makersOfLinks,
  membershipsByStatus,
  countedDifferences,
  approvedConfigurations,
  pipelinesTokens,
  officialDocument,
  objects,
  organizationChanges,
  closedOrganizations,
  fetchedEngines,
  offeredEngines,
  accessRules,
  accessRequests,
  accessOffers,
  accessViolations,
];

export type MigrationReport = (line: string, isNew: boolean) => void;

export const createMigrationsTable = (tx: Tx): Promise<void> =>
  run(tx, tx.dialect.ddl("CREATE TABLE IF NOT EXISTS migrations (name TEXT PRIMARY KEY, applied_at TEXT NOT NULL)"));

/** Returns the applied migrations, and enables the fence. Throws `conflict` if a newer version has migrated incompatibly. */
export async function migrate(
  database: Database,
  known: readonly Migration[] = migrations,
  report: MigrationReport = () => {},
): Promise<string[]> {
  database.fence.disable();
  await withSetupLock(database, createMigrationsTable);
  const applied: string[] = [];
  for (;;) {
    const missing = await missingIn(database.reader, known);
    // Most starts find nothing to do, and must not block writers.
    if (missing.length === 0) break;
    const total = applied.length + missing.length;
    const isNew = missing.length === known.length;
    if (isNew) report(`creating the schema of a new database: ${counted(total, "migration")}`, isNew);
    const describe = (name: string, at: number) => `applying migration ${name} (${applied.length + at} of ${total})`;
    const progress = new MigrationProgress(isNew ? () => {} : (line) => report(line, isNew), describe);
    applied.push(...(await applyNext(database, known, progress)));
    progress.end();
  }
  await runOnlineSteps(database, known, (line) => report(line, false));
  database.fence.setMigrations(known.map(({ name }) => name));
  return applied;
}

const repeatMs = 10_000;

class MigrationProgress {
  readonly #report: (line: string) => void;
  readonly #describe: (name: string, at: number) => string;
  #repeating: NodeJS.Timeout | undefined;

  constructor(report: (line: string) => void, describe: (name: string, at: number) => string) {
    this.#report = report;
    this.#describe = describe;
  }

  start(name: string, at: number): void {
    this.end();
    const line = this.#describe(name, at);
    const startedAt = performance.now();
    const seconds = () => Math.round((performance.now() - startedAt) / 1000);
    this.#report(line);
    this.#repeating = setInterval(() => this.#report(`still ${line}, for ${counted(seconds(), "second")}`), repeatMs);
  }

  waitForLock(): void {
    this.end();
    this.#report("waiting for a lock, held by a backup or by another migration for example; retrying");
  }

  end(): void {
    clearInterval(this.#repeating);
  }
}

function isCompatible({ writersKnow }: Migration, compatible: CompatibleMigrations): boolean {
  // If the database still admits servers older than `writersKnow`, this migration has to exclude them first.
  return writersKnow !== undefined && [...compatible.keys()].every((name) => name > writersKnow);
}

/** Statements queue behind a lock that is waited for, so the waits are short; the pauses between them grow. */
const lockWaitMs = 400;
const lockPauseMsFirst = 1_000;
const lockPauseMsMax = 10_000;

/** One migration if older servers can keep writing with it, otherwise all. */
async function applyNext(
  database: Database,
  known: readonly Migration[],
  progress: MigrationProgress,
): Promise<readonly string[]> {
  for (let pauseMs = lockPauseMsFirst; ; pauseMs = Math.min(pauseMs * 2, lockPauseMsMax)) {
    try {
      return await database.write((tx) => applyIn(tx, known, progress), { hasNoTimeout: true, lockWaitMs });
    } catch (error) {
      progress.end();
      if (!(error instanceof LockTimeout)) throw error;
      progress.waitForLock();
      await sleep(pauseMs);
    }
  }
}

async function applyIn(tx: Tx, known: readonly Migration[], progress: MigrationProgress): Promise<string[]> {
  const { lockSchema } = tx.dialect;
  if (lockSchema !== undefined) await run(tx, lockSchema.toAdd);
  const missing = await missingIn(tx, known);
  const [first] = missing;
  if (first === undefined) return [];
  const compatible = missing.length === known.length ? parseCompatible("") : await readCompatible(tx);
  const isAppliedAlone = isCompatible(first, compatible);
  if (!isAppliedAlone && lockSchema !== undefined) await run(tx, lockSchema.toChange);
  const next = isAppliedAlone ? [first] : missing;
  for (const [at, migration] of next.entries()) {
    progress.start(migration.name, at + 1);
    await apply(tx, migration);
    if (missing.length === known.length) await runOnlineStepsIn(tx, migration);
  }
  if (missing.length < known.length) await recordOnlineSteps(tx, next);
  await recordCompatible(tx, compatible, next);
  return next.map(({ name }) => name);
}

/** Only on a database that nobody else uses. */
export async function migrateIn(tx: Tx, known: readonly Migration[]): Promise<void> {
  const missing = await missingIn(tx, known);
  for (const migration of missing) {
    await apply(tx, migration);
    await runOnlineStepsIn(tx, migration);
  }
  await recordCompatible(tx, await readCompatible(tx), missing);
}

async function recordCompatible(
  tx: Tx,
  compatible: CompatibleMigrations,
  applied: readonly Migration[],
): Promise<void> {
  let listed = new Map(compatible);
  for (const { name, writersKnow } of applied) {
    if (writersKnow === undefined) listed = new Map();
    else {
      for (const older of listed.keys()) if (older <= writersKnow) listed.delete(older);
      listed.set(name, writersKnow);
    }
  }
  const value = formatCompatible(listed);
  if (value !== formatCompatible(compatible)) await setFact(tx, compatibleFact, value);
}

const readCompatible = async (tx: Tx): Promise<CompatibleMigrations> =>
  parseCompatible(await readFact(tx, compatibleFact));

/** Older servers read this to learn that a newer one takes the writes that they refuse. */
export async function recordReadyMigration(
  database: Database,
  known: readonly Migration[] = migrations,
): Promise<void> {
  const newest = known.at(-1)?.name ?? "";
  if ((await readFact(database.reader, readyMigrationFact)) === newest) return;
  await database.write((tx) => setFact(tx, readyMigrationFact, newest), { keepsCache: true });
}

async function missingIn(tx: Tx, known: readonly Migration[]): Promise<Migration[]> {
  const applied = await appliedIn(tx);
  await refuseNewer(tx, applied, known);
  return known.filter((migration) => !applied.includes(migration.name));
}

export async function appliedIn({ db }: Tx): Promise<string[]> {
  const rows = await db.selectFrom("migrations").select("name").orderBy("name").execute();
  return rows.map(({ name }) => name);
}

export async function withSetupLock<T>(database: Database, work: (tx: Tx) => Promise<T>): Promise<T> {
  const lockedWork = async (tx: Tx) => {
    if (tx.dialect.lockSetup !== undefined) await run(tx, tx.dialect.lockSetup);
    return work(tx);
  };
  return database.write(lockedWork, { hasNoTimeout: true });
}

export const unknownMigrations = (applied: readonly string[], known: readonly Migration[] = migrations): string[] =>
  applied.filter((name) => known.every((migration) => migration.name !== name));

/** Throws `conflict` if a migration is unknown to this version and not known to be compatible. */
export async function refuseNewer(
  tx: Tx,
  applied: readonly string[],
  known: readonly Migration[] = migrations,
): Promise<void> {
  const unknown = unknownMigrations(applied, known);
  if (unknown.length === 0) return;
  const compatible = await readCompatible(tx);
  const isUsable = (name: string) => known.some((migration) => migration.name === compatible.get(name));
  if (unknown.every(isUsable)) return;
  throw new AppError(
    "conflict",
    `A newer version of Cadastre has migrated the database (it has ${unknown.join(", ")}). Start that version, or restore a backup.`,
  );
}

async function apply(tx: Tx, migration: Migration): Promise<void> {
  for (const statement of migration.statements) await run(tx, tx.dialect.ddl(statement));
  for (const statement of migration.only?.[tx.dialect.name] ?? []) await run(tx, statement);
  for (const table of migration.appendOnly ?? []) {
    for (const statement of tx.dialect.appendOnly(table)) await run(tx, statement);
  }
  for (const statement of tx.dialect.accessVersionTriggers(migration.raisesAccess ?? {})) await run(tx, statement);
  for (const statement of tx.dialect.accessVersionColumnTriggers(migration.raisesAccessToo ?? {}))
    await run(tx, statement);
  for (const statement of tx.dialect.changeTriggers(migration.recordsChanges ?? {})) await run(tx, statement);
  await tx.db.insertInto("migrations").values({ name: migration.name, appliedAt: now() }).execute();
}

async function run(tx: Tx, statement: string): Promise<void> {
  await tx.db.executeQuery(CompiledQuery.raw(statement));
}
