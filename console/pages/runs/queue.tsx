/** The runs that are queued, in their order. */
import { useQuery } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import { useAddress } from "../../ui/address.ts";
import { Empty } from "../../ui/states.tsx";
import { liveMs, RunsFrame } from "./frame.tsx";
import { PagedRuns } from "./paged.tsx";
import { runQueue } from "../../api/list-queries.ts";

export default function RunQueuePage() {
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
