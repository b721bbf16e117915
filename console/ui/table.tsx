/** Tables: columns once, rows as they come; sorted by the server, turned over by the address. */
import { Group, Pagination, ScrollArea, Table as Plain, Text, UnstyledButton } from "@mantine/core";
import type { ReactNode } from "react";
import { counted } from "./text.tsx";

export interface Column<Row> {
  readonly title: string;
  readonly cell: (row: Row) => ReactNode;
  /** What the server sorts by. */
  readonly sort?: string;
  readonly isFigure?: boolean;
  readonly width?: string | number;
  /** Left out where there is little room. */
  readonly isExtra?: boolean;
}

export interface TableProps<Row> {
  readonly label: string;
  readonly columns: readonly Column<Row>[];
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

interface HeadCellProps {
  readonly column: Column<any>;
  readonly sort: string | undefined;
  readonly onSort: ((sort: string) => void) | undefined;
}

export function HeadCell({ column: { title, sort: by, isFigure, width, isExtra }, sort, onSort }: HeadCellProps) {
  const direction =
    by === undefined ? undefined : sort === by ? "ascending" : sort === `-${by}` ? "descending" : "none";
  return (
    <Plain.Th
      scope="col"
      w={width}
      aria-sort={direction}
      className={isFigure ? "figure" : ""}
      visibleFrom={isExtra ? "sm" : undefined}
      fz="xs"
      c="dimmed"
      fw={500}
    >
      {by === undefined || onSort === undefined ? (
        title
      ) : (
        <UnstyledButton
          fz="xs"
          fw={direction === "none" ? 500 : 700}
          onClick={() => onSort(sort === by ? `-${by}` : by)}
        >
          {title}
          {direction === "ascending" && " ↑"}
          {direction === "descending" && " ↓"}
        </UnstyledButton>
      )}
    </Plain.Th>
  );
}

interface PagerProps {
  readonly pagination:
    | { readonly "current-page": number; readonly "total-pages": number; readonly "total-count": number }
    | undefined;
  readonly onPage: (page: number) => void;
  readonly one: string;
}

/** "41 teams", and the pages where there is more than one. */
export function Pager({ pagination, onPage, one }: PagerProps) {
  if (!pagination) return null;
  return (
    <Group justify="space-between" mt="sm">
      <Text c="dimmed" fz="sm">
        {counted(pagination["total-count"], one)}
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
