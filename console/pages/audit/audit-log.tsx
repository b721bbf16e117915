/** The audit log of an organization, project or workspace, with its filters in the address. */
import { Button } from "@mantine/core";
import { useInfiniteQuery } from "@tanstack/react-query";
import { addressOf, call, type OperationResponse } from "../../api/client.ts";
import { ExportButton } from "../../components/export-button.tsx";
import { useAddress } from "../../ui/address.ts";
import { Empty, LoadingRows, ErrorMessage } from "../../components/states.tsx";
import { Filters, noFilters, useFilters, type AuditSubject } from "./filters.tsx";
import { Timeline } from "./timeline.tsx";
import { actorOf } from "./words.ts";
import { useParams } from "@tanstack/react-router";
import { AuditFrame } from "./frame.tsx";
import { WorkspaceFrame } from "../workspace/frame.tsx";
import { ProjectFrame } from "../projects/frame.tsx";

export interface AuditLogProps {
  readonly organization: string;
  readonly subject?: AuditSubject;
}

const operation = "GET /organizations/{organization_name}/audit-events";
type AuditLogPage = OperationResponse<typeof operation>;

export function AuditLog({ organization, subject }: AuditLogProps) {
  const { search, set } = useAddress();
  const filters = useFilters(search, subject);
  const path = { organization_name: organization };
  const input = { path, query: { ...filters, "page[size]": 50 } };
  const query = useInfiniteQuery({
    queryKey: [operation, input, "all"],
    queryFn: ({ pageParam, signal }) =>
      call(operation, { ...input, query: { ...input.query, "page[cursor]": pageParam } }, signal),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: nextOf,
  });
  const events = query.data?.pages.flatMap(({ data }) => data) ?? [];
  const isFiltered = Object.keys(noFilters).some((name) => search[name]);
  return (
    <>
      <Filters
        organization={organization}
        search={search}
        set={set}
        isOfOne={subject !== undefined}
        known={new Map(events.map((event) => [event.attributes["actor-id"], actorOf(event)]))}
        actions={
          !query.isError && (
            <ExportButton
              address={addressOf(operation, { path, query: filters })}
              name={`audit-${subject?.id ?? organization}.csv`}
            />
          )
        }
      />
      {query.isError && <ErrorMessage error={query.error} onRetry={() => void query.refetch()} />}
      {query.isLoading && <LoadingRows rows={12} />}
      {query.isSuccess && events.length === 0 && <NoEvents {...(isFiltered && { onClear: () => set(noFilters) })} />}
      <Timeline
        organization={organization}
        events={events}
        hasMore={query.hasNextPage}
        isLoading={query.isFetchingNextPage}
        onMore={() => void query.fetchNextPage()}
        onActor={(actor) => set({ actor })}
      />
    </>
  );
}

function NoEvents({ onClear }: { readonly onClear?: () => void }) {
  return onClear === undefined ? (
    <Empty title="No events yet">Every change appears here as soon as it is made.</Empty>
  ) : (
    <Empty
      title="No events match these filters"
      action={
        <Button variant="default" onClick={onClear}>
          Clear filters
        </Button>
      }
    >
      Try a longer time range or fewer filters.
    </Empty>
  );
}

function nextOf(page: AuditLogPage): string | undefined {
  const next = (page as { links?: { next?: string | null } }).links?.next;
  return next ? (new URL(next, location.origin).searchParams.get("page[cursor]") ?? undefined) : undefined;
}

export function OrganizationAudit() {
  const { organization } = useParams({ from: "/inside/$organization" });
  return (
    <AuditFrame about="Append-only log of every change.">
      <AuditLog organization={organization} />
    </AuditFrame>
  );
}

export function WorkspaceAudit() {
  return (
    <WorkspaceFrame>
      {({ organization, workspace }) => (
        <AuditLog organization={organization} subject={{ type: "workspaces", id: workspace.id }} />
      )}
    </WorkspaceFrame>
  );
}

export function ProjectAudit() {
  return (
    <ProjectFrame>
      {({ organization, project }) => (
        <AuditLog organization={organization} subject={{ type: "projects", id: project.id }} />
      )}
    </ProjectFrame>
  );
}
