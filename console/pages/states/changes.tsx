/** What differs between two states, by resource and output, for people: never a difference of JSON. */
import { Group, Select, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { askingOn } from "../../api/queries.ts";
import { useAddress } from "../../ui/address.ts";
import { Asked } from "../../ui/states.tsx";
import { Pager, Table } from "../../ui/table.tsx";
import { Value } from "../../ui/value.tsx";

const signs: Readonly<Record<string, { readonly sign: string; readonly color: string }>> = {
  added: { sign: "+", color: "var(--sign-teal)" },
  changed: { sign: "~", color: "var(--sign-yellow)" },
  removed: { sign: "−", color: "var(--sign-red)" },
};

export function Changes({ stateId, since }: { readonly stateId: string; readonly since: string | undefined }) {
  const { search, set } = useAddress();
  const query = useQuery(
    askingOn("GET /state-versions/{state_version_id}/changes", {
      path: { state_version_id: stateId },
      query: { since, "filter[change]": search["change"], "page[number]": search["page"], "page[size]": 50 },
    }),
  );
  return (
    <>
      <Group gap="xs">
        <Select
          aria-label="Kind of difference"
          placeholder="Added, changed or removed"
          data={Object.keys(signs)}
          value={search["change"] ?? null}
          onChange={(change) => set({ change: change ?? undefined, page: undefined })}
          clearable
          w={250}
          clearButtonProps={{ "aria-label": "Any difference" }}
        />
      </Group>
      <Asked query={query}>
        {({ data, meta }) =>
          data.length === 0 ? (
            <Text c="dimmed">Nothing differs.</Text>
          ) : (
            <>
              <Table
                label="Differences"
                rows={data}
                keyOf={({ id }) => id}
                columns={[
                  {
                    title: "Difference",
                    width: 110,
                    cell: ({ attributes: { change } }) => (
                      <Text span c={signs[change]?.color} style={{ whiteSpace: "nowrap" }}>
                        <span aria-hidden>{signs[change]?.sign}</span> {change}
                      </Text>
                    ),
                  },
                  { title: "What", width: 80, isExtra: true, cell: ({ attributes }) => attributes.kind },
                  {
                    title: "Address",
                    cell: ({ attributes }) => <span className="mono wrapped">{attributes.address}</span>,
                  },
                  { title: "Value", isExtra: true, cell: ({ attributes }) => <OutputValues {...attributes} /> },
                ]}
              />
              <Pager pagination={meta?.pagination} one="difference" onPage={(page) => set({ page: String(page) })} />
            </>
          )
        }
      </Asked>
    </>
  );
}

interface OutputValuesProps {
  readonly kind: string;
  readonly change: string;
  readonly address: string;
  readonly sensitive: boolean | null;
  readonly before: unknown;
  readonly after: unknown;
}

function OutputValues({ kind, change, address, sensitive, before, after }: OutputValuesProps) {
  if (kind !== "output") return null;
  if (sensitive)
    return (
      <Text span c="dimmed">
        sensitive
      </Text>
    );
  return (
    <>
      {change !== "added" && <Value value={before} label={`${address} before`} />}
      {change === "changed" && <span aria-label="becomes"> → </span>}
      {change !== "removed" && <Value value={after} label={`${address} after`} />}
    </>
  );
}
