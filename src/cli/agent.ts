/** `cadastre agent`: runs an agent, and drains it on SIGTERM or SIGINT. */
import { Agent, agentReady, type SingleJob } from "../agent/agent.ts";
import { logLine } from "../agent/log-line.ts";
import { agentSettingTable, readAgentSettings } from "../agent/settings.ts";
import { type Command, type Invocation, type Terminal, UsageError } from "./command.ts";

const waitSecondsByDefault = 60;

export const agentCommand: Command = {
  name: "agent",
  summary: "Start an agent, which executes the runs of an agent pool",
  ownSettings: agentSettingTable,
  options: {
    once: { doc: "Execute one job, a plan or an apply, and exit. For containers that are started for each run." },
    wait: { shape: "SECONDS", doc: `With --once: how long to wait for the job. Defaults to ${waitSecondsByDefault}.` },
  },
  details: [
    "Registers with the agent pool that the token belongs to, waits for jobs, and executes them with the installed engines. It opens no port. Linux only.",
    "Jobs run other people's code. The agent runs them in bubblewrap if it works here; otherwise, if it was started as root, as a separate user for each slot. If neither works it refuses to start, unless CADASTRE_SANDBOX=none is set. As root it combines bubblewrap with separate users. Jobs share the network of this machine, including a cloud's metadata address.",
    "SIGTERM and SIGINT (Ctrl+C) drain the agent: it takes no more jobs and finishes the running ones. A second signal kills the engines and uploads the state that they left. A third signal exits without waiting for the upload.",
    "With --once, the exit code is 0 also if the run errored or no job came; it is 1 if the token was rejected, or the server could not be reached while the agent waited.",
    "If the agent loses the job of an apply because it can't reach the server, it saves the state in lost/ below CADASTRE_AGENT_DIRECTORY and prints the path of the file.",
    "Example: CADASTRE_AGENT_TOKEN=… cadastre agent --agent-server https://cadastre.example --engines /opt/engines --agent-slots 4",
  ],
  async run(invocation) {
    const { terminal, sources } = invocation;
    const singleJob = parseSingleJob(invocation);
    const agent = await Agent.open(readAgentSettings(sources), terminal.out, singleJob);
    // A server that started this process as a worker waits for the message.
    process.send?.(agentReady);
    const removeListeners = handleStopSignals(agent, terminal);
    try {
      await agent.run();
      terminal.out(logLine("agent stopped"));
    } finally {
      removeListeners();
    }
  },
};

/** Throws UsageError. */
function parseSingleJob({ isOn, value }: Invocation): SingleJob | undefined {
  const seconds = value("wait");
  if (!isOn("once")) {
    if (seconds !== undefined) throw new UsageError("--wait is only for --once. Add --once, or leave out --wait.");
    return undefined;
  }
  if (seconds !== undefined && !/^\d{1,5}$/.test(seconds))
    throw new UsageError(`--wait is "${seconds}", but must be a whole number of seconds, at most 99999.`);
  return { waitMs: Number(seconds ?? waitSecondsByDefault) * 1000 };
}

/** One Ctrl+C can arrive twice: from the terminal, and forwarded by npm. */
const sameKeyPressMs = 100;

function handleStopSignals(agent: Agent, terminal: Terminal): () => void {
  let signals = 0;
  let lastSignalAt = -Infinity;
  const listen = () => {
    if (performance.now() - lastSignalAt < sameKeyPressMs) return;
    lastSignalAt = performance.now();
    signals += 1;
    if (signals === 1) {
      agent.drain();
      const hint = agent.jobCount === 0 ? undefined : "send another signal to kill the engines";
      terminal.out(logLine("agent draining", { jobs: agent.jobCount, hint }));
    } else if (signals === 2) {
      terminal.out(logLine("agent stopping, killing engines"));
      void agent.stopNow().then(() => process.exit(1));
    } else process.exit(1);
  };
  process.on("SIGTERM", listen).on("SIGINT", listen);
  return () => process.off("SIGTERM", listen).off("SIGINT", listen);
}
