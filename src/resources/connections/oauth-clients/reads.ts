/** Reads of OAuth clients for other modules, and their permission checks. */
import { authorize, type Granted } from "../../../access/granted.ts";
import { canReadConnections, organizationPermissions } from "../../../access/permissions/organization.ts";
import type { Tx } from "../../../database/database.ts";
import { notFound } from "../../../kernel/errors.ts";
import { nowMs } from "../../../kernel/time.ts";
import type { OrganizationView } from "../../identity/organizations/definition.ts";
import { loadOrganization } from "../../identity/organizations/reads.ts";
import type { Context } from "../../shared/context.ts";
import type { RowLock } from "../../shared/locks.ts";
import type { ScopeTarget } from "../../shared/hooks.ts";
import type { OauthClientView } from "./definition.ts";
import { webhookSecretOwner } from "./rules.ts";
import { type ConnectionRow, findConnection, findOauthClient, isUsableByProject } from "./store.ts";

export const connectionsNeed = "the organization permission 'manage-vcs-settings'";
const readingNeeds = "the organization permission 'manage-vcs-settings', 'manage-workspaces' or 'manage-projects'";

/** Throws `forbidden` or `not-found`. */
export async function loadOrganizationForConnections(
  tx: Tx,
  context: Pick<Context, "actor">,
  name: string,
): Promise<OrganizationView> {
  const organization = await loadOrganization(tx, context, name);
  return authorize(organization, {
    thing: "organization",
    permission: "can-update-oauth",
    visible: organization.standing.member,
    allowed: canReadConnections(organization.standing),
    needs: readingNeeds,
  });
}

/** Throws `not-found` if the caller can't see the client. */
export async function loadOauthClient(
  tx: Tx,
  context: Pick<Context, "actor">,
  id: string,
  lock: RowLock = false,
): Promise<OauthClientView> {
  const client = await findOauthClient(tx, context.actor, id, lock);
  if (client === undefined || !canReadConnections(client.standing)) throw notFound("OAuth client");
  return client;
}

export function authorizeOauthClient(client: OauthClientView): Granted<OauthClientView, "can-update-oauth"> {
  return authorize(client, {
    thing: "OAuth client",
    permission: "can-update-oauth",
    visible: canReadConnections(client.standing),
    allowed: organizationPermissions(client.standing)["can-update-oauth"],
    needs: connectionsNeed,
  });
}

/** Also true if the token doesn't exist. */
export async function oauthTokenServes(
  tx: Tx,
  { organizationId, projectId }: ScopeTarget,
  oauthTokenId: string | null | undefined,
): Promise<boolean> {
  return !oauthTokenId || (await isUsableByProject(tx, organizationId, oauthTokenId, projectId));
}

export interface WebhookConnection extends Pick<
  ConnectionRow,
  "id" | "organizationId" | "serviceProvider" | "apiUrl" | "httpUrl" | "webhookSecretNumber"
> {
  readonly webhookSecrets: readonly string[];
}

/** No permission check: webhooks have no caller. */
export async function loadWebhookConnection(
  tx: Tx,
  { vault }: Pick<Context, "vault">,
  id: string,
): Promise<WebhookConnection | undefined> {
  const found = await findConnection(tx, id);
  if (found === undefined) return undefined;
  const { webhookSecret, formerWebhookSecret, formerWebhookSecretUntil, ...connection } = found;
  const isFormerValid = formerWebhookSecretUntil !== null && Date.parse(formerWebhookSecretUntil) > nowMs();
  const encrypted = [webhookSecret, isFormerValid ? formerWebhookSecret : null].filter((each) => each !== null);
  const decrypted = encrypted.map((each) => Buffer.from(vault.open(webhookSecretOwner(id), each)).toString());
  return { ...connection, webhookSecrets: decrypted };
}
