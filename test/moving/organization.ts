/** An organization with a resource of every kind that can be moved, and its comparable form, which is the same on two servers. */
import type { Api, Caller, Json } from "../support/api.ts";
import { data, inProject, type Member, type Org, resource } from "../support/builders.ts";
import { advanceRun, applyTransition, makeConfiguration, makeRun } from "../support/runs.ts";
import { fetchState, managed, stateOf, writeState } from "../support/states.ts";

export interface FullOrganization extends Org {
  readonly member: Member;
  readonly workspaces: Readonly<Record<"network" | "shop" | "plain", Json>>;
  /** A run of the workspace `shop` that waits for confirmation. */
  readonly waiting: Json;
}

const bindings = (...pairs: [string, string][]) => ({
  "tag-bindings": { data: pairs.map(([key, value]) => ({ type: "tag-bindings", attributes: { key, value } })) },
});

export async function createFullOrganization(api: Api): Promise<FullOrganization> {
  const organization = await api.makeOrganization({
    "cost-estimation-enabled": true,
    "allow-force-delete-workspaces": true,
    "session-timeout": 30,
  });
  const { name } = organization;
  const inside = (rest: string) => `/organizations/${name}${rest}`;
  const post = async (path: string, body: object) => data(await api.admin.post(path, body));
  await post(inside("/reserved-tag-keys"), resource("reserved-tag-keys", { key: "cost", "disable-overrides": true }));
  const ops = await api.makeTeam(name, { name: "ops", "organization-access": { "read-workspaces": true } });
  const secret = await api.makeTeam(name, { name: "secret", visibility: "secret", "sso-team-id": "sso-1" });
  const member = await api.makeMember(name, [ops.id, secret.id]);
  const key = await post(inside("/ssh-keys"), resource("ssh-keys", { name: "modules", value: "a private key" }));
  const pool = await post(inside("/agent-pools"), resource("agent-pools", { name: "builders" }));
  await api.admin.patch(
    inside(""),
    resource(
      "organizations",
      { "default-execution-mode": "agent" },
      { "default-agent-pool": { data: { type: "agent-pools", id: pool.id } } },
    ),
  );
  const project = data(
    await api.admin.post(
      inside("/projects"),
      resource(
        "projects",
        { name: "Network", description: "Cables", "auto-destroy-activity-duration": "14d" },
        bindings(["cost", "shared"]),
      ),
    ),
  );
  const local = await api.makeProject(name, { name: "Local things", "default-execution-mode": "local" });
  await api.makeTeamProject(project.id, ops.id, {
    access: "custom",
    "project-access": { settings: "update", teams: "read" },
    "workspace-access": { runs: "apply", locking: true, create: true },
  });
  await api.makeTeamProject(organization.defaultProjectId, secret.id, { access: "maintain" });
  await api.admin.patch(
    `/projects/${organization.defaultProjectId}`,
    resource("projects", { description: "Where all begins" }),
  );

  const network = await api.makeWorkspace(
    name,
    {
      name: "network",
      description: "The backbone",
      "auto-apply": true,
      "execution-mode": "agent",
      "agent-pool-id": pool.id,
      "engine-version": "~> 1.5.0",
      "working-directory": "live/network",
      "trigger-prefixes": ["modules/", "shared/"],
      "queue-all-runs": true,
      "speculative-enabled": false,
      "source-name": "a generator",
      "auto-destroy-activity-duration": "3d",
    },
    {
      ...inProject(project.id),
      ...bindings(["env", "prod"], ["tier", "1"]),
      tags: { data: ["core", "eu"].map((tag) => ({ type: "tags", attributes: { name: tag } })) },
    },
  );
  const shop = await api.makeWorkspace(name, { name: "shop", "execution-mode": "remote" }, inProject(project.id));
  const plain = await api.makeWorkspace(name, { name: "plain", "global-remote-state": true }, inProject(local.id));
  await api.admin.patch(`/workspaces/${network.id}/relationships/ssh-key`, resource("workspaces", { id: key.id }));
  await api.admin.patch(
    `/agent-pools/${pool.id}`,
    resource(
      "agent-pools",
      { "organization-scoped": false },
      { "allowed-projects": { data: [{ type: "projects", id: project.id }] } },
    ),
  );
  await api.makeTeamWorkspace(network.id, secret.id, { access: "custom", runs: "plan", variables: "read" });
  await api.makeTeamWorkspace(shop.id, ops.id, { access: "write" });
  for (const [workspaceId, attributes] of [
    [network.id, { key: "region", value: "eu-north-1", category: "terraform", description: "Where" }],
    [network.id, { key: "CLOUD_SECRET", value: "s3cr3t", category: "env", sensitive: true }],
    [shop.id, { key: "sizes", value: '["s", "m"]', category: "terraform", hcl: true }],
  ] as const)
    await post(`/workspaces/${workspaceId}/vars`, resource("vars", attributes));
  await post(`/workspaces/${network.id}/relationships/data-retention-policy`, {
    data: { type: "data-retention-policy-delete-olders", attributes: { "delete-older-than-n-days": 90 } },
  });

  const set = await api.makeVarset(
    name,
    { name: "Cloud", description: "Accounts", priority: true },
    {
      workspaces: { data: [{ type: "workspaces", id: shop.id }] },
      projects: { data: [{ type: "projects", id: local.id }] },
    },
  );
  await post(
    `/varsets/${set.id}/relationships/vars`,
    resource("vars", { key: "account", value: "1", category: "env" }),
  );
  await api.makeVarset(name, { name: "Everywhere", global: true });
  await api.makeVarset(name, { name: "Of a project" }, { parent: { data: { type: "projects", id: project.id } } });
  await api.admin.post(`/workspaces/${network.id}/relationships/remote-state-consumers`, {
    data: [{ type: "workspaces", id: shop.id }],
  });
  await post(
    `/workspaces/${shop.id}/run-triggers`,
    resource("run-triggers", {}, { sourceable: { data: { type: "workspaces", id: network.id } } }),
  );

  for (const serial of [1, 2, 3])
    await writeState(
      api.admin,
      network.id,
      stateOf({
        serial,
        outputs: { cidr: { value: `10.${serial}.0.0/16`, type: "string" } },
        resources: [managed("net", serial)],
      }),
    );
  await writeState(api.admin, shop.id, stateOf({ serial: 7, lineage: "0b6c2a7e-0000-4000-8000-000000000000" }));
  await makeConfiguration(api, shop.id);
  const failed = await makeRun(api.admin, shop.id, { message: "a first try" });
  await advanceRun(api, failed.id, "errored");
  const applied = await makeRun(api.admin, shop.id, { message: "with more luck" });
  await advanceRun(api, applied.id, "planned");
  await applyTransition(api, applied.id, { event: "apply" });
  await applyTransition(api, applied.id, { event: "claim" });
  await applyTransition(api, applied.id, { event: "phase-finished" });
  const waiting = await makeRun(api.admin, shop.id, { message: "not decided" });
  await advanceRun(api, waiting.id, "planned");
  return { ...organization, member, workspaces: { network, shop, plain }, waiting };
}

/** Attributes and relationships that differ between servers: times, permissions, counters. */
const serverSpecific = new Set(
  "locked-at lock-expires-at created-at updated-at version-id external-id permissions status user agent-count created-by confirmed-by configuration-version run-events comments input-state-version current-configuration-version current-run latest-run locked locked-by users-count hosted-state-download-url hosted-json-state-download-url hosted-state-upload-url log-read-url auto-destroy-at latest-change-at hosted-json-state-upload-url actions run entitlement-set source sanitized-state-download-url hosted-sanitized-state-upload-url encrypted-state-download-url structured".split(
    " ",
  ),
);

/** An organization as a value that is the same on another server: with names instead of ids. */
export async function comparable(api: Pick<Api, "url">, caller: Caller, organization: string): Promise<Json> {
  const names = new Map<string, string>();
  const list = async (path: string): Promise<Json[]> => {
    const separator = path.includes("?") ? "&" : "?";
    const things: Json[] = [];
    for (let page = 1, isLast = false; !isLast; page += 1) {
      const answer = await caller.get(`${path}${separator}page[size]=100&page[number]=${page}`);
      things.push(...data(answer));
      isLast = answer.body.links?.next == null;
    }
    return things;
  };
  const named = async (path: string, nameOf: (thing: Json) => string) => {
    const things = await list(path);
    for (const thing of things) names.set(thing.id, `${thing.type} ${nameOf(thing)}`);
    return things.toSorted((one, other) => (nameOf(one) < nameOf(other) ? -1 : 1));
  };
  const byName = (thing: Json) => thing.attributes.name;
  const inside = (rest: string) => `/organizations/${organization}${rest}`;
  const shown: Record<string, Json> = {
    projects: await named(inside("/projects"), byName),
    teams: await named(inside("/teams"), byName),
    memberships: await named(inside("/organization-memberships"), (thing) => thing.attributes.email),
    keys: await named(inside("/ssh-keys"), byName),
    pools: await named(inside("/agent-pools"), byName),
    reserved: await named(inside("/reserved-tag-keys"), (thing) => thing.attributes.key),
    workspaces: await named(inside("/workspaces"), byName),
    varsets: await named(inside("/varsets"), byName),
    organization: data(await caller.get(inside(""))),
  };
  for (const project of shown["projects"])
    shown[`access to ${byName(project)}`] = await named(`/team-projects?filter[project][id]=${project.id}`, (thing) =>
      String(names.get(thing.relationships.team.data.id)),
    );
  for (const set of shown["varsets"])
    shown[`variables of ${byName(set)}`] = await named(
      `/varsets/${set.id}/relationships/vars`,
      (thing) => thing.attributes.key,
    );
  for (const workspace of shown["workspaces"])
    Object.assign(shown, await comparableWorkspace(api, caller, workspace, { list, named, names }));
  return simplified(shown, names);
}

interface NamedLists {
  readonly list: (path: string) => Promise<Json[]>;
  readonly named: (path: string, nameOf: (thing: Json) => string) => Promise<Json[]>;
  readonly names: Map<string, string>;
}

async function comparableWorkspace(
  api: Pick<Api, "url">,
  caller: Caller,
  workspace: Json,
  { list, named, names }: NamedLists,
): Promise<object> {
  const { name } = workspace.attributes;
  const of = (rest: string) => `/workspaces/${workspace.id}${rest}`;
  const states = await list(of("/state-versions"));
  const contents: string[] = [];
  for (const state of states) {
    names.set(state.id, `state ${state.attributes.serial} of ${name}`);
    contents.push((await fetchState(api as Api, caller, `/state-versions/${state.id}/download`)).text);
  }
  for (const output of await list(of("/current-state-version-outputs")).catch((): Json[] => []))
    names.set(output.id, `output ${output.attributes.name} of ${name}`);
  const retention = await caller.get(of("/relationships/data-retention-policy"));
  if (retention.status === 200) names.set(retention.body.data.id, `retention of ${name}`);
  const runs = (await list(of("/runs"))).filter(({ attributes }) => attributes.status !== "planned");
  return {
    [`variables of ${name}`]: await named(of("/vars"), (thing) => thing.attributes.key),
    [`bindings of ${name}`]: await named(of("/tag-bindings"), (thing) => thing.attributes.key),
    [`access to ${name}`]: await named(`/team-workspaces?filter[workspace][id]=${workspace.id}`, (thing) =>
      String(names.get(thing.relationships.team.data.id)),
    ),
    [`consumers of ${name}`]: (await list(of("/relationships/remote-state-consumers")))
      .map(({ attributes }) => attributes.name)
      .toSorted(),
    [`triggers of ${name}`]: (await list(of("/run-triggers?filter[run-trigger][type]=inbound"))).map(
      ({ attributes }) => attributes["sourceable-name"],
    ),
    [`retention of ${name}`]: retention.body,
    [`runs of ${name}`]: runs.map(({ attributes }) => ({
      // Under other names, because `simplified` would leave them out.
      ended: attributes.status,
      made: attributes["created-at"],
      message: attributes.message,
      when: attributes["status-timestamps"],
      changes: attributes["has-changes"],
      operation: attributes.operation,
    })),
    [`states of ${name}`]: states.map((state, index) => ({
      ...state,
      made: state.attributes["created-at"],
      state: state.attributes.status,
      content: contents[index],
    })),
  };
}

/** With names instead of ids, and without what differs between servers. */
function simplified(value: Json, names: ReadonlyMap<string, string>): Json {
  if (typeof value === "string")
    return value.replace(/\b[a-z]+-[1-9A-HJ-NP-Za-km-z]{16}\b/g, (id) => names.get(id) ?? "an id");
  if (Array.isArray(value)) {
    const all = value.map((each) => simplified(each, names));
    // The order of links is arbitrary.
    return all.every((each) => typeof each?.id === "string" && each.attributes === undefined)
      ? all.toSorted((one, other) => (one.id < other.id ? -1 : 1))
      : all;
  }
  if (typeof value !== "object" || value === null) return value;
  const comparableEntries = Object.entries(value).filter(([name]) => !serverSpecific.has(name));
  return Object.fromEntries(comparableEntries.map(([name, each]) => [name, simplified(each, names)]));
}
