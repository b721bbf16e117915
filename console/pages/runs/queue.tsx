/** The runs that wait to be executed, in the order in which they are. */
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
          <Empty title="Nothing waits">
            A run waits here until a worker of the server or an agent takes it; the first in line is taken first.
          </Empty>
        }
      />
    </RunsFrame>
  );
}
