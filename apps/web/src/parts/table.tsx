import { Group, Table, Text, TextInput } from "@mantine/core";
import { useVirtualizer } from "@tanstack/react-virtual";
import { type ReactNode, type Ref, useDeferredValue, useMemo, useRef, useState } from "react";

export interface Column<Row> {
  readonly header: string;
  readonly cell: (row: Row) => ReactNode;
  /** Shown only on wide screens. */
  readonly isExtra?: boolean;
}

interface TableProps<Row> {
  /** Name of the table for screen readers. */
  readonly label: string;
  readonly rows: readonly Row[];
  readonly columns: readonly Column<Row>[];
  readonly keyOf: (row: Row) => string | number;
  /** Text that the filter searches. Default: no filter. */
  readonly textOf?: (row: Row) => string;
  readonly empty: ReactNode;
}

/** Up to this number all rows are rendered; above it only the visible ones. */
const DRAWN_ROWS_MAX = 100;
const ROW_HEIGHT = 37;
const FILTER_FROM = 6;

export function DataTable<Row>({ label, rows, columns, keyOf, textOf, empty }: TableProps<Row>) {
  const [filter, setFilter] = useState("");
  const wanted = useDeferredValue(filter.trim().toLowerCase());
  const shown = useMemo(
    () =>
      wanted === "" || textOf === undefined ? rows : rows.filter((row) => textOf(row).toLowerCase().includes(wanted)),
    [rows, wanted, textOf],
  );
  if (rows.length === 0) return empty;
  return (
    <>
      {textOf !== undefined && rows.length >= FILTER_FROM && (
        <Group my="xs" gap="sm">
          <TextInput
            aria-label={`Filter ${label.toLowerCase()}`}
            placeholder="Filter …"
            value={filter}
            onChange={(event) => setFilter(event.currentTarget.value)}
            size="xs"
            w={220}
          />
          <Text size="xs" c="dimmed" role="status">
            {shown.length === rows.length ? `${rows.length}` : `${shown.length} of ${rows.length}`}
          </Text>
        </Group>
      )}
      {shown.length > DRAWN_ROWS_MAX ? (
        <VirtualRows label={label} rows={shown} columns={columns} keyOf={keyOf} />
      ) : (
        <Scroller label={label}>
          <Table className={layoutOf(columns)} role="table">
            <Head columns={columns} />
            <Table.Tbody role="rowgroup">
              {shown.map((row) => (
                <Cells key={keyOf(row)} row={row} columns={columns} />
              ))}
            </Table.Tbody>
          </Table>
        </Scroller>
      )}
    </>
  );
}

function VirtualRows<Row>({
  label,
  rows,
  columns,
  keyOf,
}: Pick<TableProps<Row>, "label" | "rows" | "columns" | "keyOf">) {
  const scroller = useRef<HTMLDivElement>(null);
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW_HEIGHT,
    overscan: 15,
  });
  const items = virtual.getVirtualItems();
  const above = items[0]?.start ?? 0;
  const below = virtual.getTotalSize() - (items.at(-1)?.end ?? 0);
  return (
    <Scroller label={label} scroller={scroller} height="65vh">
      <Table className={layoutOf(columns)} role="table" stickyHeader aria-rowcount={rows.length}>
        <Head columns={columns} />
        <Table.Tbody role="rowgroup">
          <tr style={{ height: above }} />
          {items.map(({ index }) => {
            const row = rows[index];
            if (row === undefined) return null;
            return (
              <Cells key={keyOf(row)} row={row} columns={columns} index={index} measure={virtual.measureElement} />
            );
          })}
          <tr style={{ height: below }} />
        </Table.Tbody>
      </Table>
    </Scroller>
  );
}

function Scroller({
  label,
  scroller,
  height,
  children,
}: {
  readonly label: string;
  readonly scroller?: Ref<HTMLDivElement>;
  readonly height?: string;
  readonly children: ReactNode;
}) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrollable area must be focusable for keyboard users.
    <section ref={scroller} style={{ height, overflow: "auto" }} tabIndex={0} aria-label={label}>
      {children}
    </section>
  );
}

const visibility = ({ isExtra }: { readonly isExtra?: boolean }) =>
  isExtra === true ? { visibleFrom: "sm" as const } : {};

/** Two columns fit on a narrow screen; of more, each row is shown there as a list of its cells. */
const layoutOf = (columns: readonly Pick<Column<never>, "isExtra">[]): string =>
  columns.filter(({ isExtra }) => isExtra !== true).length > 2 ? "rows" : "";

// Roles are named, since elements that a narrow screen shows as blocks have none by themselves.
const Head = <Row,>({ columns }: { readonly columns: readonly Column<Row>[] }) => (
  <Table.Thead role="rowgroup">
    <Table.Tr role="row">
      {columns.map((column) => (
        <Table.Th key={column.header} role="columnheader" {...visibility(column)}>
          {column.header}
        </Table.Th>
      ))}
    </Table.Tr>
  </Table.Thead>
);

const Cells = <Row,>({
  row,
  columns,
  index,
  measure,
}: {
  readonly row: Row;
  readonly columns: readonly Column<Row>[];
  readonly index?: number;
  /** Called with the drawn row: rows of a narrow screen are of different heights. */
  readonly measure?: (element: HTMLTableRowElement | null) => void;
}) => (
  <Table.Tr ref={measure} role="row" className="table-row-link" data-index={index}>
    {columns.map((column) => (
      <Table.Td key={column.header} role="cell" data-label={column.header} {...visibility(column)} className="break">
        <div>{column.cell(row)}</div>
      </Table.Td>
    ))}
  </Table.Tr>
);
