/** Shared by the tests of remote-state consumers. */
import type { Answer, Api, Caller, Json } from "../../../support/api.ts";
import { data, makeOrganization, makeWorkspace, type Org } from "../../../support/builders.ts";

export const consumersPath = (workspace: Json) => `/workspaces/${workspace.id}/relationships/remote-state-consumers`;
export const link = (...workspaces: Json[]) => ({
  data: workspaces.map((workspace) => ({ type: "workspaces", id: workspace.id })),
});

/** An organization with a workspace and others that could read its state. */
export async function makeSharing(api: Api, count = 3): Promise<{ org: Org; shared: Json; others: Json[] }> {
  const org = await makeOrganization(api);
  const shared = await makeWorkspace(api, org.name);
  const others: Json[] = [];
  for (let made = 0; made < count; made += 1) {
    others.push(await makeWorkspace(api, org.name, { name: `consumer-${String(made).padStart(3, "0")}` }));
  }
  return { org, shared, others };
}

export async function consumersOf(caller: Caller, workspace: Json): Promise<string[]> {
  return data(await caller.get(`${consumersPath(workspace)}?page[size]=100`)).map((item: Json) => item.id);
}

export const statuses = (answers: readonly Answer[]) => answers.map((answer) => answer.status);

/** Newest first: action, before, after. */
export async function auditEventsOf(org: Org, workspace: Json): Promise<Json[]> {
  const path = `/organizations/${org.name}/audit-events?filter[subject][id]=${workspace.id}`;
  return data(await org.owner.get(path))
    .map(({ attributes }: Json) => [attributes.action, attributes.before, attributes.after])
    .filter(([action]: [string]) => action.includes("consumers"));
}

export const auditedConsumers = (...workspaces: Json[]) => ({
  "remote-state-consumers": workspaces.map((workspace) => workspace.id).toSorted(),
});
