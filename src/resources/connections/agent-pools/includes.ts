/** What is shown beside agent pools: whom they serve and who uses them, never what the caller couldn't read by itself. */
import type { Tx } from "../../../database/database.ts";
import type { Included } from "../../../jsonapi/define.ts";
import { pageSizeMax } from "../../../jsonapi/query.ts";
import type { OrganizationView } from "../../identity/organizations/definition.ts";
import { projects } from "../../register/projects/definition.ts";
import { readableProjects } from "../../register/projects/reads.ts";
import { workspaces } from "../../register/workspaces/definition.ts";
import { pageOfWorkspaces, readableWorkspaces } from "../../register/workspaces/reads.ts";
import type { Context } from "../../shared/context.ts";
import type { AgentPoolView } from "./definition.ts";
import { usesOneOf } from "./store.ts";

/** The documents of workspaces that use the pools and that the caller may read, as many as a page holds; one statement. */
export async function workspacesUsing(
  tx: Tx,
  context: Context,
  organization: OrganizationView,
  pools: readonly AgentPoolView[],
): Promise<Included[]> {
  const page = { number: 1, size: pageSizeMax };
  const { views } = await pageOfWorkspaces(tx, context, organization, usesOneOf(tx, pools), page);
  return views.map((view) => ({ definition: workspaces, view }));
}

/** Those whom a pool is said to serve, or not to, as many of each kind as a page holds; a statement for each kind. */
export async function servedBy(
  tx: Tx,
  context: Context,
  { organizationId, scopes }: AgentPoolView,
  wanted: ReadonlySet<string>,
): Promise<Included[]> {
  const included: Included[] = [];
  const workspaceIds = [
    ...(wanted.has("allowed_workspaces") ? scopes["allowed-workspaces"] : []),
    ...(wanted.has("excluded_workspaces") ? scopes["excluded-workspaces"] : []),
  ];
  if (workspaceIds.length > 0) {
    const views = await readableWorkspaces(tx, context, [...new Set(workspaceIds)].slice(0, 2 * pageSizeMax));
    included.push(...views.map((view) => ({ definition: workspaces, view })));
  }
  const projectIds = wanted.has("allowed_projects") ? scopes["allowed-projects"].slice(0, pageSizeMax) : [];
  if (projectIds.length > 0) {
    const views = await readableProjects(tx, context.actor, organizationId, projectIds);
    included.push(...views.map((view) => ({ definition: projects, view })));
  }
  return included;
}
