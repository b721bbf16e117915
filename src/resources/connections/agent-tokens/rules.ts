/** Pure rules of agent tokens. */
import type { AgentTokenRow } from "./store.ts";
import type { TokenView } from "../../identity/authentication-tokens/definition.ts";

export function toTokenView(row: AgentTokenRow): TokenView & { readonly agentPoolId: string } {
  const { agentPoolId, siteAgentPoolId, ...token } = row;
  return {
    ...token,
    agentPoolId: agentPoolId ?? siteAgentPoolId ?? "",
    kind: "agent-pool",
    userId: null,
    teamId: null,
    isLegacy: 0,
    expiredAt: null,
    organizationName: null,
  };
}
