/** Pickers that search teams, projects and workspaces. Selected items are stored by id and shown by name. */
import { ActionIcon, Badge, Group, Select, Text, type SelectProps } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { IconX } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import type { Resource } from "../api/client.ts";
import type { ApiError } from "../api/errors.ts";
import { apiQuery, pagedQuery } from "../api/queries.ts";
import { paths } from "../paths.ts";
import { Link } from "../ui/link.tsx";

export type PickerKind = "teams" | "projects" | "workspaces";

interface PickerItem {
  readonly id: string;
  readonly attributes: { readonly name: string };
}

const size = 30;

const pickerKinds = {
  teams: {
    one: "team",
    show: (id: string) => apiQuery("GET /teams/{team_id}", { path: { team_id: id } }),
    list: (organization: string, q: string) =>
      pagedQuery("GET /organizations/{organization_name}/teams", {
        path: { organization_name: organization },
        query: { q, "page[size]": size },
      }),
  },
  projects: {
    one: "project",
    show: (id: string) => apiQuery("GET /projects/{project_id}", { path: { project_id: id } }),
    list: (organization: string, q: string) =>
      pagedQuery("GET /organizations/{organization_name}/projects", {
        path: { organization_name: organization },
        query: { q, "page[size]": size },
      }),
  },
  workspaces: {
    one: "workspace",
    show: (id: string) => apiQuery("GET /workspaces/{workspace_id}", { path: { workspace_id: id } }),
    list: (organization: string, name: string) =>
      pagedQuery("GET /organizations/{organization_name}/workspaces", {
        path: { organization_name: organization },
        query: { "search[name]": name, "page[size]": size },
      }),
  },
};

export function usePickerItem<K extends PickerKind>(kind: K, id: string | undefined): Resource<K> | undefined {
  return useQuery<{ readonly data: any }, ApiError>({ ...pickerKinds[kind].show(id ?? ""), enabled: !!id }).data?.data;
}

const usePickerSearch = (
  kind: PickerKind,
  organization: string,
  text: string,
  enabled: boolean,
): readonly PickerItem[] =>
  useQuery<{ readonly data: readonly any[] }, ApiError>({ ...pickerKinds[kind].list(organization, text), enabled }).data
    ?.data ?? [];

interface PickerProps extends Pick<
  SelectProps,
  "label" | "placeholder" | "aria-label" | "w" | "size" | "error" | "autoFocus"
> {
  readonly kind: PickerKind;
  readonly organization: string;
  readonly value: string | undefined;
  readonly onChange: (id: string | undefined) => void;
  readonly without?: readonly string[];
  readonly clearLabel?: string;
}

export function Picker({ kind, organization, value, onChange, without = [], clearLabel, ...rest }: PickerProps) {
  const chosen = usePickerItem(kind, value);
  const [typed, setTyped] = useState("");
  const [text] = useDebouncedValue(typed.trim(), 150);
  // The text can be the name of the selected item instead of a search.
  const [isUsed, setUsed] = useState(false);
  const found = usePickerSearch(kind, organization, text === chosen?.attributes.name ? "" : text, isUsed);
  const all = chosen && !found.some(({ id }) => id === chosen.id) ? [chosen, ...found] : found;
  return (
    <Select
      {...rest}
      searchable
      clearable={clearLabel !== undefined}
      clearButtonProps={{ "aria-label": clearLabel }}
      data={all
        .filter(({ id }) => !without.includes(id))
        .map(({ id, attributes }) => ({ value: id, label: attributes.name }))}
      value={value ?? null}
      onChange={(id) => {
        if (value === undefined) setTyped("");
        onChange(id ?? undefined);
      }}
      searchValue={typed}
      onSearchChange={setTyped}
      onFocus={() => setUsed(true)}
      nothingFoundMessage={typed.trim() === "" ? `No ${kind} yet` : `No ${kind} match "${typed.trim()}".`}
      filter={({ options }) => options}
    />
  );
}

export interface SelectedItem {
  readonly id: string;
  readonly name: string | undefined;
}

interface SelectedItemsProps {
  readonly organization: string;
  readonly kind: "projects" | "workspaces";
  readonly label: string;
  readonly chosen: readonly SelectedItem[];
  readonly change?: { readonly onAdd: (id: string) => void; readonly onRemove: (id: string) => void } | undefined;
}

export function SelectedItems({ organization, kind, label, chosen, change }: SelectedItemsProps) {
  const { one } = pickerKinds[kind];
  return (
    <Group gap="xs" role="group" aria-label={label}>
      {chosen.map(({ id, name }) => (
        <Badge
          key={id}
          tt="none"
          fw={400}
          size="lg"
          variant="default"
          rightSection={
            change && (
              <ActionIcon
                size="xs"
                variant="subtle"
                color="gray"
                aria-label={`Remove ${one} ${name ?? id}`}
                onClick={() => change.onRemove(id)}
              >
                <IconX size={12} />
              </ActionIcon>
            )
          }
        >
          <Text span inherit c="dimmed">
            {one}{" "}
          </Text>
          {name === undefined ? (
            id
          ) : (
            <Link to={kind === "projects" ? paths.project(organization, id) : paths.workspace(organization, name)}>
              {name}
            </Link>
          )}
        </Badge>
      ))}
      {!change && chosen.length === 0 && <Text c="dimmed">None</Text>}
      {change && (
        <Picker
          kind={kind}
          organization={organization}
          aria-label={`${label}: add a ${one}`}
          placeholder={`Add ${one}`}
          w={220}
          without={chosen.map(({ id }) => id)}
          value={undefined}
          onChange={(id) => id && change.onAdd(id)}
        />
      )}
    </Group>
  );
}
