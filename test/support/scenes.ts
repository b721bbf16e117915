/** A request that succeeds for each operation. An operation whose example succeeds unchanged needs no entry. */
import type { Answer, Api, Caller, Json } from "./api.ts";
import { data, inProject, resource, unique } from "./builders.ts";
import { makeRequest, readRequest } from "./access-requests.ts";
import { projectGrant } from "./previews.ts";
import { storeEndedRun, storeFinishedPlan, logUrlOf, storeAssessment, storeOutput, storeRun } from "./phases.ts";
import { advanceRun, cancelLongAgo, applyTransition, makeConfiguration, makeRun, makeRunnable } from "./runs.ts";
import { archive } from "./archives.ts";
import { createConfiguration, configurationUrlOf, mainTf, uploadConfiguration, storeCommit } from "./configurations.ts";
import { type Job, makeAgent, makePool } from "./agent-callers.ts";
import { pendingStateAttributes, base64, lock, md5, post, stateOf, writeState } from "./states.ts";
import { makeNotificationTargets } from "./receiver.ts";
import type { Scene, RequestOverride, RequestOverrides } from "./request-overrides.ts";
import { signInOverrides } from "./sign-in-scenes.ts";
import { exampleFor, pathOf, type Route, withQuery } from "./tenant.ts";

export interface PreparedRequest {
  /** A signed URL ignores the caller. */
  send(caller: Caller, body?: unknown, headers?: Record<string, string>): Promise<Answer>;
  readonly path: string;
  readonly body: unknown;
  /** The callers, if neither an owner nor a site admin is allowed. */
  readonly callers: readonly Caller[];
}

export async function prepareRequest(route: Route, scene: Scene): Promise<PreparedRequest> {
  const { params, query = "", ids, body, url, caller: own } = (await overrides[route.id]?.(scene)) ?? {};
  const { operation } = route;
  const path = withQuery(pathOf(operation, { ...scene.tenant.params, ...params }), query);
  const sent = body ?? exampleFor(operation, scene.tenant, ids);
  const { api } = scene;
  return {
    callers: own === undefined ? [] : [own],
    path: url?.slice(api.url.length) ?? path,
    body: sent,
    send: (caller, changed = sent, headers = {}) =>
      url === undefined
        ? caller.send(operation.method, path, changed, headers)
        : api.nobody.send(operation.method, url.slice(api.url.length), changed),
  };
}

const newWorkspace = async ({ api, tenant }: Scene): Promise<string> => (await api.makeWorkspace(tenant.name)).id;
const workspaceOf = ({ tenant }: Scene) => `/workspaces/${tenant.params["workspace_id"]}`;

/** A new workspace has no dependents. */
const onNewWorkspace = async (scene: Scene): Promise<RequestOverride> => ({
  params: { workspace_id: await newWorkspace(scene) },
});
const onLockedWorkspace = async (scene: Scene, options: object = {}): Promise<RequestOverride> => {
  const id = await newWorkspace(scene);
  data(await scene.tenant.owner.post(`/workspaces/${id}/actions/lock`, options));
  return { params: { workspace_id: id } };
};
const onNewWorkspaceByName = async ({ api, tenant }: Scene): Promise<RequestOverride> => ({
  params: { workspace_name: (await api.makeWorkspace(tenant.name)).attributes.name },
});
const withNewWorkspace = async (scene: Scene): Promise<RequestOverride> => ({
  ids: { workspaces: await newWorkspace(scene) },
});

/** Sends an earlier request, whose effect the operation changes or undoes. */
const after = (method: "post" | "patch", path: (scene: Scene) => string, body?: unknown) => async (scene: Scene) => {
  data(await scene.tenant.owner[method](path(scene), body));
  return {};
};

async function withSshKey(scene: Scene): Promise<RequestOverride> {
  const key = resource("workspaces", { id: scene.tenant.params["ssh_key_id"] });
  data(await scene.tenant.owner.patch(`${workspaceOf(scene)}/relationships/ssh-key`, key));
  return {};
}

async function onProjectVarset({ api, tenant }: Scene): Promise<RequestOverride> {
  const set = await api.makeVarset(tenant.name, {}, { parent: inProject(tenant.projectId).project });
  const variable = resource("vars", { key: unique("key"), category: "terraform" });
  const made = data(await tenant.owner.post(`/varsets/${set.id}/relationships/vars`, variable));
  return { params: { varset_id: set.id, varset_var_id: made.id } };
}

const policy = resource("data-retention-policy-delete-olders", { "delete-older-than-n-days": 30 });
const policyOf = (place: string) => `${place}/relationships/data-retention-policy`;
const withWorkspacePolicy = after("post", (scene) => policyOf(workspaceOf(scene)), policy);
const withOrganizationPolicy = after("post", ({ tenant }) => policyOf(`/organizations/${tenant.name}`), policy);

async function pendingState(scene: Scene, state: string, attributes?: object): Promise<Json> {
  const workspaceId = await newWorkspace(scene);
  await lock(scene.tenant.owner, workspaceId);
  return data(await post(scene.tenant.owner, workspaceId, pendingStateAttributes(state, attributes)));
}

async function onOldState({ tenant }: Scene): Promise<RequestOverride & { path: string }> {
  const { workspace_id: workspaceId = "", state_version_id: before = "" } = tenant.params;
  const current = data(await tenant.owner.get(`/workspaces/${workspaceId}/current-state-version`));
  const serial: number = current.attributes.serial + 1;
  await writeState(tenant.owner, workspaceId, stateOf({ serial }));
  const old = current.id === before ? before : current.id;
  return { params: { state_version_id: old }, path: `/state-versions/${old}/actions` };
}

const onDeletedState = async (scene: Scene): Promise<RequestOverride> => {
  const { path, ...override } = await onOldState(scene);
  data(await scene.tenant.owner.post(`${path}/soft_delete_backing_data`));
  return override;
};

async function onFinishedPlan({ api, tenant }: Scene): Promise<RequestOverride> {
  const run = await storeFinishedPlan(api, await api.makeWorkspace(tenant.name), tenant.id);
  return { params: { run_id: run.id, plan_id: run.plan.id } };
}

async function onEndedRun({ api, tenant }: Scene): Promise<RequestOverride & { plan: string; apply: string }> {
  const { plan, apply } = await storeEndedRun(api, await api.makeWorkspace(tenant.name), tenant.id);
  return { params: { plan_id: plan.id, apply_id: apply.id }, plan: `/plans/${plan.id}`, apply: `/applies/${apply.id}` };
}

const onDeletedData =
  (kind: "plan" | "apply") =>
  async (scene: Scene): Promise<RequestOverride> => {
    const override = await onEndedRun(scene);
    data(await scene.tenant.owner.post(`${override[kind]}/actions/soft-delete-backing-data`));
    return override;
  };

async function onAssessment({ api, tenant }: Scene): Promise<RequestOverride> {
  const workspace = await api.makeWorkspace(tenant.name);
  const run = await storeFinishedPlan(api, workspace, tenant.id);
  const place = { organizationId: tenant.id, workspaceId: workspace.id, runId: run.id };
  return { params: { assessment_result_id: await storeAssessment(api, place) } };
}

const onSecretTeam = async ({ api, tenant }: Scene): Promise<RequestOverride> => ({
  params: { team_id: (await api.makeTeam(tenant.name, { visibility: "secret" })).id },
});

/** A separate workspace, because a run holds its lock. */
async function withRunnable({ api, tenant }: Scene): Promise<RequestOverride> {
  const workspace = await api.makeWorkspace(tenant.name);
  return {
    ids: { workspaces: workspace.id, "configuration-versions": await makeConfiguration(api, workspace.id) },
  };
}

const onRun =
  (attributes: object = {}, prepare: (api: Api, id: string, workspaceId: string) => Promise<string | void>) =>
  async ({ api, tenant }: Scene): Promise<RequestOverride> => {
    const workspace = await makeRunnable(api, tenant.name);
    const { id } = await makeRun(tenant.owner, workspace.id, attributes);
    return { params: { run_id: (await prepare(api, id, workspace.id)) ?? id } };
  };
/** A plan, or with `apply` an apply, that an agent has claimed. */
async function withJob({ api, tenant }: Scene, apply = false): Promise<RequestOverride & { readonly job: Job }> {
  const pool = await makePool(api, tenant);
  const agent = await makeAgent(api, pool);
  const mode = { "execution-mode": "agent", "agent-pool-id": pool.id, "terraform-version": "1.9.5" };
  const run = await makeRun(tenant.owner, (await makeRunnable(api, tenant.name, mode)).id);
  let job = await agent.job();
  if (apply) {
    await job.put("contents/plan", "", "the plan");
    await job.act("finish", { result: "finished", "has-changes": true });
    await applyTransition(api, run.id, { event: "apply" });
    job = await agent.job();
  }
  return { params: { agent_job_id: job.id }, caller: agent, job };
}
const onJob = async (scene: Scene): Promise<RequestOverride> => {
  const { params, caller } = await withJob(scene);
  return { params: params ?? {}, ...(caller && { caller }) };
};

async function onCommit(scene: Scene): Promise<RequestOverride> {
  const workspace = await scene.api.makeWorkspace(scene.tenant.name);
  const { id } = await storeCommit(scene.api, { id: workspace.id, organizationId: scene.tenant.id });
  return { params: { configuration_version_id: id } };
}

async function onOldConfiguration(scene: Scene): Promise<RequestOverride> {
  const workspaceId = await newWorkspace(scene);
  const { id } = await uploadConfiguration(scene.tenant.owner, workspaceId);
  await uploadConfiguration(scene.tenant.owner, workspaceId);
  return { params: { configuration_version_id: id } };
}

const onDeletedConfiguration = async (scene: Scene): Promise<RequestOverride> => {
  const override = await onOldConfiguration(scene);
  const path = `/configuration-versions/${override.params?.["configuration_version_id"]}`;
  data(await scene.tenant.owner.post(`${path}/actions/soft_delete_backing_data`));
  return override;
};

const withNotificationTargets = async ({ tenant }: Scene): Promise<RequestOverride> => ({
  params: await makeNotificationTargets(tenant),
});

async function onNewAccessRequest({ api, tenant }: Scene): Promise<RequestOverride & { id: string }> {
  const { id: teamId } = await api.makeTeam(tenant.name);
  const { id } = await makeRequest(tenant.member, tenant.name, [projectGrant("read", teamId, tenant.projectId)]);
  return { params: { access_request_id: id }, id };
}

const overrides: RequestOverrides = {
  approveAccessRequest: async (scene) => {
    const { id, ...override } = await onNewAccessRequest(scene);
    const { attributes } = await readRequest(scene.tenant.owner, id);
    return { ...override, body: resource("access-requests", { "access-version": attributes["access-version"] }) };
  },
  denyAccessRequest: onNewAccessRequest,
  withdrawAccessRequest: async (scene) => ({ ...(await onNewAccessRequest(scene)), caller: scene.tenant.member }),
  ...signInOverrides,
  verifyNotificationConfiguration: withNotificationTargets,
  verifyAuditWebhook: withNotificationTargets,
  takeAccessOffer: async ({ tenant }) => ({ caller: tenant.member }),
  updateAccount: async () => ({ body: resource("users", { username: unique("ada") }) }),
  createUser: async () => ({ body: resource("users", { username: unique("grace"), email: `${unique("g")}@b.c` }) }),
  createOrganization: async () => ({ body: resource("organizations", { name: unique("acme"), email: "a@b.c" }) }),
  showUser: async ({ api }) => ({ params: { user_id: (await api.makeUser()).id } }),
  showTeam: onSecretTeam,
  listTeamMemberships: onSecretTeam,
  addTeamUsers: async ({ api, tenant }) => ({
    body: { data: [{ type: "users", id: (await api.makeMember(tenant.name)).username }] },
  }),
  addTeamMemberships: async ({ api, tenant }) => ({
    ids: { "organization-memberships": (await api.makeMember(tenant.name)).membershipId },
  }),
  deleteProject: async ({ api, tenant }) => ({ params: { project_id: (await api.makeProject(tenant.name)).id } }),
  updateProject: after(
    "patch",
    ({ tenant }) => `/projects/${tenant.projectId}`,
    resource("projects", { description: "One" }),
  ),
  removeOauthClientProjects: async ({ api, tenant }) => {
    const { id } = await api.makeProject(tenant.name);
    const path = `/oauth-clients/${tenant.params["oauth_client_id"]}/relationships/projects`;
    data(await tenant.owner.post(path, { data: [{ type: "projects", id }] }));
    return { ids: { projects: id } };
  },
  moveWorkspaces: withNewWorkspace,
  safeDeleteWorkspace: onNewWorkspace,
  safeDeleteWorkspaceByName: onNewWorkspaceByName,
  deleteWorkspace: onNewWorkspace,
  deleteWorkspaceByName: onNewWorkspaceByName,
  listAuditTrails: async ({ tenant }) => ({ caller: tenant.callers["organization token"] }),
  lockWorkspace: onNewWorkspace,
  unlockWorkspace: (scene) => onLockedWorkspace(scene),
  renewWorkspaceLock: (scene) => onLockedWorkspace(scene, { "lease-seconds": 60 }),
  forceUnlockWorkspace: async (scene) => {
    const override = await onNewWorkspace(scene);
    await lock(scene.api.admin, override.params?.["workspace_id"] ?? "");
    return override;
  },
  assignSshKey: withSshKey,
  deleteSshKey: withSshKey,
  createTeamProject: async ({ api, tenant }) => ({ ids: { teams: (await api.makeTeam(tenant.name)).id } }),
  createTeamWorkspace: async ({ api, tenant }) => ({ ids: { teams: (await api.makeTeam(tenant.name)).id } }),
  listTeamProjects: async ({ tenant }) => ({ query: `?filter[project][id]=${tenant.projectId}` }),
  listTeamWorkspaces: async ({ tenant }) => ({ query: `?filter[workspace][id]=${tenant.params["workspace_id"]}` }),
  listStateVersions: async ({ tenant }) => ({ query: `?filter[workspace][name]=${tenant.params["workspace_name"]}` }),
  downloadJsonState: async ({ api, tenant }) => {
    const { id } = await api.makeWorkspace(tenant.name);
    const version = await writeState(tenant.owner, id, stateOf(), { "json-state": base64('{"format_version":"1.0"}') });
    return { params: { state_version_id: version.id } };
  },
  createStateVersion: (scene) => onLockedWorkspace(scene),
  rollBackState: async (scene) => {
    const override = await onNewWorkspace(scene);
    const id = override.params?.["workspace_id"] ?? "";
    const version = await writeState(scene.tenant.owner, id, stateOf());
    await lock(scene.tenant.owner, id);
    return { ...override, ids: { "state-versions": version.id } };
  },
  uploadState: async (scene) => {
    const version = await pendingState(scene, stateOf());
    return { url: version.attributes["hosted-state-upload-url"], body: stateOf() };
  },
  uploadJsonState: async (scene) => {
    const form = JSON.stringify({ format_version: "1.0" });
    const version = await pendingState(scene, stateOf(), { "json-state-md5": md5(form) });
    return { url: version.attributes["hosted-json-state-upload-url"], body: form };
  },
  createRunTrigger: withNewWorkspace,
  showPlanJson: onFinishedPlan,
  showRunPlanJson: onFinishedPlan,
  showRedactedPlanJson: onFinishedPlan,
  showPlanSchemas: onFinishedPlan,
  showRunPlanSchemas: onFinishedPlan,
  softDeletePlanBackingData: onEndedRun,
  restorePlanBackingData: onDeletedData("plan"),
  permanentlyDeletePlanBackingData: onDeletedData("plan"),
  softDeleteApplyBackingData: onEndedRun,
  restoreApplyBackingData: onDeletedData("apply"),
  permanentlyDeleteApplyBackingData: onDeletedData("apply"),
  showAssessmentJson: onAssessment,
  showAssessmentSchemas: onAssessment,
  showAssessmentLog: onAssessment,
  showErroredState: async ({ api, tenant }) => {
    const run = await storeRun(api, await api.makeWorkspace(tenant.name), tenant.id);
    await storeOutput(api, run, "errored-state", "{}");
    return { params: { apply_id: run.apply.id } };
  },
  readLog: async ({ api, tenant }) => {
    const run = await storeRun(api, await api.makeWorkspace(tenant.name), tenant.id);
    return { url: await logUrlOf(api, run.plan.id) };
  },
  uploadConfiguration: async (scene) => {
    const version = data(await createConfiguration(scene.tenant.owner, await newWorkspace(scene)));
    return { url: configurationUrlOf(version), body: archive([mainTf]) };
  },
  archiveConfigurationVersion: onOldConfiguration,
  softDeleteConfigurationBackingData: onOldConfiguration,
  restoreConfigurationBackingData: onDeletedConfiguration,
  permanentlyDeleteConfigurationBackingData: onDeletedConfiguration,
  showIngressAttributes: onCommit,
  softDeleteBackingData: onOldState,
  restoreBackingData: onDeletedState,
  permanentlyDeleteBackingData: onDeletedState,
  addRemoteStateConsumers: withNewWorkspace,
  replaceRemoteStateConsumers: withNewWorkspace,
  removeRemoteStateConsumers: async (scene) => {
    const id = await newWorkspace(scene);
    const link = { data: [{ type: "workspaces", id }] };
    data(await scene.tenant.owner.post(`${workspaceOf(scene)}/relationships/remote-state-consumers`, link));
    return { ids: { workspaces: id } };
  },
  showWorkspaceDataRetentionPolicy: withWorkspacePolicy,
  deleteWorkspaceDataRetentionPolicy: withWorkspacePolicy,
  showOrganizationDataRetentionPolicy: withOrganizationPolicy,
  deleteOrganizationDataRetentionPolicy: withOrganizationPolicy,
  showVarset: onProjectVarset,
  listVarsetVars: onProjectVarset,
  showVarsetVar: onProjectVarset,
  addVarsetWorkspaces: withNewWorkspace,
  addVarsetProjects: async ({ api, tenant }) => ({ ids: { projects: (await api.makeProject(tenant.name)).id } }),
  removeVarsetProjects: async ({ tenant }) => ({ ids: { projects: tenant.projectId } }),
  removeWorkspaceTags: after("post", (scene) => `${workspaceOf(scene)}/relationships/tags`, {
    data: [{ type: "tags", attributes: { name: "production" } }],
  }),
  addTagToWorkspaces: withNewWorkspace,
  updateReservedTagKey: after(
    "patch",
    ({ tenant }) => `/reserved-tag-keys/${tenant.params["reserved_tag_key_id"]}`,
    resource("reserved-tag-keys", { "disable-overrides": true }),
  ),
  updateOauthToken: after(
    "patch",
    ({ tenant }) => `/oauth-tokens/${tenant.params["oauth_token_id"]}`,
    resource("oauth-tokens", { "ssh-key": "-----BEGIN PRIVATE KEY-----\nnone\n-----END PRIVATE KEY-----" }),
  ),
  createRun: withRunnable,
  applyRun: onRun({}, (api, id) => advanceRun(api, id, "planned")),
  discardRun: onRun({}, (api, id) => advanceRun(api, id, "planned")),
  cancelRun: onRun({}, async () => {}),
  forceCancelRun: onRun({}, async (api, id) => {
    await advanceRun(api, id, "planning");
    await cancelLongAgo(api, id);
  }),
  forceExecuteRun: onRun({}, async (api, id, workspaceId) => {
    await advanceRun(api, id, "planned");
    return (await makeRun(api.admin, workspaceId)).id;
  }),
  forceCancelAdminRun: onRun({}, (api, id) => advanceRun(api, id, "planning")),
  registerAgent: async ({ api, tenant }) => ({ caller: (await makePool(api, tenant)).agent }),
  pingAgent: async ({ api, tenant }) => {
    const agent = await makeAgent(api, await makePool(api, tenant));
    return { params: { agent_id: agent.id }, caller: agent };
  },
  deleteAgent: async ({ api, tenant }) => {
    const agent = await makeAgent(api, await makePool(api, tenant));
    await agent.post(`/agents/${agent.id}/actions/ping`, { status: "exited" });
    return { params: { agent_id: agent.id } };
  },
  claimJob: async ({ api, tenant }) => {
    const pool = await makePool(api, tenant);
    const agent = await makeAgent(api, pool);
    const mode = { "execution-mode": "agent", "agent-pool-id": pool.id, "terraform-version": "1.5.7" };
    await makeRun(tenant.owner, (await makeRunnable(api, tenant.name, mode)).id);
    return { params: { agent_id: agent.id }, caller: agent };
  },
  heartbeatJob: onJob,
  startJob: onJob,
  finishJob: onJob,
  logJob: async (scene) => ({ ...(await onJob(scene)), query: "?attempt=1&offset=0", body: "a line" }),
  putJobContent: async (scene) => ({ ...(await onJob(scene)), query: "?attempt=1", body: "a plan" }),
  getJobContent: async (scene) => {
    const { params, caller } = await withJob(scene, true);
    return { params: { ...params, content_kind: "plan" }, ...(caller && { caller }), query: "?attempt=1" };
  },
  updateTerraformVersion: async ({ api, tenant }) => {
    const path = `/admin/terraform-versions/${tenant.params["terraform_version_id"]}`;
    data(await api.admin.patch(path, resource("terraform-versions", { enabled: true })));
    return {};
  },
};
