/** Pure rules of OAuth tokens. */
import type { OauthTokenTable } from "../../../database/schema/connections.ts";

/** What each secret is encrypted for, so that it can't be moved to another row or column. */
export const secretOwner = (id: string): string => `oauth_tokens/${id}/secret`;
export const sshKeyOwner = (id: string): string => `oauth_tokens/${id}/ssh_key`;

/** The row without its secrets, which are encrypted for the row's id. */
export function newToken(
  owner: Pick<OauthTokenTable, "organizationId" | "oauthClientId">,
  identity: Pick<OauthTokenTable, "id" | "createdAt">,
): Omit<OauthTokenTable, "secret" | "sshKey"> {
  return {
    ...identity,
    ...owner,
    uid: "",
    serviceProviderUser: "",
    version: 1,
  };
}
