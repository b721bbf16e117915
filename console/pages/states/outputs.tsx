/** The outputs of a state. Those that are sensitive are named, and never shown here. */
import { Badge } from "@mantine/core";
import type { Resource } from "../../api/client.ts";
import { Dimmed, Value } from "../../ui/text.tsx";
import { Table } from "../../ui/table.tsx";

export function Outputs({ outputs }: { readonly outputs: readonly Resource<"state-version-outputs">[] }) {
  return (
    <Table
      label="Outputs"
      rows={outputs}
      keyOf={({ id }) => id}
      columns={[
        { title: "Name", width: "30%", cell: (row) => <span className="mono">{row.attributes.name}</span> },
        {
          title: "Value",
          cell: ({ attributes }) =>
            attributes.sensitive ? (
              <Badge color="gray" tt="none">
                sensitive
              </Badge>
            ) : (
              <Value value={attributes.value} label={`Value of ${attributes.name}`} />
            ),
        },
        {
          title: "Type",
          width: 90,
          isExtra: true,
          cell: (row) => <Dimmed>{row.attributes.type}</Dimmed>,
        },
      ]}
    />
  );
}
