/** The two phases of a run: the plan with its artifacts, and the apply with its state. */
import { createWriteStream, openAsBlob } from "node:fs";
import { readFile, stat } from "node:fs/promises";
import { finished } from "node:stream/promises";
import { join } from "node:path";
import { applyArguments, planArguments } from "./engines.ts";
import type { JobContentKind, PhaseResult } from "./client.ts";
import { EngineFault, type Execution, faultOf, generatedFile, planFile } from "./execution.ts";
import { copyOut } from "./files.ts";
import { type ResourceCounts, countsOfPlan } from "./output.ts";
import { StateUploader } from "./state.ts";

/** Parsing takes about twenty times the size in memory, and the process has `heapMegabytes`. Larger plans use the engine's own summary. */
const parsedBytesMax = 32 * 1024 ** 2;
const shownBytesMax = 2 * 1024 ** 3;

/** Exit code of `-detailed-exitcode`. */
const changesCode = 2;

/** Throws EngineFault, Stopped, JobLost. */
export async function plan(execution: Execution): Promise<PhaseResult> {
  const { job, client, directory, stopper } = execution.options;
  await execution.fetchState();
  stopper.check();
  await client.start();
  const { output, ...ended } = await execution.runLogged(
    planArguments(job, {
      plan: directory.sandboxPathOf(planFile(directory)),
      generated: directory.sandboxPathOf(generatedFile(directory)),
      variables: execution.variables,
    }),
  );
  stopper.check();
  if (ended.code !== 0 && ended.code !== changesCode) throw faultOf(output, ended);
  const counts = await uploadPlan(execution);
  return { result: "finished", hasChanges: ended.code === changesCode, ...(counts ?? output.counts) };
}

/** Undefined if the plan is too large to parse. */
async function uploadPlan(execution: Execution): Promise<ResourceCounts | undefined> {
  const { directory } = execution.options;
  const planPath = directory.sandboxPathOf(planFile(directory));
  const shown = await spoolJson(execution, "plan-json", ["show", "-json", planPath]);
  await upload(execution, "plan-json", shown);
  const schemas = await spoolJson(execution, "provider-schemas", ["providers", "schema", "-json"]);
  await upload(execution, "provider-schemas", schemas);
  if (!(await uploadFile(execution, "plan", planFile(directory))))
    throw new EngineFault("The engine wrote no plan file. If the workspace sets TF_CLI_ARGS_plan, check it.");
  await uploadFile(execution, "lock-file", execution.lockFile);
  await uploadFile(execution, "generated-configuration", generatedFile(directory));
  if ((await stat(shown)).size > parsedBytesMax) return undefined;
  return countsOfPlan(JSON.parse(await readFile(shown, "utf8")));
}

/** Throws EngineFault if the output isn't JSON. */
async function spoolJson(execution: Execution, name: string, words: readonly string[]): Promise<string> {
  const path = join(execution.options.directory.spool, name);
  const file = createWriteStream(path, { flags: "wx", mode: 0o600 });
  let bytes = 0;
  let isJson = false;
  try {
    const { code, errors } = await execution.run(words, false, async (chunk) => {
      if (bytes === 0) isJson = chunk[0] === 0x7b;
      bytes += chunk.length;
      if (bytes > shownBytesMax) throw new EngineFault(`'${words[0]}' printed more than ${shownBytesMax} bytes.`);
      if (!file.write(chunk)) await new Promise((resolve) => file.once("drain", resolve));
    });
    execution.options.stopper.check();
    if (code !== 0 || !isJson)
      throw new EngineFault(`'${words.slice(0, 2).join(" ")}' failed with code ${code}. ${errors.trim()}`.trim());
  } finally {
    file.end();
    await finished(file);
  }
  return path;
}

async function uploadFile(execution: Execution, kind: JobContentKind, path: string): Promise<boolean> {
  const { directory } = execution.options;
  const copy = join(directory.spool, `${kind}.copy`);
  if (!(await copyOut(directory.root, path, copy))) return false;
  await upload(execution, kind, copy);
  return true;
}

async function upload({ options: { client } }: Execution, kind: JobContentKind, path: string): Promise<void> {
  await client.putContent(kind, await openAsBlob(path));
}

/** Uploads the state before the report, however the engine ended. Throws EngineFault, Stopped, JobLost. */
export async function apply(execution: Execution): Promise<PhaseResult> {
  const { job, engine, client, log, directory, stopper } = execution.options;
  const md5 = await execution.fetchState();
  stopper.check();
  const states = new StateUploader({
    root: directory.root,
    file: directory.stateFile,
    copy: directory.spoolFile("state"),
    md5,
    client,
  });
  await client.start();
  states.start();
  let ended: Awaited<ReturnType<Execution["runLogged"]>>;
  let problem: string | undefined;
  try {
    const files = { plan: directory.sandboxPathOf(planFile(directory)), variables: execution.variables };
    ended = await execution.runLogged(applyArguments(job, engine, files));
  } finally {
    problem = await states.end();
  }
  if (problem !== undefined) {
    await log.say(`\n${problem}`);
    return { result: "errored", errorMessage: problem, ...ended.output.counts };
  }
  const { output } = ended;
  if (ended.code === 0) return { result: "finished", hasChanges: true, ...output.counts };
  if (stopper.reason === "canceled") return { result: "canceled", ...output.counts };
  stopper.check();
  const fault = faultOf(output, ended);
  if (!fault.isLogged) await log.say(`\n${fault.message}`);
  return { result: "errored", errorMessage: fault.message, ...output.counts };
}
