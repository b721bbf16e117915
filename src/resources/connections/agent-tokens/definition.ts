/** The tokens of an agent pool; `authentication-tokens` shows and revokes them. Only the agent protocol accepts them. */
import { z } from "zod";
import { defineResource, type Operation } from "../../../jsonapi/define.ts";
import { text } from "../../../jsonapi/schemas.ts";

const path = "/agent-pools/:agent_pool_id/authentication-tokens";
const sitePath = "/admin/agent-pools/:site_agent_pool_id/authentication-tokens";
const managers = "an owner, a team with 'manage-agent-pools', or the organization's token";

const body = z.object({
  data: z.object({
    // The API's documentation has the first; its Go client sends the second.
    type: z.enum(["authentication-tokens", "agent-tokens"]),
    attributes: z.object({ description: text({ min: 1, max: 256, pattern: /\S/, sentence: "can't be blank" }) }),
  }),
});

const create = {
  method: "POST",
  path,
  summary: "Create a token for a pool's agents; its secret is in the response, and is not shown again",
  needs: `${managers}; not with a team or organization token that expires`,
  body: { custom: body },
  answer: "created",
  answerType: "authentication-tokens",
  example: { data: { type: "authentication-tokens", attributes: { description: "A data centre" } } },
} as const satisfies Operation;

const list = {
  method: "GET",
  path,
  summary: "List a pool's tokens, without their secrets, newest first",
  needs: managers,
  query: { paged: true },
  answer: "list",
  answerType: "authentication-tokens",
} as const satisfies Operation;

export const agentTokens = defineResource<{ readonly id: string }>()(() => ({
  type: "agent-tokens",
  doc: "A token that authenticates the agents of a pool. Its type is `authentication-tokens`, and it never expires.",
  id: (token) => token.id,
  attributes: {},
  relationships: {},
  operations: {
    createAgentToken: create,
    listAgentTokens: list,
    createSiteAgentToken: { ...create, path: sitePath, needs: "a site admin" },
    listSiteAgentTokens: { ...list, path: sitePath, needs: "a site admin" },
  },
}));
