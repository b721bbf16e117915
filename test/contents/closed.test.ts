/** A deleted organization is emptied by a job: all of its objects go, and no others. */
import { expect, it } from "vitest";
import { now } from "../../src/kernel/time.ts";
import { emptyClosedOrganizations } from "../../src/resources/identity/organizations/emptying.ts";
import { appendLog } from "../../src/resources/runs/phases/logs.ts";
import { type Caller } from "../support/api.ts";
import { archive } from "../support/archives.ts";
import { data, makeOrganization, makeWorkspace, type Org, resource } from "../support/builders.ts";
import { storeRun, testVault } from "../support/phases.ts";
import { jobContextOf, lock, pendingStateAttributes, post, put, stateOf, writeState } from "../support/states.ts";
import { useStore } from "./support.ts";

const stage = useStore({ keepDays: 0 });
const { api } = stage;

async function makeContents({ name, id, owner }: Org & { readonly owner: Caller }): Promise<void> {
  const workspace = await makeWorkspace(api, name);
  await writeState(owner, workspace.id, stateOf());
  await lock(owner, workspace.id);
  const text = stateOf({ serial: 2 });
  const version = data(await post(owner, workspace.id, pendingStateAttributes(text)));
  expect((await put(version.attributes["hosted-state-upload-url"], text)).status).toBe(204);

  const made = resource("configuration-versions", { "auto-queue-runs": false });
  const configuration = data(await owner.post(`/workspaces/${workspace.id}/configuration-versions`, made));
  const packed = archive([{ name: "main.tf", content: 'resource "null_resource" "one" {}\n' }]);
  expect((await put(configuration.attributes["upload-url"], packed)).status).toBe(200);

  const run = await storeRun(api, await makeWorkspace(api, name), id);
  await api.database.write(async (tx) => {
    const phase = tx.db.selectFrom("runPhases").selectAll().where("id", "=", run.plan.id);
    await appendLog(tx, testVault, await phase.executeTakeFirstOrThrow(), 0, Buffer.from("a log"));
    await tx.db.updateTable("runPhases").set({ logUnmoved: 1 }).where("id", "=", run.plan.id).execute();
    await tx.db.updateTable("runs").set({ endedAt: now() }).where("id", "=", run.id).execute();
  });
  await stage.runJob();
}

const kindsIn = async (organizationId: string) => {
  const rows = api.database.reader.db.selectFrom("contents").select("kind").where("place", "is not", null);
  return (await rows.where("organizationId", "=", organizationId).orderBy("kind").execute()).map(({ kind }) => kind);
};

it("deletes the objects of a deleted organization", async () => {
  const [kept, doomed] = [await makeOrganization(api), await makeOrganization(api)];
  await makeContents(kept);
  const before = stage.store.objects();
  await makeContents(doomed);
  expect(await kindsIn(doomed.id)).toEqual(["archive", "plan-log", "state", "state"]);
  expect(stage.store.objects()).toHaveLength(2 * before.length);

  expect((await doomed.owner.delete(`/organizations/${doomed.name}`)).status).toBe(204);
  await emptyClosedOrganizations(jobContextOf(api));
  await stage.runJob();
  await stage.runJob();
  expect(stage.store.objects()).toEqual(before);
  expect(await kindsIn(doomed.id)).toEqual([]);
  expect(await kindsIn(kept.id)).toHaveLength(4);
  expect(await stage.unattached()).toEqual([]);
});
