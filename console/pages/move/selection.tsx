/** A selection of workspaces, which the workspace list and the move page share. */
import { Button, Checkbox, Text } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useLocation, useRouter } from "@tanstack/react-router";
import { useEffect, useMemo, useRef, useState } from "react";
import { showError } from "../../api/actions.ts";
import type { OperationInput, Resource } from "../../api/client.ts";
import { apiQuery } from "../../api/queries.ts";
import { useAddress } from "../../ui/address.ts";
import type { SearchParameters } from "../../paths.ts";
import type { TableColumn } from "../../ui/table.tsx";
import { figure } from "../../ui/text.tsx";

/** The server's limit for one request. */
export const moveLimit = 1000;
/** Servers and chats would cut off a longer address. */
const addressedMax = 20;

export interface Selection {
  readonly ids: readonly string[];
  set(ids: readonly string[]): void;
}

declare module "@tanstack/react-router" {
  interface HistoryState {
    readonly selected?: readonly string[];
  }
}

/** In the history entry: reload and back keep it, and a new visit starts without one. */
export function useSelection(): Selection {
  const router = useRouter();
  const { pathname, state } = useLocation();
  const { search } = useAddress();
  const { selected } = state;
  const addressed = search["workspaces"];
  const ids = useMemo(() => selected ?? addressed?.split(",") ?? none, [selected, addressed]);
  return {
    ids,
    set: (next) => {
      const now = router.state.location.search as SearchParameters;
      const workspaces = next.length === 0 || next.length > addressedMax ? undefined : next.join(",");
      const { workspaces: _, ...others } = now;
      void router.navigate({
        to: pathname,
        search: isAddressed(pathname) && workspaces !== undefined ? { ...others, workspaces } : others,
        state: (before) => ({ ...before, selected: next }),
        replace: true,
        resetScroll: false,
      });
    },
  };
}

const none: readonly string[] = [];

/** A move can be shared as a link; a selection in the list can't. */
const isAddressed = (pathname: string) => pathname.endsWith("/move");

export function useOpenWithSelection(): (to: string, selected: readonly string[]) => void {
  const router = useRouter();
  return (to, selected) => void router.navigate({ href: to, state: { selected } });
}

type SelectableRow = { readonly row: Resource<"workspaces"> };
type RowAt = (index: number) => SelectableRow | undefined;

export const tickId = (workspaceId: string) => `select-${workspaceId}`;

/** With Shift, all rows from the last selected one get the same value. */
export function useTickColumn({ ids, set }: Selection, rowAt: RowAt): TableColumn<SelectableRow> {
  const last = useRef<number>(undefined);
  const latest = useRef({ ids, set, rowAt });
  useEffect(() => {
    latest.current = { ids, set, rowAt };
  });
  return useMemo(() => {
    const selected = new Set(ids);
    const tick = (index: number, isTicked: boolean, isRange: boolean) => {
      const from = isRange && last.current !== undefined ? last.current : index;
      last.current = index;
      const [low, high] = [Math.min(from, index), Math.max(from, index)];
      const range = Array.from(
        { length: high - low + 1 },
        (_, step) => latest.current.rowAt(low + step)?.row.id,
      ).filter((id) => id !== undefined);
      const others = latest.current.ids.filter((id) => !range.includes(id));
      latest.current.set(isTicked ? [...others, ...range] : others);
    };
    return {
      title: "Select",
      width: 44,
      cell: ({ row }) => (
        <Checkbox
          size="xs"
          id={tickId(row.id)}
          aria-label={`Select ${row.attributes.name}`}
          checked={selected.has(row.id)}
          onChange={(event) =>
            tick(
              rowIndexOf(event.currentTarget),
              event.currentTarget.checked,
              (event.nativeEvent as MouseEvent).shiftKey,
            )
          }
        />
      ),
    };
  }, [ids]);
}

/** The header is row 1. */
const rowIndexOf = (element: Element) => Number(element.closest("[aria-rowindex]")?.getAttribute("aria-rowindex")) - 2;

const list = "GET /organizations/{organization_name}/workspaces";
const pageSize = 100;

interface SelectMatchingProps {
  readonly organization: string;
  readonly query: Record<string, string | undefined>;
  readonly count: number | undefined;
  readonly selection: Selection;
}

export function SelectMatching({ organization, query, count, selection }: SelectMatchingProps) {
  const client = useQueryClient();
  const key = JSON.stringify(query);
  const [gathered, setGathered] = useState<string>();
  const gather = useMutation({
    mutationFn: async () => {
      const pages = Math.ceil(Math.min(count ?? 0, moveLimit) / pageSize);
      const found = await Promise.all(
        Array.from({ length: pages }, (_, index) => {
          const input = {
            path: { organization_name: organization },
            query: { ...query, sort: "name", "page[size]": pageSize, "page[number]": index + 1 },
          };
          return client.fetchQuery(apiQuery(list, input as OperationInput<typeof list>));
        }),
      );
      return found.flatMap(({ data }) => data.map(({ id }) => id)).slice(0, moveLimit);
    },
    onSuccess: (found) => {
      setGathered(key);
      selection.set([...new Set([...selection.ids, ...found])].slice(0, moveLimit));
    },
    onError: showError,
  });
  // Offered again after the user deselects one.
  if (!count || (gathered === key && selection.ids.length >= Math.min(count, moveLimit))) return null;
  return (
    <Button variant="subtle" onClick={() => gather.mutate()} loading={gather.isPending}>
      {count > moveLimit
        ? `Select the first ${figure(moveLimit)} of ${figure(count)} matching`
        : `Select all ${figure(count)} matching`}
    </Button>
  );
}

export const TooMany = () => (
  <Text c="var(--change-red)" fz="sm" role="alert">
    You can move at most {figure(moveLimit)} workspaces at once.
  </Text>
);
