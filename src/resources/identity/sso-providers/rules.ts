/** Pure rules of providers. */
import type { SsoProviderTable } from "../../../database/schema/sso.ts";
import { createdColumns } from "../../../jsonapi/columns.ts";
import type { CreateAttributes } from "../../../jsonapi/define.ts";
import { attributeFault, type Fault, relationshipFault } from "../../../kernel/errors.ts";
import { fold, quoted } from "../../../kernel/text.ts";
import { ssoProviders } from "./definition.ts";

/** What its secret is sealed for, so that it can't be moved to another row. */
export const secretOwner = (id: string): string => `sso_providers/${id}/client_secret`;

export function newSsoProvider(
  attributes: CreateAttributes<typeof ssoProviders>,
  identity: Pick<SsoProviderTable, "id" | "organizationId" | "createdAt">,
): Omit<SsoProviderTable, "clientSecret"> {
  return { ...createdColumns(ssoProviders, attributes), ...identity, version: 1 };
}

export const nameTaken = (): Fault => attributeFault("name", "Name has already been taken");

export interface Named {
  readonly attribute: string | null | undefined;
  readonly relationship: string | null | undefined;
}

/** The organization that a body names, in one way or the other. */
export const organizationNamed = ({ attribute, relationship }: Named): string | undefined =>
  attribute ?? relationship ?? undefined;

export function organizationFaults({ attribute, relationship }: Named, isKnown: boolean): Fault[] {
  if (attribute != null && relationship != null && fold(attribute) !== fold(relationship))
    return [
      attributeFault("organization", "Organization must be the one that the relationship names, where both are sent"),
    ];
  const name = organizationNamed({ attribute, relationship });
  if (name === undefined || isKnown) return [];
  const sentence = `There is no organization ${quoted(name)}`;
  return [attribute == null ? relationshipFault("organization", sentence) : attributeFault("organization", sentence)];
}
