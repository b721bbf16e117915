/** Pure rules of identity trusts. */
import type { IdentityTrustTable } from "../../../database/schema/identity.ts";
import { changedColumns, createdColumns } from "../../../jsonapi/columns.ts";
import type { CreateAttributes, UpdateAttributes } from "../../../jsonapi/define.ts";
import { attributeFault, type Fault } from "../../../kernel/errors.ts";
import { wildcard } from "../../../kernel/patterns.ts";
import { identityTrusts } from "./definition.ts";

export function newIdentityTrust(
  attributes: CreateAttributes<typeof identityTrusts>,
  identity: Pick<IdentityTrustTable, "id" | "organizationId" | "teamId" | "createdAt">,
): IdentityTrustTable {
  const claims = JSON.stringify(attributes.claims);
  return { ...createdColumns(identityTrusts, attributes), claims, ...identity, version: 1 };
}

export function changedIdentityTrust(attributes: UpdateAttributes<typeof identityTrusts>): Partial<IdentityTrustTable> {
  const { claims } = attributes;
  return {
    ...changedColumns(identityTrusts, attributes),
    ...(claims !== undefined && { claims: JSON.stringify(claims) }),
  };
}

/** Each exchange evaluates all of an organization's trusts for the issuer. */
export const trustsMax = 500;
export const nameTaken = (): Fault => attributeFault("name", "Name has already been taken");
export const tooManyTrusts = (): Fault => ({
  detail: `The organization has reached its limit of ${trustsMax} identity trusts. Delete one first.`,
  pointer: "/data",
});

export type PipelineClaims = Readonly<Record<string, unknown>>;

/** Longer values never match. OpenID Connect limits `sub` to 255 characters. */
const claimLengthMax = 1024;
const claimItemsMax = 256;

export function claimsMatch(patterns: Readonly<Record<string, string>>, claims: PipelineClaims): boolean {
  return Object.entries(patterns).every(([name, pattern]) => {
    const value = Object.hasOwn(claims, name) ? claims[name] : undefined;
    const matches = wildcard(pattern);
    return (Array.isArray(value) ? value.slice(0, claimItemsMax) : [value]).some((each: unknown) => {
      const isPlain = typeof each === "string" || typeof each === "number" || typeof each === "boolean";
      return isPlain && String(each).length <= claimLengthMax && matches(String(each));
    });
  });
}
