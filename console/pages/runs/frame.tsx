/** What stands around the pages of an organization's runs: all of them, those that wait; and how busy it is now. */
import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { askingOn } from "../../api/queries.ts";
import { paths } from "../../paths.ts";
import { Page } from "../../ui/page.tsx";
import { figure } from "../../ui/text.tsx";

export const liveMs = 5_000;

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

/** "2 are executed now, 5 wait": plans and applies of the whole organization, whoever may see them. */
function Capacity({ organization }: { readonly organization: string }) {
  const query = useQuery({
    ...askingOn("GET /organizations/{organization_name}/capacity", { path: { organization_name: organization } }),
    refetchInterval: liveMs,
  });
  // The line is there from the beginning, so that nothing jumps when it is known.
  if (!query.data) return "\u00a0";
  const { running, pending } = query.data.data.attributes;
  const wait = pending === 1 ? "1 waits" : `${figure(pending)} wait`;
  return (
    <>
      {running === 1 ? "1 is" : `${figure(running)} are`} executed now, {wait} for an agent or a worker.
    </>
  );
}
