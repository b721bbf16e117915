/** One process for each job: the data of a job can block only its own process, not other jobs or the agent's heartbeat. */
import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, afterEach, beforeEach, describe, expect, test } from "vitest";
import { dropRegistersAfterwards, newRegister } from "../cli/support.ts";
import { data, resource } from "../support/builders.ts";
import { addFakeEngine } from "../support/engines.ts";
import { childrenOf, isRunning, Site, type SiteOptions } from "../support/site.ts";
import { scaled, until } from "../support/waiting.ts";
import { finished, openFolder, startTestAgent } from "./support/agent.ts";

dropRegistersAfterwards();
const engines = openFolder();
addFakeEngine(engines);
const folders = [engines];
afterAll(() => folders.forEach((folder) => rmSync(folder, { recursive: true, force: true })));

const files = (settings: object) => ({ "stand-in.json": JSON.stringify(settings) });

interface HostileJob {
  readonly title: string;
  readonly settings: object;
  readonly run?: object;
}

/** Each of the maximum size that the server or the engine allows. */
const hostileJobs: readonly HostileJob[] = [
  {
    title: "a run variable of which every character has to be looked at again and again",
    settings: { resources: { a: "1" } },
    run: { variables: [{ key: "v", value: `[${"/*".repeat(100_000)}]` }] },
  },
  { title: "a line of output without an end", settings: { print: ["x".repeat(60 * 2 ** 20)] } },
  { title: "a large state of small values", settings: { resources: { a: "1" }, stateBytes: 100 * 2 ** 20 } },
];

describe.each(["sqlite", "postgres"] as const)("on %s", { timeout: scaled(400_000) }, (engine) => {
  let site: Site;
  let folder: string;

  async function open(executes: SiteOptions["executes"]): Promise<void> {
    folder = openFolder();
    folders.push(folder);
    site = await Site.open({ register: await newRegister(engine), folder, engines, slots: 2, executes });
    data(await site.admin.post("/organizations", resource("organizations", { name: "other", email: "b@example.com" })));
  }
  afterEach(() => site.close());

  async function begin(organization: string, settings: object, run: object = {}): Promise<string> {
    const workspaceId = await site.workspace(`w-${organization}`, {}, organization);
    return site.run(workspaceId, await site.configuration(workspaceId, files(settings)), run);
  }

  /** The job processes of an agent, or of the server's workers. */
  const jobProcesses = () => (site.agentPid > 0 ? [site.agentPid] : childrenOf(site.serverPid)).flatMap(childrenOf);

  describe("an agent", () => {
    beforeEach(() => open("agent"));

    test.each(hostileJobs)("continues another organization's apply during $title", async ({ settings, run }) => {
      const other = await begin("other", { resources: { one: "1", two: "2" }, slowMs: 20_000 });
      await site.waitFor(other, "applying");
      const hostile = await begin("acme", settings, run);
      expect(await site.waitFor(other, "applied", "errored"), site.output).toBe("applied");
      expect(await site.statusOf(hostile)).not.toBe("plan_queued");
      expect(await agentStatuses()).not.toContain("unknown");
    });

    test("a plan whose process hangs is executed again, and another apply continues", async () => {
      const hold = join(folder, "go-on");
      const other = await begin("other", { resources: { one: "1" }, hold: { apply: hold } });
      await until(async () => readdirSync(folder).includes("go-on.here"), "the first job's apply has begun");
      const before = jobProcesses();
      const hung = await begin("acme", { resources: { one: "1" }, hold: { "init of plan": `${hold}-plan` } });
      await until(async () => readdirSync(folder).includes("go-on-plan.here"), "the second job's engine begins");
      const [pid = 0] = jobProcesses().filter((each) => !before.includes(each));
      process.kill(pid, "SIGSTOP");
      await until(async () => !jobProcesses().includes(pid), "the agent ends the process that hangs");
      writeFileSync(hold, "");
      writeFileSync(`${hold}-plan`, "");
      expect(await site.waitFor(other, "applied", "errored"), site.output).toBe("applied");
      expect(await site.waitFor(hung, "applied", "errored"), site.output).toBe("applied");
      expect(isRunning(hung)).toBe(false);
    });
  });

  test.each(["agent", "workers"] as const)(
    "of %s: an apply whose process is killed fails immediately, and its state is kept",
    async (executes) => {
      await open(executes);
      const hold = join(folder, "go-on");
      const run = await begin("acme", { resources: { one: "1", two: "2" }, hold: { apply: hold } });
      await until(async () => readdirSync(folder).includes("go-on.here"), "its apply has made the first resource");
      for (const pid of jobProcesses()) process.kill(pid, "SIGKILL");
      expect(await site.waitFor(run, "applied", "errored")).toBe("errored");
      const apply = data(await site.admin.get(`/runs/${run}/apply`));
      const log = await (await fetch(apply.attributes["log-read-url"])).text();
      expect(log).toContain("Check the state before you apply again");
      await until(async () => site.output.includes("state saved "), "its state is kept");
      const [name = ""] = readdirSync(join(folder, "agent", "lost"));
      expect(readFileSync(join(folder, "agent", "lost", name), "utf8")).toContain('"name": "one"');
      expect(isRunning(run)).toBe(false);
      expect(readdirSync(join(folder, "agent", "jobs"))).toEqual([]);
    },
  );

  async function agentStatuses(): Promise<string[]> {
    const [pool] = data(await site.admin.get("/admin/agent-pools"));
    const agents = data(await site.admin.get(`/admin/agent-pools/${pool.id}/agents`)) as {
      attributes: { status: string };
    }[];
    return agents.map(({ attributes }) => attributes.status);
  }
});

describe("memory", () => {
  test("a job that exceeds its memory ends only its own process", { timeout: scaled(400_000) }, async () => {
    const testAgent = await startTestAgent({ engines, sandbox: "none" });
    try {
      // 75 MB, which take twenty times as much memory when they are parsed.
      const empty = {};
      const unknown = Array.from({ length: 25_000_000 }, () => empty);
      const hostile = testAgent.server.add({ files: files({}), attributes: { unknown } });
      await until(
        async () => testAgent.lines.some((line) => line.startsWith("job abandoned run=unknown ")),
        "its process is ended",
        300,
      );
      const next = testAgent.server.add({ files: files({ resources: { a: "1" } }) });
      expect(await finished(next)).toMatchObject({ result: "finished" });
      expect(hostile.finished).toBeUndefined();
    } finally {
      await testAgent.close();
    }
  });
});
