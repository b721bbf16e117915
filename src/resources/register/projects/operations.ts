/** Operations on projects: load → authorize → decide → write. */
import { effectiveAccess } from "../../../access/effective.ts";
import { withProofOf } from "../../../access/granted.ts";
import { permissionBit, type Mask } from "../../../access/permission-set.ts";
import type { Tx } from "../../../database/database.ts";
import type { ProjectTable } from "../../../database/schema/projects.ts";
import type { IncludedResource } from "../../../jsonapi/define.ts";
import { type Fault, refuseIfAny } from "../../../kernel/errors.ts";
import { newId } from "../../../kernel/ids.ts";
import { now } from "../../../kernel/time.ts";
import { grantOrganization, loadOrganization } from "../../identity/organizations/reads.ts";
import { adjustProjectCount } from "../../identity/organizations/writes.ts";
import { type ExtraAuditAttributes, recordChange } from "../../shared/audit-events/writes.ts";
import { updateOf } from "../../shared/changes.ts";
import { type Context, implement } from "../../shared/context.ts";
import { projectAccessForAudit } from "../../shared/grants/expiry.ts";
import { replaceBindings } from "../tag-bindings/writes.ts";
import { effectiveOnProjects } from "../tag-bindings/reads.ts";
import { effectiveTagBindings } from "../tag-bindings/definition.ts";
import { projects, type ProjectView } from "./definition.ts";
import { defaultPoolFaults, defaultPoolOf } from "./execution.ts";
import { listProjectRows } from "./list.ts";
import { grantProject, loadProject } from "./reads.ts";
import {
  changedProject,
  defaultsOf,
  deletionObstacle,
  nameTakenFault,
  newProject,
  poolScopeFault,
  unknownPoolFault,
} from "./rules.ts";
import { deleteProjectRow, hasAgentPool, insertProject, isProjectNameTaken, updateProjectRow } from "./store.ts";

export const projectResource = implement(projects, {
  async createProject({ context, params, body }) {
    return context.database.write(async (tx) => {
      // Locked from the start, because creating a project changes the organization's counter.
      const organization = grantOrganization(
        await loadOrganization(tx, context, params.organizationName, true),
        "can-create-project",
      );
      const identity = { id: newId("projects"), organizationId: organization.id, createdAt: now() };
      const row = newProject(body.attributes, identity);
      refuseIfAny(await faultsOf(tx, context, row));
      await insertProject(tx, organization, row);
      const bindings = await replaceBindings(
        tx,
        { project: withProofOf(organization, row) },
        body.relationships.tagBindings,
      );
      await adjustProjectCount(tx, organization, organization.id, 1);
      const view = {
        ...row,
        ...defaultsOf(organization),
        access: effectiveAccess(organization.standing.everywhere),
      };
      await recordProjectChange(tx, context, { after: view }, bindings);
      return { view };
    });
  },

  async listProjects({ context, params, query }) {
    const tx = context.database.reader;
    const organization = await loadOrganization(tx, context, params.organizationName);
    const bits: Mask[] = [];
    if (query.filterPermissionsCreateWorkspace) bits.push(permissionBit("create", true));
    if (query.filterPermissionsUpdate) bits.push(permissionBit("settings", "update"));
    const { views, totals } = await listProjectRows(tx, context.actor, organization, {
      page: query.page,
      sort: query.sort,
      part: query.q || undefined,
      names: query.filterNames,
      tagged: query.filterTagged,
      bits,
    });
    const shown = await withBindings(tx, views, query.include);
    return { ...shown, totalCount: totals.matching, statusCounts: totals };
  },

  async showProject({ context, params, query }) {
    const tx = context.database.reader;
    const { views, included } = await withBindings(
      tx,
      [await loadProject(tx, context, params.projectId)],
      query.include,
    );
    return { view: views[0] as ProjectView, included };
  },

  async updateProject({ context, params, body }) {
    return context.database.write(async (tx) => {
      const project = grantProject(await loadProject(tx, context, params.projectId, true), "can-update");
      context.ifMatch.check(project);
      const { changes, changed } = updateOf(project, changedProject(body.attributes, project));
      refuseIfAny(await faultsOf(tx, context, changed, project));
      const rebound = await replaceBindings(tx, { project }, body.relationships.tagBindings);
      if (changes === undefined && rebound === undefined) return { view: project };
      await updateProjectRow(tx, project, changes ?? {});
      await recordProjectChange(tx, context, { before: project, after: changed }, rebound);
      return { view: changed };
    });
  },

  async deleteProject({ context, params }) {
    return context.database.write(async (tx) => {
      const project = grantProject(await loadProject(tx, context, params.projectId, "alone"), "can-destroy");
      context.ifMatch.check(project);
      const obstacle = deletionObstacle(project);
      if (obstacle !== undefined) throw obstacle;
      const ended = await projectAccessForAudit(tx, project.id);
      await context.hooks.scopes.removeScopeTarget(tx, project);
      await deleteProjectRow(tx, project);
      await adjustProjectCount(tx, project, project.organizationId, -1);
      await recordProjectChange(tx, context, { before: project }, { before: ended });
    });
  },
});

async function faultsOf(tx: Tx, context: Context, after: ProjectTable, before?: ProjectTable): Promise<Fault[]> {
  const { organizationId, id: projectId, nameKey } = after;
  const taken = nameKey !== before?.nameKey && (await isProjectNameTaken(tx, organizationId, after.name));
  const pool = after.defaultAgentPoolId === before?.defaultAgentPoolId ? null : after.defaultAgentPoolId;
  const unknown = pool !== null && !(await hasAgentPool(tx, organizationId, pool));
  const serves = await context.hooks.scopes.agentPoolServes(tx, { organizationId, projectId }, pool);
  return [
    ...(taken ? [nameTakenFault()] : []),
    ...defaultPoolFaults(after),
    ...(unknown ? [unknownPoolFault()] : []),
    ...(serves ? [] : [poolScopeFault()]),
  ];
}

async function withBindings(
  tx: Tx,
  views: readonly ProjectView[],
  include: ReadonlySet<string>,
): Promise<{ views: ProjectView[]; included?: IncludedResource[] }> {
  if (!include.has("effective_tag_bindings")) return { views: [...views] };
  const bindings = await effectiveOnProjects(
    tx,
    views.map((view) => view.id),
  );
  return {
    views: views.map((view) => ({
      ...view,
      effectiveTagBindingIds: bindings.filter((binding) => binding.ownerId === view.id).map((binding) => binding.id),
    })),
    included: bindings.map((view) => ({ definition: effectiveTagBindings, view })),
  };
}

async function recordProjectChange(
  tx: Tx,
  context: Pick<Context, "actor" | "requestId">,
  change: { readonly before?: ProjectView; readonly after?: ProjectView },
  extra: ExtraAuditAttributes = {},
): Promise<void> {
  const poolOf = (project: ProjectView) => ({ "default-agent-pool": defaultPoolOf(project) });
  const { before, after } = change;
  await recordChange(tx, context, projects, change, {
    before: before && { ...poolOf(before), ...extra.before },
    after: after && { ...poolOf(after), ...extra.after },
  });
}
