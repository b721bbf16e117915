/** The lifecycle of an agent: engines that are added later, unreachable servers, signals, and kills. */
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { afterAll, afterEach, describe, expect, it } from "vitest";
import { Agent } from "../../src/agent/agent.ts";
import { findTools, isRoot } from "../../src/sandbox/choose.ts";
import { openCgroups } from "../../src/sandbox/cgroup.ts";
import { claimUids } from "../../src/sandbox/uids.ts";
import { readAgentSettings } from "../../src/agent/settings.ts";
import { cadastre, start } from "../cli/support.ts";
import { addFakeEngine } from "../support/engines.ts";
import { childrenOf, isRunning } from "../support/site.ts";
import { finished, openFolder, startTestAgent } from "./support/agent.ts";
import { scaled, until } from "../support/waiting.ts";
import { agentToken, TestServer } from "./support/server.ts";
import { isOnBothEngines } from "../support/depth.ts";

const engines = openFolder();
addFakeEngine(engines);
const folders = [engines];
const servers: TestServer[] = [];
afterAll(() => folders.forEach((folder) => rmSync(folder, { recursive: true, force: true })));
afterEach(async () => {
  for (const server of servers.splice(0)) await server.close();
});

const config = (settings: object) => ({ "main.tf": "", "stand-in.json": JSON.stringify(settings) });
const sandboxes = [
  ...(isRoot() && findTools().setpriv !== undefined ? (["user"] as const) : []),
  ...(findTools().bwrap === undefined || !isOnBothEngines ? [] : (["bubblewrap"] as const)),
  ...(findTools().setpriv === undefined ? [] : (["none"] as const)),
];

async function newServer(): Promise<TestServer> {
  const server = new TestServer();
  servers.push(server);
  await server.listen();
  return server;
}

function startProcess(server: TestServer, environment: Record<string, string> = {}) {
  const folder = openFolder();
  folders.push(folder);
  const home = join(folder, "home");
  const settings = {
    CADASTRE_AGENT_SERVER: server.url,
    CADASTRE_AGENT_TOKEN: agentToken,
    CADASTRE_AGENT_NAME: "process",
    CADASTRE_AGENT_DIRECTORY: home,
    CADASTRE_ENGINES: engines,
    CADASTRE_SANDBOX: "none",
    ...environment,
  };
  return { home, settings, ...start(["agent"], settings) };
}

describe("an agent", () => {
  it("finds an engine that is added while it waits", async () => {
    const folder = openFolder();
    folders.push(folder);
    const testAgent = await startTestAgent({ engines: folder, sandbox: "none" });
    try {
      expect(testAgent.lines.join("\n")).toContain("no engines found directory=");
      const plan = testAgent.server.add({
        files: config({}),
        attributes: { engine: "tofu", "engine-version": "1.9.0" },
      });
      addFakeEngine(folder, "tofu", "1.9.0");
      await finished(plan);
      expect(plan.log).toContain("OpenTofu v1.9.0");
    } finally {
      await testAgent.close();
    }
  });

  it("registers again after the server has deleted it", async () => {
    const testAgent = await startTestAgent({ engines, sandbox: "none" });
    try {
      testAgent.server.troubles.push({ path: /actions\/claim/, status: 404, times: 1 });
      await until(() => testAgent.server.registered.length === 2);
      await finished(testAgent.server.add({ files: config({}) }));
    } finally {
      await testAgent.close();
    }
  });

  it("keeps the state of a lost apply", async () => {
    const testAgent = await startTestAgent({ engines, sandbox: "none" });
    try {
      const { server, settings } = testAgent;
      const files = config({ resources: { a: "1", b: "2" }, slowMs: scaled(1_500) });
      const plan = server.add({ files });
      await finished(plan);
      const apply = server.add({ files, phase: "apply", runId: plan.runId, plan });
      await until(() => apply.log.includes("Creation complete"));
      server.troubles.push({ path: new RegExp(`${apply.id}/`), status: 409, times: 1000 });
      server.signals.set(apply.id, "cancel");
      await until(() => testAgent.lines.find((line) => line.startsWith("state saved ")));
      const [name = ""] = readdirSync(join(settings.agentDirectory, "lost"));
      expect(name.startsWith(plan.runId)).toBe(true);
      expect(readFileSync(join(settings.agentDirectory, "lost", name), "utf8")).toContain('"name": "a"');
      expect(apply.finished).toBeUndefined();
    } finally {
      await testAgent.close();
    }
  });

  it("refuses a directory that another agent uses", async () => {
    const server = await newServer();
    const { home, process: child, ended } = startProcess(server);
    await until(() => server.registered.length > 0);
    const environment = {
      CADASTRE_AGENT_SERVER: server.url,
      CADASTRE_AGENT_TOKEN: agentToken,
      CADASTRE_AGENT_DIRECTORY: home,
      CADASTRE_SANDBOX: "none",
    };
    await expect(Agent.open(readAgentSettings({ environment }), () => undefined)).rejects.toThrow(
      /Another agent \(process \d+\) uses/,
    );
    child.kill("SIGTERM");
    await ended;
  });
});

describe("cadastre agent", () => {
  it("names missing settings", async () => {
    expect(await cadastre(["agent"])).toMatchObject({
      code: 1,
      err: expect.stringContaining("CADASTRE_AGENT_SERVER must be set"),
    });
    expect(await cadastre(["agent"], { CADASTRE_AGENT_SERVER: "https://a.example" })).toMatchObject({
      err: expect.stringContaining("CADASTRE_AGENT_TOKEN must be set"),
    });
    expect(await cadastre(["agent"], { CADASTRE_SANDBOX: "cardboard" })).toMatchObject({
      err: [
        "CADASTRE_AGENT_SERVER must be set. 'cadastre agent --help' describes it.",
        "CADASTRE_AGENT_TOKEN must be set. 'cadastre agent --help' describes it.",
        "CADASTRE_SANDBOX must be one of bubblewrap, user, none.",
      ].join("\n"),
    });
  });

  it("lists every setting in its help", async () => {
    const { out } = await cadastre(["agent", "--help"]);
    for (const name of [
      "CADASTRE_AGENT_SERVER",
      "CADASTRE_AGENT_TOKEN",
      "CADASTRE_AGENT_NAME",
      "CADASTRE_ENGINES",
      "CADASTRE_ENGINE",
      "CADASTRE_SANDBOX",
      "--agent-slots NUMBER",
    ])
      expect(out).toContain(name);
  });

  it("exits with an error message when its token is rejected", async () => {
    const server = await newServer();
    const { ended } = startProcess(server, { CADASTRE_AGENT_TOKEN: "some-other-token-0123456789" });
    expect(await ended).toMatchObject({ code: 1, err: expect.stringContaining("Check CADASTRE_AGENT_TOKEN") });
  });

  it("on the first signal, finishes its jobs, claims no more, and reports that it exits", async () => {
    const server = await newServer();
    const running = startProcess(server);
    const plan = server.add({ files: config({ print: ["begun"], planMs: scaled(1_500), resources: { a: "1" } }) });
    await until(() => plan.log.includes("begun"));
    const other = server.add({ files: config({}) });
    running.process.kill("SIGTERM");
    expect(await running.ended).toMatchObject({ code: 0, out: expect.stringContaining("agent draining jobs=1") });
    expect(plan.finished).toMatchObject({ result: "finished" });
    expect(other.log).toBe("");
    expect(server.pings.at(-1)).toMatchObject({ status: "exited" });
  });

  it("on the second signal, kills its jobs and reports them with their state", async () => {
    const server = await newServer();
    const running = startProcess(server);
    const files = config({ resources: { a: "1", b: "2" }, slowMs: 1000, deaf: true });
    const plan = server.add({ files });
    await finished(plan);
    const apply = server.add({
      files: config({ resources: {}, slowMs: 60_000, deaf: true }),
      phase: "apply",
      runId: plan.runId,
      plan,
    });
    await until(() => apply.starts === 1);
    running.process.kill("SIGTERM");
    await until(() => running.out().includes("agent draining jobs=1"));
    // Two signals at the same moment count as one key press, so they are sent until the second counts.
    while (!running.out().includes("agent stopping, killing engines")) {
      running.process.kill("SIGTERM");
      await pause(20);
    }
    await running.ended;
    expect(apply.finished).toMatchObject({
      result: "errored",
      "error-message": expect.stringContaining("the agent was shut down"),
    });
    expect(isRunning(plan.runId)).toBe(false);
  });

  it.each(sandboxes)(
    "when killed, takes its engine with it, in the sandbox %s, and keeps the state",
    async (sandbox) => {
      const server = await newServer();
      const running = startProcess(server, { CADASTRE_SANDBOX: sandbox });
      const files = config({ resources: { a: "1", b: "2" }, slowMs: scaled(3_000) });
      const plan = server.add({ files });
      await finished(plan);
      const apply = server.add({ files, phase: "apply", runId: plan.runId, plan });
      await until(() => apply.log.includes("Creation complete"));
      running.process.kill("SIGKILL");
      await running.ended;
      await until(() => !isRunning(plan.runId));
      const again = start(["agent"], running.settings);
      await until(() => again.out().includes("state saved "));
      expect(existsSync(join(running.home, "lost"))).toBe(true);
      await until(() => again.out().includes("agent registered"));
      again.process.kill("SIGTERM");
      expect(await again.ended).toMatchObject({ code: 0 });
    },
  );

  it("needs little memory for large output", async () => {
    const server = await newServer();
    const running = startProcess(server);
    const files = config({ resources: { a: "1" }, noiseBytes: 60 * 2 ** 20 });
    const plan = server.add({ files });
    await finished(plan);
    const peakOf = (pid: number) =>
      Number(/VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? 0) / 1024;
    const agent = running.process.pid ?? 0;
    const before = peakOf(agent);
    const apply = server.add({ files, phase: "apply", runId: plan.runId, plan });
    let peak = 0;
    await until(() => {
      for (const job of childrenOf(agent)) peak = Math.max(peak, peakOf(job));
      return apply.finished;
    });
    expect(apply.log.length).toBeGreaterThan(60 * 2 ** 20);
    expect(peak).toBeGreaterThan(0);
    expect(peak).toBeLessThan(before + 120);
    expect(peakOf(agent) - before).toBeLessThan(20);
    running.process.kill("SIGTERM");
    await running.ended;
  });
});

describe("user ids", () => {
  it("are exclusive while they are claimed", async () => {
    const base = 1_900_000_000;
    const [one, two] = [await claimUids(base, 2), await claimUids(base, 2)];
    expect([one.list, two.list]).toEqual([
      [base, base + 1],
      [base + 2, base + 3],
    ]);
    one.release();
    // A process that begins elsewhere in this one has a copy of the sockets until it is its own program: they may be free a little later.
    await until(async () => {
      const three = await claimUids(base, 3);
      three.release();
      return three.list.join() === [base, base + 1, base + 4].join();
    });
    two.release();
  });
});

describe("cgroups", () => {
  const limits = { memoryBytes: 2 ** 30, processes: 100 };

  function fakeCgroup(controllers: string): string {
    const folder = openFolder();
    folders.push(folder);
    writeFileSync(join(folder, "cgroup.controllers"), controllers);
    writeFileSync(join(folder, "cgroup.procs"), "4711\n");
    mkdirSync(join(folder, "job-0"));
    writeFileSync(join(folder, "job-0", "memory.events"), "oom 3\noom_kill 2\n");
    return folder;
  }

  it("are separate for the agent and for each slot, with the slot's limits", async () => {
    const folder = fakeCgroup("cpu memory pids");
    const { description: sentence, slot } = openCgroups(limits, folder);
    expect(sentence).toBe("Each job is limited to 1024 MB of memory and 100 processes.");
    expect(readFileSync(join(folder, "agent", "cgroup.procs"), "utf8")).toBe("4711");
    expect(readFileSync(join(folder, "cgroup.subtree_control"), "utf8")).toBe("+memory +pids");
    const cgroup = slot!(0);
    await cgroup.add(4712);
    expect(readFileSync(join(folder, "job-0", "cgroup.procs"), "utf8")).toBe("4712");
    expect(readFileSync(join(folder, "job-0", "memory.max"), "utf8")).toBe(String(2 ** 30));
    expect(readFileSync(join(folder, "job-0", "pids.max"), "utf8")).toBe("100");
    expect(cgroup.outOfMemory()).toBe(2);
  });

  it("give the reason if there are none", () => {
    expect(openCgroups(limits, fakeCgroup("cpu"))).toMatchObject({
      slot: undefined,
      description: expect.stringContaining("lacks the memory and pids controllers"),
    });
    expect(openCgroups({ memoryBytes: 0, processes: 0 })).toMatchObject({
      slot: undefined,
      description: expect.stringContaining("as configured"),
    });
  });
});
