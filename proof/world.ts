/** Creates what the actors of a proof need: an organization, users with tokens, workspaces, agent tokens. */
import { archive } from "../test/support/archives.ts";
import { resource } from "../test/support/builders.ts";
import { exchange, type Json, send, type Target } from "./client.ts";

export interface Person {
  readonly name: string;
  readonly id: string;
  readonly token: string;
}

/** Resources that the workloads need. */
export interface WorkloadFixtures {
  readonly projects: readonly [string, string];
  /** A workspace that is never deleted. */
  readonly settled: string;
  /** A VCS connection and its webhook secret; a workspace uses it. */
  readonly connection: { readonly id: string; readonly secret: string };
}

/** Runs before any fault is injected, so every failure ends the proof. */
export class World {
  readonly organization: string;
  readonly adminToken: string;
  readonly #server: Target;
  #count = 0;

  constructor(server: Target, adminToken: string, organization: string) {
    this.#server = server;
    this.adminToken = adminToken;
    this.organization = organization;
  }

  /** The same organization on another server. */
  at(server: Target): World {
    return new World(server, this.adminToken, this.organization);
  }

  static async make(server: Target, adminToken: string, organization: string): Promise<World> {
    const world = new World(server, adminToken, organization);
    await world.post("/organizations", resource("organizations", { name: organization, email: "a@example.com" }));
    return world;
  }

  name(what: string): string {
    this.#count += 1;
    return `${what}-${this.organization}-${this.#count}`;
  }

  async workspace(attributes: object = {}): Promise<string> {
    const body = resource("workspaces", { name: this.name("ws"), ...attributes });
    return (await this.post(`/organizations/${this.organization}/workspaces`, body)).id;
  }

  async team(name: string): Promise<string> {
    return (await this.post(`/organizations/${this.organization}/teams`, resource("teams", { name }))).id;
  }

  async ownersTeam(): Promise<string> {
    const teams: Json[] = await this.get(`/organizations/${this.organization}/teams`);
    return teams.find(({ attributes }) => attributes.name === "owners").id;
  }

  async person(teamIds: readonly string[]): Promise<Person> {
    const name = this.name("user");
    const email = `${name}@example.com`;
    const user = await this.post("/admin/users", resource("users", { username: name, email }));
    const token = await this.post(`/users/${user.id}/authentication-tokens`);
    const teams = { teams: { data: teamIds.map((id) => ({ type: "teams", id })) } };
    await this.post(
      `/organizations/${this.organization}/organization-memberships`,
      resource("organization-memberships", { email }, teams),
    );
    return { name, id: user.id, token: token.attributes.token };
  }

  /** A workspace with remote execution and a configuration. */
  async runnable(): Promise<{ workspaceId: string; configurationId: string }> {
    const workspaceId = await this.workspace({ "execution-mode": "remote", "terraform-version": "1.5.7" });
    const version = await this.post(
      `/workspaces/${workspaceId}/configuration-versions`,
      resource("configuration-versions", { "auto-queue-runs": false }),
    );
    const { pathname, search } = new URL(version.attributes["upload-url"]);
    const files = archive([{ name: "main.tf", content: 'resource "null_resource" "one" {}\n' }]);
    const sent = await exchange(`${this.#server.url}${pathname}${search}`, "PUT", {}, files);
    if (sent.status !== 200) throw new Error(`a configuration got ${sent.status}: ${sent.text}`);
    return { workspaceId, configurationId: version.id };
  }

  async makeFixtures(): Promise<WorkloadFixtures> {
    const project = async () =>
      (await this.post(`/organizations/${this.organization}/projects`, resource("projects", { name: this.name("p") })))
        .id as string;
    const client = await this.post(
      `/organizations/${this.organization}/oauth-clients`,
      resource("oauth-clients", {
        "service-provider": "github",
        "api-url": "https://api.github.invalid",
        "http-url": "https://github.invalid",
        "oauth-token-string": "a token of the provider",
      }),
    );
    const [token] = client.relationships["oauth-tokens"].data;
    const repository = { identifier: "acme/network", "oauth-token-id": token.id };
    await this.workspace({ "execution-mode": "remote", "vcs-repo": repository, "queue-all-runs": false });
    return {
      projects: [await project(), await project()],
      settled: await this.workspace(),
      connection: { id: client.id, secret: client.attributes["webhook-secret"] },
    };
  }

  async agentsToken(): Promise<string> {
    const pool = await this.post("/admin/agent-pools", resource("agent-pools", { name: this.name("pool") }));
    const path = `/admin/agent-pools/${pool.id}/authentication-tokens`;
    return (await this.post(path, resource("authentication-tokens", { description: "agents" }))).attributes.token;
  }

  async get(path: string): Promise<Json> {
    return this.#send("GET", path);
  }

  async post(path: string, body?: object): Promise<Json> {
    return this.#send("POST", path, body);
  }

  /** All pages; empty on 404. */
  async all(path: string): Promise<Json[]> {
    const found: Json[] = [];
    for (let next: string | null = `${path}${path.includes("?") ? "&" : "?"}page[size]=100`; next !== null;) {
      const reply = await send(this.#server, this.adminToken, "GET", next);
      if (reply.status === 404) return [];
      if (reply.status !== 200) throw new Error(`${next} got ${reply.status}: ${reply.text}`);
      const { data, links }: Json = JSON.parse(reply.text);
      found.push(...data);
      next = links?.next ? new URL(links.next, this.#server.url).href.replace(/^.*?\/api\/v2/, "") : null;
    }
    return found;
  }

  async #send(method: string, path: string, body?: object): Promise<Json> {
    const reply = await send(this.#server, this.adminToken, method, path, body);
    if (reply.status >= 300) throw new Error(`${method} ${path} got ${reply.status}: ${reply.text}`);
    return reply.text === "" ? undefined : JSON.parse(reply.text).data;
  }
}
