/** `organization_changes`: every change of a response is recorded with its organization, with or without an audit event. */
import { sql } from "kysely";
import { beforeAll, describe, expect, inject, it } from "vitest";
import { openDatabase } from "../../src/database/engines/open.ts";
import type { Database, Tx } from "../../src/database/database.ts";
import { migrations } from "../../src/database/migrate.ts";
import { siteId } from "../../src/database/observed-commits.ts";
import { changesMax, noChanges } from "../../src/database/organization-changes.ts";
import type { OrganizationTable } from "../../src/database/schema/identity.ts";
import { auditRules } from "../../src/database/schema/audited.ts";
import { snake } from "../../src/kernel/names.ts";
import { useApi } from "../support/api.ts";

const recorded = migrations.flatMap(({ recordsChanges }) => Object.keys(recordsChanges ?? {}));
const isSqlite = inject("engine") === "sqlite";

/** Tables whose changes alter no response that names its organization, with the reason. */
const unrecorded: Readonly<Record<string, string>> = {
  meta: "facts about the database, which no resource shows",
  migrations: "the schema's own history",
  jobs: "leases of background jobs; no resource shows them",
  access_versions: "raised with rows of recorded tables",
  audit_events: "lists of events name no organization",
  audit_notices: "an outbox; lists of deliveries name no organization",
  notices: "an outbox; lists of deliveries name no organization",
  tokens: "read with every request; documents of tokens are not cached",
  passwords: "only compared at sign-in",
  authorizations: "only compared at sign-in",
  sso_identities: "only compared at sign-in",
  sso_sessions: "only compared at sign-in",
  sso_replies: "nonces",
  open_organizations: "a view of organizations",
  unattached_objects: "objects that no content uses; no resource shows them",
  contents: "bytes, which are not cached",
  content_chunks: "bytes, which are not cached",
  run_log_chunks: "bytes, which are not cached",
  run_phases: "heartbeats every few seconds; plans and applies are not cached",
  agents: "pings every few seconds; agents are not cached",
  run_events: "lists of them name no organization",
  run_trigger_firings: "work for a job",
  identity_keys: "served by the discovery of identity providers, which is not cached",
  state_version_outputs: "written in the transaction that updates their state version and workspace",
  state_resources: "written in the transaction that updates their state version and workspace",
  import_links: "the progress of an import",
  vcs_deliveries: "no resource shows them",
  vcs_webhooks: "no resource shows them",
  vcs_statuses: "no resource shows them",
};

const api = useApi();
let database: Database;
let template: OrganizationTable;

beforeAll(async () => {
  const { id } = await api.makeOrganization();
  ({ database } = api);
  template = await database.reader.db
    .selectFrom("organizations")
    .selectAll()
    .where("id", "=", id)
    .executeTakeFirstOrThrow();
});

describe("every table", () => {
  it("is recorded by triggers, or alters no response that names its organization", () => {
    const tables = Object.keys(auditRules).map(snake);
    expect([...recorded, ...Object.keys(unrecorded)].toSorted()).toEqual(tables.toSorted());
  });

  it.each(recorded)("%s records insertions, updates and deletions", async (table) => {
    const { rows } = isSqlite
      ? await sql<{ name: string }>`select name from sqlite_master where type = 'trigger' and tbl_name = ${table}
          and sql like '%INSERT INTO organization_changes%'`.execute(database.reader.db)
      : await sql<{
          name: string;
        }>`select t.tgname as name from pg_trigger as t inner join pg_proc as p on p.oid = t.tgfoid
          where t.tgrelid = cast(${table} as regclass) and p.prosrc like '%INSERT INTO organization_changes%'`.execute(
          database.reader.db,
        );
    const events = ["delete", "insert", "update"].map((event) => `${table}_change_${event}`);
    expect(rows.map(({ name }) => name).toSorted()).toEqual(events);
  });
});

describe("changes without an audit event", () => {
  const without = Object.entries(auditRules).flatMap(([table, rule]) =>
    typeof rule === "string" ? [{ table, what: "all" }] : (rule.needsNone ?? []).map((what) => ({ table, what })),
  );

  it.each(without)("$table.$what is recorded, or the exception has a reason", ({ table }) => {
    expect(recorded.includes(snake(table)) || unrecorded[snake(table)] !== undefined).toBe(true);
  });
});

/** What a server does at the begin of a request. */
async function look(on: Database = database): Promise<number> {
  const known = on.snapshotId();
  if (known !== undefined) return known;
  const observation = on.reader.commits?.begin();
  const { rows } = await sql<{ text: string }>`select ${on.dialect.snapshotId(
    observation?.parameters ?? noChanges,
  )} as text`.execute(on.reader.db);
  return observation?.end(rows[0]?.text ?? "") ?? -1;
}

let made = 0;

async function newOrganization(): Promise<string> {
  made += 1;
  const id = `org-${made}`;
  await database.write((tx) => insertOrganization(tx, id));
  return id;
}

/** A copy of another organization. */
const insertOrganization = ({ db }: Tx, id: string) =>
  db
    .insertInto("organizations")
    .values({ ...template, id, name: id, nameKey: id })
    .execute();

const touch = (id: string, on: Database = database) => on.write((tx) => touchIn(tx, id));
const touchIn = ({ db }: Tx, id: string) =>
  sql`update organizations set version = version + 1 where id = ${id}`.execute(db);
const touchSite = (on: Database = database) =>
  on.write((tx) => sql`update engine_versions set version = version + 1`.execute(tx.db));

describe("a server knows", () => {
  it("which organization has changed since a snapshot, by any connection", async () => {
    const other = openDatabase(api.address);
    const [one, two] = [await newOrganization(), await newOrganization()];
    for (const writer of [database, other]) {
      const read = await look();
      await touch(one, writer);
      const now = await look();
      expect(database.commits.isUnchanged(one, read, now)).toBe(false);
      expect(database.commits.isUnchanged(two, read, now)).toBe(true);
      expect(database.commits.isUnchanged(undefined, read, now)).toBe(false);
      expect(database.commits.isUnchanged(one, now, now)).toBe(true);
    }
    await other.close();
  });

  it("that a change of the site concerns all organizations", async () => {
    const one = await newOrganization();
    const read = await look();
    await touchSite();
    expect(database.commits.isUnchanged(one, read, await look())).toBe(false);
  });

  it("each organization of a transaction that writes for several", async () => {
    const ids = [await newOrganization(), await newOrganization(), await newOrganization()] as const;
    const read = await look();
    await database.write(async (tx) => {
      await touchIn(tx, ids[0]);
      await touchIn(tx, ids[1]);
    });
    const now = await look();
    expect(ids.map((id) => database.commits.isUnchanged(id, read, now))).toEqual([false, false, true]);
  });

  it("nothing of a write that was rolled back, or matched no row", async () => {
    const one = await newOrganization();
    const read = await look();
    await database.runAndRollBack((tx) => touchIn(tx, one));
    await touch("org-missing");
    expect(database.commits.isUnchanged(one, read, await look())).toBe(true);
  });

  it("that much has changed, however much", async () => {
    const ids: string[] = [];
    for (let count = 0; count < changesMax + 20; count += 1) ids.push(`org-many-${count}`);
    const untouched = await newOrganization();
    await database.write(async (tx) => {
      for (const id of ids) await insertOrganization(tx, id);
    });
    const read = await look();
    await database.write(async (tx) => {
      for (const id of ids) await touchIn(tx, id);
    });
    const now = await look();
    expect(ids.filter((id) => database.commits.isUnchanged(id, read, now))).toEqual([]);
    expect(database.commits.isUnchanged(untouched, await look(), await look())).toBe(true);
  });

  it("nothing that was trimmed: an idle server reads everything again", async () => {
    const idle = openDatabase(api.address);
    const [one, two] = [await newOrganization(), await newOrganization()];
    const read = await look(idle);
    await touch(one);
    await fillChanges();
    await trim();
    const before = await look(database);
    const now = await look(idle);
    expect(idle.commits.isUnchanged(one, read, now)).toBe(false);
    expect(idle.commits.isUnchanged(two, read, now)).toBe(false);
    expect(idle.commits.isUnchanged(two, now, await look(idle))).toBe(true);
    expect(database.commits.isUnchanged(two, before, await look(database))).toBe(true);
    await idle.close();
  });
});

const fillChanges = () =>
  database.write(({ db, dialect: { name } }) =>
    (name === "sqlite"
      ? sql`insert into organization_changes (organization_id)
          with recursive n (n) as (select 1 union all select n + 1 from n where n < 10050) select 'org-full-' || n from n`
      : sql`insert into organization_changes (transaction_id, organization_id)
          select cast(cast(pg_current_xact_id() as text) as bigint), 'org-full-' || n from generate_series(1, 10050) as n`
    ).execute(db),
  );

/** Until the rows are gone. Transactions in other databases of the server delay that. */
const trim = () =>
  expect
    .poll(async () => {
      await database.write((tx) => tx.dialect.trimChanges(tx.db, 50_000));
      return countChanges();
    })
    .toBeLessThan(10_010);

async function countChanges(): Promise<number> {
  const { rows } = await sql<{ count: number }>`select count(*) as count from organization_changes`.execute(
    database.reader.db,
  );
  return rows[0]?.count ?? 0;
}

describe.runIf(!isSqlite)("on PostgreSQL", () => {
  /** A transaction that has written for the organization, and commits when the test calls its function. */
  async function openWrite(id: string): Promise<() => Promise<void>> {
    const [hasWritten, isToEnd] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const writing = database.write(async (tx) => {
      await touchIn(tx, id);
      hasWritten.resolve();
      await isToEnd.promise;
    });
    await hasWritten.promise;
    return async () => {
      isToEnd.resolve();
      await writing;
    };
  }

  it("a transaction that was in flight counts when it commits, also after many others", async () => {
    const [slow, other] = [await newOrganization(), await newOrganization()];
    await look();
    const end = await openWrite(slow);
    const read = await look();
    for (let times = 0; times < 3; times += 1) {
      await touch(other);
      expect(database.commits.isUnchanged(slow, read, await look())).toBe(true);
    }
    await end();
    expect(database.commits.isUnchanged(slow, read, await look())).toBe(false);
  });

  it("the answers of concurrent statements count in any order", async () => {
    const [one, two] = [await newOrganization(), await newOrganization()];
    const ask = async () => {
      const observation = database.reader.commits?.begin();
      const { rows } = await sql<{ text: string }>`select ${database.dialect.snapshotId(
        observation?.parameters ?? noChanges,
      )} as text`.execute(database.reader.db);
      return () => observation?.end(rows[0]?.text ?? "") ?? -1;
    };
    const read = await look();
    const early = await ask();
    await touch(one);
    const late = await ask();
    const lateId = late();
    const earlyId = early();
    expect(earlyId).toBeLessThan(lateId);
    expect(database.commits.isUnchanged(one, read, lateId)).toBe(false);
    expect(database.commits.isUnchanged(one, earlyId, await look())).toBe(false);
    expect(database.commits.isUnchanged(one, lateId, await look())).toBe(true);
    expect(database.commits.isUnchanged(two, read, await look())).toBe(true);
  });

  it("after a lost connection everything is read again", async () => {
    const one = await newOrganization();
    const read = await look();
    await sql`select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and pid <> pg_backend_pid()`.execute(database.reader.db);
    await expect.poll(async () => database.commits.isUnchanged(one, read, await look())).toBe(false);
  });

  it("the look-up uses the index, however many rows there are", async () => {
    await fillChanges();
    const observation = database.reader.commits?.begin();
    const { rows } = await sql<Record<string, string>>`explain select ${database.dialect.snapshotId(
      observation?.parameters ?? noChanges,
    )} as text`.execute(database.reader.db);
    const plan = rows.map((row) => Object.values(row)[0]).join("\n");
    expect(plan).toContain("organization_changes_pkey");
    expect(plan).not.toContain("Seq Scan on organization_changes");
  });
});

it("names the site by something that is no id", () => {
  expect(siteId).not.toMatch(/^org-/);
});
