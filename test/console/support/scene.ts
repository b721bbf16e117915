/** An organization as it might be: for pictures, and for looking around. */
import { type Api, type Caller, type Json } from "../../support/api.ts";
import { data, resource } from "../../support/builders.ts";
import { storeOutput } from "../../support/phases.ts";
import { bring, happen, makeConfiguration, makeRun } from "../../support/runs.ts";
import { managed, stateOf, writeState } from "../../support/states.ts";

export interface Scene {
  /** The token of an owner. */
  readonly owner: string;
  readonly teams: Readonly<Record<string, string>>;
  readonly projects: Readonly<Record<string, string>>;
  readonly workspaces: Readonly<Record<string, string>>;
  /** A run that waits for somebody, with a plan to draw. */
  readonly run: string;
}

const projects: Record<string, { about: string; workspaces: string[] }> = {
  Network: {
    about: "Addresses, peerings and the ways in",
    workspaces: ["network-production", "network-staging", "network-eu", "dns-public", "vpn-office"],
  },
  Billing: {
    about: "Invoices, payments, dunning",
    workspaces: ["billing-eu", "billing-us", "payments", "invoices-archive"],
  },
  Platform: {
    about: "Clusters, registries and what all others stand on",
    workspaces: ["cluster-blue", "cluster-green", "registry", "observability", "secrets"],
  },
  "Data warehouse": {
    about: "Lakes and their pipelines",
    workspaces: ["lake-raw", "lake-curated", "reports", "sandbox-ml"],
  },
};

const teams: Record<string, { people: string[]; grants: [project: string, access: string, until?: string][] }> = {
  "network-ops": {
    people: ["bo", "ana"],
    grants: [
      ["Network", "write"],
      ["Platform", "read"],
    ],
  },
  "billing-developers": { people: ["mia", "jo"], grants: [["Billing", "maintain"]] },
  auditors: {
    people: ["ana", "kim"],
    grants: [
      ["Network", "read"],
      ["Billing", "read", "2027-01-31T00:00:00Z"],
      ["Data warehouse", "read"],
    ],
  },
  platform: {
    people: ["bo", "lee"],
    grants: [
      ["Platform", "admin"],
      ["Data warehouse", "maintain"],
    ],
  },
  contractors: { people: ["mia"], grants: [["Data warehouse", "read", "2026-12-24T00:00:00Z"]] },
};

const change = (address: string, actions: string[], before: object | null, after: object | null) => ({
  address,
  mode: "managed",
  type: address.split(".").at(-2),
  name: address.split(".").at(-1),
  ...(address.startsWith("module.") && { module_address: address.split(".").slice(0, 2).join(".") }),
  change: { actions, before, after, after_unknown: {}, before_sensitive: {}, after_sensitive: {} },
});

const plan = [
  change(
    "aws_db_instance.ledger",
    ["update"],
    { instance_class: "db.m6g.large", storage: 200 },
    { instance_class: "db.m6g.xlarge", storage: 200 },
  ),
  change("aws_security_group_rule.office", ["delete"], { from_port: 5432, cidr: "203.0.113.0/24" }, null),
  change("module.queue.aws_sqs_queue.dunning", ["create"], null, {
    name: "dunning-eu",
    fifo: true,
    retention: 345_600,
  }),
  change("module.queue.aws_sqs_queue.dead_letters", ["create"], null, { name: "dunning-eu-dead", fifo: true }),
];

class Stage {
  readonly api: Api;
  readonly #admin: Caller;

  constructor(api: Api) {
    this.api = api;
    this.#admin = api.admin;
  }

  async post(path: string, type: string, attributes: object, relationships?: object): Promise<Json> {
    return data(await this.#admin.post(path, resource(type, attributes, relationships)));
  }

  async person(username: string): Promise<{ id: string; token: string }> {
    const user = await this.post("/admin/users", "users", { username, email: `${username}@acme.example` });
    const token = data(await this.#admin.post(`/users/${user.id}/authentication-tokens`));
    return { id: user.id, token: token.attributes.token };
  }

  async member(username: string, teamIds: string[]): Promise<void> {
    await this.post(
      "/organizations/acme/organization-memberships",
      "organization-memberships",
      { email: `${username}@acme.example` },
      { teams: { data: teamIds.map((id) => ({ type: "teams", id })) } },
    );
  }

  async grant(project: string, team: string, access: string, expiresAt?: string): Promise<void> {
    await this.post(
      "/team-projects",
      "team-projects",
      { access, ...(expiresAt && { "expires-at": expiresAt, reason: "until the audit is done" }) },
      { project: { data: { type: "projects", id: project } }, team: { data: { type: "teams", id: team } } },
    );
  }
}

export async function setScene(api: Api): Promise<Scene> {
  const stage = new Stage(api);
  const organization = await stage.post("/organizations", "organizations", { name: "acme", email: "ops@acme.example" });
  const people = new Map<string, string>();
  for (const name of ["ana", "bo", "mia", "jo", "kim", "lee"]) people.set(name, (await stage.person(name)).token);
  const projectIds: Record<string, string> = {};
  const workspaceIds: Record<string, string> = {};
  for (const [name, { about, workspaces }] of Object.entries(projects)) {
    const project = await stage.post("/organizations/acme/projects", "projects", { name, description: about });
    projectIds[name] = project.id;
    for (const workspace of workspaces)
      workspaceIds[workspace] = (
        await stage.post(
          "/organizations/acme/workspaces",
          "workspaces",
          { name: workspace, description: about, "execution-mode": "remote" },
          { project: { data: { type: "projects", id: project.id } } },
        )
      ).id;
  }
  const teamIds = await fillTeams(stage, projectIds);
  await fillStates(api, workspaceIds);
  const run = await fillRuns(api, organization.attributes["external-id"], workspaceIds);
  data(
    await api
      .as(people.get("bo"))
      .post(`/workspaces/${workspaceIds["dns-public"]}/actions/lock`, { reason: "incident 42" }),
  );
  return { owner: people.get("kim")!, teams: teamIds, projects: projectIds, workspaces: workspaceIds, run };
}

async function fillTeams(stage: Stage, projectIds: Record<string, string>): Promise<Record<string, string>> {
  const ids: Record<string, string> = {};
  const owners = data(await stage.api.admin.get("/organizations/acme/teams?q=owners"))[0].id;
  const of: Record<string, string[]> = { kim: [owners] };
  for (const [name, { people, grants }] of Object.entries(teams)) {
    const team = await stage.post("/organizations/acme/teams", "teams", { name, visibility: "organization" });
    ids[name] = team.id;
    for (const person of people) (of[person] ??= []).push(team.id);
    for (const [project, access, until] of grants) await stage.grant(projectIds[project]!, team.id, access, until);
  }
  for (const [person, some] of Object.entries(of)) await stage.member(person, some);
  return { ...ids, owners };
}

async function fillStates(api: Api, workspaceIds: Record<string, string>): Promise<void> {
  for (const [index, [name, id]] of Object.entries(workspaceIds).entries()) {
    const resources = ["subnet", "route", "gateway", "zone"].map((kind, place) =>
      managed(`${name.replaceAll("-", "_")}_${kind}`, 3 + ((index * 7 + place * 5) % 17)),
    );
    for (const serial of index % 3 === 0 ? [1, 2] : [1])
      await writeState(
        api.admin,
        id,
        stateOf({
          serial,
          resources,
          outputs: { region: { value: "eu-central-1", type: "string" } },
        }),
      );
  }
}

async function fillRuns(api: Api, organizationId: string, workspaceIds: Record<string, string>): Promise<string> {
  const ways = [
    ["network-production", "Open the new peering", "applied"],
    ["network-staging", "Try the new peering", "planning"],
    ["cluster-blue", "Nodes of the next size", "applied"],
    ["lake-raw", "Keep what arrives for a year", "errored"],
  ] as const;
  for (const [name, message, status] of ways) {
    await makeConfiguration(api, workspaceIds[name]!);
    const run = await makeRun(api.admin, workspaceIds[name]!, { message });
    if (status !== "applied") {
      await bring(api, run.id, status);
      continue;
    }
    await bring(api, run.id, "planned");
    data(await api.admin.post(`/runs/${run.id}/actions/apply`));
    await happen(api, run.id, { event: "claim" });
    await happen(api, run.id, { event: "phase-finished", hasChanges: true });
  }
  await makeConfiguration(api, workspaceIds["billing-eu"]!);
  const waiting = await makeRun(api.admin, workspaceIds["billing-eu"]!, {
    message: "A queue for dunning, and a larger ledger",
  });
  await bring(api, waiting.id, "planned");
  await storeOutput(
    api,
    { id: waiting.id, organizationId } as never,
    "plan-json",
    JSON.stringify({ format_version: "1.2", resource_changes: plan }),
  );
  return waiting.id;
}
