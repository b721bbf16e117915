/** Notifications or audit webhooks: the list with their last results, and the dialog to create or edit one. */
import type { UseQueryResult } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { FormDialog } from "../ui/dialog.tsx";
import { QueryContent } from "../components/states.tsx";
import { type TableColumn, Table } from "../ui/table.tsx";
import { DeliveriesDialog, type DeliveryTargetType } from "./log.tsx";
import { LastAttempt, nounOf, DeliveryTargetActions, EnabledSwitch } from "./targets.tsx";

interface DeliveryTargetRow {
  readonly id: string;
  readonly attributes: {
    readonly name: string;
    readonly enabled: boolean;
    readonly "delivery-responses": readonly object[];
  };
}

interface DeliveryTargetListProps<R extends DeliveryTargetRow> {
  readonly by: DeliveryTargetType;
  readonly label: string;
  readonly query: UseQueryResult<{ readonly data: readonly R[] }, unknown>;
  readonly empty: ReactNode;
  readonly columns: readonly TableColumn<R>[];
  readonly triedOf?: (row: R) => string | undefined;
  readonly edited: R | "new" | undefined;
  readonly onEdit: (row: R | undefined) => void;
  readonly form: (known: R | undefined, close: () => void) => ReactNode;
}

export function DeliveryTargetList<R extends DeliveryTargetRow>({
  query,
  empty,
  edited,
  onEdit,
  form,
  ...rest
}: DeliveryTargetListProps<R>) {
  const close = () => onEdit(undefined);
  return (
    <>
      <QueryContent query={query}>
        {({ data }) =>
          data.length === 0 ? (
            empty
          ) : (
            <>
              <Rows rows={data} onEdit={onEdit} {...rest} />
              <DeliveriesDialog by={rest.by} nameOf={(id) => data.find((one) => one.id === id)?.attributes.name} />
            </>
          )
        }
      </QueryContent>
      <FormDialog
        opened={edited !== undefined}
        onClose={close}
        title={edited === "new" ? `New ${nounOf(rest.by)}` : `Edit ${edited?.attributes.name}`}
      >
        {edited !== undefined && form(edited === "new" ? undefined : edited, close)}
      </FormDialog>
    </>
  );
}

type RowsProps<R extends DeliveryTargetRow> = Pick<
  DeliveryTargetListProps<R>,
  "by" | "label" | "columns" | "triedOf" | "onEdit"
> & {
  readonly rows: readonly R[];
};

function Rows<R extends DeliveryTargetRow>({ by, label, columns, triedOf, onEdit, rows }: RowsProps<R>) {
  return (
    <Table
      label={label}
      rows={rows}
      keyOf={({ id }) => id}
      columns={[
        { title: "Name", cell: ({ attributes }) => attributes.name },
        ...columns,
        {
          title: "Last result",
          cell: ({ attributes }) => <LastAttempt responses={attributes["delivery-responses"]} />,
        },
        {
          title: "Enabled",
          width: 1,
          cell: ({ id, attributes: { name, enabled } }) => <EnabledSwitch {...{ by, id, name, enabled }} />,
        },
        {
          title: "Actions",
          width: 1,
          cell: (row) => {
            const tried = triedOf?.(row);
            const { id, attributes } = row;
            return (
              <DeliveryTargetActions
                {...{ by, id, name: attributes.name, ...(tried && { tried }) }}
                onEdit={() => onEdit(row)}
              />
            );
          },
        },
      ]}
    />
  );
}
