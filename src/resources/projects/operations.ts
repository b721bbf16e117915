/** Operations on projects: load → authorize → decide → write. */
import { bitOf, type Mask } from "../../access/permission-set.ts";
import { effective } from "../../access/effective.ts";
import { refuseIfAny } from "../../kernel/errors.ts";
import { newId } from "../../kernel/ids.ts";
import { now } from "../../kernel/time.ts";
import { recordChange } from "../audit-events/writes.ts";
import { grantOrganization, loadOrganization } from "../organizations/reads.ts";
import { countProjects } from "../organizations/writes.ts";
import { changesOf } from "../shared/changes.ts";
import { implement } from "../shared/context.ts";
import { checkIfMatch } from "../shared/preconditions.ts";
import { projects } from "./definition.ts";
import { grantProject, loadProject } from "./reads.ts";
import { deletionObstacle, nameTaken, newProject, toColumns } from "./rules.ts";
import { deleteProjectRow, insertProject, isProjectNameTaken, listProjectRows, updateProjectRow } from "./store.ts";

export const projectResource = implement(projects, {
  async createProject({ context, params, body }) {
    return context.database.write(async (tx) => {
      const organization = grantOrganization(
        await loadOrganization(tx, context, params.organizationName),
        "can-create-project",
      );
      const row = newProject({
        ...body.attributes,
        id: newId("projects"),
        organizationId: organization.id,
        createdAt: now(),
      });
      refuseIfAny((await isProjectNameTaken(tx, organization.id, row.name)) ? [nameTaken()] : []);
      await insertProject(tx, row);
      await countProjects(tx, organization.id, 1);
      const view = { ...row, organizationName: organization.name, access: effective(organization.standing.everywhere) };
      await recordChange(tx, context, projects, { after: view });
      return { view };
    });
  },

  async listProjects({ context, params, query }) {
    const tx = context.database.reader;
    const organization = await loadOrganization(tx, context, params.organizationName);
    const bits: Mask[] = [];
    if (query.filterPermissionsCreateWorkspace) bits.push(bitOf("create", true));
    if (query.filterPermissionsUpdate) bits.push(bitOf("settings", "update"));
    const { views, totals } = await listProjectRows(tx, context.actor, organization, {
      page: query.page,
      sort: query.sort,
      part: query.q || undefined,
      names: query.filterNames,
      bits,
    });
    return { views, totalCount: totals.matching, statusCounts: totals };
  },

  async showProject({ context, params }) {
    return { view: await loadProject(context.database.reader, context, params.projectId) };
  },

  async updateProject({ context, params, body, ifMatch }) {
    return context.database.write(async (tx) => {
      const project = grantProject(await loadProject(tx, context, params.projectId, true), "can-update");
      checkIfMatch(ifMatch, project);
      const changes = changesOf(project, toColumns(body.attributes));
      if (changes === undefined) return { view: project };
      const changed = { ...project, ...changes, version: project.version + 1 };
      const renamed =
        changed.nameKey !== project.nameKey && (await isProjectNameTaken(tx, project.organizationId, changed.name));
      refuseIfAny(renamed ? [nameTaken()] : []);
      await updateProjectRow(tx, project, changes);
      await recordChange(tx, context, projects, { before: project, after: changed });
      return { view: changed };
    });
  },

  async deleteProject({ context, params, ifMatch }) {
    return context.database.write(async (tx) => {
      const project = grantProject(await loadProject(tx, context, params.projectId, true), "can-destroy");
      checkIfMatch(ifMatch, project);
      const obstacle = deletionObstacle(project);
      if (obstacle !== undefined) throw obstacle;
      await deleteProjectRow(tx, project);
      await countProjects(tx, project.organizationId, -1);
      await recordChange(tx, context, projects, { before: project });
    });
  },
});
