/** Operations on OAuth clients: load → authorize → decide → write. Secrets are stored encrypted and never recorded in the audit log. */
import type { Tx } from "../../../database/database.ts";
import { changedColumns } from "../../../jsonapi/columns.ts";
import type { ResourceIdentifier } from "../../../jsonapi/define.ts";
import { throwIfInvalid } from "../../../kernel/errors.ts";
import { newId, newSecret } from "../../../kernel/ids.ts";
import { now, nowMs } from "../../../kernel/time.ts";
import { factsOf } from "../../identity/organizations/definition.ts";
import { authorizeOrganization, loadOrganization } from "../../identity/organizations/reads.ts";
import { recordChange, recordEvent } from "../../shared/audit-events/writes.ts";
import { changesOf } from "../../shared/changes.ts";
import { type Context, implement } from "../../shared/context.ts";
import { loadIncluded } from "../../shared/includes.ts";
import { afterUpdate } from "../../shared/versions.ts";
import { addOauthToken, lockTokensOfClient, replaceOauthToken } from "../oauth-tokens/writes.ts";
import {
  type ConnectionFilter,
  disconnectWorkspaces,
  lockConnected,
  touchConnected,
} from "../../register/workspaces/writes.ts";
import { oauthClients, type OauthClientView } from "./definition.ts";
import { connectionsNeed, authorizeOauthClient, loadOauthClient, loadOrganizationForConnections } from "./reads.ts";
import {
  changeFaults,
  creationFaults,
  formerSecretMs,
  linkagePointer,
  uniqueSorted,
  relationshipPointer,
  newClient,
  projectFaults,
  replacedSecrets,
  secretOwner,
  webhookSecretOwner,
} from "./rules.ts";
import {
  addProjects,
  type ManagedOauthClient,
  deleteOauthClientRow,
  insertOauthClient,
  lockKnownProjects,
  listOauthClientRows,
  removeProjects,
  replaceWebhookSecret,
  updateOauthClientRow,
} from "./store.ts";

export const oauthClientResource = implement(oauthClients, {
  async listOauthClients({ context, params, query }) {
    const tx = context.database.reader;
    const organization = await loadOrganizationForConnections(tx, context, params.organizationName);
    const { views, totalCount } = await listOauthClientRows(tx, organization, query.page);
    return { views, totalCount, included: await loadIncluded(tx, context, oauthClients, views, query.include) };
  },

  async createOauthClient({ context, params, body }) {
    return context.database.write(async (tx) => {
      const organization = authorizeOrganization(
        await loadOrganization(tx, context, params.organizationName),
        "can-update-oauth",
        connectionsNeed,
      );
      const { attributes, relationships } = body;
      const { projects: sent = [] } = relationships;
      const known = await lockKnownProjects(tx, organization.id, sent);
      throwIfInvalid([...creationFaults(attributes), ...projectFaults(sent, known, relationshipPointer)]);
      const projectIds = uniqueSorted(sent);
      const row = newClient(attributes, {
        id: newId("oauth-clients"),
        organizationId: organization.id,
        linkedCount: projectIds.length,
        createdAt: now(),
      });
      const { webhookSecret, generated } = encryptWebhookSecret(context, row.id, attributes.webhookSecret);
      const secrets = {
        secret: encryptSecret(context, row.id, attributes.secret ?? null),
        webhookSecret,
        ...noFormerSecret,
      };
      await insertOauthClient(tx, organization, { ...row, ...secrets }, projectIds);
      const { oauthTokenString, privateKey } = attributes;
      const tokenIds =
        oauthTokenString == null
          ? []
          : [
              await addOauthToken(
                tx,
                context,
                organization,
                { organizationId: row.organizationId, oauthClientId: row.id },
                { secret: oauthTokenString, sshKey: privateKey ?? null },
              ),
            ];
      const view = { ...row, ...factsOf(organization), standing: organization.standing, tokenIds, projectIds };
      await record(tx, context, { after: view });
      return { view: { ...view, generatedWebhookSecret: generated } };
    });
  },

  async showOauthClient({ context, params, query }) {
    const tx = context.database.reader;
    const view = await loadOauthClient(tx, context, params.oauthClientId);
    return { view, included: await loadIncluded(tx, context, oauthClients, [view], query.include) };
  },

  async updateOauthClient({ context, params, body }) {
    return context.database.write(async (tx) => {
      const { secret, oauthTokenString } = body.attributes;
      const { projects: sent } = body.relationships;
      const { connectedWorkspaces, known } = await lockBeforeClient(tx, context, params.oauthClientId, body);
      const client = authorizeOauthClient(await loadOauthClient(tx, context, params.oauthClientId, "change"));
      context.ifMatch.check(client);
      throwIfInvalid(changeFaults(client, body.attributes));
      const changes = changesOf<OauthClientView>(client, changedColumns(oauthClients, body.attributes));
      const replaced = replacedSecrets(body.attributes);
      const projectIds = sent === undefined ? client.projectIds : uniqueSorted(sent);
      const areProjectsChanged = projectIds.join() !== client.projectIds.join();
      if (changes === undefined && replaced.length === 0 && !areProjectsChanged) return { view: client };
      throwIfInvalid(projectFaults(sent ?? [], known, relationshipPointer));
      const tokenIds =
        oauthTokenString == null ? client.tokenIds : await upsertToken(tx, context, client, oauthTokenString);
      await updateOauthClientRow(
        tx,
        client,
        { ...changes, ...(secret !== undefined && { secret: encryptSecret(context, client.id, secret) }) },
        areProjectsChanged ? await replaceProjects(tx, client, projectIds) : 0,
      );
      const generated = await rotateWebhookSecret(tx, context, client, body.attributes.webhookSecret);
      const changed = afterUpdate<OauthClientView>(client, { ...changes, tokenIds, projectIds });
      if (changes?.name !== undefined && connectedWorkspaces !== undefined)
        await touchConnected(tx, client, ...connectedWorkspaces);
      await record(tx, context, { before: client, after: changed }, replaced);
      return { view: { ...changed, generatedWebhookSecret: generated } };
    });
  },

  async deleteOauthClient({ context, params }) {
    return context.database.write(async (tx) => {
      const [connected, lockedIds] = await lockConnectedWorkspaces(
        tx,
        await loadWithOrganizationLocked(tx, context, params.oauthClientId),
      );
      const client = authorizeOauthClient(await loadOauthClient(tx, context, params.oauthClientId, "removal"));
      context.ifMatch.check(client);
      await lockTokensOfClient(tx, client, connected.ids);
      await disconnectWorkspaces(tx, client, connected, lockedIds);
      await deleteOauthClientRow(tx, client);
      await record(tx, context, { before: client });
    });
  },

  async addOauthClientProjects({ context, params, body }) {
    await changeProjects(context, params.oauthClientId, { verb: "add", body });
  },

  async removeOauthClientProjects({ context, params, body }) {
    await changeProjects(context, params.oauthClientId, { verb: "remove", body });
  },
});

/** Locks only the organization, because workspaces and projects are locked before the client. Throws `forbidden` or `not-found`. */
async function loadWithOrganizationLocked(tx: Tx, context: Context, id: string): Promise<ManagedOauthClient> {
  return authorizeOauthClient(await loadOauthClient(tx, context, id, "organization-only"));
}

/** Locks the connected workspaces, because their documents show the client's name. */
async function lockConnectedWorkspaces(
  tx: Tx,
  { organizationId, tokenIds }: ManagedOauthClient,
): Promise<[ConnectionFilter, string[]]> {
  const connected = { organizationId, by: "vcsOauthTokenId", ids: tokenIds } as const;
  return [connected, await lockConnected(tx, connected)];
}

/** Lock order: workspaces, projects, client. */
async function lockBeforeClient(
  tx: Tx,
  context: Context,
  id: string,
  { attributes: { name }, relationships: { projects: sent } }: OauthClientUpdateBody,
): Promise<{ connectedWorkspaces?: [ConnectionFilter, string[]]; known: ReadonlySet<string> }> {
  if (name === undefined && sent === undefined) return { known: new Set() };
  const client = await loadWithOrganizationLocked(tx, context, id);
  const connectedWorkspaces = name === undefined ? undefined : await lockConnectedWorkspaces(tx, client);
  const known = await lockKnownProjects(tx, client.organizationId, sent ?? []);
  return { ...(connectedWorkspaces && { connectedWorkspaces }), known };
}

interface OauthClientUpdateBody {
  readonly attributes: { readonly name?: string | null | undefined };
  readonly relationships: { readonly projects?: readonly string[] };
}

function encryptSecret({ vault }: Context, id: string, secret: string | null): Uint8Array | null {
  return secret === null ? null : vault.seal(secretOwner(id), Buffer.from(secret));
}

const noFormerSecret = { formerWebhookSecret: null, formerWebhookSecretUntil: null };

function encryptWebhookSecret({ vault }: Context, id: string, sent: string | null | undefined) {
  const generated = sent == null ? newSecret() : undefined;
  return { webhookSecret: vault.seal(webhookSecretOwner(id), Buffer.from(sent ?? generated ?? "")), generated };
}

async function rotateWebhookSecret(
  tx: Tx,
  context: Context,
  client: ManagedOauthClient,
  sent: string | null | undefined,
): Promise<string | undefined> {
  if (sent === undefined) return undefined;
  const { webhookSecret, generated } = encryptWebhookSecret(context, client.id, sent);
  await replaceWebhookSecret(tx, client, webhookSecret, new Date(nowMs() + formerSecretMs).toISOString());
  return generated;
}

/** Workspaces refer to a token's id, so a new secret keeps the id. */
async function upsertToken(
  tx: Tx,
  context: Context,
  client: ManagedOauthClient,
  secret: string,
): Promise<readonly string[]> {
  const [first] = client.tokenIds;
  if (first === undefined) {
    const owner = { organizationId: client.organizationId, oauthClientId: client.id };
    return [await addOauthToken(tx, context, client, owner, { secret, sshKey: null })];
  }
  await replaceOauthToken(tx, context, client, first, secret);
  return client.tokenIds;
}

async function replaceProjects(tx: Tx, client: ManagedOauthClient, projectIds: readonly string[]): Promise<number> {
  const [before, after] = [new Set(client.projectIds), new Set(projectIds)];
  const [removedIds, addedIds] = [[...before.difference(after)], [...after.difference(before)]];
  const removed = await removeProjects(tx, client, removedIds);
  const added = await addProjects(tx, client, addedIds);
  return added.length - removed.length;
}

interface ProjectListChange {
  readonly verb: "add" | "remove";
  readonly body: readonly ResourceIdentifier[];
}

async function changeProjects(context: Context, id: string, { verb, body }: ProjectListChange): Promise<void> {
  await context.database.write(async (tx) => {
    const sent = body.map((item) => item.id);
    const known = await lockKnownProjects(tx, (await loadWithOrganizationLocked(tx, context, id)).organizationId, sent);
    const client = authorizeOauthClient(await loadOauthClient(tx, context, id, "change"));
    context.ifMatch?.check(client);
    throwIfInvalid(projectFaults(sent, known, linkagePointer));
    const ids = await (verb === "add" ? addProjects : removeProjects)(tx, client, uniqueSorted(sent));
    if (ids.length === 0) return;
    await updateOauthClientRow(tx, client, {}, verb === "add" ? ids.length : -ids.length);
    await recordEvent(tx, context, {
      organizationId: client.organizationId,
      verb: `${verb}-projects`,
      subject: { type: oauthClients.type, id: client.id },
      before: { projects: verb === "add" ? [] : ids },
      after: { projects: verb === "add" ? ids : [] },
    });
  });
}

async function record(
  tx: Tx,
  context: Context,
  change: { before?: OauthClientView; after?: OauthClientView },
  replaced: readonly string[] = [],
): Promise<void> {
  const { before, after } = change;
  await recordChange(tx, context, oauthClients, change, {
    before: before && { projects: before.projectIds },
    after: after && { projects: after.projectIds, ...(replaced.length > 0 && { "replaced-secrets": replaced }) },
  });
}
