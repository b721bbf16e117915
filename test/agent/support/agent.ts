/** An agent under test: started in this process, drained after the tests of its file. */
import { chmodSync, rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { Agent } from "../../../src/agent/agent.ts";
import { type AgentSettings, readAgentSettings } from "../../../src/agent/settings.ts";
import { newFolder } from "../../support/folder.ts";
import { agentToken, type Reported, TestServer } from "./server.ts";

export interface Stage {
  readonly server: TestServer;
  readonly agent: Agent;
  readonly settings: AgentSettings;
  readonly said: string[];
  readonly ended: Promise<void>;
  readonly close: () => Promise<void>;
}

export async function startStage(given: Partial<AgentSettings> & { engines: string }): Promise<Stage> {
  const server = new TestServer();
  await server.listen();
  const folder = openFolder();
  const settings: AgentSettings = {
    ...readAgentSettings({
      environment: {
        CADASTRE_AGENT_SERVER: server.url,
        CADASTRE_AGENT_TOKEN: agentToken,
        CADASTRE_AGENT_NAME: "tester",
      },
    }),
    agentDirectory: join(folder, "home"),
    ...given,
  };
  const said: string[] = [];
  const agent = await Agent.open(settings, (line) => said.push(line));
  const ended = agent.run();
  ended.catch(() => undefined);
  return {
    server,
    agent,
    settings,
    said,
    ended,
    close: async () => {
      agent.drain();
      await ended.catch(() => undefined);
      await server.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

export async function until<Answer>(look: () => Answer | undefined | false | null, seconds = 60): Promise<Answer> {
  const deadline = performance.now() + seconds * 1000;
  for (;;) {
    const found = look();
    if (found !== undefined && found !== false && found !== null) return found;
    if (performance.now() > deadline) throw new Error("It did not come to pass in time.");
    await pause(10);
  }
}

export const finished = (report: Reported): Promise<Record<string, unknown>> => until(() => report.finished, 100);

/** As root, jobs have users of their own, who must get to what is theirs. */
export function openFolder(): string {
  const folder = newFolder("cadastre-agent-");
  chmodSync(folder, 0o711);
  return folder;
}
