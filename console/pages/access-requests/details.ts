/** What the parts of a request's page share. */
import type { KnownNames } from "../../access/change-text.tsx";
import { includedIn, type OperationResponse, type Resource } from "../../api/client.ts";

export interface RequestDetails {
  readonly organization: string;
  readonly request: Resource<"access-requests">;
  readonly requester: string;
  /** Undefined unless a person approved or denied it. */
  readonly decider: string | undefined;
  readonly names: KnownNames;
}

/** The names that the request itself contains: subjects, and the first projects and workspaces. */
function namesIn({ attributes: { effects } }: Resource<"access-requests">): Map<string, string> {
  const all = [...(effects?.gains ?? []), ...(effects?.losses ?? [])];
  return new Map(
    all.flatMap(({ subject, projects, workspaces }) =>
      [subject, ...[...projects, ...workspaces].flatMap(({ named }) => named)].map(({ id, name }) => [id, name]),
    ),
  );
}

export function detailsOf(
  organization: string,
  { data: request, included }: OperationResponse<"GET /access-requests/{access_request_id}">,
): RequestDetails {
  const { requester, "decided-by": decider } = request.relationships;
  const nameOf = (id: string | undefined) => includedIn({ included }, "users", id)?.attributes.username;
  const [requesterId, deciderId] = [requester?.data?.id, decider?.data?.id];
  const name = nameOf(requesterId) ?? "Somebody";
  const names = namesIn(request);
  if (requesterId !== undefined) names.set(requesterId, name);
  return { organization, request, requester: name, decider: deciderId && (nameOf(deciderId) ?? "somebody"), names };
}
