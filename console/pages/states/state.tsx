/** One state version: its changes, its outputs, its download, and rolling back to it. */
import { Button, Grid, Text } from "@mantine/core";
import { IconDownload } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import { sameOrigin, type Resource } from "../../api/client.ts";
import { DescriptionList, Section } from "../../ui/page.tsx";
import { QueryContent, LoadingRows } from "../../components/states.tsx";
import { bytes, figure, Identifier, When } from "../../ui/text.tsx";
import { WorkspaceFrame } from "../workspace/frame.tsx";
import type { WorkspaceDetails } from "../workspace/details.ts";
import { Compare, type StateProps } from "./compare.tsx";
import { Outputs, StateBadge, Writer } from "./page.tsx";
import { RollBack } from "./roll-back.tsx";
import { outputsOfState, stateVersion } from "../../api/detail-queries.ts";

export default function StatePage() {
  const { state: id } = useParams({ from: "/inside/$organization/workspaces/$workspace/states/$state" });
  return <WorkspaceFrame part={`State ${id}`}>{(details) => <One details={details} id={id} />}</WorkspaceFrame>;
}

function One({ details, id }: { readonly details: WorkspaceDetails; readonly id: string }) {
  const query = useQuery(stateVersion(id));
  return (
    <QueryContent query={query} loading={<LoadingRows rows={10} />}>
      {({ data: state }) => (
        <>
          <Section
            title={`State version, serial ${state.attributes.serial}`}
            actions={
              <>
                <StateBadge state={state} workspace={details.workspace} />
                <Download state={state} />
                <RollBack details={details} state={state} />
              </>
            }
          >
            <></>
          </Section>
          <Grid gap="xl">
            <Grid.Col span={{ base: 12, md: 8 }} miw={0}>
              <Compare details={details} state={state} />
              <StateOutputs id={id} />
            </Grid.Col>
            <Grid.Col span={{ base: 12, md: 4 }} miw={0}>
              <About details={details} state={state} />
            </Grid.Col>
          </Grid>
        </>
      )}
    </QueryContent>
  );
}

function About({ details, state }: StateProps) {
  const { attributes } = state;
  return (
    <Section title="About">
      <DescriptionList
        label="About this state version"
        items={{
          Created: <When time={attributes["created-at"]} />,
          "Created by": <Writer details={details} state={state} />,
          Resources: figure(attributes["billable-rum-count"]),
          Size: bytes(attributes.size),
          Engine: attributes["engine-version"],
          Encrypted: attributes.encrypted && "By the engine, so its contents can't be shown here",
          Commit: attributes["vcs-commit-sha"] && <code>{attributes["vcs-commit-sha"].slice(0, 10)}</code>,
          ID: <Identifier value={state.id} />,
        }}
      />
    </Section>
  );
}

function Download({ state }: { readonly state: Resource<"state-versions"> }) {
  const address = state.attributes["hosted-state-download-url"];
  if (address === null || !state.attributes.permissions["can-read-state-versions"]) return null;
  return (
    <Button
      component="a"
      variant="default"
      href={sameOrigin(address)}
      download={`${state.id}.tfstate`}
      leftSection={<IconDownload size={14} />}
    >
      Download
    </Button>
  );
}

function StateOutputs({ id }: { readonly id: string }) {
  const query = useQuery(outputsOfState(id));
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
