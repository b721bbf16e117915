/** Brings a database to the schema that this version needs: each migration once, however many servers start together. */
import { CompiledQuery } from "kysely";
import { AppError } from "../kernel/errors.ts";
import { now } from "../kernel/time.ts";
import type { Database, Tx } from "./database.ts";
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
import { officialDocument } from "./migrations/0042-official-document.ts";
import type { Migration } from "./migrations/migration.ts";

/** In the order in which they apply. Never change one that was released: add the next. */
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
  officialDocument,
];

/**
 * Returns the names of those that were applied. Raises `conflict` when the database was made by a newer version. From then on the
 * database is written to only while it has this schema.
 */
export async function migrate(database: Database, known: readonly Migration[] = migrations): Promise<string[]> {
  database.fence.letGo();
  const create = "CREATE TABLE IF NOT EXISTS migrations (name TEXT PRIMARY KEY, applied_at TEXT NOT NULL)";
  await setUp(database, (tx) => run(tx, tx.dialect.ddl(create)));
  // Most starts find nothing to do, and need not keep others from writing for it.
  const isUpToDate = (await missingIn(database.reader, known)).length === 0;
  const applied = isUpToDate ? [] : await database.write((tx) => applyMissing(tx, known), { isPatient: true });
  database.fence.hold(known.length);
  return applied;
}

/** Whoever is writing has finished by then, and whoever begins waits, and finds another schema. */
async function applyMissing(tx: Tx, known: readonly Migration[]): Promise<string[]> {
  if (tx.dialect.lockSchema !== undefined) await run(tx, tx.dialect.lockSchema.toChange);
  const missing = await missingIn(tx, known);
  for (const migration of missing) await apply(tx, migration);
  return missing.map((migration) => migration.name);
}

async function missingIn({ db }: Tx, known: readonly Migration[]): Promise<Migration[]> {
  const applied = (await db.selectFrom("migrations").select("name").execute()).map((row) => row.name);
  refuseNewer(applied, known);
  return known.filter((migration) => !applied.includes(migration.name));
}

/** One transaction that no other server's like it overlaps: the second sees what the first has done. */
export async function setUp<T>(database: Database, work: (tx: Tx) => Promise<T>): Promise<T> {
  const workAlone = async (tx: Tx) => {
    if (tx.dialect.lockSetup !== undefined) await run(tx, tx.dialect.lockSetup);
    return work(tx);
  };
  return database.write(workAlone, { isPatient: true });
}

/** Raises `conflict` when a migration was applied that this version does not know. */
export function refuseNewer(applied: readonly string[], known: readonly Migration[] = migrations): void {
  const names = new Set(known.map((migration) => migration.name));
  const unknown = applied.filter((name) => !names.has(name));
  if (unknown.length > 0) {
    throw new AppError(
      "conflict",
      `The database was made by a newer version of Cadastre (it has ${unknown.join(", ")}). Start that version, or restore a backup.`,
    );
  }
}

async function apply(tx: Tx, migration: Migration): Promise<void> {
  for (const statement of migration.statements) await run(tx, tx.dialect.ddl(statement));
  for (const statement of migration.only?.[tx.dialect.name] ?? []) await run(tx, statement);
  for (const table of migration.appendOnly ?? []) {
    for (const statement of tx.dialect.appendOnly(table)) await run(tx, statement);
  }
  for (const statement of tx.dialect.raisingAccess(migration.raisesAccess ?? {})) await run(tx, statement);
  for (const statement of tx.dialect.raisingAccessToo(migration.raisesAccessToo ?? {})) await run(tx, statement);
  await tx.db.insertInto("migrations").values({ name: migration.name, appliedAt: now() }).execute();
}

async function run(tx: Tx, statement: string): Promise<void> {
  await tx.db.executeQuery(CompiledQuery.raw(statement));
}
