/** What connections do where workspaces and projects take them, where these go, where tokens are shown and revoked, and where people come in. */
import type { Neighbours } from "../shared/neighbours.ts";
import { agentPoolServes } from "./agent-pools/reads.ts";
import { forgetScopeTarget } from "./agent-pools/writes.ts";
import { loadAgentToken } from "./agent-tokens/reads.ts";
import { revokeAgentToken } from "./agent-tokens/writes.ts";
import { renameInvited } from "./notification-configurations/writes.ts";
import { oauthTokenServes } from "./oauth-clients/reads.ts";

export const connectionNeighbours: Pick<
  Neighbours,
  "placeRemoved" | "agentPoolServes" | "oauthTokenServes" | "loadAgentToken" | "revokeAgentToken" | "invitationsJoined"
> = {
  placeRemoved: forgetScopeTarget,
  agentPoolServes,
  oauthTokenServes,
  loadAgentToken,
  revokeAgentToken,
  invitationsJoined: renameInvited,
};
