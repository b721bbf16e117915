/** The runs that are queued, in their order. */
import { useQuery } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import { askingOn } from "../../api/queries.ts";
import { useAddress } from "../../ui/address.ts";
import { Empty } from "../../ui/states.tsx";
import { liveMs, RunsFrame } from "./frame.tsx";
import { runIncludes } from "./list.tsx";
import { PagedRuns } from "./paged.tsx";

export default function RunQueuePage() {
  const { organization } = useParams({ strict: false }) as { organization: string };
  const { search } = useAddress();
  const query = useQuery({
    ...askingOn("GET /organizations/{organization_name}/runs/queue", {
      path: { organization_name: organization },
      query: { include: `${runIncludes},workspace`, "page[number]": search["page"], "page[size]": 30 },
    }),
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
