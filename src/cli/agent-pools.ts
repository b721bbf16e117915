/** `cadastre agent-pool …`: creates agent pools of the site, in the database or over the API. */
import { parseBody } from "../jsonapi/input.ts";
import { issueAgentToken } from "../resources/connections/agent-tokens/writes.ts";
import { siteAgentPools } from "../resources/connections/site-agent-pools/definition.ts";
import { addSiteAgentPool } from "../resources/connections/site-agent-pools/writes.ts";
import { authenticationTokens } from "../resources/identity/authentication-tokens/definition.ts";
import { textOf } from "../moving/wire.ts";
import type { Settings } from "../settings.ts";
import { type Command, jsonOption } from "./command.ts";
import { databaseSettings, writeDatabase } from "./database.ts";
import { remoteDetails, remoteOf, type RemoteServer, remoteSettings } from "./remote.ts";

export const createAgentPoolCommand: Command = {
  name: "agent-pool create",
  summary: "Create an agent pool of the site, and a token for its agents",
  argument: {
    shape: "NAME",
    doc: "Name of the pool: letters, numbers, dashes and underscores; unique regardless of case.",
  },
  settings: databaseSettings,
  ownSettings: remoteSettings,
  options: jsonOption,
  details: [
    "Agents of this pool execute the runs of workspaces in remote execution mode, in every organization.",
    "The token is printed only once; the database stores only its hash. Pass it to 'cadastre agent' as CADASTRE_AGENT_TOKEN.",
    remoteDetails,
    "Example: cadastre agent-pool create everybody",
  ],
  async run(invocation) {
    const { terminal, argument, isOn, settings } = invocation;
    const name = parseName(argument);
    const remote = remoteOf(invocation);
    const created = remote === undefined ? await createHere(settings(), name) : await createOver(remote, name);
    if (isOn("json")) return terminal.out(JSON.stringify(created, null, 2));
    terminal.out(`Created agent pool ${created.name} (${created.id}). Token for its agents (shown only once):`);
    terminal.out(`\n  ${created.token}\n`);
  },
};

interface CreatedPool {
  readonly id: string;
  readonly name: string;
  readonly token: string;
}

const tokenDescription = "Created with the pool";

async function createHere(settings: Settings, name: string): Promise<CreatedPool> {
  return writeDatabase(settings, async (tx, context) => {
    const pool = await addSiteAgentPool(tx, context, name);
    const { secret } = await issueAgentToken(tx, context, pool, tokenDescription);
    return { id: pool.id, name: pool.name, token: secret };
  });
}

async function createOver(remote: RemoteServer, name: string): Promise<CreatedPool> {
  const { id } = await remote.create("/admin/agent-pools", siteAgentPools.type, { name });
  const path = `/admin/agent-pools/${id}/authentication-tokens`;
  const token = await remote.create(path, authenticationTokens.type, { description: tokenDescription });
  return { id, name, token: textOf(token, "token") ?? "" };
}

function parseName(name: string): string {
  const body = parseBody(siteAgentPools, "create", { data: { type: siteAgentPools.type, attributes: { name } } });
  return (body as { attributes: { name: string } }).attributes.name;
}
