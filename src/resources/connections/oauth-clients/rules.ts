/** Pure rules of OAuth clients. */
import type { OauthClientTable } from "../../../database/schema/connections.ts";
import { createdColumns } from "../../../jsonapi/columns.ts";
import type { CreateAttributes, UpdateAttributes } from "../../../jsonapi/define.ts";
import { attributeFault, type Fault } from "../../../kernel/errors.ts";
import { quoted } from "../../../kernel/text.ts";
import { type OauthClientSecretColumn, oauthClients } from "./definition.ts";
import { keyPairProviders } from "./providers.ts";

type OauthClientCreateInput = CreateAttributes<typeof oauthClients>;
type OauthClientUpdateInput = UpdateAttributes<typeof oauthClients>;

export const secretOwner = (id: string): string => `oauth_clients/${id}/secret`;
/** Shared by the former webhook secret, whose ciphertext moves to another column. */
export const webhookSecretOwner = (id: string): string => `oauth_clients/${id}/webhook_secret`;

export const formerSecretMs = 24 * 3600 * 1000;

export function newClient(
  attributes: OauthClientCreateInput,
  identity: Pick<OauthClientTable, "id" | "organizationId" | "createdAt" | "linkedCount">,
): Omit<OauthClientTable, OauthClientSecretColumn> {
  return { ...createdColumns(oauthClients, attributes), ...identity, webhookSecretNumber: 1, version: 1 };
}

export function creationFaults({ serviceProvider, oauthTokenString, privateKey }: OauthClientCreateInput): Fault[] {
  const faults: Fault[] = [];
  if (oauthTokenString == null && !keyPairProviders.has(serviceProvider))
    faults.push(attributeFault("oauth-token-string", "Oauth token string can't be blank"));
  if (privateKey != null && serviceProvider !== "ado_server")
    faults.push(
      attributeFault("private-key", "Private key can only be sent where the service provider is 'ado_server'"),
    );
  if (privateKey != null && oauthTokenString == null)
    faults.push(attributeFault("private-key", "Private key can only be sent together with oauth-token-string"));
  return faults;
}

/** Providers that use a pair of keys need one: it can't be removed. */
export function changeFaults(
  before: Pick<OauthClientTable, "serviceProvider" | "key">,
  { key }: OauthClientUpdateInput,
): Fault[] {
  if (key !== null || before.key === null || !keyPairProviders.has(before.serviceProvider)) return [];
  return [attributeFault("key", "Key can't be blank, because this service provider is connected by keys")];
}

export function replacedSecrets({ secret, oauthTokenString, webhookSecret }: OauthClientUpdateInput): string[] {
  return [
    ...(secret === undefined ? [] : ["secret"]),
    ...(oauthTokenString == null ? [] : ["oauth-token-string"]),
    ...(webhookSecret === undefined ? [] : ["webhook-secret"]),
  ];
}

export const uniqueSorted = (ids: readonly string[]): string[] => [...new Set(ids)].sort();

type ProjectPointer = (position: number) => string;
export const relationshipPointer: ProjectPointer = (position) => `/data/relationships/projects/data/${position}/id`;
export const linkagePointer: ProjectPointer = (position) => `/data/${position}/id`;

export function projectFaults(sent: readonly string[], known: ReadonlySet<string>, pointerTo: ProjectPointer): Fault[] {
  return sent.flatMap((id, position) =>
    known.has(id)
      ? []
      : [{ pointer: pointerTo(position), detail: `Project ${quoted(id)} does not exist in this organization` }],
  );
}
