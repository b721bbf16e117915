/** `cadastre agent`: runs an agent, and drains it on SIGTERM or SIGINT. */
import { Agent, agentReady } from "../agent/agent.ts";
import { logLine } from "../agent/log-line.ts";
import { agentSettingTable, readAgentSettings } from "../agent/settings.ts";
import type { Command, Terminal } from "./command.ts";

export const agentCommand: Command = {
  name: "agent",
  summary: "Start an agent, which executes the runs of an agent pool",
  ownSettings: agentSettingTable,
  details: [
    "Registers with the agent pool that the token belongs to, waits for jobs, and executes them with the installed engines. It opens no port. Linux only.",
    "Jobs run other people's code. The agent runs them in bubblewrap if it works here; otherwise, if it was started as root, as a separate user for each slot. If neither works it refuses to start, unless CADASTRE_SANDBOX=none is set. As root it combines bubblewrap with separate users. Jobs share the network of this machine, including a cloud's metadata address.",
    "SIGTERM and SIGINT (Ctrl+C) drain the agent: it takes no more jobs and finishes the running ones. A second signal kills the engines and uploads the state that they left. A third signal exits without waiting for the upload.",
    "If the agent loses the job of an apply because it can't reach the server, it saves the state in lost/ below CADASTRE_AGENT_DIRECTORY and prints the path of the file.",
    "Example: CADASTRE_AGENT_TOKEN=… cadastre agent --agent-server https://cadastre.example --engines /opt/engines --agent-slots 4",
  ],
  async run({ terminal, sources }) {
    const settings = readAgentSettings(sources);
    const agent = await Agent.open(settings, terminal.out);
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
