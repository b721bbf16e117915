/** A virtual table: renders only the rows in view, and loads pages as they come into view. */
import { Box, Skeleton } from "@mantine/core";
import { useMediaQuery } from "@mantine/hooks";
import { useWindowVirtualizer } from "@tanstack/react-virtual";
import { memo, useEffect, useLayoutEffect, useMemo, useRef, useState } from "react";
import { ColumnTitle, orderOf, type TableColumn, type HeadCellProps } from "./table.tsx";
import classes from "./long-table.module.css";

export interface LongTableProps<Row> {
  readonly label: string;
  readonly columns: readonly TableColumn<Row>[];
  readonly count: number;
  readonly rowAt: (index: number) => Row | undefined;
  readonly onRange: (first: number, last: number) => void;
  readonly sort?: string | undefined;
  readonly onSort?: (sort: string) => void;
}

const rowHeight = 34;

export function LongTable<Row>({ label, columns: all, count, rowAt, onRange, sort, onSort }: LongTableProps<Row>) {
  const isNarrow = useMediaQuery("(max-width: 48em)", false, { getInitialValueInEffect: false });
  const columns = useMemo(() => (isNarrow ? all.filter(({ isExtra }) => !isExtra) : all), [all, isNarrow]);
  const body = useRef<HTMLDivElement>(null);
  const [offset, setOffset] = useState(0);
  useLayoutEffect(() => setOffset(body.current?.offsetTop ?? 0), []);
  const virtualizer = useWindowVirtualizer({
    count,
    estimateSize: () => rowHeight,
    overscan: 12,
    scrollMargin: offset,
  });
  const items = virtualizer.getVirtualItems();
  const first = items[0]?.index ?? 0;
  const last = items.at(-1)?.index ?? 0;
  useEffect(() => onRange(first, last), [first, last, onRange]);
  const template = columns
    .map(({ width }) => (typeof width === "number" ? `${width}px` : (width ?? "minmax(0, 1fr)")))
    .join(" ");
  return (
    <div role="table" aria-label={label} aria-rowcount={count + 1} className={classes["table"]}>
      <div role="rowgroup" className={classes["head"]}>
        <div role="row" aria-rowindex={1} className={classes["row"]} style={{ gridTemplateColumns: template }}>
          {columns.map((column) => (
            <Head key={column.title} column={column} sort={sort} onSort={onSort} />
          ))}
        </div>
      </div>
      <div role="rowgroup" ref={body} style={{ position: "relative", height: virtualizer.getTotalSize() }}>
        {items.map(({ index, start }) => {
          const row = rowAt(index);
          return (
            <div
              key={index}
              role="row"
              aria-rowindex={index + 2}
              className={`${classes["row"]} ${classes["placed"]}`}
              style={{ gridTemplateColumns: template, height: rowHeight, transform: `translateY(${start - offset}px)` }}
            >
              <Cells columns={columns} row={row} />
            </div>
          );
        })}
      </div>
    </div>
  );
}

/** Scrolling must not render unchanged rows again. */
const Cells = memo(function Cells({
  columns,
  row,
}: {
  readonly columns: readonly TableColumn<any>[];
  readonly row: unknown;
}) {
  return columns.map(({ title, cell, isFigure }) => (
    <div key={title} role="cell" className={`${classes["cell"]} ${isFigure ? "figure" : ""}`}>
      {row === undefined ? <Skeleton height={14} width="70%" /> : cell(row)}
    </div>
  ));
});

function Head({ column, sort, onSort }: HeadCellProps) {
  const cellClass = `${classes["cell"]} ${column.isFigure ? "figure" : ""}`;
  return (
    <Box role="columnheader" aria-sort={orderOf(column, sort)} className={cellClass} fz="xs" c="dimmed" fw={500}>
      <ColumnTitle {...{ column, sort, onSort }} />
    </Box>
  );
}
