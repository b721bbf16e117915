/** Pure rules of trusts: what a new one holds, and which claims fit. */
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

/** Each exchange looks at all that an organization has for the issuer. */
export const trustsMax = 500;
export const nameTaken = (): Fault => attributeFault("name", "Name has already been taken");
export const tooMany = (): Fault => ({
  detail: `The organization has ${trustsMax} identity trusts already, and can't have more. Delete one first.`,
  pointer: "/data",
});

export type Claims = Readonly<Record<string, unknown>>;

/** OpenID Connect allows 255 in the longest that identify somebody. A longer one fits no pattern. */
const claimLengthMax = 1024;
/** How many items of a claim that is a list are looked at. */
const claimItemsMax = 256;

/** Whether a token says all that is asked for. */
export function claimsFit(patterns: Readonly<Record<string, string>>, claims: Claims): boolean {
  return Object.entries(patterns).every(([name, pattern]) => {
    const said = Object.hasOwn(claims, name) ? claims[name] : undefined;
    const fits = wildcard(pattern);
    return (Array.isArray(said) ? said.slice(0, claimItemsMax) : [said]).some((each: unknown) => {
      const isPlain = typeof each === "string" || typeof each === "number" || typeof each === "boolean";
      return isPlain && String(each).length <= claimLengthMax && fits(String(each));
    });
  });
}
