/**
 * The agent with real engines, in every sandbox. CADASTRE_TEST_ENGINE_FOLDER names a directory with engines, in the format of
 * CADASTRE_ENGINES (`npm run test:real` sets it to the one that the conformance scripts fill); without it, the tests are skipped.
 */
import { randomBytes } from "node:crypto";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { findEngines } from "../../src/agent/engines.ts";
import { findTools, isRoot } from "../../src/sandbox/choose.ts";
import { products } from "../../src/agent/products.ts";
import { start } from "../cli/support.ts";
import { finished, openFolder, type TestAgent, startTestAgent } from "./support/agent.ts";
import { until } from "../support/waiting.ts";
import { agentToken, type Reported, TestServer } from "./support/server.ts";

const folder = process.env["CADASTRE_TEST_ENGINE_FOLDER"] ?? "";
const isThere = folder !== "";
const found = isThere ? await findEngines(folder) : { terraform: [], tofu: [] };
const engines = products.flatMap((product) => found[product].map((version) => ({ product, version })));

const sandboxes = [
  ...(findTools().bwrap === undefined ? [] : (["bubblewrap"] as const)),
  ...(isRoot() && findTools().setpriv !== undefined ? (["user"] as const) : []),
];

const logOf = (report: Reported) => Buffer.from(report.log, "latin1").toString("utf8");
const stateOf = (server: TestServer) =>
  JSON.parse(String(server.states.at(-1)?.bytes)) as {
    resources: { name: string }[];
    outputs: Record<string, { value: unknown }>;
  };

if (!isThere)
  it.skip("real engines: set CADASTRE_TEST_ENGINE_FOLDER to a folder with terraform/VERSION/terraform or tofu/VERSION/tofu", () =>
    undefined);

describe.runIf(isThere)("the requirements of these tests", () => {
  it("are met: engines in the folder, and bubblewrap", () => {
    expect(engines, `Build engines into ${folder} first; npm run conformance:cli does.`).not.toEqual([]);
    expect(sandboxes, "Install bubblewrap.").toContain("bubblewrap");
  });
});

describe.runIf(isThere).each(sandboxes.flatMap((sandbox) => engines.map((engine) => ({ sandbox, ...engine }))))(
  "$product $version in the sandbox $sandbox",
  ({ sandbox, product, version }) => {
    let testAgent: TestAgent;
    let server: TestServer;
    const attributes = { engine: product, "engine-version": version };

    beforeAll(async () => {
      testAgent = await startTestAgent({ engines: folder, sandbox, agentSlots: 2 });
      ({ server } = testAgent);
    });
    afterAll(() => testAgent.close());

    async function planAndApply(main: string, more: object = {}) {
      const files = { "main.tf": main };
      const plan = server.add({ files, attributes: { ...attributes, ...more } });
      await finished(plan);
      const apply = server.add({
        files,
        phase: "apply",
        runId: plan.runId,
        plan,
        attributes: { ...attributes, ...more },
      });
      await finished(apply);
      return { plan, apply };
    }

    const cloud =
      'terraform {\n  cloud {\n    organization = "acme"\n    workspaces {\n      name = "network"\n    }\n  }\n}\n';
    const main = `${cloud}
      variable "size" { type = number }
      variable "words" { type = list(string) }
      variable "secret" {
        type      = string
        sensitive = true
      }
      resource "terraform_data" "one" { input = "\${var.size} \${join(" ", var.words)} \${terraform.workspace} \${path.cwd}" }
      output "one" { value = terraform_data.one.input }
    `;
    const variable = { category: "terraform", hcl: false, sensitive: false };
    const variables = [
      { ...variable, key: "size", value: "7" },
      { ...variable, key: "words", value: '["a", "b"]', hcl: true },
      { ...variable, key: "secret", value: "correct horse battery", sensitive: true },
    ];

    it.each([true, false])(
      "plans and applies, structured %s, with a cloud block that is never contacted",
      async (structured) => {
        const { plan, apply } = await planAndApply(main, {
          structured,
          variables: structured ? variables : [{ ...variables[0], value: "8" }, ...variables.slice(1)],
        });
        expect(plan.finished).toMatchObject({
          result: "finished",
          "has-changes": true,
          "resource-additions": structured ? 1 : 0,
        });
        const lines = logOf(plan).split("\n");
        expect(lines[0]).toBe(`${product === "tofu" ? "OpenTofu" : "Terraform"} v${version}`);
        expect(lines[2]).toBe("Initializing plugins and modules...");
        if (structured) {
          expect(logOf(plan)).toContain("1 to add, 0 to change, 0 to destroy");
          expect(JSON.parse(lines[3]!)).toMatchObject({ type: "version" });
          expect(apply.finished).toMatchObject({ result: "finished", "resource-additions": 1 });
          expect(logOf(apply)).toContain("1 added, 0 changed, 0 destroyed");
        } else {
          expect(plan.finished).toMatchObject({ "resource-changes": 1 });
          expect(logOf(apply)).toContain("0 added, 1 changed, 0 destroyed");
        }
        expect(JSON.parse(String(plan.contents["provider-schemas"]))).toHaveProperty("provider_schemas");
        expect(String(stateOf(server).outputs["one"]?.value)).toMatch(/^[78] a b network \/.*configuration$/);
      },
      240_000,
    );

    it("reports no changes, and plans a destroy", async () => {
      const plan = server.add({
        files: { "main.tf": main },
        attributes: { ...attributes, variables, "refresh-only": true },
      });
      expect(await finished(plan)).toMatchObject({ result: "finished", "has-changes": false });
      const destroy = server.add({
        files: { "main.tf": main },
        attributes: { ...attributes, variables, "is-destroy": true },
      });
      expect(await finished(destroy)).toMatchObject({ "has-changes": true, "resource-destructions": 1 });
    });

    it("replaces and targets by address", async () => {
      const files = { "main.tf": `${main}\nresource "terraform_data" "two" {}\n` };
      const plan = server.add({
        files,
        attributes: {
          ...attributes,
          variables,
          "replace-addrs": ["terraform_data.one"],
          "target-addrs": ["terraform_data.one"],
        },
      });
      expect(await finished(plan)).toMatchObject({ "resource-additions": 1, "resource-destructions": 1 });
    });

    it("names the invalid variable, and fails", async () => {
      const wrong = [
        ...variables.slice(0, 1),
        { ...variable, key: "words", value: "[nonsense", hcl: true },
        ...variables.slice(2),
      ];
      const plan = server.add({ files: { "main.tf": main }, attributes: { ...attributes, variables: wrong } });
      expect(await finished(plan)).toMatchObject({
        result: "errored",
        "error-message": expect.stringContaining("The HCL value of the variable words can't be used"),
      });
    });

    it("parses HCL values as engines do, and lets none set another variable", async () => {
      const values = {
        text: '"a $${b} \\u00e9 /* { */"',
        lines: "<<-EOT\n    one\n      two\n  EOT\n",
        list: '[\n  "a", # one\n  "b"\n]',
        map: '{ a = 1, "b" : [null, true] }',
        large: "12345678901234567890123",
        none: "null",
      };
      const names = Object.keys(values);
      const { apply } = await planAndApply(
        [...names, "guard"].map((name) => `variable "${name}" {}\noutput "${name}" { value = var.${name} }\n`).join(""),
        {
          variables: [
            { ...variable, key: "guard", value: "priority" },
            ...Object.entries(values).map(([key, value]) => ({ ...variable, key, value, hcl: true })),
            { ...variable, category: "env", key: "TF_VAR_guard", value: "evil" },
            { ...variable, category: "env", key: "TF_CLI_ARGS_plan", value: "-var=guard=evil" },
            { ...variable, category: "env", key: "TF_CLI_ARGS", value: "-no-color" },
          ],
        },
      );
      expect(apply.finished).toMatchObject({ result: "finished" });
      const outputs = Object.fromEntries(names.map((name) => [name, stateOf(server).outputs[name]?.value]));
      expect(outputs).toMatchObject({
        text: "a ${b} é /* { */",
        lines: "one\n  two\n",
        list: ["a", "b"],
        map: { a: 1, b: [null, true] },
      });
      expect(String(server.states.at(-1)?.bytes)).toContain("12345678901234567890123");
      expect(stateOf(server).outputs["guard"]?.value).toBe("priority");
    }, 240_000);

    it("stores the state of an apply that fails half-way", async () => {
      const { apply } = await planAndApply(`
        resource "terraform_data" "good" {}
        resource "terraform_data" "bad" {
          depends_on = [terraform_data.good]
          provisioner "local-exec" { command = "echo no; exit 3" }
        }`);
      expect(apply.finished).toMatchObject({
        result: "errored",
        "error-message": expect.stringContaining("local-exec provisioner error"),
      });
      expect(stateOf(server).resources.map(({ name }) => name)).toContain("good");
    });

    it("stops gracefully on cancel, and stores the state", async () => {
      const files = {
        "main.tf": `
          resource "terraform_data" "quick" { input = "q" }
          resource "terraform_data" "slow" {
            depends_on = [terraform_data.quick]
            provisioner "local-exec" { command = "echo sleeping; sleep 86400" }
          }`,
      };
      const plan = server.add({ files, attributes });
      await finished(plan);
      const apply = server.add({ files, phase: "apply", runId: plan.runId, plan, attributes });
      await until(() => apply.log.includes("sleeping"));
      server.signals.set(apply.id, "cancel");
      expect(await finished(apply)).toMatchObject({ result: "canceled" });
      expect(stateOf(server).resources.map(({ name }) => name)).toContain("quick");
      expect(logOf(apply)).toMatch(/[Ii]nterrupt/);
    });

    it("kills immediately on kill", async () => {
      const plan = server.add({
        files: {
          "main.tf":
            'resource "terraform_data" "slow" {\n  provisioner "local-exec" {\n    command = "trap : INT TERM; echo sleeping; sleep 86400; sleep 86400"\n  }\n}',
        },
        attributes,
      });
      await finished(plan);
      const apply = server.add({ files: { "main.tf": "" }, phase: "apply", runId: plan.runId, plan, attributes });
      await until(() => apply.log.includes("sleeping"));
      server.signals.set(apply.id, "kill");
      expect(await finished(apply)).toMatchObject({ result: "canceled" });
    });

    it("leaves no processes", async () => {
      await until(() => testAgent.agent.jobCount === 0);
      expect(testAgent.lines.filter((line) => /not removed|job abandoned/.test(line))).toEqual([]);
    });
  },
);

const secrets = {
  database: secret("database"),
  key: secret("key"),
  victim: secret("victim"),
  environment: secret("environment"),
};

function secret(name: string): string {
  return `${name}-${randomBytes(12).toString("hex")}`;
}

/** Many attempts to read data of others. Prints what it finds. */
const attacks = (home: string, data: string) => `
  exec 2>&1
  echo "--- files"; cat ${data}/cadastre.db ${data}/cadastre.key; ls -la ${home} ${home}/jobs ${home}/spool ${home}/lost
  cat ${home}/jobs/*/private/* ${home}/jobs/*/configuration/*; cat /job/../../*/private/*
  find / -xdev -name '*.tfvars*' -exec cat {} + ; find / -xdev -name cli.tfrc -not -path "$HOME/../*" -exec cat {} +
  echo "--- processes"; for p in /proc/[0-9]*; do tr '\\\\0' '\\\\n' < $p/environ; tr '\\\\0' ' ' < $p/cmdline; cat $p/root/${data}/cadastre.db; cat $p/cwd/data/*; done
  echo "--- kernel"; p=$(cat /proc/sys/kernel/core_pattern); (echo "$p" > /proc/sys/kernel/core_pattern) && echo "wrote core_pattern"
  (echo h > /proc/sysrq-trigger) && echo "wrote sysrq-trigger"
  unshare -Ur true && echo "made a user namespace"; mount -t tmpfs none /mnt && echo mounted; (echo x > /usr/evil) && echo "wrote to usr"
  cat /etc/shadow | head -1; id; echo "--- end of attacks"`;

describe.runIf(isThere && engines.length > 0).each(["none", ...sandboxes])(
  "a hostile configuration in the sandbox %s",
  (sandbox) => {
    let home = "";
    let data = "";
    const server = new TestServer();
    const { product, version } = engines[0] ?? { product: "terraform", version: "" };
    const attributes = { engine: product, "engine-version": version, structured: false };
    let running: ReturnType<typeof start>;
    let log = "";

    beforeAll(async () => {
      home = join(openFolder(), "home");
      data = join(home, "..", "data");
      mkdirSync(data, { mode: 0o700 });
      writeFileSync(join(data, "cadastre.db"), secrets.database, { mode: 0o600 });
      writeFileSync(join(data, "cadastre.key"), secrets.key, { mode: 0o600 });
      await server.listen();
      running = start(["agent"], {
        CADASTRE_AGENT_SERVER: server.url,
        CADASTRE_AGENT_TOKEN: agentToken,
        CADASTRE_AGENT_DIRECTORY: home,
        CADASTRE_AGENT_SLOTS: "2",
        CADASTRE_ENGINES: folder,
        CADASTRE_SANDBOX: sandbox,
        SOMETHING_ELSE: secrets.environment,
      });
      const victim = server.add({
        files: {
          "main.tf":
            'variable "v" {\n  sensitive = true\n}\nresource "terraform_data" "slow" {\n  provisioner "local-exec" {\n    command = "echo waiting; sleep 300"\n  }\n}\n',
        },
        attributes: {
          ...attributes,
          variables: [{ key: "v", value: secrets.victim, category: "terraform", hcl: false, sensitive: true }],
        },
      });
      await finished(victim);
      const victimApply = server.add({
        files: { "main.tf": 'variable "v" {}' },
        phase: "apply",
        runId: victim.runId,
        plan: victim,
        attributes: {
          ...attributes,
          variables: [{ key: "v", value: secrets.victim, category: "terraform", hcl: false, sensitive: true }],
        },
      });
      await until(() => victimApply.log.includes("waiting"));
      const hostileFiles = {
        "main.tf": `resource "terraform_data" "attack" {\n  provisioner "local-exec" {\n    command = "sh attacks.sh; cat $(find . -name nothing)"\n  }\n}
        output "read" { value = [for f in ["${data}/cadastre.db", "${data}/cadastre.key", "/etc/shadow", "/proc/1/environ"] : try(filebase64(f), "unreadable")] }\n`,
        "attacks.sh": attacks(home, data).replaceAll("\\\\", "\\"),
      };
      const plan = server.add({ files: hostileFiles, attributes });
      await finished(plan);
      const apply = server.add({ files: hostileFiles, phase: "apply", runId: plan.runId, plan, attributes });
      await finished(apply);
      log = `${logOf(plan)}\n${logOf(apply)}\n${String(server.states.at(-1)?.bytes)}`;
      server.signals.set(victimApply.id, "kill");
      await until(() => victimApply.finished);
    });

    afterAll(async () => {
      running.process.kill("SIGTERM");
      await running.ended;
      await pause(0);
      await server.close();
      rmSync(join(home, ".."), { recursive: true, force: true });
    });

    it("runs to its end", () => {
      expect(log).toContain("--- end of attacks");
    });

    if (sandbox === "none")
      it("finds the agent's token and the other job's secret: the attacks are real", () => {
        expect(log).toContain(agentToken);
        expect(log).toContain(secrets.environment);
        expect(log).toContain(secrets.victim);
        expect(log).toContain(secrets.database);
      });
    else
      it("finds neither the database, the key, the agent's environment and token, nor another job's secret", () => {
        for (const found of [agentToken, ...Object.values(secrets)]) {
          expect(log).not.toContain(found);
          expect(log).not.toContain(Buffer.from(found).toString("base64").slice(0, -4));
        }
        for (const success of ["wrote core_pattern", "wrote sysrq-trigger", "mounted", "wrote to usr", "root:"])
          expect(log).not.toContain(success);
      });

    it.runIf(sandbox === "bubblewrap")("sees only its own processes, and can't create namespaces", () => {
      expect(log).not.toContain("made a user namespace");
      expect(log).not.toContain("cadastre.ts agent");
      expect(log).not.toContain("sleep 300");
    });
  },
);
