/** The related workspaces: run triggers in both directions, and readers of the state. */
import { Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { includedIn } from "../../api/client.ts";
import { apiQuery } from "../../api/queries.ts";
import { paths } from "../../paths.ts";
import { FlowGraph, type FlowNode } from "../../ui/flow-graph.tsx";
import { Section } from "../../ui/page.tsx";
import { unseenWorkspace } from "./linked.tsx";
import type { WorkspaceDetails } from "./details.ts";

const shown = 12;

export function useRelatedWorkspaces({ organization, workspace, included }: WorkspaceDetails) {
  const path = { workspace_id: workspace.id };
  const { "global-remote-state": isGlobal, "project-remote-state": isOfProject } = workspace.attributes;
  const consumers = useQuery({
    ...apiQuery("GET /workspaces/{workspace_id}/relationships/remote-state-consumers", {
      path,
      query: { "page[size]": shown },
    }),
    enabled: !isGlobal && !isOfProject,
  });
  const triggers = (type: "inbound" | "outbound") =>
    apiQuery("GET /workspaces/{workspace_id}/run-triggers", {
      path,
      query: { "filter[run-trigger][type]": type, "page[size]": shown },
    });
  const inbound = useQuery(triggers("inbound"));
  const outbound = useQuery(triggers("outbound"));
  const named = (name: string | null, link: FlowNode["link"], key = name ?? ""): FlowNode => ({
    key: `${link} ${key}`,
    label: name ?? unseenWorkspace,
    to: name === null ? undefined : paths.workspace(organization, name),
    link,
  });
  const project = includedIn({ included }, "projects", workspace.relationships.project?.data?.id);
  const readers: FlowNode[] = isGlobal
    ? [{ key: "all", label: `all workspaces in ${organization}`, to: paths.workspaces(organization), link: "solid" }]
    : isOfProject
      ? [
          {
            key: "project",
            label: `all workspaces in ${project?.attributes.name ?? "the project"}`,
            to: paths.workspaces(organization, { project: workspace.relationships.project?.data?.id }),
            link: "solid",
          },
        ]
      : (consumers.data?.data ?? []).map(({ attributes }) => named(attributes.name, "solid"));
  const more = (consumers.data?.meta?.pagination?.["total-count"] ?? 0) - (consumers.data?.data.length ?? 0);
  return {
    before: (inbound.data?.data ?? []).map(({ id, attributes }) => named(attributes["sourceable-name"], "dashed", id)),
    after: [
      ...readers,
      ...(more > 0 ? [{ key: "more", label: `and ${more} more`, to: undefined, link: "solid" } as const] : []),
      ...(outbound.data?.data ?? []).map(({ id, attributes }) => named(attributes["workspace-name"], "dashed", id)),
    ],
  };
}

export function RelatedWorkspaces({ details }: { readonly details: WorkspaceDetails }) {
  const { before, after } = useRelatedWorkspaces(details);
  if (before.length === 0 && after.length === 0) return null;
  return (
    <Section title="Connected workspaces">
      <FlowGraph
        label="Connected workspaces"
        middle={details.workspace.attributes.name}
        before={before}
        after={after}
      />
      <Text c="dimmed" fz="xs">
        Solid line: can read this state. Dashed line: an apply starts a run.
      </Text>
    </Section>
  );
}
