/** Access requests: those that the caller can decide, its own, or all that it can see. */
import { SegmentedControl, Select, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import { givingChangeOf, type AccessChange } from "../../access/changes.ts";
import { accessRequests, requestsShown } from "../../api/list-queries.ts";
import { includedIn, type OperationResponse, type Resource } from "../../api/client.ts";
import { List } from "../../components/list.tsx";
import { Empty } from "../../components/states.tsx";
import { paths } from "../../paths.ts";
import { useAddress } from "../../ui/address.ts";
import { durationText } from "../../ui/duration.ts";
import { Link, LinkButton } from "../../ui/link.tsx";
import { Page } from "../../ui/page.tsx";
import type { TableColumn } from "../../ui/table.tsx";
import { Dimmed, Expires, sentenceCase, When } from "../../ui/text.tsx";
import { requestStatuses, RequestStatus } from "./status.tsx";

type AccessRequestRow = Resource<"access-requests">;

export default function AccessRequestsPage() {
  const { organization } = useParams({ from: "/inside/$organization" });
  const { search, set } = useAddress();
  const show = requestsShown(search);
  const query = useQuery(accessRequests(organization, search));
  return (
    <Page
      title="Requests"
      crumbs={[{ label: organization, to: paths.organization(organization) }]}
      about="Access that people request, and others approve or deny."
      actions={<LinkButton to={paths.requestAccess(organization)}>Request access</LinkButton>}
    >
      <List
        one="request"
        label="Requests"
        isSearched={false}
        query={query}
        keyOf={({ id }) => id}
        columns={(response) => columnsOf(organization, response)}
        empty={<NoRequests show={show} status={search["status"]} />}
        filters={
          <>
            <SegmentedControl
              size="xs"
              aria-label="Which requests"
              data={[
                { value: "to-decide", label: "To decide" },
                { value: "mine", label: "Mine" },
                { value: "all", label: "All" },
              ]}
              value={show}
              onChange={(next) =>
                set({ show: next === "to-decide" ? undefined : next, status: undefined, page: undefined })
              }
            />
            {show !== "to-decide" && (
              <Select
                size="xs"
                w={160}
                aria-label="Status"
                placeholder="Any status"
                clearable
                clearButtonProps={{ "aria-label": "Any status" }}
                data={requestStatuses.map((value) => ({ value, label: sentenceCase(value) }))}
                value={search["status"] ?? null}
                onChange={(status) => set({ status: status ?? undefined, page: undefined })}
              />
            )}
          </>
        }
      />
    </Page>
  );
}

function NoRequests({ show, status }: { readonly show: string; readonly status: string | undefined }) {
  if (status !== undefined) return <Empty title={`No ${status} requests`} />;
  if (show === "to-decide")
    return (
      <Empty title="Nothing to decide">
        Requests appear here if you could make their changes, or belong to an approver team of their offer, and gain
        nothing.
      </Empty>
    );
  if (show === "mine")
    return (
      <Empty title="You have no requests yet">
        Request temporary or permanent access to a project or workspace. Someone with permission approves it.
      </Empty>
    );
  return <Empty title="No requests yet">You see your own requests, and those that you can decide.</Empty>;
}

function kindOf(changes: readonly AccessChange[]): string {
  const [change] = changes;
  if (change === undefined || changes.length > 1) return `${changes.length} changes`;
  const given = givingChangeOf(change);
  if (given?.gives === "grant") return `${sentenceCase(given.attributes.access)} on a ${given.kind}`;
  if (given?.gives === "seat") return "Team membership";
  return change.path.endsWith("/relationships/workspaces") ? "Move" : "Change of access";
}

const columnsOf = (
  organization: string,
  response: OperationResponse<"GET /organizations/{organization_name}/access-requests">,
): readonly TableColumn<AccessRequestRow>[] => [
  {
    title: "Reason",
    cell: ({ id, attributes: { reason } }) => (
      <Link to={paths.accessRequest(organization, id)} style={{ overflowWrap: "anywhere" }} lineClamp={2}>
        {reason}
      </Link>
    ),
  },
  {
    title: "Requested by",
    cell: ({ relationships }) =>
      includedIn(response, "users", relationships.requester?.data?.id)?.attributes.username ?? "–",
  },
  {
    title: "Access",
    isExtra: true,
    cell: ({ attributes }) => {
      const seconds = attributes["duration-seconds"];
      return (
        <>
          {kindOf(attributes.changes as readonly AccessChange[])}
          {typeof seconds === "number" && <Dimmed> for {durationText(seconds)}</Dimmed>}
        </>
      );
    },
  },
  { title: "Created", isExtra: true, cell: ({ attributes }) => <When time={attributes["created-at"]} /> },
  {
    title: "Status",
    cell: ({ attributes: { status, "lapses-at": lapsesAt } }) => (
      <>
        <RequestStatus status={status} />
        {status === "pending" && (
          <Text fz="xs" c="dimmed">
            lapses <Expires time={lapsesAt} />
          </Text>
        )}
      </>
    ),
  },
];
