/** An agent under test: started in this process, drained after the tests of its file. */
import { chmodSync, rmSync } from "node:fs";
import { join } from "node:path";
import { Agent } from "../../../src/agent/agent.ts";
import { type AgentSettings, readAgentSettings } from "../../../src/agent/settings.ts";
import { newFolder } from "../../support/folder.ts";
import { until } from "../../support/waiting.ts";
import { agentToken, type Reported, TestServer } from "./server.ts";

export interface TestAgent {
  readonly server: TestServer;
  readonly agent: Agent;
  readonly settings: AgentSettings;
  readonly lines: string[];
  readonly ended: Promise<void>;
  readonly close: () => Promise<void>;
}

export async function startTestAgent(overrides: Partial<AgentSettings> & { engines: string }): Promise<TestAgent> {
  const server = new TestServer();
  await server.listen();
  const folder = openFolder();
  const settings: AgentSettings = {
    ...readAgentSettings({
      environment: {
        CADASTRE_AGENT_SERVER: server.url,
        CADASTRE_AGENT_TOKEN: agentToken,
        CADASTRE_AGENT_NAME: "tester",
        CADASTRE_ENGINE_MIRROR: "off",
      },
    }),
    agentDirectory: join(folder, "home"),
    ...overrides,
  };
  const lines: string[] = [];
  const agent = await Agent.open(settings, (line) => lines.push(line));
  const ended = agent.run();
  ended.catch(() => undefined);
  return {
    server,
    agent,
    settings,
    lines,
    ended,
    close: async () => {
      agent.drain();
      await ended.catch(() => undefined);
      await server.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

export const finished = (report: Reported): Promise<Record<string, unknown>> => until(() => report.finished);

/** As root, jobs run as separate users, who must be able to reach their files. */
export function openFolder(): string {
  const folder = newFolder("cadastre-agent-");
  chmodSync(folder, 0o711);
  return folder;
}
