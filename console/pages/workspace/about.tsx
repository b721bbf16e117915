/** The details of a workspace: state, lock, execution and tags. */
import { Badge, Group, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { includedIn, type Resource } from "../../api/client.ts";
import { apiQuery } from "../../api/queries.ts";
import { paths } from "../../paths.ts";
import { Expires, counted, Dimmed, Identifier, When } from "../../ui/text.tsx";
import { DescriptionList, Section } from "../../ui/page.tsx";
import { Link } from "../../ui/link.tsx";
import { Outcome } from "../repository/events.tsx";
import { repositoryOf } from "../repository/words.ts";
import { holderOf } from "../workspaces/lock.tsx";
import { type WorkspaceDetails, engineNames, modeNames } from "./details.ts";

export function AboutWorkspace({ details }: { readonly details: WorkspaceDetails }) {
  const { organization, workspace, included } = details;
  const { attributes } = workspace;
  const project = includedIn({ included }, "projects", workspace.relationships.project?.data?.id);
  const state = stateText(details);
  return (
    <Section title="About">
      <DescriptionList
        label="About this workspace"
        items={{
          Lock: <Lock details={details} />,
          State: state,
          Resources: countOf(attributes["resource-count"]),
          Project: project && <Link to={paths.project(organization, project.id)}>{project.attributes.name}</Link>,
          Execution: modeNames[attributes["execution-mode"]] ?? attributes["execution-mode"],
          Engine: engineText(attributes.engine, attributes["engine-version"]),
          Apply: attributes["auto-apply"] ? "automatic" : "manual",
          Repository: <RepositoryText details={details} />,
          "Working directory": attributes["working-directory"] && <code>{attributes["working-directory"]}</code>,
          "Auto-destroy": attributes["auto-destroy-at"] && <When time={attributes["auto-destroy-at"]} />,
          Tags: <Tags details={details} />,
          ID: <Identifier value={workspace.id} />,
          Created: <When time={attributes["created-at"]} />,
        }}
      />
    </Section>
  );
}

const engineText = (engine: string | null | undefined, version: string) =>
  engine ? `${engineNames[engine] ?? engine} ${version}` : `${version} (site default)`;

const countOf = (count: number | null) =>
  count === null ? "unknown: the state is encrypted" : counted(count, "resource");

function Lock({ details: { organization, workspace, included } }: { readonly details: WorkspaceDetails }) {
  const { locked, name, "locked-reason": reason, "locked-at": since, "lock-expires-at": until } = workspace.attributes;
  if (!locked) return <>not locked</>;
  const holder = workspace.relationships["locked-by"]?.data;
  const holderName = holderOf({ workspace, included });
  return (
    <>
      <Badge color="orange" mr={6}>
        locked
      </Badge>
      by{" "}
      {holder?.type === "runs" ? (
        <Link to={paths.run(organization, name, holder.id)}>{holderName}</Link>
      ) : (
        <b>{holderName}</b>
      )}
      {reason && <>, “{reason}”</>}, <When time={since} />
      {until && (
        <>
          ; <Expires time={until} isSentence />
        </>
      )}
    </>
  );
}

function stateText({ organization, workspace, included }: WorkspaceDetails): ReactNode {
  const id = workspace.relationships["current-state-version"]?.data?.id;
  const { name, "latest-change-at": changed } = workspace.attributes;
  if (id === undefined) return <Text c="dimmed">none yet</Text>;
  const state = includedIn({ included }, "state-versions", id);
  return (
    <>
      {state ? (
        <Link to={paths.state(organization, name, state.id)}>serial {state.attributes.serial}</Link>
      ) : (
        <span>yes</span>
      )}
      , <When time={state?.attributes["created-at"] ?? changed} />
    </>
  );
}

function RepositoryText({ details: { organization, workspace } }: { readonly details: WorkspaceDetails }) {
  const { name, permissions: may } = workspace.attributes;
  const repository = repositoryOf(workspace);
  const query = useQuery({
    ...apiQuery("GET /workspaces/{workspace_id}/vcs-events", {
      path: { workspace_id: workspace.id },
      query: { "page[size]": 1 },
    }),
    enabled: repository !== null && may["can-read-run"] === true,
    refetchInterval: 10_000,
  });
  if (repository === null) return <Dimmed>none</Dimmed>;
  const last = query.data?.data[0];
  return (
    <>
      <Link to={paths.workspaceRepository(organization, name)}>{repository.identifier}</Link>
      {repository.branch && `, ${repository.branch}`}
      {last && (
        <Text fz="sm" c="dimmed" component="div">
          <Outcome outcome={last.attributes.outcome} /> {last.attributes.detail},{" "}
          <When time={last.attributes["created-at"]} />
        </Text>
      )}
    </>
  );
}

function Tags({ details: { organization, workspace, included } }: { readonly details: WorkspaceDetails }) {
  const names = workspace.attributes["tag-names"];
  const bindings: Resource<"effective-tag-bindings">[] = included.filter(
    ({ type }) => type === "effective-tag-bindings",
  );
  if (names.length === 0 && bindings.length === 0)
    return (
      <Text span c="dimmed">
        none
      </Text>
    );
  return (
    <Group gap={4}>
      {names.map((name) => (
        <Link key={name} to={paths.workspaces(organization, { tags: name })} underline="never">
          <Badge tt="none" fw={500} color="gray">
            {name}
          </Badge>
        </Link>
      ))}
      {bindings.map(({ id, attributes: { key, value }, links }) => (
        <Badge
          key={id}
          tt="none"
          fw={500}
          color="gray"
          title={links?.["inherited-from"] ? "From the project" : undefined}
        >
          {key}={value}
          {links?.["inherited-from"] && " ↑"}
        </Badge>
      ))}
    </Group>
  );
}
