/** Reads everything of an organization that an export contains. States and runs are not part of it. */
import { eachAtOnce } from "../at-once.ts";
import { all, Missing, type Origin, type Thing } from "../wire.ts";

export interface CollectedWorkspace {
  readonly workspace: Thing;
  readonly variables: readonly Thing[];
  readonly access: readonly Thing[];
  readonly bindings: readonly Thing[];
  readonly consumers: readonly Thing[];
  readonly triggers: readonly Thing[];
  readonly retention: Thing | undefined;
}

export interface Collected {
  readonly organization: Thing;
  readonly teams: readonly Thing[];
  readonly memberships: readonly Thing[];
  readonly sshKeys: readonly Thing[];
  readonly agentPools: readonly Thing[];
  readonly reservedTagKeys: readonly Thing[];
  readonly projects: readonly {
    readonly project: Thing;
    readonly access: readonly Thing[];
    readonly bindings: readonly Thing[];
  }[];
  readonly varsets: readonly { readonly varset: Thing; readonly variables: readonly Thing[] }[];
  readonly workspaces: readonly CollectedWorkspace[];
  readonly retention: Thing | undefined;
}

const concurrency = 4;
const retentionPath = "/relationships/data-retention-policy";

/** Throws Missing if there is no such organization. */
export async function collect(origin: Origin, name: string): Promise<Collected> {
  const inside = (rest: string) => `/organizations/${encodeURIComponent(name)}${rest}`;
  const organization = await origin.get(inside(""));
  const projects = await each(await all(origin, inside("/projects")), async (project) => ({
    project,
    access: await all(origin, `/team-projects?filter[project][id]=${project.id}`),
    bindings: await all(origin, `/projects/${project.id}/tag-bindings`),
  }));
  const varsets = await each(await all(origin, inside("/varsets")), async (varset) => ({
    varset,
    variables: await all(origin, `/varsets/${varset.id}/relationships/vars`),
  }));
  return {
    organization,
    projects,
    varsets,
    teams: await all(origin, inside("/teams")),
    memberships: await all(origin, inside("/organization-memberships")),
    sshKeys: await all(origin, inside("/ssh-keys")),
    agentPools: await all(origin, inside("/agent-pools")),
    reservedTagKeys: await all(origin, inside("/reserved-tag-keys")),
    workspaces: await each(await all(origin, inside("/workspaces")), (workspace) =>
      collectWorkspace(origin, workspace),
    ),
    retention: await find(origin, inside(retentionPath)),
  };
}

async function collectWorkspace(origin: Origin, workspace: Thing): Promise<CollectedWorkspace> {
  const of = (rest: string) => `/workspaces/${workspace.id}${rest}`;
  const shares =
    workspace.attributes["global-remote-state"] !== true && workspace.attributes["project-remote-state"] !== true;
  const retention = await find(origin, of(retentionPath));
  return {
    workspace,
    variables: await all(origin, of("/vars")),
    access: await all(origin, `/team-workspaces?filter[workspace][id]=${workspace.id}`),
    bindings: await all(origin, of("/tag-bindings")),
    consumers: shares ? await all(origin, of("/relationships/remote-state-consumers")) : [],
    triggers: await all(origin, of("/run-triggers?filter[run-trigger][type]=inbound")),
    // A workspace without a policy shows that of its organization.
    retention:
      retention !== undefined && JSON.stringify(retention.relationships).includes(workspace.id) ? retention : undefined,
  };
}

async function find(origin: Origin, path: string): Promise<Thing | undefined> {
  try {
    return await origin.get(path);
  } catch (error) {
    if (error instanceof Missing) return undefined;
    throw error;
  }
}

/** Keeps the order. */
async function each<T>(things: readonly Thing[], work: (thing: Thing) => Promise<T>): Promise<T[]> {
  const found: T[] = [];
  await eachAtOnce(things.entries(), concurrency, async ([index, thing]) => {
    found[index] = await work(thing);
  });
  return found;
}
