/** The number of access requests that the caller can decide, for the navigation. */
import { Badge, VisuallyHidden } from "@mantine/core";
import { queryOptions, useQuery } from "@tanstack/react-query";
import { call, type OperationResponse } from "../api/client.ts";
import type { ApiError } from "../api/errors.ts";
import { figure } from "../ui/text.tsx";
import { useIsPageLoaded } from "./page-loaded.ts";

const operation = "GET /organizations/{organization_name}/access-requests";
const freshMs = 60_000;

/** Not keyed by its operation: "Show as API" lists the requests of the page. */
const requestCount = (organization: string) =>
  queryOptions<OperationResponse<typeof operation>, ApiError>({
    queryKey: ["access requests to decide", organization],
    queryFn: ({ signal }) =>
      call(
        operation,
        { path: { organization_name: organization }, query: { "filter[mine]": "to-decide", "page[size]": 1 } },
        signal,
      ),
    staleTime: freshMs,
  });

export function RequestCount({ organization }: { readonly organization: string }) {
  const enabled = useIsPageLoaded();
  const query = useQuery({ ...requestCount(organization), enabled });
  const count = query.data?.meta?.pagination?.["total-count"] ?? 0;
  if (count === 0) return null;
  return (
    <Badge size="sm" circle={count < 10}>
      {figure(count)}
      <VisuallyHidden> to decide</VisuallyHidden>
    </Badge>
  );
}
