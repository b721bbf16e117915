/** A page of runs as the address says, or what to do where there are none. */
import type { UseQueryResult } from "@tanstack/react-query";
import type { ReactNode } from "react";
import type { Resource } from "../../api/client.ts";
import { useAddress } from "../../ui/address.ts";
import type { Listed } from "../../ui/list.tsx";
import { Asked } from "../../ui/states.tsx";
import { Pager } from "../../ui/table.tsx";
import { Runs, type RunsProps } from "./list.tsx";

interface PageOfRuns extends Listed {
  readonly data: readonly Resource<"runs">[];
  readonly included?: readonly any[] | undefined;
}

interface PagedRunsProps extends Pick<RunsProps, "organization" | "workspace"> {
  readonly query: UseQueryResult<PageOfRuns, unknown>;
  readonly empty: ReactNode;
}

export function PagedRuns({ query, empty, ...place }: PagedRunsProps) {
  const { set } = useAddress();
  return (
    <Asked query={query}>
      {({ data, included, meta }) =>
        data.length === 0 ? (
          empty
        ) : (
          <>
            <Runs {...place} runs={data} included={included} />
            <Pager pagination={meta?.pagination} one="run" onPage={(page) => set({ page: String(page) })} />
          </>
        )
      }
    </Asked>
  );
}
