/** Notifications or audit webhooks: the list with their last results, and the dialog to create or edit one. */
import type { UseQueryResult } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { FormDialog } from "../ui/dialog.tsx";
import { Asked } from "../components/states.tsx";
import { type Column, Table } from "../ui/table.tsx";
import { DeliveriesDialog, type Teller } from "./log.tsx";
import { LastAttempt, oneOf, ToldActions, ToldSwitch } from "./told.tsx";

interface Row {
  readonly id: string;
  readonly attributes: {
    readonly name: string;
    readonly enabled: boolean;
    readonly "delivery-responses": readonly object[];
  };
}

interface ToldListProps<R extends Row> {
  readonly by: Teller;
  readonly label: string;
  readonly query: UseQueryResult<{ readonly data: readonly R[] }, unknown>;
  readonly empty: ReactNode;
  readonly columns: readonly Column<R>[];
  readonly triedOf?: (row: R) => string | undefined;
  readonly edited: R | "new" | undefined;
  readonly onEdit: (row: R | undefined) => void;
  readonly form: (known: R | undefined, close: () => void) => ReactNode;
}

export function ToldList<R extends Row>({ query, empty, edited, onEdit, form, ...rest }: ToldListProps<R>) {
  const close = () => onEdit(undefined);
  return (
    <>
      <Asked query={query}>
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
      </Asked>
      <FormDialog
        opened={edited !== undefined}
        onClose={close}
        title={edited === "new" ? `New ${oneOf(rest.by)}` : `Edit ${edited?.attributes.name}`}
      >
        {edited !== undefined && form(edited === "new" ? undefined : edited, close)}
      </FormDialog>
    </>
  );
}

type RowsProps<R extends Row> = Pick<ToldListProps<R>, "by" | "label" | "columns" | "triedOf" | "onEdit"> & {
  readonly rows: readonly R[];
};

function Rows<R extends Row>({ by, label, columns, triedOf, onEdit, rows }: RowsProps<R>) {
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
          cell: ({ id, attributes: { name, enabled } }) => <ToldSwitch {...{ by, id, name, enabled }} />,
        },
        {
          title: "Actions",
          width: 1,
          cell: (row) => {
            const tried = triedOf?.(row);
            const { id, attributes } = row;
            return (
              <ToldActions {...{ by, id, name: attributes.name, ...(tried && { tried }) }} onEdit={() => onEdit(row)} />
            );
          },
        },
      ]}
    />
  );
}
