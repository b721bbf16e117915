/** Operations on data retention policies: load → authorize → decide → write. Self-hosted edition only. */
import type { Granted } from "../../../access/granted.ts";
import type { Tx } from "../../../database/database.ts";
import type { DataRetentionPolicyTable } from "../../../database/schema/workspaces.ts";
import type { DocumentAnswer } from "../../../jsonapi/define.ts";
import { notFound } from "../../../kernel/errors.ts";
import { newId } from "../../../kernel/ids.ts";
import { now } from "../../../kernel/time.ts";
import { recordEvent } from "../../shared/audit-events/writes.ts";
import type { OrganizationView } from "../../identity/organizations/definition.ts";
import { authorizeOrganization, loadOrganization } from "../../identity/organizations/reads.ts";
import { incrementOrganizationVersion } from "../../identity/organizations/writes.ts";
import { updateOf } from "../../shared/changes.ts";
import { type ConditionalContext, type Context, implement } from "../../shared/context.ts";
import { authorizeWorkspace, loadWorkspace } from "../workspaces/reads.ts";
import type { WorkspaceView } from "../workspaces/view.ts";
import { touchAfterRetentionChange } from "../workspaces/writes.ts";
import { type DataRetentionPolicyView, deleteOlderPolicies, dontDeletePolicies } from "./definition.ts";
import { refuseHosted, auditedPolicy, type RetentionPolicyInput, parsePolicy } from "./rules.ts";
import {
  deletePolicyRow,
  findOrganizationPolicy,
  findOwnPolicy,
  findEffectivePolicy,
  type RetentionPolicyLookup,
  insertPolicy,
  holderColumns,
  type PolicyHolder,
  updatePolicyRow,
} from "./store.ts";

export const dontDeletePolicyResource = implement(dontDeletePolicies, {});

export const deleteOlderPolicyResource = implement(deleteOlderPolicies, {
  async showWorkspaceDataRetentionPolicy({ context, params }) {
    refuseHosted(context.options);
    const { reader } = context.database;
    return policyAnswer("workspace", await findEffectivePolicy(reader, context.actor, params.workspaceId));
  },

  setWorkspaceDataRetentionPolicy: ({ context, params, body }) =>
    setWorkspacePolicy(context, params.workspaceId, parsePolicy(body)),
  changeWorkspaceDataRetentionPolicy: ({ context, params, body }) =>
    setWorkspacePolicy(context, params.workspaceId, parsePolicy(body)),

  async deleteWorkspaceDataRetentionPolicy({ context, params }) {
    await context.database.write(async (tx) => {
      const workspace = await loadWorkspaceToChange(tx, context, params.workspaceId);
      await deletePolicy(tx, context, { workspace });
      await touchAfterRetentionChange(tx, workspace);
    });
  },

  async showOrganizationDataRetentionPolicy({ context, params }) {
    refuseHosted(context.options);
    const { reader } = context.database;
    return policyAnswer("organization", await findOrganizationPolicy(reader, context.actor, params.organizationName));
  },

  setOrganizationDataRetentionPolicy: ({ context, params, body }) =>
    setOrganizationPolicy(context, params.organizationName, parsePolicy(body)),
  async changeOrganizationDataRetentionPolicy({ context, params, body }) {
    await setOrganizationPolicy(context, params.organizationName, parsePolicy(body));
  },

  async deleteOrganizationDataRetentionPolicy({ context, params }) {
    await context.database.write(async (tx) => {
      const organization = await loadOrganizationToChange(tx, context, params.organizationName);
      await deletePolicy(tx, context, { organization });
      await incrementOrganizationVersion(tx, organization);
    });
  },
});

type PolicyAnswer = DocumentAnswer<DataRetentionPolicyView>;

async function setWorkspacePolicy(
  context: ConditionalContext,
  workspaceId: string,
  input: RetentionPolicyInput,
): Promise<PolicyAnswer> {
  return context.database.write(async (tx) => {
    const workspace = await loadWorkspaceToChange(tx, context, workspaceId);
    const { before, after } = await setPolicy(tx, context, { workspace }, input);
    if (before?.kind !== after.kind) await touchAfterRetentionChange(tx, workspace);
    return { view: after };
  });
}

async function setOrganizationPolicy(
  context: ConditionalContext,
  name: string,
  input: RetentionPolicyInput,
): Promise<PolicyAnswer> {
  return context.database.write(async (tx) => {
    const organization = await loadOrganizationToChange(tx, context, name);
    const { before, after } = await setPolicy(tx, context, { organization }, input);
    if (before?.kind !== after.kind) await incrementOrganizationVersion(tx, organization);
    return { view: after };
  });
}

function policyAnswer(holder: string, { isVisible, policy }: RetentionPolicyLookup): PolicyAnswer {
  if (!isVisible) throw notFound(holder);
  if (policy === undefined) throw notFound("data retention policy");
  return { view: policy };
}

/** Locked, so that concurrent changes are applied one after the other. Throws `not-found` or `forbidden`. */
async function loadWorkspaceToChange(
  tx: Tx,
  context: Context,
  workspaceId: string,
): Promise<Granted<WorkspaceView, "can-update">> {
  refuseHosted(context.options);
  return authorizeWorkspace(await loadWorkspace(tx, context, { workspaceId }, "change"), "can-update");
}

async function loadOrganizationToChange(
  tx: Tx,
  context: Context,
  name: string,
): Promise<Granted<OrganizationView, "can-update">> {
  refuseHosted(context.options);
  return authorizeOrganization(await loadOrganization(tx, context, name, "change"), "can-update");
}

/** An identical policy changes nothing. */
async function setPolicy(
  tx: Tx,
  context: ConditionalContext,
  holder: PolicyHolder,
  input: RetentionPolicyInput,
): Promise<{ before?: DataRetentionPolicyTable; after: DataRetentionPolicyTable }> {
  const before = await findOwnPolicy(tx, holder);
  context.ifMatch.check(before);
  if (before === undefined) {
    const identity = { id: newId("data-retention-policies"), createdAt: now(), version: 1 };
    const after = { ...holderColumns(holder), ...input, ...identity };
    await insertPolicy(tx, holder, after);
    await recordPolicyChange(tx, context, "create", { after });
    return { after };
  }
  const { changes, changed: after } = updateOf(before, input);
  if (changes === undefined) return { before, after: before };
  await updatePolicyRow(tx, holder, before.id, changes);
  await recordPolicyChange(tx, context, "update", { before, after });
  return { before, after };
}

async function deletePolicy(tx: Tx, context: ConditionalContext, holder: PolicyHolder): Promise<void> {
  const before = await findOwnPolicy(tx, holder);
  if (before === undefined) throw notFound("data retention policy");
  context.ifMatch.check(before);
  await deletePolicyRow(tx, holder, before.id);
  await recordPolicyChange(tx, context, "delete", { before });
}

async function recordPolicyChange(
  tx: Tx,
  context: Context,
  verb: string,
  { before, after }: { before?: DataRetentionPolicyTable; after?: DataRetentionPolicyTable },
): Promise<void> {
  const policy = after ?? before;
  if (policy === undefined) return;
  await recordEvent(tx, context, {
    organizationId: policy.organizationId,
    verb,
    subject: { type: "data-retention-policies", id: policy.id },
    before: before && auditedPolicy(before),
    after: after && auditedPolicy(after),
  });
}
