/** Pure rules of OAuth tokens. */
import type { OauthTokenTable } from "../../../database/schema/connections.ts";

export const secretOwner = (id: string): string => `oauth_tokens/${id}/secret`;
export const sshKeyOwner = (id: string): string => `oauth_tokens/${id}/ssh_key`;

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
