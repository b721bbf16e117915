/** The home of an organization: its projects with counts, and the runs that need confirmation. */
import { Group, Paper, SimpleGrid, Stack, Text } from "@mantine/core";
import { useQuery, type UseQueryResult } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import { includedIn, type OperationResponse } from "../../api/client.ts";
import { useRights } from "../../api/queries.ts";
import { paths } from "../../paths.ts";
import { useAddress } from "../../ui/address.ts";
import { Link, LinkButton } from "../../ui/link.tsx";
import { Page, Section } from "../../ui/page.tsx";
import { QueryContent, Empty, LoadingRows } from "../../components/states.tsx";
import { Pager, Table } from "../../ui/table.tsx";
import { counted, Dimmed, When } from "../../ui/text.tsx";
import { RunStatus } from "../runs/status.tsx";
import { workspaceColumn } from "../../components/list.tsx";
import { projectSummaries, waitingWorkspaces } from "../../api/list-queries.ts";

export default function OrganizationPage() {
  const { organization } = useParams({ from: "/inside/$organization" });
  const rights = useRights(organization);
  return (
    <Page
      title={organization}
      actions={
        <>
          <LinkButton to={paths.workspaces(organization)} variant="default">
            All workspaces
          </LinkButton>
          {rights?.["can-create-workspace"] && (
            <LinkButton to={paths.newWorkspace(organization)}>New workspace</LinkButton>
          )}
        </>
      }
    >
      <Parts organization={organization} />
    </Page>
  );
}

/** Rendered together, so that one does not shift the other. */
function Parts({ organization }: { readonly organization: string }) {
  const { search } = useAddress();
  const waiting = useQuery(waitingWorkspaces(organization));
  const projects = useQuery(projectSummaries(organization, search));
  if (waiting.isLoading || projects.isLoading) return <LoadingRows rows={10} />;
  return (
    <>
      <NeedsConfirmation organization={organization} query={waiting} />
      <Projects organization={organization} query={projects} />
    </>
  );
}

interface PartProps<Q> {
  readonly organization: string;
  readonly query: Q;
}

function NeedsConfirmation({
  organization,
  query,
}: PartProps<UseQueryResult<OperationResponse<"GET /organizations/{organization_name}/workspaces">>>) {
  const waiting = query.data?.data ?? [];
  if (waiting.length === 0) return null;
  return (
    <Section title="Needs confirmation">
      <Table
        label="Workspaces with a run that needs confirmation"
        rows={waiting}
        keyOf={({ id }) => id}
        columns={[
          workspaceColumn(organization),
          {
            title: "Run",
            cell: ({ attributes: { name }, relationships }) => {
              const run = includedIn(query.data, "runs", relationships["current-run"]?.data?.id);
              return (
                run && (
                  <Link to={paths.run(organization, name, run.id)} c="inherit">
                    <RunStatus status={run.attributes.status} /> <Dimmed>{run.attributes.message}</Dimmed>
                  </Link>
                )
              );
            },
          },
          {
            title: "Since",
            cell: ({ relationships }) => (
              <When
                time={includedIn(query.data, "runs", relationships["current-run"]?.data?.id)?.attributes["created-at"]}
              />
            ),
          },
        ]}
      />
    </Section>
  );
}

function Projects({
  organization,
  query,
}: PartProps<UseQueryResult<OperationResponse<"GET /organizations/{organization_name}/projects">>>) {
  const { set } = useAddress();
  return (
    <Section title="Projects">
      <QueryContent query={query}>
        {({ data, meta }) =>
          data.length === 0 ? (
            <Empty title="No projects yet">Create a project, or ask an owner for access to one.</Empty>
          ) : (
            <>
              <SimpleGrid cols={{ base: 1, sm: 2, lg: 4 }} spacing="sm">
                {data.map(({ id, attributes }) => (
                  <Paper key={id} withBorder p="sm" display="flex">
                    <Stack gap={2} flex={1}>
                      <Link to={paths.project(organization, id)} fw={600}>
                        {attributes.name}
                      </Link>
                      <Text c="dimmed" fz="sm" lineClamp={2}>
                        {attributes.description}
                      </Text>
                      <Group gap="md" fz="sm" mt="auto" pt={4}>
                        <Link to={paths.workspaces(organization, { project: id })} c="inherit">
                          {counted(attributes["workspace-count"], "workspace")}
                        </Link>
                        <Link to={paths.projectAccess(organization, id)} c="dimmed">
                          {counted(attributes["team-count"], "team")}
                        </Link>
                      </Group>
                    </Stack>
                  </Paper>
                ))}
              </SimpleGrid>
              <Pager pagination={meta?.pagination} one="project" onPage={(page) => set({ page: String(page) })} />
            </>
          )
        }
      </QueryContent>
    </Section>
  );
}
