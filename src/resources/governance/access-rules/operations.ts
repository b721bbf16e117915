/** Operations on access rules: load → authorize → decide → write. */
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
  findAccessRule,
  insertAccessRule,
  listAccessRuleRows,
  updateAccessRuleRow,
} from "./store.ts";
import { parsePolicy } from "./policy.ts";

export const accessRuleResource = implement(accessRules, {
  async createAccessRule({ context, params, body }) {
    const load = async (tx: Tx, lock: "removal" | false) =>
      authorizeOrganization(await loadOrganization(tx, context, params.organizationName, lock), "can-update");
    // Before the transaction, which excludes all other writes in the organization: a hostile policy takes a second.
    await load(context.database.reader, false);
    const { faults, message } = parsePolicy(body.attributes.policy);
    return context.database.write(async (tx) => {
      const organization = await load(tx, "removal");
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
    authorizeOrganization(
      await loadOrganization(context.database.reader, context, params.organizationName),
      "can-update",
    );
    throwIfInvalid([...parsePolicy(body.data.attributes.policy).faults]);
  },

  async showAccessRuleSchema({ context, params }) {
    await loadOrganization(context.database.reader, context, params.organizationName);
    const bytes = Buffer.from(cedarSchema);
    return { size: bytes.length, bytes: once(bytes) };
  },

  async showAccessRule({ context, params }) {
    const view = await loadAccessRule(context.database.reader, context, params.accessRuleId, "read");
    return { view, changesWith: view.organizationId };
  },

  async updateAccessRule({ context, params, body }) {
    const { policy } = body.attributes;
    if (policy !== undefined) await loadAccessRule(context.database.reader, context, params.accessRuleId, "read");
    const parsed = policy === undefined ? undefined : parsePolicy(policy);
    return context.database.write(async (tx) => {
      const rule = await loadAccessRule(tx, context, params.accessRuleId, "write");
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
      const rule = await loadAccessRule(tx, context, params.accessRuleId, "write");
      context.ifMatch.check(rule);
      await deleteAccessRuleRow(tx, rule);
      if (rule.enabled === 1) await countEnabledRules(tx, rule, rule.organizationId);
      await recordChange(tx, context, accessRules, { before: rule });
      await context.hooks.accessViolations.requestViolationScan(tx, context, rule, rule.organizationId);
    });
  },
});

/** Throws `not-found` or `forbidden`. */
async function loadAccessRule(
  tx: Tx,
  { actor }: Context,
  id: string,
  purpose: "read" | "write",
): Promise<Granted<AccessRuleView, "can-update">> {
  const rule = await findAccessRule(tx, actor, id, purpose);
  if (rule === undefined) throw notFound("access rule");
  return authorizeAccessRule(rule);
}

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}
