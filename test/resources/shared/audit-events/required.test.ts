/** A transaction that writes an audited row commits only with the audit event for it. */
import { sql } from "kysely";
import { beforeAll, describe, expect, it } from "vitest";
import type { Tx } from "../../../../src/database/database.ts";
import { recordEvents } from "../../../../src/resources/shared/audit-events/writes.ts";
import { updateRow, updateRows } from "../../../../src/resources/shared/versions.ts";
import { useApi } from "../../../support/api.ts";
import { makeOrganization, makeTeam } from "../../../support/builders.ts";

const api = useApi();
let org: Awaited<ReturnType<typeof makeOrganization>>;
/** Ids of two teams. */
let one: string;
let other: string;

beforeAll(async () => {
  org = await makeOrganization(api);
  [one, other] = [(await makeTeam(api, org.name)).id, (await makeTeam(api, org.name)).id];
});

const event = (tx: Tx, type: string, ...ids: string[]) =>
  recordEvents(
    tx,
    { actor: { kind: "operator" }, requestId: "test" },
    ids.map((id) => ({ organizationId: org.id, verb: "update", subject: { type, id } })),
  );
const describeTeam = (tx: Tx, id: string) => updateRow(tx, "teams", id, { description: "changed" });
const raw = (tx: Tx) => sql`update teams as t set description = 'raw' where t.id = ${one}`.execute(tx.db);
const deleted = (tx: Tx) => tx.db.deleteFrom("teams").where("organizationId", "=", org.id).returning("id").execute();
const linked = (tx: Tx) => tx.db.insertInto("moduleConsumers").values({ organizationId: org.id, consumerId: org.id });

const committed: Record<string, (tx: Tx) => Promise<unknown>> = {
  "the row's own event": async (tx) => [await describeTeam(tx, one), await event(tx, "teams", one)],
  "an event before the write": async (tx) => [await event(tx, "teams", one), await raw(tx)],
  "an event for each of several rows": async (tx) => {
    await updateRows(
      tx,
      "teams",
      [one, other].map((id) => ({ id, columns: { description: "both" } })),
    );
    await event(tx, "teams", one, other);
  },
  "the event of its parent": async (tx) => [await linked(tx).execute(), await event(tx, "organizations", org.id)],
  "columns that need none": (tx) => updateRow(tx, "teams", one, { usersCount: sql`users_count` }),
  "no row": (tx) => describeTeam(tx, "team-of-nobody"),
  "a table that needs none": (tx) => tx.db.deleteFrom("notices").execute(),
  "a write that was taken back": async (tx) => {
    await sql`savepoint before`.execute(tx.db);
    await describeTeam(tx, one);
    await sql`rollback to savepoint before`.execute(tx.db);
  },
};

const refused: Record<string, readonly [(tx: Tx) => Promise<unknown>, RegExp]> = {
  "no event": [(tx) => describeTeam(tx, one), /update of teams\.version, description \(id team-\w+\).*about teams\./],
  "another row's event": [async (tx) => [await describeTeam(tx, one), await event(tx, "teams", other)], /of teams/],
  "another type's event": [async (tx) => [await describeTeam(tx, one), await event(tx, "users", one)], /of teams/],
  "the event of one of two rows": [
    async (tx) => {
      await tx.db
        .updateTable("teams")
        .set({ name: sql`name` })
        .where("id", "in", [one, other])
        .execute();
      await event(tx, "teams", one);
    },
    /update of teams\.name/,
  ],
  "the event of one of those that came back": [
    async (tx) => [await deleted(tx), await event(tx, "teams", one)],
    /delete of teams/,
  ],
  "another parent's event": [
    async (tx) => [await linked(tx).execute(), await event(tx, "organizations", "org-other")],
    /insert of moduleConsumers/,
  ],
  "an event that was taken back": [
    async (tx) => {
      await describeTeam(tx, one);
      await sql`savepoint before`.execute(tx.db);
      await event(tx, "teams", one);
      await sql`rollback to savepoint before`.execute(tx.db);
    },
    /of teams/,
  ],
  "raw SQL": [raw, /update of teams \(rows that the statement does not name\)/],
  "a WITH before it": [
    (tx) =>
      tx.db
        .with("some", (query) => query.selectFrom("users").select("id"))
        .deleteFrom("teams")
        .where("id", "=", one)
        .execute(),
    /delete of teams/,
  ],
};

describe("a transaction", () => {
  it.each(Object.entries(refused))("is refused with %s", async (_, [work, sentence]) => {
    const rows = () => api.database.reader.db.selectFrom("teams").select(["id", "version"]).orderBy("id").execute();
    const before = await rows();
    await expect(api.audited.write(work)).rejects.toThrow(sentence);
    expect(await rows()).toEqual(before);
  });

  it.each(Object.entries(committed))("is committed with %s", async (_, work) => {
    await expect(api.audited.write(work)).resolves.not.toThrow();
  });
});
