/** Choosing another workspace of the organization: the server searches as one types. */
import { Select } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { askingOn } from "../../api/queries.ts";

interface WorkspacePickerProps {
  readonly organization: string;
  readonly label: string;
  /** Those that can't be chosen. */
  readonly without: readonly string[];
  readonly value: string | null;
  readonly onChange: (id: string | null) => void;
}

export function WorkspacePicker({ organization, label, without, value, onChange }: WorkspacePickerProps) {
  const [typed, setTyped] = useState("");
  const [text] = useDebouncedValue(typed, 150);
  const query = useQuery(
    askingOn("GET /organizations/{organization_name}/workspaces", {
      path: { organization_name: organization },
      query: { "search[name]": text, "page[size]": 30, sort: "name" },
    }),
  );
  const data = (query.data?.data ?? [])
    .filter(({ id }) => !without.includes(id))
    .map(({ id, attributes }) => ({ value: id, label: attributes.name }));
  return (
    <Select
      aria-label={label}
      placeholder={label}
      data={data}
      value={value}
      onChange={onChange}
      searchable
      onSearchChange={setTyped}
      filter={({ options }) => options}
      nothingFoundMessage="No workspace by this name that you may see"
      w={260}
    />
  );
}
