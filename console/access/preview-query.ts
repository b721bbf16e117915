/** The query of an access preview. */
import { keepPreviousData, queryOptions } from "@tanstack/react-query";
import { call, type OperationResponse } from "../api/client.ts";
import type { ApiError } from "../api/errors.ts";
import type { AccessChange } from "./changes.ts";
import type { AccessPreview } from "./effects.tsx";
import type { MatchingRule } from "./matching-rules.tsx";

export const previewOperation = "POST /organizations/{organization_name}/access-previews";

export const previewBody = (changes: readonly AccessChange[], more: object = {}) => ({
  data: { type: "access-previews" as const, attributes: { changes, ...more } },
});

/** A query although it is a POST: a preview changes nothing. */
export const previewOf = (organization: string, changes: readonly AccessChange[]) =>
  queryOptions<OperationResponse<typeof previewOperation>, ApiError>({
    queryKey: ["what would change", organization, changes],
    queryFn: ({ signal }) =>
      call(previewOperation, { path: { organization_name: organization }, body: previewBody(changes) }, signal),
    gcTime: 0,
    placeholderData: keepPreviousData,
  });

export const rulesOf = ({ changes }: Pick<AccessPreview, "changes">): readonly MatchingRule[] =>
  changes.flatMap((change) => ("rules" in change ? (change.rules as readonly MatchingRule[]) : []));
