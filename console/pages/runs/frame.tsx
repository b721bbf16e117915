/** The frame of the pages of an organization's runs: all of them, the queue, and how busy it is. */
import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { paths } from "../../paths.ts";
import { Page } from "../../ui/page.tsx";
import { figure } from "../../ui/text.tsx";
import { capacity } from "../../api/list-queries.ts";

/** How often lists of runs are read again while somebody looks at them. */
export const liveMs = 10_000;

interface RunsFrameProps {
  readonly organization: string;
  readonly children: ReactNode;
}

export function RunsFrame({ organization, children }: RunsFrameProps) {
  return (
    <Page
      title="Runs"
      crumbs={[{ label: organization, to: paths.organization(organization) }]}
      about={<Capacity organization={organization} />}
      tabs={[
        { label: "All", to: paths.runs(organization) },
        { label: "Queue", to: paths.runQueue(organization) },
      ]}
    >
      {children}
    </Page>
  );
}

/** "2 running · 5 queued": plans and applies of the whole organization, also those that the caller can't see. */
function Capacity({ organization }: { readonly organization: string }) {
  const query = useQuery({
    ...capacity(organization),
    refetchInterval: liveMs,
  });
  // The line is there from the beginning, so that nothing jumps when it is known.
  if (!query.data) return "\u00a0";
  const { running, pending } = query.data.data.attributes;
  return `${figure(running)} running · ${figure(pending)} queued`;
}
