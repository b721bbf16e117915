/** A list with search and pages in the address, and an empty state. */
import { Group } from "@mantine/core";
import type { UseQueryResult } from "@tanstack/react-query";
import { IconSearch } from "@tabler/icons-react";
import type { ReactNode } from "react";
import { useAddress } from "../ui/address.ts";
import { SearchInput } from "../ui/inputs.tsx";
import { QueryContent, NoMatches } from "./states.tsx";
import { Pager, Table, type TableColumn } from "../ui/table.tsx";
import { paths } from "../paths.ts";
import { Link } from "../ui/link.tsx";
import { Name } from "../ui/text.tsx";

export interface ListResponse {
  readonly data: readonly any[];
  readonly meta?: { readonly pagination?: PaginationOf } | undefined;
}
type PaginationOf = { readonly "current-page": number; readonly "total-pages": number; readonly "total-count": number };

type RowOf<A extends ListResponse> = A["data"][number];

export interface ListProps<A extends ListResponse> {
  readonly one: string;
  readonly many?: string;
  readonly label: string;
  readonly query: UseQueryResult<A, unknown>;
  readonly columns: (response: A) => readonly TableColumn<RowOf<A>>[];
  readonly keyOf: (row: RowOf<A>) => string;
  readonly isSearched?: boolean;
  readonly filters?: ReactNode;
  readonly sort?: string;
  readonly empty: ReactNode;
}

export function List<A extends ListResponse>(props: ListProps<A>) {
  const { one, many = `${one}s`, label, query, columns, keyOf, isSearched = true, filters, sort, empty } = props;
  const { search, set } = useAddress();
  return (
    <>
      {(isSearched || filters) && (
        <Group mb="sm" gap="xs">
          {isSearched && (
            <SearchInput
              placeholder={`Search ${label.toLowerCase()}…`}
              aria-label={`Search ${label.toLowerCase()}`}
              data-search
              leftSection={<IconSearch size={14} />}
              value={search["q"]}
              onChange={(q) => set({ q, page: undefined })}
              w={{ base: "100%", xs: 240 }}
            />
          )}
          {filters}
        </Group>
      )}
      <QueryContent query={query}>
        {(response) =>
          response.data.length === 0 ? (
            search["q"] ? (
              <NoMatches many={many} search={search["q"]} />
            ) : (
              empty
            )
          ) : (
            <>
              <Table
                label={label}
                columns={columns(response)}
                rows={response.data}
                keyOf={keyOf}
                sort={sort}
                onSort={(sort) => set({ sort, page: undefined })}
              />
              <Pager
                pagination={response.meta?.pagination}
                one={one}
                many={many}
                onPage={(page) => set({ page: page === 1 ? undefined : String(page) })}
              />
            </>
          )
        }
      </QueryContent>
    </>
  );
}

export const WorkspaceLink = ({ organization, name }: { readonly organization: string; readonly name: string }) => (
  <Link to={paths.workspace(organization, name)}>
    <Name>{name}</Name>
  </Link>
);

interface NamedListRow {
  readonly attributes: { readonly name: string };
}

export const workspaceColumn = (organization: string): TableColumn<NamedListRow> => ({
  title: "Workspace",
  cell: ({ attributes: { name } }) => <WorkspaceLink organization={organization} name={name} />,
});
