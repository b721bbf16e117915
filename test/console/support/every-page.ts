/** Every page of the console, with an address at which it has content. The pages are read from the routes in `console/`. */
import { readFileSync } from "node:fs";
import { beforeAll, expect } from "vitest";
import type { Json } from "../../support/api.ts";
import { data, resource } from "../../support/builders.ts";
import { seatIn } from "../../support/offers.ts";
import type { Console } from "./browser.ts";
import { type Scene, setScene } from "./scene.ts";

const workspace = "network-production";
const inAcme = "/organizations/acme";

/** Fills the register before the tests of a file. */
export function useEveryPage(console: Console): { readonly scene: Scene; addressOf(path: string): string } {
  const scene = {} as Scene;
  /** The value of each parameter of an address, also on the pages of site admins. */
  const ids: Record<string, string> = { organization: "acme", workspace };
  const siteIds: Record<string, string> = {};
  beforeAll(async () => {
    Object.assign(scene, await setScene(console.api));
    const register = new Register(console);
    Object.assign(ids, await register.populate(scene));
    siteIds["pool"] = await register.makePool("/admin/agent-pools", "admin/agent-pools");
  });
  return {
    scene,
    addressOf: (path) => {
      const known = path.startsWith("/~/site/") ? { ...ids, ...siteIds } : ids;
      return path.replaceAll(/\{?\$(\w+)\}?/g, (_, name: string) => {
        const id = known[name];
        if (id === undefined) throw new Error(`there is no $${name}: create one, and put its id into \`ids\``);
        return encodeURIComponent(id);
      });
    },
  };
}

class Register {
  readonly #console: Console;

  constructor(console: Console) {
    this.#console = console;
  }

  async #make(path: string, type: string, attributes: object, relationships?: object): Promise<Json> {
    return data(await this.#console.api.admin.post(path, resource(type, attributes, relationships)));
  }

  async populate(scene: Scene): Promise<Record<string, string | undefined>> {
    const { admin } = this.#console.api;
    const id = scene.workspaces[workspace];
    const [set] = data(await admin.get(`${inAcme}/varsets`)) as Json[];
    const [run] = data(await admin.get(`/workspaces/${id}/runs`)) as Json[];
    const people = data(await admin.get(`${inAcme}/organization-memberships?q=bo`)) as Json[];
    const [token] = data(await admin.get(`${inAcme}/team-tokens`)) as Json[];
    const invited = { email: "new@acme.example" };
    const membership = await this.#make(`${inAcme}/organization-memberships`, "organization-memberships", invited);
    const variable = { key: "AWS_REGION", value: "eu-central-1", category: "env" };
    await this.#make(`/varsets/${set.id}/relationships/vars`, "vars", variable);
    await this.#make(`/workspaces/${id}/vars`, "vars", { ...variable, category: "terraform" });
    await this.#makeConnections(scene);
    await this.#makeReceivers(scene);
    return {
      project: scene.projects["Network"],
      team: scene.teams["network-ops"],
      user: people[0].relationships.user.data.id,
      set: set.id,
      pool: await this.makePool(`${inAcme}/agent-pools`, "agent-pools"),
      token: token.id,
      ...(await this.#makeGovernance(scene)),
      request: await this.#requestAccess(scene, people[0].relationships.user.data.id),
      state: scene.state,
      run: run.id,
      secret: /cadastre-([^/]+)$/.exec(membership.attributes["invitation-url"])?.[1],
    };
  }

  /** By a member, so that an owner can decide it. */
  async #requestAccess({ teams }: Scene, userId: string): Promise<string> {
    const { admin, as } = this.#console.api;
    const token = data(await admin.post(`/users/${userId}/authentication-tokens`));
    const requester = as(token.attributes.token);
    const { username } = data(await requester.get("/account/details")).attributes;
    const path = `/teams/${teams["billing-developers"]}/relationships/users`;
    const changes = [{ method: "POST", path, body: { data: [{ type: "users", id: username }] } }];
    const attributes = { changes, reason: "On call for billing", "duration-seconds": 8 * 3600 };
    return data(await requester.post(`${inAcme}/access-requests`, resource("access-requests", attributes))).id;
  }

  /** One with a token, so that no section is empty. */
  async makePool(list: string, one: string): Promise<string> {
    const pool = await this.#make(list, "agent-pools", { name: "cellar" });
    await this.#make(`/${one}/${pool.id}/authentication-tokens`, "authentication-tokens", { description: "rack 7" });
    return pool.id;
  }

  /** The rule is disabled, so that it changes no other page. */
  async #makeGovernance({ teams }: Scene): Promise<Record<string, string>> {
    const eligible = { "eligible-teams": { data: [{ type: "teams", id: teams["billing-developers"] }] } };
    const offered = { name: "Network on call", changes: [seatIn(teams["network-ops"]!)], "duration-seconds-max": 3600 };
    const offer = await this.#make(`${inAcme}/access-offers`, "access-offers", offered, eligible);
    const policy = "forbid (principal, action, resource) unless { context has reason };";
    const ruled = { name: "reasons", policy, enforcement: "advise", enabled: false };
    const rule = await this.#make(`${inAcme}/access-rules`, "access-rules", ruled);
    return { offer: offer.id, rule: rule.id };
  }

  async #makeConnections({ teams, projects }: Scene): Promise<void> {
    const team = { team: { data: { type: "teams", id: teams["network-ops"] } } };
    const claims = { repository: "acme/network" };
    const trust = { name: "pipelines", issuer: "https://ci.example", audience: "cadastre", claims };
    await this.#make(`${inAcme}/identity-trusts`, "identity-trusts", trust, team);
    const key = { name: "modules", value: "-----BEGIN OPENSSH PRIVATE KEY-----" };
    await this.#make(`${inAcme}/ssh-keys`, "ssh-keys", key);
    const client = await this.#make(`${inAcme}/oauth-clients`, "oauth-clients", {
      name: "GitHub of the platform team",
      "service-provider": "github",
      "api-url": "https://api.github.example",
      "http-url": "https://github.example",
      "oauth-token-string": "a token of the provider",
    });
    const repository = {
      identifier: "acme/firewalls",
      "oauth-token-id": client.relationships["oauth-tokens"].data[0].id,
    };
    const connected = { name: "firewalls", "vcs-repo": repository };
    await this.#make(`${inAcme}/workspaces`, "workspaces", connected, {
      project: { data: { type: "projects", id: projects["Network"] } },
    });
  }

  /** Notifications by mail, or disabled, so that no request leaves the machine. */
  async #makeReceivers({ workspaces, projects, teams }: Scene): Promise<void> {
    const about = { name: "On call", "destination-type": "email", enabled: true };
    const mail = { ...about, "email-addresses": ["ops@acme.example"], triggers: ["run:errored"] };
    for (const place of [`workspaces/${workspaces[workspace]}`, `projects/${projects["Network"]}`])
      await this.#make(`/${place}/notification-configurations`, "notification-configurations", mail);
    await this.#make(`/teams/${teams["network-ops"]}/notification-configurations`, "notification-configurations", {
      ...about,
      "destination-type": "generic",
      url: "https://chat.example/hook",
      enabled: false,
    });
    const webhook = { name: "SIEM", url: "https://siem.example/x", events: ["access.changed"], enabled: false };
    await this.#make(`${inAcme}/audit-webhooks`, "audit-webhooks", webhook);
    const tag = { data: [{ type: "tags", attributes: { name: "production" } }] };
    const path = `/workspaces/${workspaces[workspace]}/relationships/tags`;
    expect((await this.#console.api.admin.post(path, tag)).status).toBe(204);
  }
}

// ---- which pages there are ----

/** The paths of the parent routes of pages. */
const parents: Record<string, string> = {
  outside: "",
  inside: "",
  inOrganization: "/$organization",
  inProject: "/$organization/projects/$project",
  inTeam: "/$organization/teams/$team",
  inPerson: "/$organization/people/$user",
  inWorkspace: "/$organization/workspaces/$workspace",
};

const source = ["routes.ts", "organization-routes.ts", "access-routes.ts"]
  .map((name) => readFileSync(new URL(`../../../console/${name}`, import.meta.url), "utf8"))
  .join("");

export interface Route {
  readonly path: string;
  /** Shown without a session. */
  readonly isOutside: boolean;
}

/** A route that is declared in another way than these would be missed. */
export const pagesInSource = [...source.matchAll(/import\("\.\/pages\//g)].length;

export const routes: readonly Route[] = [...source.matchAll(/\bpage\(\s*(\w+),\s*"([^"]+)"/g)].map(
  ([, parent = "", path = ""]) => {
    const under = parents[parent];
    if (under === undefined) throw new Error(`it is not known where ${parent} is: say so in \`parents\``);
    return { path: `${under}/${path === "/" ? "" : path}`, isOutside: parent === "outside" };
  },
);
