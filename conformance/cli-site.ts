/** A server with an organization for the scenarios: directories with configurations, the CLI as different users, and the API to check results. */
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { addMember, addUser, type Api, apiOf, dataOf, emailOf } from "./api.ts";
import { makeCertificate, servedWith } from "./certificate.ts";
import { type Cli, releaseOf } from "./cli-build.ts";
import { type Ended, type Running, startCli } from "./cli-process.ts";
import { executing } from "./engines.ts";
import { type Agent, type Engine, type Server, startAgent, startServer } from "./server.ts";

export const transports = ["http", "https"] as const;
export type Transport = (typeof transports)[number];

/** Access to the default project: Grace maintains, Linus writes, Ada reads. */
const levels = { grace: "maintain", linus: "write", ada: "read" } as const;
export type Person = keyof typeof levels;

export const organization = "acme";
/** The host in the CLI configuration, which is never resolved. */
const namedHost = "cadastre.test";
const tokenVariable = "TF_TOKEN_cadastre_test";

export interface Workspace {
  readonly id: string;
  readonly attributes: Record<string, any>;
}

export interface Site {
  readonly cli: Cli;
  readonly hostname: string;
  /** The URL that remote runs use. */
  readonly runHostname: string;
  readonly tokens: Readonly<Record<Person, string>>;
  /** Environment of a user without a token, whose home is the directory. */
  newcomer(folder: string): NodeJS.ProcessEnv;
  /** Calls the API as the owner. */
  readonly api: Api;
  /** Throws if there is no such workspace. */
  workspace(name: string): Promise<Workspace>;
  /** Attributes of the current state; undefined if there is none. */
  state(name: string): Promise<Record<string, any> | undefined>;
  /** With the CLI's own version. */
  makeWorkspace(name: string, attributes: object): Promise<Workspace>;
  setVariable(workspace: string, attributes: object): Promise<void>;
  /** A shared agent pool with an agent. */
  servedPool(): Promise<string>;
  /** An agent pool, with a token for its agents. */
  makePool(name: string): Promise<{ readonly id: string; readonly token: string }>;
  startAgent(token: string): Promise<Agent>;
  folder(files: Record<string, string>): Folder;
  errors(): readonly string[];
  stop(): Promise<void>;
}

export interface Options {
  readonly as?: Person;
  /** The complete standard input. */
  readonly input?: string;
  /** Answers to the CLI's prompts, one line each. */
  readonly answers?: readonly string[];
  readonly env?: NodeJS.ProcessEnv;
}

export interface Folder {
  readonly path: string;
  write(files: Record<string, string>): void;
  read(name: string): string;
  start(words: readonly string[], options?: Options): Running;
  run(words: readonly string[], options?: Options): Promise<Ended>;
  /** Throws unless the CLI exits with 0. */
  succeed(words: readonly string[], options?: Options): Promise<Ended>;
  /** Throws unless the CLI exits with 1 and its output matches. */
  refuse(words: readonly string[], pattern: RegExp, options?: Options): Promise<Ended>;
}

export async function openSite(cli: Cli, engine: Engine, transport: Transport): Promise<Site> {
  const home = mkdtempSync(join(tmpdir(), "cadastre-terraform-"));
  const remove = () => rmSync(home, { recursive: true, force: true });
  process.once("exit", remove);
  const tls = transport === "https" ? makeCertificate(home) : undefined;
  const runs = await executing([releaseOf(cli)]);
  const server = await startServer(engine, "self-hosted", { ...runs, ...(tls && servedWith(tls)) });
  const agents: Agent[] = [];
  const stop = async () => {
    for (const agent of agents) await agent.stop();
    await server.stop();
    process.removeListener("exit", remove);
    remove();
  };
  try {
    const api = apiOf(server);
    const tokens = await makeOrganization(api);
    const { port } = new URL(server.url);
    const hostname = tls === undefined ? namedHost : `localhost:${port}`;
    const host = tls === undefined ? hostBlock(hostname, server.url) : "";
    const environments = environmentsOf({ home, host, hostname, tokens, trusted: tls?.cert });
    return {
      cli,
      hostname,
      runHostname: new URL(server.url).host,
      tokens,
      newcomer: (folder) => {
        writeFileSync(join(folder, ".terraformrc"), host);
        // A file named here would override the credentials of `login`.
        return { HOME: folder, TF_CLI_CONFIG_FILE: undefined, [tokenVariable]: undefined };
      },
      api,
      workspace: async (name) => dataOf(await api(`/organizations/${organization}/workspaces/${name}`)),
      state: (name) => stateOf(api, name),
      ...forRuns({ api, cli, server, runs, agents, trusted: tls?.cert }),
      folder: (files) => makeFolder(cli, mkdtempSync(join(home, "folder-")), environments, files),
      errors: () => server.errors(),
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

interface RunSupport {
  readonly api: Api;
  readonly cli: Cli;
  readonly server: Server;
  readonly runs: Readonly<Record<string, string>>;
  readonly agents: Agent[];
  readonly trusted: string | undefined;
}

/** For scenarios with remote runs. */
function forRuns({ api, cli, server, runs, agents, trusted }: RunSupport) {
  const path = `/organizations/${organization}`;
  const engine = cli.product === "Terraform" ? "terraform" : "tofu";
  const makePool = async (name: string) => {
    const { id } = dataOf(await api(`${path}/agent-pools`, { data: { type: "agent-pools", attributes: { name } } }));
    const token = { type: "authentication-tokens", attributes: { description: "an agent" } };
    const made = dataOf(await api(`/agent-pools/${id}/authentication-tokens`, { data: token }));
    return { id: id as string, token: made.attributes.token as string };
  };
  const startOne = (token: string): Promise<Agent> =>
    startAgent({
      ...runs,
      CADASTRE_AGENT_SERVER: server.url,
      CADASTRE_AGENT_TOKEN: token,
      CADASTRE_AGENT_SLOTS: "2",
      ...(trusted && { CADASTRE_AGENT_CA: trusted }),
    });
  let served: Promise<string> | undefined;
  const serve = async () => {
    const { id, token } = await makePool("served");
    agents.push(await startOne(token));
    return id;
  };
  return {
    makePool,
    startAgent: startOne,
    makeWorkspace: async (name: string, attributes: object): Promise<Workspace> => {
      const all = { name, engine, "terraform-version": cli.version, ...attributes };
      return dataOf(await api(`${path}/workspaces`, { data: { type: "workspaces", attributes: all } }));
    },
    setVariable: async (workspace: string, attributes: object) => {
      const { id } = dataOf(await api(`${path}/workspaces/${workspace}`));
      const variable = { type: "vars", attributes: { category: "terraform", ...attributes } };
      dataOf(await api(`/workspaces/${id}/vars`, { data: variable }));
    },
    servedPool: () => (served ??= serve()),
  };
}

async function stateOf(api: Api, name: string): Promise<Record<string, any> | undefined> {
  const { id } = dataOf(await api(`/organizations/${organization}/workspaces/${name}`));
  const answer = await api(`/workspaces/${id}/current-state-version`);
  return answer.status === 404 ? undefined : dataOf(answer).attributes;
}

const identifier = (type: string, id: string) => ({ data: { type, id } });

/** Creates the organization, with local execution by default, and the users with teams and tokens. */
async function makeOrganization(api: Api): Promise<Record<Person, string>> {
  const attributes = { name: organization, email: "platform@acme.example", "default-execution-mode": "local" };
  const { relationships } = dataOf(await api("/organizations", { data: { type: "organizations", attributes } }));
  const project = relationships["default-project"].data.id as string;
  const tokens = {} as Record<Person, string>;
  for (const [person, access] of Object.entries(levels) as [Person, string][])
    tokens[person] = await addPerson(api, person, await makeTeam(api, `with-${access}`, project, access));
  return tokens;
}

async function makeTeam(api: Api, name: string, project: string, access: string): Promise<string> {
  const team = dataOf(
    await api(`/organizations/${organization}/teams`, { data: { type: "teams", attributes: { name } } }),
  );
  const relationships = { project: identifier("projects", project), team: identifier("teams", team.id) };
  dataOf(await api("/team-projects", { data: { type: "team-projects", attributes: { access }, relationships } }));
  return team.id;
}

/** Returns the user's token. */
async function addPerson(api: Api, person: Person, team: string): Promise<string> {
  const id = await addUser(api, person);
  await addMember(api, organization, emailOf(person), [team]);
  const token = { type: "authentication-tokens", attributes: { description: "the CLI" } };
  return dataOf(await api(`/users/${id}/authentication-tokens`, { data: token })).attributes.token;
}

interface CliEnvironment {
  readonly home: string;
  /** What the CLI configuration file says about the host, over HTTP. */
  readonly host: string;
  readonly hostname: string;
  readonly tokens: Readonly<Record<Person, string>>;
  /** The certificate to trust, over HTTPS. */
  readonly trusted: string | undefined;
}

/** The CLI only discovers services over HTTPS, so for HTTP its configuration file lists them. */
function hostBlock(hostname: string, url: string): string {
  const services = ["tfe.v2", "tfe.v2.1", "tfe.v2.2", "state.v2"].map((name) => `    "${name}" = "${url}/api/v2/"\n`);
  return `host "${hostname}" {\n  services = {\n${services.join("")}  }\n}\n`;
}

/** The token is in a variable with HTTP and in the file with HTTPS, so that both ways are tested. */
function environmentsOf({ home, host, hostname, tokens, trusted }: CliEnvironment): Record<Person, NodeJS.ProcessEnv> {
  const environmentOf = (person: Person): NodeJS.ProcessEnv => {
    const own = join(home, person);
    mkdirSync(own);
    const file = join(own, "cli.tfrc");
    const credentials = `credentials "${hostname}" {\n  token = "${tokens[person]}"\n}\n`;
    writeFileSync(file, trusted === undefined ? host : credentials);
    return {
      PATH: process.env["PATH"],
      HOME: own,
      TMPDIR: own,
      TF_CLI_CONFIG_FILE: file,
      TF_IN_AUTOMATION: "1",
      CHECKPOINT_DISABLE: "1",
      ...(trusted === undefined ? { [tokenVariable]: tokens[person] } : { SSL_CERT_FILE: trusted }),
    };
  };
  return { grace: environmentOf("grace"), linus: environmentOf("linus"), ada: environmentOf("ada") };
}

function makeFolder(
  cli: Cli,
  path: string,
  environments: Readonly<Record<Person, NodeJS.ProcessEnv>>,
  files: Record<string, string>,
): Folder {
  const write = (more: Record<string, string>) => {
    for (const [name, text] of Object.entries(more)) writeFileSync(join(path, name), text);
  };
  write(files);
  const start = (words: readonly string[], { as = "grace", input, answers, env }: Options = {}) =>
    startCli(cli, { folder: path, words, env: { ...environments[as], ...env }, input, answers });
  const run = (words: readonly string[], options?: Options) => start(words, options).ended;
  const describeExit = (words: readonly string[], { code, text }: Ended) =>
    `${words.join(" ")} exited with ${code} and printed: ${text}`;
  return {
    path,
    write,
    read: (name) => readFileSync(join(path, name), "utf8"),
    start,
    run,
    succeed: async (words, options) => {
      const ended = await run(words, options);
      assert.equal(ended.code, 0, describeExit(words, ended));
      return ended;
    },
    refuse: async (words, pattern, options) => {
      const ended = await run(words, options);
      assert.ok(
        ended.code === 1 && pattern.test(ended.text),
        `${describeExit(words, ended)}\nExpected 1 and ${pattern}`,
      );
      return ended;
    },
  };
}
