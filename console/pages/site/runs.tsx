/** The runs of all organizations, with force-cancel. */
import { Group } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useAction } from "../../api/actions.ts";
import { includedIn, type Resource } from "../../api/client.ts";
import { account } from "../../api/queries.ts";
import { paths } from "../../paths.ts";
import { useAddress } from "../../ui/address.ts";
import { DangerButton } from "../../ui/dialog.tsx";
import { Link } from "../../ui/link.tsx";
import { List } from "../../components/list.tsx";
import { Empty } from "../../components/states.tsx";
import { When } from "../../ui/text.tsx";
import { isFinal, RunStatus } from "../runs/status.tsx";
import { liveMs, noRunsTitle, StatusFilter } from "../runs/list.tsx";
import { SiteFrame } from "./frame.tsx";
import { siteRuns } from "../../api/list-queries.ts";

export default function SiteRunsPage() {
  const isHosted = useQuery(account()).data?.isHosted;
  return (
    <SiteFrame>
      {isHosted ? (
        <Empty title="Not available in the hosted edition">
          Only the self-hosted edition lists the runs of all organizations together. Each organization has its own list.
        </Empty>
      ) : (
        <SiteRuns />
      )}
    </SiteFrame>
  );
}

function SiteRuns() {
  const { search, set } = useAddress();
  const query = useQuery({
    ...siteRuns(search),
    refetchInterval: liveMs,
  });
  return (
    <List
      one="run"
      label="Runs"
      query={query}
      keyOf={({ id }) => id}
      filters={<StatusFilter value={search["status"]} onChange={(status) => set({ status, page: undefined })} />}
      empty={
        <Empty title={noRunsTitle(search)}>
          {search["status"] ? undefined : "The runs of all organizations are listed here, newest first."}
        </Empty>
      }
      columns={({ included }) => [
        { title: "Status", width: 130, cell: ({ attributes }) => <RunStatus status={attributes.status} /> },
        { title: "Run", cell: (run) => <Where run={run} included={included} /> },
        { title: "Message", isExtra: true, cell: ({ attributes }) => attributes.message },
        {
          title: "Started",
          width: 110,
          isExtra: true,
          cell: ({ attributes }) => <When time={attributes["created-at"]} />,
        },
        { title: "Actions", width: 1, cell: (run) => <ForceCancel run={run} /> },
      ]}
    />
  );
}

interface WhereProps {
  readonly run: Resource<"runs">;
  readonly included: readonly any[] | undefined;
}

function Where({ run, included }: WhereProps) {
  const workspace = includedIn({ included }, "workspaces", run.relationships.workspace?.data?.id);
  const organization = workspace?.relationships.organization?.data?.id;
  if (!workspace || !organization) return run.id;
  const { name } = workspace.attributes;
  return (
    <Group gap={4} component="span" wrap="nowrap" style={{ whiteSpace: "nowrap" }}>
      <Link to={paths.organization(organization)} c="dimmed">
        {organization}
      </Link>
      <span>/</span>
      <Link to={paths.run(organization, name, run.id)} className="mono" aria-label={`Run ${run.id} of ${name}`}>
        {name}
      </Link>
    </Group>
  );
}

function ForceCancel({ run: { id, attributes } }: { readonly run: Resource<"runs"> }) {
  const end = useAction("POST /admin/runs/{run_id}/actions/force-cancel", { done: `Force-canceled ${id}.` });
  if (isFinal(attributes.status)) return null;
  return (
    <DangerButton
      isQuiet
      verb="Force cancel"
      label={`Force cancel ${id}`}
      title={`Force cancel ${id}?`}
      isBusy={end.isPending}
      onConfirm={() => end.mutate({ path: { run_id: id }, body: {} })}
    >
      Stops the run immediately and unlocks its workspace. Resources that were being created can exist without being in
      the state.
    </DangerButton>
  );
}
