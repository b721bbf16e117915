/**
 * An import is killed several times while a server uses the register; it continues when it is started again, and in the
 * end both organizations are equal, document by document. A deep run imports a thousand workspaces.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { comparable } from "../moving/organization.ts";
import { type Caller, callerOn, type Json } from "../support/api.ts";
import { data, resource } from "../support/builders.ts";
import { forEachConcurrently } from "../../src/moving/concurrency.ts";
import type { Engine } from "../support/database.ts";
import { deep } from "../support/depth.ts";
import { managed, stateOf, writeState } from "../support/states.ts";
import { dropRegistersAfterwards, newRegister, start, startService, stopService } from "./support.ts";

dropRegistersAfterwards();

const workspaceCount = deep(16, 1000);
const killsMin = deep(2, 6);
const organization = "acme";
const token = "the-admin-of-a-moving-register";
/** The secrets that the report lists. */
const secrets = [
  "ssh-keys: modules",
  "agent-pools: builders",
  "vars: shared, password",
  ...Array.from({ length: workspaceCount }, (_, index) => `vars: workspace-${index}, secret`),
];
const quiet = { CADASTRE_ADMIN_TOKEN: token, CADASTRE_LOG_LEVEL: "fatal" };

test.each<Engine>(["sqlite", "postgres"])(
  "an import into %s continues after it was killed",
  { timeout: 1_800_000 },
  async (engine) => {
    const source = await startService({ ...(await newRegister("sqlite")), ...quiet });
    const register = await newRegister(engine);
    const target = await startService({ ...register, ...quiet });
    const [there, here] = [callerOn(source.url, token), callerOn(target.url, token)];
    await furnish(there);
    const words = ["import", "--from", source.url, "--organization", organization, "--json"];
    const settings = { ...register, CADASTRE_IMPORT_TOKEN: token };
    for (let kills = 0; kills < killsMin; kills += 1) {
      const before = await workspacesOf(here);
      const running = start(words, settings);
      const isOver = running.ended.then(() => true);
      // Some time after it has imported something, on a machine of any speed.
      const killAt = Math.min(before + Math.ceil(workspaceCount / (killsMin + 1)), workspaceCount);
      while ((await workspacesOf(here)) < killAt && !(await Promise.race([isOver, sleep(20, false)])));
      running.process.kill("SIGKILL");
      expect((await running.ended).code).not.toBe(0);
      const soFar = JSON.parse((await start(["import", "--report", "--json"], register).ended).out) as Json[];
      expect(soFar.map(({ thing }) => thing)).toEqual(expect.arrayContaining(["modules", "builders"]));
    }
    const last = await start(words, settings).ended;
    expect(last).toMatchObject({ code: 0, err: expect.not.stringContaining("failed") });
    // Of all runs together.
    const toEnter = JSON.parse(last.out)["to-enter"] as Json[];
    expect(toEnter.map(({ kind, thing }) => `${kind}: ${thing}`).toSorted()).toEqual(secrets.toSorted());
    expect(await comparable(target, here, organization)).toEqual(await comparable(source, there, organization));
    await Promise.all([stopService(source), stopService(target)]);
  },
);

async function workspacesOf(caller: Caller): Promise<number> {
  const answer = await caller.get(`/organizations/${organization}/workspaces?page[size]=1`);
  return answer.status === 404 ? 0 : answer.body.meta.pagination["total-count"];
}

async function furnish(caller: Caller): Promise<void> {
  const inside = (rest: string) => `/organizations/${organization}${rest}`;
  data(await caller.post("/organizations", resource("organizations", { name: organization, email: "a@example.com" })));
  const project = data(await caller.post(inside("/projects"), resource("projects", { name: "Network" })));
  const team = data(await caller.post(inside("/teams"), resource("teams", { name: "ops" })));
  const key = { name: "modules", value: "-----BEGIN OPENSSH PRIVATE KEY-----\nx\n-----END OPENSSH PRIVATE KEY-----" };
  data(await caller.post(inside("/ssh-keys"), resource("ssh-keys", key)));
  data(await caller.post(inside("/agent-pools"), resource("agent-pools", { name: "builders" })));
  const set = data(await caller.post(inside("/varsets"), resource("varsets", { name: "shared" })));
  const password = { key: "password", value: "x", category: "env", sensitive: true };
  data(await caller.post(`/varsets/${set.id}/relationships/vars`, resource("vars", password)));
  await forEachConcurrently(Array.from({ length: workspaceCount }).keys(), 8, async (index) => {
    const [projects, type] = [{ project: { data: { type: "projects", id: project.id } } }, "workspaces"];
    const attributes = { name: `workspace-${index}`, description: `number ${index}` };
    const workspace = data(
      await caller.post(inside("/workspaces"), resource(type, attributes, index % 2 === 0 ? projects : undefined)),
    );
    for (const variable of [{ key: "a" }, { key: "secret", sensitive: true }])
      data(
        await caller.post(
          `/workspaces/${workspace.id}/vars`,
          resource("vars", { value: `${index}`, category: "env", ...variable }),
        ),
      );
    for (const serial of [1, 2])
      await writeState(caller, workspace.id, stateOf({ serial, resources: [managed("one", serial)] }));
    if (index % 5 !== 0) return;
    const relationships = {
      workspace: { data: { type, id: workspace.id } },
      team: { data: { type: "teams", id: team.id } },
    };
    data(await caller.post("/team-workspaces", resource("team-workspaces", { access: "plan" }, relationships)));
  });
}
