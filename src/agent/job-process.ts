/** The process of one job, separate so that its data can't block other jobs or the lease. It exits with its job or its agent. */
import { text } from "node:stream/consumers";
import { cgroupAt } from "../sandbox/cgroup.ts";
import { findTools, makeSandbox } from "../sandbox/choose.ts";
import { killAllProcesses, runMark } from "../sandbox/process.ts";
import { cleanUpJob, trustCertificates } from "./agent-directory.ts";
import { type JobDocument, parseJob } from "./job.ts";
import {
  aliveIntervalMs,
  type ClaimedJob,
  type JobProcessOutput,
  type SlotSetup,
  type JobProcessInput,
} from "./job-channel.ts";
import { ServerConnection } from "./server.ts";
import { AgentJobRun } from "./job-run.ts";

const lineLengthMax = 8192;

const send = (message: JobProcessOutput) =>
  new Promise<void>((resolve) => {
    if (process.send === undefined || !process.connected) return resolve();
    process.send(message, () => resolve());
  });
const say = (line: string) => void send({ line: line.slice(0, lineLengthMax) });

async function readJob(): Promise<JobDocument> {
  const body = await text(process.stdin);
  let document: unknown;
  try {
    document = JSON.parse(body);
  } catch {
    // Not the parser's message, which can quote a secret.
    throw new Error("The server sent a job that is not JSON.");
  }
  return parseJob(document);
}

async function execute(setup: SlotSetup, onStart: (run: AgentJobRun) => void): Promise<void> {
  const { settings, sandbox: kind, uids, cgroup } = setup;
  if (settings.ca !== undefined) trustCertificates(settings.ca);
  const job = await readJob();
  const sandbox = makeSandbox(kind, settings, findTools(), uids);
  if (typeof sandbox === "string") throw new Error(`The sandbox ${kind} no longer works: ${sandbox}.`);
  const run = new AgentJobRun(job, {
    ...setup,
    sandbox,
    server: new ServerConnection(settings.agentServer),
    cgroup: cgroup === undefined ? undefined : cgroupAt(cgroup),
    say,
    reportUnavailable: (unavailable) => send({ unavailable }),
  });
  onStart(run);
  const { id, attempt, runId, phase } = job;
  await send({ claimed: { id, attempt, runId, phase } });
  await run.execute();
}

async function cleanUpAfterJob(
  { settings, slot, sandbox, uids, cgroup, lostStatesDirectory }: SlotSetup,
  job: ClaimedJob,
): Promise<void> {
  if (cgroup !== undefined) cgroupAt(cgroup).kill();
  const uid = sandbox === "none" ? undefined : uids[slot];
  if (uid !== undefined) killAllProcesses({ uid, mark: runMark(job.runId) });
  const { agentDirectory } = settings;
  await cleanUpJob({ agentDirectory, lostStatesDirectory, job, reason: "its process was killed" }, say);
}

function listen(): void {
  let run: AgentJobRun | undefined;
  let isShutDown = false;
  const onStart = (started: AgentJobRun) => {
    run = started;
    if (isShutDown) started.handleSignal("shutdown");
  };
  process.on("message", ({ instruction, signal, lostReason }: JobProcessInput) => {
    if (instruction !== undefined) {
      const { setup, cleanUpAfter } = instruction;
      void (cleanUpAfter === undefined ? execute(setup, onStart) : cleanUpAfterJob(setup, cleanUpAfter)).then(
        () => send({}).then(() => process.exit(0)),
        (error: Error) => send({ line: error.message.slice(0, lineLengthMax) }).then(() => process.exit(1)),
      );
    }
    if (signal === "shutdown") isShutDown = true;
    if (signal !== undefined) run?.handleSignal(signal);
    if (lostReason !== undefined) run?.abandon(lostReason);
  });
  // A service manager can signal all processes of the agent; only the agent decides what happens to jobs.
  for (const name of ["SIGTERM", "SIGINT", "SIGHUP"] as const) process.on(name, () => undefined);
  // The agent was killed. The engine dies with this process.
  process.once("disconnect", () => process.exit(1));
  setInterval(() => void send({}), aliveIntervalMs);
}

listen();
