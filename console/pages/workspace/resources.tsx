/** The resources of a workspace, by address. */
import { Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { askingOn } from "../../api/queries.ts";
import { useAddress } from "../../ui/address.ts";
import { Section } from "../../ui/page.tsx";
import { Asked, LoadingRows } from "../../components/states.tsx";
import { Pager, Table } from "../../ui/table.tsx";
import { Dimmed, When } from "../../ui/text.tsx";

export function ManagedResources({ workspaceId }: { readonly workspaceId: string }) {
  const { search, set } = useAddress();
  const query = useQuery(
    askingOn("GET /workspaces/{workspace_id}/resources", {
      path: { workspace_id: workspaceId },
      query: { "page[size]": 10, "page[number]": search["resources"] },
    }),
  );
  return (
    <Section title="Resources">
      <Asked query={query} loading={<LoadingRows rows={10} />}>
        {({ data, meta }) =>
          data.length === 0 ? (
            <Text c="dimmed">This state has no resources, or they are still being read.</Text>
          ) : (
            <>
              <Table
                label="Resources"
                rows={data}
                keyOf={({ id }) => id}
                columns={[
                  { title: "Address", cell: (row) => <span className="mono">{row.attributes.address}</span> },
                  {
                    title: "Provider",
                    isExtra: true,
                    cell: (row) => <Dimmed>{row.attributes.provider}</Dimmed>,
                  },
                  { title: "Changed", width: 110, cell: (row) => <When time={row.attributes["updated-at"]} /> },
                ]}
              />
              <Pager pagination={meta?.pagination} one="resource" onPage={(page) => set({ resources: String(page) })} />
            </>
          )
        }
      </Asked>
    </Section>
  );
}
