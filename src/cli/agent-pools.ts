/** `cadastre agent-pool …`: makes pools of the site. The first token is printed once, with the pool. */
import { parseBody } from "../jsonapi/input.ts";
import { issueAgentToken } from "../resources/connections/agent-tokens/writes.ts";
import { siteAgentPools } from "../resources/connections/site-agent-pools/definition.ts";
import { addSiteAgentPool } from "../resources/connections/site-agent-pools/writes.ts";
import { type Command, jsonOption } from "./command.ts";
import { registerSettings, writing } from "./register.ts";

export const createAgentPoolCommand: Command = {
  name: "agent-pool create",
  summary: "Make an agent pool of the site, with a token for its agents",
  argument: { shape: "NAME", doc: "Letters, numbers, dashes and underscores; unique, ignoring case." },
  settings: registerSettings,
  options: jsonOption,
  details: [
    "Its agents execute what workspaces in remote mode ask for, of every organization.",
    "The token is printed this once: the register keeps only its hash. Give it to 'cadastre agent' as CADASTRE_AGENT_TOKEN.",
    "Example: cadastre agent-pool create everybody",
  ],
  async run({ terminal, argument, isOn, settings }) {
    const name = checked(argument);
    const { pool, token } = await writing(settings(), async (tx, context) => {
      const made = await addSiteAgentPool(tx, context, name);
      return { pool: made, token: await issueAgentToken(tx, context, made, "Made with the pool") };
    });
    if (isOn("json")) {
      terminal.out(JSON.stringify({ id: pool.id, name: pool.name, token: token.secret }, null, 2));
      return;
    }
    terminal.out(`Made the agent pool ${pool.name} (${pool.id}). The token of its agents, shown this once:`);
    terminal.out(`\n  ${token.secret}\n`);
  },
};

/** The API's own rules for the name. Raises `invalid`. */
function checked(name: string): string {
  const body = parseBody(siteAgentPools, "create", { data: { type: siteAgentPools.type, attributes: { name } } });
  return (body as { attributes: { name: string } }).attributes.name;
}
