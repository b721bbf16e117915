/** The two phases of a run, after what both have in common: a plan with all that is made of it, an apply with the state that it leaves. */
import { createWriteStream, openAsBlob } from "node:fs";
import { readFile, stat } from "node:fs/promises";
import { finished } from "node:stream/promises";
import { join } from "node:path";
import { applyArguments, planArguments } from "./engines.ts";
import type { ContentKind, Outcome } from "./client.ts";
import { EngineFault, type Execution, faultOf, generatedFile, planFile } from "./execution.ts";
import { copyOut } from "./files.ts";
import { type Counts, countsOfPlan } from "./output.ts";
import { StateKeeper } from "./state.ts";

/**
 * More is not read for its counts; those that the engine told are taken then. Parsed, small values take some twenty times their bytes,
 * and the job's process has `heapMegabytes`.
 */
const parsedBytesMax = 32 * 1024 ** 2;
const shownBytesMax = 2 * 1024 ** 3;

const changed = 2;

/** Raises EngineFault, Stopped, Fenced. */
export async function plan(execution: Execution): Promise<Outcome> {
  const { job, client, directory, stopper } = execution.options;
  await execution.fetchState();
  stopper.check();
  await client.start();
  const { output, ...ended } = await execution.speak(
    planArguments(job, {
      plan: directory.insideOf(planFile(directory)),
      generated: directory.insideOf(generatedFile(directory)),
      variables: execution.variables,
    }),
  );
  stopper.check();
  if (ended.code !== 0 && ended.code !== changed) throw faultOf(output, ended);
  const told = await uploadPlan(execution);
  return { result: "finished", hasChanges: ended.code === changed, ...(told ?? output.counts) };
}

/** All that the server shows of a plan, and that its apply needs; the counts, where the plan was small enough to be read. */
async function uploadPlan(execution: Execution): Promise<Counts | undefined> {
  const { directory } = execution.options;
  const shown = await spoolJson(execution, "plan-json", ["show", "-json", directory.insideOf(planFile(directory))]);
  await upload(execution, "plan-json", shown);
  const schemas = await spoolJson(execution, "provider-schemas", ["providers", "schema", "-json"]);
  await upload(execution, "provider-schemas", schemas);
  if (!(await uploadFile(execution, "plan", planFile(directory))))
    throw new EngineFault("The engine made no plan file. Check TF_CLI_ARGS_plan, if the workspace sets it.");
  await uploadFile(execution, "lock-file", execution.lockFile);
  await uploadFile(execution, "generated-configuration", generatedFile(directory));
  if ((await stat(shown)).size > parsedBytesMax) return undefined;
  return countsOfPlan(JSON.parse(await readFile(shown, "utf8")));
}

/** What a command of the engine prints, as a file of the agent's own. Raises EngineFault unless it is one document of JSON. */
async function spoolJson(execution: Execution, name: string, words: readonly string[]): Promise<string> {
  const path = join(execution.options.directory.spool, name);
  const file = createWriteStream(path, { flags: "wx", mode: 0o600 });
  let bytes = 0;
  let isJson = false;
  try {
    const { code, errors } = await execution.run(words, false, async (chunk) => {
      if (bytes === 0) isJson = chunk[0] === 0x7b;
      bytes += chunk.length;
      if (bytes > shownBytesMax) throw new EngineFault(`'${words[0]}' printed more than can be taken.`);
      if (!file.write(chunk)) await new Promise((resolve) => file.once("drain", resolve));
    });
    execution.options.stopper.check();
    if (code !== 0 || !isJson)
      throw new EngineFault(`'${words.slice(0, 2).join(" ")}' failed with the code ${code}. ${errors.trim()}`.trim());
  } finally {
    file.end();
    await finished(file);
  }
  return path;
}

async function uploadFile(execution: Execution, kind: ContentKind, path: string): Promise<boolean> {
  const { directory } = execution.options;
  const copy = join(directory.spool, `${kind}.copy`);
  if (!(await copyOut(directory.root, path, copy))) return false;
  await upload(execution, kind, copy);
  return true;
}

async function upload({ options: { client } }: Execution, kind: ContentKind, path: string): Promise<void> {
  await client.putContent(kind, await openAsBlob(path));
}

/** Raises EngineFault, Stopped, Fenced. Whatever the engine's end, its state is with the server first. */
export async function apply(execution: Execution): Promise<Outcome> {
  const { job, engine, client, log, directory, stopper } = execution.options;
  const md5 = await execution.fetchState();
  stopper.check();
  const keeper = new StateKeeper({
    root: directory.root,
    file: directory.stateFile,
    copy: directory.spooled("state"),
    md5,
    client,
  });
  await client.start();
  keeper.start();
  let ended: Awaited<ReturnType<Execution["speak"]>>;
  let trouble: string | undefined;
  try {
    const files = { plan: directory.insideOf(planFile(directory)), variables: execution.variables };
    ended = await execution.speak(applyArguments(job, engine, files));
  } finally {
    trouble = await keeper.end();
  }
  if (trouble !== undefined) {
    await log.say(`\n${trouble}`);
    return { result: "errored", errorMessage: trouble, ...ended.output.counts };
  }
  const { output } = ended;
  if (ended.code === 0) return { result: "finished", hasChanges: true, ...output.counts };
  if (stopper.reason === "canceled") return { result: "canceled", ...output.counts };
  stopper.check();
  const fault = faultOf(output, ended);
  if (!fault.isTold) await log.say(`\n${fault.message}`);
  return { result: "errored", errorMessage: fault.message, ...output.counts };
}
