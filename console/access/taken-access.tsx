/** Shows on every page how long the access lasts that the caller has taken from offers. */
import { Alert, Group } from "@mantine/core";
import { queryOptions, useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef } from "react";
import { call, type OperationResponse, type Resource } from "../api/client.ts";
import { accessOffer } from "../api/detail-queries.ts";
import type { ApiError } from "../api/errors.ts";
import { useIsPageLoaded } from "../components/page-loaded.ts";
import { useNow } from "../now.ts";
import { paths } from "../paths.ts";
import { Link } from "../ui/link.tsx";
import { Expires } from "../ui/text.tsx";
import { expiryOf } from "./changes.ts";

type AccessRequest = Resource<"access-requests">;

const operation = "GET /organizations/{organization_name}/access-requests";
const newest = 20;
const freshMs = 60_000;

/** Requested again after each action, and when the window gets the focus; not keyed by its operation, like the frame's other requests. */
const approvedRequests = (organization: string) =>
  queryOptions<OperationResponse<typeof operation>, ApiError>({
    queryKey: ["access that was taken", organization],
    queryFn: ({ signal }) =>
      call(
        operation,
        {
          path: { organization_name: organization },
          query: { "filter[mine]": "requested", "filter[status]": "approved", "page[size]": newest },
        },
        signal,
      ),
    staleTime: freshMs,
  });

const isBreakGlass = ({ relationships }: AccessRequest): boolean => !relationships["decided-by"]?.data;

const isTaken = (request: AccessRequest): boolean =>
  Boolean(request.relationships.offer?.data) || isBreakGlass(request);

export function TakenAccess({ organization }: { readonly organization: string }) {
  const enabled = useIsPageLoaded();
  const { data } = useQuery({ ...approvedRequests(organization), enabled });
  const now = useNow();
  const taken = (data?.data ?? []).flatMap((request) => {
    const end = isTaken(request) ? expiryOf(request.attributes) : undefined;
    return end !== undefined && Date.parse(end) > now ? [{ request, end }] : [];
  });
  useRefetchAfterEnd(taken.length);
  return taken.map(({ request, end }) => (
    <TakenLine key={request.id} organization={organization} request={request} end={end} />
  ));
}

/** What the page shows may have been visible only through the access that ended. */
function useRefetchAfterEnd(count: number): void {
  const client = useQueryClient();
  const before = useRef(0);
  useEffect(() => {
    if (count < before.current) void client.invalidateQueries();
    before.current = count;
  }, [client, count]);
}

interface TakenLineProps {
  readonly organization: string;
  readonly request: AccessRequest;
  readonly end: string;
}

function TakenLine({ organization, request, end }: TakenLineProps) {
  const id = request.relationships.offer?.data?.id;
  const offer = useQuery({ ...accessOffer(id ?? ""), enabled: id !== undefined }).data?.data.attributes.name;
  const isUrgent = isBreakGlass(request);
  return (
    <Alert color={isUrgent ? "red" : "blue"} variant="light" p="xs" mb="sm" role="status">
      <Group justify="space-between" gap="sm">
        <span>
          <b>{isUrgent ? "Break-glass access" : "Temporary access"}</b>
          {offer !== undefined && `: ${offer}`}, <Expires time={end} isSentence />
        </span>
        <Link to={paths.accessRequest(organization, request.id)}>Show request</Link>
      </Group>
    </Alert>
  );
}
