/** Pure rules of SSO providers. */
import type { SsoProviderTable } from "../../../database/schema/sso.ts";
import { createdColumns } from "../../../jsonapi/columns.ts";
import type { CreateAttributes } from "../../../jsonapi/define.ts";
import { attributeFault, type Fault, relationshipFault } from "../../../kernel/errors.ts";
import { fold, quoted } from "../../../kernel/text.ts";
import { ssoProviders } from "./definition.ts";

export const secretOwner = (id: string): string => `sso_providers/${id}/client_secret`;

export function newSsoProvider(
  attributes: CreateAttributes<typeof ssoProviders>,
  identity: Pick<SsoProviderTable, "id" | "organizationId" | "createdAt">,
): Omit<SsoProviderTable, "clientSecret"> {
  return { ...createdColumns(ssoProviders, attributes), ...identity, version: 1 };
}

export const nameTaken = (): Fault => attributeFault("name", "Name has already been taken");

export interface ProviderOrganizationInput {
  readonly attribute: string | null | undefined;
  readonly relationship: string | null | undefined;
}

export const organizationNameIn = ({ attribute, relationship }: ProviderOrganizationInput): string | undefined =>
  attribute ?? relationship ?? undefined;

export function organizationFaults({ attribute, relationship }: ProviderOrganizationInput, isKnown: boolean): Fault[] {
  if (attribute != null && relationship != null && fold(attribute) !== fold(relationship))
    return [
      attributeFault(
        "organization",
        "Organization and the relationship name different organizations; send only one of them",
      ),
    ];
  const name = organizationNameIn({ attribute, relationship });
  if (name === undefined || isKnown) return [];
  const sentence = `Organization ${quoted(name)} does not exist`;
  return [attribute == null ? relationshipFault("organization", sentence) : attributeFault("organization", sentence)];
}
