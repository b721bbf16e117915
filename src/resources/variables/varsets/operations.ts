/** Operations on variable sets. */
import { effectiveAccess } from "../../../access/effective.ts";
import { authorize, type Granted } from "../../../access/granted.ts";
import {
  canManageVariableSets,
  projectSetPermissions,
  variableSetNeeds,
} from "../../../access/permissions/organization.ts";
import type { Tx } from "../../../database/database.ts";
import type { VarsetTable } from "../../../database/schema/variables.ts";
import { changedColumns } from "../../../jsonapi/columns.ts";
import type { ResourceIdentifier, IncludedResource } from "../../../jsonapi/define.ts";
import { type Page, pageSizeMax } from "../../../jsonapi/query.ts";
import { throwIfInvalid } from "../../../kernel/errors.ts";
import { newId } from "../../../kernel/ids.ts";
import { now } from "../../../kernel/time.ts";
import { factsOf } from "../../identity/organizations/definition.ts";
import { loadOrganization } from "../../identity/organizations/reads.ts";
import { loadProject, readableProjects } from "../../register/projects/reads.ts";
import { workspaces } from "../../register/workspaces/definition.ts";
import { loadWorkspace, pageOfWorkspaces } from "../../register/workspaces/reads.ts";
import { recordChange, recordEvent } from "../../shared/audit-events/writes.ts";
import { changesOf } from "../../shared/changes.ts";
import { type Context, implement } from "../../shared/context.ts";
import { changesWithin, loadIncluded } from "../../shared/includes.ts";
import { afterUpdate } from "../../shared/versions.ts";
import { type VarsetLinkKind, type VarsetLinks, varsets, type VarsetView } from "./definition.ts";
import { authorizeVarset, loadVarset } from "./reads.ts";
import {
  allLinksOf,
  globalFaults,
  linkagePointer,
  relationshipPointer,
  linkKinds,
  linkFaults,
  linksAfter,
  nameTaken,
  newVarset,
  noLinks,
  parentProjectIn,
  unknownParent,
  difference,
} from "./rules.ts";
import {
  appliesToProject,
  appliesToWorkspace,
  deleteLinks,
  deleteVarsetRow,
  insertLinks,
  insertVarset,
  linkedTo,
  listVarsetRows,
  lookUpReferences,
  updateVarsetRow,
  type VarsetOwner,
} from "./store.ts";

export const varsetResource = implement(varsets, {
  async listVarsets({ context, params, query }) {
    const tx = context.database.reader;
    const { id, standing } = await loadOrganization(tx, context, params.organizationName);
    const readsOwned = projectSetPermissions(effectiveAccess(standing.organizationWideMask))["can-read"] || undefined;
    const search = { page: query.page, searchText: query.q, condition: undefined, readsOwned };
    const sets = await listVarsetRows(tx, context.actor, id, search);
    const changesWith = changesWithin(id, query.include);
    return { ...(await withIncluded(tx, context, sets, query.include)), changesWith };
  },

  listWorkspaceVarsets: ({ context, params, query }) => listOfWorkspace(context, params.workspaceId, query),
  listApplicableVarsets: ({ context, params, query }) => listOfWorkspace(context, params.workspaceId, query),

  async listProjectVarsets({ context, params, query }) {
    const tx = context.database.reader;
    const { id, organizationId, access } = await loadProject(tx, context, params.projectId);
    const readsOwned = projectSetPermissions(access)["can-read"];
    const search = { page: query.page, searchText: query.q, condition: appliesToProject(id), readsOwned };
    return withIncluded(tx, context, await listVarsetRows(tx, context.actor, organizationId, search), query.include);
  },

  async createVarset({ context, params, body }) {
    return context.database.write(async (tx) => {
      const { attributes, relationships: sent } = body;
      const {
        organization,
        parent,
        access: parentAccess,
      } = await loadOwner(tx, context, params.organizationName, sent.parent);
      const row = newVarset(attributes, {
        id: newId("varsets"),
        organizationId: organization.id,
        parentProjectId: parent ?? null,
        createdAt: now(),
      });
      const scope = { organizationId: organization.id, standing: organization.standing };
      const known = await lookUpReferences(tx, context.actor, scope, { name: row.name, ...sent });
      const isParentUnknown = parent !== undefined && parentAccess === undefined;
      throwIfInvalid([
        ...(known.nameTaken ? [nameTaken()] : []),
        ...(isParentUnknown ? [unknownParent(parent)] : []),
        ...globalFaults(row, sent),
        ...linkFaults(sent, known, isParentUnknown ? null : row.parentProjectId, relationshipPointer),
      ]);
      const links = linksAfter(noLinks, sent, row.global);
      const stored = { ...row, linkedCount: links.workspaces.length + links.projects.length };
      await insertVarset(tx, organization, stored, links);
      const access = {
        standing: organization.standing,
        projectAccess: parentAccess?.mask ?? null,
        varIds: [],
        hiddenLinks: noLinks,
      };
      const view = { ...stored, ...factsOf(organization), ...access, links };
      await recordVarsetChange(tx, context, { after: view });
      return { view };
    });
  },

  async showVarset({ context, params, query }) {
    const tx = context.database.reader;
    const view = await loadVarset(tx, context, params.varsetId);
    const { included } = await withIncluded(tx, context, { views: [view] }, query.include);
    return { view, ...(included && { included }), changesWith: changesWithin(view.organizationId, query.include) };
  },

  async updateVarset({ context, params, body, query }) {
    return context.database.write(async (tx) => {
      const before = authorizeVarset(await loadVarset(tx, context, params.varsetId, "exclusive"), "can-manage");
      context.ifMatch.check(before);
      const { attributes, relationships: sent } = body;
      const changes = changesOf<VarsetTable>(before, changedColumns(varsets, attributes));
      const changed = { ...before, ...changes };
      const known = await lookUpReferences(tx, context.actor, before, {
        name: changed.nameKey === before.nameKey ? undefined : changed.name,
        ...sent,
      });
      throwIfInvalid([
        ...(known.nameTaken ? [nameTaken()] : []),
        ...globalFaults(changed, sent),
        ...linkFaults(sent, known, before.parentProjectId, relationshipPointer),
      ]);
      const view = await writeChange(tx, before, changes, linksAfter(before.links, sent, changed.global));
      if (view !== undefined) await recordVarsetChange(tx, context, { before, after: view });
      const { included } = await withIncluded(tx, context, { views: [view ?? before] }, query.include);
      return { view: view ?? before, ...(included && { included }) };
    });
  },

  async deleteVarset({ context, params }) {
    await context.database.write(async (tx) => {
      const before = authorizeVarset(await loadVarset(tx, context, params.varsetId, "exclusive"), "can-manage");
      context.ifMatch.check(before);
      await deleteVarsetRow(tx, before);
      await recordVarsetChange(tx, context, { before });
    });
  },

  async addVarsetWorkspaces({ context, params, body }) {
    await changeLinks(context, params.varsetId, { verb: "add", kind: "workspaces", body });
  },

  async removeVarsetWorkspaces({ context, params, body }) {
    await changeLinks(context, params.varsetId, { verb: "remove", kind: "workspaces", body });
  },

  async addVarsetProjects({ context, params, body }) {
    await changeLinks(context, params.varsetId, { verb: "add", kind: "projects", body });
  },

  async removeVarsetProjects({ context, params, body }) {
    await changeLinks(context, params.varsetId, { verb: "remove", kind: "projects", body });
  },
});

interface VarsetListQuery {
  readonly page: Page;
  readonly q: string | undefined;
  readonly include: ReadonlySet<string>;
}

async function listOfWorkspace(context: Context, workspaceId: string, { page, q, include }: VarsetListQuery) {
  const tx = context.database.reader;
  const workspace = await loadWorkspace(tx, context, { workspaceId });
  const readsOwned = projectSetPermissions(workspace.access)["can-read"];
  const search = { page, searchText: q, condition: appliesToWorkspace(workspace), readsOwned };
  const found = await listVarsetRows(tx, context.actor, workspace.organizationId, search);
  return withIncluded(tx, context, found, include);
}

/** `access` is undefined if the caller can't see the project. Throws `not-found` or `forbidden`. */
async function loadOwner(tx: Tx, context: Context, organizationName: string, named: string | null | undefined) {
  // Prevents concurrent deletion of linked workspaces and projects.
  const found = await loadOrganization(tx, context, organizationName, "change");
  const parent = parentProjectIn(named, found.name);
  const readable = parent === undefined ? [] : await readableProjects(tx, context, [parent]);
  const project = readable.find(({ organizationId }) => organizationId === found.id);
  const access = project?.access;
  const organization: VarsetOwner = authorize(found, {
    thing: "organization",
    permission: "can-manage-varsets",
    visible: found.standing.member,
    allowed:
      parent === undefined
        ? canManageVariableSets(found.standing)
        : projectSetPermissions(access ?? effectiveAccess(found.standing.organizationWideMask))["can-manage"],
    needs: variableSetNeeds(parent),
  });
  return { organization, parent, access };
}

async function writeChange(
  tx: Tx,
  set: Granted<VarsetView, "can-manage">,
  changes: Partial<VarsetTable> | undefined,
  after: VarsetLinks,
): Promise<VarsetView | undefined> {
  let countChange = 0;
  let isChanged = false;
  for (const kind of linkKinds) {
    const [removed, added] = [difference(set.links[kind], after[kind]), difference(after[kind], set.links[kind])];
    countChange -= (await deleteLinks(tx, set, kind, removed)).length;
    countChange += (await insertLinks(tx, set, kind, added)).length;
    isChanged ||= removed.length + added.length > 0;
  }
  if (changes === undefined && !isChanged) return undefined;
  const updatedAt = await updateVarsetRow(tx, set, changes ?? {}, countChange);
  return afterUpdate<VarsetView>(set, { ...changes, links: after, updatedAt });
}

interface VarsetLinkChange {
  readonly verb: "add" | "remove";
  readonly kind: VarsetLinkKind;
  readonly body: readonly ResourceIdentifier[];
}

async function changeLinks(context: Context, id: string, { verb, kind, body }: VarsetLinkChange): Promise<void> {
  await context.database.write(async (tx) => {
    const set = authorizeVarset(await loadVarset(tx, context, id, "exclusive"), "can-manage");
    context.ifMatch?.check(set);
    const sent = { [kind]: body.map((item) => item.id) };
    const known = await lookUpReferences(tx, context.actor, set, sent);
    const parent = verb === "add" ? set.parentProjectId : null;
    throwIfInvalid([
      ...(verb === "add" ? globalFaults(set, sent) : []),
      ...linkFaults(sent, known, parent, linkagePointer),
    ]);
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

async function recordVarsetChange(
  tx: Tx,
  context: Context,
  change: { before?: VarsetView; after?: VarsetView },
): Promise<void> {
  const audited = (set: VarsetView | undefined) => set && { project: set.parentProjectId, ...allLinksOf(set) };
  await recordChange(tx, context, varsets, change, { before: audited(change.before), after: audited(change.after) });
}

interface VarsetPage {
  readonly views: readonly VarsetView[];
  readonly totalCount?: number;
}

/** All sets must belong to one organization. */
async function withIncluded(
  tx: Tx,
  context: Context,
  sets: VarsetPage,
  include: ReadonlySet<string>,
): Promise<VarsetPage & { included?: IncludedResource[] }> {
  const included = await loadIncluded(tx, context, varsets, sets.views, include, (_, name) => name !== "workspaces");
  const [first] = sets.views;
  if (included === undefined) return sets;
  if (first === undefined || !include.has("workspaces")) return { ...sets, included };
  const organization = await loadOrganization(tx, context, first.organizationName);
  const linked = linkedTo(
    tx,
    sets.views.map((set) => set.id),
  );
  const { views } = await pageOfWorkspaces(tx, context, organization, linked, { number: 1, size: pageSizeMax });
  return { ...sets, included: [...views.map((view) => ({ definition: workspaces, view })), ...included] };
}
