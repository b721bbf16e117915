/** Choosing a team, a project or a workspace by searching for it; what is chosen is known by its id, and shown by its name. */
import { Select, type SelectProps } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { asking, askingOn } from "../api/queries.ts";

interface PickerProps extends Pick<SelectProps, "label" | "placeholder" | "w" | "size"> {
  readonly organization: string;
  readonly value: string | undefined;
  readonly onChange: (id: string | undefined) => void;
}

interface Found {
  readonly id: string;
  readonly attributes: { readonly name: string };
}

const size = 30;

interface SearchedProps extends Omit<PickerProps, "organization"> {
  readonly found: readonly Found[] | undefined;
  readonly chosen: Found | undefined;
  readonly onSearch: (text: string) => void;
}

function Searched({ found = [], chosen, value, onChange, onSearch, ...rest }: SearchedProps) {
  const all = chosen && !found.some(({ id }) => id === chosen.id) ? [chosen, ...found] : found;
  return (
    <Select
      {...rest}
      searchable
      data={all.map(({ id, attributes }) => ({ value: id, label: attributes.name }))}
      value={value ?? null}
      onChange={(id) => onChange(id ?? undefined)}
      onSearchChange={onSearch}
      nothingFoundMessage="Nothing by this name that you may see"
      // The server has searched.
      filter={({ options }) => options}
    />
  );
}

/** What is typed, unless it is only the name of what is chosen. */
function useTyped(chosen: Found | undefined): readonly [string, (text: string) => void] {
  const [typed, setTyped] = useState("");
  const [text] = useDebouncedValue(typed.trim(), 150);
  return [text === chosen?.attributes.name ? "" : text, setTyped];
}

export function TeamPicker({ organization, ...props }: PickerProps) {
  const { value } = props;
  const chosen = useTeam(value);
  const [q, onSearch] = useTyped(chosen);
  const found = useQuery(
    askingOn("GET /organizations/{organization_name}/teams", {
      path: { organization_name: organization },
      query: { q, "page[size]": size },
    }),
  );
  return <Searched {...props} found={found.data?.data} chosen={chosen} onSearch={onSearch} />;
}

export function ProjectPicker({ organization, ...props }: PickerProps) {
  const { value } = props;
  const chosen = useProject(value);
  const [q, onSearch] = useTyped(chosen);
  const found = useQuery(
    askingOn("GET /organizations/{organization_name}/projects", {
      path: { organization_name: organization },
      query: { q, "page[size]": size },
    }),
  );
  return <Searched {...props} found={found.data?.data} chosen={chosen} onSearch={onSearch} />;
}

export function WorkspacePicker({ organization, ...props }: PickerProps) {
  const { value } = props;
  const chosen = useWorkspace(value);
  const [q, onSearch] = useTyped(chosen);
  const found = useQuery(
    askingOn("GET /organizations/{organization_name}/workspaces", {
      path: { organization_name: organization },
      query: { "search[name]": q, "page[size]": size },
    }),
  );
  return <Searched {...props} found={found.data?.data} chosen={chosen} onSearch={onSearch} />;
}

export const useTeam = (id: string | undefined) =>
  useQuery({ ...asking("GET /teams/{team_id}", { path: { team_id: id } }), enabled: !!id }).data?.data;
export const useProject = (id: string | undefined) =>
  useQuery({ ...asking("GET /projects/{project_id}", { path: { project_id: id } }), enabled: !!id }).data?.data;
export const useWorkspace = (id: string | undefined) =>
  useQuery({ ...asking("GET /workspaces/{workspace_id}", { path: { workspace_id: id } }), enabled: !!id }).data?.data;
