/** The runs of an organization that the caller can see, the queue, and the current load. */
import { useQuery } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import { paths } from "../../paths.ts";
import { useAddress } from "../../ui/address.ts";
import { LinkButton } from "../../ui/link.tsx";
import { Empty } from "../../components/states.tsx";
import { liveMs, isFiltered, noRunsTitle, RunFilters } from "./list.tsx";
import { PagedRuns } from "./paged.tsx";
import { runs, runQueue, capacity } from "../../api/list-queries.ts";
import type { ReactNode } from "react";
import { Page } from "../../ui/page.tsx";
import { figure } from "../../ui/text.tsx";

export function OrganizationRuns() {
  const { organization } = useParams({ from: "/inside/$organization" });
  const { search, set } = useAddress();
  const query = useQuery({
    ...runs(organization, search),
    refetchInterval: liveMs,
  });
  return (
    <RunsFrame organization={organization}>
      <RunFilters search={search} set={set} />
      <PagedRuns
        organization={organization}
        query={query}
        empty={
          <Empty
            title={noRunsTitle(search)}
            action={<LinkButton to={paths.workspaces(organization)}>Go to workspaces</LinkButton>}
          >
            {isFiltered(search) ? undefined : (
              <>
                A run plans and applies a workspace's configuration. Start one from a workspace, or with{" "}
                <code>terraform plan</code> or <code>terraform apply</code> on the command line.
              </>
            )}
          </Empty>
        }
      />
    </RunsFrame>
  );
}

export function RunQueue() {
  const { organization } = useParams({ from: "/inside/$organization" });
  const { search } = useAddress();
  const query = useQuery({
    ...runQueue(organization, search),
    refetchInterval: liveMs,
  });
  return (
    <RunsFrame organization={organization}>
      <PagedRuns
        organization={organization}
        query={query}
        empty={
          <Empty title="No queued runs">Runs wait here for a free worker or agent. The oldest run starts first.</Empty>
        }
      />
    </RunsFrame>
  );
}

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

/** Includes runs that the caller can't see. */
function Capacity({ organization }: { readonly organization: string }) {
  const query = useQuery({
    ...capacity(organization),
    refetchInterval: liveMs,
  });
  if (!query.data) return "\u00a0";
  const { running, pending } = query.data.data.attributes;
  return `${figure(running)} running · ${figure(pending)} queued`;
}
