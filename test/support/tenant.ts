/** A tenant with one of each resource, and the request of each API operation to it. */
import { randomInt } from "node:crypto";
import { ifMatchTarget, type Operation } from "../../src/jsonapi/define.ts";
import { idPrefixes } from "../../src/kernel/ids.ts";
import { snake } from "../../src/kernel/names.ts";
import { resources } from "../../src/resources/index.ts";
import { makeRequest } from "./access-requests.ts";
import type { Api, Caller, Json } from "./api.ts";
import { data, inProject, type Member, type Org, resource, unique } from "./builders.ts";
import { uploadConfiguration } from "./configurations.ts";
import { makeAgent, makePool } from "./agent-callers.ts";
import { projectGrant } from "./previews.ts";
import { acceptingReceiver } from "./receiver.ts";
import { makeRun } from "./runs.ts";
import { storeAssessment } from "./phases.ts";
import { managed, stateOf, writeState } from "./states.ts";

export interface Tenant extends Org {
  readonly member: Member;
  readonly teamId: string;
  readonly projectId: string;
  readonly params: Readonly<Record<string, string>>;
  readonly callers: Readonly<
    Record<"owner" | "member" | "team token" | "owners team token" | "organization token", Caller>
  >;
}

export async function makeTenant(api: Api): Promise<Tenant> {
  const org = await api.makeOrganization();
  const team = await api.makeTeam(org.name);
  const member = await api.makeMember(org.name, [team.id]);
  const project = await api.makeProject(org.name);
  const teamProjectId = await api.grantProject(project.id, team.id, "admin");
  const workspace = await api.makeWorkspace(
    org.name,
    {},
    { ...inProject(project.id), tags: { data: [{ type: "tags", attributes: { name: unique("tag") } }] } },
  );
  const teamWorkspaceId = await api.grantWorkspace(workspace.id, team.id, "read");
  const tag: Json = (await org.owner.get(`/workspaces/${workspace.id}/relationships/tags`)).body.data[0];
  const reservedKey = await api.admin.post(
    `/organizations/${org.name}/reserved-tag-keys`,
    resource("reserved-tag-keys", { key: unique("key") }),
  );
  const rule = await org.owner.post(
    `/organizations/${org.name}/access-rules`,
    resource("access-rules", {
      name: unique("rule"),
      policy: "forbid (principal, action, resource);",
      enforcement: "forbid",
      enabled: false,
    }),
  );
  const variable = await org.owner.post(
    `/workspaces/${workspace.id}/vars`,
    resource("vars", { key: unique("key"), category: "terraform" }),
  );
  const varset = await makeVarsetFor(api, org, workspace);
  const state = await makeState(org.owner, workspace.id);
  const source = await api.makeWorkspace(org.name, {}, inProject(project.id));
  const trigger = await org.owner.post(
    `/workspaces/${workspace.id}/run-triggers`,
    resource("run-triggers", {}, { sourceable: { data: { type: "workspaces", id: source.id } } }),
  );
  const callers = {
    owner: org.owner,
    member,
    "team token": await api.makeTeamToken(team.id),
    "owners team token": await api.makeTeamToken(org.ownersTeamId),
    "organization token": await api.makeOrganizationToken(org.name),
  };
  const token: Json = (await org.owner.get(`/teams/${team.id}/authentication-token`)).body.data;
  return {
    ...org,
    member,
    teamId: team.id,
    projectId: project.id,
    callers,
    params: {
      organization_name: org.name,
      project_id: project.id,
      team_id: team.id,
      user_id: member.id,
      membership_id: member.membershipId,
      token_id: token.id,
      identity_trust_id: await makeTrust(org, team.id),
      access_request_id: await makeAccessRequest(api, org.name, project.id, member),
      access_offer_id: await makeOffer(api, org, team.id),
      sso_provider_id: await makeProvider(api, org),
      session_id: data(await api.nobody.post("/sessions", resource("sessions", { token: org.owner.token }))).id,
      invitation_secret: unique("none"),
      workspace_id: workspace.id,
      workspace_name: workspace.attributes.name,
      var_id: data(variable).id,
      ...varset,
      state_version_id: state.id,
      output_id: state.relationships.outputs.data[0].id,
      tag_id: tag.id,
      team_project_id: teamProjectId,
      team_workspace_id: teamWorkspaceId,
      ...(await makeConnections(api, org)),
      reserved_tag_key_id: data(reservedKey).id,
      access_rule_id: data(rule).id,
      run_trigger_id: data(trigger).id,
      notification_configuration_id: await makeNotification(org, workspace.id),
      audit_webhook_id: await makeWebhook(org),
      log_key: `${unique("plan-none")}.0.unsigned`,
      ...(await makeRuns(api, org, workspace.id)),
    },
  };
}

async function makeTrust({ name, owner }: Org, teamId: string): Promise<string> {
  const attributes = {
    name: unique("trust"),
    issuer: "https://ci.example",
    audience: "cadastre",
    claims: { repository: "acme/*" },
  };
  const team = { data: { type: "teams", id: teamId } };
  const path = `/organizations/${name}/identity-trusts`;
  return data(await owner.post(path, resource("identity-trusts", attributes, { team }))).id;
}

async function makeAccessRequest(api: Api, name: string, projectId: string, member: Caller): Promise<string> {
  const { id: teamId } = await api.makeTeam(name);
  return (await makeRequest(member, name, [projectGrant("read", teamId, projectId)])).id;
}

async function makeOffer(api: Api, { name, owner }: Org, teamId: string): Promise<string> {
  const { id: offeredId } = await api.makeTeam(name);
  const seat = { data: [{ type: "users", id: "$user" }] };
  const changes = [{ method: "POST", path: `/api/v2/teams/${offeredId}/relationships/users`, body: seat }];
  const attributes = { name: unique("offer"), changes, "duration-seconds-max": 3600 };
  const eligible = { "eligible-teams": { data: [{ type: "teams", id: teamId }] } };
  const path = `/organizations/${name}/access-offers`;
  return data(await owner.post(path, resource("access-offers", attributes, eligible))).id;
}

async function makeProvider(api: Api, { name }: Org): Promise<string> {
  const attributes = {
    name: unique("sso"),
    issuer: "https://sso.example",
    "client-id": "cadastre",
    "client-secret": "a secret",
    "create-users": true,
    organization: name,
  };
  const body = resource("sso-providers", attributes);
  return data(await api.admin.post("/admin/sso-providers", body)).id;
}

async function makeWebhook({ name, owner }: Org): Promise<string> {
  const attributes = { name: unique("hook"), url: "https://siem.example/x", events: ["access.changed"] };
  return data(await owner.post(`/organizations/${name}/audit-webhooks`, resource("audit-webhooks", attributes))).id;
}

/** By email, which needs no receiver, so that the events of runs cause notifications. */
async function makeNotification({ owner }: Org, workspaceId: string): Promise<string> {
  const triggers = [
    "run:created",
    "run:planning",
    "run:needs_attention",
    "run:applying",
    "run:completed",
    "run:errored",
  ];
  const attributes = { name: unique("notification"), "destination-type": "email", enabled: true, triggers };
  const body = resource("notification-configurations", { ...attributes, "email-addresses": ["ops@example.com"] });
  return data(await owner.post(`/workspaces/${workspaceId}/notification-configurations`, body)).id;
}

/** The first by name, so that it is on the first of many pages. */
async function makeVarsetFor(api: Api, { name, owner }: Org, workspace: Json): Promise<Record<string, string>> {
  const workspaces = { data: [{ type: "workspaces", id: workspace.id }] };
  const projects = { data: [workspace.relationships.project.data] };
  const set = await api.makeVarset(name, { name: unique("a-set") }, { workspaces, projects });
  const variable = resource("vars", { key: unique("key"), category: "terraform" });
  const made = data(await owner.post(`/varsets/${set.id}/relationships/vars`, variable));
  return { varset_id: set.id, varset_var_id: made.id };
}

async function makeState(owner: Caller, workspaceId: string): Promise<Json> {
  const state = stateOf({ outputs: { name: { value: "a value", type: "string" } }, resources: [managed("one")] });
  return writeState(owner, workspaceId, state);
}

/** A plan-only run, which takes no lock, so that the workspace is free for other requests. */
async function makeRuns(
  api: Api,
  { owner, id: organizationId }: Org,
  workspaceId: string,
): Promise<Record<string, string>> {
  const { id: configurationVersionId } = await uploadConfiguration(owner, workspaceId);
  const run = await makeRun(owner, workspaceId, { "plan-only": true });
  const comment = data(await owner.post(`/runs/${run.id}/comments`, resource("comments", { body: "A word." })));
  return {
    configuration_version_id: configurationVersionId,
    run_id: run.id,
    plan_id: run.relationships.plan.data.id,
    agent_job_id: run.relationships.plan.data.id,
    content_kind: "lock-file",
    apply_id: run.relationships.apply.data.id,
    comment_id: comment.id,
    assessment_result_id: await storeAssessment(api, { organizationId, workspaceId, runId: run.id }),
    run_event_id: comment.relationships["run-event"].data.id,
  };
}

/** The version is disabled, so that it is no workspace's default. */
async function makeConnections(api: Api, { name, owner }: Org): Promise<Record<string, string>> {
  const make = async (type: string, attributes: object): Promise<Json> =>
    data(await owner.post(`/organizations/${name}/${type}`, resource(type, attributes)));
  const client = await make("oauth-clients", {
    "service-provider": "github",
    "api-url": await acceptingReceiver(),
    "http-url": "https://github.com",
    "oauth-token-string": "a token of the provider",
  });
  const version = `0.${randomInt(1e9)}.${randomInt(1e9)}`;
  const added = await api.admin.post(
    "/admin/terraform-versions",
    resource("terraform-versions", { version, enabled: false }),
  );
  const pool = await makePool(api, { name, owner });
  const sitePool = await api.admin.post("/admin/agent-pools", resource("agent-pools", { name: unique("pool") }));
  return {
    site_agent_pool_id: data(sitePool).id,
    agent_id: (await makeAgent(api, pool)).id,
    ssh_key_id: (await make("ssh-keys", { name: unique("key"), value: "a private key" })).id,
    agent_pool_id: pool.id,
    oauth_client_id: client.id,
    oauth_token_id: client.relationships["oauth-tokens"].data[0].id,
    terraform_version_id: data(added).id,
  };
}

/** The same tenant while its workspace is unlocked and in its project; otherwise a new one. */
export async function reuseTenant(api: Api, tenant: Tenant | undefined): Promise<Tenant> {
  if (tenant === undefined) return makeTenant(api);
  const { organization_name: organization, workspace_name: workspace, project_id: project } = tenant.params;
  const shown = await api.admin.get(`/organizations/${organization}/workspaces/${workspace}`);
  const isUnchanged = shown.status === 200 && shown.body.data.relationships.project.data.id === project;
  return isUnchanged && !shown.body.data.attributes.locked ? tenant : makeTenant(api);
}

export interface Route {
  readonly id: string;
  readonly type: string;
  readonly operation: Operation;
  readonly takesIfMatch: boolean;
}

export const routes: readonly Route[] = resources.flatMap(({ definition }) =>
  Object.entries(definition.operations).map(([id, operation]) => ({
    id,
    type: definition.type,
    operation,
    takesIfMatch: ifMatchTarget(definition, operation) !== undefined,
  })),
);

/** Query parameters that an operation requires: a value, or `:` and the name of a path parameter. */
const required: Readonly<Record<string, string>> = {
  "filter[run-trigger][type]": "inbound",
  "filter[organization][name]": ":organization_name",
  repository: "acme/network",
};

export const withQuery = (path: string, query: string): string =>
  query === "" ? path : `${path}${path.includes("?") ? "&" : "?"}${query.slice(1)}`;

export function pathOf(operation: Operation, params: Readonly<Record<string, string>>): string {
  const names = Object.keys(operation.query?.parameters ?? {}).filter((name) => name in required);
  const valueOf = (value = "") => (value.startsWith(":") ? params[value.slice(1)] : value);
  return names.reduce(
    (path, name) => withQuery(path, `?${name}=${valueOf(required[name])}`),
    filled(operation, params),
  );
}

function filled(operation: Operation, params: Readonly<Record<string, string>>): string {
  return operation.path.replaceAll(/:([a-z_]+)/g, (_, name: string) => {
    const value = params[name];
    if (value === undefined) throw new Error(`test/support/tenant.ts has no value for ${name}; add one to the tenant`);
    return value;
  });
}

/** The ids in examples. */
const named = /\b([a-z]+)-1234567890abcdef\b/g;
const types = new Map(Object.entries(idPrefixes).map(([type, prefix]) => [prefix as string, type]));

export function exampleFor(operation: Operation, tenant: Tenant, ids: Readonly<Record<string, string>> = {}): unknown {
  if (operation.example === undefined) return undefined;
  const own: Readonly<Record<string, string | undefined>> = {
    "organization-memberships": tenant.member.membershipId,
    projects: tenant.defaultProjectId,
    teams: tenant.teamId,
    ...ids,
  };
  const text = JSON.stringify(operation.example)
    .replaceAll(named, (whole, prefix: string) => {
      const type = types.get(prefix) ?? "";
      return own[type] ?? tenant.params[`${snake(type).slice(0, -1)}_id`] ?? whole;
    })
    .replaceAll('"ada"', JSON.stringify(tenant.member.username));
  return JSON.parse(text);
}

/** Run transitions also change a phase, the workspace and events; a preview and an access request read everything twice; an offer's changes are tried and rolled back, by its writer and then for the request. */
export const statementsMax = ({ id, type }: Route): number =>
  // A rollback also reads and writes the content; a registration creates a user, a member, a password and a session.
  ["forceExecuteRun", "rollBackState", "registerByInvitation"].includes(id)
    ? 20
    : id === "takeAccessOffer"
      ? 58
      : ((
          {
            runs: 12,
            invitations: 12,
            "agent-jobs": 14,
            "access-previews": 34,
            "access-requests": 40,
            "access-offers": 18,
          } as Record<string, number>
        )[type] ?? 9);

export const writes = (operation: Operation): boolean => operation.method !== "GET";
