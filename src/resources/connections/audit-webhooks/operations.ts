/** Operations on audit webhooks: load → authorize → verify the address → load again, locked → write. */
import { authorize, type Granted } from "../../../access/granted.ts";
import { organizationPermissionNeeds, organizationPermissions } from "../../../access/permissions/organization.ts";
import type { Tx } from "../../../database/database.ts";
import { notFound, throwIfInvalid } from "../../../kernel/errors.ts";
import { newId } from "../../../kernel/ids.ts";
import { now } from "../../../kernel/time.ts";
import { factsOf } from "../../identity/organizations/definition.ts";
import { authorizeOrganization, loadOrganization } from "../../identity/organizations/reads.ts";
import { checkNameAvailability } from "../../shared/name-availability.ts";
import { recordChange, recordEvent } from "../../shared/audit-events/writes.ts";
import { changesOf } from "../../shared/changes.ts";
import { type Context, implement } from "../../shared/context.ts";
import type { RowLock } from "../../shared/locks.ts";
import type { Verification } from "../../shared/outbox/delivery.ts";
import { recordVerification, listDeliveries } from "../../shared/outbox/writes.ts";
import { afterUpdate } from "../../shared/versions.ts";
import { auditWebhookKind, decryptToken, decryptUrl, verify } from "./sender.ts";
import { auditWebhooks, type AuditWebhookView as View } from "./definition.ts";
import {
  changedWebhook,
  nameTaken,
  needsVerification,
  newWebhook,
  tokenOwner,
  tooMany,
  urlOwner,
  webhooksMax,
} from "./rules.ts";
import * as store from "./store.ts";

const permission = "can-manage-auditing";

export const auditWebhookResource = implement(auditWebhooks, {
  async listAuditWebhooks({ context, params, query }) {
    const tx = context.database.reader;
    const organization = await loadOrganization(tx, context, params.organizationName);
    const { rows, totalCount } = await store.listWebhooks(
      tx,
      authorizeOrganization(organization, permission),
      query.page,
    );
    return { views: rows.map((row) => toView(context, row)), totalCount };
  },

  async createAuditWebhook({ context, params, body }) {
    const { attributes } = body;
    const { url, token = null } = attributes;
    const load = async (tx: Tx) =>
      authorizeOrganization(await loadOrganization(tx, context, params.organizationName), permission);
    const current = await load(context.database.reader);
    const row = newWebhook(attributes, { id: newId("audit-webhooks"), organizationId: current.id, createdAt: now() });
    const request = { id: row.id, organizationName: current.name, url, token };
    const verified = row.enabled === 1 ? await verify(context, request) : undefined;
    if (verified) row.lastDelivery = JSON.stringify(verified.response);
    return context.database.write(async (tx) => {
      const organization = await load(tx);
      const { count, isTaken } = await checkNameAvailability(tx, "auditWebhooks", organization.id, row.name);
      throwIfInvalid([...(isTaken ? [nameTaken()] : []), ...(count >= webhooksMax ? [tooMany()] : [])]);
      const secrets = {
        url: encrypt(context, urlOwner(row.id), url),
        token: token === null ? null : encrypt(context, tokenOwner(row.id), token),
      };
      await store.insertWebhook(tx, organization, { ...row, ...secrets });
      const view = { ...row, ...factsOf(organization), standing: organization.standing, decryptedUrl: url };
      await recordChange(tx, context, auditWebhooks, { after: view }, { after: { destination: view.destination } });
      await recordIfVerified(tx, view, verified);
      return { view };
    });
  },

  async showAuditWebhook({ context, params }) {
    const { view } = await load(context.database.reader, context, params.auditWebhookId);
    return { view };
  },

  async updateAuditWebhook({ context, params, body }) {
    const id = params.auditWebhookId;
    const { token } = body.attributes;
    const input = changedWebhook(body.attributes);
    const current = await load(context.database.reader, context, id);
    context.ifMatch.check(current.view);
    const proposed = { ...current.view, ...input };
    const verified = needsVerification(current.view, proposed, token)
      ? await verify(context, {
          id,
          organizationName: proposed.organizationName,
          url: proposed.decryptedUrl,
          token: token === undefined ? current.token : token,
        })
      : undefined;
    return context.database.write(async (tx) => {
      const { view: before } = await load(tx, context, id, "change");
      context.ifMatch.check(before);
      const changes = changesOf<View>(before, input);
      if (changes === undefined && token === undefined && verified === undefined) return { view: before };
      const extra = { updatedAt: now(), ...(verified && { lastDelivery: JSON.stringify(verified.response) }) };
      const after = afterUpdate<View>(before, { ...changes, ...extra });
      const isRenamed = after.nameKey !== before.nameKey;
      const isTaken =
        isRenamed && (await checkNameAvailability(tx, "auditWebhooks", before.organizationId, after.name)).isTaken;
      throwIfInvalid(isTaken ? [nameTaken()] : []);
      await write(tx, context, { before, after, changes: { ...changes, ...extra }, token });
      await recordIfVerified(tx, after, verified);
      return { view: after };
    });
  },

  async deleteAuditWebhook({ context, params }) {
    await context.database.write(async (tx) => {
      const { view } = await load(tx, context, params.auditWebhookId, "removal");
      context.ifMatch.check(view);
      await store.deleteWebhook(tx, view);
      await recordChange(tx, context, auditWebhooks, { before: view }, { before: { destination: view.destination } });
    });
  },

  async listAuditWebhookDeliveries({ context, params, query }) {
    const tx = context.database.reader;
    const { view } = await load(tx, context, params.auditWebhookId);
    return listDeliveries(tx, view, query.page);
  },

  async verifyAuditWebhook({ context, params }) {
    const id = params.auditWebhookId;
    const { view: current, token } = await load(context.database.reader, context, id);
    const { organizationName, decryptedUrl: url } = current;
    const verified = await verify(context, { id, organizationName, url, token });
    const lastDelivery = JSON.stringify(verified.response);
    return context.database.write(async (tx) => {
      const { view } = await load(tx, context, id, "change");
      await store.updateWebhook(tx, view, { lastDelivery });
      const subject = { type: auditWebhooks.type, id };
      await recordEvent(tx, context, { organizationId: view.organizationId, verb: "verify", subject });
      await recordIfVerified(tx, view, verified);
      return { view: afterUpdate<View>(view, { lastDelivery }) };
    });
  },
});

interface AuditWebhookChange {
  readonly before: Granted<View, typeof permission>;
  readonly after: View;
  readonly changes: Partial<View>;
  readonly token: string | null | undefined;
}

async function write(tx: Tx, context: Context, { before, after, changes, token }: AuditWebhookChange): Promise<void> {
  const { decryptedUrl, ...columns } = changes;
  await store.updateWebhook(tx, before, {
    ...columns,
    ...(decryptedUrl !== undefined && { url: encrypt(context, urlOwner(before.id), decryptedUrl) }),
    ...(token !== undefined && { token: token === null ? null : encrypt(context, tokenOwner(before.id), token) }),
  });
  const replaced = [...(decryptedUrl === undefined ? [] : ["url"]), ...(token === undefined ? [] : ["token"])];
  await recordChange(
    tx,
    context,
    auditWebhooks,
    { before, after },
    {
      before: { destination: before.destination },
      after: { destination: after.destination, ...(replaced.length > 0 && { "replaced-secrets": replaced }) },
    },
  );
}

async function recordIfVerified(tx: Tx, view: View, verified: Verification | undefined): Promise<void> {
  const { id: subjectId, organizationId, destination } = view;
  if (verified)
    await recordVerification(tx, { organizationId, kind: auditWebhookKind, subjectId, destination }, verified);
}

/** Throws `forbidden`, or `not-found` if the caller is not a member. */
async function load(
  tx: Tx,
  context: Context,
  id: string,
  lock: RowLock = false,
): Promise<{ view: Granted<View, typeof permission>; token: string | null }> {
  const thing = "audit webhook";
  const row = await store.findWebhook(tx, context.actor, id, lock);
  if (row === undefined) throw notFound(thing);
  const view = authorize(toView(context, row), {
    thing,
    permission,
    visible: row.standing.member,
    allowed: organizationPermissions(row.standing)[permission],
    needs: organizationPermissionNeeds[permission] ?? "ownership of the organization",
  });
  return { view, token: decryptToken(context.vault, row) };
}

/** Callers who can change the address can see it. */
function toView(context: Context, row: store.AuditWebhookRow): View {
  const { url, token, ...columns } = row;
  void token;
  return { ...columns, decryptedUrl: decryptUrl(context.vault, { id: row.id, url }) };
}

const encrypt = ({ vault }: Context, owner: string, value: string): Uint8Array => vault.seal(owner, Buffer.from(value));
