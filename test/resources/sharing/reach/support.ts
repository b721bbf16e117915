/** Large organizations for the tests of reach. */
import type { Api } from "../../../support/api.ts";
import { data, makeWorkspace, type Org } from "../../../support/builders.ts";

/** Many workspaces in the organization's default project, copied from one that was made over HTTP. Returns their names. */
export async function manyWorkspaces(api: Api, org: Org, count: number): Promise<string[]> {
  const { id } = await makeWorkspace(api, org.name, { name: "copied-00000" });
  const names = Array.from({ length: count }, (_, at) => `copied-${String(at).padStart(5, "0")}`);
  await api.database.write(async (tx) => {
    const row = await tx.db.selectFrom("workspaces").selectAll().where("id", "=", id).executeTakeFirstOrThrow();
    const copies = names.slice(1).map((name) => ({ ...row, name, nameKey: name, id: `ws-${org.id.slice(4)}-${name}` }));
    for (let at = 0; at < copies.length; at += 300)
      await tx.db
        .insertInto("workspaces")
        .values(copies.slice(at, at + 300))
        .execute();
    await tx.db.updateTable("projects").set({ workspaceCount: count }).where("id", "=", org.defaultProjectId).execute();
  });
  data(await api.admin.get(`/workspaces/${id}`));
  return names;
}
