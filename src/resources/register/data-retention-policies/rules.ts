/** Pure rules of data retention policies. */
import type { DataRetentionPolicyTable } from "../../../database/schema/workspaces.ts";
import { createdColumns } from "../../../jsonapi/columns.ts";
import type { CreateAttributes } from "../../../jsonapi/define.ts";
import { parseBody } from "../../../jsonapi/input.ts";
import { AppError, invalid } from "../../../kernel/errors.ts";
import type { ServiceOptions } from "../../shared/context.ts";
import { deleteOlderPolicies, dontDeletePolicies, policyKinds } from "./definition.ts";

/** See docs/api.md#editions. */
export function refuseHosted({ edition }: ServiceOptions): void {
  if (edition === "hosted")
    throw new AppError("not-found", "The hosted edition of this service has no data retention policies.");
}

export type RetentionPolicyInput = Pick<DataRetentionPolicyTable, "kind" | "deleteOlderThanNDays">;

/** Throws `invalid`. */
export function parsePolicy(body: { readonly data: { readonly type?: unknown } }): RetentionPolicyInput {
  const kind = policyKinds.find((name) => name === body.data.type);
  if (kind === undefined)
    throw invalid([{ pointer: "/data/type", detail: `Type must be '${policyKinds.join("' or '")}'` }]);
  if (kind === dontDeletePolicies.type) {
    parseBody(dontDeletePolicies, "create", body);
    return { kind, deleteOlderThanNDays: null };
  }
  const { attributes } = parseBody(deleteOlderPolicies, "create", body) as {
    attributes: CreateAttributes<typeof deleteOlderPolicies>;
  };
  return { kind, ...createdColumns(deleteOlderPolicies, attributes) };
}

export function auditedPolicy(policy: DataRetentionPolicyTable): object {
  const { kind, deleteOlderThanNDays, workspaceId } = policy;
  return { type: kind, "delete-older-than-n-days": deleteOlderThanNDays, workspace: workspaceId };
}
