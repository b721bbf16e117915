/** Operations on projects: load → authorize → decide → write. */
import { effectiveAccess } from "../../../access/effective.ts";
import { withProofOf } from "../../../access/granted.ts";
import { permissionBit, type Mask } from "../../../access/permission-set.ts";
import type { Tx } from "../../../database/database.ts";
import type { ProjectTable } from "../../../database/schema/projects.ts";
import type { IncludedResource } from "../../../jsonapi/define.ts";
import { type Fault, throwIfInvalid } from "../../../kernel/errors.ts";
import { newId } from "../../../kernel/ids.ts";
import { now } from "../../../kernel/time.ts";
import { authorizeOrganization, loadOrganization } from "../../identity/organizations/reads.ts";
import { adjustProjectCount } from "../../identity/organizations/writes.ts";
import { type ExtraAuditAttributes, recordChange } from "../../shared/audit-events/writes.ts";
import { updateOf } from "../../shared/changes.ts";
import { type Context, implement } from "../../shared/context.ts";
import { projectAccessForAudit } from "../../shared/grants/expiry.ts";
import { changesWithin } from "../../shared/includes.ts";
import { replaceBindings } from "../tag-bindings/writes.ts";
import { effectiveOnProjects } from "../tag-bindings/reads.ts";
import { effectiveTagBindings } from "../tag-bindings/definition.ts";
import { projects, type ProjectView } from "./definition.ts";
import { defaultPoolFaults, defaultPoolOf } from "./execution.ts";
import { listProjectRows } from "./list.ts";
import { authorizeProject, loadProject } from "./reads.ts";
import {
  changedProject,
  organizationColumnsOf,
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
      const organization = authorizeOrganization(
        await loadOrganization(tx, context, params.organizationName, "change"),
        "can-create-project",
      );
      const identity = { id: newId("projects"), organizationId: organization.id, createdAt: now() };
      const row = newProject(body.attributes, identity);
      throwIfInvalid(await faultsOf(tx, context, row));
      await insertProject(tx, organization, row);
      const bindings = await replaceBindings(
        tx,
        { project: withProofOf(organization, row) },
        body.relationships.tagBindings,
      );
      await adjustProjectCount(tx, organization, organization.id, 1);
      const view = {
        ...row,
        ...organizationColumnsOf(organization),
        access: effectiveAccess(organization.standing.organizationWideMask),
      };
      await recordProjectChange(tx, context, { after: view }, bindings);
      return { view };
    });
  },

  async listProjects({ context, params, query }) {
    const tx = context.database.reader;
    const organization = await loadOrganization(tx, context, params.organizationName);
    const requiredBits: Mask[] = [];
    if (query.filterPermissionsCreateWorkspace) requiredBits.push(permissionBit("create", true));
    if (query.filterPermissionsUpdate) requiredBits.push(permissionBit("settings", "update"));
    const { views, totals } = await listProjectRows(tx, context.actor, organization, {
      page: query.page,
      sort: query.sort,
      nameText: query.q || undefined,
      names: query.filterNames,
      tagFilters: query.filterTagged,
      requiredBits,
    });
    const shown = await withBindings(tx, views, query.include);
    const changesWith = changesWithin(organization.id, query.include);
    return { ...shown, totalCount: totals.matching, statusCounts: totals, changesWith };
  },

  async showProject({ context, params, query }) {
    const tx = context.database.reader;
    const { views, included } = await withBindings(
      tx,
      [await loadProject(tx, context, params.projectId)],
      query.include,
    );
    const view = views[0] as ProjectView;
    return { view, included, changesWith: changesWithin(view.organizationId, query.include) };
  },

  async updateProject({ context, params, body }) {
    return context.database.write(async (tx) => {
      // A rename changes a unique key, for which PostgreSQL waits for every reference to the row. Meanwhile it must hold no lock for a
      // change, because a new workspace holds a reference until it changes the project's counter.
      const lock = body.attributes.name === undefined ? "change" : "removal";
      const project = authorizeProject(await loadProject(tx, context, params.projectId, lock), "can-update");
      context.ifMatch.check(project);
      // `after` has the next version even if nothing changed, so it must not be returned then.
      const { changes, changed: after } = updateOf(project, changedProject(body.attributes, project));
      throwIfInvalid(await faultsOf(tx, context, after, project));
      const bindingChanges = await replaceBindings(tx, { project }, body.relationships.tagBindings);
      if (changes === undefined && bindingChanges === undefined) return { view: project };
      await updateProjectRow(tx, project, changes ?? {});
      await recordProjectChange(tx, context, { before: project, after }, bindingChanges);
      return { view: after };
    });
  },

  async deleteProject({ context, params }) {
    return context.database.write(async (tx) => {
      const project = authorizeProject(await loadProject(tx, context, params.projectId, "exclusive"), "can-destroy");
      context.ifMatch.check(project);
      const obstacle = deletionObstacle(project);
      if (obstacle !== undefined) throw obstacle;
      const endedAccess = await projectAccessForAudit(tx, project.id);
      await context.hooks.scopes.removeScopeTarget(tx, project);
      await deleteProjectRow(tx, project);
      await adjustProjectCount(tx, project, project.organizationId, -1);
      await recordProjectChange(tx, context, { before: project }, { before: endedAccess });
    });
  },
});

async function faultsOf(tx: Tx, context: Context, after: ProjectTable, before?: ProjectTable): Promise<Fault[]> {
  const { organizationId, id: projectId, nameKey } = after;
  const isNameTaken = nameKey !== before?.nameKey && (await isProjectNameTaken(tx, organizationId, after.name));
  // Null also if the pool stays the same: only a new one is checked.
  const newPoolId = after.defaultAgentPoolId === before?.defaultAgentPoolId ? null : after.defaultAgentPoolId;
  const isPoolUnknown = newPoolId !== null && !(await hasAgentPool(tx, organizationId, newPoolId));
  const servesProject = await context.hooks.scopes.agentPoolServes(tx, { organizationId, projectId }, newPoolId);
  return [
    ...(isNameTaken ? [nameTakenFault()] : []),
    ...defaultPoolFaults(after),
    ...(isPoolUnknown ? [unknownPoolFault()] : []),
    ...(servesProject ? [] : [poolScopeFault()]),
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
