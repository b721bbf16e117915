/** Who has access: teams or people by permissions on one project or workspace. A click on a value explains it. */
import {
  Checkbox,
  Group,
  ScrollArea,
  SegmentedControl,
  Select,
  Stack,
  Table,
  Text,
  UnstyledButton,
} from "@mantine/core";
import { Fragment, type KeyboardEvent } from "react";
import { paths } from "../paths.ts";
import { useAddress } from "../ui/address.ts";
import { Link } from "../ui/link.tsx";
import { useNow } from "../now.ts";
import { QueryContent, Empty } from "../components/states.tsx";
import { Pager } from "../ui/table.tsx";
import { counted } from "../ui/text.tsx";
import classes from "./access.module.css";
import { columnsOn, type MatrixColumn, valueText } from "./columns.ts";
import { type AccessMatrixRow, type AccessRows, useOwnAccess, usePeopleRows, useTeamRows } from "./rows.ts";
import { PermissionExplanation } from "./why.tsx";
import { sourcesText, type AccessTarget } from "./words.ts";

export interface MatrixProps {
  readonly organization: string;
  readonly target: AccessTarget;
}

export function Matrix({ organization, target }: MatrixProps) {
  const { search, set } = useAddress();
  const columns = columnsOn(target.kind);
  const isPeople = search["who"] === "people";
  const permission = columns.find(({ key }) => key === search["permission"]);
  const onlyDifferences = search["differences"] === "only";
  const rowsQuery = { organization, target, page: Number(search["page"] ?? 1), permission };
  const teams = useTeamRows({ ...rowsQuery, enabled: !isPeople });
  const people = usePeopleRows({ ...rowsQuery, enabled: isPeople });
  const { canManage } = useOwnAccess(target);
  const shown = isPeople ? people : teams;
  const rows = shown.rows
    .filter(({ values }) => permission === undefined || permission.value(values) !== false)
    .filter((row) => !onlyDifferences || isGrantedDirectly(row, target));
  return (
    <Stack gap="sm">
      <Group gap="sm">
        <SegmentedControl
          size="xs"
          aria-label="Who"
          data={[
            { value: "teams", label: "Teams" },
            { value: "people", label: "People" },
          ]}
          value={isPeople ? "people" : "teams"}
          onChange={(who) => set({ who: who === "people" ? who : undefined, why: undefined, page: undefined })}
        />
        <Select
          size="xs"
          aria-label="Permission"
          placeholder="Any permission"
          clearable
          clearButtonProps={{ "aria-label": "Any permission" }}
          w={200}
          data={columns.map(({ key, label, about }) => ({ value: key, label: `${label}: ${about}` }))}
          comboboxProps={{ width: 340, position: "bottom-start" }}
          value={permission?.key ?? null}
          onChange={(key) => set({ permission: key ?? undefined, page: undefined })}
        />
        <Checkbox
          size="xs"
          label={`Only differences from the ${target.kind === "workspace" ? "project" : "organization"}`}
          checked={onlyDifferences}
          onChange={(event) => set({ differences: event.currentTarget.checked ? "only" : undefined })}
        />
        <Text c="dimmed" fz="sm" ml="auto" aria-live="polite">
          {isPeople ? counted(rows.length, "person", "people") : counted(rows.length, "team")}
        </Text>
      </Group>
      <QueryContent query={shown.query}>
        {() => (
          <MatrixTable
            {...{ organization, target, columns, rows, shown, canManage, isPeople }}
            open={search["why"]}
            onOpen={(why) => set({ why })}
          />
        )}
      </QueryContent>
      {shown.pagination && shown.pagination["total-pages"] > 1 && (
        <Pager
          pagination={shown.pagination}
          {...(isPeople ? { one: "person", many: "people" } : { one: "team" })}
          onPage={(page) => set({ page: String(page) })}
        />
      )}
    </Stack>
  );
}

function isGrantedDirectly({ sources }: AccessMatrixRow, { kind }: AccessTarget): boolean {
  const own = kind === "workspace" ? ["team-workspace"] : ["team-project", "team-workspace"];
  return sources.some((source) => own.includes(source.kind));
}

interface MatrixTableProps extends MatrixProps {
  readonly columns: readonly MatrixColumn[];
  readonly rows: readonly AccessMatrixRow[];
  readonly shown: AccessRows;
  readonly canManage: boolean;
  readonly isPeople: boolean;
  readonly open: string | undefined;
  readonly onOpen: (cell: string | undefined) => void;
}

function MatrixTable({
  organization,
  target,
  columns,
  rows,
  shown,
  canManage,
  isPeople,
  open,
  onOpen,
}: MatrixTableProps) {
  if (rows.length === 0)
    return (
      <Empty title={isPeople ? "No matching people" : "No matching teams"}>
        Nobody that you can see has this permission here. Owners always have all permissions.
      </Empty>
    );
  return (
    <>
      {shown.isOnlyOneself && (
        <Text c="dimmed" fz="sm">
          This is your own access. To see the access of others, you need permission to manage access here or to manage
          the organization's members.
        </Text>
      )}
      <ScrollArea type="auto" viewportProps={{ tabIndex: 0, "aria-label": "Who has access, scrolls sideways" }}>
        <Table className={classes["matrix"]} verticalSpacing={0} aria-label="Who has access" onKeyDown={moveByArrows}>
          <Table.Thead>
            <Table.Tr>
              <Table.Th scope="col" className={classes["name"]}>
                {isPeople ? "Person" : "Team"}
              </Table.Th>
              {columns.map(({ key, label, about }) => (
                <Table.Th key={key} scope="col" title={about} ta="center">
                  {label}
                </Table.Th>
              ))}
              <Table.Th scope="col">Source</Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {rows.map((row) => (
              <MatrixRow
                key={row.subject.id}
                {...{ organization, target, columns, row, canManage, isPeople, onOpen }}
                open={open?.startsWith(`${row.subject.id}:`) ? open.slice(row.subject.id.length + 1) : undefined}
              />
            ))}
          </Table.Tbody>
        </Table>
      </ScrollArea>
    </>
  );
}

type MatrixRowProps = Omit<MatrixTableProps, "rows" | "shown"> & { readonly row: AccessMatrixRow };

function MatrixRow({ organization, target, columns, row, canManage, isPeople, open, onOpen }: MatrixRowProps) {
  const { subject, values, sources, hiddenSources, explanation } = row;
  const now = useNow();
  const openColumn = columns.find(({ key }) => key === open);
  const to = isPeople ? paths.person(organization, subject.id) : paths.team(organization, subject.id);
  return (
    <Fragment>
      <Table.Tr data-row>
        <Table.Th scope="row" fw={500} className={classes["name"]}>
          <Link to={to} title={subject.name}>
            {subject.name}
          </Link>
        </Table.Th>
        {columns.map((column) => {
          const value = column.value(values);
          const isOpen = column.key === open;
          return (
            <Table.Td key={column.key} className={classes["value"]}>
              <UnstyledButton
                className={`${classes["cell"]} ${value === false ? classes["none"] : ""}`}
                aria-label={`${subject.name}, ${column.label}: ${valueText(value)}. Why?`}
                aria-expanded={isOpen}
                onClick={() => onOpen(isOpen ? undefined : `${subject.id}:${column.key}`)}
              >
                {value === true ? "●" : value === false ? "–" : value}
              </UnstyledButton>
            </Table.Td>
          );
        })}
        <Table.Td fz="xs" c="dimmed" className={classes["by"]}>
          {sourcesText({ sources, hidden: hiddenSources, hasTeams: isPeople, now })}
        </Table.Td>
      </Table.Tr>
      {openColumn && (
        <Table.Tr>
          <Table.Td colSpan={columns.length + 2} className={classes["why"]} p="sm">
            <div className={classes["whyInner"]} role="region" aria-label={`Why ${subject.name}, ${openColumn.label}`}>
              <PermissionExplanation
                {...{ organization, target, subject, values, sources, canManage }}
                column={openColumn}
                {...(explanation && { explanation })}
              />
            </div>
          </Table.Td>
        </Table.Tr>
      )}
    </Fragment>
  );
}

const steps: Readonly<Record<string, readonly [number, number]>> = {
  ArrowUp: [-1, 0],
  ArrowDown: [1, 0],
  ArrowLeft: [0, -1],
  ArrowRight: [0, 1],
};

function moveByArrows(event: KeyboardEvent<HTMLTableElement>) {
  const step = steps[event.key];
  const row = (event.target as HTMLElement).closest("tr[data-row]");
  if (step === undefined || row === null) return;
  const rows = [...event.currentTarget.querySelectorAll("tr[data-row]")];
  const cellsIn = (of: Element | undefined) => [...(of?.querySelectorAll<HTMLElement>("td button") ?? [])];
  const at = cellsIn(row).indexOf(event.target as HTMLElement);
  const next = at < 0 ? undefined : cellsIn(rows[rows.indexOf(row) + step[0]])[at + step[1]];
  if (next === undefined) return;
  event.preventDefault();
  next.focus();
}
