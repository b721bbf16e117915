/** The migration keeps resource lists, and removes their foreign key to the state version. */
import { CompiledQuery } from "kysely";
import { expect, it } from "vitest";
import { state } from "../../src/database/migrations/0003-state.ts";
import { stateUpkeep } from "../../src/database/migrations/0011-state.ts";
import { useApi } from "../support/api.ts";
import { data, makeOrganization, makeWorkspace } from "../support/builders.ts";
import { managed, stateOf, writeState } from "../support/states.ts";

const api = useApi();

const columns = stateUpkeep.statements.join("\n").match(/unbound \((id,[^)]+)\)/)?.[1] ?? "";

it("keeps the resources of workspaces, which outlive their state version until a job removes them", async () => {
  const org = await makeOrganization(api);
  const workspace = await makeWorkspace(api, org.name);
  const { id } = await writeState(org.owner, workspace.id, stateOf({ resources: [managed("a", 30)] }));
  const path = `/workspaces/${workspace.id}`;
  const listed = async () => data(await org.owner.get(`${path}/resources?page[size]=100`));
  const before = await listed();
  expect(before).toHaveLength(30);

  await api.database.write(async (tx) => {
    const run = (statement: string) => tx.db.executeQuery(CompiledQuery.raw(tx.dialect.ddl(statement)));
    const bound = state.statements.find((text) => text.includes("CREATE TABLE state_resources")) ?? "";
    await run("ALTER TABLE state_resources RENAME TO later_resources");
    await run(bound);
    await run(`INSERT INTO state_resources (${columns}) SELECT ${columns} FROM later_resources`);
    await run("DROP TABLE later_resources");
    await run("UPDATE contents SET owner_id = NULL");
    const again = stateUpkeep.statements.filter((text) => !text.includes("ADD COLUMN"));
    // The table's current name.
    for (const statement of again) await run(statement.replaceAll("state_contents", "contents"));
  });

  expect(await listed()).toEqual(before);
  const { db } = api.database.reader;
  expect(await db.selectFrom("contents").select(["stateVersionId", "ownerId"]).execute()).toEqual([
    { stateVersionId: id, ownerId: id },
  ]);
  expect((await org.owner.delete(path)).status).toBe(204);
  expect(
    await db.selectFrom("stateResources").select("address").where("stateVersionId", "=", id).execute(),
  ).toHaveLength(30);
});
