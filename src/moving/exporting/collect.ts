/** Reads an organization for an export, without states and runs. */
import { forEachConcurrently } from "../concurrency.ts";
import { listAll, MissingResource, type OrganizationReader, type WireResource } from "../wire.ts";

export interface CollectedWorkspace {
  readonly workspace: WireResource;
  readonly variables: readonly WireResource[];
  readonly access: readonly WireResource[];
  readonly bindings: readonly WireResource[];
  readonly consumers: readonly WireResource[];
  readonly triggers: readonly WireResource[];
  readonly retention: WireResource | undefined;
}

export interface CollectedOrganization {
  readonly organization: WireResource;
  readonly teams: readonly WireResource[];
  readonly memberships: readonly WireResource[];
  readonly sshKeys: readonly WireResource[];
  readonly agentPools: readonly WireResource[];
  readonly reservedTagKeys: readonly WireResource[];
  readonly accessRules: readonly WireResource[];
  readonly accessOffers: readonly WireResource[];
  readonly projects: readonly {
    readonly project: WireResource;
    readonly access: readonly WireResource[];
    readonly bindings: readonly WireResource[];
  }[];
  readonly varsets: readonly { readonly varset: WireResource; readonly variables: readonly WireResource[] }[];
  readonly workspaces: readonly CollectedWorkspace[];
  readonly retention: WireResource | undefined;
}

const concurrency = 4;
const retentionPath = "/relationships/data-retention-policy";

/** Throws MissingResource. */
export async function collect(origin: OrganizationReader, name: string): Promise<CollectedOrganization> {
  const inside = (rest: string) => `/organizations/${encodeURIComponent(name)}${rest}`;
  const organization = await origin.get(inside(""));
  const projects = await mapConcurrently(await listAll(origin, inside("/projects")), async (project) => ({
    project,
    access: await listAll(origin, `/team-projects?filter[project][id]=${project.id}`),
    bindings: await listAll(origin, `/projects/${project.id}/tag-bindings`),
  }));
  const varsets = await mapConcurrently(await listAll(origin, inside("/varsets")), async (varset) => ({
    varset,
    variables: await listAll(origin, `/varsets/${varset.id}/relationships/vars`),
  }));
  return {
    organization,
    projects,
    varsets,
    teams: await listAll(origin, inside("/teams")),
    memberships: await listAll(origin, inside("/organization-memberships")),
    sshKeys: await listAll(origin, inside("/ssh-keys")),
    agentPools: await listAll(origin, inside("/agent-pools")),
    reservedTagKeys: await listAll(origin, inside("/reserved-tag-keys")),
    accessRules: await listAll(origin, inside("/access-rules")),
    accessOffers: await listAll(origin, inside("/access-offers")),
    workspaces: await mapConcurrently(await listAll(origin, inside("/workspaces")), (workspace) =>
      collectWorkspace(origin, workspace),
    ),
    retention: await find(origin, inside(retentionPath)),
  };
}

async function collectWorkspace(origin: OrganizationReader, workspace: WireResource): Promise<CollectedWorkspace> {
  const of = (rest: string) => `/workspaces/${workspace.id}${rest}`;
  const sharesIndividually =
    workspace.attributes["global-remote-state"] !== true && workspace.attributes["project-remote-state"] !== true;
  const retention = await find(origin, of(retentionPath));
  return {
    workspace,
    variables: await listAll(origin, of("/vars")),
    access: await listAll(origin, `/team-workspaces?filter[workspace][id]=${workspace.id}`),
    bindings: await listAll(origin, of("/tag-bindings")),
    consumers: sharesIndividually ? await listAll(origin, of("/relationships/remote-state-consumers")) : [],
    triggers: await listAll(origin, of("/run-triggers?filter[run-trigger][type]=inbound")),
    // A workspace without a policy shows that of its organization.
    retention:
      retention !== undefined && JSON.stringify(retention.relationships).includes(workspace.id) ? retention : undefined,
  };
}

async function find(origin: OrganizationReader, path: string): Promise<WireResource | undefined> {
  try {
    return await origin.get(path);
  } catch (error) {
    if (error instanceof MissingResource) return undefined;
    throw error;
  }
}

async function mapConcurrently<T>(
  resources: readonly WireResource[],
  work: (resource: WireResource) => Promise<T>,
): Promise<T[]> {
  const results: T[] = [];
  await forEachConcurrently(resources.entries(), concurrency, async ([index, resource]) => {
    results[index] = await work(resource);
  });
  return results;
}
