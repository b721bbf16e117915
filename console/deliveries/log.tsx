/** The deliveries of a notification or webhook: attempts and results, with the response when expanded. */
import { Badge, Button, Stack, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import type { Resource } from "../api/client.ts";
import { pagedQuery } from "../api/queries.ts";
import { useAddress } from "../ui/address.ts";
import { FormDialog } from "../ui/dialog.tsx";
import { DescriptionList } from "../ui/page.tsx";
import { QueryContent, Empty } from "../components/states.tsx";
import { Pager, Table } from "../ui/table.tsx";
import { Dimmed, figure, Identifier, When, Value } from "../ui/text.tsx";

type Delivery = Resource<"deliveries">;

export type DeliveryTargetType = "audit-webhooks" | "notification-configurations";

const deliveriesOf = {
  "audit-webhooks": (id: string, query: object) =>
    pagedQuery("GET /audit-webhooks/{audit_webhook_id}/deliveries", { path: { audit_webhook_id: id }, query }),
  "notification-configurations": (id: string, query: object) =>
    pagedQuery("GET /notification-configurations/{notification_configuration_id}/deliveries", {
      path: { notification_configuration_id: id },
      query,
    }),
};

const liveMs = 5_000;

export function DeliveriesButton({ id, name }: { readonly id: string; readonly name: string }) {
  const { set } = useAddress();
  return (
    <Button
      variant="subtle"
      size="compact-xs"
      aria-label={`Deliveries of ${name}`}
      onClick={() => set({ deliveries: id })}
    >
      Deliveries
    </Button>
  );
}

interface DeliveriesDialogProps {
  readonly by: DeliveryTargetType;
  readonly nameOf: (id: string) => string | undefined;
}

export function DeliveriesDialog({ by, nameOf }: DeliveriesDialogProps) {
  const { search, set } = useAddress();
  const id = search["deliveries"];
  return (
    <FormDialog
      opened={id !== undefined}
      onClose={() => set({ deliveries: undefined })}
      title={`Deliveries${id && nameOf(id) ? ` of ${nameOf(id)}` : ""}`}
    >
      {id !== undefined && <Deliveries by={by} id={id} />}
    </FormDialog>
  );
}

function Deliveries({ by, id }: { readonly by: DeliveryTargetType; readonly id: string }) {
  const [page, setPage] = useState(1);
  const query = useQuery({
    ...deliveriesOf[by](id, { "page[size]": 20, "page[number]": page }),
    refetchInterval: liveMs,
  });
  return (
    <QueryContent query={query}>
      {({ data, meta }) =>
        data.length === 0 ? (
          <Empty title="No deliveries yet">
            Deliveries and successful tests are listed here for 30 days with their responses.
          </Empty>
        ) : (
          <>
            <Rows rows={data} />
            <Pager pagination={meta?.pagination} one="delivery" many="deliveries" onPage={setPage} />
          </>
        )
      }
    </QueryContent>
  );
}

const colours: Readonly<Record<string, string>> = { delivered: "teal", failed: "red", waiting: "blue" };

function Rows({ rows }: { readonly rows: readonly Delivery[] }) {
  const [opened, setOpened] = useState<string>();
  const shown = rows.find(({ id }) => id === opened);
  return (
    <Stack gap="sm">
      <Table
        label="Deliveries"
        rows={rows}
        keyOf={({ id }) => id}
        columns={[
          {
            title: "Time",
            isExtra: true,
            width: 100,
            cell: ({ attributes }) => <When time={attributes["created-at"]} />,
          },
          {
            title: "Event",
            cell: ({ attributes: { event, place } }) => (
              <>
                <span className="mono">{event}</span> {place && <Dimmed>{place}</Dimmed>}
              </>
            ),
          },
          {
            title: "Result",
            cell: ({ attributes: { state } }) => (
              <Badge color={colours[state] ?? "gray"} miw="fit-content">
                {state}
              </Badge>
            ),
          },
          {
            title: "Response",
            isExtra: true,
            cell: ({ attributes }) => attributes.response?.code || <Dimmed>{attributes.response ? "none" : ""}</Dimmed>,
          },
          {
            title: "Actions",
            width: 1,
            cell: (delivery) => (
              <Button
                variant="subtle"
                size="compact-xs"
                aria-expanded={delivery.id === opened}
                aria-label={`Details of ${delivery.attributes.event}, ${delivery.id}`}
                onClick={() => setOpened(delivery.id === opened ? undefined : delivery.id)}
              >
                Details
              </Button>
            ),
          },
        ]}
      />
      {shown && <Details delivery={shown} />}
    </Stack>
  );
}

function Details({ delivery: { id, attributes } }: { readonly delivery: Delivery }) {
  const { attempts, response, "next-attempt-at": next, "finished-at": finished } = attributes;
  return (
    <Stack gap="xs" component="section" aria-label="Details">
      <DescriptionList
        items={{
          Delivery: <Identifier value={id} />,
          Attempts: figure(attempts),
          "Next attempt": next && <When time={next} />,
          Finished: finished && <When time={finished} />,
          Sent: response && <When time={response["sent-at"]} />,
          Status: response && (response.code || "no response"),
        }}
      />
      {response && (
        <>
          <Text fz="sm" c="dimmed">
            {response.code === "" ? "Error" : "Response body"}
          </Text>
          <Value label="Response body" value={response.body} />
        </>
      )}
      {response && Object.keys(response.headers).length > 0 && (
        <>
          <Text fz="sm" c="dimmed">
            Response headers
          </Text>
          <Value label="Response headers" value={headersOf(response.headers)} />
        </>
      )}
    </Stack>
  );
}

const headersOf = (headers: Readonly<Record<string, readonly string[]>>): string =>
  Object.entries(headers)
    .flatMap(([name, values]) => values.map((value) => `${name}: ${value}`))
    .join("\n");
