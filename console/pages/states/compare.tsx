/** Compares a state version with the current one, the previous one, or any other; which one is in the address. */
import { Select, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import type { Resource } from "../../api/client.ts";
import { asking } from "../../api/queries.ts";
import { useAddress } from "../../ui/address.ts";
import { Section } from "../../ui/page.tsx";
import type { Place } from "../workspace/place.ts";
import { Changes } from "./changes.tsx";

export interface StateProps {
  readonly place: Place;
  readonly state: Resource<"state-versions">;
}

export const currentOf = ({ workspace }: Place) => workspace.relationships["current-state-version"]?.data?.id;

const createdText = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "short" });

export function Compare({ place, state }: StateProps) {
  const { search, set } = useAddress();
  const current = currentOf(place);
  const others = useQuery(
    asking("GET /workspaces/{workspace_id}/state-versions", {
      path: { workspace_id: place.workspace.id },
      query: { "page[size]": 100, "filter[status]": "finalized" },
    }),
  );
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
  // Somebody who looks at an old version wants to know what rolling back to it would change.
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
        {value === "previous"
          ? `What serial ${state.attributes.serial} changed.`
          : value === "current"
            ? `What rolling back to serial ${state.attributes.serial} would change.`
            : `What differs in serial ${state.attributes.serial}.`}
      </Text>
      <Changes stateId={state.id} since={since} />
    </Section>
  );
}
