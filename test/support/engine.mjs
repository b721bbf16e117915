/**
 * A stand-in for Terraform in tests, as far as an agent needs it. Its plan comes from `stand-in.json` in its directory:
 *   resources   { name: value }; `${var.NAME}` in a value is replaced
 *   slowMs      duration of each resource
 *   failAt      name of a resource whose creation fails
 *   planFails   error message with which plan fails
 *   print       lines that plan prints
 *   printVariables, printEnvironment   names whose values plan prints
 *   noiseBytes  bytes that apply prints first
 *   deaf        whether it ignores interrupts
 *   writeBytes  size of a file that plan writes
 *   stateBytes  bytes that apply adds to its state, in small values
 *   serialBack  whether apply writes its state with an old serial
 *   hold        { point: file }: at a point (`init of plan`, `plan`, `show`, `init of apply`, `apply` after its first resource,
 *               `end of apply`) it creates FILE.here and waits for FILE
 *   ledger      file in which apply records its run, start, end, and the millisecond of an interrupt
 *   elsewhere   whether apply accepts a plan from another directory; agents in containers have the same path, those of tests don't
 *   ticks       lines that plan prints, ten a second, each with its millisecond
 */
import { appendFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { randomUUID } from "node:crypto";

const [command, ...words] = process.argv.slice(2);
const flag = (name) => words.find((word) => word.startsWith(`-${name}=`))?.slice(name.length + 2);
const isOn = (name) => words.includes(`-${name}`);
const settings = existsSync("stand-in.json") ? JSON.parse(readFileSync("stand-in.json", "utf8")) : {};
const workspace = process.env.TF_WORKSPACE ?? "default";
const stateFile =
  workspace === "default" ? "terraform.tfstate" : join("terraform.tfstate.d", workspace, "terraform.tfstate");
const engineVersion = "1.5.7";
const isJson = isOn("json");

const engine = { isInterrupted: false };
process.on("SIGINT", () => {
  if (settings.deaf) return;
  engine.isInterrupted = true;
  record(`interrupted ${Date.now()}`);
  console.log("Interrupt received.");
});
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

async function pauseAt(point) {
  const file = settings.hold?.[point];
  if (file === undefined) return;
  writeFileSync(`${file}.here`, "");
  while (!existsSync(file)) await pause(20);
}

function record(what) {
  if (settings.ledger) appendFileSync(settings.ledger, `${process.env.TFE_RUN_ID} ${what}\n`);
}

function say(text, message) {
  console.log(isJson ? JSON.stringify({ "@level": "info", "@message": text, ...message }) : text);
}

function fail(summary) {
  if (isJson)
    say(`Error: ${summary}`, {
      "@level": "error",
      type: "diagnostic",
      diagnostic: { severity: "error", summary, detail: "" },
    });
  else console.error(`\n\u001b[31m│\u001b[0m \u001b[1m\u001b[31mError: \u001b[0m\u001b[1m${summary}\u001b[0m`);
  process.exit(1);
}

function readState() {
  if (!existsSync(stateFile))
    return {
      version: 4,
      terraform_version: engineVersion,
      serial: 0,
      lineage: randomUUID(),
      outputs: {},
      resources: [],
    };
  return JSON.parse(readFileSync(stateFile, "utf8"));
}

function writeState(state) {
  mkdirSync(dirname(stateFile), { recursive: true });
  const text = JSON.stringify(state, null, 2);
  const padding = settings.stateBytes ? `,"padding":[${"{},".repeat(settings.stateBytes / 3)}{}]}` : "}";
  writeFileSync(stateFile, text.slice(0, -1) + padding);
}

const valueOf = (resource) => resource.instances[0].attributes.input;
const toResource = (name, value) => ({
  mode: "managed",
  type: "terraform_data",
  name,
  provider: 'provider["terraform.io/builtin/terraform"]',
  instances: [{ schema_version: 0, attributes: { id: randomUUID(), input: value } }],
});

function variables() {
  const values = {};
  for (const [name, value] of Object.entries(process.env))
    if (name.startsWith("TF_VAR_")) values[name.slice(7)] = value;
  for (const word of words.filter((each) => each.startsWith("-var-file="))) {
    const text = readFileSync(word.slice(10), "utf8");
    if (word.endsWith(".json")) Object.assign(values, JSON.parse(text));
    else
      for (const [, name, value] of text.matchAll(/^(\S+) = (.*)$/gm)) values[name] = value.replace(/^"(.*)"$/, "$1");
  }
  return values;
}

function plannedResources() {
  if (isOn("destroy")) return {};
  const values = variables();
  const fill = (text) =>
    String(text).replace(
      /\$\{var\.(\w+)\}/g,
      (_, name) => values[name] ?? fail(`No value for required variable "${name}"`),
    );
  return Object.fromEntries(Object.entries(settings.resources ?? {}).map(([name, value]) => [name, fill(value)]));
}

function changesFor(state) {
  const planned = plannedResources();
  const existing = Object.fromEntries(state.resources.map((resource) => [resource.name, valueOf(resource)]));
  const targets = words.filter((word) => word.startsWith("-target=")).map((word) => word.slice(8));
  const replaced = words.filter((word) => word.startsWith("-replace=")).map((word) => word.slice(9));
  return [...new Set([...Object.keys(planned), ...Object.keys(existing)])]
    .filter((name) => targets.length === 0 || targets.includes(`terraform_data.${name}`))
    .map((name) => ({
      name,
      value: planned[name],
      actions: !(name in planned)
        ? ["delete"]
        : !(name in existing)
          ? ["create"]
          : replaced.includes(`terraform_data.${name}`)
            ? ["delete", "create"]
            : planned[name] !== existing[name]
              ? ["update"]
              : ["no-op"],
    }));
}

const count = (changes, action) => changes.filter(({ actions }) => actions.includes(action)).length;
const summary = (changes) => ({
  add: count(changes, "create"),
  change: count(changes, "update"),
  remove: count(changes, "delete"),
});

async function init() {
  if (!existsSync("zzzz_cadastre_override.tf")) fail("there is no override file");
  if (existsSync(stateFile)) fail("a state is here already; do you want to migrate it?");
  if (isOn("lockfile=readonly") && !existsSync(".terraform.lock.hcl")) fail("the lock file is missing");
  mkdirSync(".terraform", { recursive: true });
  writeFileSync(".terraform/terraform.tfstate", JSON.stringify({ version: 3, backend: { type: "local" } }));
  if (!existsSync(".terraform.lock.hcl")) writeFileSync(".terraform.lock.hcl", "# created by the stand-in\n");
  if (settings.initFails) fail(settings.initFails);
  await pauseAt(isOn("lockfile=readonly") ? "init of apply" : "init of plan");
  console.log("Terraform has been successfully initialized!");
}

async function plan() {
  const state = readState();
  for (const line of settings.print ?? []) say(line);
  const values = variables();
  for (const name of settings.printVariables ?? []) say(`${name} = ${values[name]}`);
  for (const name of settings.printEnvironment ?? []) say(`${name} = ${process.env[name]}`);
  if (settings.writeBytes) writeFileSync("large", Buffer.alloc(settings.writeBytes, 1));
  if (settings.planFails) fail(settings.planFails);
  await pauseAt("plan");
  for (let tick = 0; tick < (settings.ticks ?? 0); tick += 1) {
    say(`tick ${Date.now()}`);
    await pause(100);
  }
  const changes = isOn("refresh-only") ? [] : changesFor(state);
  const steps = settings.planMs ? Math.ceil(settings.planMs / 20) : 0;
  for (let step = 0; step < steps && !engine.isInterrupted; step += 1) await pause(20);
  if (engine.isInterrupted) fail("operation canceled");
  const { add, change, remove } = summary(changes);
  say(`Plan: ${add} to add, ${change} to change, ${remove} to destroy.`, {
    type: "change_summary",
    changes: { add, change, import: 0, remove, operation: "plan" },
  });
  writeFileSync(
    flag("out"),
    JSON.stringify({ changes, lineage: state.lineage, serial: state.serial, directory: process.cwd() }),
  );
  const generated = flag("generate-config-out");
  if (generated !== undefined) writeFileSync(generated, "# generated\n");
  process.exitCode = add + change + remove > 0 ? 2 : 0;
}

async function apply() {
  const planned = JSON.parse(readFileSync(words.at(-1), "utf8"));
  const state = readState();
  if (state.serial !== planned.serial || (state.serial > 0 && state.lineage !== planned.lineage))
    fail("Saved plan is stale");
  if (planned.directory !== process.cwd() && !settings.elsewhere) fail(`the plan was made in ${planned.directory}`);
  record("begins");
  if (settings.noiseBytes) await noise(settings.noiseBytes);
  state.lineage = planned.lineage;
  const done = [];
  for (const change of planned.changes.filter(({ actions }) => !actions.includes("no-op"))) {
    const steps = Math.ceil((settings.slowMs ?? 0) / 20);
    for (let step = 0; step < steps && !engine.isInterrupted; step += 1) await pause(20);
    if (engine.isInterrupted) fail("execution halted");
    if (change.name === settings.failAt) fail(`creating ${change.name} failed`);
    state.resources = state.resources.filter(({ name }) => name !== change.name);
    if (change.value !== undefined) state.resources.push(toResource(change.name, change.value));
    state.serial += 1;
    writeState(settings.serialBack ? { ...state, serial: 0 } : state);
    done.push(change);
    say(`terraform_data.${change.name}: ${change.value === undefined ? "Destruction" : "Creation"} complete after 0s`, {
      type: "apply_complete",
      hook: { action: change.actions.at(-1) },
    });
    if (done.length === 1) await pauseAt("apply");
  }
  await pauseAt("end of apply");
  const { add, change, remove } = summary(done);
  say(`Apply complete! Resources: ${add} added, ${change} changed, ${remove} destroyed.`, {
    type: "change_summary",
    changes: { add, change, import: 0, remove, operation: "apply" },
  });
  record("ends");
}

async function noise(bytes) {
  const line = Buffer.from(`${"noise ".repeat(170)}\n`);
  for (let written = 0; written < bytes; written += line.length)
    if (!process.stdout.write(line)) await new Promise((resolve) => process.stdout.once("drain", resolve));
}

async function show() {
  await pauseAt("show");
  const { changes } = JSON.parse(readFileSync(words.at(-1), "utf8"));
  console.log(
    JSON.stringify({
      format_version: "1.2",
      terraform_version: engineVersion,
      resource_changes: changes.map(({ name, actions, value }) => ({
        address: `terraform_data.${name}`,
        mode: "managed",
        type: "terraform_data",
        name,
        provider_name: "terraform.io/builtin/terraform",
        change: {
          actions,
          before: null,
          after: value === undefined ? null : { input: value },
          before_sensitive: false,
          after_sensitive: {},
        },
      })),
    }),
  );
}

const schemas = {
  format_version: "1.0",
  provider_schemas: { "terraform.io/builtin/terraform": { provider: { version: 0, block: {} } } },
};

if (command === "init") await init();
else if (command === "plan") await plan();
else if (command === "apply") await apply();
else if (command === "show") await show();
else if (command === "providers") console.log(JSON.stringify(schemas));
else if (command === "version") console.log(JSON.stringify({ terraform_version: engineVersion }));
else fail(`the stand-in does not know ${command}`);
