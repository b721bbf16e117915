/** Operations on access rules: load → authorize → decide → write. */
import { singleChunk } from "../../../kernel/streams.ts";
import type { Granted } from "../../../access/granted.ts";
import type { Tx } from "../../../database/database.ts";
import { changedColumns } from "../../../jsonapi/columns.ts";
import { conflict, notFound, throwIfInvalid } from "../../../kernel/errors.ts";
import { newId } from "../../../kernel/ids.ts";
import { now } from "../../../kernel/time.ts";
import { authorizeOrganization, loadOrganization } from "../../identity/organizations/reads.ts";
import { countEnabledRules } from "../../identity/organizations/writes.ts";
import { recordChange } from "../../shared/audit-events/writes.ts";
import { changesOf } from "../../shared/changes.ts";
import { type Context, implement } from "../../shared/context.ts";
import { afterUpdate } from "../../shared/versions.ts";
import { cedarSchema } from "./cedar-schema.ts";
import { accessRules, type AccessRuleView } from "./definition.ts";
import { authorizeAccessRule, nameTaken, newAccessRule, rulesMax } from "./rules.ts";
import {
  accessRuleViewIn,
  countRules,
  deleteAccessRuleRow,
  findAccessRules,
  insertAccessRule,
  listAccessRuleRows,
  lockAccessRule,
  updateAccessRuleRow,
} from "./store.ts";
import type { ParsedPolicy } from "./policy.ts";
import { checkPolicy } from "./policy-thread.ts";

export const accessRuleResource = implement(accessRules, {
  async createAccessRule({ context, params, body }) {
    const load = async (tx: Tx, lock: "removal" | false) =>
      authorizeOrganization(await loadOrganization(tx, context, params.organizationName, lock), "can-update");
    // Before the transaction, which excludes all other writes in the organization: some policies take seconds.
    const { id: organizationId } = await load(context.database.reader, false);
    const { faults, message } = await checkPolicy(organizationId, body.attributes.policy);
    return context.database.write(async (tx) => {
      await load(tx, "removal");
      // Again, because the owner may have been removed while this waited for the lock.
      const organization = await load(tx, false);
      const { count, withName } = await countRules(tx, organization.id, body.attributes.name);
      throwIfInvalid([...faults, ...(withName > 0 ? [nameTaken()] : [])]);
      if (count >= rulesMax)
        throw conflict(
          `The organization has ${rulesMax} access rules, which is the maximum. Delete one, or join two into one policy with \`||\`.`,
        );
      const identity = { id: newId("access-rules"), organizationId: organization.id, message, createdAt: now() };
      const row = newAccessRule(body.attributes, identity);
      await insertAccessRule(tx, organization, row);
      if (row.enabled === 1) await countEnabledRules(tx, organization, organization.id);
      const view = accessRuleViewIn(row, organization);
      await recordChange(tx, context, accessRules, { after: view });
      await context.hooks.accessViolations.requestViolationScan(tx, context, organization, organization.id);
      return { view };
    });
  },

  async listAccessRules({ context, params, query }) {
    const tx = context.database.reader;
    const organization = authorizeOrganization(
      await loadOrganization(tx, context, params.organizationName),
      "can-update",
    );
    return { ...(await listAccessRuleRows(tx, organization, query.page)), changesWith: organization.id };
  },

  async validatePolicy({ context, params, body }) {
    const { id } = authorizeOrganization(
      await loadOrganization(context.database.reader, context, params.organizationName),
      "can-update",
    );
    throwIfInvalid([...(await checkPolicy(id, body.data.attributes.policy)).faults]);
  },

  async showAccessRuleSchema({ context, params }) {
    await loadOrganization(context.database.reader, context, params.organizationName);
    const bytes = Buffer.from(cedarSchema);
    return { size: bytes.length, bytes: singleChunk(bytes) };
  },

  async showAccessRule({ context, params }) {
    const view = await loadAccessRule(context.database.reader, context, params.accessRuleId);
    return { view, changesWith: view.organizationId };
  },

  async updateAccessRule({ context, params, body }) {
    const { policy } = body.attributes;
    const parsed = policy === undefined ? undefined : await checkNewPolicy(context, params.accessRuleId, policy);
    return context.database.write(async (tx) => {
      const rule = await loadToWrite(tx, context, params.accessRuleId);
      context.ifMatch.check(rule);
      const requested = changesOf<AccessRuleView>(rule, changedColumns(accessRules, body.attributes));
      if (requested === undefined) return { view: rule };
      const isRenamed = requested.nameKey !== undefined && requested.nameKey !== rule.nameKey;
      const isTaken = isRenamed && (await countRules(tx, rule.organizationId, requested.name ?? "")).withName > 0;
      throwIfInvalid([...(parsed?.faults ?? []), ...(isTaken ? [nameTaken()] : [])]);
      const changes = { ...requested, ...(parsed && { message: parsed.message }), updatedAt: now() };
      await updateAccessRuleRow(tx, rule, changes);
      if (requested.enabled !== undefined) await countEnabledRules(tx, rule, rule.organizationId);
      const view = afterUpdate<AccessRuleView>(rule, changes);
      await recordChange(tx, context, accessRules, { before: rule, after: view });
      await context.hooks.accessViolations.requestViolationScan(tx, context, rule, rule.organizationId);
      return { view };
    });
  },

  async deleteAccessRule({ context, params }) {
    await context.database.write(async (tx) => {
      const rule = await loadToWrite(tx, context, params.accessRuleId);
      context.ifMatch.check(rule);
      await deleteAccessRuleRow(tx, rule);
      if (rule.enabled === 1) await countEnabledRules(tx, rule, rule.organizationId);
      await recordChange(tx, context, accessRules, { before: rule });
      await context.hooks.accessViolations.requestViolationScan(tx, context, rule, rule.organizationId);
    });
  },
});

async function checkNewPolicy(context: Context, id: string, policy: string): Promise<ParsedPolicy> {
  const { organizationId } = await loadAccessRule(context.database.reader, context, id);
  return checkPolicy(organizationId, policy);
}

/** Throws `not-found` or `forbidden`. */
async function loadAccessRule(tx: Tx, { actor }: Context, id: string): Promise<Granted<AccessRuleView, "can-update">> {
  const [rule] = await findAccessRules(tx, actor, [id]);
  if (rule === undefined) throw notFound("access rule");
  return authorizeAccessRule(rule);
}

/** Authorizes before the lock, so that other callers can't hold it, and again after it, because the owner may have been removed meanwhile. */
async function loadToWrite(tx: Tx, context: Context, id: string): Promise<Granted<AccessRuleView, "can-update">> {
  await lockAccessRule(tx, await loadAccessRule(tx, context, id));
  return loadAccessRule(tx, context, id);
}
