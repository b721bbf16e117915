/** `cadastre agent-pool …`: makes pools of the site, in the database or over the API. The first token is printed once, with the pool. */
import { parseBody } from "../jsonapi/input.ts";
import { issueAgentToken } from "../resources/connections/agent-tokens/writes.ts";
import { siteAgentPools } from "../resources/connections/site-agent-pools/definition.ts";
import { addSiteAgentPool } from "../resources/connections/site-agent-pools/writes.ts";
import { authenticationTokens } from "../resources/identity/authentication-tokens/definition.ts";
import { textOf } from "../moving/wire.ts";
import type { Settings } from "../settings.ts";
import { type Command, jsonOption } from "./command.ts";
import { registerSettings, writing } from "./register.ts";
import { remoteDetails, remoteOf, type RemoteServer, remoteSettings } from "./remote.ts";

export const createAgentPoolCommand: Command = {
  name: "agent-pool create",
  summary: "Make an agent pool of the site, with a token for its agents",
  argument: { shape: "NAME", doc: "Letters, numbers, dashes and underscores; unique, ignoring case." },
  settings: registerSettings,
  ownSettings: remoteSettings,
  options: jsonOption,
  details: [
    "Its agents execute what workspaces in remote mode ask for, of every organization.",
    "The token is printed this once: the register keeps only its hash. Give it to 'cadastre agent' as CADASTRE_AGENT_TOKEN.",
    remoteDetails,
    "Example: cadastre agent-pool create everybody",
  ],
  async run(invocation) {
    const { terminal, argument, isOn, settings } = invocation;
    const name = checked(argument);
    const remote = remoteOf(invocation);
    const made = remote === undefined ? await createHere(settings(), name) : await createOver(remote, name);
    if (isOn("json")) return terminal.out(JSON.stringify(made, null, 2));
    terminal.out(`Made the agent pool ${made.name} (${made.id}). The token of its agents, shown this once:`);
    terminal.out(`\n  ${made.token}\n`);
  },
};

interface CreatedPool {
  readonly id: string;
  readonly name: string;
  readonly token: string;
}

const tokenDescription = "Made with the pool";

async function createHere(settings: Settings, name: string): Promise<CreatedPool> {
  return writing(settings, async (tx, context) => {
    const pool = await addSiteAgentPool(tx, context, name);
    const { secret } = await issueAgentToken(tx, context, pool, tokenDescription);
    return { id: pool.id, name: pool.name, token: secret };
  });
}

async function createOver(remote: RemoteServer, name: string): Promise<CreatedPool> {
  const { id } = await remote.create("/admin/agent-pools", siteAgentPools.type, { name });
  const path = `/admin/agent-pools/${id}/authentication-tokens`;
  const made = await remote.create(path, authenticationTokens.type, { description: tokenDescription });
  return { id, name, token: textOf(made, "token") ?? "" };
}

/** The API's own rules for the name. Raises `invalid`. */
function checked(name: string): string {
  const body = parseBody(siteAgentPools, "create", { data: { type: siteAgentPools.type, attributes: { name } } });
  return (body as { attributes: { name: string } }).attributes.name;
}
