/** One state: what differs from another, what it gives out, how to get it, and going back to it. */
import { Button, Grid, Group, Select } from "@mantine/core";
import { IconDownload } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import { sameOrigin, type Resource } from "../../api/client.ts";
import { asking } from "../../api/queries.ts";
import { useAddress } from "../../ui/address.ts";
import { Facts } from "../../ui/facts.tsx";
import { Section } from "../../ui/page.tsx";
import { Asked, LoadingRows } from "../../ui/states.tsx";
import { bytes, figure, Identifier, When } from "../../ui/text.tsx";
import { WorkspaceFrame } from "../workspace/frame.tsx";
import type { Place } from "../workspace/place.ts";
import { Changes } from "./changes.tsx";
import { Outputs } from "./outputs.tsx";
import { StateBadge } from "./page.tsx";
import { RollBack } from "./roll-back.tsx";
import { Writer } from "./writer.tsx";

export default function StatePage() {
  const { state: id } = useParams({ strict: false }) as { state: string };
  return <WorkspaceFrame part={`State ${id}`}>{(place) => <One place={place} id={id} />}</WorkspaceFrame>;
}

function One({ place, id }: { readonly place: Place; readonly id: string }) {
  const query = useQuery(asking("GET /state-versions/{state_version_id}", { path: { state_version_id: id } }));
  return (
    <Asked query={query} loading={<LoadingRows rows={10} />}>
      {({ data: state }) => (
        <>
          <Section
            title={`State, serial ${state.attributes.serial}`}
            actions={
              <>
                <StateBadge state={state} workspace={place.workspace} />
                <Download state={state} />
                <RollBack place={place} state={state} />
              </>
            }
          >
            <></>
          </Section>
          <Grid gap="xl">
            <Grid.Col span={{ base: 12, md: 8 }} miw={0}>
              <Compared place={place} state={state} />
              <StateOutputs id={id} />
            </Grid.Col>
            <Grid.Col span={{ base: 12, md: 4 }} miw={0}>
              <About place={place} state={state} />
            </Grid.Col>
          </Grid>
        </>
      )}
    </Asked>
  );
}

interface StateProps {
  readonly place: Place;
  readonly state: Resource<"state-versions">;
}

function About({ place, state }: StateProps) {
  const { attributes } = state;
  return (
    <Section title="About">
      <Facts
        label="About this state"
        facts={{
          Written: <When time={attributes["created-at"]} />,
          By: <Writer place={place} state={state} />,
          Resources: figure(attributes["billable-rum-count"]),
          Size: bytes(attributes.size),
          Engine: attributes["engine-version"],
          Encrypted: attributes.encrypted && "by the engine: nothing can be read out of it here",
          Commit: attributes["vcs-commit-sha"] && <code>{attributes["vcs-commit-sha"].slice(0, 10)}</code>,
          Id: <Identifier value={state.id} />,
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

/** With the one before, unless another is chosen. */
function Compared({ place: { workspace }, state }: StateProps) {
  const { search, set } = useAddress();
  const others = useQuery(
    asking("GET /workspaces/{workspace_id}/state-versions", {
      path: { workspace_id: workspace.id },
      query: { "page[size]": 100, "filter[status]": "finalized" },
    }),
  );
  const choices = (others.data?.data ?? [])
    .filter(({ id }) => id !== state.id)
    .map(({ id, attributes }) => ({
      value: id,
      label: `serial ${attributes.serial}, ${attributes["created-at"].slice(0, 16).replace("T", " ")}`,
    }));
  return (
    <Section
      title="What differs"
      actions={
        <Group gap="xs">
          <Select
            aria-label="Compared with"
            placeholder="the one before"
            data={choices}
            value={search["since"] ?? null}
            onChange={(since) => set({ since: since ?? undefined, page: undefined })}
            clearable
            searchable
            w={230}
            clearButtonProps={{ "aria-label": "Compare with the one before" }}
          />
        </Group>
      }
    >
      <Changes stateId={state.id} since={search["since"]} />
    </Section>
  );
}

function StateOutputs({ id }: { readonly id: string }) {
  const query = useQuery(
    asking("GET /state-versions/{state_version_id}/outputs", {
      path: { state_version_id: id },
      query: { "page[size]": 100 },
    }),
  );
  return (
    <Section title="Outputs">
      <Asked query={query} loading={<LoadingRows rows={3} />}>
        {({ data }) => (data.length === 0 ? <>None.</> : <Outputs outputs={data} />)}
      </Asked>
    </Section>
  );
}
