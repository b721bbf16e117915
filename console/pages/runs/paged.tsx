/** A page of runs, selected by the address, or its empty state. */
import { Button, Group, Text } from "@mantine/core";
import type { UseQueryResult } from "@tanstack/react-query";
import type { ReactNode } from "react";
import type { Resource } from "../../api/client.ts";
import { useAddress } from "../../ui/address.ts";
import type { ListResponse } from "../../components/list.tsx";
import { QueryContent } from "../../components/states.tsx";
import { Pager } from "../../ui/table.tsx";
import { counted, figure } from "../../ui/text.tsx";
import { Runs, type RunsProps } from "./list.tsx";

interface PageOfRuns extends ListResponse {
  readonly data: readonly Resource<"runs">[];
  readonly included?: readonly any[] | undefined;
}

interface PagedRunsProps extends Pick<RunsProps, "organization" | "workspace"> {
  readonly query: UseQueryResult<PageOfRuns, unknown>;
  readonly empty: ReactNode;
}

export function PagedRuns({ query, empty, ...props }: PagedRunsProps) {
  const { set } = useAddress();
  const onPage = (page: number) => set({ page: page === 1 ? undefined : String(page) });
  return (
    <QueryContent query={query}>
      {({ data, included, meta }) => {
        if (data.length === 0) return empty;
        const pagination = meta?.pagination;
        const isCounted = pagination?.["total-count"] !== undefined;
        return (
          <>
            <Runs {...props} runs={data} included={included} />
            {isCounted ? (
              <Pager pagination={pagination} one="run" onPage={onPage} />
            ) : (
              <UncountedPager {...(pagination as unknown as Uncounted)} count={data.length} onPage={onPage} />
            )}
          </>
        );
      }}
    </QueryContent>
  );
}

interface Uncounted {
  readonly "current-page": number;
  readonly "page-size": number;
  readonly "next-page": number | null;
}

interface UncountedPagerProps extends Uncounted {
  readonly count: number;
  readonly onPage: (page: number) => void;
}

/** The API does not count an organization's runs: only the last page shows the total. */
function UncountedPager({
  "current-page": page,
  "page-size": size,
  "next-page": next,
  count,
  onPage,
}: UncountedPagerProps) {
  const before = (page - 1) * size;
  const range = `Runs ${figure(before + 1)}–${figure(before + count)}`;
  return (
    <Group justify="space-between" mt="sm">
      <Text c="dimmed" fz="sm">
        {next === null ? counted(before + count, "run") : range}
      </Text>
      {(page > 1 || next !== null) && (
        <Group gap="xs">
          <Button variant="default" size="compact-sm" disabled={page === 1} onClick={() => onPage(page - 1)}>
            Newer
          </Button>
          <Button variant="default" size="compact-sm" disabled={next === null} onClick={() => onPage(page + 1)}>
            Older
          </Button>
        </Group>
      )}
    </Group>
  );
}
