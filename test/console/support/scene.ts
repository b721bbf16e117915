/** A realistic organization for screenshots. */
import { followClock } from "../../../src/kernel/time.ts";
import { type Api, type Caller, type Json } from "../../support/api.ts";
import { data, makeTeamToken, resource } from "../../support/builders.ts";
import { storeOutput } from "../../support/phases.ts";
import { applyTransition, makeConfiguration, makeRun } from "../../support/runs.ts";
import { managed, stateOf, writeState } from "../../support/states.ts";

export interface Scene {
  /** The token of an owner. */
  readonly owner: string;
  readonly teams: Readonly<Record<string, string>>;
  readonly projects: Readonly<Record<string, string>>;
  readonly workspaces: Readonly<Record<string, string>>;
  /** A run that needs confirmation, with a structured plan. */
  readonly run: string;
  /** A state version that differs from the previous one. */
  readonly state: string;
}

const hour = 3_600_000;
const day = 24 * hour;

/** From here on, the database's clock is this far in the past, so that not everything is created in one second. */
function ago(ms: number): void {
  const moment = performance.now();
  followClock(ms === 0 ? undefined : { clockMs: Date.now() - ms, askedAt: moment, answeredAt: moment });
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
      ["Billing", "read", "2028-01-31T00:00:00Z"],
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
  contractors: { people: ["noa", "sam"], grants: [["Data warehouse", "read", "2027-12-24T00:00:00Z"]] },
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
  readonly admin: Caller;

  constructor(api: Api) {
    this.api = api;
    this.admin = api.admin;
  }

  async post(path: string, type: string, attributes: object, relationships?: object): Promise<Json> {
    return data(await this.admin.post(path, resource(type, attributes, relationships)));
  }

  async person(username: string): Promise<{ id: string; token: string }> {
    const user = await this.post("/admin/users", "users", { username, email: `${username}@acme.example` });
    const token = data(await this.admin.post(`/users/${user.id}/authentication-tokens`));
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

const tags: Record<string, [key: string, value: string][]> = {
  Network: [["owner", "network-ops"]],
  Billing: [
    ["owner", "billing"],
    ["data", "personal"],
  ],
  Platform: [["owner", "platform"]],
};

export async function setScene(api: Api): Promise<Scene> {
  try {
    return await fill(api);
  } finally {
    ago(0);
  }
}

/** In chronological order. */
async function fill(api: Api): Promise<Scene> {
  const stage = new Stage(api);
  ago(400 * day);
  const organization = await stage.post("/organizations", "organizations", { name: "acme", email: "ops@acme.example" });
  const people = new Map<string, string>();
  for (const name of ["ana", "bo", "mia", "jo", "kim", "lee", "noa", "sam"])
    people.set(name, (await stage.person(name)).token);
  const as = (name: string): Caller => api.as(people.get(name));
  const { projectIds, workspaceIds } = await fillProjects(stage);
  const teamIds = await fillTeams(stage, projectIds);
  await fillSets(stage, projectIds);
  const state = await fillStates(api, workspaceIds);
  await fillTokens(stage, teamIds, as("kim"));
  const run = await fillRuns(api, organization.attributes["external-id"], workspaceIds, as);
  ago(2 * hour);
  data(await as("bo").post(`/workspaces/${workspaceIds["dns-public"]}/actions/lock`, { reason: "incident 42" }));
  return { owner: people.get("kim")!, teams: teamIds, projects: projectIds, workspaces: workspaceIds, run, state };
}

async function fillProjects(stage: Stage) {
  const projectIds: Record<string, string> = {};
  const workspaceIds: Record<string, string> = {};
  let age = 390;
  for (const [name, { about, workspaces }] of Object.entries(projects)) {
    ago((age -= 7) * day);
    const project = await stage.post("/organizations/acme/projects", "projects", { name, description: about });
    projectIds[name] = project.id;
    for (const [key, value] of tags[name] ?? [])
      await stage.admin.patch(`/projects/${project.id}/tag-bindings`, {
        data: [{ type: "tag-bindings", attributes: { key, value } }],
      });
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
  return { projectIds, workspaceIds };
}

async function fillTeams(stage: Stage, projectIds: Record<string, string>): Promise<Record<string, string>> {
  const ids: Record<string, string> = {};
  const owners = data(await stage.admin.get("/organizations/acme/teams?q=owners"))[0].id;
  const of: Record<string, string[]> = { kim: [owners] };
  let age = 300;
  for (const [name, { people, grants }] of Object.entries(teams)) {
    ago((age -= 41) * day);
    const team = await stage.post("/organizations/acme/teams", "teams", { name, visibility: "organization" });
    ids[name] = team.id;
    for (const person of people) (of[person] ??= []).push(team.id);
    for (const [project, access, until] of grants) await stage.grant(projectIds[project]!, team.id, access, until);
  }
  for (const [person, some] of Object.entries(of)) await stage.member(person, some);
  return { ...ids, owners };
}

async function fillSets(stage: Stage, projectIds: Record<string, string>): Promise<void> {
  for (const [name, project] of [
    ["aws-billing", "Billing"],
    ["aws-platform", "Platform"],
    ["warehouse credentials", "Data warehouse"],
  ] as const)
    await stage.post(
      "/organizations/acme/varsets",
      "varsets",
      { name, global: false },
      { projects: { data: [{ type: "projects", id: projectIds[project] }] } },
    );
}

/** A resource as providers name them. */
const made = (type: string, name: string, count = 1, attributes: object = {}) => ({
  ...managed(name, count, attributes),
  type: `aws_${type}`,
  provider: 'provider["registry.terraform.io/hashicorp/aws"]',
});

const outputs = (serial: number) => ({
  region: { value: "eu-central-1", type: "string" },
  vpc_id: { value: "vpc-0a41c7d2e9f0b3c58", type: "string" },
  ...(serial > 1 && { peering_id: { value: "pcx-07d1f3a9", type: "string" } }),
});

/** Some have one state, some several. Returns the last version of the workspace in the screenshots. */
async function fillStates(api: Api, workspaceIds: Record<string, string>): Promise<string> {
  let last = "";
  for (const [index, [name, id]] of Object.entries(workspaceIds).toReversed().entries())
    for (const serial of index % 3 === 2 ? [1, 2] : [1]) {
      ago((60 - 3 * index) * day - serial * 7 * hour);
      const resources = [
        made("vpc", "main"),
        made("subnet", "private", 2 + (index % 3), { cidr: `10.${serial}.0.0/20` }),
        made("route_table", "private", 1 + (index % 4)),
        ...(serial > 1 ? [made("vpc_peering_connection", "office")] : [made("vpn_gateway", "office")]),
        made("security_group", "default", 3 + ((index * 7) % 11)),
      ];
      const written = await writeState(api.admin, id, stateOf({ serial, resources, outputs: outputs(serial) }));
      if (name === "network-production") last = written.id;
    }
  return last;
}

async function fillTokens(stage: Stage, teamIds: Record<string, string>, owner: Caller): Promise<void> {
  const inDays = (days: number) => new Date(Date.now() + days * day).toISOString();
  const kinds: [team: string, description: string, age: number, ends: number][] = [
    ["billing-developers", "pipeline of billing-eu", 80, 10],
    ["network-ops", "drift reports", 200, 165],
    ["platform", "cluster bootstrap", 20, 345],
  ];
  for (const [team, description, age, ends] of kinds) {
    ago(age * day);
    const attributes = { description, "expired-at": inDays(ends) };
    await stage.post(`/teams/${teamIds[team]}/authentication-tokens`, "authentication-tokens", attributes);
  }
  await makeTeamToken(stage.api, teamIds["auditors"]!);
  const { id } = data(await owner.get("/account/details"));
  await stage.post(`/users/${id}/authentication-tokens`, "authentication-tokens", {
    description: "terraform login on kim-laptop",
    "expired-at": inDays(70),
  });
  // Last uses are written in batches.
  const used = (hours: number, description: string) =>
    stage.api.database.write((tx) =>
      tx.db
        .updateTable("tokens")
        .set({ lastUsedAt: new Date(Date.now() - hours * hour).toISOString() })
        .where("description", "=", description)
        .execute(),
    );
  await used(0.3, "pipeline of billing-eu");
  await used(26, "cluster bootstrap");
  await used(3, "terraform login on kim-laptop");
  await used(24 * 130, "drift reports");
}

type Counts = readonly [add: number, change: number, destroy: number];

const countsOf = ([resourceAdditions, resourceChanges, resourceDestructions]: Counts) => ({
  resourceAdditions,
  resourceChanges,
  resourceDestructions,
});

const runs: [workspace: string, who: string, message: string, hours: number, counts: Counts, to: string][] = [
  ["network-production", "ana", "Addresses for the new office", 190, [3, 0, 0], "applied"],
  ["cluster-blue", "lee", "Nodes of the next size", 27, [2, 4, 2], "applied"],
  ["network-production", "bo", "Open the new peering", 5, [1, 2, 1], "applied"],
  ["lake-raw", "lee", "Keep what arrives for a year", 4, [0, 0, 0], "errored"],
  ["billing-eu", "mia", "A queue for dunning, and a larger ledger", 0.4, [2, 1, 1], "planned"],
  ["network-staging", "bo", "Try the new peering", 0.01, [0, 0, 0], "planning"],
];

/** Returns the run that needs confirmation. */
async function fillRuns(
  api: Api,
  organizationId: string,
  workspaceIds: Record<string, string>,
  as: (name: string) => Caller,
): Promise<string> {
  let waiting = "";
  for (const [name, who, message, hours, counts, to] of runs) {
    ago(hours * hour);
    const id = workspaceIds[name]!;
    await makeConfiguration(api, id);
    const run = await makeRun(as(who), id, { message });
    await applyTransition(api, run.id, { event: "claim" });
    if (to === "planning") continue;
    if (to === "errored") {
      await applyTransition(api, run.id, { event: "phase-errored" });
      continue;
    }
    const finished = { event: "phase-finished", hasChanges: true, phase: countsOf(counts) } as const;
    await applyTransition(api, run.id, finished);
    const json = JSON.stringify({ format_version: "1.2", resource_changes: plan });
    await storeOutput(api, { id: run.id, organizationId } as never, "plan-json", json);
    if (to === "planned") {
      waiting = run.id;
      continue;
    }
    data(await as(who).post(`/runs/${run.id}/actions/apply`));
    await applyTransition(api, run.id, { event: "claim" });
    await applyTransition(api, run.id, finished);
  }
  return waiting;
}
