/** Organizations with so many workspaces that the matches of an index are not looked up one by one. */
import { sql } from "kysely";
import type { Api } from "../../../support/api.ts";
import type { Org } from "../../../support/builders.ts";

export const size = 2500;

export const nameOf = (number: number) =>
  `${number % 500 === 3 ? "Payroll" : number % 2 === 0 ? "network" : "service"}-${(number * 7919) % 10_007}_Prod`;

/** Copies a workspace under other names with one statement: over HTTP it would take minutes. */
export async function addMany(api: Api, { name }: Org, template: string, from: number, to: number): Promise<string[]> {
  const row = await api.database.reader.db
    .selectFrom("workspaces")
    .selectAll()
    .where("id", "=", template)
    .executeTakeFirstOrThrow();
  const numbers = Array.from({ length: to - from }, (_, position) => from + position);
  const copies = numbers.map((number) => ({
    ...row,
    id: `ws-${name.slice(-8)}${number}`,
    name: nameOf(number),
    nameKey: nameOf(number).toLowerCase(),
  }));
  await api.database.write(async (tx) => {
    for (let first = 0; first < copies.length; first += 100)
      await tx.db
        .insertInto("workspaces")
        .values(copies.slice(first, first + 100))
        .execute();
    await tx.db
      .updateTable("projects")
      .set({ workspaceCount: sql`workspace_count + ${copies.length}` })
      .where("id", "=", row.projectId)
      .execute();
  });
  return copies.map((copy) => copy.name);
}
