/** The overview of a workspace: runs, resources, outputs and details, or how to create its first state. */
import { Box, Grid, Text, Paper } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { apiQuery, workspaceNamed, pagedQuery } from "../../api/queries.ts";
import { paths } from "../../paths.ts";
import { Link, LinkButton } from "../../ui/link.tsx";
import { Section } from "../../ui/page.tsx";
import { QueryContent, LoadingRows } from "../../components/states.tsx";
import { Runs } from "../runs/list.tsx";
import { Outputs } from "../states/page.tsx";
import { AboutWorkspace } from "./about.tsx";
import { WorkspaceFrame } from "./frame.tsx";
import type { WorkspaceDetails } from "./details.ts";
import { RelatedWorkspaces } from "./related.tsx";
import { lastRuns } from "../../api/detail-queries.ts";
import { CodeToCopy, Dimmed, When } from "../../ui/text.tsx";
import { cloudBlock } from "../first-start/cloud-block.ts";
import { useAddress } from "../../ui/address.ts";
import { Pager, Table } from "../../ui/table.tsx";

export default function WorkspaceOverviewPage() {
  return (
    <WorkspaceFrame>
      {(details) => (
        <Grid gap="xl">
          <Grid.Col span={{ base: 12, md: 8 }} order={{ base: 2, md: 1 }} miw={0}>
            <Main details={details} />
          </Grid.Col>
          <Grid.Col span={{ base: 12, md: 4 }} order={{ base: 1, md: 2 }} miw={0}>
            <AboutWorkspace details={details} />
          </Grid.Col>
        </Grid>
      )}
    </WorkspaceFrame>
  );
}

function Main({ details }: { readonly details: WorkspaceDetails }) {
  const { organization, workspace } = details;
  const { permissions: may, name } = workspace.attributes;
  const hasState = workspace.relationships["current-state-version"]?.data != null;
  return (
    <Box>
      {!hasState && <FirstState details={details} />}
      <LastRuns details={details} />
      {hasState && <ManagedResources workspaceId={workspace.id} />}
      {hasState && may["can-read-state-outputs"] && <CurrentOutputs workspaceId={workspace.id} />}
      <RelatedWorkspaces details={details} />
      <Readme workspaceId={workspace.id} hasReadme={workspace.relationships.readme?.data != null} />
      {hasState && (
        <Section title="Use this workspace" about="Add this to your configuration, then run terraform init.">
          <CloudBlock organization={organization} name={name} />
        </Section>
      )}
    </Box>
  );
}

function FirstState({ details: { organization, workspace } }: { readonly details: WorkspaceDetails }) {
  const { name } = workspace.attributes;
  useQuery({
    ...workspaceNamed(organization, name),
    refetchInterval: 3_000,
  });
  return (
    <Section
      title="No state yet"
      about="Add this to your configuration, then run terraform init and terraform apply. This page updates when the first state arrives."
      actions={<LinkButton to={paths.workspaceStart(organization, name)}>Show all steps</LinkButton>}
    >
      <CloudBlock organization={organization} name={name} />
    </Section>
  );
}

function LastRuns({ details: { organization, workspace } }: { readonly details: WorkspaceDetails }) {
  const { name } = workspace.attributes;
  const query = useQuery({
    ...lastRuns(workspace.id),
    refetchInterval: 10_000,
  });
  return (
    <Section
      title="Recent runs"
      actions={
        <Link to={paths.workspaceRuns(organization, name)} fz="sm">
          All runs
        </Link>
      }
    >
      <QueryContent query={query} loading={<LoadingRows rows={5} />}>
        {({ data, included }) =>
          data.length === 0 ? (
            <Text c="dimmed">No runs yet.</Text>
          ) : (
            <Runs organization={organization} workspace={name} runs={data} included={included} />
          )
        }
      </QueryContent>
    </Section>
  );
}

function CurrentOutputs({ workspaceId }: { readonly workspaceId: string }) {
  const query = useQuery(
    apiQuery("GET /workspaces/{workspace_id}/current-state-version-outputs", { path: { workspace_id: workspaceId } }),
  );
  return (
    <Section title="Outputs">
      <QueryContent query={query} loading={<LoadingRows rows={3} />}>
        {({ data }) =>
          data.length === 0 ? <Text c="dimmed">This state has no outputs.</Text> : <Outputs outputs={data} />
        }
      </QueryContent>
    </Section>
  );
}

export function CloudBlock({ organization, name }: { readonly organization: string; readonly name: string }) {
  const text = cloudBlock({ origin: location.origin, organization, workspace: name });
  return <CodeToCopy label="Cloud block" text={text} />;
}

export function Readme({ workspaceId, hasReadme }: { readonly workspaceId: string; readonly hasReadme: boolean }) {
  const query = useQuery({
    ...apiQuery("GET /workspaces/{workspace_id}", {
      path: { workspace_id: workspaceId },
      query: { include: "readme" },
    }),
    enabled: hasReadme,
  });
  if (!hasReadme) return null;
  return (
    <Section title="Readme">
      <QueryContent query={query}>
        {({ included }) => (
          <Paper withBorder p="md" mah="32rem" style={{ overflow: "auto" }} tabIndex={0} aria-label="Readme">
            <pre className="mono" style={{ margin: 0 }}>
              {included?.find(({ type }) => type === "workspace-readme")?.["attributes"]?.["raw-markdown"]}
            </pre>
          </Paper>
        )}
      </QueryContent>
    </Section>
  );
}

export function ManagedResources({ workspaceId }: { readonly workspaceId: string }) {
  const { search, set } = useAddress();
  const query = useQuery(
    pagedQuery("GET /workspaces/{workspace_id}/resources", {
      path: { workspace_id: workspaceId },
      query: { "page[size]": 10, "page[number]": search["resources"] },
    }),
  );
  return (
    <Section title="Resources">
      <QueryContent query={query} loading={<LoadingRows rows={10} />}>
        {({ data, meta }) =>
          data.length === 0 ? (
            <Text c="dimmed">This state has no resources, or they are still being read.</Text>
          ) : (
            <>
              <Table
                label="Resources"
                rows={data}
                keyOf={({ id }) => id}
                columns={[
                  { title: "Address", cell: (row) => <span className="mono">{row.attributes.address}</span> },
                  {
                    title: "Provider",
                    isExtra: true,
                    cell: (row) => <Dimmed>{row.attributes.provider}</Dimmed>,
                  },
                  { title: "Changed", width: 110, cell: (row) => <When time={row.attributes["updated-at"]} /> },
                ]}
              />
              <Pager pagination={meta?.pagination} one="resource" onPage={(page) => set({ resources: String(page) })} />
            </>
          )
        }
      </QueryContent>
    </Section>
  );
}
