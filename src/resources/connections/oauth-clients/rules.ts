/** Pure rules of OAuth clients. */
import type { OauthClientTable } from "../../../database/schema/connections.ts";
import type { CreateAttributes, UpdateAttributes } from "../../../jsonapi/define.ts";
import { attributeFault, type Fault } from "../../../kernel/errors.ts";
import { stored } from "../../shared/changes.ts";
import type { oauthClients } from "./definition.ts";
import { connectedByKeys } from "./providers.ts";

type Created = CreateAttributes<typeof oauthClients>;
type Changed = UpdateAttributes<typeof oauthClients>;

/** What a client's secret is sealed for, so that it can't be moved to another row. */
export const secretOwner = (id: string): string => `oauth_clients/${id}/secret`;

/** The row without its secret, which is sealed for the row's id. */
export function newClient(
  attributes: Created,
  identity: { id: string; organizationId: string; createdAt: string },
): Omit<OauthClientTable, "secret"> {
  return {
    ...identity,
    name: attributes.name ?? null,
    serviceProvider: attributes.serviceProvider,
    apiUrl: attributes.apiUrl,
    httpUrl: attributes.httpUrl,
    key: attributes.key ?? null,
    rsaPublicKey: attributes.rsaPublicKey ?? null,
    organizationScoped: stored(attributes.organizationScoped ?? true),
    version: 1,
  };
}

/** Attributes as the table stores them, without secrets; absent stays absent. */
export function toColumns(attributes: Changed): {
  readonly [Name in keyof Omit<OauthClientTable, "secret">]?: OauthClientTable[Name] | undefined;
} {
  const { name, key, rsaPublicKey, organizationScoped } = attributes;
  return { name, key, rsaPublicKey, organizationScoped: stored(organizationScoped) };
}

export function creationFaults({ serviceProvider, oauthTokenString, privateKey }: Created): Fault[] {
  const faults: Fault[] = [];
  if (oauthTokenString == null && !connectedByKeys.has(serviceProvider))
    faults.push(attributeFault("oauth-token-string", "Oauth token string can't be blank"));
  if (privateKey != null && serviceProvider !== "ado_server")
    faults.push(
      attributeFault("private-key", "Private key can only be sent where the service provider is 'ado_server'"),
    );
  if (privateKey != null && oauthTokenString == null)
    faults.push(attributeFault("private-key", "Private key can only be sent together with oauth-token-string"));
  return faults;
}

/** The names of the secrets that a request replaces, for the audit trail: never what they are. */
export function replacedSecrets({ secret, oauthTokenString }: Changed): string[] {
  return [...(secret === undefined ? [] : ["secret"]), ...(oauthTokenString == null ? [] : ["oauth-token-string"])];
}
