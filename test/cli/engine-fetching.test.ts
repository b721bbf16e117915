/** A server on a fresh machine: its workers fetch the engines that runs need, refuse forged ones, and wait for an unreachable mirror. */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { shippedReleases } from "../../src/database/migrations/0008-identity.ts";
import { archive } from "../support/archives.ts";
import { callerOn, type Caller, type Json } from "../support/api.ts";
import { data, resource } from "../support/builders.ts";
import { createConfiguration } from "../support/configurations.ts";
import { EngineMirror, mirrorCa } from "../support/engine-mirror.ts";
import { runBody } from "../support/runs.ts";
import { put } from "../support/states.ts";
import { until } from "../support/waiting.ts";
import { dropRegistersAfterwards, newRegister, startService, stopService, useFolder } from "./support.ts";

dropRegistersAfterwards();
const folder = useFolder();
const adminToken = "an-admin-of-a-fresh-machine";
const newest = shippedReleases.at(-1) ?? "";
let mirror: EngineMirror;

beforeAll(async () => {
  mirror = await EngineMirror.start();
  for (const version of [newest, "1.9.7"]) await mirror.publish({ product: "terraform", version });
  await mirror.publish({ product: "terraform", version: "1.9.6" }, { checksum: "0".repeat(64) });
});
afterAll(() => mirror.close());

async function startRun(
  admin: Caller,
  attributes: object = {},
): Promise<{ readonly id: string; readonly version: string }> {
  const workspace = data(
    await admin.post(
      "/organizations/acme/workspaces",
      resource("workspaces", { name: `w-${Date.now()}`, "execution-mode": "remote", ...attributes }),
    ),
  );
  const configuration = data(await createConfiguration(admin, workspace.id));
  const bytes = archive([{ name: "stand-in.json", content: JSON.stringify({ resources: { one: "1" } }) }]);
  await put(configuration.attributes["upload-url"], bytes);
  const run = data(await admin.post("/runs", runBody(workspace.id, { "auto-apply": true }, configuration.id)));
  return { id: run.id, version: workspace.attributes["terraform-version"] };
}

const ended = (admin: Caller, id: string): Promise<Json> =>
  until(async () => {
    const shown = data(await admin.get(`/runs/${id}`));
    return ["applied", "errored", "canceled"].includes(shown.attributes.status) ? shown : undefined;
  }, "the run ends");

async function logOf(admin: Caller, id: string): Promise<string> {
  const plan = data(await admin.get(`/runs/${id}/plan`));
  return (await fetch(plan.attributes["log-read-url"])).text();
}

describe.each(["sqlite", "postgres"] as const)("CADASTRE_WORKERS without engines, on %s", (database) => {
  test("fetches, refuses and waits", async () => {
    const engines = join(folder, database, "engines");
    const service = await startService({
      ...(await newRegister(database)),
      CADASTRE_ADMIN_TOKEN: adminToken,
      CADASTRE_WORKERS: "1",
      CADASTRE_ENGINES: engines,
      CADASTRE_ENGINE_MIRROR: mirror.url,
      CADASTRE_ENGINE_KEYS: mirror.writeKeys(join(folder, "keys.asc")),
      CADASTRE_AGENT_CA: mirrorCa,
      CADASTRE_SANDBOX: "none",
      CADASTRE_AGENT_DIRECTORY: join(folder, database, "agent"),
    });
    const admin = callerOn(service.url, adminToken);
    data(await admin.post("/organizations", resource("organizations", { name: "acme", email: "a@b.c" })));
    await until(async () => service.out().includes("agent registered") || undefined, "the workers register");

    // A workspace without a version gets the newest that can be fetched.
    const first = await startRun(admin);
    expect(first.version).toBe(newest);
    expect((await ended(admin, first.id)).attributes.status, service.out()).toBe("applied");
    const lines = (await logOf(admin, first.id)).replace("\u0002", "").split("\n");
    expect(lines[0]).toBe(`Terraform v${newest}`);
    expect(lines[2]).toBe("Initializing plugins and modules...");
    expect(lines[3]).toMatch(
      new RegExp(
        `^Fetched Terraform ${newest} from ${mirror.url}/terraform/${newest}/\\S+\\.zip, signed with the key ${mirror.key.fingerprint}\\.$`,
      ),
    );
    const [pool] = data(await admin.get("/admin/agent-pools?q=server-workers"));
    const [agent] = data(await admin.get(`/admin/agent-pools/${pool.id}/agents`));
    expect(agent.attributes).toMatchObject({ "fetches-engines": true, "unavailable-engines": [] });

    // A refusal ends the run, with the reason in its log.
    const forged = await startRun(admin, { "terraform-version": "1.9.6" });
    expect((await ended(admin, forged.id)).attributes.status).toBe("errored");
    expect(await logOf(admin, forged.id)).toMatch(/Terraform 1\.9\.6 was refused\. .*its publisher signed 0{64}\./);

    // An unreachable mirror lets it wait, with the reason.
    const { port } = mirror;
    await mirror.close();
    const waiting = await startRun(admin, { "terraform-version": "1.9.7" });
    const reason = await until(async () => {
      const { attributes } = data(await admin.get(`/runs/${waiting.id}`));
      return attributes.status === "plan_queued" && /can't be fetched/.test(attributes["waiting-for"] ?? "")
        ? (attributes["waiting-for"] as string)
        : undefined;
    }, "the run waits");
    expect(reason).toMatch(
      /^Waiting for a worker or a site agent with Terraform 1\.9\.7: none of them has it, and it can't be fetched \(localhost:\d+ can't be reached \(.*ECONNREFUSED.*\)\)\.$/,
    );
    await mirror.listen(port);
    expect((await ended(admin, waiting.id)).attributes.status, service.out()).toBe("applied");
    expect(readdirSync(join(engines, "terraform")).toSorted()).toEqual([newest, "1.9.7"].toSorted());
    expect((await stopService(service)).code).toBe(0);
  });
});
