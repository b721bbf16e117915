/** Operations on variables. Values must not be in the audit log: events are permanent, and a variable can become sensitive later. */
import type { Tx } from "../../../database/database.ts";
import type { VarTable } from "../../../database/schema/variables.ts";
import { changedColumns } from "../../../jsonapi/columns.ts";
import type { CreateAttributes, ListAnswer, UpdateAttributes } from "../../../jsonapi/define.ts";
import type { Page } from "../../../jsonapi/query.ts";
import { notFound, throwIfInvalid } from "../../../kernel/errors.ts";
import { newId } from "../../../kernel/ids.ts";
import { now } from "../../../kernel/time.ts";
import { changeEvents, recordEvents } from "../../shared/audit-events/writes.ts";
import { changesOf } from "../../shared/changes.ts";
import { type ConditionalContext, type Context, implement } from "../../shared/context.ts";
import { afterUpdate } from "../../shared/versions.ts";
import { authorizeVarset, loadVarset } from "../varsets/reads.ts";
import { touchVarset } from "../varsets/writes.ts";
import { authorizeWorkspace, loadWorkspace } from "../../register/workspaces/reads.ts";
import { setVarIds } from "../../register/workspaces/writes.ts";
import { emptyValue, vars, type VarView } from "./definition.ts";
import { nounOf, ownerColumns, type ReadableWorkspace, type WritableVarOwner } from "./owner.ts";
import { type BatchChange, planUpdates, parseBatchChanges } from "./batch.ts";
import { loadVar, loadVarInWorkspace, loadVarsetVar, toVarView } from "./reads.ts";
import {
  ownerLimitFaults,
  changeFaults,
  isRenamed,
  newVar,
  replacementValue,
  valueOwner,
  withoutVar,
  withVar,
} from "./rules.ts";
import {
  deleteVarRow,
  findVar,
  findVars,
  insertVar,
  listVarRows,
  listVarsOfAppliedSet,
  countOtherVars,
  ownVars,
  storedValueBytes,
  updateVarRow,
  updateVarRows,
  varsInForce,
} from "./store.ts";

export const varResource = implement(vars, {
  async listVars({ context, params, query }) {
    const resource = await loadReadableWorkspace(context, params.workspaceId);
    const vars = await list(context, ownVars(context.database.reader, { column: "workspaceId", resource }), query);
    return { ...vars, changesWith: resource.organizationId };
  },

  async listAllVars({ context, params, query }) {
    const workspace = await loadReadableWorkspace(context, params.workspaceId);
    return list(context, varsInForce(context.database.reader, workspace), query);
  },

  async createVar({ context, params, body }) {
    return context.database.write(async (tx) =>
      create(tx, context, await loadWorkspaceOwner(tx, context, params.workspaceId), body.attributes),
    );
  },

  async showVar({ context, params }) {
    return { view: toVarView(context, await loadVar(context.database.reader, context, params)) };
  },

  async updateVar({ context, params, body }) {
    return context.database.write(async (tx) => {
      const owner = await loadWorkspaceOwner(tx, context, params.workspaceId);
      return update(tx, context, owner, { id: params.varId, attributes: body.attributes });
    });
  },

  async updateVars({ context, params, body }) {
    const changes = parseBatchChanges(body.data);
    await context.database.write(async (tx) =>
      updateBatch(tx, context, await loadWorkspaceOwner(tx, context, params.workspaceId), changes),
    );
  },

  async deleteVar({ context, params }) {
    await context.database.write(async (tx) =>
      remove(tx, context, await loadWorkspaceOwner(tx, context, params.workspaceId), params.varId),
    );
  },

  async listVarsetVars({ context, params, query }) {
    const tx = context.database.reader;
    const resource = authorizeVarset(await loadVarset(tx, context, params.varsetId), "can-read");
    return list(context, ownVars(tx, { column: "varsetId", resource }), query);
  },

  async listWorkspaceVarsetVars({ context, params }) {
    const workspace = await loadReadableWorkspace(context, params.workspaceId);
    const rows = await listVarsOfAppliedSet(context.database.reader, workspace, params.varsetId);
    if (rows === undefined) throw notFound("variable set");
    return { views: rows.map((row) => toVarView(context, row)) };
  },

  async showWorkspaceVarsetVar({ context, params: { workspaceId, varsetId, varsetVarId: varId } }) {
    const row = await loadVarInWorkspace(context.database.reader, context, { workspaceId, varsetId, varId });
    return { view: toVarView(context, row) };
  },

  async createVarsetVar({ context, params, body }) {
    return context.database.write(async (tx) =>
      create(tx, context, await loadVarsetOwner(tx, context, params.varsetId), body.attributes),
    );
  },

  async showVarsetVar({ context, params: { varsetId, varsetVarId: varId } }) {
    return { view: toVarView(context, await loadVarsetVar(context.database.reader, context, { varsetId, varId })) };
  },

  async updateVarsetVar({ context, params, body }) {
    return context.database.write(async (tx) => {
      const owner = await loadVarsetOwner(tx, context, params.varsetId);
      return update(tx, context, owner, { id: params.varsetVarId, attributes: body.attributes });
    });
  },

  async deleteVarsetVar({ context, params }) {
    await context.database.write(async (tx) =>
      remove(tx, context, await loadVarsetOwner(tx, context, params.varsetId), params.varsetVarId),
    );
  },
});

async function loadReadableWorkspace(context: Context, workspaceId: string): Promise<ReadableWorkspace> {
  return authorizeWorkspace(
    await loadWorkspace(context.database.reader, context, { workspaceId }),
    "can-read-variable",
  );
}

async function loadWorkspaceOwner(tx: Tx, context: Context, workspaceId: string): Promise<WritableVarOwner> {
  const workspace = await loadWorkspace(tx, context, { workspaceId }, "change");
  return { column: "workspaceId", resource: authorizeWorkspace(workspace, "can-update-variable") };
}

async function loadVarsetOwner(tx: Tx, context: Context, varsetId: string): Promise<WritableVarOwner> {
  return {
    column: "varsetId",
    resource: authorizeVarset(await loadVarset(tx, context, varsetId, "change"), "can-manage"),
  };
}

async function updateOwner(
  tx: Tx,
  owner: WritableVarOwner,
  change: { added?: string; removed?: string },
): Promise<void> {
  if (owner.column === "varsetId") return touchVarset(tx, owner.resource);
  const { varIds } = owner.resource;
  const { added, removed } = change;
  await setVarIds(tx, owner.resource, added === undefined ? withoutVar(varIds, removed ?? "") : withVar(varIds, added));
}

async function list(
  context: Context,
  rows: ReturnType<typeof ownVars>,
  query: { readonly page: Page; readonly isPageRequested: boolean },
): Promise<ListAnswer<VarView>> {
  const page = query.isPageRequested ? query.page : undefined;
  const { rows: found, ...totals } = await listVarRows(context.database.reader, rows, page);
  return { views: found.map((row) => toVarView(context, row)), ...totals };
}

async function create(tx: Tx, context: Context, owner: WritableVarOwner, attributes: CreateAttributes<typeof vars>) {
  const { value = emptyValue } = attributes;
  const columns = newVar(attributes, { id: newId("vars"), ...ownerColumns(owner), createdAt: now() });
  throwIfInvalid(ownerLimitFaults(await countOtherVars(tx, owner, columns), value, nounOf(owner)));
  const row = { ...columns, value: sealValue(context, columns.id, value) };
  await insertVar(tx, owner, row);
  await updateOwner(tx, owner, { added: row.id });
  const view = toVarView(context, row);
  await recordVar(tx, context, { after: view });
  return { view };
}

interface VarUpdate {
  readonly id: string;
  readonly attributes: UpdateAttributes<typeof vars>;
}

/** Always increments the version: clients expect a new version-id after an update. */
async function update(tx: Tx, context: ConditionalContext, owner: WritableVarOwner, { id, attributes }: VarUpdate) {
  const before = toVarView(context, await loadRow(tx, owner, id));
  context.ifMatch.check(before);
  const changes = changesOf<Omit<VarTable, "value">>(before, changedColumns(vars, attributes));
  const value = replacementValue(before, attributes.value);
  const after = afterUpdate<VarView>(before, changes);
  const limitFaults =
    isRenamed(before, after) || value !== undefined
      ? ownerLimitFaults(await countOtherVars(tx, owner, after), value ?? "", nounOf(owner))
      : [];
  throwIfInvalid([...changeFaults(before, after), ...limitFaults]);
  await updateVarRow(tx, owner, id, {
    ...changes,
    ...(value !== undefined && { value: sealValue(context, id, value) }),
  });
  const view = { ...after, value: after.sensitive === 1 ? null : (value ?? before.value) };
  await recordVar(tx, context, { before, after: view }, value !== undefined);
  return { view };
}

async function updateBatch(tx: Tx, context: Context, owner: WritableVarOwner, changes: readonly BatchChange[]) {
  const rows = await findVars(tx, owner);
  const updates = planUpdates(
    rows.map((row) => toVarView(context, row)),
    changes,
    storedValueBytes(rows),
    nounOf(owner),
  );
  await updateVarRows(
    tx,
    owner,
    updates.map(({ before: { id }, columns, value }) => ({
      id,
      columns: { ...columns, ...(value !== undefined && { value: sealValue(context, id, value) }) },
    })),
  );
  const events = updates.flatMap(({ before, after, value }) => varEvents({ before, after }, value !== undefined));
  await recordEvents(tx, context, events);
}

async function remove(tx: Tx, context: ConditionalContext, owner: WritableVarOwner, id: string): Promise<void> {
  const before = toVarView(context, await loadRow(tx, owner, id));
  context.ifMatch.check(before);
  await deleteVarRow(tx, owner, id);
  await updateOwner(tx, owner, { removed: id });
  await recordVar(tx, context, { before });
}

async function loadRow(tx: Tx, owner: WritableVarOwner, id: string): Promise<VarTable> {
  const row = await findVar(tx, owner, id);
  if (row === undefined) throw notFound("variable");
  return row;
}

function sealValue({ vault }: Context, id: string, value: string): Uint8Array {
  return vault.seal(valueOwner(id), Buffer.from(value));
}

function varEvents(change: { before?: VarView; after?: VarView }, replaced: boolean) {
  const { before, after } = change;
  const ownerIn = ({ workspaceId, varsetId }: VarView) =>
    workspaceId === null ? { varset: varsetId } : { workspace: workspaceId };
  return changeEvents(vars, change, {
    before: before && ownerIn(before),
    after: after && { ...ownerIn(after), ...(replaced && { "replaced-secrets": ["value"] }) },
  });
}

async function recordVar(
  tx: Tx,
  context: Context,
  change: { before?: VarView; after?: VarView },
  replaced = false,
): Promise<void> {
  await recordEvents(tx, context, varEvents(change, replaced));
}
