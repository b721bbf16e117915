/** Operations on variable sets: load → authorize → decide → write. */
import { grant, type Granted } from "../../../access/granted.ts";
import { projectPermissions, managesVariableSets } from "../../../access/permissions.ts";
import { holds } from "../../../access/permission-set.ts";
import type { Tx } from "../../../database/database.ts";
import type { VarsetTable } from "../../../database/schema/variables.ts";
import type { Identifier, IfMatch } from "../../../jsonapi/define.ts";
import { refuseIfAny } from "../../../kernel/errors.ts";
import { newId } from "../../../kernel/ids.ts";
import { now } from "../../../kernel/time.ts";
import { recordChange, recordEvent } from "../../shared/audit-events/writes.ts";
import { loadOrganization } from "../../identity/organizations/reads.ts";
import { loadProject } from "../../register/projects/reads.ts";
import { changesOf } from "../../shared/changes.ts";
import { type Context, implement } from "../../shared/context.ts";
import { checkIfMatch } from "../../shared/preconditions.ts";
import { loadWorkspace } from "../../register/workspaces/reads.ts";
import { varsets, type VarsetView } from "./definition.ts";
import { withIncluded } from "./includes.ts";
import { grantVarset, loadVarset } from "./reads.ts";
import {
  globalFaults,
  inLinkage,
  inRelationship,
  linkFaults,
  type LinkKind,
  type Links,
  linksAfter,
  linksOf,
  managingNeeds,
  nameTaken,
  newVarset,
  parentProjectIn,
  toColumns,
  unknownParent,
  without,
} from "./rules.ts";
import {
  appliesToProject,
  appliesToWorkspace,
  deleteLinks,
  deleteVarsetRow,
  insertLinks,
  insertVarset,
  listVarsetRows,
  lookUp,
  updateVarsetRow,
} from "./store.ts";

export const varsetResource = implement(varsets, {
  async listVarsets({ context, params, query }) {
    const tx = context.database.reader;
    const { id, standing } = await loadOrganization(tx, context, params.organizationName);
    const readsParents = holds(standing.everywhere, "settings", "read") || undefined;
    const search = { page: query.page, part: query.q, which: undefined, readsParents };
    return withIncluded(tx, context, await listVarsetRows(tx, context.actor, id, search), query.include);
  },

  async listWorkspaceVarsets({ context, params, query }) {
    const tx = context.database.reader;
    const workspace = await loadWorkspace(tx, context, params);
    const readsParents = projectPermissions(workspace.access)["can-read"];
    const search = { page: query.page, part: query.q, which: appliesToWorkspace(workspace), readsParents };
    const found = await listVarsetRows(tx, context.actor, workspace.organizationId, search);
    return withIncluded(tx, context, found, query.include);
  },

  async listProjectVarsets({ context, params, query }) {
    const tx = context.database.reader;
    const { id, organizationId } = await loadProject(tx, context, params.projectId);
    const search = { page: query.page, part: query.q, which: appliesToProject(id), readsParents: true };
    return withIncluded(tx, context, await listVarsetRows(tx, context.actor, organizationId, search), query.include);
  },

  async createVarset({ context, params, body }) {
    return context.database.write(async (tx) => {
      const organization = await loadOrganization(tx, context, params.organizationName);
      grant(organization, {
        thing: "organization",
        permission: "can-manage-varsets",
        visible: organization.standing.member,
        allowed: managesVariableSets(organization.standing),
        needs: managingNeeds,
      });
      const { attributes, relationships: sent } = body;
      const parent = parentProjectIn(sent.parent, organization.name);
      const row = newVarset(attributes, {
        id: newId("varsets"),
        organizationId: organization.id,
        parentProjectId: parent ?? null,
        createdAt: now(),
      });
      const { workspaces, projects = [] } = sent;
      const named = { name: row.name, workspaces, projects: parent === undefined ? projects : [parent, ...projects] };
      const known = await lookUp(tx, organization.id, named);
      const orphan = parent !== undefined && !known.projects.has(parent);
      refuseIfAny([
        ...(known.nameTaken ? [nameTaken()] : []),
        ...(orphan ? [unknownParent(parent)] : []),
        ...globalFaults(row, sent),
        ...linkFaults(sent, known, orphan ? null : row.parentProjectId, inRelationship),
      ]);
      const view = await insertWithLinks(tx, row, linksAfter({ workspaces: [], projects: [] }, sent, row.global));
      const after = { ...view, organizationName: organization.name, standing: organization.standing };
      await recordSet(tx, context, { after });
      return { view: after };
    });
  },

  async showVarset({ context, params, query }) {
    const tx = context.database.reader;
    const view = await loadVarset(tx, context, params.varsetId);
    const { included } = await withIncluded(tx, context, { views: [view] }, query.include);
    return { view, ...(included && { included }) };
  },

  async updateVarset({ context, params, body, query, ifMatch }) {
    return context.database.write(async (tx) => {
      const before = grantVarset(await loadVarset(tx, context, params.varsetId, true), "can-manage");
      checkIfMatch(ifMatch, varsets, before);
      const { attributes, relationships: sent } = body;
      const changes = changesOf<VarsetTable>(before, toColumns(attributes));
      const changed = { ...before, ...changes };
      const known = await lookUp(tx, before.organizationId, {
        name: changed.nameKey === before.nameKey ? undefined : changed.name,
        ...sent,
      });
      refuseIfAny([
        ...(known.nameTaken ? [nameTaken()] : []),
        ...globalFaults(changed, sent),
        ...linkFaults(sent, known, before.parentProjectId, inRelationship),
      ]);
      const view = await writeChange(tx, before, changes, linksAfter(linksOf(before), sent, changed.global));
      if (view !== undefined) await recordSet(tx, context, { before, after: view });
      const { included } = await withIncluded(tx, context, { views: [view ?? before] }, query.include);
      return { view: view ?? before, ...(included && { included }) };
    });
  },

  async deleteVarset({ context, params, ifMatch }) {
    await context.database.write(async (tx) => {
      const before = grantVarset(await loadVarset(tx, context, params.varsetId, true), "can-manage");
      checkIfMatch(ifMatch, varsets, before);
      await deleteVarsetRow(tx, before);
      await recordSet(tx, context, { before });
    });
  },

  async addVarsetWorkspaces({ context, params, body }) {
    await changeLinks(context, params.varsetId, { verb: "add", kind: "workspaces", body });
  },

  async removeVarsetWorkspaces({ context, params, body, ifMatch }) {
    await changeLinks(context, params.varsetId, { verb: "remove", kind: "workspaces", body, ifMatch });
  },

  async addVarsetProjects({ context, params, body }) {
    await changeLinks(context, params.varsetId, { verb: "add", kind: "projects", body });
  },

  async removeVarsetProjects({ context, params, body, ifMatch }) {
    await changeLinks(context, params.varsetId, { verb: "remove", kind: "projects", body, ifMatch });
  },
});

/** The new set as its maker sees it. */
async function insertWithLinks(tx: Tx, row: VarsetTable, links: Links) {
  const { workspaces, projects } = links;
  const linkedCount = workspaces.length + projects.length;
  await insertVarset(tx, { ...row, linkedCount });
  await insertLinks(tx, row, "workspaces", workspaces);
  await insertLinks(tx, row, "projects", projects);
  return { ...row, linkedCount, projectAccess: null, varIds: [], ...linked(links) };
}

const linked = ({ workspaces, projects }: Links) => ({
  workspaceIds: workspaces,
  projectIds: projects,
  workspaceCount: workspaces.length,
  projectCount: projects.length,
});

/** The set after the change; undefined when it changes nothing, and then nothing is written. */
async function writeChange(
  tx: Tx,
  set: Granted<VarsetView, "can-manage">,
  changes: Partial<VarsetTable> | undefined,
  after: Links,
): Promise<VarsetView | undefined> {
  const before = linksOf(set);
  let links = 0;
  let touched = false;
  for (const kind of ["workspaces", "projects"] as const) {
    const [gone, come] = [without(before[kind], after[kind]), without(after[kind], before[kind])];
    links -= (await deleteLinks(tx, set, kind, gone)).length;
    links += (await insertLinks(tx, set, kind, come)).length;
    touched ||= gone.length + come.length > 0;
  }
  if (changes === undefined && !touched) return undefined;
  const updatedAt = await updateVarsetRow(tx, set, changes ?? {}, links);
  return { ...set, ...changes, ...linked(after), updatedAt, version: set.version + 1 };
}

interface LinkChange {
  readonly verb: "add" | "remove";
  readonly kind: LinkKind;
  readonly body: readonly Identifier[];
  readonly ifMatch?: IfMatch;
}

/** The event tells which came, or which went; nothing, when nothing did. */
async function changeLinks(context: Context, id: string, { verb, kind, body, ifMatch }: LinkChange): Promise<void> {
  await context.database.write(async (tx) => {
    const set = grantVarset(await loadVarset(tx, context, id, true), "can-manage");
    checkIfMatch(ifMatch, varsets, set);
    const sent = { [kind]: body.map((item) => item.id) };
    const known = await lookUp(tx, set.organizationId, sent);
    const parent = verb === "add" ? set.parentProjectId : null;
    refuseIfAny([...(verb === "add" ? globalFaults(set, sent) : []), ...linkFaults(sent, known, parent, inLinkage)]);
    const change = verb === "add" ? insertLinks : deleteLinks;
    const ids = await change(tx, set, kind, [...new Set(sent[kind])]);
    if (ids.length === 0) return;
    await updateVarsetRow(tx, set, {}, verb === "add" ? ids.length : -ids.length);
    await recordEvent(tx, context, {
      organizationId: set.organizationId,
      verb: `${verb}-${kind}`,
      subject: { type: varsets.type, id: set.id },
      before: { [kind]: verb === "add" ? [] : ids },
      after: { [kind]: verb === "add" ? ids : [] },
    });
  });
}

/** Who owns a set and what it applies to is part of what the trail tells of it. */
async function recordSet(tx: Tx, context: Context, change: { before?: VarsetView; after?: VarsetView }): Promise<void> {
  const told = (set: VarsetView | undefined) => set && { project: set.parentProjectId, ...linksOf(set) };
  await recordChange(tx, context, varsets, change, { before: told(change.before), after: told(change.after) });
}
