/** Compares a state version with the current one, the previous one, or any other; the choice is in the address. */
import { Select, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import type { Resource } from "../../api/client.ts";
import { useAddress } from "../../ui/address.ts";
import { Section } from "../../ui/page.tsx";
import type { WorkspaceDetails } from "../workspace/details.ts";
import { Changes } from "./changes.tsx";
import { finalizedStateVersions } from "../../api/detail-queries.ts";

export interface StateProps {
  readonly details: WorkspaceDetails;
  readonly state: Resource<"state-versions">;
}

export const currentOf = ({ workspace }: WorkspaceDetails) =>
  workspace.relationships["current-state-version"]?.data?.id;

const createdText = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "short" });

function sentenceOf(since: string, serial: number, isFirst: boolean): string {
  if (since === "current") return `What rolling back to serial ${serial} would change.`;
  if (since !== "previous") return `What differs in serial ${serial}.`;
  return isFirst ? `Serial ${serial} is the first version: everything was added.` : `What serial ${serial} changed.`;
}

export function Compare({ details, state }: StateProps) {
  const { search, set } = useAddress();
  const current = currentOf(details);
  const others = useQuery(finalizedStateVersions(details.workspace.id));
  const versions = others.data?.data ?? [];
  const serial = versions.find(({ id }) => id === current)?.attributes.serial;
  const isCurrent = current === undefined || state.id === current;
  const currentLabel = serial === undefined ? "Current version" : `Current version (serial ${serial})`;
  const choices = [
    ...(isCurrent ? [] : [{ value: "current", label: currentLabel }]),
    { value: "previous", label: "Previous version" },
    ...versions
      .filter(({ id }) => id !== state.id && id !== current)
      .map(({ id, attributes }) => ({
        value: id,
        label: `Serial ${attributes.serial}, ${createdText.format(new Date(attributes["created-at"]))}`,
      })),
  ];
  // Newest first: if there are more than requested, the first version is not among them.
  const isFirst =
    versions.at(-1)?.id === state.id && others.data?.meta?.pagination?.["total-count"] === versions.length;
  // An old version shows what rolling back to it would change.
  const byDefault = isCurrent ? "previous" : "current";
  const value = search["since"] ?? byDefault;
  const since = value === "previous" ? undefined : value === "current" ? current : value;
  return (
    <Section
      title="Changes"
      actions={
        <Select
          label="Compare with"
          data={choices}
          value={value}
          onChange={(next) =>
            set({ since: next === null || next === byDefault ? undefined : next, change: undefined, page: undefined })
          }
          searchable
          w={250}
        />
      }
    >
      <Text c="dimmed" fz="sm">
        {sentenceOf(value, state.attributes.serial, isFirst)}
      </Text>
      <Changes stateId={state.id} since={since} />
    </Section>
  );
}
