/** The service is killed while it stores contents: nothing acknowledged is lost, and the clean-up leaves no object without a row. */
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { openDatabase } from "../../src/database/engines/open.ts";
import { callerOn } from "../support/api.ts";
import { data, resource, unique } from "../support/builders.ts";
import type { Engine } from "../support/database.ts";
import { FaultProxy, type ObjectServer, startObjectServer, storeCredentials } from "../support/object-store.ts";
import { fetchState, lock, post, stateAttributes, stateOf, unlock } from "../support/states.ts";
import { scaled, until } from "../support/waiting.ts";
import { cadastre, dropRegistersAfterwards, newRegister, startService } from "../cli/support.ts";

dropRegistersAfterwards();
let store: ObjectServer;
beforeAll(async () => {
  // The command below runs in this process.
  Object.assign(process.env, storeCredentials);
  store = await startObjectServer();
});
afterAll(() => store.stop());

const adminToken = "the-admin-of-a-killed-service";

/** `before the object`: the store never answers the upload. `before the row`: the object is there, the service does not know. */
describe.each(["before the object", "before the row"] as const)("killed %s", (moment) => {
  test("loses nothing and leaves nothing", { timeout: scaled(300_000) }, async () => {
    const engine: Engine = inject("engine");
    const prefix = unique("kill");
    const proxy = await FaultProxy.start(store.port);
    const settings = {
      ...(await newRegister(engine)),
      ...storeCredentials,
      CADASTRE_CONTENTS: store.address(prefix, proxy.port),
      CADASTRE_CONTENTS_KEEP_DAYS: "0",
      CADASTRE_ADMIN_TOKEN: adminToken,
      CADASTRE_LOG_LEVEL: "fatal",
    };
    const first = await startService(settings);
    const admin = callerOn(first.url, adminToken);
    const organization = unique("org");
    data(await admin.post("/organizations", resource("organizations", { name: organization, email: "a@example.com" })));
    const made = resource("workspaces", { name: unique("ws") });
    const workspace = data(await admin.post(`/organizations/${organization}/workspaces`, made));
    await lock(admin, workspace.id);
    const text = stateOf();
    const version = data(await post(admin, workspace.id, stateAttributes(text)));
    expect(store.objects(prefix)).toHaveLength(1);
    await unlock(admin, workspace.id);
    await lock(admin, workspace.id);

    const requests = proxy.requests.length;
    proxy.methods = ["PUT"];
    proxy.fault = moment === "before the object" ? "silence" : "unanswered";
    const lost = post(admin, workspace.id, stateAttributes(stateOf({ serial: 2 }))).catch(() => undefined);
    await until(() => proxy.requests.length > requests, "the upload has begun");
    if (moment === "before the row") await until(() => store.objects(prefix).length === 2, "the object is stored");
    first.process.kill("SIGKILL");
    await Promise.all([first.ended, lost]);
    proxy.heal();

    const second = await startService(settings);
    const again = callerOn(second.url, adminToken);
    expect(await fetchState({ url: second.url } as never, again, `/state-versions/${version.id}/download`)).toEqual({
      status: 200,
      text,
    });
    const current = data(await again.get(`/workspaces/${workspace.id}/current-state-version`));
    expect(current.id).toBe(version.id);
    second.process.kill("SIGKILL");
    await second.ended;
    await age(settings.CADASTRE_DATABASE);
    expect((await cadastre(["job", "run", "contents"], settings)).err).toBe("");
    expect(store.objects(prefix)).toHaveLength(1);
    await proxy.stop();
  });
});

/** As if the service had been killed a day ago. Also ends the leases of its jobs. */
async function age(address: string): Promise<void> {
  const database = openDatabase(address);
  const old = new Date(Date.now() - 25 * 3_600_000).toISOString();
  await database.write(async ({ db }) => {
    await db.updateTable("unattachedObjects").set({ since: old }).execute();
    await db.updateTable("jobs").set({ leaseUntilMs: 0, holder: null }).execute();
  });
  await database.close();
}
