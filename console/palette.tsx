/** Ctrl-K: any project, workspace, team or person of the organization, and the places. The server searches. */
import { Spotlight, spotlight, type SpotlightActionData, type SpotlightActionGroupData } from "@mantine/spotlight";
import { useDebouncedValue } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { askingOn } from "./api/queries.ts";
import { paths } from "./paths.ts";
import { useGo } from "./ui/link.tsx";

export const openPalette = (): void => spotlight.open();

const each = 6;

export function Palette({ organization }: { readonly organization: string }) {
  const [typed, setTyped] = useState("");
  const [text] = useDebouncedValue(typed.trim(), 120);
  const groups = useFound(organization, text);
  return (
    <Spotlight
      actions={groups}
      query={typed}
      onQueryChange={setTyped}
      filter={(_, actions) => actions}
      shortcut={["mod + K"]}
      nothingFound={text === "" ? "Type a name" : "Nothing by this name that you may see"}
      searchProps={{ placeholder: "Find a project, workspace, team or person…", "aria-label": "Find anything" }}
      scrollable
      maxHeight={420}
    />
  );
}

function useFound(organization: string, text: string): SpotlightActionGroupData[] {
  const go = useGo();
  const enabled = text !== "";
  const path = { organization_name: organization };
  const size = { "page[size]": each };
  const workspaces = useQuery({
    ...askingOn("GET /organizations/{organization_name}/workspaces", {
      path,
      query: { "search[name]": text, ...size },
    }),
    enabled,
  });
  const projects = useQuery({
    ...askingOn("GET /organizations/{organization_name}/projects", { path, query: { q: text, ...size } }),
    enabled,
  });
  const teams = useQuery({
    ...askingOn("GET /organizations/{organization_name}/teams", { path, query: { q: text, ...size } }),
    enabled,
  });
  const people = useQuery({
    ...askingOn("GET /organizations/{organization_name}/organization-memberships", {
      path,
      query: { q: text, include: "user", ...size },
    }),
    enabled,
  });
  const action = (id: string, label: string, to: string, description?: string): SpotlightActionData => ({
    id,
    label,
    onClick: () => go(to),
    ...(description !== undefined && { description }),
  });
  const places = placesOf(organization).filter(([label]) => label.toLowerCase().includes(text.toLowerCase()));
  if (!enabled) return [{ group: "Go to", actions: places.map(([label, to]) => action(to, label, to)) }];
  return [
    {
      group: "Workspaces",
      actions:
        workspaces.data?.data.map(({ id, attributes: { name } }) =>
          action(id, name, paths.workspace(organization, name)),
        ) ?? [],
    },
    {
      group: "Projects",
      actions:
        projects.data?.data.map(({ id, attributes: { name } }) => action(id, name, paths.project(organization, id))) ??
        [],
    },
    {
      group: "Teams",
      actions:
        teams.data?.data.map(({ id, attributes: { name } }) => action(id, name, paths.team(organization, id))) ?? [],
    },
    {
      group: "People",
      actions:
        people.data?.data.flatMap(({ relationships, attributes: { email } }) => {
          const id = relationships.user?.data?.id;
          const user = people.data.included?.find((one: any) => one.type === "users" && one.id === id) as any;
          return id === undefined
            ? []
            : [action(id, user?.attributes.username || email, paths.person(organization, id), email)];
        }) ?? [],
    },
    { group: "Go to", actions: places.map(([label, to]) => action(to, label, to)) },
  ].filter(({ actions }) => actions.length > 0);
}

const placesOf = (organization: string): [string, string][] => [
  ["Workspaces", paths.workspaces(organization)],
  ["New workspace", paths.newWorkspace(organization)],
  ["Projects", paths.projects(organization)],
  ["Runs", paths.runs(organization)],
  ["Grant access", paths.grant(organization)],
  ["Who can", paths.holders(organization)],
  ["Move workspaces", paths.move(organization)],
  ["Teams", paths.teams(organization)],
  ["People", paths.people(organization)],
  ["Tokens", paths.tokens(organization)],
  ["Audit", paths.audit(organization)],
  ["Variable sets", paths.variableSets(organization)],
  ["Settings", paths.organizationSettings(organization)],
];
