/**
 * Operations on OAuth clients: load → authorize → decide → write. Secrets are sealed before they are stored, and left out of
 * the trail.
 */
import type { Tx } from "../../../database/database.ts";
import type { Included } from "../../../jsonapi/define.ts";
import { auditedAttributes } from "../../../jsonapi/document.ts";
import { refuseIfAny } from "../../../kernel/errors.ts";
import { newId } from "../../../kernel/ids.ts";
import { now } from "../../../kernel/time.ts";
import { recordChange, recordEvent } from "../../shared/audit-events/writes.ts";
import { oauthTokens } from "../oauth-tokens/definition.ts";
import { tokensOfClients } from "../oauth-tokens/reads.ts";
import { addOauthToken, disconnectWorkspaces, replaceOauthToken, touchWorkspaces } from "../oauth-tokens/writes.ts";
import { grantOrganization, loadOrganization } from "../../identity/organizations/reads.ts";
import { changesOf } from "../../shared/changes.ts";
import { type Context, implement } from "../../shared/context.ts";
import { checkIfMatch } from "../../shared/preconditions.ts";
import { oauthClients, type OauthClientView } from "./definition.ts";
import { connectionsNeed, grantOauthClient, loadOauthClient, loadOrganizationForConnections } from "./reads.ts";
import { creationFaults, newClient, replacedSecrets, secretOwner, toColumns } from "./rules.ts";
import { deleteOauthClientRow, insertOauthClient, listOauthClientRows, updateOauthClientRow } from "./store.ts";

export const oauthClientResource = implement(oauthClients, {
  async listOauthClients({ context, params, query }) {
    const tx = context.database.reader;
    const organization = await loadOrganizationForConnections(tx, context, params.organizationName);
    const { views, totalCount } = await listOauthClientRows(tx, organization, query.page);
    return { views, totalCount, ...(await withTokens(tx, views, query.include)) };
  },

  async createOauthClient({ context, params, body }) {
    return context.database.write(async (tx) => {
      const organization = grantOrganization(
        await loadOrganization(tx, context, params.organizationName),
        "can-update-oauth",
        connectionsNeed,
      );
      const { attributes } = body;
      refuseIfAny(creationFaults(attributes));
      const identity = { id: newId("oauth-clients"), organizationId: organization.id, createdAt: now() };
      const row = newClient(attributes, identity);
      await insertOauthClient(tx, { ...row, secret: sealed(context, row.id, attributes.secret ?? null) });
      const { oauthTokenString, privateKey } = attributes;
      const tokenIds =
        oauthTokenString == null
          ? []
          : [await addOauthToken(tx, context, row, { secret: oauthTokenString, sshKey: privateKey ?? null })];
      const view = { ...row, organizationName: organization.name, standing: organization.standing, tokenIds };
      await recordChange(tx, context, oauthClients, { after: view });
      return { view };
    });
  },

  async showOauthClient({ context, params, query }) {
    const tx = context.database.reader;
    const view = await loadOauthClient(tx, context, params.oauthClientId);
    return { view, ...(await withTokens(tx, [view], query.include)) };
  },

  async updateOauthClient({ context, params, body, ifMatch }) {
    return context.database.write(async (tx) => {
      const client = grantOauthClient(await loadOauthClient(tx, context, params.oauthClientId, true));
      checkIfMatch(ifMatch, oauthClients, client);
      const { secret, oauthTokenString } = body.attributes;
      const changes = changesOf<OauthClientView>(client, toColumns(body.attributes));
      const replaced = replacedSecrets(body.attributes);
      if (changes === undefined && replaced.length === 0) return { view: client };
      await updateOauthClientRow(tx, client, {
        ...changes,
        ...(secret !== undefined && { secret: sealed(context, client.id, secret) }),
      });
      const tokenIds =
        oauthTokenString == null ? client.tokenIds : await keepToken(tx, context, client, oauthTokenString);
      const changed = { ...client, ...changes, tokenIds, version: client.version + 1 };
      // The documents of its workspaces show its name.
      if (changes?.name !== undefined) await touchWorkspaces(tx, client.organizationId, tokenIds);
      await recordUpdate(tx, context, client, changed, replaced);
      return { view: changed };
    });
  },

  async deleteOauthClient({ context, params, ifMatch }) {
    return context.database.write(async (tx) => {
      const client = grantOauthClient(await loadOauthClient(tx, context, params.oauthClientId, true));
      checkIfMatch(ifMatch, oauthClients, client);
      await disconnectWorkspaces(tx, client.organizationId, client.tokenIds);
      await deleteOauthClientRow(tx, client);
      await recordChange(tx, context, oauthClients, { before: client });
    });
  },
});

function sealed({ vault }: Context, id: string, secret: string | null): Uint8Array | null {
  return secret === null ? null : vault.seal(secretOwner(id), Buffer.from(secret));
}

/** Workspaces are connected by a token's id, so a new secret goes under the id that is there. */
async function keepToken(
  tx: Tx,
  context: Context,
  client: OauthClientView,
  secret: string,
): Promise<readonly string[]> {
  const [first] = client.tokenIds;
  if (first === undefined) return [await addOauthToken(tx, context, client, { secret, sshKey: null })];
  await replaceOauthToken(tx, context, first, secret);
  return client.tokenIds;
}

/** The tokens' documents, for `include`, in one statement. Who may see a client may see its tokens. */
async function withTokens(
  tx: Tx,
  views: readonly OauthClientView[],
  wanted: ReadonlySet<"oauth_tokens">,
): Promise<{ included?: Included[] }> {
  if (!wanted.has("oauth_tokens")) return {};
  const tokens = await tokensOfClients(tx, views);
  return { included: tokens.map((view) => ({ definition: oauthTokens, view })) };
}

/** The trail says which secrets were replaced, never by what. */
async function recordUpdate(
  tx: Tx,
  context: Context,
  before: OauthClientView,
  after: OauthClientView,
  replaced: readonly string[],
): Promise<void> {
  await recordEvent(tx, context, {
    organizationId: before.organizationId,
    verb: "update",
    subject: { type: oauthClients.type, id: before.id },
    before: auditedAttributes(oauthClients, before),
    after: {
      ...auditedAttributes(oauthClients, after),
      ...(replaced.length > 0 && { "replaced-secrets": replaced }),
    },
  });
}
