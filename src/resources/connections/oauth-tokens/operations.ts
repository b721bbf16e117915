/** Operations on OAuth tokens: load → authorize → decide → write. The SSH key is encrypted before it is stored. */
import { recordChange } from "../../shared/audit-events/writes.ts";
import { loadOauthClient, loadOrganizationForConnections } from "../oauth-clients/reads.ts";
import { touchOauthClient } from "../oauth-clients/writes.ts";
import { implement } from "../../shared/context.ts";
import { disconnectWorkspaces, lockConnected } from "../../register/workspaces/writes.ts";
import { afterUpdate } from "../../shared/versions.ts";
import { oauthTokens, type OauthTokenView } from "./definition.ts";
import { authorizeOauthToken, loadOauthToken } from "./reads.ts";
import { sshKeyOwner } from "./rules.ts";
import { deleteOauthTokenRow, listOauthTokenRows, updateSshKey } from "./store.ts";

export const oauthTokenResource = implement(oauthTokens, {
  async listOauthTokens({ context, params, query }) {
    const tx = context.database.reader;
    const { id, standing } = await loadOrganizationForConnections(tx, context, params.organizationName);
    return listOauthTokenRows(tx, { organizationId: id, standing }, query.page);
  },

  async listOauthClientTokens({ context, params, query }) {
    const tx = context.database.reader;
    const client = await loadOauthClient(tx, context, params.oauthClientId);
    return listOauthTokenRows(tx, { ...client, oauthClientId: client.id }, query.page);
  },

  async showOauthToken({ context, params }) {
    return { view: await loadOauthToken(context.database.reader, context, params.oauthTokenId) };
  },

  async updateOauthToken({ context, params, body }) {
    return context.database.write(async (tx) => {
      const token = authorizeOauthToken(await loadOauthToken(tx, context, params.oauthTokenId, "change"));
      context.ifMatch.check(token);
      const { sshKey } = body.attributes;
      if (sshKey === undefined || (sshKey === null && token.hasSshKey === 0)) return { view: token };
      const encrypted = sshKey === null ? null : context.vault.seal(sshKeyOwner(token.id), Buffer.from(sshKey));
      await updateSshKey(tx, token, encrypted);
      const changed = afterUpdate<OauthTokenView>(token, { hasSshKey: encrypted === null ? 0 : 1 });
      const replaced = encrypted === null ? undefined : { "replaced-secrets": ["ssh-key"] };
      await recordChange(tx, context, oauthTokens, { before: token, after: changed }, { after: replaced });
      return { view: changed };
    });
  },

  async deleteOauthToken({ context, params }) {
    return context.database.write(async (tx) => {
      const found = authorizeOauthToken(await loadOauthToken(tx, context, params.oauthTokenId, "organization-only"));
      const { organizationId, id, oauthClientId } = found;
      const connected = { organizationId, by: "vcsOauthTokenId", ids: [id] } as const;
      const lockedIds = await lockConnected(tx, connected);
      await touchOauthClient(tx, found);
      const token = authorizeOauthToken(await loadOauthToken(tx, context, id, "removal"));
      context.ifMatch.check(token);
      await disconnectWorkspaces(tx, token, connected, lockedIds);
      await deleteOauthTokenRow(tx, token);
      await recordChange(tx, context, oauthTokens, { before: token }, { before: { "oauth-client": oauthClientId } });
    });
  },
});
