/** Pure rules of token TTL policies. */
import type { OrganizationTable, OrganizationTokenTtlPolicyTable } from "../../../database/schema/identity.ts";
import { createdColumns } from "../../../jsonapi/columns.ts";
import type { Fault } from "../../../kernel/errors.ts";
import { newId } from "../../../kernel/ids.ts";
import { organizationTokenTtlPolicies, tokenTypes } from "./definition.ts";

export function newPolicies({ id, createdAt }: OrganizationTable): OrganizationTokenTtlPolicyTable[] {
  return tokenTypes.map((tokenType) => ({
    ...createdColumns(organizationTokenTtlPolicies, { tokenType }),
    id: newId("organization-token-ttl-policies"),
    organizationId: id,
    createdAt,
    updatedAt: createdAt,
    version: 1,
  }));
}

export interface TokenTtlPolicyInput {
  readonly "token-type": string;
  readonly "max-ttl-ms": number;
}

export function duplicateFaults(input: readonly TokenTtlPolicyInput[]): Fault[] {
  return input.flatMap(({ "token-type": type }, position) =>
    input.findIndex((other) => other["token-type"] === type) === position
      ? []
      : [
          {
            pointer: `/data/attributes/token-ttl-policies/${position}/token-type`,
            detail: `Token type '${type}' is listed more than once`,
          },
        ],
  );
}

export function changedPolicies(
  policies: readonly OrganizationTokenTtlPolicyTable[],
  input: readonly TokenTtlPolicyInput[],
  updatedAt: string,
): { before: OrganizationTokenTtlPolicyTable; maxTtlMs: number; updatedAt: string }[] {
  return policies.flatMap((before) => {
    const maxTtlMs = input.find((one) => one["token-type"] === before.tokenType)?.["max-ttl-ms"];
    return maxTtlMs === undefined || maxTtlMs === before.maxTtlMs ? [] : [{ before, maxTtlMs, updatedAt }];
  });
}
