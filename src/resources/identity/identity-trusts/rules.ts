/** Pure rules of trusts: what a new one holds, and which claims fit. */
import type { IdentityTrustTable } from "../../../database/schema/identity.ts";
import { changedColumns, createdColumns } from "../../../jsonapi/columns.ts";
import type { CreateAttributes, UpdateAttributes } from "../../../jsonapi/define.ts";
import { attributeFault, type Fault } from "../../../kernel/errors.ts";
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

/** Whether a token says all that is asked for. */
export function claimsFit(patterns: Readonly<Record<string, string>>, claims: Claims): boolean {
  return Object.entries(patterns).every(([name, pattern]) => {
    const said = Object.hasOwn(claims, name) ? claims[name] : undefined;
    return (Array.isArray(said) ? said : [said]).some((each) => {
      const isPlain = typeof each === "string" || typeof each === "number" || typeof each === "boolean";
      return isPlain && globFits(pattern, String(each));
    });
  });
}

/** `*` any characters, `?` one. In time of pattern × text at most, whatever both are: it goes back to the last star alone. */
export function globFits(pattern: string, text: string): boolean {
  let [at, of, star, from] = [0, 0, -1, 0];
  while (at < text.length) {
    if (pattern[of] === "*") [star, from, of] = [of, at, of + 1];
    else if (of < pattern.length && (pattern[of] === "?" || pattern[of] === text[at])) [at, of] = [at + 1, of + 1];
    else if (star >= 0) [from, at, of] = [from + 1, from + 1, star + 1];
    else return false;
  }
  while (pattern[of] === "*") of += 1;
  return of === pattern.length;
}
