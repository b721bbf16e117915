/** Tables: sorted by the server, with the page in the address. */
import { Group, Pagination, ScrollArea, Table as Plain, Text, UnstyledButton } from "@mantine/core";
import type { ReactNode } from "react";
import { counted } from "./text.tsx";

export interface TableColumn<Row> {
  readonly title: string;
  readonly cell: (row: Row) => ReactNode;
  readonly sort?: string;
  readonly isFigure?: boolean;
  readonly width?: string | number;
  readonly isExtra?: boolean;
}

export interface TableProps<Row> {
  readonly label: string;
  readonly columns: readonly TableColumn<Row>[];
  readonly rows: readonly Row[];
  readonly keyOf: (row: Row) => string;
  readonly sort?: string | undefined;
  readonly onSort?: (sort: string) => void;
}

export function Table<Row>({ label, columns, rows, keyOf, sort, onSort }: TableProps<Row>) {
  return (
    <ScrollArea type="auto" tabIndex={-1}>
      <Plain aria-label={label} highlightOnHover>
        <Plain.Thead>
          <Plain.Tr>
            {columns.map((column) => (
              <HeadCell key={column.title} column={column} sort={sort} onSort={onSort} />
            ))}
          </Plain.Tr>
        </Plain.Thead>
        <Plain.Tbody>
          {rows.map((row) => (
            <Plain.Tr key={keyOf(row)}>
              {columns.map(({ title, cell, isFigure, isExtra }) => (
                <Plain.Td key={title} className={isFigure ? "figure" : ""} visibleFrom={isExtra ? "sm" : undefined}>
                  {cell(row)}
                </Plain.Td>
              ))}
            </Plain.Tr>
          ))}
        </Plain.Tbody>
      </Plain>
    </ScrollArea>
  );
}

export interface HeadCellProps {
  readonly column: TableColumn<any>;
  readonly sort: string | undefined;
  readonly onSort: ((sort: string) => void) | undefined;
}

function HeadCell({ column, sort, onSort }: HeadCellProps) {
  const { isFigure, width, isExtra } = column;
  return (
    <Plain.Th
      scope="col"
      w={width}
      aria-sort={orderOf(column, sort)}
      className={isFigure ? "figure" : ""}
      visibleFrom={isExtra ? "sm" : undefined}
      fz="xs"
      c="dimmed"
      fw={500}
    >
      <ColumnTitle {...{ column, sort, onSort }} />
    </Plain.Th>
  );
}

export function orderOf({ sort: by }: TableColumn<any>, sort: string | undefined) {
  if (by === undefined) return undefined;
  if (sort === by) return "ascending";
  return sort === `-${by}` ? "descending" : "none";
}

export function ColumnTitle({ column, sort, onSort }: HeadCellProps) {
  const { title, sort: by } = column;
  const order = orderOf(column, sort);
  if (by === undefined || onSort === undefined) return title;
  return (
    <UnstyledButton
      fz="xs"
      c="dimmed"
      fw={order === "none" ? 500 : 700}
      onClick={() => onSort(sort === by ? `-${by}` : by)}
    >
      {title}
      {order === "ascending" && " ↑"}
      {order === "descending" && " ↓"}
    </UnstyledButton>
  );
}

interface PagerProps {
  readonly pagination:
    | { readonly "current-page": number; readonly "total-pages": number; readonly "total-count": number }
    | undefined;
  readonly onPage: (page: number) => void;
  readonly one: string;
  readonly many?: string;
}

export function Pager({ pagination, onPage, one, many }: PagerProps) {
  if (!pagination) return null;
  return (
    <Group justify="space-between" mt="sm">
      <Text c="dimmed" fz="sm">
        {counted(pagination["total-count"], one, many)}
      </Text>
      {pagination["total-pages"] > 1 && (
        <Pagination
          size="sm"
          total={pagination["total-pages"]}
          value={pagination["current-page"]}
          onChange={onPage}
          getItemProps={(page) => ({ "aria-label": `Page ${page}` })}
          getControlProps={(control) => ({ "aria-label": `${control} page` })}
        />
      )}
    </Group>
  );
}
