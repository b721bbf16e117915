/** The server's workers as real processes: they execute runs, are restarted when they die, and leave nothing behind. */
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { openDatabase } from "../../src/database/engines/open.ts";
import { archive } from "../support/archives.ts";
import { callerOn, type Caller, type Json } from "../support/api.ts";
import { data, resource } from "../support/builders.ts";
import { addFakeEngine } from "../support/engines.ts";
import { createConfiguration } from "../support/configurations.ts";
import { runBody } from "../support/runs.ts";
import { put } from "../support/states.ts";
import { until } from "../support/waiting.ts";
import {
  cadastre,
  dropRegistersAfterwards,
  newRegister,
  start,
  startService,
  stopService,
  useFolder,
} from "./support.ts";

dropRegistersAfterwards();
const folder = useFolder();
const adminToken = "an-admin-of-the-workers";

function isAlive(pid: number): boolean {
  try {
    return !/^State:\s+[ZX]/m.test(readFileSync(`/proc/${pid}/status`, "latin1"));
  } catch {
    return false;
  }
}

async function runToEnd(admin: Caller, organization: string): Promise<Json> {
  const workspace = data(
    await admin.post(
      `/organizations/${organization}/workspaces`,
      resource("workspaces", { name: `w-${Date.now()}`, "execution-mode": "remote", "terraform-version": "1.5.7" }),
    ),
  );
  const configuration = data(await createConfiguration(admin, workspace.id));
  const bytes = archive([{ name: "stand-in.json", content: JSON.stringify({ resources: { one: "1" } }) }]);
  await put(configuration.attributes["upload-url"], bytes);
  const run = data(await admin.post("/runs", runBody(workspace.id, { "auto-apply": true }, configuration.id)));
  return until(async () => {
    const shown = data(await admin.get(`/runs/${run.id}`));
    return ["applied", "errored", "canceled"].includes(shown.attributes.status) ? shown : undefined;
  }, "the run ends");
}

describe("CADASTRE_WORKERS", () => {
  test("without an engine the start fails with instructions", async () => {
    const register = await newRegister("sqlite");
    const { code, err } = await cadastre(["serve"], {
      ...register,
      CADASTRE_WORKERS: "2",
      CADASTRE_ENGINES: join(folder, "none"),
      CADASTRE_ENGINE_MIRROR: "off",
    });
    expect(code).toBe(1);
    expect(err).toMatch(
      /^CADASTRE_WORKERS is 2, but there is no engine in .*\/none, and CADASTRE_ENGINE_MIRROR is off\. Put one at .*terraform\/VERSION/,
    );
  });

  test("the server executes runs, restarts dead workers, and stops workers and token with itself", async () => {
    const register = await newRegister("sqlite");
    const engines = join(folder, "engines");
    addFakeEngine(engines);
    const settings = {
      ...register,
      CADASTRE_ADMIN_TOKEN: adminToken,
      CADASTRE_WORKERS: "2",
      CADASTRE_ENGINES: engines,
      CADASTRE_SANDBOX: "none",
      CADASTRE_AGENT_DIRECTORY: join(folder, "agent"),
    };
    const service = await startService(settings);
    const admin = callerOn(service.url, adminToken);
    data(await admin.post("/organizations", resource("organizations", { name: "acme", email: "a@b.c" })));
    const entitled = async () =>
      data(await admin.get("/organizations/acme/entitlement-set")).attributes.operations || undefined;
    await until(entitled, "the workers register");
    const run = await runToEnd(admin, "acme");
    expect(run.attributes.status, service.out()).toBe("applied");
    const [pool] = data(await admin.get("/admin/agent-pools?q=server-workers"));
    const agents = async (): Promise<Json[]> => data(await admin.get(`/admin/agent-pools/${pool.id}/agents`));
    const [first] = await agents();
    expect(first.attributes.engines.terraform).toEqual(["1.5.7"]);

    // The token is neither in the log nor in the process list, and the child does not get the server's secrets.
    const child = Number(/"worker":(\d+)/.exec(service.out())?.[1]);
    const environment = execFileSync("cat", [`/proc/${child}/environ`]).toString();
    const token = /CADASTRE_AGENT_TOKEN=([^\0]+)/.exec(environment)?.[1] ?? "none";
    expect(service.out()).not.toContain(token);
    expect(environment).not.toContain(adminToken);
    expect(environment).not.toContain(register.CADASTRE_ENCRYPTION_KEY);

    process.kill(child, "SIGKILL");
    await until(async () => ((await agents()).length > 1 ? true : undefined), "the workers come back");
    expect((await runToEnd(admin, "acme")).attributes.status, service.out()).toBe("applied");

    // A killed server takes its workers with it.
    const worker = Number(/"worker":(\d+)/.exec(service.out().slice(service.out().lastIndexOf('"worker":')))?.[1]);
    expect(isAlive(worker)).toBe(true);
    service.process.kill("SIGKILL");
    await service.ended;
    await until(async () => (isAlive(worker) ? undefined : true), "the workers of a killed server end");

    const next = await startService(settings);
    await until(async () => (next.out().includes("agent registered") ? true : undefined), "new workers register");
    expect((await stopService(next)).code).toBe(0);
    const database = openDatabase(register.CADASTRE_DATABASE);
    expect(await database.reader.db.selectFrom("agentTokens").select("id").execute()).toEqual([]);
    await database.close();
  });

  test("the workers get the host keys and the sandbox from the server's settings file", async () => {
    const engines = join(folder, "engines");
    addFakeEngine(engines);
    const config = join(folder, "server.conf");
    const knownHosts = join(folder, "known_hosts");
    writeFileSync(knownHosts, "");
    const shared = [`CADASTRE_SSH_KNOWN_HOSTS=${knownHosts}`, "CADASTRE_SANDBOX=none", `CADASTRE_ENGINES=${engines}`];
    writeFileSync(config, [...shared, "CADASTRE_WORKERS=1"].join("\n"));
    const service = await startService({
      ...(await newRegister("sqlite")),
      CADASTRE_CONFIG: config,
      CADASTRE_AGENT_DIRECTORY: join(folder, "configured"),
    });
    await until(async () => (service.out().includes("agent registered") ? true : undefined), "the workers register");
    const child = Number(/"worker":(\d+)/.exec(service.out())?.[1]);
    const environment = readFileSync(`/proc/${child}/environ`, "utf8").split("\0");
    await stopService(service);
    expect(environment).toEqual(expect.arrayContaining(shared));
  });

  describe.each(["sqlite", "postgres"] as const)("on %s", (engine) => {
    const settingsOf = async (name: string) => {
      const engines = join(folder, "engines");
      addFakeEngine(engines);
      return {
        ...(await newRegister(engine)),
        CADASTRE_ADMIN_TOKEN: adminToken,
        CADASTRE_WORKERS: "1",
        CADASTRE_ENGINES: engines,
        CADASTRE_SANDBOX: "none",
        CADASTRE_AGENT_DIRECTORY: join(folder, `${engine}-${name}`),
      };
    };

    test("a second server in the same directory refuses to start with instructions; the first continues", async () => {
      const settings = await settingsOf("shared");
      const service = await startService({ ...settings, CADASTRE_LISTEN: "127.0.0.2:0" });
      try {
        const second = await start(["serve"], { ...settings, CADASTRE_LISTEN: "127.0.0.1:0" }).ended;
        expect(second.code).toBe(1);
        expect(second.err).toMatch(
          /^CADASTRE_WORKERS is 1, but the workers can't start: Another agent \(process \d+\) uses \S+-shared\. Give each agent its own CADASTRE_AGENT_DIRECTORY\.$/m,
        );
        expect(second.out).not.toContain("Ctrl+C");
        const admin = callerOn(service.url, adminToken);
        data(await admin.post("/organizations", resource("organizations", { name: "acme", email: "a@b.c" })));
        expect((await runToEnd(admin, "acme")).attributes.status, service.out()).toBe("applied");
        const database = openDatabase(settings.CADASTRE_DATABASE);
        expect(await database.reader.db.selectFrom("agentTokens").select("id").execute()).toHaveLength(1);
        await database.close();

        const own = { ...settings, CADASTRE_AGENT_DIRECTORY: join(folder, `${engine}-own`) };
        const third = await startService({ ...own, CADASTRE_LISTEN: "127.0.0.1:0" });
        await until(async () => (third.out().includes("agent registered") ? true : undefined), "its workers register");
        expect((await stopService(third)).code).toBe(0);
      } finally {
        await stopService(service);
      }
    });

    test("of two servers that start together in one directory, one starts", async () => {
      const settings = await settingsOf("together");
      await cadastre(["migrate"], settings);
      const both = ["127.0.0.1:0", "127.0.0.2:0"].map((listen) =>
        startService({ ...settings, CADASTRE_LISTEN: listen }).catch((error: Error) => error),
      );
      const ended = await Promise.all(both);
      const refused = ended.filter((each) => each instanceof Error);
      expect(refused.map(({ message }) => message)).toEqual([expect.stringContaining("Another agent")]);
      for (const each of ended) if (!(each instanceof Error)) await stopService(each);
    });

    test("other errors of the workers' start prevent the server's start too", async () => {
      const settings = { ...(await settingsOf("certificate")), CADASTRE_AGENT_CA: join(folder, "no-such.pem") };
      const { code, err } = await start(["serve"], { ...settings, CADASTRE_LISTEN: "127.0.0.1:0" }).ended;
      expect(code).toBe(1);
      expect(err).toMatch(/^CADASTRE_WORKERS is 1, but the workers can't start: CADASTRE_AGENT_CA can't be read/m);
      // The next start prints the first admin's token, because this one has not.
      expect((await cadastre(["user", "list", "--json"], settings)).out).toBe("[]");
    });
  });
});
