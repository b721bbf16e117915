/** `cadastre agent`: executes runs for the server that the settings name, and ends when the process is told to. */
import { Agent, agentOpened } from "../agent/agent.ts";
import { agentSettingTable, readAgentSettings } from "../agent/settings.ts";
import type { Command, Terminal } from "./command.ts";
import { counted } from "../kernel/text.ts";

export const agentCommand: Command = {
  name: "agent",
  summary: "Execute runs: plans and applies, for the server and pool that a token names",
  ownSettings: agentSettingTable,
  details: [
    "Registers with the agent pool that the token belongs to, waits for its jobs and executes them with the engines that it finds. It opens no port. It runs on Linux.",
    "Jobs are other people's code. They are executed in bubblewrap where that works; else, when the agent is started as root, each slot as a user of its own; with neither it does not start, unless CADASTRE_SANDBOX=none says so. As root it uses bubblewrap as such a user too. The network is shared with jobs: they reach what this machine reaches, a cloud's metadata address included.",
    "SIGTERM and SIGINT (Ctrl+C) drain it: no more jobs are taken, running ones are finished. A second signal ends it at once: engines are killed, and what state they left is still sent. A third does not wait for that.",
    "It says nothing about an apply whose job it lost because the server was not reached: its state is kept below CADASTRE_AGENT_DIRECTORY, in lost/, and the output names the file.",
    "Example: CADASTRE_AGENT_TOKEN=… cadastre agent --agent-server https://cadastre.example --engines /opt/engines --agent-slots 4",
  ],
  async run({ terminal, sources }) {
    const settings = readAgentSettings(sources);
    const agent = await Agent.open(settings, terminal.out);
    // A server that started this waits for it: from here on, only the server's answers can end it.
    process.send?.(agentOpened);
    const forget = obey(agent, terminal);
    try {
      await agent.run();
      terminal.out("Ended.");
    } finally {
      forget();
    }
  },
};

/** One Ctrl+C can arrive twice: from the terminal, and passed on by npm, which the terminal has told too. */
const sameKeyPressMs = 100;

function obey(agent: Agent, terminal: Terminal): () => void {
  let times = 0;
  let toldAt = -Infinity;
  const listen = () => {
    if (performance.now() - toldAt < sameKeyPressMs) return;
    toldAt = performance.now();
    times += 1;
    if (times === 1) {
      agent.drain();
      terminal.out(
        agent.jobCount === 0
          ? "Told to end."
          : `Told to end: ${counted(agent.jobCount, "job is", "jobs are")} finished first. A second signal kills what runs.`,
      );
    } else if (times === 2) {
      terminal.out("Told to end at once: engines are killed.");
      void agent.stopAtOnce().then(() => process.exit(1));
    } else process.exit(1);
  };
  process.on("SIGTERM", listen).on("SIGINT", listen);
  return () => process.off("SIGTERM", listen).off("SIGINT", listen);
}
