/** Plans and applies from claim to report, with the fake engine, in each sandbox that works here. */
import { existsSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { findTools, isRoot } from "../../src/sandbox/choose.ts";
import { isDeep, isOnBothEngines } from "../support/depth.ts";
import { addFakeEngine } from "../support/engines.ts";
import { finished, openFolder, type TestAgent, startTestAgent } from "./support/agent.ts";
import { scaled, until } from "../support/waiting.ts";
import type { Reported, TestServer } from "./support/server.ts";

const engines = openFolder();
addFakeEngine(engines);
afterAll(() => rmSync(engines, { recursive: true, force: true }));

const { bwrap, setpriv } = findTools();
const canUser = isRoot() && setpriv !== undefined;

/** The user sandbox differs from none in few lines, which other tests cover; only deep runs test it here. */
const kinds = [
  "none",
  ...(canUser && (isDeep || bwrap === undefined) ? (["user"] as const) : []),
  ...(bwrap === undefined || !isOnBothEngines ? [] : (["bubblewrap"] as const)),
] as const;

const config = (settings: object) => ({ "main.tf": "", "stand-in.json": JSON.stringify(settings) });
const logOf = (report: Reported) => Buffer.from(report.log, "latin1").toString("utf8");

describe.each(kinds)("in the sandbox %s", (sandbox) => {
  let testAgent: TestAgent;
  let server: TestServer;

  beforeAll(async () => {
    testAgent = await startTestAgent({ engines, sandbox, agentSlots: 2, jobDiskMegabytes: 200 });
    ({ server } = testAgent);
  });
  afterAll(() => testAgent.close());

  /** A finished plan and its finished apply. */
  async function planAndApply(settings: object, attributes: object = {}) {
    const files = config(settings);
    const plan = server.add({ files, attributes: { ...attributes } });
    await finished(plan);
    const apply = server.add({ files, phase: "apply", runId: plan.runId, plan, attributes: { ...attributes } });
    await finished(apply);
    return { plan, apply };
  }

  it("registers with its name, version, engines and sandbox", async () => {
    await until(() => server.registered.length > 0);
    expect(server.registered[0]).toMatchObject({
      name: "tester",
      engines: { terraform: ["1.5.7"], tofu: [] },
      sandbox,
    });
  });

  it("fetches configuration, plan, lock file and state again if a response is truncated", async () => {
    await planAndApply({ resources: { before: "1" } });
    const paths = [/^\/configurations\//, /^\/state$/, /contents\/plan$/, /contents\/lock-file$/, /\/state-versions$/];
    server.cuts.push(...paths.map((path) => ({ path, times: 2 })));
    const { apply } = await planAndApply({ resources: { before: "1", after: "2" } });
    expect(apply.finished).toMatchObject({ result: "finished", "resource-additions": 1 });
    expect(server.cuts.filter(({ times }) => times > 0)).toEqual([]);
    expect(String(server.states.at(-1)?.bytes)).toContain('"after"');
    server.cuts.length = 0;
    server.states.length = 0;
  });

  it("plans: logs three lines and the engine's output, and uploads all artifacts of the plan", async () => {
    const plan = server.add({ files: config({ resources: { one: "1", two: "2" } }) });
    expect(await finished(plan)).toEqual({
      attempt: 1,
      result: "finished",
      "has-changes": true,
      "resource-additions": 2,
      "resource-changes": 0,
      "resource-destructions": 0,
      "resource-imports": 0,
      "action-invocations": 0,
      "error-message": null,
    });
    const lines = logOf(plan).split("\n");
    expect(lines.slice(0, 3)).toEqual([
      "Terraform v1.5.7",
      expect.stringMatching(/^on linux_\w+$/),
      "Initializing plugins and modules...",
    ]);
    expect(JSON.parse(lines[3]!)).toMatchObject({
      "@message": "Plan: 2 to add, 0 to change, 0 to destroy.",
      type: "change_summary",
    });
    expect(Object.keys(plan.contents).sort()).toEqual(["lock-file", "plan", "plan-json", "provider-schemas"]);
    expect(JSON.parse(String(plan.contents["plan-json"]))).toMatchObject({ format_version: "1.2" });
    expect(plan.starts).toBe(1);
    expect(plan.offsets).toEqual([...plan.offsets].sort((a, b) => a - b));
  });

  it("applies the plan in the same directory, and stores the state", async () => {
    const before = server.states.length;
    const { apply } = await planAndApply({ resources: { three: "3" } });
    expect(apply.finished).toMatchObject({ result: "finished", "resource-additions": 1 });
    expect(server.states.length).toBe(before + 1);
    expect(JSON.parse(String(server.states.at(-1)?.bytes))).toMatchObject({ resources: [{ name: "three" }] });
  });

  it("stores the state of an apply that fails half-way", async () => {
    const { apply } = await planAndApply({ resources: { four: "4", six: "6", five: "5" }, failAt: "five" });
    expect(apply.finished).toMatchObject({ result: "errored", "error-message": "creating five failed" });
    const { resources } = JSON.parse(String(server.states.at(-1)?.bytes)) as { resources: { name: string }[] };
    expect(resources.map(({ name }) => name)).toEqual(expect.arrayContaining(["four", "six"]));
    expect(resources.map(({ name }) => name)).not.toContain("five");
  });

  it("uploads a rejected state as the errored state", async () => {
    const files = config({ resources: { seven: "7" }, serialBack: true });
    const plan = server.add({ files });
    await finished(plan);
    const apply = server.add({ files, phase: "apply", runId: plan.runId, plan });
    expect(await finished(apply)).toMatchObject({ result: "errored" });
    expect(apply.finished?.["error-message"]).toContain(
      "could not be saved to the workspace (The serial is not larger.)",
    );
    expect(JSON.parse(String(apply.contents["errored-state"]))).toMatchObject({ serial: 0 });
    expect(logOf(apply)).toContain("errored state of this apply");
  });

  it("reports an engine's failure once, with the engine's message", async () => {
    const plan = server.add({ files: config({ planFails: "nothing is right" }), attributes: { structured: false } });
    expect(await finished(plan)).toMatchObject({ result: "errored", "error-message": "nothing is right" });
    expect(logOf(plan).match(/nothing is right/g)).toHaveLength(1);
    expect(plan.contents).toEqual({});
  });

  it("logs the output of a failed init", async () => {
    const plan = server.add({ files: config({ initFails: "no such module" }), attributes: { structured: false } });
    expect(await finished(plan)).toMatchObject({ result: "errored", "error-message": "no such module" });
    expect(logOf(plan)).toContain("no such module");
    expect(plan.starts).toBe(0);
  });

  it.each([
    [
      "a missing working directory",
      { "working-directory": "deep/inside" },
      {},
      /doesn't contain the workspace's working directory 'deep\/inside'/,
    ],
    [
      "a working directory outside the configuration",
      { "working-directory": "../../.." },
      {},
      /is outside the configuration/,
    ],
    [
      "an override file that would take precedence",
      {},
      { "zzzzz_override.tf": "terraform { cloud { } }" },
      /zzzzz_override.tf would replace the backend/,
    ],
    [
      "a value that would set another variable",
      {
        variables: [
          { key: "guard", value: "priority", category: "terraform", hcl: false, sensitive: false },
          {
            key: "a",
            value: '"${/* " { */ 1}"\nguard = "evil"',
            category: "terraform",
            hcl: true,
            sensitive: false,
          },
        ],
      },
      {},
      /The HCL value of the variable a can't be used: it has a template sequence/,
    ],
  ])("refuses %s", async (_, attributes, files, sentence) => {
    const plan = server.add({ files: { ...config({}), ...files }, attributes });
    expect(await finished(plan)).toMatchObject({ result: "errored", "error-message": expect.stringMatching(sentence) });
    expect(logOf(plan)).toMatch(sentence);
  });

  it("runs in the working directory", async () => {
    const plan = server.add({
      files: { "deep/inside/stand-in.json": JSON.stringify({ resources: { below: "1" } }) },
      attributes: { "working-directory": "/deep/inside/" },
    });
    expect(await finished(plan)).toMatchObject({ result: "finished" });
    expect(String(plan.contents["plan-json"])).toContain("terraform_data.below");
  });

  it("passes variables, run variables and identity tokens, and masks secrets", async () => {
    const variable = { category: "terraform", hcl: false, sensitive: false };
    const plan = server.add({
      files: config({
        printVariables: ["plain", "secret", "written", "TFC_RUN_ID"],
        printEnvironment: [
          "COLOUR",
          "PATH",
          "LD_PRELOAD",
          "TFC_WORKSPACE_SLUG",
          "TFC_WORKLOAD_IDENTITY_TOKEN",
          "CADASTRE_AGENT_TOKEN",
        ],
      }),
      attributes: {
        structured: false,
        variables: [
          { ...variable, key: "plain", value: 'a "quoted" ${value}' },
          { ...variable, key: "secret", value: "correct horse", sensitive: true },
          { ...variable, key: "written", value: '"battery staple"', hcl: true, sensitive: true },
          { ...variable, key: "COLOUR", value: "green", category: "env" },
          { ...variable, key: "PATH", value: "/evil", category: "env" },
          { ...variable, key: "LD_PRELOAD", value: "/evil.so", category: "env" },
        ],
        "identity-tokens": [{ name: "TFC_WORKLOAD_IDENTITY_TOKEN", value: "eyJhbGciOi.identity" }],
      },
    });
    await finished(plan);
    const log = logOf(plan);
    expect(log).toContain('plain = a "quoted" ${value}\nsecret = ***\nwritten = ***\n');
    expect(log).toContain(`TFC_RUN_ID = ${plan.runId}\n`);
    expect(log).toContain("COLOUR = green\nPATH = /usr/local/bin:/usr/bin:/bin\nLD_PRELOAD = undefined\n");
    expect(log).toContain(
      "TFC_WORKSPACE_SLUG = acme/network\nTFC_WORKLOAD_IDENTITY_TOKEN = ***\nCADASTRE_AGENT_TOKEN = undefined\n",
    );
    expect(log).toContain("Ignored environment variables, which the agent sets or reserves: PATH, LD_PRELOAD.");
  });

  it("interrupts the engine on cancel, and reports canceled", async () => {
    const plan = server.add({ files: config({ planMs: 60_000, print: ["begun"] }) });
    await until(() => plan.log.includes("begun"));
    server.signals.set(plan.id, "cancel");
    expect(await finished(plan)).toMatchObject({ result: "canceled" });
    expect(logOf(plan)).toContain("Interrupt received.");
  });

  it("stores the state of a canceled apply", async () => {
    const settings = { resources: { eight: "8", nine: "9", ten: "10" }, slowMs: scaled(400) };
    const files = config(settings);
    const plan = server.add({ files });
    await finished(plan);
    const before = server.states.length;
    const apply = server.add({ files, phase: "apply", runId: plan.runId, plan });
    await until(() => apply.log.includes("Creation complete"));
    server.signals.set(apply.id, "cancel");
    expect(await finished(apply)).toMatchObject({ result: "canceled" });
    expect(server.states.length).toBe(before + 1);
  });

  it("kills an engine that ignores interrupts on kill", async () => {
    const plan = server.add({ files: config({ planMs: 60_000, deaf: true, print: ["begun"] }) });
    await until(() => plan.log.includes("begun"));
    server.signals.set(plan.id, "cancel");
    await pause(300);
    expect(plan.finished).toBeUndefined();
    server.signals.set(plan.id, "kill");
    expect(await finished(plan)).toMatchObject({ result: "canceled" });
  });

  it("stops a job that exceeds its timeout, and reports why", async () => {
    const plan = server.add({ files: config({ planMs: 60_000 }), attributes: { "timeout-seconds": 2 } });
    expect(await finished(plan)).toMatchObject({
      result: "errored",
      "error-message": expect.stringContaining("longer than its timeout of 2 seconds"),
    });
  });

  it("stops a job that exceeds its disk limit, and reports why", async () => {
    const plan = server.add({ files: config({ planMs: 60_000, writeBytes: 250 * 2 ** 20 }) });
    expect(await finished(plan)).toMatchObject({
      result: "errored",
      "error-message": expect.stringContaining("200 MB"),
    });
  });

  it("truncates a long log, and ends it with a notice", async () => {
    const files = config({ resources: { eleven: "11" }, noiseBytes: 3_000_000 });
    const plan = server.add({ files });
    await finished(plan);
    const apply = server.add({
      files,
      phase: "apply",
      runId: plan.runId,
      plan,
      attributes: { "log-bytes-max": 1_000_000 },
    });
    expect(await finished(apply)).toMatchObject({ result: "finished" });
    expect(apply.log.length).toBe(999_998);
    expect(logOf(apply)).toMatch(/The log has reached its limit of 999998 bytes\. .*\n$/);
  });

  it("generates configuration if allowed", async () => {
    const plan = server.add({ files: config({}), attributes: { "allow-config-generation": true } });
    await finished(plan);
    expect(String(plan.contents["generated-configuration"])).toBe("# generated\n");
  });

  it("abandons a lost job, and reports nothing more", async () => {
    const plan = server.add({ files: config({ planMs: 60_000, print: ["begun"] }) });
    await until(() => plan.log.includes("begun"));
    server.troubles.push({ path: new RegExp(`${plan.id}/actions/heartbeat`), status: 409, times: 1 });
    await until(() => testAgent.lines.find((line) => line.startsWith(`job abandoned run=${plan.runId} phase=plan `)));
    expect(plan.finished).toBeUndefined();
  });

  it("retries failed requests", async () => {
    const plan = server.add({ files: config({ resources: { twelve: "12" } }) });
    server.troubles.push({
      path: new RegExp(`${plan.id}/(log|contents|actions/(start|finish))`),
      status: 503,
      times: 4,
    });
    expect(await finished(plan)).toMatchObject({ result: "finished", "error-message": null });
    expect(plan.starts).toBe(1);
  });

  it("leaves no files or processes", async () => {
    const { agentDirectory } = testAgent.settings;
    await until(() => testAgent.agent.jobCount === 0);
    expect(readdirSync(join(agentDirectory, "jobs"))).toEqual([]);
    expect(readdirSync(join(agentDirectory, "spool"))).toEqual([]);
    expect(existsSync(join(agentDirectory, "lost"))).toBe(false);
    expect(readFileSync("/proc/self/status", "utf8")).toContain("Name:");
  });
});
