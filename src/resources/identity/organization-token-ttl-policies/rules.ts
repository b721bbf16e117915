/** Pure rules of policies on tokens' lifetimes. */
import type { OrganizationTable, OrganizationTokenTtlPolicyTable } from "../../../database/schema/identity.ts";
import { createdColumns } from "../../../jsonapi/columns.ts";
import type { Fault } from "../../../kernel/errors.ts";
import { newId } from "../../../kernel/ids.ts";
import { organizationTokenTtlPolicies, tokenTypes } from "./definition.ts";

/** One for each type. */
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

/** What one of a body's policies asks for. */
export interface AskedPolicy {
  readonly "token-type": string;
  readonly "max-ttl-ms": number;
}

/** A body must not say two things of one type. */
export function repeatedFaults(asked: readonly AskedPolicy[]): Fault[] {
  return asked.flatMap(({ "token-type": type }, position) =>
    asked.findIndex((other) => other["token-type"] === type) === position
      ? []
      : [
          {
            pointer: `/data/attributes/token-ttl-policies/${position}/token-type`,
            detail: `Token type '${type}' is given twice`,
          },
        ],
  );
}

/** Those policies that really change, as they are afterwards. */
export function changedPolicies(
  policies: readonly OrganizationTokenTtlPolicyTable[],
  asked: readonly AskedPolicy[],
  updatedAt: string,
): { before: OrganizationTokenTtlPolicyTable; maxTtlMs: number; updatedAt: string }[] {
  return policies.flatMap((before) => {
    const maxTtlMs = asked.find((one) => one["token-type"] === before.tokenType)?.["max-ttl-ms"];
    return maxTtlMs === undefined || maxTtlMs === before.maxTtlMs ? [] : [{ before, maxTtlMs, updatedAt }];
  });
}
