/** Which engines an agent can execute: those that it has, and if it fetches engines, all but those that it can't fetch. Pure. */
import type { AgentTable } from "../../../database/schema/runs.ts";

export type AgentEngines = Pick<AgentTable, "engines" | "fetching">;

export interface UnavailableEngineVersion {
  readonly engine: "terraform" | "tofu";
  readonly version: string;
  readonly reason: string;
}

export const engineKey = (engine: string, version: string): string => `${engine} ${version}`;

export const fetchesEngines = ({ fetching }: Pick<AgentTable, "fetching">): boolean => fetching !== "";

export const fetchingColumn = (unavailable: readonly UnavailableEngineVersion[]): string =>
  JSON.stringify(
    Object.fromEntries(unavailable.map(({ engine, version, reason }) => [engineKey(engine, version), reason])),
  );

export function unavailableOf({ fetching }: Pick<AgentTable, "fetching">): UnavailableEngineVersion[] {
  return Object.entries(reasonsIn(fetching)).map(([key, reason]) => {
    const [engine, version = ""] = key.split(" ");
    return { engine: engine === "tofu" ? "tofu" : "terraform", version, reason };
  });
}

export function withUnavailable({ fetching }: Pick<AgentTable, "fetching">, engine: UnavailableEngineVersion): string {
  return fetchingColumn([...unavailableOf({ fetching }), engine]);
}

const reasonsIn = (fetching: string): Record<string, string> =>
  fetching === "" ? {} : (JSON.parse(fetching) as Record<string, string>);

export function versionsIn({ engines }: Pick<AgentTable, "engines">, product: string): readonly string[] {
  const versions = (JSON.parse(engines) as Record<string, unknown>)[product];
  return Array.isArray(versions) ? (versions as string[]) : [];
}

/** `true`, `false`, or the reason why it can't be fetched. */
export function canExecute(agent: AgentEngines, engine: string, version: string): boolean | string {
  if (versionsIn(agent, engine).includes(version)) return true;
  return fetchesEngines(agent) && (reasonsIn(agent.fetching)[engineKey(engine, version)] ?? true);
}
