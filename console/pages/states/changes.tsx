/** The changes between two state versions: resources, attributes and outputs. */
import { Button, Group, Select, Stack, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState, type ReactNode } from "react";
import type { Resource } from "../../api/client.ts";
import { pagedQuery } from "../../api/queries.ts";
import { useAddress } from "../../ui/address.ts";
import { QueryContent, LoadingRows } from "../../components/states.tsx";
import { Pager, Table } from "../../ui/table.tsx";
import { counted, Dimmed, figure, Value } from "../../ui/text.tsx";

const signs: Readonly<Record<string, { readonly sign: string; readonly color: string }>> = {
  added: { sign: "+", color: "var(--change-teal)" },
  changed: { sign: "~", color: "var(--change-yellow)" },
  removed: { sign: "−", color: "var(--change-red)" },
};

const choices = [
  { value: "added", label: "Added" },
  { value: "changed", label: "Changed" },
  { value: "removed", label: "Removed" },
];

interface ComparedProps {
  readonly stateId: string;
  readonly since: string | undefined;
}

const changesOf = ({ stateId, since }: ComparedProps, query: object) =>
  pagedQuery("GET /state-versions/{state_version_id}/changes", {
    path: { state_version_id: stateId },
    query: { since, ...query },
  });

export function Changes(compared: ComparedProps) {
  const { search, set } = useAddress();
  const query = useQuery(
    changesOf(compared, { "filter[change]": search["change"], "page[number]": search["page"], "page[size]": 50 }),
  );
  return (
    <>
      <Group gap="xs">
        <Select
          aria-label="Type of change"
          placeholder="All changes"
          data={choices}
          value={search["change"] ?? null}
          onChange={(change) => set({ change: change ?? undefined, page: undefined })}
          clearable
          w={160}
          clearButtonProps={{ "aria-label": "Show all changes" }}
        />
      </Group>
      <QueryContent query={query}>
        {({ data, meta }) =>
          data.length === 0 ? (
            <Text c="dimmed">No changes.</Text>
          ) : (
            <>
              <ChangeTable changes={data} />
              <Pager pagination={meta?.pagination} one="change" onPage={(page) => set({ page: String(page) })} />
            </>
          )
        }
      </QueryContent>
    </>
  );
}

const shortMax = 10;

export function FirstChanges({ more, ...compared }: ComparedProps & { readonly more: ReactNode }) {
  const query = useQuery(changesOf(compared, { "page[size]": shortMax }));
  return (
    <QueryContent query={query} loading={<LoadingRows rows={3} />}>
      {({ data, meta }) => {
        const rest = (meta?.pagination?.["total-count"] ?? 0) - data.length;
        if (data.length === 0) return <Text>Both versions are the same.</Text>;
        return (
          <>
            <ChangeTable changes={data} />
            {rest > 0 && (
              <Text>
                {counted(rest, "more change")}. {more}
              </Text>
            )}
          </>
        );
      }}
    </QueryContent>
  );
}

type StateVersionDifference = Resource<"state-version-changes">;

function ChangeTable({ changes }: { readonly changes: readonly StateVersionDifference[] }) {
  return (
    <Table
      label="Changes"
      rows={changes}
      keyOf={({ id }) => id}
      columns={[
        {
          title: "Change",
          cell: ({ attributes }) => (
            <Stack gap={2} miw={0}>
              <div>
                <Text span inherit c={signs[attributes.change]?.color} fw={600}>
                  <span aria-hidden>{signs[attributes.change]?.sign}</span> {attributes.change}
                </Text>{" "}
                {attributes.kind === "output" && <Dimmed>output </Dimmed>}
                <span className="mono wrapped">{attributes.address}</span>
              </div>
              {attributes.kind === "output" ? (
                <Line {...attributes} name={attributes.address} sensitive={attributes.sensitive === true} />
              ) : (
                <Attributes change={attributes} />
              )}
            </Stack>
          ),
        },
      ]}
    />
  );
}

const shownAtFirst = 8;

function Attributes({ change }: { readonly change: StateVersionDifference["attributes"] }) {
  const [isWhole, setWhole] = useState(false);
  const { "attribute-changes": listed, "attribute-change-count": count } = change;
  if (change.change !== "changed") return null;
  if (listed === null) return <Dimmed>Too large to compare by attribute.</Dimmed>;
  if (count === 0) return <Dimmed>Only metadata changed, such as dependencies.</Dimmed>;
  const unlisted = (count ?? 0) - listed.length;
  return (
    <>
      {listed.slice(0, isWhole ? listed.length : shownAtFirst).map((each) => (
        <Line key={each.path} {...each} name={each.path} label={each.path} isTooLarge={each["too-large"]} />
      ))}
      {!isWhole && listed.length > shownAtFirst && (
        <Button variant="subtle" size="compact-xs" w="fit-content" onClick={() => setWhole(true)}>
          Show all {figure(listed.length)} attributes
        </Button>
      )}
      {isWhole && unlisted > 0 && <Dimmed>{counted(unlisted, "more attribute")} changed.</Dimmed>}
    </>
  );
}

interface ChangeLineProps {
  readonly name: string;
  readonly label?: string;
  readonly change: string;
  readonly sensitive: boolean;
  readonly isTooLarge?: boolean;
  readonly before: unknown;
  readonly after: unknown;
}

function Line({ name, label, change, sensitive, isTooLarge = false, before, after }: ChangeLineProps) {
  return (
    <Text fz="sm" component="div" style={{ overflowWrap: "anywhere" }}>
      {label && (
        <>
          <span className="mono">{label}</span>:{" "}
        </>
      )}
      {sensitive || isTooLarge ? (
        <Dimmed>{sensitive ? "sensitive value, hidden" : "too long to show"}</Dimmed>
      ) : (
        <>
          {change !== "added" && <Value value={before} label={`${name} before`} />}
          {change === "changed" && <span aria-label="becomes"> → </span>}
          {change !== "removed" && <Value value={after} label={`${name} after`} />}
          {label && change !== "changed" && <Dimmed> ({change})</Dimmed>}
        </>
      )}
    </Text>
  );
}
