/** Existing access that the rules would refuse today, with the time of the last check. */
import { Button, Group, Stack, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useAction } from "../../api/actions.ts";
import { includedIn, type OperationResponse } from "../../api/client.ts";
import { accessViolations } from "../../api/list-queries.ts";
import { Empty, QueryContent } from "../../components/states.tsx";
import { paths } from "../../paths.ts";
import { useAddress } from "../../ui/address.ts";
import { Link } from "../../ui/link.tsx";
import { Pager, Table } from "../../ui/table.tsx";
import { When } from "../../ui/text.tsx";
import { RulesFrame } from "./frame.tsx";

export default function AccessViolationsPage() {
  const { search } = useAddress();
  return <RulesFrame>{(organization) => <Violations organization={organization} rule={search["rule"]} />}</RulesFrame>;
}

type ViolationList = OperationResponse<"GET /organizations/{organization_name}/access-violations">;
type Violation = ViolationList["data"][number];

interface ViolationsProps {
  readonly organization: string;
  readonly rule?: string | undefined;
  /** Results of earlier checks are not shown. */
  readonly newerThan?: string;
}

const soonMs = 2_000;

/** A check runs in the background, so the page asks again until it has ended. */
export function Violations({ organization, rule, newerThan }: ViolationsProps) {
  const { search, set } = useAddress();
  const [replaced, setReplaced] = useState<string | null>();
  const isPending = (response: ViolationList | undefined) => {
    const computed = response?.meta?.["computed-at"];
    if (computed === undefined) return false;
    if (computed === replaced) return true;
    return newerThan !== undefined && (computed === null || computed < newerThan);
  };
  const query = useQuery({
    ...accessViolations(organization, { ...search, rule }),
    refetchInterval: ({ state }) => (isPending(state.data) ? soonMs : false),
  });
  const refresh = useAction("POST /organizations/{organization_name}/access-violations/actions/refresh", {
    done: "Checking existing access against the rules.",
  });
  const isChecking = isPending(query.data);
  return (
    <Stack gap="sm">
      <Group justify="space-between" gap="sm">
        <Text c="dimmed" fz="sm" aria-live="polite">
          {isChecking ? "Checking existing access…" : <ComputedAt response={query.data} />}
        </Text>
        <Button
          variant="default"
          loading={refresh.isPending || isChecking}
          onClick={() => {
            const computed = query.data?.meta?.["computed-at"];
            refresh.mutate({ path: { organization_name: organization } }, { onSuccess: () => setReplaced(computed) });
          }}
        >
          Refresh
        </Button>
      </Group>
      <QueryContent query={query}>
        {(response) =>
          isChecking && newerThan !== undefined ? null : (
            <>
              <Rows organization={organization} response={response} isOfOneRule={newerThan !== undefined} />
              <Pager
                pagination={response.meta?.pagination}
                one="violation"
                onPage={(page) => set({ page: page === 1 ? undefined : String(page) })}
              />
            </>
          )
        }
      </QueryContent>
    </Stack>
  );
}

function ComputedAt({ response }: { readonly response: ViolationList | undefined }) {
  const time = response?.meta?.["computed-at"];
  if (response === undefined) return null;
  if (!time) return "Not checked yet";
  return (
    <>
      Checked <When time={time} />
    </>
  );
}

interface ViolationTableProps {
  readonly organization: string;
  readonly response: ViolationList;
  readonly isOfOneRule: boolean;
}

function Rows({ organization, response, isOfOneRule }: ViolationTableProps) {
  if (response.data.length === 0)
    return response.meta?.["computed-at"] === null ? null : (
      <Empty title="No violations">
        {isOfOneRule
          ? "No existing access would be refused by this rule."
          : "No existing grant, team membership or token would be refused by an enabled rule."}
      </Empty>
    );
  const message = { title: "Message", isExtra: true, cell: ({ attributes }: Violation) => attributes.message };
  const rule = {
    title: "Rule",
    cell: (violation: Violation) => <RuleLink {...{ organization, response, violation }} />,
  };
  return (
    <Table
      label="Violations"
      rows={response.data}
      keyOf={({ id }) => id}
      columns={[
        { title: "Access", cell: (violation) => <Access {...{ organization, response, violation }} /> },
        ...(isOfOneRule ? [message] : [rule, message]),
        { title: "Since", cell: ({ attributes }) => <When time={attributes.since} /> },
      ]}
    />
  );
}

interface ViolationProps {
  readonly organization: string;
  readonly response: ViolationList;
  readonly violation: Violation;
}

function RuleLink({ organization, response, violation }: ViolationProps) {
  const id = violation.relationships.rule?.data?.id;
  const rule = includedIn(response, "access-rules", id);
  return rule && <Link to={paths.accessRule(organization, rule.id)}>{rule.attributes.name}</Link>;
}

function Access({ organization, response, violation: { attributes, relationships } }: ViolationProps) {
  const team = includedIn(response, "teams", relationships.team?.data?.id);
  const user = includedIn(response, "users", relationships.user?.data?.id);
  const project = includedIn(response, "projects", relationships.project?.data?.id);
  const workspace = includedIn(response, "workspaces", relationships.workspace?.data?.id);
  const ofTeam = team && <Link to={paths.team(organization, team.id)}>{team.attributes.name}</Link>;
  switch (attributes.kind) {
    case "grant":
      return (
        <>
          {ofTeam} on{" "}
          {project ? (
            <Link to={paths.projectAccess(organization, project.id)}>{project.attributes.name}</Link>
          ) : (
            workspace && (
              <Link to={paths.workspaceAccess(organization, workspace.attributes.name)}>
                {workspace.attributes.name}
              </Link>
            )
          )}
        </>
      );
    case "seat":
      return (
        <>
          {user ? (
            <Link to={paths.person(organization, user.id)}>{user.attributes.username}</Link>
          ) : (
            "An invited member"
          )}{" "}
          in team {ofTeam}
        </>
      );
    default:
      return team ? <>Token of team {ofTeam}</> : <>Token of the organization</>;
  }
}
